//! The interface of all engines: stored sources, and evaluations that are begun and then collected.

use std::sync::Arc;

use glam::DVec3;

use super::shape::{Pairs, TierShape};
use super::{
    BoxFuture, Forces, MovingSources, Order, Outputs, Precision, Rebuilds, Sinks, Sources,
};
use crate::error::Result;
use crate::gpu::Gpu;

/// An engine: stores sources and computes their forces on any sinks.
///
/// Softening 0 is allowed: a pair at distance exactly 0 then adds nothing to any sum, but still
/// counts as a neighbour. Massless sources attract nothing but count as neighbours. Results are
/// reproducible: the same engine, configuration and input always give the same bits.
///
/// A method that computes in one call and stores nothing on a device is shorter as an
/// [`Evaluator`](super::Evaluator).
pub trait ForceEngine: Send {
    /// The name on the command line: `reference`, `cpu`, `gpu`.
    fn name(&self) -> &'static str;

    /// Hardware and implementation, in one line for reports.
    fn describe(&self) -> String;

    /// The precision that it computes in.
    fn precision(&self) -> Precision;

    /// The highest derivative that it computes; engines that compute accelerations only do not find
    /// neighbours either.
    fn highest_order(&self) -> Order;

    /// Number of sources it stores.
    fn source_count(&self) -> usize;

    /// Replaces all sources by `sources`.
    ///
    /// # Errors
    /// Arrays of unequal length; more sources than the engine can hold.
    fn set_sources(&mut self, sources: &Sources) -> Result<()>;

    /// Replaces source `index[k]` by entry k of `sources`, for all k. Other sources are unchanged,
    /// and so are derivatives that `sources` lacks.
    ///
    /// # Errors
    /// As [`ForceEngine::set_sources`]; an index that is not below [`ForceEngine::source_count`].
    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()>;

    /// Begins to compute what `outputs` requests on `sinks`; `softening` is the Plummer length
    /// eps, 0 or more. The computation may continue after this returns, so the host can do other
    /// work.
    ///
    /// # Errors
    /// A softening or radius that is negative or not finite; arrays of unequal length; a velocity
    /// or acceleration that `outputs` needs and sinks or sources lack; a derivative above
    /// [`ForceEngine::highest_order`].
    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()>;

    /// Waits for the evaluation that was begun and moves its results into `out`, whose memory is
    /// reused. Without a [`ForceEngine::begin`] before it: no sinks. Values that are not finite are
    /// passed on, for callers that check themselves; others use [`ForceEngine::finish`].
    fn collect(&mut self, out: &mut Forces) -> Result<()>;

    /// What it offers beyond forces: [`EngineCapabilities::default`] for most engines. An engine
    /// that wraps another one returns those of the inner engine, or states which it changes.
    fn capabilities(&self) -> EngineCapabilities<'_>;

    /// Its interfaces beyond this one: [`Interfaces::default`] for most engines. An engine that
    /// wraps another one returns those of the inner engine, or states which it changes.
    fn interfaces(&mut self) -> Interfaces<'_>;

    /// [`ForceEngine::begin`] and [`ForceEngine::collect`], awaiting the device if there is one. In
    /// a browser, engines on a device support only this: the other two refuse to block.
    fn answer<'a>(
        &'a mut self,
        sinks: &'a Sinks<'a>,
        softening: f64,
        outputs: &'a Outputs<'a>,
        out: &'a mut Forces,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.begin(sinks, softening, outputs)?;
            self.collect(out)
        })
    }

    /// Number of interactions of the latest evaluation, on `sinks` sinks: one per pair, unless the
    /// method needs fewer.
    fn interactions(&self, sinks: usize) -> u64 {
        self.capabilities().interactions.unwrap_or(sinks as u64 * self.source_count() as u64)
    }

    /// [`ForceEngine::collect`], checking that all results are finite.
    ///
    /// # Errors
    /// A sum that is not finite; the sink's index stands for its id
    /// ([`Error::with_ids`](crate::error::Error::with_ids)).
    fn finish(&mut self, out: &mut Forces) -> Result<()> {
        self.collect(out)?;
        out.check(self.precision())
    }

    /// [`ForceEngine::begin`] and [`ForceEngine::finish`].
    fn evaluate(
        &mut self,
        sinks: &Sinks,
        softening: f64,
        outputs: &Outputs,
        out: &mut Forces,
    ) -> Result<()> {
        self.begin(sinks, softening, outputs)?;
        self.finish(out)
    }

    /// [`ForceEngine::set_sources`] and [`ForceEngine::evaluate`], for sources used once: an engine
    /// need not store them.
    fn evaluate_from(
        &mut self,
        sources: &Sources,
        sinks: &Sinks,
        softening: f64,
        outputs: &Outputs,
        out: &mut Forces,
    ) -> Result<()> {
        self.set_sources(sources)?;
        self.evaluate(sinks, softening, outputs, out)
    }
}

/// What an engine offers beyond forces. The default is an engine whose results depend on sources
/// and sinks alone and that computes every pair on the host.
#[derive(Default)]
pub struct EngineCapabilities<'a> {
    /// Whether evaluations of a range of the sinks ([`Sinks::only`]) take time in proportion to it,
    /// with the same bits as an evaluation of all.
    pub ranges: bool,
    /// Whether results depend on the sinks' accelerations, those of the last step: a snapshot then
    /// stores them for resuming the run.
    pub last_accelerations: bool,
    /// Interactions of the latest evaluation, if it did not need every pair.
    pub interactions: Option<u64>,
    /// The bodies' positions when a reused structure was built; `None` if they have not moved
    /// since, or if no structure is reused.
    pub built_at: Option<&'a [DVec3]>,
    /// A new engine for potentials that are summed up to an energy, if the errors of this one are
    /// biased.
    pub for_energies: Option<Box<dyn ForceEngine>>,
    /// The device, if integrators can use the engine's kernels there.
    pub device: Option<&'a dyn DeviceEngine>,
    /// The ranks that compute together with this engine.
    pub ranks: Option<&'a crate::exchange::Ranks>,
}

/// The interfaces of an engine beyond [`ForceEngine`].
#[derive(Default)]
pub struct Interfaces<'a> {
    /// Sources that the engine predicts itself.
    pub moving: Option<&'a mut dyn MovingSources>,
    /// A structure that is reused for several steps: the integrator must announce each step.
    pub rebuilds: Option<&'a mut dyn Rebuilds>,
    /// Forces of bodies that ranks have some of each, if the bodies are sources and sinks.
    pub divides: Option<&'a mut dyn Divides>,
}

/// An engine that ranks compute with together: each gives it some of the bodies, those of one rank
/// after those of the other, and has the forces of all bodies on its own, with the bits of one
/// rank.
pub trait Divides {
    /// Divides it among these ranks from now on. All must make the same calls.
    fn divide_among(&mut self, ranks: crate::exchange::Ranks);
}

/// An engine whose kernels integrators can use on its device
/// ([`blocks`](crate::integrate::blocks)).
pub trait DeviceEngine {
    /// The device.
    fn gpu(&self) -> &Arc<Gpu>;

    /// Further devices, which share the block steps of bodies resident on this one.
    fn other_devices(&self) -> &[Arc<Gpu>];

    /// How its double-single arithmetic is implemented.
    fn pairs(&self) -> Pairs;

    /// The shape of kernels for blocks of `sinks` sinks among `sources`, all in one slice: as
    /// tuned, else by the rule.
    fn block_shape(&self, order: Order, sinks: usize, sources: usize) -> TierShape;
}
