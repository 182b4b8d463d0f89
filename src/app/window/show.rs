//! Running the panel, and what is dropped onto the window or picked in a dialog.

use std::path::PathBuf;
use std::time::Instant;

use super::frame::{Frames, Purpose};
use super::load::Session;
use super::steer::{Wish, tracking};
use crate::app::cli::InputOptions;
use crate::app::panel::{self, Action, Facts};
use crate::error::Error;
use crate::live::Live;
use crate::render::Follow;
use crate::words;

/// How long good news stays.
const MESSAGE_SECS: f64 = 6.0;

impl Frames {
    /// Runs the panel and carries out what it asks for.
    pub(super) fn show_panel(&mut self) -> egui::FullOutput {
        let begun = Instant::now();
        let input = self.egui_state.take_egui_input(&self.window);
        let context = self.context.clone();
        let (mut actions, mut wish) = (Vec::new(), None);
        let covered = self.covered_px();
        let size = self.stage.picture_size();
        let (before, panel_secs) = (self.view.follow, self.panel_secs);
        let message = self.message.as_ref().map(|(text, ..)| text.clone());
        let is_error = self.message.as_ref().is_some_and(|(_, is_error, _)| *is_error);
        let loading = self.loading.as_ref().map(|loading| loading.what.clone());
        let output = context.run_ui(input, |ui| {
            let Self {
                session,
                panel,
                view,
                steering,
                dialog,
                stage,
                history,
                times,
                recording,
                ..
            } = &mut *self;
            if let Some(session) = session {
                session.refresh_wgsl();
                let live = &session.live;
                let facts = Facts {
                    input: &session.input,
                    hints: &session.hints,
                    units: &session.template.units,
                    count: live.len(),
                    components: &session.bodies.components,
                    settings: live.settings(),
                    dt: live.dt(),
                    keeper: live.keeper(),
                    standing: live.standing(),
                    engine: live.choice().kind,
                    engine_reason: &live.choice().reason,
                    engine_text: &live.describe_engine(),
                    gpu: &stage.gpu,
                    config: live.config(),
                    wgsl: session.wgsl.as_ref().map(|(_, text)| text.as_str()),
                    rates: live.rates(),
                    blocks: live.blocks(),
                    history,
                    times: times.as_ref(),
                    panel_secs,
                    picture: stage.size(),
                    recording: recording.as_ref().map(|r| (r.path.as_path(), r.pictures)),
                    loading: loading.as_deref(),
                    message: message.as_deref(),
                    message_is_error: is_error,
                };
                // The picture lies below everything else: first come, last served.
                wish = steering.input(ui, covered, size);
                if dialog.as_ref().is_none_or(|dialog| !dialog.visible()) {
                    actions.extend(panel::pressed(ui.ctx(), &facts));
                }
                let seen = steering.shown(covered, size);
                panel::overlay::show(ui, view, &seen, size, &session.template.units.length);
                actions.extend(panel.show(ui, &facts, view));
            } else {
                let wants_out = |input: &egui::InputState| {
                    input.key_pressed(egui::Key::Q) || input.key_pressed(egui::Key::Escape)
                };
                if ui.input(wants_out) {
                    actions.push(Action::Quit);
                }
                egui::CentralPanel::no_frame().show(ui, |ui| {
                    ui.centered_and_justified(|ui| match (&message, &loading) {
                        (_, Some(what)) => ui.label(format!("{what} …")),
                        (Some(text), None) => ui.label(text),
                        (None, None) => ui.label("Drop a snapshot here"),
                    });
                });
            }
            if let Some(dialog) = dialog {
                dialog.show(ui.ctx());
            }
        });
        self.panel_secs += 0.1 * (begun.elapsed().as_secs_f64() - self.panel_secs);
        if self.message.as_ref().is_some_and(|(_, is_error, since)| {
            !is_error && since.elapsed().as_secs_f64() > MESSAGE_SECS
        }) {
            self.message = None;
        }
        if self.view.follow != before {
            self.steering.release();
        }
        if let Some(session) = &mut self.session {
            session.live.track(tracking(self.view.follow));
            if self.panel.open && self.panel.tab == panel::Tab::Numbers {
                session.live.watch_blocks();
            }
        }
        match wish {
            Some(Wish::Release) => {
                self.view.follow = Follow::Nothing;
                self.steering.release();
            }
            Some(pick) => self.ask_moment(Purpose::Pick(pick)),
            None => {}
        }
        for action in actions {
            self.act(action);
        }
        self.take_dropped();
        self.take_dialog();
        output
    }

    pub(super) fn take_dropped(&mut self) {
        let mut files = std::mem::take(&mut self.dropped);
        if files.len() >= 2 {
            let second = files.swap_remove(1);
            let extent = self.steering.camera().distance * 0.2;
            self.panel.scene.offer_encounter([files.swap_remove(0), second], extent);
            (self.panel.open, self.panel.tab) = (true, panel::Tab::Scene);
        } else if let Some(file) = files.pop() {
            self.act(Action::Load(InputOptions::named(file.display().to_string())));
        }
    }

    pub(super) fn take_dialog(&mut self) {
        let Some(dialog) = &self.dialog else { return };
        let picked = dialog.selected().then(|| dialog.path().map(PathBuf::from)).flatten();
        if !dialog.visible() {
            self.dialog = None;
        }
        if let Some(path) = picked {
            self.act(Action::Load(InputOptions::named(path.display().to_string())));
        }
    }

    /// Shows a message.
    pub(super) fn say(&mut self, text: String, is_error: bool) {
        let text = words::line(&text);
        super::seen::message(&text);
        self.message = Some((text, is_error, Instant::now()));
    }

    /// Shows an error.
    pub(super) fn say_error(&mut self, error: &Error) {
        log::warn!("{error}");
        self.say(error.to_string(), true);
    }

    pub(super) fn dismiss_message(&mut self) {
        self.message = None;
    }
}

impl Session {
    /// The text of the kernel that runs now.
    fn refresh_wgsl(&mut self) {
        let variant = Live::variant(&self.live);
        if self.wgsl.as_ref().map(|(known, _)| *known) != variant {
            self.wgsl = variant.and_then(|variant| Some((variant, variant.wgsl().ok()?)));
        }
    }
}
