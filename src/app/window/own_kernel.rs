//! Edits of a user's own kernel: in the panel, or in the file by another editor. The file has every
//! text; one that compiles and ends takes the place of the kernel that runs.

use std::path::{Path, PathBuf};

use super::pictures::{absolute, free_name};
use super::state::WindowState;
use gravitile::error::{Error, Result};
use gravitile::files;
use gravitile::forces::direct::gpu::{KernelConfig, KernelRequest, KernelVariant, own};
use gravitile::live::{Background, Command};
use gravitile::measure::accesses;

/// The name of the copy.
const FILE: &str = "kernel.wgsl";

/// The text of a kernel that reads the sources as `docs/lesson.md` says: from a storage buffer,
/// each with its mass.
fn editable(variant: &KernelVariant) -> Result<String> {
    let config = KernelConfig { uniform: false, broadcast: false, ..variant.config };
    KernelVariant { config, potential: false, alone: false, one_mass: false, ..*variant }.wgsl()
}

impl WindowState {
    /// Runs a copy of the kernel that runs now, from a new file.
    pub(super) fn edit_kernel(&mut self) -> Result<()> {
        let session = self.simulated.session.as_ref();
        let wgsl = session.and_then(|session| session.wgsl.as_ref());
        let Some((variant, _)) = wgsl else { return Ok(()) };
        let text = editable(variant)?;
        if let Some(fault) = own::fault_of(&text) {
            let problem = format!("this kernel cannot be edited: a copy {}", fault.message);
            return Err(Error::Outside(problem));
        }
        let path = free_name(Path::new(FILE));
        files::replace(&path, text.as_bytes())?;
        own::load(&path)?;
        self.run_own_kernel()?;
        self.output.notify(format!("the kernel is now {}", absolute(&path)));
        Ok(())
    }

    fn run_own_kernel(&mut self) -> Result<()> {
        self.apply(Command::Kernel(KernelRequest { own: true, ..KernelRequest::default() }))
    }

    /// The file of the kernel that runs, if it is the user's own.
    pub(super) fn kernel_file(&self) -> Option<PathBuf> {
        let config = self.simulated.session.as_ref()?.live.config()?;
        config.own.then(own::path).flatten()
    }

    /// Saves a text from the panel, which shows its faults itself.
    pub(super) fn save_kernel(&mut self, text: String) -> Result<()> {
        own::save(&text)?;
        match own::fault_of(&text) {
            Some(_) => Ok(()),
            None => self.try_kernel(text),
        }
    }

    /// Follows the threads of a kernel that compiles: one that does not end would stop the device.
    fn try_kernel(&mut self, text: String) -> Result<()> {
        let follow = move || async move {
            match accesses(FILE, &text) {
                Ok(found) if found.endless.is_some() => {
                    let problem = found.endless.unwrap_or_default();
                    Err(Error::Shader { name: "the edited kernel".to_owned(), problem })
                }
                // Not all of WGSL can be followed.
                _ => Ok(text),
            }
        };
        self.edited_kernel = Some(Background::start("following a kernel's threads", follow)?);
        Ok(())
    }

    /// Takes in changes of the file, and a kernel that was followed to its end.
    pub(super) fn poll_own_kernel(&mut self) -> Result<()> {
        if let Some(text) = own::saved()? {
            self.try_kernel(text)?;
        }
        let Some(followed) = self.edited_kernel.as_ref().and_then(Background::take) else {
            return Ok(());
        };
        self.edited_kernel = None;
        let config = own::replace(followed?)?;
        let session = self.simulated.session.as_ref();
        match session.and_then(|session| session.live.config()) {
            Some(running) if running.own && running != config => self.run_own_kernel(),
            Some(running) if running.own => {
                self.recompile();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_kernel_can_be_edited() {
        let tiled = KernelConfig::tiled(64);
        let untiled = KernelConfig { untiled: true, ..tiled };
        for config in [
            tiled,
            KernelConfig { r: 4, u: 4, vec2: true, ..tiled },
            KernelConfig { q: 4, ..tiled },
            KernelConfig { uniform: true, ..untiled },
            KernelConfig { broadcast: true, ..untiled },
        ] {
            let variant = KernelVariant::new(config, 0.0, 1.0, false);
            let variant = KernelVariant { one_mass: true, ..variant };
            let text = editable(&variant).unwrap();
            let shape = own::shape_of("kernel", &text).unwrap();
            assert_eq!([shape.p, shape.q, shape.r], [config.p, config.q, config.r], "{config}");
        }
    }
}
