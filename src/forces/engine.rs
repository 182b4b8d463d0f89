//! The one interface of engines: sources that stay, an evaluation that is begun and finished.

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

/// An engine: forces of sources that stay with it, on any sinks.
///
/// Softening 0 is allowed: a pair at distance exactly 0 then adds nothing to any sum. It still counts
/// as a neighbour. Massless sources attract nothing and count as neighbours.
/// Results are reproducible: one engine, configuration and input give the same bits every time.
pub trait ForceEngine: Send {
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
    /// Errors: as [`ForceEngine::set_sources`]; an index that is not below
    /// [`ForceEngine::source_count`].
    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()>;

    /// The highest derivative that it computes; those that stop at accelerations find no neighbours either.
    fn highest_order(&self) -> Order;

    /// Begins the computation of what `want` says for `sinks`; `softening` is the Plummer length
    /// eps >= 0. It may still be going on when this returns: the host has time for other work.
    ///
    /// Errors: a softening or radius that is negative or not finite; arrays of unequal length; a
    /// velocity or acceleration that `want` needs and sinks or sources lack; more than
    /// [`ForceEngine::highest_order`] allows.
    fn begin(&mut self, sinks: &Sinks, softening: f64, want: &Want) -> Result<()>;

    /// Waits for what was begun and puts it into `out`, whose memory is reused. Without a
    /// [`ForceEngine::begin`] before it: no sinks. What engines implement: numbers that are none are passed
    /// on, for callers that look at them themselves. Others call [`ForceEngine::finish`].
    fn collect(&mut self, out: &mut Answers) -> Result<()>;

    /// [`ForceEngine::begin`] and [`ForceEngine::collect`], awaiting the device if there is one. In a browser
    /// engines on a device have this alone: the other two refuse to wait.
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

    /// Interactions of the evaluation that was begun last, on `sinks` sinks: one for each pair, unless the
    /// method needs fewer.
    fn interactions(&self, sinks: usize) -> u64 {
        sinks as u64 * self.source_count() as u64
    }

    /// Whether its answers depend on the accelerations that sinks bring along, those of the last step: a snapshot then
    /// holds them, and a run goes on from them.
    fn needs_last_accelerations(&self) -> bool {
        false
    }

    /// What it builds over the bodies and keeps for several steps, if it does: whoever takes steps tells it which.
    fn rebuilds(&mut self) -> Option<&mut dyn Rebuilds> {
        None
    }

    /// Where the bodies were when what serves now was built; `None` where they are there still, or nothing is kept.
    fn built_at(&self) -> Option<&[DVec3]> {
        None
    }

    /// Takes the shapes that were found on its device in the place of its own rule, from the next evaluation on. Sums then have
    /// another order, and forces other last bits. Engines that have no such shapes do nothing.
    fn use_shapes(&mut self, found: &FittedShapes) {
        let _ = found;
    }

    /// The engine on a device, if it is that: bodies on block steps may then live there, on those of all
    /// [`ForceEngine::ranks`].
    fn on_device(&self) -> Option<&GpuTiers> {
        None
    }

    /// Further devices for bodies on block steps that live on its own; without meaning for other engines.
    fn put_beside(&mut self, devices: &[Arc<Gpu>]) {
        let _ = devices;
    }

    /// The ranks that answer together with this engine, if there are some.
    #[cfg(not(target_arch = "wasm32"))]
    fn ranks(&self) -> Option<&crate::exchange::Ranks> {
        None
    }

    /// The engine as one that predicts its sources itself, if it does.
    fn moving(&mut self) -> Option<&mut dyn MovingSources> {
        None
    }

    /// The engine as one that answers for a part of the sinks as it does for all, if it does.
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        None
    }

    /// [`ForceEngine::collect`], and answers that are numbers.
    ///
    /// Errors: a sum that is not finite; the sink's number stands for its id ([`Error::with_ids`]).
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

    /// [`ForceEngine::set_sources`] and [`ForceEngine::evaluate`], where sources do not stay.
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

/// An engine that answers for a part of the sinks with the bits which they have where it answers for all: what ranks
/// that share the sinks need.
pub trait InParts {
    /// [`ForceEngine::begin`] where only the answers of the sinks `part` are asked for: the others' entries of what is
    /// collected hold anything. It takes so much less time as the part is smaller.
    ///
    /// Errors: those of [`ForceEngine::begin`].
    fn begin_part(
        &mut self,
        sinks: &Sinks,
        part: Range<usize>,
        softening: f64,
        want: &Want,
    ) -> Result<()>;
}

/// Refuses indices of [`ForceEngine::update_sources`] that do not fit.
pub fn check_update(index: &[u32], sources: &Sources, count: usize) -> Result<()> {
    sources.check()?;
    check_indices(index, sources.position.len(), count)
}

/// Refuses indices of so many sources where `count` are held.
pub fn check_indices(index: &[u32], sources: usize, count: usize) -> Result<()> {
    if index.len() != sources {
        let allowed = format!("{sources}, as of sources");
        return Err(Error::value("the number of source indices", index.len(), allowed));
    }
    match index.iter().find(|&&j| j as usize >= count) {
        Some(j) => Err(Error::value("a source index", j, format!("below {count}"))),
        None => Ok(()),
    }
}

/// Refuses places where `count` sources are held.
pub fn check_places(places: &[Goal], count: usize) -> Result<()> {
    let highest = places.iter().map(|place| place.at).max();
    match highest.filter(|&j| j as usize >= count) {
        Some(j) => Err(Error::value("a source index", j, format!("below {count}"))),
        None => Ok(()),
    }
}

/// Refuses what an engine that stops at accelerations and potentials does not compute.
pub(super) fn check_plain(engine: &dyn ForceEngine, want: &Want) -> Result<()> {
    let (name, tier) = (engine.name(), engine.precision().name());
    let allowed = format!("acceleration and potential of the engine {name} in {tier}");
    if want.order > Order::Acceleration {
        return Err(Error::value("what is wanted", want.order.name(), allowed));
    }
    match want.nearest || want.within.is_some() {
        true => Err(Error::value("what is wanted", "neighbours", allowed)),
        false => Ok(()),
    }
}
