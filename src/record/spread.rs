//! Which files of its snapshots each rank of a run writes, and which bodies it has for that.

use std::ops::Range;

use crate::bodies::Rows;
use crate::settings::FileCount;
use crate::sim::{Choice, Settings, Simulation, divides};
use crate::snapshot::share;

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
        Self { first: sim.rows().start, ..Self::among(sim.choice(), sim.len(), files) }
    }

    fn among(choice: &Choice, n: usize, files: FileCount) -> Self {
        let ranks = choice.ranks.as_ref();
        let (rank, ranks) = ranks.map_or((0, 1), |ranks| (ranks.rank(), ranks.size()));
        Self { rank, ranks, files: files.of(n, ranks), n, first: 0 }
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

/// The bodies that this rank has of a run of `n` bodies, if each has some: those of the `files`
/// that it writes of each snapshot.
pub fn rows(choice: &Choice, settings: &Settings, n: usize, files: FileCount) -> Option<Rows> {
    let own = || Spread::among(choice, n, files).rows();
    divides(choice, settings, n).then(|| Rows { own: own(), n })
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
