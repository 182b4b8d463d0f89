//! What is drawn over the picture: a scale bar and axes.

use egui::{Align2, Color32, FontId, Painter, Pos2, Stroke, Ui, vec2};
use glam::DVec2;

use super::ViewChoice;
use super::theme::DIM;
use crate::render::overlay::{ScaleBar, axes};
use crate::render::{Camera, PictureSize};

/// Axes reach this part of the way to the picture's edge.
const AXES_PART: f64 = 0.3;
const COLOURS: [(&str, Color32); 3] = [
    ("x", Color32::from_rgb(220, 90, 80)),
    ("y", Color32::from_rgb(110, 190, 90)),
    ("z", Color32::from_rgb(100, 140, 235)),
];

/// Draws them for a picture of `size` pixels as `camera` sees it; `unit` names the unit of length.
pub fn show(ui: &Ui, view: &ViewChoice, camera: &Camera, size: PictureSize, unit: &str) {
    let scale = ui.ctx().pixels_per_point();
    let painter = ui.ctx().layer_painter(egui::LayerId::background());
    if view.axes {
        let length = AXES_PART * f64::from(size.shorter_side()) * camera.world_per_px(size);
        draw_axes(&painter, camera, size, length, scale);
    }
    if view.scale_bar {
        let most_px = 160.0 * f64::from(scale);
        let bar = ScaleBar::new(camera, size, unit, most_px);
        let height = size.height() as f32 / scale;
        // Above the bar and the line at the bottom.
        let left = Pos2::new(12.0, height - 66.0);
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
