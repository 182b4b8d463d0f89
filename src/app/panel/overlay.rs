//! What is drawn over the picture: a scale bar, axes, what colours mean.

use egui::{Align2, Color32, FontId, Painter, Pos2, Stroke, Ui, vec2};
use glam::DVec2;

use super::theme::{BRIGHT, DIM};
use super::{Facts, ViewChoice, growth, status};
use gravitile::bodies::Component;
use gravitile::render::legend::{ColourBar, bar_colour, colour_bar, component_colours};
use gravitile::render::overlay::{ScaleBar, axes};
use gravitile::render::paths::Piece;
use gravitile::render::{Camera, Look, PictureSize};
use gravitile::units::Units;

/// Length of the axes as a part of the distance to the picture's edge.
const AXES_PART: f64 = 0.3;
/// Length of a colour bar in points, and its number of steps.
const BAR: f32 = 150.0;
const BAR_STEPS: usize = 48;
/// The longest scale bar, in points.
const LONGEST_BAR: f64 = 160.0;
/// A picture narrower than this has no legend.
const LEGEND_FROM: f32 = 380.0;
const COLOURS: [(&str, Color32); 3] = [
    ("x", Color32::from_rgb(220, 90, 80)),
    ("y", Color32::from_rgb(110, 190, 90)),
    ("z", Color32::from_rgb(100, 140, 235)),
];

/// A painter for the part of the picture between these pixels at its left and at its right, clipped
/// to it: the panel has no fill that would hide what is drawn under it.
fn painter_between(ui: &Ui, (left_px, right_px): (f64, f64)) -> Painter {
    let mut free = ui.ctx().content_rect();
    free.min.x += left_px as f32 / ui.ctx().pixels_per_point();
    free.max.x -= right_px as f32 / ui.ctx().pixels_per_point();
    ui.ctx().layer_painter(egui::LayerId::background()).with_clip_rect(free)
}

/// The inputs of everything drawn over the picture that moves with the camera or the bodies: the
/// panel is laid out again when they change.
#[derive(Clone, Debug, PartialEq)]
pub struct Marks {
    /// The camera, if axes or paths show where it looks.
    camera: Option<Camera>,
    /// The scale bar's label and its length in pixels.
    bar: Option<(String, u32)>,
    /// The time up to which paths are drawn.
    time: Option<f64>,
}

impl Marks {
    /// For a picture as `camera` sees it; `unit` names the unit of length, `time` is that of the
    /// bodies if paths are drawn.
    pub fn of(
        view: &ViewChoice,
        (camera, size, pixels_per_point): (&Camera, PictureSize, f32),
        unit: &str,
        time: Option<f64>,
    ) -> Self {
        let bar = ScaleBar::new(camera, size, unit, LONGEST_BAR * f64::from(pixels_per_point));
        Self {
            camera: (view.axes || time.is_some()).then_some(*camera),
            bar: view.scale_bar.then_some((bar.label, bar.length_px as u32)),
            time,
        }
    }
}

/// Draws axes and scale bar for a picture of `size` pixels as `camera` sees it, next to a panel
/// that covers `covered_px`; `unit` names the unit of length.
pub fn show(
    ui: &Ui,
    view: &ViewChoice,
    (camera, size, covered_px): (&Camera, PictureSize, f64),
    unit: &str,
) {
    let scale = ui.ctx().pixels_per_point();
    let painter = painter_between(ui, (0.0, covered_px));
    if view.axes {
        let length = AXES_PART * f64::from(size.shorter_side()) * camera.world_per_px(size);
        draw_axes(&painter, camera, size, length, scale);
    }
    if view.scale_bar && growth::is_due(ui.ctx(), "scale bar") {
        let most_px = LONGEST_BAR * f64::from(scale);
        let bar = ScaleBar::new(camera, size, unit, most_px);
        let height = size.height() as f32 / scale;
        // Above the bar and the line at the bottom.
        let left = Pos2::new(12.0, height - status::height(ui.ctx()) - 14.0);
        let right = left + vec2(bar.length_px as f32 / scale, 0.0);
        let stroke = Stroke::new(1.5, DIM);
        painter.line_segment([left, right], stroke);
        for end in [left, right] {
            painter.line_segment([end - vec2(0.0, 3.0), end + vec2(0.0, 3.0)], stroke);
        }
        let middle = left + (right - left) * 0.5 - vec2(0.0, 5.0);
        painter.text(middle, Align2::CENTER_BOTTOM, bar.label, FontId::proportional(12.0), DIM);
    }
}

/// Writes the names of two runs over their pictures, of which the second begins at the pixel
/// `offset_px`, and draws a line between them.
pub fn names(ui: &Ui, facts: &Facts, offset_px: f64) {
    let Some(compared) = &facts.compared else { return };
    let painter = ui.ctx().layer_painter(egui::LayerId::background());
    let (room, offset) = (ui.ctx().content_rect(), offset_px as f32 / ui.ctx().pixels_per_point());
    let line = Stroke::new(1.0, Color32::from_gray(110));
    painter.vline(room.left() + offset - 1.0, room.y_range(), line);
    for (name, left) in compared.names.iter().zip([0.0, offset]) {
        let font = FontId::proportional(15.0);
        let galley = painter.layout(name.clone(), font, BRIGHT, (offset - 24.0).max(40.0));
        let at = room.min + vec2(left + 12.0, 10.0);
        let dark = egui::Rect::from_min_size(at, galley.size()).expand2(vec2(5.0, 2.0));
        painter.rect_filled(dark, 3.0, Color32::from_black_alpha(150));
        painter.galley(at, galley, BRIGHT);
    }
}

/// Draws the paths of bodies in their colours for a picture that begins at the pixel `left_px`,
/// next to a panel that covers `covered_px`.
pub fn paths(ui: &Ui, pieces: &[Piece], colours: &[[u8; 3]], (left_px, covered_px): (f64, f64)) {
    let scale = ui.ctx().pixels_per_point();
    let painter = painter_between(ui, (left_px, covered_px));
    let point = |p: DVec2| Pos2::new((p.x + left_px) as f32 / scale, p.y as f32 / scale);
    // Consecutive pieces share one strength: a line for each would be thousands of shapes.
    const PIECES_PER_LINE: usize = 12;
    for of_body in pieces.chunk_by(|a, b| a.body == b.body && a.ends[1] == b.ends[0]) {
        for run in of_body.chunks(PIECES_PER_LINE) {
            let Some(&[r, g, b]) = colours.get(run[0].body) else { continue };
            let strength = (255.0 * run[run.len() / 2].strength) as u8;
            let colour = Color32::from_rgba_unmultiplied(r, g, b, strength);
            let ends = run.iter().map(|piece| point(piece.ends[1]));
            let line = std::iter::once(point(run[0].ends[0])).chain(ends).collect();
            painter.add(egui::Shape::line(line, Stroke::new(1.2, colour)));
        }
    }
}

/// Draws what colours mean, at the lower right of the part of the picture that the panel leaves
/// free. The panel covers `covered_px` pixels.
pub fn legend(ui: &Ui, look: &Look, units: &Units, components: &[Component], covered_px: f64) {
    let scale = f64::from(ui.ctx().pixels_per_point());
    let painter = ui.ctx().layer_painter(egui::LayerId::background());
    let content = ui.ctx().content_rect();
    let corner = Pos2::new(
        content.right() - (covered_px / scale) as f32 - 14.0,
        // Above the bar and the line at the bottom.
        content.bottom() - status::height(ui.ctx()) - 12.0,
    );
    // On a small picture the legend would cover the bodies.
    if corner.x < LEGEND_FROM || corner.y < 0.5 * LEGEND_FROM {
        return;
    }
    let font = FontId::proportional(12.0);
    let colour = |[r, g, b]: [u8; 3]| Color32::from_rgb(r, g, b);
    let laid = |text: &str| painter.layout_no_wrap(text.to_owned(), font.clone(), DIM);
    let width = |label: &str| f64::from((laid(label).size().x + 8.0) / BAR);
    match colour_bar(look, units, width) {
        Some(ColourBar { name, ticks, labels }) => {
            let left = corner - vec2(BAR, 0.0);
            for k in 0..BAR_STEPS {
                let from = left + vec2(BAR * k as f32 / BAR_STEPS as f32, -6.0);
                let part = egui::Rect::from_min_size(from, vec2(BAR / BAR_STEPS as f32, 6.0));
                let at = k as f32 / (BAR_STEPS - 1) as f32;
                painter.rect_filled(part, 0.0, colour(bar_colour(look, at)));
            }
            for part in ticks {
                let at = left + vec2(BAR * part as f32, 0.0);
                painter.line_segment([at, at - vec2(0.0, 6.0)], Stroke::new(1.0, Color32::BLACK));
            }
            for (part, label) in labels {
                let label = laid(&label);
                let place = left + vec2((BAR - label.size().x) * part as f32, 2.0);
                painter.galley(place, label, DIM);
            }
            painter.text(corner - vec2(0.0, 9.0), Align2::RIGHT_BOTTOM, name, font, DIM);
        }
        None => {
            // Names are aligned at their left, and so are the dots before them.
            let rows: Vec<_> = component_colours(look, components)
                .into_iter()
                .map(|(name, colours)| (laid(&name), colours))
                .collect();
            let widest = rows.iter().map(|(name, _)| name.size().x).fold(0.0, f32::max);
            for (row, (name, colours)) in rows.into_iter().rev().enumerate() {
                let height = name.size().y;
                let place = corner - vec2(widest, 16.0 * row as f32 + height);
                painter.galley(place, name, DIM);
                for (k, &dot) in colours.iter().rev().enumerate() {
                    let middle = place + vec2(-9.0 - 9.0 * k as f32, 0.5 * height);
                    painter.circle_filled(middle, 3.5, colour(dot));
                }
            }
        }
    }
}

fn draw_axes(painter: &Painter, camera: &Camera, size: PictureSize, length: f64, scale: f32) {
    let point = |p: DVec2| Pos2::new(p.x as f32 / scale, p.y as f32 / scale);
    for axis in axes(camera, size, camera.target, length) {
        let colour = COLOURS.iter().find(|(name, _)| *name == axis.label).map_or(DIM, |(_, c)| *c);
        let (from, to) = (point(axis.from_px), point(axis.to_px));
        painter.line_segment([from, to], Stroke::new(1.2, colour));
        let beyond = to + (to - from).normalized() * 9.0;
        painter.text(beyond, Align2::CENTER_CENTER, axis.label, FontId::proportional(12.0), colour);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_axes_are_clipped_at_the_panel() {
        let context = egui::Context::default();
        let rect = egui::Rect::from_min_size(Pos2::ZERO, vec2(1000.0, 640.0));
        let input = egui::RawInput { screen_rect: Some(rect), ..Default::default() };
        let piece = Piece {
            body: 0,
            ends: [DVec2::new(100.0, 100.0), DVec2::new(990.0, 300.0)],
            strength: 1.0,
        };
        let size = PictureSize::new(1000, 640).unwrap();
        let view = ViewChoice { axes: true, scale_bar: false, ..ViewChoice::default() };
        let mut output = context.run_ui(input, |ui| {
            paths(ui, std::slice::from_ref(&piece), &[[255; 3]], (0.0, 330.0));
            show(ui, &view, (&Camera::default(), size, 330.0), "kpc");
        });
        // egui asserts that texture updates are consumed before they are dropped.
        output.textures_delta.clear();
        assert!(output.shapes.len() > 1, "nothing is drawn");
        for shape in &output.shapes {
            assert!(
                shape.clip_rect.right() <= 670.0,
                "{:?} reaches under the panel",
                shape.clip_rect
            );
        }
    }
}
