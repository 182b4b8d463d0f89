//! Framing: centres that escapers do not pull away, and distances from which a given fraction of
//! the bodies is in the picture.

use std::collections::HashMap;

use glam::DVec3;

use super::camera::Camera;
use super::image::PictureSize;
use super::style::Style;
use crate::bodies::{Bodies, Component};
use crate::error::{Error, Result};
use crate::scene::Keyframe;

/// What the camera keeps in the middle of the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// The point it was aimed at.
    #[default]
    Nothing,
    /// The centre of mass of all bodies.
    CentreOfMass,
    /// The densest part (per-axis median) of one component.
    Component(u8),
    /// One body, by its index.
    Body(usize),
}

impl Follow {
    /// From a name on the command line: `nothing`, `centre`, a component's name, or `body:INDEX`.
    ///
    /// # Errors
    ///
    /// Any other name; the message lists the known ones.
    pub fn from_name(name: &str, bodies: &Bodies) -> Result<Self> {
        let names = || bodies.components.iter().map(|component| component.name.as_str());
        let body = |index: &str| index.parse().ok().filter(|index| *index < bodies.len());
        match name {
            "nothing" => return Ok(Self::Nothing),
            "centre" | "center" => return Ok(Self::CentreOfMass),
            _ => {}
        }
        if let Some(index) = names().position(|known| known == name) {
            return Ok(Self::Component(index as u8));
        }
        if let Some(index) = name.strip_prefix("body:").and_then(body) {
            return Ok(Self::Body(index));
        }
        let last = format!("body:0 to body:{}", bodies.len().saturating_sub(1));
        let known = ["nothing", "centre"].into_iter().chain(names()).chain([last.as_str()]);
        Err(Error::unknown("thing to follow", name, known))
    }

    /// The name that [`Self::from_name`] reads.
    pub fn name(self, components: &[Component]) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::CentreOfMass => "centre".to_owned(),
            Self::Component(k) => {
                components.get(k as usize).map_or_else(|| k.to_string(), |c| c.name.clone())
            }
            Self::Body(index) => format!("body:{index}"),
        }
    }

    /// The point to look at now, or `None` if the camera's aim is fixed.
    ///
    /// # Errors
    ///
    /// A component without bodies, or a body that does not exist.
    pub fn target(self, bodies: &Bodies) -> Result<Option<DVec3>> {
        match self {
            Self::Nothing => Ok(None),
            Self::CentreOfMass => Ok(Some(bodies.centre_of_mass().0)),
            Self::Component(component) => {
                let points: Vec<DVec3> =
                    bodies.of_component(component).map(|i| bodies.position[i]).collect();
                if points.is_empty() {
                    return Err(Error::value(
                        "the component to follow",
                        component,
                        format!("one of 0 to {} with bodies", bodies.components.len().max(1) - 1),
                    ));
                }
                Ok(Some(median(&points)))
            }
            Self::Body(index) => {
                let allowed = || format!("0 to {}", bodies.len().saturating_sub(1));
                let missing = || Error::value("the body to follow", index, allowed());
                bodies.position.get(index).copied().map(Some).ok_or_else(missing)
            }
        }
    }
}

/// How the camera moves through a film.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CameraMotion {
    /// Where it starts.
    pub start: Camera,
    /// How fast it turns around its target, in radians per second of the film; 0 is still.
    pub orbit_rad_per_sec: f64,
    /// What it keeps in the middle.
    pub follow: Follow,
    /// Directed: frames the bodies' light as closely as possible instead; see [`super::directing`].
    pub directs: bool,
    /// Keyframes at ascending times of the simulation; if not empty, they override all other
    /// fields.
    pub path: Vec<Keyframe>,
}

impl CameraMotion {
    /// The camera at `time_secs` of the film, for these bodies.
    ///
    /// # Errors
    ///
    /// Those of [`Follow::target`].
    pub fn at(&self, time_secs: f64, bodies: &Bodies) -> Result<Camera> {
        let camera = self.start.orbited(self.orbit_rad_per_sec * time_secs);
        let target = self.follow.target(bodies)?;
        Ok(Camera { target: target.unwrap_or(camera.target), ..camera })
    }
}

/// The per-axis median: half of the points lie to either side on each axis. Zero without points.
pub fn median(points: &[DVec3]) -> DVec3 {
    let axis = |k: usize| quantile(&mut points.iter().map(|p| p[k]).collect::<Vec<_>>(), 0.5);
    DVec3::new(axis(0), axis(1), axis(2))
}

/// The `fraction`-quantile (0 to 1) of `values`; 0 without values. Reorders `values`, which should
/// not contain NaN (it sorts as largest).
pub(crate) fn quantile(values: &mut [f64], fraction: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let rank = ((values.len() - 1) as f64 * fraction.clamp(0.0, 1.0)).round() as usize;
    *values.select_nth_unstable_by(rank, f64::total_cmp).1
}

/// Positions of the bodies that `style` draws; of all bodies if it would draw none.
pub(super) fn drawn_points(bodies: &Bodies, style: &Style) -> Vec<DVec3> {
    let drawn: Vec<bool> = bodies.components.iter().map(|c| style.draws(c.role)).collect();
    let points: Vec<DVec3> = (0..bodies.len())
        .filter(|&i| drawn.get(bodies.component[i] as usize).copied().unwrap_or(true))
        .map(|i| bodies.position[i])
        .collect();
    if points.is_empty() { bodies.position.clone() } else { points }
}

impl Camera {
    /// Aims at the bodies that `style` draws and moves back until the fraction `fraction` (0 to 1)
    /// of them lies within the picture with a margin of a tenth. Angles and field of view stay.
    ///
    /// 0.95 leaves a few escapers outside; 1.0 shows every body.
    #[must_use]
    pub fn framing(self, bodies: &Bodies, style: &Style, fraction: f64, size: PictureSize) -> Self {
        self.framing_points(&drawn_points(bodies, style), fraction, size)
    }

    /// [`Camera::framing`] for given points.
    #[must_use]
    pub fn framing_points(self, points: &[DVec3], fraction: f64, size: PictureSize) -> Self {
        let mut camera = Self { target: self.middle(points, fraction), ..self }
            .stepped_back(points, fraction, size);
        // Perspective enlarges the near side: recentre on the box as projected.
        for _ in 0..2 {
            camera.target += camera.off_centre(points, fraction);
            camera = camera.stepped_back(points, fraction, size);
        }
        camera
    }

    /// The centre of the box, in view axes, that holds the fraction `fraction` of the points on
    /// each.
    fn middle(&self, points: &[DVec3], fraction: f64) -> DVec3 {
        let outside = 0.5 * (1.0 - fraction.clamp(0.0, 1.0));
        let along = |axis: DVec3| {
            let mut places: Vec<f64> = points.iter().map(|point| point.dot(axis)).collect();
            let low = quantile(&mut places, outside);
            axis * (0.5 * (low + quantile(&mut places, 1.0 - outside)))
        };
        let [right, up, backward] = self.axes_in_world();
        along(right) + along(up) + along(backward)
    }

    /// From the target to the centre of the projected box that holds the fraction `fraction`.
    fn off_centre(&self, points: &[DVec3], fraction: f64) -> DVec3 {
        let [right, up, backward] = self.axes_in_world();
        let outside = 0.5 * (1.0 - fraction.clamp(0.0, 1.0));
        let along = |axis: DVec3| {
            let projected = |point: &DVec3| {
                let offset = *point - self.target;
                let depth = self.distance - offset.dot(backward);
                (depth > 0.1 * self.distance).then(|| offset.dot(axis) * self.distance / depth)
            };
            let mut places: Vec<f64> = points.iter().filter_map(projected).collect();
            let low = quantile(&mut places, outside);
            axis * (0.5 * (low + quantile(&mut places, 1.0 - outside)))
        };
        along(right) + along(up)
    }

    /// The points with neighbours in the picture: single stars far out may be cut off, the end of a
    /// tail may not. A point has neighbours if at least two others (more if there are more than
    /// 8,192 points) are in its square or the eight around it. A square's side is a sixteenth of
    /// the width that holds nine tenths of all points.
    pub(super) fn without_singles(&self, points: &[DVec3]) -> Vec<DVec3> {
        const SQUARES: f64 = 16.0;
        let axes = [self.axes_in_world()[0], self.axes_in_world()[1]];
        let width = axes.map(|axis| {
            let mut places: Vec<f64> = points.iter().map(|point| point.dot(axis)).collect();
            let low = quantile(&mut places, 0.05);
            quantile(&mut places, 0.95) - low
        });
        let per_length = SQUARES / width[0].max(width[1]);
        let square = |point: &DVec3| axes.map(|axis| (point.dot(axis) * per_length).floor() as i64);
        let mut counts: HashMap<[i64; 2], usize> = HashMap::new();
        points.iter().for_each(|point| *counts.entry(square(point)).or_default() += 1);
        let least = 3 + points.len() / 8192;
        let is_near_others = |point: &&DVec3| {
            let [x, y] = square(point);
            let near = (-1..=1)
                .flat_map(|i| (-1..=1).map(move |j| [x.saturating_add(i), y.saturating_add(j)]));
            near.filter_map(|at| counts.get(&at)).sum::<usize>() >= least
        };
        let crowd: Vec<DVec3> = points.iter().filter(is_near_others).copied().collect();
        // A handful of bodies has no neighbours.
        if 2 * crowd.len() < points.len() { points.to_vec() } else { crowd }
    }

    /// The least distance at which the fraction `fraction` of the points is in the picture, without
    /// a margin.
    pub(super) fn holding(self, points: &[DVec3], fraction: f64, size: PictureSize) -> f64 {
        quantile(&mut self.needed_distances(points, 1.0, size), fraction)
    }

    fn stepped_back(self, points: &[DVec3], fraction: f64, size: PictureSize) -> Self {
        const MARGIN: f64 = 1.1;
        let mut distances = self.needed_distances(points, MARGIN, size);
        let distance = quantile(&mut distances, fraction);
        let largest = self.target.abs().max_element();
        // One body, or all at one point: any distance shows it; show one unit.
        let distance = if distance > 1e-6 * largest && distance.is_finite() {
            distance
        } else {
            let shorter = 0.5 * f64::from(size.shorter_side());
            MARGIN * self.focal_px(size) / shorter
        };
        Self { distance, ..self }
    }

    /// The distance needed to see each point, `margin` times as far from the edge as necessary.
    fn needed_distances(&self, points: &[DVec3], margin: f64, size: PictureSize) -> Vec<f64> {
        let [right, up, backward] = self.axes_in_world();
        let focal = margin * self.focal_px(size);
        let per_side = |pixels: u32| focal / (0.5 * f64::from(pixels));
        let (across, along) = (per_side(size.width()), per_side(size.height()));
        // A body is inside once depth >= sideways distance x focal / half a side, on both axes.
        let needed = |&point: &DVec3| {
            let offset = point - self.target;
            let sideways = (offset.dot(right).abs() * across).max(offset.dot(up).abs() * along);
            sideways + offset.dot(backward)
        };
        points.iter().map(needed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Role;

    fn cross(n: usize) -> Bodies {
        let mut bodies = Bodies::with_capacity(n);
        for i in 0..n {
            let reach = i as f64 / n as f64;
            let axis = [DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y][i % 4];
            bodies.push(1.0, DVec3::new(5.0, 6.0, 7.0) + axis * reach, DVec3::ZERO, 0);
        }
        bodies
    }

    #[test]
    fn follow_targets_round_trip_through_names() {
        let components = vec![Component { name: "disk".to_owned(), role: Role::Disk }];
        let bodies = Bodies {
            position: vec![DVec3::X; 3],
            mass: vec![1.0; 3],
            components,
            ..Bodies::default()
        };
        let all = [Follow::Nothing, Follow::CentreOfMass, Follow::Component(0), Follow::Body(2)];
        for follow in all {
            let name = follow.name(&bodies.components);
            assert_eq!(Follow::from_name(&name, &bodies).unwrap(), follow, "{name}");
        }
        for wrong in ["body:3", "body:", "halo", ""] {
            let error = Follow::from_name(wrong, &bodies).unwrap_err().to_string();
            assert!(error.contains("nothing, centre, disk, body:0 to body:2"), "{error}");
        }
    }

    #[test]
    fn framing_contains_requested_fraction_at_any_aspect_ratio() {
        let bodies = cross(1000);
        for (width, height) in [(1280, 720), (720, 1280), (640, 64), (500, 500)] {
            let size = PictureSize::new(width, height).unwrap();
            for fraction in [0.5, 0.95, 1.0] {
                let camera = Camera::default().framing(&bodies, &Style::default(), fraction, size);
                let clip_from_world = camera.clip_from_world(size);
                let inside = bodies.position.iter().filter(|p| {
                    let clip = clip_from_world * p.as_vec3().extend(1.0);
                    clip.x.abs() <= clip.w && clip.y.abs() <= clip.w
                });
                assert!(inside.count() as f64 >= fraction * 1000.0 - 1.0);
            }
        }
    }

    #[test]
    fn framing_handles_zero_and_one_body() {
        let size = PictureSize::new(64, 64).unwrap();
        for bodies in [cross(1), cross(0)] {
            let camera = Camera::default().framing(&bodies, &Style::default(), 0.95, size);
            assert!(camera.validate().is_ok(), "{camera:?}");
        }
    }

    #[test]
    fn escapers_do_not_pull_the_camera_away() {
        let mut bodies = cross(1001);
        bodies.position[1000] = DVec3::splat(1e6);
        let target = Follow::Component(0).target(&bodies).unwrap().unwrap();
        assert!((target - DVec3::new(5.0, 6.0, 7.0)).length() < 0.01);
        assert!(Follow::Component(9).target(&bodies).is_err());
        assert_eq!(Follow::Nothing.target(&bodies).unwrap(), None);
        let motion = CameraMotion { orbit_rad_per_sec: 0.1, ..CameraMotion::default() };
        let turned = motion.at(3.0, &bodies).unwrap();
        assert!((turned.azimuth_rad - motion.start.orbited(0.3).azimuth_rad).abs() < 1e-12);
    }
}
