//! What is written over the picture: messages, progress of loading and recording, the time of the
//! run, whether it can be trusted; and the question before the window is closed.

use egui::{Align2, Color32, FontId, Key, RichText, Ui};

use super::theme::{self, DIM, WARN, offer, quantity};
use super::{Action, Facts, Panel, transport};
use gravitile::gpu::DeviceClass;
use gravitile::settings::InputRequest;

/// An energy error beyond which a run cannot be trusted.
pub const RUINED: f64 = gravitile::diagnostics::LARGE_ENERGY_ERROR;
/// From here on the error is shown in a warning colour.
const DOUBTFUL: f64 = 0.01;

const RED: Color32 = Color32::from_rgb(255, 110, 100);
/// Font size of the line at the bottom.
const SIZE: f32 = 12.5;
/// Distance between its parts, and the size of its warning signs.
const GAP: f32 = 12.0;
const SIGN: f32 = 15.0;
/// What the signs mean: their hints, and messages when they first appear.
pub const BEHIND: &str = "The engine cannot keep up with the speed that is set (tab Physics): simulated time \
                          passes more slowly";
/// See [`BEHIND`].
pub const LEFT_OUT: &str = "Some effects are left out while the picture moves, because this adapter is too slow for \
                            them. To draw them always, switch off 'leave out what is too slow here' (tab View)";
/// Distance from the edges of the picture.
const MARGIN: f32 = 10.0;
const BELOW: f32 = 8.0;
/// The key in egui's memory of the height of bar and line, for whatever is drawn above them.
const HEIGHT: &str = "height of the status";
/// The height assumed before they are first drawn.
const DEFAULT_HEIGHT: f32 = 50.0;

/// Messages, progress and the line at the bottom of the picture, within the part that the panel
/// leaves free. With `messages_only`, only messages and progress; `light`: on a background of their
/// own, as the light theme needs.
pub(super) fn show(
    ui: &mut Ui,
    facts: &Facts,
    free: egui::Rect,
    (messages_only, light): (bool, bool),
    actions: &mut Vec<Action>,
) {
    at_the_bottom(ui, free, light && !messages_only, |ui, width| {
        messages(ui, facts, actions);
        if messages_only {
            return;
        }
        energies(ui, facts, free);
        transport::show(ui, facts, width, actions);
        line(ui, facts, width);
        // Messages included: nothing else is drawn over them.
        let height = ui.min_rect().height();
        ui.data_mut(|data| data.insert_temp(egui::Id::unique(HEIGHT), height));
    });
}

fn at_the_bottom(ui: &Ui, free: egui::Rect, filled: bool, content: impl FnOnce(&mut Ui, f32)) {
    let width = (free.width() - 2.0 * MARGIN).max(60.0);
    egui::Area::new(egui::Id::unique("status"))
        .pivot(Align2::LEFT_BOTTOM)
        .fixed_pos(free.left_bottom() + egui::vec2(MARGIN, -BELOW))
        .constrain_to(free)
        .show(ui.ctx(), |ui| {
            ui.set_max_width(width);
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Wrap);
            let fill = if filled { Color32::BLACK } else { Color32::TRANSPARENT };
            egui::Frame::new().fill(fill).corner_radius(4).show(ui, |ui| content(ui, width));
        });
}

fn messages(ui: &mut Ui, facts: &Facts, actions: &mut Vec<Action>) {
    if let Some(message) = facts.message {
        note(ui, |ui| {
            // First in the row: within reach however long the message is.
            offer(ui.small_button("×"), "Dismiss", actions, Action::DismissMessage);
            let colour = if facts.message_is_error { WARN } else { theme::BRIGHT };
            ui.label(RichText::new(message).color(colour));
        });
    }
    if let Some(loading) = facts.loading {
        note(ui, |ui| {
            ui.spinner();
            ui.label(format!("{loading} …"));
            let about = "Keep what is shown";
            offer(ui.small_button("Cancel"), about, actions, Action::CancelLoading);
        });
    }
    if let Some(part) = forces_take_long(ui, facts) {
        note(ui, |ui| {
            ui.spinner();
            let bodies = theme::bodies(facts.count);
            ui.label(format!("computing first forces of {bodies}{part} …"));
            let about = "Go back to the previous bodies, or to others";
            offer(ui.small_button("Cancel"), about, actions, Action::LeaveForces);
            if let Some(fewer) = fewer_bodies(facts) {
                let about = "Restarts the scene with as many bodies as this adapter can step about once a second";
                let text = format!("Take {}", theme::bodies(SMOOTH));
                offer(ui.small_button(text), about, actions, Action::Load(fewer));
            }
        });
    }
    if let Some((path, pictures)) = facts.recording {
        note(ui, |ui| {
            let size = egui::vec2(10.0, 16.0);
            let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
            ui.painter().circle(rect.center(), 4.5, RED, egui::Stroke::NONE);
            offer(ui.small_button("Stop"), "End and save the film", actions, Action::StopRecording);
            let secs = pictures as f64 / 30.0;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            ui.label(format!("{name}: {secs:.1} s recorded"));
        });
    }
}

/// Height in points of messages, bar and line above the lower edge: on a narrow picture the line
/// wraps.
pub(super) fn height(context: &egui::Context) -> f32 {
    let height: Option<f32> = context.data(|data| data.get_temp(egui::Id::unique(HEIGHT)));
    height.map_or(DEFAULT_HEIGHT, |height| height + BELOW)
}

fn note(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    theme::note().show(ui, |ui| ui.horizontal_top(content));
}

/// The energy errors of two runs since they parted, each below its picture, and the difference.
fn energies(ui: &mut Ui, facts: &Facts, free: egui::Rect) {
    let Some(compared) = &facts.compared else { return };
    let texts = match compared.energy_errors {
        Some([first, second]) => [
            format!("energy error {}", percent(first)),
            format!("energy error {}, difference {}", percent(second), percent(second - first)),
        ],
        None => ["energy error: not yet measured", ""].map(str::to_owned),
    };
    let about = "(E - E0) / |E0| since the two runs parted";
    ui.horizontal(|ui| {
        let places = [free.left(), free.center().x];
        for (text, left) in texts.iter().zip(places).filter(|(text, _)| !text.is_empty()) {
            ui.add_space((left + MARGIN - ui.cursor().min.x).max(0.0));
            let text = RichText::new(text).size(SIZE).color(theme::BRIGHT);
            let label = |ui: &mut Ui| ui.add(egui::Label::new(text).extend());
            theme::caption().show(ui, label).inner.on_hover_text(about);
        }
    });
}

/// The number of ranks of [`StatusItem`].
const RANKS: usize = 6;

/// A part of the line at the bottom.
struct StatusItem {
    text: String,
    colour: Color32,
    about: String,
    /// If not all parts fit, those with the largest rank are left out first.
    rank: u8,
}

/// The line at the bottom: as many parts as fit on one line, then signs.
fn line(ui: &mut Ui, facts: &Facts, width: f32) {
    let part = |rank: u8, text: String, about: &str| StatusItem {
        text,
        colour: DIM,
        about: about.to_owned(),
        rank,
    };
    let mut parts = vec![
        part(0, facts.time_text(), "Simulated time"),
        part(4, format!("step {}", facts.status.steps), "Steps since the beginning"),
        part(3, theme::bodies(facts.count), "All bodies, with dark matter"),
        part(2, facts.activity_text(), "Steps per second of wall-clock time"),
    ];
    let frames = facts.rates.frames_per_sec();
    if frames > 0.5 && !facts.keeper.paused {
        parts.push(part(5, format!("{frames:.0} fps"), "Pictures per second"));
    }
    parts.extend(energy_error(facts).filter(|_| facts.status.ready));
    let signs: Vec<&str> =
        [facts.status.behind.then_some(BEHIND), facts.left_out.map(|_| LEFT_OUT)]
            .into_iter()
            .flatten()
            .collect();
    let font = FontId::proportional(SIZE);
    // Each part keeps the largest width that it has had, so that what follows does not jump.
    let known = egui::Id::unique("widths of the status");
    let mut widths: [f32; RANKS] = ui.data(|data| data.get_temp(known)).unwrap_or_default();
    for part in &parts {
        let galley = ui.painter().layout_no_wrap(part.text.clone(), font.clone(), DIM);
        let width = &mut widths[usize::from(part.rank)];
        // A number that has become far shorter gives its room back.
        *width = if *width < 2.0 * galley.size().x {
            width.max(galley.size().x)
        } else {
            galley.size().x
        };
    }
    ui.data_mut(|data| data.insert_temp(known, widths));
    let width_of = |part: &StatusItem| widths[usize::from(part.rank)];
    let mut by_rank: Vec<(u8, f32)> =
        parts.iter().map(|part| (part.rank, width_of(part) + GAP)).collect();
    by_rank.sort_by_key(|(rank, _)| *rank);
    let mut room = width - 2.0 * GAP - signs.len() as f32 * (SIGN + GAP);
    let fits = |&(_, part): &(u8, f32)| {
        room -= part;
        room >= 0.0
    };
    let most = by_rank.into_iter().take_while(fits).last().map_or(0, |(rank, _)| rank);
    let left: Vec<&str> =
        parts.iter().filter(|part| part.rank > most).map(|part| part.text.as_str()).collect();
    let left = if left.is_empty() { String::new() } else { format!("\n{}", left.join(" · ")) };
    theme::caption().show(ui, |ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        ui.horizontal(|ui| {
            for part in parts.iter().filter(|part| part.rank <= most) {
                let text = RichText::new(&part.text).font(font.clone()).color(part.colour);
                let label = egui::Label::new(text).extend();
                let layout = egui::Layout::left_to_right(egui::Align::Center);
                let place = egui::vec2(width_of(part), SIZE);
                let label = ui.allocate_ui_with_layout(place, layout, |ui| {
                    ui.set_min_width(place.x);
                    ui.add(label)
                });
                label.inner.on_hover_text(format!("{}{left}", part.about));
            }
            for about in signs {
                let (rect, response) =
                    ui.allocate_exact_size(egui::Vec2::splat(SIGN), egui::Sense::hover());
                let painter = ui.painter();
                let stroke = egui::Stroke::new(1.2, WARN);
                painter.circle_stroke(rect.center(), 0.5 * SIGN - 1.0, stroke);
                let font = FontId::proportional(10.5);
                painter.text(rect.center(), Align2::CENTER_CENTER, "!", font, WARN);
                let label = || egui::WidgetInfo::labeled(egui::Role::Label, true, about);
                response.widget_info(label);
                let more = facts.left_out.filter(|_| about == LEFT_OUT).unwrap_or_default();
                response.on_hover_text(format!("{about}\n{more}").trim_end());
            }
        });
    });
}

/// The energy error: red when the run cannot be trusted.
fn energy_error(facts: &Facts) -> Option<StatusItem> {
    // The first report has nothing to be compared with.
    let last = facts.history.newest_compared()?;
    let error = last.energy_error;
    // NaN falls through to the last arm.
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
    let time = quantity(last.report.time, &facts.units.time);
    Some(StatusItem {
        text: format!("energy error {}", percent(error)),
        colour,
        about: format!("(E - E0) / |E0| at t = {time}: {advice}"),
        rank: 1,
    })
}

/// A relative error, in percent unless it is tiny.
fn percent(error: f64) -> String {
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
        let clicked_outside = response.backdrop_response.clicked();
        if response.inner || clicked_outside {
            self.asks_to_quit = false;
        }
    }
}

/// Number of bodies with which a step takes a software adapter about a second, drawing included.
const SMOOTH: usize = 8000;

/// The same scene with fewer bodies, if it has too many for a software adapter.
fn fewer_bodies(facts: &Facts) -> Option<InputRequest> {
    let is_slow = facts.gpu.adapter.class == DeviceClass::Software && facts.count > SMOOTH;
    let fewer = InputRequest { n: Some(SMOOTH), ..facts.input.clone() };
    (is_slow && fewer.scene().is_ok_and(|scene| scene.is_some())).then_some(fewer)
}

/// First forces that take longer than this are mentioned.
const LONG_SECS: f64 = 1.0;

/// If the first forces have been in progress for some time: how much of them is done, as far as is
/// known.
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
    fn energy_errors_are_in_percent_unless_tiny() {
        assert_eq!(percent(1.23e-6), "1.2e-6");
        assert_eq!(percent(-0.012), "-1.2 %");
        assert_eq!(percent(16.0), "1600.0 %");
        assert_eq!(percent(f64::NAN), "NaN %");
    }
}
