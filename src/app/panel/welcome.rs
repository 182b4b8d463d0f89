//! The welcome sheet: all scenes as pictures, and what the mouse does. The run is on hold
//! meanwhile.

use egui::{Align, Align2, Area, Button, Context, Image, Layout, RichText, Ui, vec2};

use super::pictures::{Picture, picture};
use super::theme::{self, BRIGHT, DIM};
use super::{Action, Input};

/// A scene with its picture and a description.
pub(super) struct Card {
    pub(super) picture: Picture,
    title: &'static str,
    about: &'static str,
}

macro_rules! card {
    ($scene:literal, $title:literal, $about:literal) => {
        Card { picture: picture!($scene), title: $title, about: $about }
    };
}

pub(super) const CARDS: [Card; 26] = [
    card!("galaxy-collision", "Two galaxies meet", "They draw out long tails, fall back and merge"),
    card!(
        "gas-collision",
        "Galaxies with gas",
        "Gas glows where it grows dense; dust dims what lies behind"
    ),
    card!("antennae", "The Antennae", "Two galaxies and their tails, as they are seen from Earth"),
    card!("mice", "The Mice", "After a first passage; one tail is seen edge-on"),
    card!("m51", "The Whirlpool", "A companion draws out two arms, as in M 51"),
    card!(
        "milky-way-andromeda",
        "Our own collision",
        "The Milky Way and Andromeda, from three billion years on"
    ),
    card!("cartwheel", "Cartwheel", "One galaxy falls through another, and a ring runs outwards"),
    card!(
        "minor-merger",
        "A small companion",
        "It raises two spiral arms, and sinks into the large galaxy"
    ),
    card!("toomre-retrograde", "Against the rotation", "A passage that does little harm"),
    card!("toomre-direct", "With the rotation", "The same passage the other way draws out a tail"),
    card!("toomre-bridge", "A bridge", "A light companion draws an arm towards it"),
    card!("toomre-tail", "A tail", "A heavy companion tears the outer disk away"),
    card!("barred-galaxy", "A bar grows", "In a heavy, cold disk, out of noise"),
    card!("milky-way", "A galaxy like ours", "A thin disk, a small bulge and a dark halo"),
    card!("disk-galaxy", "One disk galaxy", "Noise grows into spiral arms that come and go"),
    card!("hernquist", "Elliptical galaxy", "In equilibrium: it should not change"),
    card!("plummer", "Star cluster", "In equilibrium: a test of any engine"),
    card!(
        "star-cluster",
        "Heavy and light stars",
        "A cluster with binaries, whose heavy stars sink to its centre"
    ),
    card!(
        "random-shell",
        "A spinning shell",
        "It falls in along its axis and spreads at the equator"
    ),
    card!("random-sphere", "Random sphere", "It shrinks, bounces and settles"),
    card!("expanding", "Expanding sphere", "Clumps grow while it spreads; then it falls back"),
    card!("cold-sphere", "Cold collapse", "It falls in from rest, bounces and ejects some bodies"),
    card!("uniform-cube", "Cube", "It collapses; its corners shoot through as streams"),
    card!("two-body", "Two bodies", "Ellipses that should stay as they are"),
    card!("figure-eight", "Three bodies, one path", "They chase each other on a figure of eight"),
    card!(
        "pythagorean",
        "Three bodies fall",
        "From a triangle of sides 3, 4 and 5; one is thrown out"
    ),
];

/// What the mouse and the most useful keys do.
const HINT: &str = "drag to turn · scroll to zoom · space to pause · ? for all keys";
/// Width of a card in points, where there is room and at least; and the distance between cards.
const WIDE: f32 = 200.0;
const NARROW: f32 = 116.0;
const GAP: f32 = 10.0;
/// Distance from the edges of the picture.
const MARGIN: f32 = 12.0;
/// Cards narrower than this have their description in a hint only.
const SENTENCES_FROM: f32 = 150.0;

/// The sheet of pictures.
#[derive(Default)]
pub struct Welcome {
    /// Whether it is shown.
    pub open: bool,
    was_open: bool,
}

impl Welcome {
    /// Shows it over the free part of the picture.
    pub(super) fn show(&mut self, context: &Context, free: egui::Rect, actions: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.was_open, self.open) && !self.open {
            return;
        }
        if !self.open {
            // The sheet is rarely shown more than once, so the textures are freed.
            CARDS.iter().for_each(|card| card.picture.forget(context));
            return;
        }
        let room = free.shrink(MARGIN);
        let inside = room.width() - 36.0;
        // As many columns as leave room for descriptions; with four, one card would stand alone.
        let columns = ((inside + GAP) / (SENTENCES_FROM + 22.0 + GAP)) as usize;
        let columns = if columns == 4 { 3 } else { columns.clamp(2, 6) };
        let width = (inside + GAP) / columns as f32 - GAP;
        let width = width.clamp(NARROW, WIDE).floor();
        let mut chosen = None;
        let mut close = false;
        Area::new(egui::Id::unique("welcome"))
            .order(egui::Order::Foreground)
            .pivot(Align2::CENTER_CENTER)
            .fixed_pos(free.center())
            .constrain_to(free)
            .show(context, |ui| {
                theme::sheet().show(ui, |ui| {
                    ui.set_width(columns as f32 * (width + GAP) - GAP);
                    ui.horizontal(|ui| {
                        // The close button first: it keeps its place however long the question is.
                        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                            let about = "Keep the scene behind this (Esc)";
                            let button = Button::new(RichText::new("×").size(18.0));
                            let button = ui.add(button.min_size(vec2(28.0, 28.0)));
                            close = button.on_hover_text(about).clicked();
                            let text = RichText::new("What would you like to see?").size(17.0);
                            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                                ui.add(egui::Label::new(text.color(BRIGHT)).truncate());
                            });
                        });
                    });
                    ui.label(RichText::new(HINT).color(DIM));
                    ui.add_space(4.0);
                    let high = (room.height() - 100.0).max(60.0);
                    let scroll =
                        egui::ScrollArea::vertical().max_height(high).min_scrolled_height(high);
                    scroll.show(ui, |ui| {
                        let spacing = vec2(GAP, GAP);
                        let grid = egui::Grid::new("scenes").num_columns(columns).spacing(spacing);
                        grid.show(ui, |ui| {
                            for (k, card) in CARDS.iter().enumerate() {
                                if show(ui, card, width) {
                                    chosen = Some(card.picture.scene);
                                }
                                if (k + 1) % columns == 0 {
                                    ui.end_row();
                                }
                            }
                        });
                    });
                });
            });
        if close {
            self.open = false;
        }
        // The window closes the sheet when it loads the chosen scene.
        actions.extend(chosen.map(|scene| Action::Load(Input::named(scene))));
    }
}

/// One card; true when it was clicked.
fn show(ui: &mut Ui, card: &Card, width: f32) -> bool {
    ui.vertical(|ui| {
        ui.set_width(width);
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().button_padding = vec2(0.0, 0.0);
        let size = vec2(width, (width * 9.0 / 16.0).round());
        let clicked = match card.picture.texture(ui.ctx()) {
            Some(texture) => {
                let image = Image::new(&texture)
                    .fit_to_exact_size(size)
                    .corner_radius(4)
                    .alt_text(card.title);
                let button = Button::image(image).frame_when_inactive(false);
                ui.add(button).on_hover_text(card.about).clicked()
            }
            None => ui.add_sized(size, Button::new(card.title)).clicked(),
        };
        ui.label(RichText::new(card.title).strong().color(BRIGHT));
        if width >= SENTENCES_FROM {
            ui.label(RichText::new(card.about).color(DIM));
        }
        clicked
    })
    .inner
}

#[cfg(test)]
mod tests {
    use super::*;
    use gravitile::scene::Scene;

    #[test]
    fn every_scene_has_a_card() {
        let mut cards: Vec<&str> = CARDS.iter().map(|card| card.picture.scene).collect();
        let mut scenes: Vec<&str> = Scene::names().collect();
        cards.sort_unstable();
        scenes.sort_unstable();
        assert_eq!(cards, scenes);
    }
}
