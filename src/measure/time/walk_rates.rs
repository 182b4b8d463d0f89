//! Times the walk of a tree with most of one list skipped: the cost of each list, and of the rest
//! of the walk.

use super::{Stopwatch, TreeTimer};
use crate::error::Result;
use crate::forces::tree::gpu::{Taken, WalkCounts, WalkProbe};
use crate::forces::{Budget, Throughput};

/// Seconds of a walk by component, one entry per round, fastest first.
#[derive(Clone, Debug, Default)]
pub struct WalkSamples {
    /// The walk as in a run, including all lists.
    pub whole: Vec<f64>,
    /// The contribution of interactions with bodies.
    pub bodies: Vec<f64>,
    /// The contribution of interactions with cells.
    pub cells: Vec<f64>,
    /// The time without both: cells tested, lists filled, tiles read.
    pub rest: Vec<f64>,
    /// The amount of work.
    pub counts: WalkCounts,
}

impl TreeTimer {
    /// Walks `rounds` times through the tree, alternately in full, with one iteration per tile of
    /// bodies, and with one iteration per tile of cells. The cost of a list is the time saved
    /// without it, divided by the fraction that was skipped; if other work of the same workgroups
    /// hides it, this is less than it would take alone.
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
        // The bodies do not move, so all walks have the same counts.
        let counts = pollster::block_on(self.forces.probed(&self.gpu))?;
        // Sorted times are compared: other load on the machine affects all variants.
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

    /// Seconds of one walk, in as few submissions as the driver's watchdog allows.
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
