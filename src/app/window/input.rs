//! What comes in: events for egui, files that are dropped or picked, shaders that change.

use std::path::PathBuf;

use winit::event::WindowEvent;
use winit::keyboard::{Key, NamedKey};
use winit::window::Window;

use super::machine::{self, Picker};
use super::output::Output;
use super::reload::ShaderWatch;
use super::screen::Screen;
use crate::app::panel;
use crate::gpu::let_browser_turn;

pub struct Input {
    pub egui_state: egui_winit::State,
    pub context: egui::Context,
    pub picker: Picker,
    pub dropped: Vec<PathBuf>,
    pub shaders: Option<ShaderWatch>,
}

/// What the panel writes, and in which styles, most of it.
const LETTERS: &[(egui::TextStyle, &str)] = {
    use egui::TextStyle::{Body, Heading, Monospace};
    &[
        (Body, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;+-−×/()%…'=<>«»"),
        (Heading, "aceghiklmnoprstuvyBCDEGHIMPSTW"),
        (Monospace, "pqrus0123456789.abcdefghiklmnot"),
    ]
};
/// And in which sizes else.
const SIZES: &[(f32, &str)] =
    &[(12.0, "0123456789.kpc"), (12.5, "abcdefghilmnoprstuwxy0123456789.,=%×"), (16.0, "gravitle")];
/// Kinds of controls: a browser compiles what draws one when it is first drawn.
const CONTROLS: &[fn(&mut egui::Ui)] = &[
    |ui| drop(ui.horizontal(|ui| ui.button("?").on_hover_text("?"))),
    |ui| drop(ui.selectable_value(&mut 1, 1, "Scene")),
    |ui| drop(ui.link("pictures").on_hover_text("?")),
    |ui| drop(ui.checkbox(&mut true, "bar")),
    |ui| drop(ui.add(egui::DragValue::new(&mut 1.5).range(0.0..=9.0))),
    |ui| drop(ui.add(egui::Slider::new(&mut 1.5, 0.1..=9.0).logarithmic(true).suffix("°"))),
    |ui| {
        egui::ComboBox::from_id_salt("a").selected_text("a").show_ui(ui, |ui| ui.label("a"));
    },
    |ui| drop(egui::Grid::new("b").num_columns(2).show(ui, |ui| ui.label("b"))),
    |ui| drop(egui::ScrollArea::vertical().id_salt("c").show(ui, |ui| ui.separator())),
    |ui| {
        egui::Area::new(egui::Id::unique("d")).show(ui.ctx(), |ui| {
            egui::Frame::popup(ui.style()).show(ui, |ui| ui.horizontal_wrapped(|ui| ui.label("d")));
        });
    },
    |ui| drop(egui::Panel::right("e").show(ui, |ui| ui.label("e"))),
];
/// Letters that are made in one turn of a page's browser.
const LETTERS_AT_ONCE: usize = 8;

/// What an event comes to.
pub struct Taken {
    /// A frame is to follow.
    pub repaint: bool,
    /// It was the key that folds the panel.
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

    /// For another device egui has to send its textures again: it begins with a new memory of its own.
    pub fn renew(&mut self, screen: &Screen) {
        self.context = egui::Context::default();
        panel::style(&self.context);
        machine::prepare(&self.context);
        self.egui_state = screen.egui_state(&self.context);
    }

    /// In a page: has egui make its fonts, letters and controls a few at a time, which would hold the first frames up.
    pub async fn warm_up(&mut self, output: &mut Output) {
        if !cfg!(target_arch = "wasm32") {
            return;
        }
        let styles = LETTERS
            .iter()
            .map(|(style, letters)| (style.resolve(&self.context.global_style()), *letters));
        let sizes =
            SIZES.iter().map(|(size, letters)| (egui::FontId::proportional(*size), *letters));
        // Without any letters first: the fonts themselves.
        let mut texts = vec![egui::RichText::new("")];
        for (font, letters) in styles.chain(sizes) {
            let letters: Vec<char> = letters.chars().collect();
            let few = letters.chunks(LETTERS_AT_ONCE).map(|few| few.iter().collect::<String>());
            texts.extend(few.map(|few| egui::RichText::new(few).font(font.clone())));
        }
        for text in texts {
            self.draw_ahead(output, |ui| drop(ui.label(text.clone()))).await;
        }
        for control in CONTROLS {
            self.draw_ahead(output, control).await;
        }
        let_browser_turn().await;
    }

    /// In a turn of its own: draws something that is not shown.
    async fn draw_ahead(&mut self, output: &mut Output, draw: impl Fn(&mut egui::Ui)) {
        let_browser_turn().await;
        let input = self.egui_state.take_egui_input(&output.window);
        let drawn = self.context.run_ui(input, |ui| draw(ui));
        output.screen.take_textures(&mut { drawn.textures_delta });
        drop(self.context.tessellate(drawn.shapes, drawn.pixels_per_point));
    }

    /// Hands an event to egui.
    pub fn on_event(&mut self, window: &Window, event: &WindowEvent) -> Taken {
        // egui moves its focus with Tab, and what has the focus takes all other keys.
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
