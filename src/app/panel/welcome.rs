//! All scenes as pictures, what the mouse does, and nothing else. The run waits meanwhile.

use egui::{
    Align, Align2, Area, Button, ColorImage, Context, Image, Layout, RichText, TextureHandle, Ui,
    vec2,
};

use super::theme::{self, BRIGHT, DIM};
use super::{Action, Input};
use crate::error::{Error, Result};

/// A scene with its picture and a description.
struct Card {
    scene: &'static str,
    title: &'static str,
    about: &'static str,
    png: &'static [u8],
}

macro_rules! card {
    ($scene:literal, $title:literal, $about:literal) => {
        Card {
            scene: $scene,
            title: $title,
            about: $about,
            png: include_bytes!(concat!("../../../assets/welcome/", $scene, ".png")),
        }
    };
}

const CARDS: [Card; 16] = [
    card!("galaxy-collision", "Two galaxies meet", "They draw out long tails, fall back and merge"),
    card!(
        "gas-collision",
        "Galaxies with gas",
        "Gas glows where it grows dense; dust dims what lies behind"
    ),
    card!("cartwheel", "Cartwheel", "One galaxy falls through another, and a ring runs outwards"),
    card!(
        "minor-merger",
        "A small companion",
        "It raises two spiral arms, and sinks into the large galaxy"
    ),
    card!("milky-way", "A galaxy like ours", "A thin disk, a small bulge and a dark halo"),
    card!("disk-galaxy", "One disk galaxy", "Noise grows into spiral arms that come and go"),
    card!("hernquist", "Elliptical galaxy", "In equilibrium: it should not change"),
    card!("plummer", "Star cluster", "In equilibrium: a test of any engine"),
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
/// From the edges of the picture.
const MARGIN: f32 = 12.0;
/// Cards narrower than this have their description in a hint only.
const SENTENCES_FROM: f32 = 150.0;

/// The sheet of pictures, and the pictures once they were shown.
#[derive(Default)]
pub struct Welcome {
    /// Whether it is shown.
    pub open: bool,
    pictures: Vec<TextureHandle>,
}

impl Welcome {
    /// Shows it over the free part of the picture.
    pub(super) fn show(&mut self, context: &Context, free: egui::Rect, actions: &mut Vec<Action>) {
        if !self.open {
            // Shown once in a run, if at all: the pictures need not stay.
            self.pictures.clear();
            return;
        }
        if self.pictures.len() < CARDS.len() {
            self.pictures = CARDS.iter().filter_map(|card| load(context, card).ok()).collect();
        }
        let room = free.shrink(MARGIN);
        let inside = room.width() - 36.0;
        // As many columns as leave room for descriptions; with five, one card would stand alone.
        let columns = ((inside + GAP) / (SENTENCES_FROM + 22.0 + GAP)) as usize;
        let columns = if columns == 5 { 4 } else { columns.clamp(2, 6) };
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
                                if show(ui, card, self.pictures.get(k), width) {
                                    chosen = Some(card.scene);
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
        // The window closes the sheet: what is chosen from it should run.
        actions.extend(chosen.map(|scene| Action::Load(Input::named(scene))));
    }
}

/// One card; true when it was clicked.
fn show(ui: &mut Ui, card: &Card, picture: Option<&TextureHandle>, width: f32) -> bool {
    ui.vertical(|ui| {
        ui.set_width(width);
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().button_padding = vec2(0.0, 0.0);
        let size = vec2(width, (width * 9.0 / 16.0).round());
        let clicked = match picture {
            Some(picture) => {
                let image = Image::new(picture)
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

fn load(context: &Context, card: &Card) -> Result<TextureHandle> {
    let (size, rgb) = decode(card.png)?;
    let image = ColorImage::from_rgb(size, &rgb);
    Ok(context.load_texture(card.scene, image, egui::TextureOptions::LINEAR))
}

/// Width and height, and three bytes per pixel.
fn decode(bytes: &[u8]) -> Result<([usize; 2], Vec<u8>)> {
    let broken = |error: png::DecodingError| Error::Outside(format!("a scene's picture: {error}"));
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    // Palettes and greys become colours.
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(broken)?;
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or(0)];
    let info = reader.next_frame(&mut pixels).map_err(broken)?;
    let step = info.color_type.samples();
    let rgb = pixels[..info.buffer_size()].chunks_exact(step).flat_map(|p| match step {
        1 | 2 => [p[0]; 3],
        _ => [p[0], p[1], p[2]],
    });
    Ok(([info.width as usize, info.height as usize], rgb.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    #[test]
    fn every_scene_has_a_card_and_a_small_picture_with_something_in_it() {
        for card in &CARDS {
            Scene::builtin(card.scene).unwrap();
            let ([width, height], rgb) = decode(card.png).unwrap();
            assert_eq!((width * 9, rgb.len()), (height * 16, 3 * width * height), "{}", card.scene);
            assert!(rgb.iter().any(|&channel| channel > 150), "{} is dark", card.scene);
            assert!(card.png.len() < 40_000, "{}: {} bytes", card.scene, card.png.len());
        }
        let mut cards: Vec<&str> = CARDS.iter().map(|card| card.scene).collect();
        let mut scenes: Vec<&str> = Scene::names().collect();
        cards.sort_unstable();
        scenes.sort_unstable();
        assert_eq!(cards, scenes);
        assert!(decode(b"no picture").is_err());
    }
}
