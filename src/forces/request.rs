//! What an engine is to compute: forces of which sources on which sinks, and which quantities.
//!
//! Sources and sinks are two separate sets. All bodies on all is the case in which each sink is
//! also a source ([`Identity::Offset`] 0); forces on a few active bodies, on probes, or from
//! another galaxy need nothing special.

use glam::DVec3;

use crate::error::{Error, Result};
use crate::frame::Frame;

/// Index that means no source: the nearest source of a sink that has none.
pub const NO_SOURCE: u32 = u32::MAX;

/// The attracting bodies at one time; codes with individual steps first predict them to it.
///
/// Positions and masses are required. Velocities may be empty if only accelerations are requested,
/// accelerations if no snap is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// Positions, length n, finite.
    pub position: &'a [DVec3],
    /// Velocities, length n or 0, finite.
    pub velocity: &'a [DVec3],
    /// Accelerations, length n or 0, finite.
    pub acceleration: &'a [DVec3],
    /// Gravitating masses G m, length n, each >= 0.
    pub mass: &'a [f64],
}

/// The attracted bodies, or points, at the same time as the sources.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sinks<'a> {
    /// Positions, any number, finite.
    pub position: &'a [DVec3],
    /// Velocities, as many, or empty if only accelerations are requested.
    pub velocity: &'a [DVec3],
    /// Accelerations, as many, or empty if no snap is requested. A method that needs their size
    /// ([`super::EngineCapabilities::last_accelerations`]) accepts those of the last step, or
    /// computes them itself.
    pub acceleration: &'a [DVec3],
    /// Which source each sink is. That source is left out of all results: sums, potential,
    /// neighbours.
    pub identity: Identity<'a>,
    /// Begin and end of the range of sinks to compute; `None` for all. The results still have an
    /// entry for each sink, those outside the range with undefined values. Engines without
    /// [`super::EngineCapabilities::ranges`] compute all.
    pub only: Option<(usize, usize)>,
}

impl<'a> Sinks<'a> {
    /// The sinks in the range `part`, in their order.
    pub(crate) fn part(&self, part: std::ops::Range<usize>) -> Sinks<'a> {
        let of = |all: &'a [DVec3]| if all.is_empty() { all } else { &all[part.clone()] };
        Sinks {
            position: of(self.position),
            velocity: of(self.velocity),
            acceleration: of(self.acceleration),
            identity: match self.identity {
                Identity::Foreign => Identity::Foreign,
                Identity::Offset(offset) => Identity::Offset(offset + part.start),
                Identity::Each(index) => Identity::Each(&index[part.clone()]),
            },
            only: None,
        }
    }

    /// The sinks to compute.
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        self.only.map_or(0..self.position.len(), |(begin, end)| begin..end)
    }
}

/// The highest derivative of the acceleration to compute.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Order {
    /// a only (leapfrog, GRAPE-5).
    Acceleration,
    /// a and da/dt (Hermite 4, GRAPE-6).
    Jerk,
    /// a, da/dt and d2a/dt2 (Hermite 6); needs accelerations of sinks and sources.
    Snap,
}

/// What to compute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outputs<'a> {
    /// Derivatives.
    pub order: Order,
    /// Whether to compute potentials.
    pub potential: bool,
    /// Whether to find the nearest source of each sink.
    pub nearest: bool,
    /// Whether to compute its distance as well, which takes a lookup of its position.
    pub distance: bool,
    /// Which sources around each sink to list.
    pub within: Option<Within<'a>>,
}

impl Outputs<'_> {
    /// Accelerations only: what a leapfrog step needs.
    pub const ACCELERATION: Outputs<'static> = Outputs::only(Order::Acceleration);

    /// Accelerations and potentials: what diagnostics need.
    pub const POTENTIAL: Outputs<'static> =
        Outputs { potential: true, ..Outputs::only(Order::Acceleration) };

    /// Derivatives up to `order` only.
    pub const fn only(order: Order) -> Self {
        Self { order, potential: false, nearest: false, distance: true, within: None }
    }
}

/// Which neighbours to list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within<'a> {
    /// One radius per sink, >= 0: sources at this distance or less are listed. The distance does
    /// not include softening.
    pub radius: &'a [f64],
    /// The most entries stored per sink; further ones are only counted.
    pub capacity: usize,
}

/// Which source, if any, a sink is.
///
/// A body's own term adds nothing to its acceleration, but -m/eps to its potential. It is left out
/// by index, never by a zero distance, so that two bodies at the same position still act on each
/// other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity<'a> {
    /// No sink is a source (probes, another galaxy).
    #[default]
    Foreign,
    /// Sink `i` is source `i + offset`.
    Offset(usize),
    /// Sink `i` is source `index[i]`; `u32::MAX` means none. Same length as the sinks.
    Each(&'a [u32]),
}

impl Identity<'_> {
    /// The source that sink `i` is, or `None`.
    pub fn of(self, i: usize) -> Option<usize> {
        match self {
            Self::Foreign => None,
            Self::Offset(offset) => Some(i + offset),
            Self::Each(index) => (index[i] != u32::MAX).then_some(index[i] as usize),
        }
    }
}

impl<'a> Sources<'a> {
    /// Sources with positions and gravitating masses G m, of equal length: enough for accelerations
    /// and potentials.
    pub fn new(position: &'a [DVec3], mass: &'a [f64]) -> Self {
        Self { position, mass, ..Self::default() }
    }

    /// Positions and masses in f32, in a frame that contains them: x, y, z, mass.
    ///
    /// # Errors
    /// A body that is not finite; bodies too far apart for f32.
    pub(crate) fn narrowed(&self, frame: &Frame) -> Result<Vec<[f32; 4]>> {
        frame.check_reach(self.position)?;
        let narrow = |(j, (&position, &mass)): (usize, (&DVec3, &f64))| {
            let [x, y, z] = frame.position(position);
            let place = [x, y, z, (mass / frame.mass) as f32];
            if place.iter().all(|number| number.is_finite()) {
                return Ok(place);
            }
            let problem = format!("position {position} or G m {mass} is not finite");
            Err(Error::Body { index: j, id: j as u64, problem })
        };
        self.position.iter().zip(self.mass).enumerate().map(narrow).collect()
    }

    /// Checks that the arrays fit each other and are not too long.
    pub fn check(&self) -> Result<()> {
        let n = self.position.len();
        if u32::try_from(n).is_err() || n == NO_SOURCE as usize {
            return Err(Error::value("the number of sources", n, "below 2^32 - 1"));
        }
        let whole = [("masses", self.mass.len())];
        let derivatives =
            [("velocities", self.velocity.len()), ("accelerations", self.acceleration.len())];
        check_lengths("source", n, &whole, &derivatives)
    }
}

impl<'a> Sinks<'a> {
    /// Sinks with positions and the source that each is: enough for accelerations and potentials.
    pub fn new(position: &'a [DVec3], identity: Identity<'a>) -> Self {
        Self { position, identity, ..Self::default() }
    }

    /// Checks that the arrays fit each other and contain what `outputs` needs, and that softening
    /// and radii are in range. Engines call it first in [`super::ForceEngine::begin`].
    pub fn check(&self, softening: f64, outputs: &Outputs) -> Result<()> {
        check_softening(softening)?;
        let n = self.position.len();
        let derivatives =
            [("velocities", self.velocity.len()), ("accelerations", self.acceleration.len())];
        check_lengths("sink", n, &[], &derivatives)?;
        for (order, (name, length)) in [Order::Jerk, Order::Snap].into_iter().zip(derivatives) {
            if outputs.order >= order && length != n {
                return Err(Error::value(
                    format!("the number of sink {name}"),
                    length,
                    format!("{n}, one per sink, for a {}", order.name()),
                ));
            }
        }
        if let Identity::Each(index) = self.identity
            && index.len() != n
        {
            let allowed = format!("{n}, one per sink");
            return Err(Error::value("the number of sink identities", index.len(), allowed));
        }
        if let Some((begin, end)) = self.only
            && !(begin <= end && end <= n)
        {
            let allowed = format!("within 0..{n}");
            return Err(Error::value("the range of sinks", format!("{begin}..{end}"), allowed));
        }
        let Some(within) = outputs.within else { return Ok(()) };
        if within.radius.len() != n {
            let allowed = format!("{n}, one per sink");
            return Err(Error::value(
                "the number of neighbour radii",
                within.radius.len(),
                allowed,
            ));
        }
        match within.radius.iter().find(|radius| !(radius.is_finite() && **radius >= 0.0)) {
            Some(radius) => {
                Err(Error::value("the neighbour radius", radius, "finite and at least 0"))
            }
            None => Ok(()),
        }
    }
}

impl Order {
    /// The highest derivative's name: `acceleration`, `jerk`, `snap`.
    pub fn name(self) -> &'static str {
        ["acceleration", "jerk", "snap"][self as usize]
    }

    /// Checks that the sources have what this order needs.
    pub fn check_sources(self, count: usize, velocities: bool, accelerations: bool) -> Result<()> {
        let lacking = [
            (Order::Jerk, velocities, "velocities"),
            (Order::Snap, accelerations, "accelerations"),
        ];
        for (order, there, name) in lacking {
            if self >= order && !there && count > 0 {
                return Err(Error::value(
                    format!("the number of source {name}"),
                    0,
                    format!("{count}, one per source, for a {}", order.name()),
                ));
            }
        }
        Ok(())
    }
}

/// Checks that `whole` has `n` entries and that `derivatives` have `n` or none.
fn check_lengths(
    of: &str,
    n: usize,
    whole: &[(&str, usize)],
    derivatives: &[(&str, usize)],
) -> Result<()> {
    let wrong = whole.iter().find(|(_, length)| *length != n);
    let wrong = wrong.or(derivatives.iter().find(|(_, length)| ![0, n].contains(length)));
    match wrong {
        Some((name, length)) => Err(Error::value(
            format!("the number of {of} {name}"),
            length,
            format!("{n}, one per {of} position"),
        )),
        None => Ok(()),
    }
}

/// Checks that a softening is finite and not negative.
pub fn check_softening(softening: f64) -> Result<()> {
    if softening.is_finite() && softening >= 0.0 {
        Ok(())
    } else {
        Err(Error::value("the softening length eps", softening, "finite and at least 0"))
    }
}

/// Checks the indices of [`super::ForceEngine::update_sources`].
///
/// # Errors
/// Another number of indices than of sources; an index that is not below `count`.
pub fn check_update(index: &[u32], sources: &Sources, count: usize) -> Result<()> {
    sources.check()?;
    check_indices(index, sources.position.len(), count)
}

/// Checks that there is one index per source, each below `count`.
pub(super) fn check_indices(index: &[u32], sources: usize, count: usize) -> Result<()> {
    if index.len() != sources {
        let allowed = format!("{sources}, one per source");
        return Err(Error::value("the number of source indices", index.len(), allowed));
    }
    check_below(index.iter().copied(), count)
}

/// Checks that all source indices are below `count`.
pub(super) fn check_below(index: impl Iterator<Item = u32>, count: usize) -> Result<()> {
    match index.max().filter(|&j| j as usize >= count) {
        Some(j) => Err(Error::value("a source index", j, format!("below {count}"))),
        None => Ok(()),
    }
}
