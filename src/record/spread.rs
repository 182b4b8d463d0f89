//! Which files of its snapshots each rank of a run writes, and which bodies it reads for that.

use std::ops::Range;

use crate::error::Result;
use crate::settings::FileCount;
use crate::sim::Simulation;
use crate::snapshot::{Snapshot, share};

/// The part of this process in writing snapshots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// Its rank, and the number of ranks.
    pub rank: usize,
    pub ranks: usize,
    /// Number of files of a snapshot.
    pub files: usize,
    /// Number of bodies.
    pub n: usize,
    /// The number of the first body that this process reads.
    pub first: usize,
}

impl Spread {
    pub fn of(sim: &Simulation, files: FileCount) -> Self {
        let ranks = sim.choice().ranks.as_ref();
        let (rank, ranks) = ranks.map_or((0, 1), |ranks| (ranks.rank(), ranks.size()));
        let n = sim.len();
        Self { rank, ranks, files: files.of(n, ranks), n, first: sim.rows().start }
    }

    /// The files that it writes; a single one is the first rank's.
    pub fn own(&self) -> Range<usize> {
        let begin = |rank: usize| (rank * self.files).div_ceil(self.ranks);
        begin(self.rank)..begin(self.rank + 1)
    }

    /// The bodies in these files.
    fn rows(&self) -> Range<usize> {
        let begin = |file: usize| share(self.n, file, self.files).start;
        let Range { start, end } = self.own();
        begin(start)..begin(end)
    }
}

/// Lets each rank read only the bodies of the `files` that it writes of each snapshot, if the bodies
/// are spread over ranks. `first`, from which the run goes on, is left with what is read.
///
/// # Errors
/// A rank is gone.
pub fn divide(sim: &mut Simulation, files: FileCount, first: &mut Snapshot) -> Result<()> {
    let rows = Spread::of(sim, files).rows();
    if sim.divide(rows.clone())? {
        first.keep(&rows);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_and_each_body_has_one_rank() {
        for (ranks, files, n) in [(1, 1, 7), (4, 1, 7), (3, 2, 10), (3, 3, 10), (2, 7, 100)] {
            let of = |rank| Spread { rank, ranks, files, n, first: 0 };
            let own: Vec<usize> = (0..ranks).flat_map(|rank| of(rank).own()).collect();
            assert_eq!(own, (0..files).collect::<Vec<_>>(), "{files} files of {ranks} ranks");
            let rows: Vec<usize> = (0..ranks).flat_map(|rank| of(rank).rows()).collect();
            assert_eq!(rows, (0..n).collect::<Vec<_>>(), "{n} bodies of {ranks} ranks");
            assert_eq!(of(0).own().start, 0);
            assert!(!of(0).own().is_empty(), "rank 0 writes the first file");
        }
    }
}
