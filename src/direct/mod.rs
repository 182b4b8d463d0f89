//! Forces with derivatives: what collisional integrators ask of an engine.
//!
//! Accelerations as in [`crate::force`], and with them jerks, snaps, potentials, nearest neighbours and
//! lists of neighbours, for any sinks from any sources. The sources stay with the engine from call to
//! call, as a GRAPE keeps its j-particles: set all of them, or replace a few, then ask for the forces on
//! one sink or a million.
//!
//! Numbers are f64 in the caller's units, masses are gravitating masses G m. Whoever computes in less
//! narrows them itself and says so by its [`Precision`].

use glam::DVec3;

use crate::error::{Error, Result};
pub use crate::force::Identity;

mod answers;
mod as_forces;
mod cloud;
pub mod cpu;
#[cfg(not(target_arch = "wasm32"))]
pub mod gpu;
mod precision;
mod reference;

pub use answers::{Answers, Lists, NO_SOURCE};
pub use as_forces::AsForces;
pub use cloud::Cloud;
pub use cpu::Cpu;
pub use precision::{Noise, Precision};
pub use reference::Reference;

/// The bodies that attract, all at one moment: an individual-step code predicts them to it first.
///
/// Positions and masses are always there. Velocities may be empty as long as only accelerations are
/// asked for, accelerations as long as no snap is.
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

/// The bodies, or points, that are attracted, at the sources' moment.
#[derive(Clone, Copy, Debug)]
pub struct Sinks<'a> {
    /// Positions, any number, finite.
    pub position: &'a [DVec3],
    /// Velocities, as many, or empty where only accelerations are wanted.
    pub velocity: &'a [DVec3],
    /// Accelerations, as many, or empty where no snap is wanted.
    pub acceleration: &'a [DVec3],
    /// Which source each sink is. That source is left out of everything: sums, potential, neighbours.
    pub identity: Identity<'a>,
}

/// Up to which derivative of the acceleration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// a alone (leapfrog, GRAPE-5).
    Acceleration,
    /// a and da/dt (Hermite 4, GRAPE-6).
    Jerk,
    /// a, da/dt and d2a/dt2 (Hermite 6); needs accelerations of sinks and sources.
    Snap,
}

/// What to compute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Want<'a> {
    /// Derivatives.
    pub order: Order,
    /// Potentials too.
    pub potential: bool,
    /// The nearest source of each sink too.
    pub nearest: bool,
    /// The sources around each sink too.
    pub within: Option<Within<'a>>,
}

impl Want<'_> {
    /// Derivatives up to `order` and nothing else.
    pub fn only(order: Order) -> Self {
        Self { order, potential: false, nearest: false, within: None }
    }
}

/// Which neighbours to list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within<'a> {
    /// One radius per sink, >= 0: sources at most that far away are listed. The distance is the plain
    /// one, without softening.
    pub radius: &'a [f64],
    /// Entries kept per sink at most. More are counted, and not kept.
    pub capacity: usize,
}

/// An engine for forces with derivatives.
///
/// Softening 0 is allowed: a pair at distance exactly 0 then adds nothing to any sum. It still counts
/// as a neighbour. Massless sources attract nothing and count as neighbours.
/// The same engine, configuration and input give the same bits.
pub trait DirectEngine: Send {
    /// The name on the command line: `reference`, `cpu`, `gpu`.
    fn name(&self) -> &'static str;

    /// What it computes on and how, in one line for reports.
    fn describe(&self) -> String;

    /// The tier that it computes in.
    fn precision(&self) -> Precision;

    /// Number of sources it holds.
    fn source_count(&self) -> usize;

    /// Takes `sources` in the place of all that it held.
    ///
    /// Errors: arrays of unequal length, more sources than it holds.
    fn set_sources(&mut self, sources: &Sources) -> Result<()>;

    /// Replaces source `index[k]` by entry k of `sources`, for all k; the others stay as they are, and
    /// so do derivatives that `sources` lacks.
    ///
    /// Errors: as [`DirectEngine::set_sources`]; an index that is not below
    /// [`DirectEngine::source_count`].
    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()>;

    /// Begins the computation of what `want` says for `sinks`; `softening` is the Plummer length
    /// eps >= 0. It may still be going on when this returns: the host has time for other work.
    ///
    /// Errors: a softening or radius that is negative or not finite; arrays of unequal length; a
    /// velocity or acceleration that `want` needs and sinks or sources lack.
    fn begin(&mut self, sinks: &Sinks, softening: f64, want: &Want) -> Result<()>;

    /// Waits for what was begun and puts it into `out`, whose memory is reused. Without a
    /// [`DirectEngine::begin`] before it: no sinks. What engines implement: numbers that are none are passed
    /// on, for callers that look at them themselves. Others call [`DirectEngine::finish`].
    fn collect(&mut self, out: &mut Answers) -> Result<()>;

    /// The engine on a device, if it is that: bodies on block steps may then live there.
    #[cfg(not(target_arch = "wasm32"))]
    fn on_device(&self) -> Option<&gpu::GpuEngine> {
        None
    }

    /// [`DirectEngine::collect`], and answers that are numbers.
    ///
    /// Errors: a sum that is not finite; the sink's number stands for its id ([`Error::with_ids`]).
    fn finish(&mut self, out: &mut Answers) -> Result<()> {
        self.collect(out)?;
        out.check(self.precision())
    }

    /// [`DirectEngine::begin`] and [`DirectEngine::finish`].
    fn evaluate(
        &mut self,
        sinks: &Sinks,
        softening: f64,
        want: &Want,
        out: &mut Answers,
    ) -> Result<()> {
        self.begin(sinks, softening, want)?;
        self.finish(out)
    }
}

impl Sources<'_> {
    /// Refuses arrays that do not fit each other.
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

impl Sinks<'_> {
    /// Refuses arrays that do not fit each other or lack what `want` needs, a softening or a radius
    /// out of range. What an engine does first in [`DirectEngine::begin`].
    pub fn check(&self, softening: f64, want: &Want) -> Result<()> {
        crate::force::check_softening(softening)?;
        let n = self.position.len();
        let derivatives =
            [("velocities", self.velocity.len()), ("accelerations", self.acceleration.len())];
        check_lengths("sink", n, &[], &derivatives)?;
        for (order, (name, length)) in [Order::Jerk, Order::Snap].into_iter().zip(derivatives) {
            if want.order >= order && length != n {
                return Err(Error::value(
                    format!("the number of sink {name}"),
                    length,
                    format!("{n}, as of sinks, for a {}", order.name()),
                ));
            }
        }
        if let Identity::Each(index) = self.identity
            && index.len() != n
        {
            let allowed = format!("{n}, as of sinks");
            return Err(Error::value("the number of sink identities", index.len(), allowed));
        }
        let Some(within) = want.within else { return Ok(()) };
        if within.radius.len() != n {
            let allowed = format!("{n}, as of sinks");
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

    /// Refuses sources that lack what this order needs.
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
                    format!("{count}, as of sources, for a {}", order.name()),
                ));
            }
        }
        Ok(())
    }
}

/// `whole` must have `n` entries, `derivatives` may have none.
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
            format!("{n}, as of {of} positions"),
        )),
        None => Ok(()),
    }
}

/// Refuses indices of [`DirectEngine::update_sources`] that do not fit.
pub fn check_update(index: &[u32], sources: &Sources, count: usize) -> Result<()> {
    sources.check()?;
    if index.len() != sources.position.len() {
        let allowed = format!("{}, as of source positions", sources.position.len());
        return Err(Error::value("the number of source indices", index.len(), allowed));
    }
    match index.iter().find(|&&j| j as usize >= count) {
        Some(j) => Err(Error::value("a source index", j, format!("below {count}"))),
        None => Ok(()),
    }
}
