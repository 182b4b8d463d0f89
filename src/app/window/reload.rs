//! For work on the shaders: their files are watched, and compiled again when one changes. If one does not
//! compile, the error is shown and the last good kernels and passes stay in use.

use std::path::PathBuf;
use std::time::SystemTime;

use web_time::{Duration, Instant};

use super::frame::Frames;
use crate::error::Result;
use crate::gpu::template;
use crate::live::Command;

/// How often to look at the files.
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

    /// True if new texts were read.
    ///
    /// Errors: a file that cannot be read, or a text that is no template; reported once per change.
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
            // No files: say so once, then be quiet.
            self.newest = Some(SystemTime::UNIX_EPOCH);
        }
        template::reload(&self.folder)?;
        Ok(true)
    }
}

impl Frames {
    /// Compiles what runs now from the current texts.
    pub(super) fn take_shaders(&mut self) {
        let mut taken = self.output.screen.renew_canvas();
        if let Some(session) = &mut self.simulated.session {
            match session.live.apply(Command::Recompile) {
                // The shown text must be the one that runs.
                Ok(()) => session.wgsl = None,
                Err(error) => taken = Err(error),
            }
        }
        match taken {
            Ok(()) => self.output.say("shaders were recompiled".to_owned(), false),
            Err(error) => self.output.say_error(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_seen_once_and_bad_texts_are_told() {
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
        assert!(!look(&mut watch).unwrap(), "told once");
        assert!(
            template::assemble("integrate/leapfrog.wgsl", minijinja::context! { workgroup => 64 })
                .is_ok()
        );
    }
}
