//! Option handling shared by several subcommands.

use std::path::{Path, PathBuf};

use gravitile::error::{Error, Result};
use gravitile::forces::direct::gpu::{KernelConfig, own};
use gravitile::forces::{EngineKind, Method};
use gravitile::measure::{Accesses, accesses};
use gravitile::settings::{KernelRequest, MethodRequest};

/// Refuses to overwrite an existing file unless forced, and a name that means standard output
/// elsewhere.
pub fn check_output(path: &Path, force: bool) -> Result<()> {
    if path == Path::new("-") {
        let problem = "must be the name of a file or folder: nothing is written to standard output by that name (./- is a file called so)";
        return Err(Error::file(path, problem));
    }
    if force || !path.exists() {
        return Ok(());
    }
    Err(Error::file(path, "is there already; give another name, or --force to replace it"))
}

/// The engines and methods that a command can measure.
pub struct MeasurableEngines<'a> {
    /// `auto` first.
    pub engines: &'a [EngineKind],
    pub methods: &'a [Method],
    /// Why no others, for the error message.
    pub what: &'a str,
}

impl MeasurableEngines<'_> {
    /// The requested engine.
    ///
    /// # Errors
    /// An unknown engine or method; one that the command does not measure, with the reason.
    pub fn engine(&self, request: &MethodRequest) -> Result<EngineKind> {
        let Self { engines, methods, what } = self;
        let refuse = |of: &str, name: &str, allowed: Vec<&str>| {
            Err(Error::value(
                of,
                name,
                format!("{}: {what}", gravitile::messages::any_of(&allowed)),
            ))
        };
        let engine = EngineKind::from_name(&request.engine)?;
        if !engines.contains(&engine) {
            let allowed = engines.iter().map(|engine| engine.name()).collect();
            return refuse("the engine", engine.name(), allowed);
        }
        match Method::from_name(&request.method)? {
            Some(method) if !methods.contains(&method) => {
                let names = methods.iter().map(|method| method.name());
                let auto = std::iter::once(Method::name_of(None));
                refuse("the method", method.name(), auto.chain(names).collect())
            }
            _ => Ok(engine),
        }
    }
}

/// A kernel of the user's own.
#[derive(Clone, Debug, Default, clap::Args)]
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
    /// The kernel's shape, if there is one. Compiles it as far as possible without a device.
    ///
    /// # Errors
    /// What is wrong with the file; a kernel that does not end, as far as that is known.
    pub fn load(&self) -> Result<Option<KernelConfig>> {
        let Some(path) = &self.force_kernel else { return Ok(None) };
        let config = own::load(path)?;
        let found = own::loaded().map(|(_, text)| accesses(&path.to_string_lossy(), &text));
        match found {
            Some(Ok(Accesses { endless: Some(why), .. })) => Err(Error::file(path, why)),
            _ => Ok(Some(config)),
        }
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
