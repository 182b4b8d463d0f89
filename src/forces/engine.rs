//! The common interface of engines: persistent sources, and evaluations that are begun and then
//! collected.

use std::ops::Range;
use std::sync::Arc;

use glam::DVec3;

use super::direct::GpuTiers;
use super::direct::gpu::tiers::FittedShapes;
use super::{
    Answers, Goal, Making, MovingSources, Order, Precision, Rebuilds, Sinks, Sources, Want,
};
use crate::error::{Error, Result};
use crate::gpu::Gpu;

/// An engine: computes the forces of the sources it holds on any sinks.
///
/// Softening 0 is allowed: a pair at distance exactly 0 then adds nothing to any sum, but still
/// counts as a neighbour. Massless sources attract nothing but count as neighbours. Results are
/// reproducible: the same engine, configuration and input always give the same bits.
pub trait ForceEngine: Send {
    /// The name on the command line: `reference`, `cpu`, `gpu`.
    fn name(&self) -> &'static str;

    /// Hardware and implementation, in one line for reports.
    fn describe(&self) -> String;

    /// The precision that it computes in.
    fn precision(&self) -> Precision;

    /// Number of sources it holds.
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

    /// The highest derivative that it computes; engines that compute accelerations only do not find
    /// neighbours either.
    fn highest_order(&self) -> Order;

    /// Begins to compute what `want` requests on `sinks`; `softening` is the Plummer length
    /// eps, 0 or more. The computation may continue after this returns, so the host can do other
    /// work.
    ///
    /// # Errors
    /// A softening or radius that is negative or not finite; arrays of unequal length; a velocity
    /// or acceleration that `want` needs and sinks or sources lack; a derivative above
    /// [`ForceEngine::highest_order`].
    fn begin(&mut self, sinks: &Sinks, softening: f64, want: &Want) -> Result<()>;

    /// Waits for the evaluation that was begun and moves its results into `out`, whose memory is
    /// reused. Without a [`ForceEngine::begin`] before it: no sinks. Engines implement this method;
    /// values that are not finite are passed on, for callers that check themselves. Other callers
    /// use [`ForceEngine::finish`].
    fn collect(&mut self, out: &mut Answers) -> Result<()>;

    /// [`ForceEngine::begin`] and [`ForceEngine::collect`], awaiting the device if there is one. In
    /// a browser, engines on a device support only this: the other two refuse to block.
    fn answer<'a>(
        &'a mut self,
        sinks: &'a Sinks<'a>,
        softening: f64,
        want: &'a Want<'a>,
        out: &'a mut Answers,
    ) -> Making<'a, ()> {
        Box::pin(async move {
            self.begin(sinks, softening, want)?;
            self.collect(out)
        })
    }

    /// Number of interactions of the latest evaluation, on `sinks` sinks: one per pair, unless the
    /// method needs fewer.
    fn interactions(&self, sinks: usize) -> u64 {
        sinks as u64 * self.source_count() as u64
    }

    /// Whether results depend on the sinks' accelerations, those of the last step: a snapshot then
    /// stores them for resuming the run.
    fn needs_last_accelerations(&self) -> bool {
        false
    }

    /// An engine for potentials that are summed up to an energy, if the errors of this one are
    /// biased.
    fn for_energies(&self) -> Option<Box<dyn ForceEngine>> {
        None
    }

    /// The interface for a structure that is reused for several steps, if the engine has one; the
    /// integrator must then announce each step.
    fn rebuilds(&mut self) -> Option<&mut dyn Rebuilds> {
        None
    }

    /// The bodies' positions when the present structure was built; `None` if they have not moved
    /// since, or if no structure is reused.
    fn built_at(&self) -> Option<&[DVec3]> {
        None
    }

    /// Uses the shapes found by tuning on its device instead of its own rule, from the next
    /// evaluation on. Sums then have another order, so the last bits of forces change. Does nothing
    /// in engines without such shapes.
    fn use_shapes(&mut self, found: &FittedShapes) {
        let _ = found;
    }

    /// The engine on a device, if it is one: bodies on block steps may then live there, and on the
    /// devices of all [`ForceEngine::ranks`].
    fn on_device(&self) -> Option<&GpuTiers> {
        None
    }

    /// Adds devices for bodies on block steps that live on the engine's own; ignored by other
    /// engines.
    fn put_beside(&mut self, devices: &[Arc<Gpu>]) {
        let _ = devices;
    }

    /// The ranks that compute together with this engine, if there are any.
    #[cfg(not(target_arch = "wasm32"))]
    fn ranks(&self) -> Option<&crate::exchange::Ranks> {
        None
    }

    /// The interface of engines that predict their sources themselves, if this is one.
    fn moving(&mut self) -> Option<&mut dyn MovingSources> {
        None
    }

    /// The interface of engines that can compute a range of the sinks, if this is one.
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        None
    }

    /// [`ForceEngine::collect`], checking that all results are finite.
    ///
    /// # Errors
    /// A sum that is not finite; the sink's index stands for its id ([`Error::with_ids`]).
    fn finish(&mut self, out: &mut Answers) -> Result<()> {
        self.collect(out)?;
        out.check(self.precision())
    }

    /// [`ForceEngine::begin`] and [`ForceEngine::finish`].
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

    /// [`ForceEngine::set_sources`] and [`ForceEngine::evaluate`], for sources used once.
    fn evaluate_from(
        &mut self,
        sources: &Sources,
        sinks: &Sinks,
        softening: f64,
        want: &Want,
        out: &mut Answers,
    ) -> Result<()> {
        self.set_sources(sources)?;
        self.evaluate(sinks, softening, want, out)
    }
}

/// An engine that computes a range of the sinks with the same bits as when it computes all: needed
/// by ranks that share the sinks.
pub trait InParts {
    /// [`ForceEngine::begin`] for the sinks `part` only: the other sinks' entries are undefined
    /// when collected. It takes time in proportion to the range.
    ///
    /// # Errors
    /// Those of [`ForceEngine::begin`].
    fn begin_part(
        &mut self,
        sinks: &Sinks,
        part: Range<usize>,
        softening: f64,
        want: &Want,
    ) -> Result<()>;
}

/// Checks the indices of [`ForceEngine::update_sources`].
///
/// # Errors
/// Another number of indices than of sources; an index that is not below `count`.
pub fn check_update(index: &[u32], sources: &Sources, count: usize) -> Result<()> {
    sources.check()?;
    check_indices(index, sources.position.len(), count)
}

/// Checks that there is one index per source, each below `count`.
pub fn check_indices(index: &[u32], sources: usize, count: usize) -> Result<()> {
    if index.len() != sources {
        let allowed = format!("{sources}, one per source");
        return Err(Error::value("the number of source indices", index.len(), allowed));
    }
    match index.iter().find(|&&j| j as usize >= count) {
        Some(j) => Err(Error::value("a source index", j, format!("below {count}"))),
        None => Ok(()),
    }
}

/// Checks that all indices are below `count`.
pub fn check_places(places: &[Goal], count: usize) -> Result<()> {
    let highest = places.iter().map(|place| place.at).max();
    match highest.filter(|&j| j as usize >= count) {
        Some(j) => Err(Error::value("a source index", j, format!("below {count}"))),
        None => Ok(()),
    }
}

/// Checks that only accelerations and potentials are requested.
pub(super) fn check_plain(engine: &dyn ForceEngine, want: &Want) -> Result<()> {
    let (name, tier) = (engine.name(), engine.precision().name());
    let allowed = format!("acceleration and potential with the engine {name} in {tier}");
    if want.order > Order::Acceleration {
        return Err(Error::value("what is wanted", want.order.name(), allowed));
    }
    match want.nearest || want.within.is_some() {
        true => Err(Error::value("what is wanted", "neighbours", allowed)),
        false => Ok(()),
    }
}
