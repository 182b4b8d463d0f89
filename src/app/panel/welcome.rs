//! The first five seconds: a few scenes as pictures, what the mouse does, and nothing else.

use egui::{Align2, Area, Button, ColorImage, Context, Image, RichText, TextureHandle, Ui, vec2};

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

const CARDS: [Card; 4] = [
    Card {
        scene: "galaxy-collision",
        title: "Two galaxies meet",
        about: "They draw out long tails, fall back and merge",
        png: include_bytes!("../../../assets/welcome/galaxy-collision.png"),
    },
    Card {
        scene: "gas-collision",
        title: "Galaxies with gas",
        about: "Gas glows where it grows dense; dust dims what lies behind",
        png: include_bytes!("../../../assets/welcome/gas-collision.png"),
    },
    Card {
        scene: "random-shell",
        title: "A spinning shell",
        about: "Its own gravity breaks it into clumps, which meet",
        png: include_bytes!("../../../assets/welcome/random-shell.png"),
    },
    Card {
        scene: "figure-eight",
        title: "Three bodies, one path",
        about: "They chase each other on a figure of eight",
        png: include_bytes!("../../../assets/welcome/figure-eight.png"),
    },
];

/// What the mouse and the most useful key do.
const HINT: &str = "drag to turn · scroll to zoom · space to pause";
/// Width of a card in points, where there is room and at least.
const WIDE: f32 = 176.0;
const NARROW: f32 = 64.0;
/// In pictures narrower than this cards have no description.
const SENTENCES_FROM: f32 = 520.0;

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
        // Four in a row, else two and two.
        let columns = if free.width() >= 4.0 * 120.0 + 60.0 { 4 } else { 2 };
        let rows = CARDS.len().div_ceil(columns) as f32;
        // Less what is above and below the pictures, and a title below each.
        let high = (free.height() - 84.0) / rows - 26.0;
        let width = ((free.width() - 44.0) / columns as f32 - 12.0).min(high * 16.0 / 9.0);
        let width = width.clamp(NARROW, WIDE);
        let has_sentences = free.width() >= SENTENCES_FROM;
        let mut chosen = None;
        Area::new(egui::Id::unique("welcome"))
            .order(egui::Order::Foreground)
            .pivot(Align2::CENTER_CENTER)
            .fixed_pos(free.center())
            .constrain_to(free)
            .show(context, |ui| {
                theme::note().show(ui, |ui| {
                    ui.set_max_width(columns as f32 * (width + 12.0));
                    ui.horizontal(|ui| {
                        // The close button first: it keeps its place however long the question is.
                        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                            let about = "Keep the galaxies behind this (Esc)";
                            if ui.small_button("×").on_hover_text(about).clicked() {
                                self.open = false;
                            }
                            let size = if has_sentences { 16.0 } else { 13.0 };
                            let text = RichText::new("What would you like to see?").size(size);
                            ui.with_layout(
                                egui::Layout::left_to_right(egui::Align::Center),
                                |ui| {
                                    ui.add(egui::Label::new(text.color(BRIGHT)).truncate());
                                },
                            );
                        });
                    });
                    egui::Grid::new("scenes").num_columns(columns).show(ui, |ui| {
                        for (k, card) in CARDS.iter().enumerate() {
                            if show(ui, card, self.pictures.get(k), width, has_sentences) {
                                chosen = Some(card.scene);
                            }
                            if (k + 1) % columns == 0 {
                                ui.end_row();
                            }
                        }
                    });
                    let size = if has_sentences { 13.0 } else { 10.0 };
                    ui.label(RichText::new(HINT).size(size).color(DIM));
                });
            });
        if let Some(scene) = chosen {
            self.open = false;
            actions.push(Action::Load(Input::named(scene)));
        }
    }
}

/// One card; true when it was clicked.
fn show(
    ui: &mut Ui,
    card: &Card,
    picture: Option<&TextureHandle>,
    width: f32,
    has_sentence: bool,
) -> bool {
    ui.vertical(|ui| {
        ui.set_width(width);
        let size = vec2(width, width * 9.0 / 16.0);
        let clicked = match picture {
            Some(picture) => {
                let image = Image::new(picture)
                    .fit_to_exact_size(size)
                    .corner_radius(4)
                    .alt_text(card.title);
                ui.add(Button::image(image).frame_when_inactive(false))
                    .on_hover_text(card.about)
                    .clicked()
            }
            None => ui.add_sized(size, Button::new(card.title)).clicked(),
        };
        ui.label(RichText::new(card.title).strong().color(BRIGHT));
        if has_sentence {
            ui.label(RichText::new(card.about).small().color(DIM));
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
    fn every_card_has_a_scene_and_a_small_picture_with_something_in_it() {
        for card in &CARDS {
            Scene::builtin(card.scene).unwrap();
            let ([width, height], rgb) = decode(card.png).unwrap();
            assert_eq!((width * 9, rgb.len()), (height * 16, 3 * width * height), "{}", card.scene);
            assert!(rgb.iter().any(|&channel| channel > 150), "{} is dark", card.scene);
            assert!(card.png.len() < 60_000, "{}: {} bytes", card.scene, card.png.len());
        }
        assert!(decode(b"no picture").is_err());
    }
}
