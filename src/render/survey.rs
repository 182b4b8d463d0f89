//! Properties of bodies that looks need whatever the style: with a million bodies they take a tenth
//! of a second, so a window measures them only once while its style changes.

use glam::DVec3;

use super::ages::Ages;
use super::framing::median;
use super::medium::Plan;
use super::part::Part;
use super::sprite_look::MAX_COMPONENTS;
use super::style::{ColourBy, Style};
use crate::bodies::{Bodies, Role};
use crate::frame::Frame;

/// For [`super::Look::surveyed`].
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
        let is_drawn = |p: &&Part| p.count > 0 && (style.show_halo || p.role != Role::Halo);
        let counts_all = style.colour_by == ColourBy::Density;
        let gas = self.parts.iter().filter(is_drawn).filter(|p| p.role == Role::Gas);
        let (count, weighted) =
            gas.clone().fold((0, 0.0), |(n, r), p| (n + p.count, r + p.radius * p.count as f64));
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
            gas: (count, weighted / count.max(1) as f64),
            dust: style.dust,
        })
    }
}
