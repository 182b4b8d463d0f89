//! The light theme, for projectors and bright rooms: every colour of the panel, of notes and of the
//! bar keeps its hue, and has the contrast to white that it had to black. What is drawn on the
//! picture without a background of its own stays.

use std::collections::HashSet;

use egui::epaint::shape_transform::adjust_colors;
use egui::epaint::{ClippedShape, Shape};
use egui::layers::ShapeIdx;
use egui::{Color32, Context, Id, LayerId, Order, Rect, Rgba, TextureId, Ui};

use super::theme::section;

/// Largest contrast to white of a saturated colour: a darker one would hardly have a hue.
const SATURATED: f32 = 5.0;
/// Largest contrast, that of black and white, by WCAG 2: (L1 + 0.05) / (L2 + 0.05).
const LARGEST: f32 = 21.0;
const FLARE: f32 = 0.05;

/// The switch in the tab View.
pub(super) fn switch(ui: &mut Ui, light: &mut bool) {
    let about = "Dark text on white in the panel, in notes and in the bar, for projectors and bright rooms (l). \
                 The picture stays. The next start has it again, as it has the text size (ctrl and + - 0)";
    if !section(ui, "Panel") {
        return;
    }
    ui.checkbox(light, "light, with high contrast").on_hover_text(about);
}

/// How far clip rectangles of the panel extend beyond it, at most.
const MARGIN: f32 = 12.0;
/// The names of layers that belong to no area of egui's.
pub(super) const NOTE: &str = "note of the time bar";
pub(super) const DROP: &str = "drop here";

/// The background of the panel.
pub fn background(light: bool) -> Color32 {
    // As dark as the sky next to it.
    let dark = Color32::from_rgb(3, 4, 8);
    if light { turned(dark) } else { dark }
}

/// Changes all that was drawn in this frame, except what is on the picture `free` itself.
pub(super) fn turn(context: &Context, free: Rect) {
    let mut layers: Vec<LayerId> = context.memory(|memory| memory.layer_ids().collect());
    layers.push(LayerId::new(Order::Tooltip, Id::unique(NOTE)));
    layers.push(LayerId::new(Order::Foreground, Id::unique(DROP)));
    layers.push(LayerId::background());
    let mut known = HashSet::new();
    layers.retain(|layer| known.insert(*layer));
    let on_picture = free.shrink(MARGIN);
    context.graphics_mut(|graphics| {
        for layer in layers {
            let is_background = layer == LayerId::background();
            let Some(list) = graphics.get_mut(layer) else { continue };
            for index in 0..list.next_idx().0 {
                list.mutate_shape(ShapeIdx(index), |ClippedShape { clip_rect, shape, .. }| {
                    let is_beside =
                        clip_rect.min.x >= on_picture.max.x || clip_rect.min.y >= on_picture.max.y;
                    if is_beside || !is_background {
                        turn_shape(shape);
                    }
                });
            }
        }
    });
}

fn turn_shape(shape: &mut Shape) {
    match shape {
        Shape::Vec(shapes) => shapes.iter_mut().for_each(turn_shape),
        // Pictures of scenes.
        Shape::Mesh(mesh) if mesh.texture_id != TextureId::default() => {}
        Shape::Rect(rect) if rect.fill_texture_id() != TextureId::default() => {}
        shape => adjust_colors(shape, |colour| *colour = turned(*colour)),
    }
}

/// Relative luminance.
fn luminance([r, g, b]: [f32; 3]) -> f32 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// The colour with the contrast to white that `colour` has to black, and with its hue.
fn turned(colour: Color32) -> Color32 {
    if colour == Color32::PLACEHOLDER || colour.a() == 0 {
        return colour;
    }
    let [r, g, b, alpha] = Rgba::from(colour).to_rgba_unmultiplied();
    let channels = [r, g, b].map(|channel| channel.clamp(0.0, 1.0));
    let most = channels.into_iter().fold(0.0, f32::max);
    let grey = channels.into_iter().fold(1.0, f32::min) / most.max(f32::MIN_POSITIVE);
    let allowed = SATURATED + (LARGEST - SATURATED) * grey.powi(2);
    let before = luminance(channels);
    let contrast = ((before + FLARE) / FLARE).min(allowed);
    let after = ((1.0 + FLARE) / contrast - FLARE).clamp(0.0, 1.0);
    let channels = channels.map(|channel| match after < before {
        true => channel * after / before,
        false => channel + (1.0 - channel) * (after - before) / (1.0 - before).max(1e-6),
    });
    let [r, g, b] = channels;
    Rgba::from_rgba_unmultiplied(r, g, b, alpha).into()
}

#[cfg(test)]
mod tests {
    use super::super::theme::{BRIGHT, DIM, LINES, WARN};
    use super::*;

    /// Contrast to the light panel's background.
    fn contrast(colour: Color32) -> f32 {
        let of = |colour: Color32| {
            let [r, g, b, _] = Rgba::from(colour).to_rgba_unmultiplied();
            luminance([r, g, b]) + FLARE
        };
        of(background(true)) / of(turned(colour))
    }

    #[test]
    fn text_and_lines_have_a_high_contrast_and_their_hue() {
        // WCAG 2 asks for 7 of text at its highest level, and for 3 of graphics.
        assert!(contrast(DIM) > 7.0 && contrast(BRIGHT) > 14.0, "{}", contrast(DIM));
        assert!(contrast(WARN) > 4.5, "{}", contrast(WARN));
        for line in LINES {
            assert!(contrast(line) > 3.0, "{line:?}: {}", contrast(line));
            let order = |c: Color32| (c.r() > c.g(), c.g() > c.b(), c.r() > c.b());
            assert_eq!(order(turned(line)), order(line), "{line:?}");
        }
        assert!(background(true).g() > 240);
        assert_eq!(turned(Color32::WHITE), Color32::BLACK);
        assert_eq!(turned(Color32::TRANSPARENT), Color32::TRANSPARENT);
        assert_eq!(turned(Color32::from_black_alpha(130)).a(), 130);
    }
}
