//! An engine whose sinks are spread over ranks: each rank has all sources and answers for a part of the sinks.
//!
//! Sinks are cut into pieces by their number alone, and a rank takes whole pieces: so the bits do not depend on how many
//! ranks there are. They may differ from those of the engine by itself, which can use that it has all sinks at once.

use std::ops::Range;

use glam::DVec3;

use super::{Answers, ForceEngine, Identity, Order, Precision, Sinks, Sources, Want};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Ranks, equal_shares};

/// An engine of this rank, and the way to those of the others.
pub struct Spread {
    engine: Box<dyn ForceEngine>,
    ranks: Ranks,
    begun: Answers,
}

/// Sinks of a piece, a multiple of which makes whole tasks of the CPU's engines.
const PIECE: usize = 64;

/// Pieces at most.
const PIECES: usize = 64;

impl Spread {
    /// `engine` is this rank's, of the same kind and with the same sources as those of all `ranks`.
    ///
    /// Errors: an engine whose answers depend on more than sources and sinks.
    pub fn new(engine: Box<dyn ForceEngine>, ranks: Ranks) -> Result<Self> {
        if engine.needs_last_accelerations() {
            let allowed = "direct where ranks share the bodies of an engine on the host";
            return Err(Error::value("the method", "tree", allowed));
        }
        Ok(Self { engine, ranks, begun: Answers::default() })
    }

    /// Sinks `part` of `sinks` by this rank's engine, into the same entries of `out`.
    fn answer_for(
        &mut self,
        part: Range<usize>,
        sinks: &Sinks,
        softening: f64,
        want: &Want,
        out: &mut Answers,
    ) -> Result<()> {
        fn of<'a>(all: &'a [DVec3], part: &Range<usize>) -> &'a [DVec3] {
            if all.is_empty() { all } else { &all[part.clone()] }
        }
        let sinks = Sinks {
            position: of(sinks.position, &part),
            velocity: of(sinks.velocity, &part),
            acceleration: of(sinks.acceleration, &part),
            identity: match sinks.identity {
                Identity::Foreign => Identity::Foreign,
                Identity::Offset(offset) => Identity::Offset(offset + part.start),
                Identity::Each(index) => Identity::Each(&index[part.clone()]),
            },
        };
        let mut found = Answers::default();
        self.engine.begin(&sinks, softening, want)?;
        self.engine.collect(&mut found)?;
        for (all, found) in vectors(out).into_iter().zip(vectors(&mut found)) {
            if !found.is_empty() {
                all[part.clone()].copy_from_slice(found);
            }
        }
        if want.potential {
            out.potential[part].copy_from_slice(&found.potential);
        }
        Ok(())
    }
}

fn vectors(answers: &mut Answers) -> [&mut [DVec3]; 3] {
    [&mut answers.acceleration, &mut answers.jerk, &mut answers.snap]
}

impl ForceEngine for Spread {
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
        self.engine.precision()
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

    fn begin(&mut self, sinks: &Sinks, softening: f64, want: &Want) -> Result<()> {
        sinks.check(softening, want)?;
        if want.nearest || want.within.is_some() {
            let allowed = "forces, where ranks share the sinks";
            return Err(Error::value("what is wanted", "neighbours", allowed));
        }
        let n = sinks.position.len();
        let mut out = std::mem::take(&mut self.begun);
        out.resize(n, want);
        // Pieces go by the number of sinks alone, shares by the number of ranks too.
        let piece = n.div_ceil(PIECES).next_multiple_of(PIECE);
        let pieces = n.div_ceil(piece.max(1));
        let end = |piece_end: usize| (piece_end * piece).min(n);
        let shares: Vec<Range<usize>> = equal_shares(pieces, self.ranks.size(), 1)
            .into_iter()
            .map(|share| end(share.start)..end(share.end))
            .collect();
        let own = shares[self.ranks.rank()].clone();
        let mut answered = Ok(());
        for begin in own.clone().step_by(piece.max(1)) {
            let part = begin..(begin + piece).min(own.end);
            answered = self.answer_for(part, sinks, softening, want, &mut out);
            if answered.is_err() {
                break;
            }
        }
        // All ranks end alike: who cannot answer says so before the others wait for its answers.
        let failed = self.ranks.any(answered.is_err())?;
        answered?;
        if failed {
            return Err(crate::exchange::given_up("its engine failed"));
        }
        gather(&mut self.ranks, &shares, &mut out, want)?;
        self.begun = out;
        Ok(())
    }

    fn collect(&mut self, out: &mut Answers) -> Result<()> {
        std::mem::swap(out, &mut self.begun);
        self.begun.resize(0, &Want::ACCELERATION);
        Ok(())
    }

    fn interactions(&self, sinks: usize) -> u64 {
        self.engine.interactions(sinks)
    }
}

/// Every rank gets the answers of all, of which each has those of its share.
fn gather(
    ranks: &mut Ranks,
    shares: &[Range<usize>],
    out: &mut Answers,
    want: &Want,
) -> Result<()> {
    let own = shares[ranks.rank()].clone();
    let of = |out: &Answers| -> Vec<f64> {
        let vectors = [&out.acceleration, &out.jerk, &out.snap];
        let wanted = vectors.into_iter().filter(|all| !all.is_empty());
        let mut mine: Vec<f64> = wanted
            .flat_map(|all| all[own.clone()].iter().flat_map(|vector| vector.to_array()))
            .collect();
        if want.potential {
            mine.extend_from_slice(&out.potential[own.clone()]);
        }
        mine
    };
    let mine = of(out);
    let orders =
        1 + usize::from(want.order >= Order::Jerk) + usize::from(want.order >= Order::Snap);
    let each = (3 * orders + usize::from(want.potential)) * size_of::<f64>();
    let bytes: Vec<usize> = shares.iter().map(|share| share.len() * each).collect();
    ranks.all_gather(bytemuck::cast_slice(&mine), &bytes, &mut |rank, told| {
        let told: Vec<f64> = bytemuck::pod_collect_to_vec(told);
        let (share, mut at) = (shares[rank].clone(), 0);
        for all in vectors(out).into_iter().take(orders) {
            for vector in &mut all[share.clone()] {
                *vector = DVec3::new(told[at], told[at + 1], told[at + 2]);
                at += 3;
            }
        }
        if want.potential {
            out.potential[share].copy_from_slice(&told[at..]);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::team;
    use crate::forces::TestBodies;
    use crate::forces::direct::{CpuDouble, CpuSingle, Reference};

    /// What each of so many ranks answers.
    fn answers(
        ranks: usize,
        engine: fn() -> Box<dyn ForceEngine>,
        want: &Want<'static>,
        count: usize,
    ) -> Vec<Answers> {
        let TestBodies { position, velocity, mass, .. } = TestBodies::new(count, 7);
        std::thread::scope(|scope| {
            let threads: Vec<_> = team(ranks, None, std::time::Duration::ZERO)
                .into_iter()
                .map(|member| {
                    let (position, velocity, mass) = (&position, &velocity, &mass);
                    scope.spawn(move || {
                        let ranks = Ranks::new(Box::new(member), 0);
                        let mut engine = Spread::new(engine(), ranks).unwrap();
                        let mut sources = Sources::new(position, mass);
                        sources.velocity = velocity;
                        engine.set_sources(&sources).unwrap();
                        let mut sinks = Sinks::new(position, Identity::Offset(0));
                        sinks.velocity = velocity;
                        let mut out = Answers::default();
                        engine.evaluate(&sinks, 0.05, want, &mut out).unwrap();
                        out
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn any_number_of_ranks_gives_the_same_bits() {
        let jerk = Want { potential: true, ..Want::only(Order::Jerk) };
        type Case = (fn() -> Box<dyn ForceEngine>, Want<'static>);
        let engines: [Case; 4] = [
            (|| Box::new(CpuSingle::new()), Want::ACCELERATION),
            (|| Box::new(CpuSingle::new()), Want::POTENTIAL),
            (|| Box::new(CpuDouble::new()), jerk),
            (|| Box::new(Reference::default()), jerk),
        ];
        for (engine, want) in engines {
            for count in [1, 63, 500] {
                let one = answers(1, engine, &want, count);
                for ranks in [2, 3, 5] {
                    for found in answers(ranks, engine, &want, count) {
                        assert!(found == one[0], "{count} bodies on {ranks} ranks, {want:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn they_are_the_forces_of_the_engine_by_itself() {
        let TestBodies { position, mass, .. } = TestBodies::new(300, 7);
        let found = answers(3, || Box::new(CpuDouble::new()), &Want::ACCELERATION, 300);
        let mut alone = Answers::default();
        let sinks = Sinks::new(&position, Identity::Offset(0));
        let sources = Sources::new(&position, &mass);
        Reference::default()
            .evaluate_from(&sources, &sinks, 0.05, &Want::ACCELERATION, &mut alone)
            .unwrap();
        for (a, b) in found[2].acceleration.iter().zip(&alone.acceleration) {
            assert!((*a - *b).length() <= 1e-12 * b.length());
        }
    }
}
