//! Interactive camera control: orbit, pan, zoom to the pointer, presets, picking, smooth
//! transitions.
//!
//! Pixels count from the upper left corner of the picture, x to the right and y down; fractions are
//! allowed. "At the target's depth" means in the plane through the target that faces the eye: a
//! point in it stays under the pointer while it is dragged.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use glam::{DVec2, DVec3};

use super::camera::Camera;
use super::image::PictureSize;
use crate::error::{Result, by_name};

/// Named view directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// From above the front edge: x to the right, tilted. The direction of [`Camera::default`].
    Oblique,
    /// Along +y: x to the right, z up.
    Front,
    /// Along -x: y to the right, z up.
    Side,
    /// Along -z: x to the right, y up, as on a map.
    Top,
}

impl Preset {
    /// All presets with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Oblique, "oblique"),
        (Self::Front, "front"),
        (Self::Side, "side"),
        (Self::Top, "top"),
    ];

    /// The preset of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        by_name("camera preset", name, &Self::ALL)
    }

    /// Azimuth and elevation, in radians.
    pub fn angles_rad(self) -> [f64; 2] {
        match self {
            Self::Oblique => [-FRAC_PI_2, 35f64.to_radians()],
            Self::Front => [-FRAC_PI_2, 0.0],
            Self::Side => [0.0, 0.0],
            Self::Top => [-FRAC_PI_2, FRAC_PI_2],
        }
    }
}

/// Range of distances for zooming, in world units: far inside the range of f32.
const DISTANCES: [f64; 2] = [1e-12, 1e12];

impl Camera {
    /// Turned around the target by both angles, in radians. The elevation is clamped at the poles.
    #[must_use]
    pub fn turned(self, azimuth_rad: f64, elevation_rad: f64) -> Self {
        let elevation_rad = (self.elevation_rad + elevation_rad).clamp(-FRAC_PI_2, FRAC_PI_2);
        Self { elevation_rad, ..self.orbited(azimuth_rad) }
    }

    /// Turned as by dragging the picture: a drag across its shorter side is half a turn. Whatever
    /// is in front of the target follows the pointer.
    #[must_use]
    pub fn dragged(self, drag_px: DVec2, size: PictureSize) -> Self {
        let rad_per_px = PI / f64::from(size.shorter_side());
        self.turned(-drag_px.x * rad_per_px, drag_px.y * rad_per_px)
    }

    /// Moved sideways so that points at the target's depth follow the pointer by `drag_px`.
    #[must_use]
    pub fn panned(self, drag_px: DVec2, size: PictureSize) -> Self {
        let [right, up, _] = self.axes_in_world();
        let world_per_px = self.world_per_px(size);
        let target = self.target - (right * drag_px.x - up * drag_px.y) * world_per_px;
        Self { target, ..self }
    }

    /// `factor` (> 0) times nearer, while the point at the target's depth under `pointer_px` stays
    /// under it. Clamped to distances of 1e-12 to 1e12.
    #[must_use]
    pub fn zoomed_to(self, factor: f64, pointer_px: DVec2, size: PictureSize) -> Self {
        let distance = (self.distance / factor).clamp(DISTANCES[0], DISTANCES[1]);
        let held = self.point_at(pointer_px, size);
        let target = held + (self.target - held) * (distance / self.distance);
        Self { target, distance, ..self }
    }

    /// The view from a preset's direction; target, distance and field of view stay.
    #[must_use]
    pub fn seen_from(self, preset: Preset) -> Self {
        let [azimuth_rad, elevation_rad] = preset.angles_rad();
        Self { azimuth_rad, elevation_rad, ..self }
    }

    /// World units per pixel at the target's depth.
    pub fn world_per_px(&self, size: PictureSize) -> f64 {
        self.distance / self.focal_px(size)
    }

    /// The point in world space at the target's depth whose projection is `pixel`.
    pub fn point_at(&self, pixel: DVec2, size: PictureSize) -> DVec3 {
        let [right, up, _] = self.axes_in_world();
        let from_middle = pixel - 0.5 * DVec2::new(size.width().into(), size.height().into());
        self.target + (right * from_middle.x - up * from_middle.y) * self.world_per_px(size)
    }

    /// Pixel (perhaps outside the picture) and depth in world units of a point; `None` if it is not
    /// finite or too near to be drawn.
    pub fn pixel_of(&self, point: DVec3, size: PictureSize) -> Option<(DVec2, f64)> {
        let [right, up, backward] = self.axes_in_world();
        let offset = point - self.target;
        let depth = self.distance - offset.dot(backward);
        if !(depth > self.near()) {
            return None;
        }
        let scale_px = self.focal_px(size) / depth;
        let middle = 0.5 * DVec2::new(size.width().into(), size.height().into());
        let pixel = middle + DVec2::new(offset.dot(right), -offset.dot(up)) * scale_px;
        pixel.is_finite().then_some((pixel, depth))
    }

    /// The index of the body drawn nearest to `pixel`, at most `within_px` away from it; of bodies
    /// less than a pixel apart the one in front. Bodies for which `is_shown` is false do not count.
    pub fn pick(
        &self,
        positions: &[DVec3],
        is_shown: impl Fn(usize) -> bool,
        pixel: DVec2,
        within_px: f64,
        size: PictureSize,
    ) -> Option<usize> {
        let inside = |at: DVec2| {
            at.x >= 0.0
                && at.y >= 0.0
                && at.x <= f64::from(size.width())
                && at.y <= f64::from(size.height())
        };
        let near_pixel = || {
            positions.iter().enumerate().filter(|(i, _)| is_shown(*i)).filter_map(|(i, &point)| {
                let (at, depth) = self.pixel_of(point, size)?;
                let away_px = at.distance(pixel);
                (away_px <= within_px && inside(at)).then_some((i, away_px, depth))
            })
        };
        let nearest_px = near_pixel().map(|(_, away_px, _)| away_px).min_by(f64::total_cmp)?;
        near_pixel()
            .filter(|&(_, away_px, _)| away_px < nearest_px + 1.0)
            .min_by(|a, b| a.2.total_cmp(&b.2))
            .map(|(i, ..)| i)
    }

    /// A transition from this camera, at `part` 0, to `other`, at 1, starting and ending at rest.
    /// The azimuth turns by at most 180 degrees; the distance changes by equal factors, and the
    /// target moves in step with it, so that a zoom onto a point heads for that point.
    #[must_use]
    pub fn towards(&self, other: &Self, part: f64) -> Self {
        let part = part.clamp(0.0, 1.0);
        if part >= 1.0 {
            return *other;
        }
        // The fifth-order curve whose speed and acceleration are 0 at both ends.
        let eased = part * part * part * (10.0 + part * (6.0 * part - 15.0));
        let mix = |from: f64, to: f64| from + (to - from) * eased;
        let turn = (other.azimuth_rad - self.azimuth_rad + PI).rem_euclid(TAU) - PI;
        let ratio = other.distance / self.distance;
        let nearer = libm::pow(ratio, eased);
        // The fraction of the path at which the view shrinks towards (or grows from) one fixed
        // point.
        let along = if (ratio - 1.0).abs() < 1e-6 { eased } else { (nearer - 1.0) / (ratio - 1.0) };
        Self {
            target: self.target + (other.target - self.target) * along,
            azimuth_rad: self.azimuth_rad + turn * eased,
            elevation_rad: mix(self.elevation_rad, other.elevation_rad),
            distance: self.distance * nearer,
            fov_rad: mix(self.fov_rad, other.fov_rad),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [(u32, u32); 4] = [(800, 600), (600, 800), (7, 300), (3000, 40)];

    fn cameras() -> impl Iterator<Item = (Camera, PictureSize)> {
        SIZES.into_iter().flat_map(|(width, height)| {
            let size = PictureSize::new(width, height).unwrap();
            let turned = Camera { target: DVec3::new(3.0, -2.0, 7.0), ..Camera::default() };
            [(Camera::default(), size), (turned.turned(2.1, -0.9).zoomed(40.0), size)]
        })
    }

    fn pixel(camera: &Camera, point: DVec3, size: PictureSize) -> DVec2 {
        camera.pixel_of(point, size).unwrap().0
    }

    #[test]
    fn pixel_of_and_point_at_are_inverse_and_match_sprites() {
        for (camera, size) in cameras() {
            let place = DVec2::new(0.3 * f64::from(size.width()), 0.8 * f64::from(size.height()));
            let point = camera.point_at(place, size);
            assert!(pixel(&camera, point, size).distance(place) < 1e-6);
            let clip = camera.clip_from_world(size) * point.as_vec3().extend(1.0);
            let x = f64::from(clip.x / clip.w * 0.5 + 0.5) * f64::from(size.width());
            assert!((x - place.x).abs() < 0.01 * f64::from(size.width()), "{x} {}", place.x);
        }
    }

    #[test]
    fn panning_and_zooming_keep_the_point_under_the_pointer() {
        for (camera, size) in cameras() {
            let from = DVec2::new(0.6 * f64::from(size.width()), 0.1 * f64::from(size.height()));
            let drag = DVec2::new(-2.5, 17.0);
            let held = camera.point_at(from, size);
            assert!(pixel(&camera.panned(drag, size), held, size).distance(from + drag) < 1e-6);
            for factor in [0.2, 1.1, 30.0] {
                let zoomed = camera.zoomed_to(factor, from, size);
                assert!(pixel(&zoomed, held, size).distance(from) < 1e-6, "{factor}");
                assert!((zoomed.distance * factor / camera.distance - 1.0).abs() < 1e-12);
            }
        }
        let size = PictureSize::new(100, 100).unwrap();
        let mut camera = Camera::default();
        for _ in 0..2000 {
            camera = camera.zoomed_to(1.5, DVec2::new(3.0, 90.0), size);
        }
        assert!(camera.view(size).is_ok(), "{camera:?}");
    }

    #[test]
    fn dragging_turns_the_near_side_with_the_pointer_and_stops_at_the_poles() {
        let size = PictureSize::new(400, 300).unwrap();
        let camera = Camera::default().seen_from(Preset::Front);
        let near_side = DVec3::new(0.0, -1.0, 0.0);
        let before = pixel(&camera, near_side, size);
        let after = pixel(&camera.dragged(DVec2::new(10.0, 6.0), size), near_side, size);
        assert!(after.x > before.x && after.y > before.y, "{before} {after}");
        let pole = camera.dragged(DVec2::new(0.0, 1e6), size);
        assert!(pole.validate().is_ok() && pole.elevation_rad == FRAC_PI_2);
    }

    #[test]
    fn presets_have_documented_axes() {
        for (preset, right, up) in [
            (Preset::Front, DVec3::X, DVec3::Z),
            (Preset::Side, DVec3::Y, DVec3::Z),
            (Preset::Top, DVec3::X, DVec3::Y),
        ] {
            let axes = Camera::default().seen_from(preset).axes_in_world();
            assert!((axes[0] - right).length() < 1e-12 && (axes[1] - up).length() < 1e-12);
        }
        let default = Camera::default();
        assert_eq!(default.seen_from(Preset::Oblique), default);
        assert_eq!(Preset::from_name("top").unwrap(), Preset::Top);
        assert!(Preset::from_name("inside").unwrap_err().to_string().contains("front, side"));
    }

    #[test]
    fn pick_returns_nearest_visible_body_and_frontmost_of_overlapping() {
        let size = PictureSize::new(400, 300).unwrap();
        let camera = Camera::default().seen_from(Preset::Top);
        let at = |x: f64, y: f64, z: f64| DVec3::new(x, y, z);
        // On one line of sight: the second is nearer to the eye, which is 10 above.
        let positions = [
            at(1.0, 0.5, 0.0),
            at(0.8, 0.4, 2.0),
            at(1.2, 0.5, 0.0),
            at(0.0, 0.0, 20.0),
            DVec3::NAN,
        ];
        let there = pixel(&camera, positions[0], size);
        assert!(there.distance(pixel(&camera, positions[1], size)) < 1e-6);
        let pick = |is_shown: &dyn Fn(usize) -> bool, place| {
            camera.pick(&positions, is_shown, place, 30.0, size)
        };
        assert_eq!(pick(&|_| true, there), Some(1));
        assert_eq!(pick(&|i| i != 1, there), Some(0));
        assert_eq!(pick(&|i| i > 1, there), Some(2));
        assert_eq!(pick(&|i| i > 2, there), None, "behind the eye or nowhere");
        assert_eq!(pick(&|_| true, DVec2::new(5.0, 5.0)), None, "too far away");
        assert_eq!(camera.pick(&[], |_| true, there, 30.0, size), None);
    }

    #[test]
    fn transition_starts_and_ends_at_rest_and_turns_short_way() {
        let from = Camera { azimuth_rad: 0.1, ..Camera::default() };
        let to = Camera {
            azimuth_rad: TAU - 0.1,
            distance: 0.01,
            target: DVec3::new(4.0, 0.0, 0.0),
            ..Camera::default()
        };
        assert_eq!(from.towards(&to, -1.0), from);
        assert_eq!(from.towards(&to, 1.0), to);
        let steps: Vec<Camera> =
            (0..=100).map(|i| from.towards(&to, f64::from(i) / 100.0)).collect();
        let size = PictureSize::new(400, 300).unwrap();
        for pair in steps.windows(2) {
            assert!((pair[1].azimuth_rad.sin()).abs() < 0.1 + 1e-9, "the short way");
            assert!(pair[1].distance < pair[0].distance);
            assert!(pair[0].distance / pair[1].distance < 1.2, "no jump");
            // The final target stays in the picture and moves steadily towards its middle.
            let away = |c: &Camera| (c.target - to.target).length() / c.distance;
            assert!(away(&pair[1]) <= away(&pair[0]) + 1e-9);
        }
        assert!(pixel(&steps[50], to.target, size).x < 400.0);
        assert!(steps[0].distance - steps[1].distance < 1e-3 * from.distance);
        let still = Camera { target: DVec3::ONE, ..from };
        assert!((from.towards(&still, 0.5).target - DVec3::splat(0.5)).length() < 1e-9);
    }
}
