//! The welcome sheet: all scenes as pictures, and what the mouse does. It is shown in the panel's
//! place, to the right of the first scene or below it, so that the scene stays visible.

use egui::{Align, Button, Image, Layout, Panel, RichText, Ui, Vec2, vec2};

use super::Action;
use super::pictures::{Picture, picture};
use super::theme::{self, BRIGHT, DIM};
use gravitile::settings::InputRequest;

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

pub(super) const CARDS: [Card; 28] = [
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
        "atoms-for-peace",
        "Atoms for Peace",
        "Two galaxies that have become one, with two tails"
    ),
    card!(
        "milky-way-andromeda",
        "Our own collision",
        "The Milky Way and Andromeda, from three billion years on"
    ),
    card!(
        "local-group",
        "And the third one",
        "The same with Triangulum, which flies through between them"
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

/// What the mouse and the most useful keys do, and what fingers do.
const HINT: &str = "drag to turn · scroll to zoom · space to pause · ? for all keys";
const TOUCH_HINT: &str = "drag to turn · two fingers to zoom and move · tap a body for its facts";
/// Width of a card in points, where there is room and at least; and the distance between cards.
const WIDE: f32 = 200.0;
const NARROW: f32 = 116.0;
const GAP: f32 = 10.0;
/// What the scroll bar takes of the width.
const ASIDE: f32 = 14.0;
/// Cards narrower than this have their description in a hint only.
const SENTENCES_FROM: f32 = 150.0;
/// The part of a window's width that it has, and its least and largest width in points.
const PART: f32 = 0.34;
const WIDTH: [f32; 2] = [340.0, 680.0];

/// The sheet of pictures.
#[derive(Default)]
pub struct Welcome {
    /// Whether it is shown.
    pub open: bool,
    /// Whether the pointer is a finger.
    pub by_touch: bool,
    was_open: bool,
}

impl Welcome {
    /// The height, in points, from which a row of cards is visible below a scene.
    pub(super) const LEAST_HIGH: f32 = 230.0;

    /// Its width in points to the right of a scene, in a window of that width.
    pub(super) fn width(window: f32) -> f32 {
        (PART * window).round().clamp(WIDTH[0], WIDTH[1])
    }

    /// Shows it in the area that it covers, at the right or below; returns whether it is open.
    pub(super) fn show(&mut self, ui: &mut Ui, covered: Vec2, actions: &mut Vec<Action>) -> bool {
        if !self.open {
            if std::mem::take(&mut self.was_open) {
                // The sheet is rarely shown more than once, so the textures are freed.
                CARDS.iter().for_each(|card| card.picture.forget(ui.ctx()));
            }
            return false;
        }
        self.was_open = true;
        let panel = match covered.y > 0.0 {
            true => Panel::bottom("welcome below").exact_size(covered.y),
            false => Panel::right("welcome").exact_size(covered.x).resizable(false),
        };
        let shown = panel.frame(theme::frame().fill(theme::SHEET));
        let chosen = shown.show(ui, |ui| self.cards(ui)).inner;
        // The window closes the sheet when it loads the chosen scene.
        actions.extend(chosen.map(|scene| Action::Load(InputRequest::named(scene))));
        true
    }

    /// Title, hint and cards; returns the scene that was clicked on.
    fn cards(&mut self, ui: &mut Ui) -> Option<&'static str> {
        ui.horizontal(|ui| {
            // The close button first: it keeps its place however long the question is.
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let about = "Keep the scene that is shown (Esc)";
                let button = Button::new(RichText::new("×").size(18.0));
                let button = ui.add(button.min_size(vec2(28.0, 28.0)));
                self.open &= !button.on_hover_text(about).clicked();
                let text = RichText::new("What would you like to see?").size(17.0);
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.add(egui::Label::new(text.color(BRIGHT)).truncate());
                });
            });
        });
        let hint = if self.by_touch { TOUCH_HINT } else { HINT };
        ui.label(RichText::new(hint).color(DIM));
        ui.add_space(4.0);
        let inside = ui.available_width() - ASIDE + GAP;
        let columns = ((inside / (SENTENCES_FROM + GAP)) as usize).clamp(2, 6);
        let width = (inside / columns as f32 - GAP).clamp(NARROW, WIDE).floor();
        let mut chosen = None;
        egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            let grid = egui::Grid::new("scenes").num_columns(columns).spacing(vec2(GAP, GAP));
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
        chosen
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
