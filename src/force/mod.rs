//! Engines: who computes the attraction of sources on sinks.
//!
//! Sources and sinks are two sets in every interface. All on all is the case where each sink is also
//! a source ([`Identity::Offset`] 0); forces on a few active bodies, on probes, or from another galaxy
//! need nothing special.

use glam::DVec3;

use crate::error::{Error, Result};

mod all_pairs;
pub mod candidates;
mod config;
pub mod cpu;
#[cfg(not(target_arch = "wasm32"))]
mod gpu;
mod pace;
mod plan;
mod reference;
mod variant;
mod wish;

pub use all_pairs::{AllPairs, Field, Progress};
pub use config::KernelConfig;
pub use cpu::Cpu;
#[cfg(not(target_arch = "wasm32"))]
pub use gpu::GpuEngine;
pub use pace::{Budget, Pace};
pub use plan::KernelPlan;
pub use reference::Reference;
pub use variant::KernelVariant;
pub use wish::KernelWish;

/// Flops of an interaction, by the custom of GPU Gems 3, chapter 31.
pub const FLOPS: f64 = 20.0;

/// The bodies that attract.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// Positions, length n.
    pub position: &'a [DVec3],
    /// Gravitating masses G m, length n, each >= 0.
    pub mass: &'a [f64],
}

/// The points where the attraction is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Sinks<'a> {
    /// Positions, any number.
    pub position: &'a [DVec3],
    /// Which source each sink is, so that it does not enter its own potential.
    pub identity: Identity<'a>,
}

/// Which source, if any, a sink is itself.
///
/// A body's own term adds nothing to its acceleration, but -m/eps to its potential: it is left out
/// by index, never by a distance of zero, so that two bodies in one place still see each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity<'a> {
    /// No sink is a source (probes, another galaxy).
    Foreign,
    /// Sink `i` is source `i + offset`.
    Offset(usize),
    /// Sink `i` is source `index[i]`; `u32::MAX` says that it is none. Same length as the sinks.
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

/// What to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Accelerations only: what a step needs.
    Acceleration,
    /// Accelerations and potentials: what diagnostics need.
    AccelerationAndPotential,
}

/// The answer of an engine: one entry per sink.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forces {
    /// a_i = sum_j G m_j (x_j - x_i) / (|x_j - x_i|^2 + eps^2)^(3/2).
    pub acceleration: Vec<DVec3>,
    /// phi_i = -sum_{j != i} G m_j / sqrt(|x_j - x_i|^2 + eps^2); empty unless wanted.
    pub potential: Vec<f64>,
}

/// An engine on the host side of the interface: bodies in f64 go in, forces in f64 come out.
///
/// With softening 0 a pair at distance exactly 0 contributes nothing, to either output.
/// The same engine, configuration and input give the same bits.
pub trait ForceEngine: Send {
    /// The name on the command line: `reference`, `cpu`, `gpu`.
    fn name(&self) -> &'static str;

    /// What it computes on and how, in one line for reports.
    fn describe(&self) -> String;

    /// Fills `out` with the forces of `sources` on `sinks`; `softening` is the Plummer length eps >= 0. What
    /// engines implement; callers want [`ForceEngine::evaluate`].
    fn compute(
        &mut self,
        sinks: &Sinks,
        sources: &Sources,
        softening: f64,
        want: Want,
        out: &mut Forces,
    ) -> Result<()>;

    /// [`ForceEngine::compute`], and forces that are numbers.
    ///
    /// Errors: those of the engine; a force that is not finite, where the sink's number stands for its id
    /// ([`Error::with_ids`]).
    fn evaluate(
        &mut self,
        sinks: &Sinks,
        sources: &Sources,
        softening: f64,
        want: Want,
        out: &mut Forces,
    ) -> Result<()> {
        self.compute(sinks, sources, softening, want, out)?;
        let lost = not_finite([("acceleration", &out.acceleration[..])], &out.potential);
        check_finite(lost, || format!("the numbers of the engine '{}'", self.name()))
    }
}

/// The first entry that is not finite, and the name of what it is in.
pub(crate) fn not_finite<const N: usize>(
    vectors: [(&'static str, &[DVec3]); N],
    potential: &[f64],
) -> Option<(usize, &'static str)> {
    let first = |(name, values): (&'static str, &[DVec3])| {
        Some((values.iter().position(|value| !value.is_finite())?, name))
    };
    let scalar = potential.iter().position(|value| !value.is_finite()).map(|i| (i, "potential"));
    vectors.into_iter().filter_map(first).chain(scalar).min_by_key(|(i, _)| *i)
}

/// The one place where answers that are no numbers become an error; `range` says what they have left.
pub(crate) fn check_finite(lost: Option<(usize, &str)>, range: impl Fn() -> String) -> Result<()> {
    let Some((index, what)) = lost else { return Ok(()) };
    let problem = format!(
        "its {what} is not finite: too near to another body, or too large, for {}; a larger softening or a wider precision is needed",
        range()
    );
    Err(Error::Body { index, id: index as u64, problem })
}

/// Refuses a softening that is negative, NaN or infinite.
pub fn check_softening(softening: f64) -> Result<()> {
    if softening.is_finite() && softening >= 0.0 {
        Ok(())
    } else {
        Err(Error::value("the softening length eps", softening, "finite and at least 0"))
    }
}
