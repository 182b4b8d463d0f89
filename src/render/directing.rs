//! Camera motion of a film: directed, which keeps the bodies' light in the picture, or along a path
//! of keyframes.
//!
//! A directed camera frames the box that holds the bodies' light at each time, so it moves in where
//! galaxies meet and back to show their tails. It reacts quickly when light is about to leave the
//! picture, and slowly when there is more room than needed.

use glam::DVec3;

use super::camera::Camera;
use super::framing::{CameraMotion, drawn_points};
use super::image::PictureSize;
use super::request::widening;
use super::style::Style;
use crate::bodies::Bodies;
use crate::error::{Result, by_name};
use crate::scene::Keyframe;

/// Fraction of the drawn bodies that have neighbours, which the directed camera aims to frame. The
/// end of a tail has about a thousandth of all.
const FRAMED: f64 = 0.9995;
/// Fraction of these, and of all drawn bodies, that is in the picture at any time.
const LEAST_FRAMED: [f64; 2] = [0.999, 0.992];
/// Time constants in seconds of film (63 % of the change): moving back, moving in, shifting
/// sideways. Whenever it moves back it also shifts at that pace: a centre left behind would need
/// still more distance.
const BACK_SECS: f64 = 0.15;
const NEAR_SECS: f64 = 1.5;
const ASIDE_SECS: f64 = 0.4;
/// The box is found from at most this many bodies; larger sets are sampled with a stride.
const MOST_POINTS: usize = 16_384;

/// Moves a camera through a film, picture by picture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Director {
    last: Option<(f64, DVec3, f64)>,
}

impl Director {
    /// Continues from `camera`, the one in use at `secs`.
    pub fn going_on_from(camera: &Camera, secs: f64) -> Self {
        Self { last: Some((secs, camera.target, libm::log(camera.distance))) }
    }

    /// The camera for the picture at `secs` of the film, with the simulation at `time` and these
    /// bodies. Call in the order of the pictures.
    ///
    /// # Errors
    ///
    /// Those of [`CameraMotion::at`].
    pub fn camera(
        &mut self,
        motion: &CameraMotion,
        (secs, time): (f64, f64),
        bodies: &Bodies,
        style: &Style,
        size: PictureSize,
    ) -> Result<Camera> {
        if let Some(camera) = path_camera(&motion.path, motion.start, time, size) {
            return Ok(camera);
        }
        if !motion.directs {
            return motion.at(secs, bodies);
        }
        let points = drawn_points(bodies, style);
        let stride = points.len().div_ceil(MOST_POINTS).max(1);
        let points: Vec<DVec3> = points.into_iter().step_by(stride).collect();
        let from = motion.start.orbited(motion.orbit_rad_per_sec * secs);
        let camera = self.frame(from, &points, secs, size);
        camera.validate()?;
        Ok(camera)
    }

    /// The camera that looks in the direction of `from` at `secs`, with most of the points in a
    /// picture of that size. Call in the order of times.
    pub fn frame(
        &mut self,
        from: Camera,
        points: &[DVec3],
        secs: f64,
        size: PictureSize,
    ) -> Camera {
        let crowd = from.without_singles(points);
        let framed = from.framing_points(&crowd, FRAMED, size);
        let (target, log_distance) = (framed.target, libm::log(framed.distance));
        let (target, log_distance) = match self.last {
            Some((before, last_target, last_log)) => {
                let elapsed = (secs - before).max(0.0);
                let part = |tau: f64| 1.0 - libm::exp(-elapsed / tau);
                let change = log_distance - last_log;
                let [follow, aside] = match change > 0.0 {
                    true => [BACK_SECS; 2],
                    false => [NEAR_SECS, ASIDE_SECS],
                }
                .map(part);
                (last_target + (target - last_target) * aside, last_log + change * follow)
            }
            None => (target, log_distance),
        };
        let camera = Camera { target, distance: libm::exp(log_distance), ..framed };
        // Motion too fast to be followed smoothly must stay in the picture as well.
        let [of_crowd, of_all] = LEAST_FRAMED;
        let least =
            camera.holding(&crowd, of_crowd, size).max(camera.holding(points, of_all, size));
        let camera = Camera { distance: camera.distance.max(least), ..camera };
        self.last = Some((secs, target, libm::log(camera.distance)));
        camera
    }
}

/// The camera on a path of keyframes at a time of the simulation, for a picture of that size:
/// interpolated smoothly, at rest before the first keyframe and after the last. `None` without
/// keyframes. The field of view is that of `camera`.
pub fn path_camera(
    path: &[Keyframe],
    camera: Camera,
    time: f64,
    size: PictureSize,
) -> Option<Camera> {
    let (first, last) = (path.first()?, path.last()?);
    let values = |key: &Keyframe| {
        let [x, y, z] = key.target;
        [
            key.azimuth.to_radians(),
            (90.0 - key.inclination).to_radians(),
            libm::log(key.extent),
            x,
            y,
            z,
        ]
    };
    let time = time.max(first.time).min(last.time);
    let after = path.iter().position(|key| key.time > time).unwrap_or(path.len() - 1);
    let at = |index: isize| {
        let key = &path[index.clamp(0, path.len() as isize - 1) as usize];
        (key.time, values(key))
    };
    let here = after as isize - 1;
    let ((from, a), (to, b)) = (at(here), at(here + 1));
    let part = if to > from { (time - from) / (to - from) } else { 0.0 };
    // Slopes at both ends from the neighbours (Catmull and Rom 1974), 0 at the ends of the path.
    let slope = |index: isize, k: usize| {
        let ((before, low), (behind, high)) = (at(index - 1), at(index + 1));
        let is_end = index <= 0 || index >= path.len() as isize - 1;
        if is_end { 0.0 } else { (high[k] - low[k]) / (behind - before) * (to - from) }
    };
    let [azimuth_rad, elevation_rad, log_extent, x, y, z] = std::array::from_fn(|k| {
        let [of_a, slope_a, of_b, slope_b] = hermite_weights(part);
        of_a * a[k] + slope_a * slope(here, k) + of_b * b[k] + slope_b * slope(here + 1, k)
    });
    let limit = std::f64::consts::FRAC_PI_2;
    Some(Camera {
        target: DVec3::new(x, y, z),
        azimuth_rad: azimuth_rad.rem_euclid(std::f64::consts::TAU),
        elevation_rad: elevation_rad.clamp(-limit, limit),
        distance: libm::exp(log_extent) * widening(size) / libm::tan(0.5 * camera.fov_rad),
        ..camera
    })
}

/// The weights of value and slope at the start and at the end of a cubic, at `part` (0 to 1) of it.
pub(super) fn hermite_weights(part: f64) -> [f64; 4] {
    let (square, cube) = (part * part, part * part * part);
    [
        2.0 * cube - 3.0 * square + 1.0,
        cube - 2.0 * square + part,
        3.0 * square - 2.0 * cube,
        cube - square,
    ]
}

/// The keyframe at `time` for the view of `camera` in a picture of that size; the inverse of
/// [`path_camera`].
pub fn keyframe(camera: &Camera, time: f64, size: PictureSize) -> Keyframe {
    Keyframe {
        time,
        extent: camera.distance * libm::tan(0.5 * camera.fov_rad) / widening(size),
        inclination: 90.0 - camera.elevation_rad.to_degrees(),
        azimuth: camera.azimuth_rad.to_degrees(),
        target: camera.target.to_array(),
    }
}

/// Inserts a keyframe into a path, replacing one at the same time. Azimuths are unwrapped, so that
/// the camera turns by at most 180 degrees between neighbours.
pub fn set_keyframe(path: &mut Vec<Keyframe>, key: Keyframe) {
    path.retain(|known| known.time != key.time);
    let at = path.partition_point(|known| known.time < key.time);
    path.insert(at, key);
    for index in 1..path.len() {
        let turn = path[index].azimuth - path[index - 1].azimuth;
        path[index].azimuth -= 360.0 * libm::round(turn / 360.0);
    }
}

/// Whether a camera mode of the command line is the directed one.
///
/// # Errors
///
/// A name other than `still` and `directed`.
pub fn directs(name: &str) -> Result<bool> {
    by_name("camera", name, &[(false, "still"), (true, "directed")])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 16:9 picture.
    fn wide() -> PictureSize {
        PictureSize::new(1280, 720).unwrap()
    }

    #[test]
    fn camera_path_passes_keyframes_and_rests_at_ends() {
        let key = |time: f64, azimuth: f64, extent: f64| Keyframe {
            time,
            extent,
            inclination: 40.0 + time,
            azimuth,
            target: [time, 0.0, 1.0],
        };
        let path = [key(1.0, 350.0, 4.0), key(2.0, 370.0, 1.0), key(5.0, 400.0, 9.0)];
        let at = |time| path_camera(&path, Camera::default(), time, wide()).unwrap();
        for wanted in &path {
            let found = keyframe(&at(wanted.time), wanted.time, wide());
            assert!((found.extent / wanted.extent - 1.0).abs() < 1e-9, "{found:?}");
            assert!((found.azimuth - wanted.azimuth.rem_euclid(360.0)).abs() < 1e-9);
            assert!((found.target[0] - wanted.target[0]).abs() < 1e-12);
        }
        assert_eq!((at(-3.0), at(9.0)), (at(1.0), at(5.0)));
        // Smooth: the speed changes little between samples.
        let speeds: Vec<f64> = (0..399)
            .map(|i| 1.0 + 0.01 * f64::from(i))
            .map(|t| at(t + 0.01).target.x - at(t).target.x)
            .collect();
        assert!(speeds.windows(2).all(|w| (w[1] - w[0]).abs() < 2e-3), "{speeds:?}");
        assert!(path_camera(&[], Camera::default(), 0.0, wide()).is_none());
        assert!(directs("wild").unwrap_err().to_string().contains("directed"));
    }

    #[test]
    fn keyframes_are_sorted_by_time_with_unwrapped_azimuths() {
        let key = |time: f64, azimuth: f64| Keyframe {
            azimuth,
            ..keyframe(&Camera::default(), time, wide())
        };
        let mut path = Vec::new();
        for (time, azimuth) in [(2.0, 10.0), (0.0, 350.0), (5.0, 200.0), (2.0, 20.0)] {
            set_keyframe(&mut path, key(time, azimuth));
        }
        let set: Vec<(f64, f64)> = path.iter().map(|key| (key.time, key.azimuth)).collect();
        assert_eq!(set, [(0.0, 350.0), (2.0, 380.0), (5.0, 560.0)]);
    }

    #[test]
    fn keyframe_shows_same_content_at_any_aspect_ratio() {
        let sizes = [[1280, 720], [640, 640], [720, 1280], [950, 720], [2000, 500]]
            .map(|[width, height]| PictureSize::new(width, height).unwrap());
        for set_in in sizes {
            let camera = Camera { elevation_rad: 0.0, ..Camera::default() };
            let key = keyframe(&camera, 1.0, set_in);
            let [right, up, _] = camera.axes_in_world();
            for shown_in in sizes {
                let shown = path_camera(&[key], camera, 1.0, shown_in).unwrap();
                if shown_in == set_in {
                    assert!((shown.distance / camera.distance - 1.0).abs() < 1e-9);
                }
                // Everything that a 16:9 picture shows, to its corners.
                let half = [key.extent * 16.0 / 9.0, key.extent].map(|side| 0.999 * side);
                for (x, y) in [(half[0], half[1]), (-half[0], half[1]), (half[0], -half[1])] {
                    let (at, _) = shown.pixel_of(right * x + up * y, shown_in).unwrap();
                    let [w, h] = [shown_in.width(), shown_in.height()].map(f64::from);
                    let is_inside = (0.0..=w).contains(&at.x) && (0.0..=h).contains(&at.y);
                    assert!(is_inside, "set in {set_in:?}, cut off in {shown_in:?}: {at}");
                }
            }
        }
    }

    #[test]
    fn director_continues_from_current_camera() {
        let far =
            Camera { target: DVec3::new(3.0, -2.0, 1.0), distance: 90.0, ..Camera::default() };
        let mut director = Director::going_on_from(&far, 2.0);
        let points: Vec<DVec3> = (0..100).map(|i| DVec3::X * (0.02 * f64::from(i) - 1.0)).collect();
        let mut at = |secs| director.frame(far, &points, secs, wide());
        let first = at(2.0);
        assert!(
            (first.distance / 90.0 - 1.0).abs() < 1e-9
                && (first.target - far.target).length() < 1e-9
        );
        let shortly_after = at(2.1);
        assert!(
            shortly_after.distance < 89.0 && shortly_after.distance > 60.0,
            "{}",
            shortly_after.distance
        );
        let rests = at(60.0);
        assert!(rests.target.length() < 0.1 && rests.distance < 10.0, "{rests:?}");
        assert_eq!(at(60.0), rests);
    }

    #[test]
    fn director_keeps_expanding_bodies_framed_and_closes_in_on_contracting() {
        let size = wide();
        let bodies = |reach: f64| {
            let mut bodies = Bodies::default();
            bodies
                .components
                .push(crate::bodies::Component::new("stars", crate::bodies::Role::Star));
            for i in 0..1000 {
                let (sin, cos) = libm::sincos(f64::from(i));
                let place = DVec3::new(cos, sin, 0.1 * cos) * reach * f64::from(i) / 1000.0;
                bodies.push(1.0, place + DVec3::X * reach, DVec3::ZERO, 0);
            }
            bodies
        };
        let motion = CameraMotion { directs: true, ..CameraMotion::default() };
        let mut director = Director::default();
        let mut distances = Vec::new();
        for picture in 0..300 {
            let secs = f64::from(picture) / 30.0;
            let reach = if secs < 5.0 { 1.0 + 2.0 * secs } else { (16.0 - secs).max(1.0) };
            let bodies = bodies(reach);
            let camera =
                director.camera(&motion, (secs, secs), &bodies, &Style::default(), size).unwrap();
            let inside = bodies.position.iter().filter(|&&point| {
                camera.pixel_of(point, size).is_some_and(|(at, _)| {
                    (0.0..=1280.0).contains(&at.x) && (0.0..=720.0).contains(&at.y)
                })
            });
            assert!(inside.count() >= 985, "at {secs} s");
            distances.push(camera.distance);
        }
        // The bodies themselves grow by 0.065 from one picture to the next at first.
        assert!(distances.windows(2).all(|w| (w[1] / w[0]).ln().abs() < 0.09));
        assert!(distances[149] > 5.0 * distances[0] && distances[299] < 0.8 * distances[149]);
    }
}
