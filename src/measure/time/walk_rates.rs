//! Times the walk of a tree without most of one list or the other: what each list costs, and what is left of the walk.

use super::{Stopwatch, TreeTimer};
use crate::error::Result;
use crate::forces::tree::gpu::{Taken, WalkCounts, WalkProbe};
use crate::forces::{Budget, Throughput};

/// Seconds of a walk by what it is made of, one entry for each round, the quickest first.
#[derive(Clone, Debug, Default)]
pub struct WalkSamples {
    /// The walk as a run makes it, lists and all.
    pub whole: Vec<f64>,
    /// What the interactions with bodies add to it.
    pub bodies: Vec<f64>,
    /// What the interactions with cells add to it.
    pub cells: Vec<f64>,
    /// What is left without both: cells looked at, lists filled, tiles read.
    pub rest: Vec<f64>,
    /// How much was done.
    pub counts: WalkCounts,
}

impl TreeTimer {
    /// Walks `rounds` times through the tree: whole, with one turn of each tile of bodies, and with one of each tile of cells,
    /// by turns. What a list costs is what the walk is faster by without it, over the part that was left out; where
    /// other work of the same workgroups hides it, that is less than it would take alone.
    pub fn walk_samples(&mut self, warming: usize, rounds: usize) -> Result<WalkSamples> {
        let make = |bodies, cells| pollster::block_on(self.forces.probe(&self.gpu, bodies, cells));
        let mut whole = make(Taken::All, Taken::All)?;
        let mut few_bodies = make(Taken::OneTurn, Taken::All)?;
        let mut few_cells = make(Taken::All, Taken::OneTurn)?;
        let mut times = [const { Vec::new() }; 3];
        for round in 0..warming + rounds {
            for (probe, times) in
                [&mut whole, &mut few_bodies, &mut few_cells].into_iter().zip(&mut times)
            {
                let secs = self.walk(probe)?;
                if round >= warming {
                    times.push(secs);
                }
            }
        }
        // The bodies rest: all walks count the same.
        let counts = pollster::block_on(self.forces.probed(&self.gpu))?;
        // The least with the least, and so on: what else a machine does falls on all of them.
        times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let [whole_secs, without_bodies, without_cells] = times;
        let mut samples = WalkSamples { counts, ..WalkSamples::default() };
        for ((all, no_bodies), no_cells) in
            whole_secs.into_iter().zip(without_bodies).zip(without_cells)
        {
            let bodies = (all - no_bodies) / (1.0 - few_bodies.body_part);
            let cells = (all - no_cells) / (1.0 - few_cells.cell_part);
            samples.whole.push(all);
            samples.bodies.push(bodies);
            samples.cells.push(cells);
            samples.rest.push(all - bodies - cells);
        }
        Ok(samples)
    }

    /// Seconds of one walk, in as few submissions as the device's watchdog allows.
    fn walk(&mut self, probe: &mut WalkProbe) -> Result<f64> {
        let Self { gpu, watch, forces, throughput, .. } = self;
        let (watch, throughput): (&mut Stopwatch, &Throughput) = (watch, throughput);
        let (mut total, mut begin) = (0.0, Some(0));
        while let Some(from) = begin {
            let piece = throughput.interactions_in(Budget::HEADLESS.submission_secs);
            total += watch.time(|pass| {
                begin = forces.record_probe(gpu, pass, probe, from, piece);
            })?;
        }
        Ok(total)
    }
}
