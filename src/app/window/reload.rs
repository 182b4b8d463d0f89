//! Shader hot reloading: watches the files, and recompiles when one changes. After an error, which
//! is shown, the last valid kernels and passes stay in use.

use std::path::PathBuf;
use std::time::SystemTime;

use web_time::{Duration, Instant};

use super::frame::Frames;
use gravitile::error::Result;
use gravitile::gpu::template;
use gravitile::live::Command;

/// Interval at which the files are polled.
const PAUSE: Duration = Duration::from_millis(400);

/// Watches a copy of `shaders/`.
pub struct ShaderWatch {
    folder: PathBuf,
    looked: Option<Instant>,
    newest: Option<SystemTime>,
}

impl ShaderWatch {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, looked: None, newest: None }
    }

    /// Reads changed files; returns whether there were any.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or is not a valid template; reported once per change.
    pub fn changed(&mut self) -> Result<bool> {
        if self.looked.is_some_and(|looked| looked.elapsed() < PAUSE) {
            return Ok(false);
        }
        self.looked = Some(Instant::now());
        let changed = |(name, _): &(&str, &str)| {
            std::fs::metadata(self.folder.join(name)).and_then(|file| file.modified()).ok()
        };
        let newest = template::FILES.iter().filter_map(changed).max();
        if newest == self.newest && newest.is_some() {
            return Ok(false);
        }
        let is_first_look = self.newest.is_none() && newest.is_none();
        self.newest = newest;
        if is_first_look {
            // Report missing files only once.
            self.newest = Some(SystemTime::UNIX_EPOCH);
        }
        template::reload(&self.folder)?;
        Ok(true)
    }
}

impl Frames {
    /// Recompiles the kernels and passes in use from the current sources.
    pub(super) fn take_shaders(&mut self) {
        let mut taken = self.output.screen.renew_canvas();
        if let Some(session) = &mut self.simulated.session {
            match session.live.apply(Command::Recompile) {
                // The panel must show the source of the new kernel.
                Ok(()) => session.wgsl = None,
                Err(error) => taken = Err(error),
            }
        }
        match taken {
            Ok(()) => self.output.show_message("shaders were recompiled".to_owned(), false),
            Err(error) => self.output.show_error(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_template_errors_are_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in template::FILES {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut watch = ShaderWatch::new(folder.path().to_owned());
        let look = |watch: &mut ShaderWatch| {
            watch.looked = None;
            watch.changed()
        };
        assert!(look(&mut watch).unwrap());
        assert!(!look(&mut watch).unwrap());
        let path = folder.path().join("body.wgsl");
        std::fs::write(&path, "//% for\n").unwrap();
        let later = SystemTime::now() + Duration::from_secs(5);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        let error = look(&mut watch).unwrap_err().to_string();
        assert!(error.contains("body.wgsl"), "{error}");
        assert!(!look(&mut watch).unwrap(), "reported once");
        assert!(
            template::assemble("integrate/leapfrog.wgsl", minijinja::context! { workgroup => 64 })
                .is_ok()
        );
    }
}
