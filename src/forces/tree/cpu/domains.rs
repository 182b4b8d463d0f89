//! A tree distributed over ranks: each builds the cells of its part of the curve, and walks for the
//! sinks there (`forces/tree/domains/`).
//!
//! Which rank integrates a body does not depend on the curve. Each call sends the bodies to the
//! ranks that own their places on the curve, and these return the forces. Parts are cut such that
//! each has the same cost, as measured in the last call.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use rayon::prelude::*;

use super::super::balance::{Totals, balance_over};
use super::super::domains::Visitor;
use super::super::domains::cut::{BUILDING, Sample, cuts, part_of, parts, stride};
use super::super::domains::graft::{Grafted, pack};
use super::super::domains::select::{SinkBox, boxes, select};
use super::super::domains::top::{Announced, Root, Summed, Top};
use super::super::{
    CROWD, CellMoments, Cells, Cube, GROUP, Key, LEAF, PointMass, Surroundings, TreeConfig, key,
    moments, room_for,
};
use super::HostTree;
use super::call::{OfGroup, TreeCall, finite};
use super::groups::{Logarithms, ranges};
use super::walk::Opened;
use crate::bodies::Rows;
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Ranks, polling_stop};
use crate::forces::{Forces, Sources};
use crate::frame::Frame;
use crate::math::length;

/// How many more cells than necessary are sent to a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Generosity {
    /// Upper limit of the number of boxes by which a rank describes its groups. 2,048 take 64 kB
    /// per rank and select up to 39 % more cells than one box per group, 512 up to 60 %.
    pub boxes: usize,
    /// The factor on squared distances in the test that selects cells.
    pub margin: f32,
}

/// The values of successive attempts: the next one is used if a walk has missed a cell. 1 - 10^-5
/// covers rounding in the test.
pub(super) const GENEROSITIES: [Generosity; 3] = [
    Generosity { boxes: 2048, margin: 1.0 - 1e-5 },
    Generosity { boxes: usize::MAX, margin: 1.0 - 1e-5 },
    Generosity { boxes: usize::MAX, margin: 0.8 },
];

/// The state of a distributed tree between calls.
#[derive(Debug)]
pub(super) struct RankDomains {
    pub ranks: Ranks,
    /// For each body of this rank the cost of its forces in the last call, in interactions.
    costs: Vec<f32>,
    pub generosities: &'static [Generosity],
    /// Number of evaluations that were repeated because a walk had missed a cell.
    pub repeats: usize,
}

impl RankDomains {
    /// For a tree over the bodies of these ranks.
    pub fn new(ranks: Ranks) -> Self {
        Self { ranks, costs: Vec::new(), generosities: &GENEROSITIES, repeats: 0 }
    }
}

/// The forces on a body, as they are sent to the rank that moves it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct ReturnedForces {
    acceleration: [f64; 3],
    potential: f64,
    cost: f32,
    number: u32,
}

impl Summed for CellMoments {
    fn of_children(children: &[Self]) -> Self {
        Self::of_children(children)
    }

    fn of_bodies(bodies: &[PointMass]) -> Self {
        Self::of_bodies(bodies)
    }
}

impl Totals for &Ranks {
    fn greatest(&mut self, values: &mut [f64]) -> Result<()> {
        for received in self.gather(values)? {
            values.iter_mut().zip(received).for_each(|(value, other)| *value = value.max(other));
        }
        Ok(())
    }

    fn sum(&mut self, values: &mut [i128]) -> Result<()> {
        self.sum_integers(values)
    }
}

impl HostTree {
    /// Computes the forces of the sources of all ranks on this rank's `sources`, and stores the
    /// number of interactions of all ranks.
    ///
    /// # Errors
    /// Those of [`Frame::of_call_all`]; [`Error::Stopped`]; a rank that cannot be reached.
    pub(super) fn compute_shared(
        &mut self,
        domains: &mut RankDomains,
        sources: &Sources,
        acceleration: &[DVec3],
        (softening, potential): (f64, bool),
        out: &mut Forces,
    ) -> Result<()> {
        let ranks = domains.ranks.clone();
        let (n, known) = (sources.position.len(), finite(sources.position));
        let has_nan = known.len() < n && sources.position.iter().any(|x| x.is_nan());
        let counts = [n, known.len(), acceleration.len(), usize::from(has_nan)];
        let counts = ranks.gather(&[counts.map(|n| n as u64)])?;
        let shares = ranges_of(counts.iter().map(|count| count[0][0]));
        let share = shares[ranks.rank()].clone();
        let finite = ranges_of(counts.iter().map(|count| count[0][1]));
        let all_finite = finite.last().map_or(0, |last| last.end);
        let finite = Rows { own: finite[ranks.rank()].clone(), n: all_finite };
        let frame = Frame::of_call_all(&ranks, &finite, &known, sources.mass, softening)?;
        if domains.costs.len() != n {
            domains.costs = vec![0.0; n];
        }
        let has_strengths = counts.iter().all(|count| count[0][2] == count[0][0]);
        let visitor = |i: usize| {
            let [x, y, z] = frame.position(sources.position[i]);
            Visitor {
                place: [x, y, z, (sources.mass[i] / frame.mass) as f32],
                strength: match has_strengths {
                    true => length(acceleration[i] / frame.acceleration_unit()),
                    false => f64::NAN,
                },
                cost: domains.costs[i],
                number: (share.start + i) as u32,
            }
        };
        let visitors: Vec<Visitor> = (0..n).into_par_iter().map(visitor).collect();
        let part = CurvePart::new(&ranks, visitors)?;
        let sizes: Vec<f64> = part.sinks().map(|sink| sink.strength).collect();
        let softening = (frame, softening);
        let mut interactions = 0;
        let found = if !self.config.opening.needs_accelerations() || has_strengths {
            part.forces(self, domains, &self.config, &sizes, softening, potential)?
        } else {
            let by_angle = TreeConfig { opening: TreeConfig::FIRST, ..self.config };
            let first = part.forces(self, domains, &by_angle, &[], softening, false)?;
            let unit = frame.acceleration_unit();
            let sums = first.iter().flat_map(|group| &group.sums);
            let sizes: Vec<f64> = sums.map(|sum| length(sum.acceleration / unit)).collect();
            interactions += first.iter().map(|group| group.interactions).sum::<u64>();
            part.forces(self, domains, &self.config, &sizes, softening, potential)?
        };
        interactions += found.iter().map(|group| group.interactions).sum::<u64>();
        let mut total = [interactions];
        ranks.sum_integers(&mut total)?;
        self.interactions = total[0];

        let answers = part.answers(&found, &shares);
        for answer in ranks.send_each(&answers)?.into_iter().flatten() {
            let i = answer.number as usize - share.start;
            let is_lost = !sources.position[i].is_finite();
            out.acceleration[i] =
                if is_lost { DVec3::NAN } else { DVec3::from(answer.acceleration) };
            if potential {
                out.potential[i] = if is_lost { f64::NAN } else { answer.potential };
            }
            domains.costs[i] = answer.cost;
        }
        // A single rank does not balance forces either if a position is NaN: it compares sinks with
        // sources, and NaN differs from itself.
        match counts.iter().any(|count| count[0][3] > 0) {
            true => Ok(()),
            false => balance_over(&mut out.acceleration, sources.mass, &mut &ranks),
        }
    }
}

/// Ranges of these lengths, one after the other.
fn ranges_of(lengths: impl Iterator<Item = u64>) -> Vec<Range<usize>> {
    let mut end = 0;
    let range = |length| {
        let begin = end;
        end += length as usize;
        begin..end
    };
    lengths.map(range).collect()
}

/// A rank's part of the curve.
struct CurvePart {
    rank: usize,
    /// The bodies in the cube, in the order of the curve.
    bodies: Vec<Visitor>,
    places: Vec<PointMass>,
    /// All bodies outside the cube, on every rank. They are sinks of the last rank.
    outside: Vec<Visitor>,
    has_outside: bool,
    cells: Cells,
    moments: Vec<CellMoments>,
    top: Top<CellMoments>,
    /// The sinks that walk together.
    ranges: Vec<Range<usize>>,
    /// For each sink its index among the bodies that this rank walks ([`Grafted::bodies`]).
    own: Vec<u32>,
}

impl CurvePart {
    /// Sends this rank's bodies to the ranks that own their places on the curve, and finds the
    /// cells over the bodies received. Collective, like all functions in this file.
    fn new(ranks: &Ranks, visitors: Vec<Visitor>) -> Result<Self> {
        let (rank, size) = (ranks.rank(), ranks.size());
        let places: Vec<PointMass> = visitors.iter().map(|body| body.place).collect();
        let mut counts = Cube::counts(&places);
        ranks.sum_integers(&mut counts)?;
        let cube = Cube::of_counts(&counts);

        let keyed: Vec<(Key, Visitor)> =
            visitors.into_par_iter().map(|body| (key(&cube, &body.place), body)).collect();
        let stride = stride(keyed.len(), size);
        let sample = |&(key, body): &(Key, Visitor)| Sample { key, cost: body.cost + BUILDING };
        let samples: Vec<Sample> = keyed.iter().step_by(stride).map(sample).collect();
        let cuts = cuts(ranks.gather(&samples)?.concat(), size);
        let mut sent = vec![Vec::new(); size];
        let mut outside = Vec::new();
        for (key, body) in keyed {
            match key == Key::OUTSIDE {
                true => outside.push(body),
                false => sent[part_of(&cuts, key)].push(body),
            }
        }
        let outside: Vec<Visitor> = ranks.gather(&outside)?.into_iter().flatten().collect();
        let received = ranks.send_each(&sent)?.into_iter().flatten().collect();
        drop(sent);
        let (mut keys, mut bodies) = along(&cube, received);

        // Cuts are moved up to multiples of a group: the first bodies of a part go to ranks before.
        let counts = ranks.gather(&[bodies.len() as u64])?;
        let counts: Vec<usize> = counts.iter().map(|count| count[0] as usize).collect();
        let begin: usize = counts[..rank].iter().sum();
        let parts = parts(&counts);
        let given = parts[rank].start.saturating_sub(begin).min(bodies.len());
        let given = ranks.gather(&bodies[..given])?;
        bodies.drain(..given[rank].len());
        keys.drain(..given[rank].len());
        for (from, given) in given.iter().enumerate().skip(rank + 1) {
            let first = counts[..from].iter().sum::<usize>();
            let own = |place: usize| place.saturating_sub(first).min(given.len());
            bodies.extend_from_slice(&given[own(parts[rank].start)..own(parts[rank].end)]);
        }
        keys.extend(bodies[keys.len()..].iter().map(|body| key(&cube, &body.place)));
        debug_assert_eq!(bodies.len(), parts[rank].len());
        let begin = parts[rank].start;

        // The neighbours' keys.
        let first = ranks.gather(&keys[..LEAF.min(keys.len())])?;
        let last = ranks.gather(&keys[keys.len().saturating_sub(LEAF)..])?;
        let (before, after) = (last[..rank].concat(), first[rank + 1..].concat());
        let before = &before[before.len().saturating_sub(LEAF)..];
        let after = &after[..LEAF.min(after.len())];
        let extended = [before, &keys, after].concat();
        let own = before.len()..before.len() + keys.len();
        let (cells, crossing) = Cells::of_part(&extended, own, LEAF);
        let places: Vec<PointMass> = bodies.iter().map(|body| body.place).collect();
        let moments = moments(&cells, &places);

        let crossing: Vec<Announced> =
            crossing.into_iter().map(|one| Announced::of(one, &keys, begin)).collect();
        let top = common(ranks, &crossing, (begin, &keys, &places), (&cells, &moments))?;
        let neighbours = (before.last().copied(), after.first().copied());
        let scattered = scattered(ranks, &cube, (&keys, &places), neighbours)?;
        let has_outside = rank + 1 == size;
        let sinks = bodies.len() + if has_outside { outside.len() } else { 0 };
        let ranges = ranges(&scattered, bodies.len(), sinks);
        // A sink in a leaf that crosses a cut is itself among the copied bodies of that leaf.
        let mut own: Vec<u32> = (0..sinks as u32).collect();
        for (place, number) in top.places.iter().zip(bodies.len() + outside.len()..) {
            if let Some(own) = own[..bodies.len()].get_mut((*place as usize).wrapping_sub(begin)) {
                *own = number as u32;
            }
        }
        Ok(Self { own, rank, bodies, places, outside, has_outside, cells, moments, top, ranges })
    }

    /// The sinks in the order of the walks.
    fn sinks(&self) -> impl Iterator<Item = &Visitor> {
        let outside = if self.has_outside { &self.outside[..] } else { &[] };
        self.bodies.iter().chain(outside)
    }

    /// The sums of this rank's sinks, whose accelerations have these `sizes`.
    fn forces(
        &self,
        tree: &HostTree,
        domains: &mut RankDomains,
        config: &TreeConfig,
        sizes: &[f64],
        (frame, softening): (Frame, f64),
        potential: bool,
    ) -> Result<Vec<OfGroup>> {
        let mut ranks = domains.ranks.clone();
        let mut mean = Logarithms::of(sizes);
        let mut sums = [mean.sum, mean.count];
        ranks.sum_integers(&mut sums)?;
        [mean.sum, mean.count] = sums;
        let own: Vec<PointMass> = self.sinks().map(|sink| Cube::admitted(&sink.place)).collect();
        let groups = (self.own.clone(), own, self.ranges.clone());
        let mut call = TreeCall::over(tree.kernel, (frame, softening), groups);
        let (singles, groups): (Vec<_>, Vec<_>) =
            call.boxes(config, sizes, &mean).into_iter().partition(|(count, _)| *count == 1);
        let of = |boxes: Vec<(usize, SinkBox)>| boxes.into_iter().map(|(_, sinks)| sinks).collect();
        let (singles, groups): (Vec<SinkBox>, Vec<SinkBox>) = (of(singles), of(groups));
        let (rule, order) = (config.walked(), config.moments);
        let opened = Opened::new(
            &self.cells.cells,
            &self.moments,
            None,
            &rule,
            order,
            call.softening_squared(),
        );
        for (attempt, &Generosity { boxes: most, margin }) in
            domains.generosities.iter().enumerate()
        {
            let requests = ranks.gather(&[&boxes(&groups, most)[..], &singles].concat())?;
            let sent: Vec<Vec<u8>> = requests
                .iter()
                .enumerate()
                .map(|(to, boxes)| match to == self.rank {
                    true => Vec::new(),
                    false => {
                        let opens = |number: usize, sinks: &SinkBox| {
                            opened.is_opened(number, sinks, margin)
                        };
                        let opened = select(&self.cells, boxes, opens);
                        pack(&self.cells, &self.moments, &self.places, &opened)
                    }
                })
                .collect();
            let received = ranks.send_each(&sent)?;
            let outside: Vec<PointMass> =
                self.outside.iter().map(|body| Cube::admitted(&body.place)).collect();
            let own = (&self.cells, &self.moments[..], &self.places[..]);
            let grafted = Grafted::new(&self.top, self.rank, own, &outside, &received)?;
            call.walk_over(grafted, (self.bodies.len(), outside.len()));
            let found = polling_stop(&mut ranks, || call.sums(config, sizes, &mean, potential));
            let found: Vec<OfGroup> = ranks.unless_stopped(found)?;
            let mut missing = [found.iter().map(|group| u64::from(group.missing)).sum::<u64>()];
            ranks.sum_integers(&mut missing)?;
            if missing[0] == 0 {
                domains.repeats += attempt;
                return Ok(found);
            }
        }
        Err(Error::Outside(
            "the ranks' parts of the tree do not fit together: a walk needs cells that no rank has sent"
                .to_owned(),
        ))
    }

    /// The forces to return, by the rank that moves the sink.
    fn answers(&self, found: &[OfGroup], shares: &[Range<usize>]) -> Vec<Vec<ReturnedForces>> {
        let mut answers = vec![Vec::new(); shares.len()];
        let each = found.iter().flat_map(|group| {
            let cost = group.interactions as f32 / group.sums.len().max(1) as f32;
            group.sums.iter().map(move |sum| (sum, cost))
        });
        for (sink, (sum, cost)) in self.sinks().zip(each) {
            let rank = shares.partition_point(|share| share.end <= sink.number as usize);
            answers[rank].push(ReturnedForces {
                acceleration: sum.acceleration.to_array(),
                potential: sum.potential,
                cost,
                number: sink.number,
            });
        }
        answers
    }
}

/// Bodies in the order of the curve, those with equal keys by their numbers, and the keys.
fn along(cube: &Cube, bodies: Vec<Visitor>) -> (Vec<Key>, Vec<Visitor>) {
    let mut keyed: Vec<(Key, Visitor)> =
        bodies.into_par_iter().map(|body| (key(cube, &body.place), body)).collect();
    keyed.par_sort_unstable_by_key(|(key, body)| (*key, body.number));
    keyed.into_iter().unzip()
}

/// The common cells, from the parts of all ranks.
fn common(
    ranks: &Ranks,
    crossing: &[Announced],
    (begin, keys, places): (usize, &[Key], &[PointMass]),
    (cells, moments): (&Cells, &[CellMoments]),
) -> Result<Top<CellMoments>> {
    let crossing: Vec<Announced> = ranks.gather(crossing)?.into_iter().flatten().collect();
    let mut counts: Vec<u64> = crossing.iter().map(|cell| cell.count(keys, begin) as u64).collect();
    ranks.sum_integers(&mut counts)?;
    let crossing: Vec<(Announced, usize)> =
        crossing.into_iter().zip(counts.into_iter().map(|count| count as usize)).collect();
    let leaves = || crossing.iter().filter(|(cell, count)| cell.is_leaf(*count, LEAF));
    let own: Vec<Vec<PointMass>> =
        leaves().map(|(cell, _)| cell.bodies(keys, begin, places).to_vec()).collect();
    let mut of_leaves = vec![Vec::new(); own.len()];
    for part in ranks.gather(&own.concat())? {
        // A rank sends its bodies of all these leaves in the order of the curve: fill one by one.
        let mut rest = &part[..];
        for (leaf, (_, count)) in of_leaves.iter_mut().zip(leaves()) {
            let (some, left) = rest.split_at(rest.len().min(count - leaf.len()));
            leaf.extend_from_slice(some);
            rest = left;
        }
    }
    let roots = ranks.gather(&Root::all(cells, begin))?;
    let own: Vec<CellMoments> = cells.roots().map(|root| moments[root as usize]).collect();
    let moments = ranks.gather(&own)?;
    let roots: Vec<(Vec<Root>, Vec<CellMoments>)> = roots.into_iter().zip(moments).collect();
    Ok(Top::new(&crossing, of_leaves.concat(), &roots, LEAF))
}

/// Which groups of a part are scattered; `before` and `next` are the keys of its neighbours'
/// nearest bodies.
fn scattered(
    ranks: &Ranks,
    cube: &Cube,
    (keys, places): (&[Key], &[PointMass]),
    (before, next): (Option<Key>, Option<Key>),
) -> Result<Vec<bool>> {
    let surroundings: Vec<Option<Surroundings>> =
        places.par_chunks(GROUP).map(|sinks| Surroundings::of(cube, sinks)).collect();
    let needs_others = |near: &Surroundings| !near.is_between(before, next);
    let mut scattered: Vec<bool> = surroundings
        .par_iter()
        .map(|near| near.is_some_and(|near| !needs_others(&near) && near.is_crowded(keys)))
        .collect();
    let numbered = surroundings.iter().enumerate();
    let uncertain: Vec<(usize, Surroundings)> = numbered
        .filter_map(|(group, near)| near.filter(needs_others).map(|near| (group, near)))
        .collect();
    let questions: Vec<Surroundings> = uncertain.iter().map(|(_, near)| *near).collect();
    let answers: Vec<Vec<[u32; 2]>> = ranks
        .gather(&questions)?
        .par_iter()
        .map(|questions| {
            let answer = |near: &Surroundings| [near.around(keys), near.among(keys)];
            questions.par_iter().map(|near| answer(near).map(|count| count as u32)).collect()
        })
        .collect();
    let answers = ranks.send_each(&answers)?;
    for (k, (group, _)) in uncertain.iter().enumerate() {
        let total = |which: usize| answers.iter().map(|of_rank| of_rank[k][which] as usize).sum();
        scattered[*group] = [total(0), total(1)].iter().all(|count: &usize| *count > CROWD);
    }
    let mut counts = [scattered.iter().filter(|is| **is).count() as u64, scattered.len() as u64];
    ranks.sum_integers(&mut counts)?;
    if counts[0] as usize > room_for(counts[1] as usize) {
        scattered.fill(false);
    }
    Ok(scattered)
}

#[cfg(test)]
mod tests;
