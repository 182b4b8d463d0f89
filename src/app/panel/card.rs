//! The card of a body that was clicked on: how it moves, whether it is bound to the others, its
//! nearest neighbours.

use egui::{Align2, Area, Context, Grid, Id, RichText, Ui};

use super::Facts;
use super::theme::{self, BRIGHT, DIM, NARROW, WARN, number, quantity, row};
use gravitile::live::{BodyFacts, Neighbour};
use gravitile::messages;
use gravitile::render::Follow;
use gravitile::render::legend::speed_unit;

/// Distance from the corner of the picture, in points.
const MARGIN: f32 = 10.0;
/// Height of the picture in points from which the neighbours are shown, too.
const ALL_FROM: f32 = 330.0;

/// The card, if it is shown.
#[derive(Default)]
pub struct BodyCard {
    /// The index of its body.
    pub body: Option<usize>,
}

impl BodyCard {
    /// Shows the card at the upper left of what the panel leaves free.
    pub(super) fn show(
        &mut self,
        context: &Context,
        facts: &Facts,
        free: egui::Rect,
        follow: &mut Follow,
    ) {
        let Some(body) = self.body else { return };
        let mut next = self.body;
        Area::new(Id::unique("body"))
            .anchor(Align2::LEFT_TOP, [MARGIN, MARGIN])
            .constrain_to(free)
            .show(context, |ui| {
                theme::note().show(ui, |ui| {
                    let known = facts.inspected.about.as_ref().filter(|about| about.body == body);
                    ui.horizontal(|ui| {
                        let close = ui.small_button("×").on_hover_text("Close (Esc)");
                        if close.clicked() {
                            next = None;
                        }
                        let name = match known {
                            Some(about) => named(facts, about.id, about.component),
                            None => "computing …".to_owned(),
                        };
                        ui.label(RichText::new(name).strong().color(BRIGHT));
                    });
                    let Some(about) = known else { return };
                    numbers(ui, facts, about);
                    if free.height() < ALL_FROM {
                        return;
                    }
                    nearest(ui, facts, &about.nearest, &mut next);
                    let follows = *follow == Follow::Body(body);
                    let text = "keep it in the middle";
                    let hint = "The camera follows this body; double-clicking a body does the same";
                    if ui.selectable_label(follows, text).on_hover_text(hint).clicked() {
                        *follow = if follows { Follow::Nothing } else { Follow::Body(body) };
                    }
                });
            });
        self.body = next;
    }
}

/// The id of a body and the component it belongs to.
fn named(facts: &Facts, id: u64, component: usize) -> String {
    match facts.components.get(component) {
        Some(of) => format!("body {id} · {}", messages::piece(&of.name)),
        None => format!("body {id}"),
    }
}

fn numbers(ui: &mut Ui, facts: &Facts, about: &BodyFacts) {
    let units = facts.units;
    let speed = speed_unit(units);
    let of_speed = |value: f64| {
        format!("{} {}", number(value * speed.factor), speed.name).trim_end().to_owned()
    };
    let energy_unit = match speed.name.as_str() {
        "" => String::new(),
        name => format!(" ({name})²"),
    };
    let of_energy =
        |value: f64| format!("{}{energy_unit}", number(value * speed.factor * speed.factor));
    Grid::new("body").num_columns(2).min_col_width(NARROW).spacing([10.0, 2.0]).show(ui, |ui| {
        row(ui, "mass", "In the bodies' unit of mass", quantity(about.mass, &units.mass));
        let hint = "Relative to the centre of mass of all bodies";
        row(ui, "speed", hint, of_speed(about.speed));
        row(ui, "from the centre", hint, quantity(about.distance, &units.length));
        let hint = format!(
            "Per unit mass: {} from its motion relative to the others, {} from their attraction",
            of_energy(about.kinetic),
            of_energy(about.potential)
        );
        row(ui, "energy", &hint, of_energy(about.energy()));
        let (text, colour, hint) = match about.is_bound() {
            true => (
                "bound",
                BRIGHT,
                "Its kinetic and potential energy add up to less than 0: the others hold it",
            ),
            false => (
                "free",
                WARN,
                "Its kinetic and potential energy add up to 0 or more: nothing holds it \
                                     unless the others change",
            ),
        };
        row(ui, "to the others", hint, RichText::new(text).color(colour));
    });
}

/// The nearest bodies; a click shows their cards.
fn nearest(ui: &mut Ui, facts: &Facts, nearest: &[Neighbour], next: &mut Option<usize>) {
    if nearest.is_empty() {
        return;
    }
    ui.label(RichText::new("nearest").color(DIM));
    for near in nearest {
        let away = quantity(near.distance, &facts.units.length);
        let text = format!("{} at {away}", named(facts, near.id, near.component));
        let link = ui.link(RichText::new(text).size(12.0));
        if link.on_hover_text("Shows that body's card").clicked() {
            *next = Some(near.body);
        }
    }
}
