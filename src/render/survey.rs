//! Properties of bodies that looks need whatever the style: with a million bodies they take a tenth
//! of a second, so a window measures them only once while its style changes.

use glam::{DMat3, DVec3};

use super::ages::Ages;
use super::framing::{median, quantile};
use super::look_uniform::MAX_COMPONENTS;
use super::medium::Plan;
use super::style::{ColourBy, Style};
use crate::bodies::{Bodies, Role};
use crate::diagnostics::neighbour_distance;
use crate::frame::Frame;

/// Statistics of one component for a look.
#[derive(Debug)]
pub(super) struct Part {
    /// The role of its bodies.
    pub role: Role,
    /// Number of its bodies.
    pub count: usize,
    /// Median distance of its bodies from their centre.
    pub radius: f64,
    /// Typical distance to the eighth neighbour.
    pub spacing: f64,
    /// Their mean mass.
    pub mean_mass: f64,
    /// Positions of a few thousand of them.
    pub points: Vec<DVec3>,
}

impl Part {
    /// Measures the bodies of that component.
    pub fn measure(bodies: &Bodies, component: u8, role: Role) -> Self {
        let members: Vec<usize> = bodies.of_component(component).collect();
        // Such a sample gives the median to a percent; a million bodies need not be sorted.
        let stride = members.len().div_ceil(SAMPLED).max(1);
        let points: Vec<DVec3> =
            members.iter().step_by(stride).map(|&i| bodies.position[i]).collect();
        let mass: f64 = members.iter().map(|&i| bodies.mass[i]).sum();
        Self {
            role,
            count: members.len(),
            radius: if points.len() > 1 { median_radius(&points) } else { 0.0 },
            spacing: neighbour_distance(&points, 8, 0.5)
                * libm::cbrt(points.len() as f64 / members.len().max(1) as f64),
            mean_mass: mass / members.len().max(1) as f64,
            points,
        }
    }

    /// Positions of its bodies in a sample of `all` bodies in which every component has its share:
    /// the median radius of a galaxy must not depend on how many of its bodies are sampled.
    pub fn share(&self, all: usize) -> impl Iterator<Item = DVec3> {
        let part = self.count as f64 / all.max(1) as f64;
        let wanted = (part * all.min(SAMPLED) as f64).round() as usize;
        (0..wanted).map(move |k| self.points[k * self.points.len() / wanted])
    }
}

/// Bodies of a component whose positions are sampled, at most.
const SAMPLED: usize = 16_384;

/// Median distance from the median point, or 1 where that is 0 or not finite.
pub(super) fn median_radius(points: &[DVec3]) -> f64 {
    let centre = median(points);
    let radius = quantile(&mut points.iter().map(|p| p.distance(centre)).collect::<Vec<_>>(), 0.5);
    if radius > 0.0 && radius.is_finite() { radius } else { 1.0 }
}

/// 2nd and 98th percentile of the values above 0, never equal; `None` if there are none.
pub(super) fn percentiles(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let mut values: Vec<f64> = values.filter(|v| *v > 0.0 && v.is_finite()).collect();
    if values.is_empty() {
        return None;
    }
    let [least, most] = [0.02, 0.98].map(|fraction| quantile(&mut values, fraction));
    Some(if most > 1.001 * least { [least, most] } else { [0.5 * least, 2.0 * least] })
}

/// [`Plan::flatness`] of a component of gas: the adjugate of the second moments within two median
/// radii, divided by its trace.
fn flatness(part: &Part) -> DMat3 {
    let centre = median(&part.points);
    let mut moments = DMat3::ZERO;
    for offset in part.points.iter().map(|x| *x - centre) {
        if offset.length() < 2.0 * part.radius {
            moments += DMat3::from_cols(offset * offset.x, offset * offset.y, offset * offset.z);
        }
    }
    let [x, y, z] = [moments.x_axis, moments.y_axis, moments.z_axis];
    let adjugate = DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
    let trace = adjugate.x_axis.x + adjugate.y_axis.y + adjugate.z_axis.z;
    if trace > 0.0 && trace.is_finite() { adjugate * (1.0 / trace) } else { DMat3::IDENTITY }
}

/// Properties of all components of a set of bodies, the input of [`super::Look::surveyed`].
#[derive(Debug)]
pub struct Survey {
    /// One per component, up to [`MAX_COMPONENTS`].
    pub(super) parts: Vec<Part>,
    /// The mean velocity of all bodies.
    pub(super) drift: DVec3,
    /// The ages, if known from the start of the run.
    pub(super) ages: Option<Ages>,
}

impl Survey {
    /// Surveys these bodies (any number, even none). Ages are computed when a look needs them.
    pub fn of(bodies: &Bodies) -> Self {
        let components = bodies.components.iter().take(MAX_COMPONENTS).enumerate();
        Self {
            parts: components
                .map(|(index, component)| Part::measure(bodies, index as u8, component.role))
                .collect(),
            drift: DVec3::from(Frame::of(bodies, 1.0, 0.0).velocity),
            ages: None,
        }
    }

    /// Sets the bodies' ages, one each, computed by [`super::ages::ages`] at the start of the run.
    #[must_use]
    pub fn with_ages(self, ages: Ages) -> Self {
        Self { ages: Some(ages), ..self }
    }

    /// Parameters of densities and dust, if a style shows them for these bodies.
    pub(super) fn medium(&self, style: &Style) -> Option<Plan> {
        let is_drawn = |p: &&Part| p.count > 0 && style.draws(p.role);
        let by_number = style.colour_by.is_map();
        let counts_all = by_number || style.colour_by == ColourBy::Density;
        let gas = self.parts.iter().filter(is_drawn).filter(|p| p.role == Role::Gas);
        let (count, weighted) =
            gas.clone().fold((0, 0.0), |(n, r), p| (n + p.count, r + p.radius * p.count as f64));
        let flatness = gas.fold(DMat3::ZERO, |sum, p| sum + flatness(p) * p.count as f64);
        let has_gas = count > 0 && (style.gas > 0.0 || style.dust > 0.0);
        if !(counts_all || has_gas) {
            return None;
        }
        let counted =
            self.parts.iter().filter(is_drawn).filter(|p| counts_all || p.role == Role::Gas);
        let bodies: usize = counted.clone().map(|p| p.count).sum();
        let mass: f64 = counted.clone().map(|p| p.mean_mass * p.count as f64).sum();
        let largest = counted.max_by_key(|p| p.count)?;
        let spacing =
            [largest.spacing, largest.radius].into_iter().find(|&x| x > 0.0 && x.is_finite());
        Some(Plan {
            anchor: median(&largest.points),
            cell: Plan::cell_for(spacing.unwrap_or(1.0)),
            mean_mass: mass / bodies as f64,
            counted: bodies,
            counts_all,
            by_number,
            gas: (count, weighted / count.max(1) as f64),
            flatness: flatness * (1.0 / count.max(1) as f64),
            dust: style.dust,
        })
    }
}
