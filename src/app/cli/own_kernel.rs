//! The option `--force-kernel`: a kernel of the user's own.

use std::path::PathBuf;

use gravitile::error::{Error, Result};
use gravitile::forces::direct::gpu::{KernelConfig, own};
use gravitile::settings::{KernelRequest, MethodRequest};

/// A kernel of the user's own.
#[derive(Clone, Debug, clap::Args)]
pub struct OwnKernel {
    /// Use a force kernel of your own, in WGSL; docs/lesson.md says what it must contain
    #[arg(
        long,
        value_name = "FILE.wgsl",
        help_heading = "GPU kernel (options left out are chosen for the device)"
    )]
    force_kernel: Option<PathBuf>,
}

impl OwnKernel {
    /// No own kernel.
    #[cfg(feature = "window")]
    pub const NONE: Self = Self { force_kernel: None };

    /// The kernel's shape, if there is one. Compiles it as far as possible without a device.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn load(&self) -> Result<Option<KernelConfig>> {
        self.force_kernel.as_deref().map(own::load).transpose()
    }

    /// Changes a request to use this kernel, with the method `direct` on the GPU.
    ///
    /// # Errors
    /// Those of [`OwnKernel::load`]; another engine, method or shape requested at the same time.
    pub fn apply(&self, by: &mut MethodRequest, kernel: &mut KernelRequest) -> Result<()> {
        if self.force_kernel.is_none() {
            return Ok(());
        }
        let with = |allowed: &str| format!("{allowed} with --force-kernel");
        if !["auto", "gpu"].contains(&by.engine.as_str()) {
            return Err(Error::value("--engine", &by.engine, with("gpu")));
        }
        if !["auto", "direct"].contains(&by.method.as_str()) {
            return Err(Error::value("--method", &by.method, with("direct")));
        }
        if let Some((name, value)) = kernel.first_fixed() {
            return Err(Error::value(name, value, with("left out: the file sets the shape")));
        }
        self.load()?;
        (by.engine, by.method) = ("gpu".to_owned(), "direct".to_owned());
        kernel.own = true;
        Ok(())
    }
}
