//! An engine whose sinks are shared by ranks: each rank has all sources and computes a range of the
//! sinks.
//!
//! Most engines compute a range with the same bits as the whole ([`EngineCapabilities::ranges`]),
//! so the bits are those of a single engine. For GPUs in single precision the sinks are cut into
//! chunks that depend on their number only, and a rank takes whole chunks: the bits do not depend
//! on the number of ranks, but may differ from those of a single engine.

use std::ops::Range;

use crate::wall_clock::Instant;
use glam::DVec3;

use super::{
    EngineCapabilities, ForceEngine, Forces, Interfaces, Order, Outputs, Precision, Sinks, Sources,
};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Ranks, equal_shares, polling_stop, shares};

/// The engine of this rank, and the connection to the others.
pub struct RankEngine {
    engine: Box<dyn ForceEngine>,
    ranks: Ranks,
    begun: Forces,
    weights: Weights,
    /// The precision of the results: decisions that depend on it are the same on all ranks.
    precision: Precision,
}

/// The share of the sinks that each rank computes.
enum Weights {
    /// Equal shares.
    Equal,
    /// In proportion to speed, not measured yet: ranks have different kinds of engines.
    Unknown,
    /// In proportion to these speeds, in the order of ranks.
    Known(Vec<f64>),
}

/// The size of a chunk is a multiple of this, so that chunks are whole tasks of the CPU engines.
const CHUNK_MULTIPLE: usize = 64;

/// The most chunks.
const MOST_CHUNKS: usize = 64;

/// From this many interactions on, some hundredths of a second, the rank checks during the work
/// whether another rank has requested a stop.
const LONG: u64 = 1 << 27;

impl RankEngine {
    /// `engine` is this rank's, of the same kind and with the same sources as those of all `ranks`.
    ///
    /// # Errors
    /// An engine whose results depend on more than sources and sinks.
    pub fn new(engine: Box<dyn ForceEngine>, ranks: Ranks) -> Result<Self> {
        if engine.capabilities().last_accelerations {
            let allowed = "direct, or a tree that is built at each step, if ranks share the bodies on an engine other than gpu";
            return Err(Error::value("the method", "tree", allowed));
        }
        let (precision, weights) = (engine.precision(), Weights::Equal);
        Ok(Self { engine, ranks, begun: Forces::default(), weights, precision })
    }

    /// [`RankEngine::new`] for ranks with different kinds of engines: they share the sinks in
    /// proportion to their speeds. The bits depend on the shares.
    ///
    /// # Errors
    /// Those of [`RankEngine::new`]; a rank that cannot be reached.
    pub fn mixed(engine: Box<dyn ForceEngine>, ranks: Ranks) -> Result<Self> {
        // The coarsest precision of all ranks.
        let tiers = [Precision::Double, Precision::DoubleSingle, Precision::Single];
        let own = tiers.iter().position(|tier| *tier == engine.precision()).unwrap_or(0);
        let mut ranks = ranks;
        let precision = tiers[usize::from(ranks.greatest(own as u8)?).min(tiers.len() - 1)];
        Ok(Self { weights: Weights::Unknown, precision, ..Self::new(engine, ranks)? })
    }

    /// The sinks of each rank, in whole chunks.
    fn shares(&self, n: usize, chunk: usize) -> Vec<Range<usize>> {
        let chunks = n.div_ceil(chunk);
        let of_chunks = match &self.weights {
            Weights::Known(rates) => shares(chunks, rates, 1),
            _ => equal_shares(chunks, self.ranks.size(), 1),
        };
        let end = |chunk_end: usize| (chunk_end * chunk).min(n);
        of_chunks.into_iter().map(|share| end(share.start)..end(share.end)).collect()
    }

    /// Exchanges the ranks' speeds; this one has computed `own` sinks since `begun`.
    fn learn(&mut self, own: usize, begun: Instant) -> Result<()> {
        if !matches!(self.weights, Weights::Unknown) {
            return Ok(());
        }
        let interactions = self.engine.interactions(own) as f64;
        let rate = interactions / begun.elapsed().as_secs_f64().max(1e-9);
        let mut rates = vec![0.0; self.ranks.size()];
        let bytes = vec![size_of::<f64>(); rates.len()];
        self.ranks.all_gather(&rate.to_le_bytes(), &bytes, &mut |rank, received| {
            rates[rank] = bytemuck::pod_read_unaligned(received);
        })?;
        // With few sinks some ranks have none, and their speed stays unknown.
        if rates.iter().all(|rate| *rate > 0.0) {
            self.weights = Weights::Known(rates);
        }
        Ok(())
    }
}

/// Computes sinks `own` of `sinks` with this rank's engine, into the same entries of `out`: as a
/// range if the engine supports it, otherwise in evaluations of `chunk` sinks.
fn answer(
    engine: &mut dyn ForceEngine,
    (own, chunk): (Range<usize>, usize),
    sinks: &Sinks,
    softening: f64,
    outputs: &Outputs,
    out: &mut Forces,
) -> Result<()> {
    if engine.capabilities().ranges {
        let sinks = Sinks { only: Some((own.start, own.end)), ..*sinks };
        engine.begin(&sinks, softening, outputs)?;
        return engine.collect(out);
    }
    for begin in own.clone().step_by(chunk) {
        let part = begin..(begin + chunk).min(own.end);
        answer_chunk(engine, part, sinks, softening, outputs, out)?;
    }
    Ok(())
}

/// Computes sinks `part` of `sinks` in a separate evaluation, into the same entries of `out`.
fn answer_chunk(
    engine: &mut dyn ForceEngine,
    part: Range<usize>,
    sinks: &Sinks,
    softening: f64,
    outputs: &Outputs,
    out: &mut Forces,
) -> Result<()> {
    let sinks = sinks.part(part.clone());
    let mut found = Forces::default();
    engine.begin(&sinks, softening, outputs)?;
    engine.collect(&mut found)?;
    for (all, found) in vectors(out).into_iter().zip(vectors(&mut found)) {
        if !found.is_empty() {
            all[part.clone()].copy_from_slice(found);
        }
    }
    if outputs.potential {
        out.potential[part].copy_from_slice(&found.potential);
    }
    Ok(())
}

fn vectors(answers: &mut Forces) -> [&mut [DVec3]; 3] {
    [&mut answers.acceleration, &mut answers.jerk, &mut answers.snap]
}

impl ForceEngine for RankEngine {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn describe(&self) -> String {
        match self.ranks.size() {
            1 => self.engine.describe(),
            ranks => format!("{}, on each of {ranks} ranks", self.engine.describe()),
        }
    }

    fn precision(&self) -> Precision {
        self.precision
    }

    fn source_count(&self) -> usize {
        self.engine.source_count()
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        self.engine.set_sources(sources)
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.engine.update_sources(index, sources)
    }

    fn highest_order(&self) -> Order {
        self.engine.highest_order()
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        sinks.check(softening, outputs)?;
        if outputs.nearest || outputs.within.is_some() {
            let allowed = "forces if ranks share the sinks";
            return Err(Error::value("what is requested", "neighbours", allowed));
        }
        let n = sinks.position.len();
        let mut out = std::mem::take(&mut self.begun);
        out.resize(n, outputs);
        // Chunks depend on the number of sinks only, shares also on the number of ranks.
        let chunk = n.div_ceil(MOST_CHUNKS).next_multiple_of(CHUNK_MULTIPLE).max(CHUNK_MULTIPLE);
        let shares = self.shares(n, chunk);
        let own = shares[self.ranks.rank()].clone();
        let begun = Instant::now();
        // If the bits depend on the ranks anyway, nothing is cut.
        let chunk = if matches!(self.weights, Weights::Equal) { chunk } else { n.max(1) };
        let sinks_of_own = own.len();
        let Self { engine, ranks, .. } = self;
        let is_long = ranks.size() > 1 && engine.interactions(own.len()) > LONG;
        let answer = || answer(engine.as_mut(), (own, chunk), sinks, softening, outputs, &mut out);
        let answered = if is_long { polling_stop(ranks, answer) } else { answer() };
        // All ranks fail together: one that fails notifies the others before they wait for its
        // results.
        let failed = matches!(&answered, Err(error) if !matches!(error, Error::Stopped));
        if self.ranks.any(failed)? {
            answered?;
            return Err(crate::exchange::aborted("its engine failed"));
        }
        self.ranks.unless_stopped(answered)?;
        self.learn(sinks_of_own, begun)?;
        gather(&mut self.ranks, &shares, &mut out, outputs)?;
        self.begun = out;
        Ok(())
    }

    fn collect(&mut self, out: &mut Forces) -> Result<()> {
        std::mem::swap(out, &mut self.begun);
        self.begun.resize(0, &Outputs::ACCELERATION);
        Ok(())
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        let inner = self.engine.capabilities();
        // Ranks with different kinds of engines may have no device.
        let are_alike = matches!(self.weights, Weights::Equal);
        EngineCapabilities {
            ranges: false,
            device: inner.device.filter(|_| are_alike),
            ranks: Some(&self.ranks),
            ..inner
        }
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        self.engine.interfaces()
    }
}

/// Distributes the results of each rank's share to all ranks.
fn gather(
    ranks: &mut Ranks,
    shares: &[Range<usize>],
    out: &mut Forces,
    outputs: &Outputs,
) -> Result<()> {
    let own = shares[ranks.rank()].clone();
    let of = |out: &Forces| -> Vec<f64> {
        let vectors = [&out.acceleration, &out.jerk, &out.snap];
        let requested = vectors.into_iter().filter(|all| !all.is_empty());
        let mut mine: Vec<f64> = requested
            .flat_map(|all| all[own.clone()].iter().flat_map(|vector| vector.to_array()))
            .collect();
        if outputs.potential {
            mine.extend_from_slice(&out.potential[own.clone()]);
        }
        mine
    };
    let mine = of(out);
    let orders =
        1 + usize::from(outputs.order >= Order::Jerk) + usize::from(outputs.order >= Order::Snap);
    let each = (3 * orders + usize::from(outputs.potential)) * size_of::<f64>();
    let bytes: Vec<usize> = shares.iter().map(|share| share.len() * each).collect();
    ranks.all_gather(bytemuck::cast_slice(&mine), &bytes, &mut |rank, received| {
        let received: Vec<f64> = bytemuck::pod_collect_to_vec(received);
        let (share, mut at) = (shares[rank].clone(), 0);
        for all in vectors(out).into_iter().take(orders) {
            for vector in &mut all[share.clone()] {
                *vector = DVec3::new(received[at], received[at + 1], received[at + 2]);
                at += 3;
            }
        }
        if outputs.potential {
            out.potential[share].copy_from_slice(&received[at..]);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::team;
    use crate::forces::direct::{CpuDouble, CpuSingle, Reference};
    use crate::forces::{Identity, TestBodies};

    /// The results of each of this many ranks.
    fn answers(
        ranks: usize,
        engine: fn() -> Box<dyn ForceEngine>,
        outputs: &Outputs<'static>,
        count: usize,
    ) -> Vec<Forces> {
        let TestBodies { position, velocity, mass, .. } = TestBodies::new(count, 7);
        std::thread::scope(|scope| {
            let threads: Vec<_> = team(ranks, None, std::time::Duration::ZERO)
                .into_iter()
                .map(|member| {
                    let (position, velocity, mass) = (&position, &velocity, &mass);
                    scope.spawn(move || {
                        let ranks = Ranks::new(Box::new(member), 0);
                        let mut engine = RankEngine::new(engine(), ranks).unwrap();
                        let mut sources = Sources::new(position, mass);
                        sources.velocity = velocity;
                        engine.set_sources(&sources).unwrap();
                        let mut sinks = Sinks::new(position, Identity::Offset(0));
                        sinks.velocity = velocity;
                        let mut out = Forces::default();
                        engine.evaluate(&sinks, 0.05, outputs, &mut out).unwrap();
                        out
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn any_number_of_ranks_gives_bits_of_single_engine() {
        let jerk = Outputs { potential: true, ..Outputs::only(Order::Jerk) };
        type Case = (fn() -> Box<dyn ForceEngine>, Outputs<'static>);
        let engines: [Case; 4] = [
            (|| Box::new(CpuSingle::new()), Outputs::ACCELERATION),
            (|| Box::new(CpuSingle::new()), Outputs::POTENTIAL),
            (|| Box::new(CpuDouble::new()), jerk),
            (|| Box::new(Reference::default()), jerk),
        ];
        for (make, outputs) in engines {
            for count in [1, 63, 500, 2500] {
                let TestBodies { position, velocity, mass, .. } = TestBodies::new(count, 7);
                let mut sources = Sources::new(&position, &mass);
                sources.velocity = &velocity;
                let mut sinks = Sinks::new(&position, Identity::Offset(0));
                sinks.velocity = &velocity;
                let mut alone = Forces::default();
                make().evaluate_from(&sources, &sinks, 0.05, &outputs, &mut alone).unwrap();
                for ranks in [1, 2, 3, 5] {
                    for found in answers(ranks, make, &outputs, count) {
                        assert!(found == alone, "{count} bodies on {ranks} ranks, {outputs:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn ranks_pass_on_what_the_engine_offers() {
        let mut engine = RankEngine::new(Box::new(CpuDouble::new()), Ranks::alone()).unwrap();
        assert!(engine.interfaces().moving.is_some() && engine.interfaces().rebuilds.is_none());
        let capabilities = engine.capabilities();
        assert!(capabilities.ranks.is_some() && capabilities.device.is_none());
        assert!(!capabilities.ranges, "it divides the sinks itself");
    }

    /// An engine that computes all sinks at once, like those on a device.
    struct Whole(CpuSingle);

    impl ForceEngine for Whole {
        fn name(&self) -> &'static str {
            self.0.name()
        }
        fn describe(&self) -> String {
            self.0.describe()
        }
        fn precision(&self) -> Precision {
            self.0.precision()
        }
        fn source_count(&self) -> usize {
            self.0.source_count()
        }
        fn set_sources(&mut self, sources: &Sources) -> Result<()> {
            self.0.set_sources(sources)
        }
        fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
            self.0.update_sources(index, sources)
        }
        fn highest_order(&self) -> Order {
            self.0.highest_order()
        }
        fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
            self.0.begin(sinks, softening, outputs)
        }
        fn collect(&mut self, out: &mut Forces) -> Result<()> {
            self.0.collect(out)
        }
        fn capabilities(&self) -> EngineCapabilities<'_> {
            EngineCapabilities::default()
        }
        fn interfaces(&mut self) -> Interfaces<'_> {
            Interfaces::default()
        }
    }

    #[test]
    fn engines_without_ranges_give_same_bits_on_any_number_of_ranks() {
        let make: fn() -> Box<dyn ForceEngine> = || Box::new(Whole(CpuSingle::new()));
        for count in [1, 63, 500] {
            let one = answers(1, make, &Outputs::ACCELERATION, count);
            for ranks in [2, 3, 5] {
                for found in answers(ranks, make, &Outputs::ACCELERATION, count) {
                    assert!(found == one[0], "{count} bodies on {ranks} ranks");
                }
            }
        }
    }
}
