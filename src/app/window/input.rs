//! Input: events for egui, dropped or picked files, changed shaders.

use std::path::PathBuf;

use winit::event::WindowEvent;
use winit::keyboard::{Key, NamedKey};
use winit::window::Window;

use super::machine::{self, Picker};
use super::reload::ShaderWatch;
use super::screen::Screen;
use crate::panel;

pub struct Input {
    pub egui_state: egui_winit::State,
    pub context: egui::Context,
    pub picker: Picker,
    pub dropped: Vec<PathBuf>,
    pub shaders: Option<ShaderWatch>,
}

/// The effect of an event.
pub struct Taken {
    /// Whether a frame should follow.
    pub repaint: bool,
    /// Whether it was the key that folds the panel.
    pub folds_panel: bool,
}

impl Input {
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
        let text_size = self.context.zoom_factor();
        self.context = egui::Context::default();
        panel::style(&self.context);
        machine::prepare(&self.context);
        self.context.set_zoom_factor(text_size);
        self.egui_state = screen.egui_state(&self.context);
    }

    /// Passes an event to egui.
    pub fn on_event(&mut self, window: &Window, event: &WindowEvent) -> Taken {
        // egui moves its focus with Tab, and the focused widget takes all other keys.
        if let WindowEvent::KeyboardInput { event: key, .. } = event
            && key.logical_key == Key::Named(NamedKey::Tab)
            && !self.context.text_edit_focused()
        {
            let folds_panel = key.state.is_pressed() && !key.repeat;
            return Taken { repaint: true, folds_panel };
        }
        let response = self.egui_state.on_window_event(window, event);
        if let WindowEvent::DroppedFile(path) = event {
            self.dropped.push(path.clone());
        }
        Taken { repaint: response.repaint, folds_panel: false }
    }
}
