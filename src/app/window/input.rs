//! Input: events for egui, dropped or picked files, changed shaders.

use std::path::PathBuf;
use std::time::SystemTime;

use web_time::{Duration, Instant};
use winit::event::WindowEvent;
use winit::keyboard::{Key, NamedKey};
use winit::window::Window;

use super::machine::{self, Picker};
use super::screen::Screen;
use crate::panel;
use gravitile::error::Result;
use gravitile::gpu::template;

/// Interval at which the files are polled.
const PAUSE: Duration = Duration::from_millis(400);

pub struct WindowInput {
    pub egui_state: egui_winit::State,
    pub context: egui::Context,
    pub picker: Picker,
    pub dropped: Vec<PathBuf>,
    pub shaders: Option<ShaderWatch>,
}

/// The effect of an event.
pub struct EventEffect {
    /// Whether a frame should follow.
    pub repaint: bool,
    /// Whether it was the key that folds the panel.
    pub folds_panel: bool,
}

impl WindowInput {
    /// Watches the folder `shaders` for changes, if there is one.
    pub fn new(screen: &Screen, shaders: Option<PathBuf>) -> Self {
        let context = egui::Context::default();
        panel::style(&context);
        machine::prepare(&context);
        let egui_state = screen.egui_state(&context);
        let shaders = shaders.map(ShaderWatch::new);
        Self { egui_state, context, picker: Picker::default(), dropped: Vec::new(), shaders }
    }

    /// Recreates egui for another device, so that it sends all its textures.
    pub fn renew(&mut self, screen: &Screen) {
        let Self { context, egui_state, .. } = Self::new(screen, None);
        context.set_zoom_factor(self.context.zoom_factor());
        (self.context, self.egui_state) = (context, egui_state);
    }

    /// Passes an event to egui.
    pub fn on_event(&mut self, window: &Window, event: &WindowEvent) -> EventEffect {
        // egui would move its focus with Tab, and the focused widget takes all other keys: it does
        // only once a key has given the focus to a control.
        if let WindowEvent::KeyboardInput { event: key, .. } = event
            && key.logical_key == Key::Named(NamedKey::Tab)
            && !self.context.memory(|memory| memory.focused().is_some())
        {
            let folds_panel = key.state.is_pressed() && !key.repeat;
            return EventEffect { repaint: true, folds_panel };
        }
        let response = self.egui_state.on_window_event(window, event);
        if let WindowEvent::DroppedFile(path) = event {
            self.dropped.push(path.clone());
        }
        EventEffect { repaint: response.repaint, folds_panel: false }
    }
}

/// Watches a copy of `shaders/`. After an error the last valid kernels and passes stay in use.
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
        let values = minijinja::context! { workgroup => 64, potentials => false };
        assert!(template::assemble("integrate/leapfrog.wgsl", values).is_ok());
    }
}
