//! What is written over the picture: messages, what is being made or recorded, the time of the run, whether it
//! can be trusted; and the question before the window is closed.

use egui::{Align2, Color32, Key, RichText, Ui};

use super::theme::{self, DIM, WARN, quantity};
use super::{Action, Facts, Input, Panel, transport};
use crate::gpu::DeviceClass;

/// An energy error beyond which a run cannot be trusted.
pub const RUINED: f64 = crate::diagnostics::LARGE_ENERGY_ERROR;
/// From here on the error is shown in a warning colour.
const DOUBTFUL: f64 = 0.01;

const RED: Color32 = Color32::from_rgb(255, 110, 100);
/// Font size of the line at the bottom.
const SIZE: f32 = 12.5;
/// Distance from the edges of the picture.
const MARGIN: f32 = 10.0;
const BELOW: f32 = 8.0;
/// The key under which the height of bar and line is kept, for whatever is drawn above them.
const HEIGHT: &str = "height of the status";
/// The height assumed before they are first drawn.
const USUAL_HEIGHT: f32 = 50.0;

/// Messages, progress and the line at the bottom of the picture, within the part that the panel leaves free.
/// With `messages_only` nothing else.
pub(super) fn show(
    ui: &mut Ui,
    facts: &Facts,
    free: egui::Rect,
    messages_only: bool,
    actions: &mut Vec<Action>,
) {
    at_the_bottom(ui, free, |ui, width| {
        messages(ui, facts, actions);
        if messages_only {
            return;
        }
        transport::show(ui, facts, width, actions);
        theme::caption().show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.label(RichText::new(facts.status_text()).size(SIZE).color(DIM));
                chip(ui, facts);
                if let Some(left_out) = facts.left_out {
                    let about = "Left out so that pictures come in time; shown once nothing moves. To keep it \
                                 always: the tab View";
                    let text = RichText::new(left_out).size(SIZE).color(DIM);
                    ui.label(text).on_hover_text(about);
                }
            });
        });
        // Messages included: nothing else is drawn over them.
        let height = ui.min_rect().height();
        ui.data_mut(|data| data.insert_temp(egui::Id::unique(HEIGHT), height));
    });
}

fn at_the_bottom(ui: &Ui, free: egui::Rect, content: impl FnOnce(&mut Ui, f32)) {
    let width = (free.width() - 2.0 * MARGIN).max(60.0);
    egui::Area::new(egui::Id::unique("status"))
        .pivot(Align2::LEFT_BOTTOM)
        .fixed_pos(free.left_bottom() + egui::vec2(MARGIN, -BELOW))
        .constrain_to(free)
        .show(ui.ctx(), |ui| {
            ui.set_max_width(width);
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Wrap);
            content(ui, width);
        });
}

fn messages(ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
    if let Some(message) = facts.message {
        note(ui, |ui| {
            // First in the row: within reach however long the message is.
            if ui.small_button("×").on_hover_text("Dismiss").clicked() {
                actions.push(Action::DismissMessage);
            }
            let colour = if facts.message_is_error { WARN } else { theme::BRIGHT };
            ui.label(RichText::new(message).color(colour));
        });
    }
    if let Some(loading) = facts.loading {
        note(ui, |ui| {
            ui.spinner();
            ui.label(format!("{loading} …"));
            let about = "Keep what is shown";
            if ui.small_button("Cancel").on_hover_text(about).clicked() {
                actions.push(Action::CancelLoading);
            }
        });
    }
    if let Some(part) = forces_take_long(ui, facts) {
        note(ui, |ui| {
            ui.spinner();
            let bodies = theme::bodies(facts.count);
            ui.label(format!("computing first forces of {bodies}{part} …"));
            let about = "Go back to the previous bodies, or to others";
            if ui.small_button("Cancel").on_hover_text(about).clicked() {
                actions.push(Action::LeaveForces);
            }
            if let Some(fewer) = fewer_bodies(facts) {
                let about = "As many as this adapter moves within seconds";
                let text = format!("Take {}", theme::bodies(SMOOTH));
                if ui.small_button(text).on_hover_text(about).clicked() {
                    actions.push(Action::Load(fewer));
                }
            }
        });
    }
    if let Some((path, pictures)) = facts.recording {
        note(ui, |ui| {
            let size = egui::vec2(10.0, 16.0);
            let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
            ui.painter().circle(rect.center(), 4.5, RED, egui::Stroke::NONE);
            if ui.small_button("Stop").on_hover_text("End and save the film").clicked() {
                actions.push(Action::StopRecording);
            }
            let secs = pictures as f64 / 30.0;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            ui.label(format!("{name}: {secs:.1} s recorded"));
        });
    }
}

/// Height in points of messages, bar and line above the lower edge: on a narrow picture the line wraps.
pub(super) fn height(context: &egui::Context) -> f32 {
    let height: Option<f32> = context.data(|data| data.get_temp(egui::Id::unique(HEIGHT)));
    height.map_or(USUAL_HEIGHT, |height| height + BELOW)
}

fn note(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    theme::note().show(ui, |ui| ui.horizontal_top(content));
}

/// Frames per second and the energy error: red when the run cannot be trusted.
fn chip(ui: &mut Ui, facts: &Facts) {
    let frames = facts.rates.frames_per_sec();
    if frames > 0.5 && !facts.keeper.paused {
        let text = RichText::new(format!("{frames:.0} fps")).size(SIZE).color(DIM);
        ui.label(text).on_hover_text("Pictures per second");
    }
    // The first report has nothing to be compared with.
    let Some(last) = facts.history.newest_compared() else { return };
    let error = last.energy_error;
    // NaN is none of these.
    let (colour, advice) = match error.abs() {
        sound if sound <= DOUBTFUL => (DIM, "small: the run can be trusted"),
        doubtful if doubtful <= RUINED => {
            (WARN, "a shorter time step (tab Physics) would keep it small")
        }
        _ => (
            RED,
            "the run cannot be trusted: shorten the time step (tab Physics), then restart (r)",
        ),
    };
    let time = quantity(last.time, &facts.units.time);
    let text = RichText::new(format!("energy error {}", told(error))).size(SIZE).color(colour);
    ui.label(text).on_hover_text(format!("(E - E0) / |E0| at t = {time}: {advice}"));
}

/// A relative error, in percent unless it is tiny.
fn told(error: f64) -> String {
    if error.abs() < 1e-3 { format!("{error:.1e}") } else { format!("{:.1} %", error * 100.0) }
}

impl Panel {
    /// Asks whether to close the window.
    pub(super) fn question(&mut self, ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
        let response =
            egui::Modal::new(egui::Id::unique("quit")).frame(theme::note()).show(ui.ctx(), |ui| {
                ui.set_max_width(280.0);
                ui.label(RichText::new("Close gravitile?").strong().size(15.0));
                let time = quantity(facts.status.time, &facts.units.time);
                ui.label(format!("The run is at t = {time}. Anything not saved is lost."));
                if facts.recording.is_some() {
                    ui.label("The film recorded so far is kept.");
                }
                ui.add_space(4.0);
                ui.horizontal(|ui| {
                    let close = ui.button("Close").on_hover_text("Enter or q");
                    let stay = ui.button("Stay").on_hover_text("Esc");
                    let key = ui.input(|input| input.key_pressed(Key::Enter));
                    if close.clicked() || key {
                        actions.push(Action::Quit);
                    }
                    stay.clicked()
                })
                .inner
            });
        let clicked_beside = response.backdrop_response.clicked();
        if response.inner || clicked_beside {
            self.asks_to_quit = false;
        }
    }
}

/// Bodies whose steps a software adapter takes within a second or so, drawing included.
const SMOOTH: usize = 8000;

/// The same scene with fewer bodies, if it has too many for a software adapter.
fn fewer_bodies(facts: &Facts) -> Option<Input> {
    let is_slow = facts.gpu.adapter.class == DeviceClass::Software && facts.count > SMOOTH;
    let fewer = Input { n: Some(SMOOTH), ..facts.input.clone() };
    (is_slow && fewer.scene().is_ok_and(|scene| scene.is_some())).then_some(fewer)
}

/// First forces that take longer than this are mentioned.
const LONG_SECS: f64 = 1.0;

/// If the first forces have been under way for some time: how much of them is done, as far as is known.
fn forces_take_long(ui: &Ui, facts: &Facts) -> Option<String> {
    let (id, now) = (egui::Id::unique("first forces"), ui.input(|input| input.time));
    if facts.status.ready {
        ui.data_mut(|data| data.remove::<f64>(id));
        return None;
    }
    let since = ui.data_mut(|data| *data.get_temp_mut_or_insert_with(id, || now));
    (now - since > LONG_SECS).then(|| {
        facts.part_of_first_forces().map_or(String::new(), |part| format!(": {part:.0} %"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_as_people_read_them() {
        assert_eq!(told(1.23e-6), "1.2e-6");
        assert_eq!(told(-0.012), "-1.2 %");
        assert_eq!(told(16.0), "1600.0 %");
        assert_eq!(told(f64::NAN), "NaN %");
    }
}
