//! What is thrown into the run by a drag in the picture.

use egui::{Align2, Color32, DragValue, FontId, Pos2, Slider, SliderClamping, Stroke, Ui, vec2};

use super::Action;
use super::theme::{BRIGHT, DIM, InUnit, LINES, named, offer, section};
use gravitile::settings::{Throw, ThrownKind};

/// The choice of what is thrown in.
#[derive(Clone, Debug, PartialEq)]
pub struct ThrowForm {
    /// Whether a drag in the picture throws something in.
    pub on: bool,
    /// What.
    pub kind: ThrownKind,
    /// Its mass, in that of all bodies.
    pub mass_part: f64,
    /// Its scale length, in half the picture's height.
    pub size_part: f64,
    /// Its number of bodies.
    pub n: usize,
}

impl Default for ThrowForm {
    fn default() -> Self {
        let kind = ThrownKind::default();
        Self { on: false, kind, mass_part: 0.1, size_part: 0.05, n: 1000 }
    }
}

/// Numbers of bodies that the panel offers; the command line takes more.
const COUNTS: std::ops::RangeInclusive<usize> = 10..=100_000;

impl ThrowForm {
    /// The number of bodies of the chosen kind.
    pub fn count(&self) -> usize {
        if self.kind == ThrownKind::Body { 1 } else { self.n.clamp(self.kind.least(), Throw::MOST) }
    }

    pub(super) fn show(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        if !section(ui, "Throw bodies in") {
            return;
        }
        ui.horizontal(|ui| {
            for (kind, name) in ThrownKind::ALL {
                let about = match kind {
                    ThrownKind::Body => "A single body",
                    ThrownKind::Cluster => "A Plummer sphere in equilibrium",
                    ThrownKind::Galaxy => {
                        "A disk galaxy with bulge and halo in equilibrium, face-on"
                    }
                };
                ui.selectable_value(&mut self.kind, kind, name).on_hover_text(about);
            }
        });
        let slider = |value, range| {
            Slider::new(value, range).logarithmic(true).clamping(SliderClamping::Edits).exact()
        };
        let about = "In the mass of all bodies that are there";
        let mass = slider(&mut self.mass_part, 1e-3..=10.0);
        named(ui, "mass", |ui| ui.add(mass).on_hover_text(about));
        if self.kind != ThrownKind::Body {
            let about =
                "Scale length, in half the picture's height; at least what the time step resolves";
            let size = slider(&mut self.size_part, 0.005..=1.0);
            named(ui, "size", |ui| ui.add(size).on_hover_text(about));
            let drag = DragValue::new(&mut self.n).range(COUNTS).speed(10.0);
            let about = "Number of bodies that it is made of. Drag, or click to type";
            named(ui, "bodies in it", |ui| ui.add(drag).on_hover_text(about));
        }
        let about = "A drag in the picture throws it in (t); ctrl+z takes it out";
        let text = if self.on { "Drag in the picture" } else { "Throw in" };
        offer(ui.add(egui::Button::new(text).selected(self.on)), about, actions, Action::ThrowMode);
    }
}

/// Draws the velocity of what is being thrown in, between two points of the window, with `text` at
/// the tip.
pub fn arrow(ui: &Ui, [from, to]: [Pos2; 2], text: &str) {
    let painter = ui.ctx().layer_painter(egui::LayerId::background());
    let stroke = Stroke::new(2.0, LINES[1]);
    painter.circle_stroke(from, 5.0, stroke);
    painter.arrow(from, to - from, stroke);
    let galley = painter.layout_no_wrap(text.to_owned(), FontId::proportional(13.0), BRIGHT);
    let room = ui.ctx().content_rect().shrink(6.0);
    let size = galley.size() + vec2(8.0, 4.0);
    let at = (to + vec2(14.0, -20.0)).min(room.max - size).max(room.min);
    let note = egui::Rect::from_min_size(at, size);
    painter.rect_filled(note, 3.0, Color32::from_black_alpha(200));
    let inside = Align2::CENTER_CENTER.align_size_within_rect(galley.size(), note);
    painter.galley(inside.min, galley, DIM);
}
