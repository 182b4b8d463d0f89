//! Overlays that show scale and direction: a scale bar and axes.
//!
//! This module computes positions and texts only; the window draws them with its own lines and
//! font.

use glam::{DVec2, DVec3};

use super::camera::Camera;
use super::image::PictureSize;
use crate::units::Measure;

/// A line of a round length, projected from the target's depth.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleBar {
    /// Length in world units.
    pub length: f64,
    /// Length in pixels.
    pub length_px: f64,
    /// Length in words, like `20 kpc`.
    pub label: String,
}

impl ScaleBar {
    /// The longest bar of 1, 2 or 5 times a power of ten that fits in `most_px` pixels (greater
    /// than 0) and in nine tenths of the picture's width.
    ///
    /// `unit` names the world's length unit as [`crate::units::Units::length`] does: `kpc`, or with
    /// a number before it (`3.5 kpc`), which then makes the length round in kpc; or nothing.
    pub fn new(camera: &Camera, size: PictureSize, unit: &str, most_px: f64) -> Self {
        let Measure { factor: worth, name } = Measure::of(unit);
        let most_px = most_px.min(0.9 * f64::from(size.width())).max(1e-3);
        let shown_per_px = camera.world_per_px(size) * worth;
        let (digit, power) = round_below(most_px * shown_per_px);
        let shown = f64::from(digit) * libm::pow(10.0, f64::from(power));
        let number = round_number(shown, power);
        let label = if name.is_empty() { number } else { format!("{number} {name}") };
        Self { length: shown / worth, length_px: shown / shown_per_px, label }
    }
}

/// The largest of 1, 2, 5 times a power of ten that is not above `value` (greater than 0): the
/// digit and the power.
pub fn round_below(value: f64) -> (u32, i32) {
    let power = libm::floor(libm::log10(value)).clamp(-300.0, 300.0) as i32;
    let digit = value / libm::pow(10.0, f64::from(power));
    // Tolerance for rounding: 5e-3 / 1e-3 may come out as 4.999...
    let digit = [10, 5, 2].into_iter().find(|&d| digit >= f64::from(d) * (1.0 - 1e-9)).unwrap_or(1);
    if digit == 10 { (1, power + 1) } else { (digit, power) }
}

/// A multiple of that power of ten, with all its digits and no more: plain ones if these are few.
pub(super) fn round_number(value: f64, power: i32) -> String {
    let digits = |last: i32| last.max(0) as usize;
    match power {
        _ if value == 0.0 => "0".to_owned(),
        -4..=5 => format!("{value:.*}", digits(-power)),
        _ => format!("{value:.*e}", digits(libm::floor(libm::log10(value.abs())) as i32 - power)),
    }
}

/// One axis in the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// `x`, `y` or `z`, to be written at `to_px`.
    pub label: &'static str,
    /// The end at the origin, in pixels from the upper left; perhaps outside the picture.
    pub from_px: DVec2,
    /// The far end.
    pub to_px: DVec2,
    /// Depth of the far end in world units: axes drawn from far to near overlap correctly.
    pub depth: f64,
}

/// The three axes of `length` world units from `origin`, from far to near. They are clipped behind
/// the eye; an axis entirely behind it is left out.
pub fn axes(camera: &Camera, size: PictureSize, origin: DVec3, length: f64) -> Vec<Axis> {
    let [_, _, backward] = camera.axes_in_world();
    // Depth along the line of sight; the clip plane is a little in front of the near plane.
    let depth_of = |point: DVec3| camera.distance - (point - camera.target).dot(backward);
    let least = 1.01 * camera.near();
    let mut visible: Vec<Axis> = [("x", DVec3::X), ("y", DVec3::Y), ("z", DVec3::Z)]
        .into_iter()
        .filter_map(|(label, direction)| {
            let (mut from, mut to) = (origin, origin + direction * length);
            let (from_depth, to_depth) = (depth_of(from), depth_of(to));
            if from_depth < least || to_depth < least {
                let crossing = (from_depth - least) / (from_depth - to_depth);
                let cut = from + (to - from) * crossing;
                match (from_depth < least, to_depth < least) {
                    (true, true) => return None,
                    (true, false) => from = cut,
                    _ => to = cut,
                }
            }
            let (from_px, _) = camera.pixel_of(from, size)?;
            let (to_px, depth) = camera.pixel_of(to, size)?;
            Some(Axis { label, from_px, to_px, depth })
        })
        .collect();
    visible.sort_by(|a, b| b.depth.total_cmp(&a.depth));
    visible
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Preset;

    fn size(width: u32, height: u32) -> PictureSize {
        PictureSize::new(width, height).unwrap()
    }

    #[test]
    fn scale_bars_are_round_and_match_camera_scale() {
        for (width, height) in [(1280, 720), (7, 300), (3000, 40)] {
            let size = size(width, height);
            for zoom in [1e-9, 0.037, 1.0, 21.0, 5e7] {
                let camera = Camera::default().zoomed(zoom);
                let bar = ScaleBar::new(&camera, size, "", 200.0);
                let most_px = 200f64.min(0.9 * f64::from(width));
                assert!(bar.length_px <= most_px * 1.001 && bar.length_px > 0.39 * most_px);
                let right = camera.axes_in_world()[0];
                let end = camera.pixel_of(camera.target + right * bar.length, size).unwrap().0;
                assert!((end.x - 0.5 * f64::from(width) - bar.length_px).abs() < 1e-6);
                let mantissa = bar.length / 10f64.powf(bar.length.log10().floor());
                assert!([1.0, 2.0, 5.0, 10.0].iter().any(|d| (mantissa / d - 1.0).abs() < 1e-6));
                assert!((bar.label.parse::<f64>().unwrap() / bar.length - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn scale_bar_labels_use_given_unit() {
        let camera = Camera::default();
        let label = |unit, px| ScaleBar::new(&camera, size(1000, 1000), unit, px);
        // At distance 10 with 40 degrees a pixel is 0.00728 units.
        assert_eq!(label("kpc", 150.0).label, "1 kpc");
        let bar = label("3.5 kpc", 150.0);
        assert_eq!(bar.label, "2 kpc");
        assert!((bar.length - 2.0 / 3.5).abs() < 1e-12);
        assert_eq!(label("", 1.0).label, "0.005");
        assert_eq!(label("light years", 100.0).label, "0.5 light years");
        assert_eq!(
            [(2e-7, -7), (5e5, 5), (1e6, 6), (-1.2e7, 6), (0.30000000000000004, -1), (0.0, -1)]
                .map(|(value, power)| round_number(value, power)),
            ["2e-7", "500000", "1e6", "-1.2e7", "0.3", "0"]
        );
    }

    #[test]
    fn axes_have_correct_direction_and_are_clipped_at_eye() {
        let (camera, frame) = (Camera::default().seen_from(Preset::Front), size(400, 300));
        let visible = axes(&camera, frame, DVec3::ZERO, 1.0);
        let of = |label| visible.iter().find(|axis| axis.label == label).unwrap();
        assert!(of("x").to_px.x > of("x").from_px.x && (of("x").to_px.y - 150.0).abs() < 1e-9);
        assert!(of("z").to_px.y < of("z").from_px.y);
        assert_eq!(visible[0].label, "y", "the far one comes first");
        // The eye is at y = -10: an axis that crosses that plane is clipped, one behind it is left
        // out.
        let cut = axes(&camera, frame, DVec3::new(0.0, -30.0, 0.5), 40.0);
        assert_eq!(cut.len(), 1);
        assert!(cut[0].from_px.is_finite() && cut[0].to_px.is_finite());
        assert_eq!(axes(&camera, frame, DVec3::new(0.0, -99.0, 0.0), 1.0), vec![]);
    }
}
