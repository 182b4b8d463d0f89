//! The phase of a workgroup in the slow motion: load, barrier, compute, barrier.

/// A part of the work on one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Each thread fetches one source into workgroup memory.
    Load,
    /// All wait until the whole tile is loaded.
    Loaded,
    /// Each thread computes the tile's pull on its sinks.
    Compute,
    /// All wait until no thread reads the tile any more.
    Done,
}

/// Where the slow motion is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowMotion {
    /// The tile that all workgroups of a slice are at.
    pub tile: usize,
    /// What they do with it.
    pub doing: Doing,
    /// How much of it is done, 0 to 1.
    pub part: f32,
}

/// The parts of a tile's work, and how many seconds of slow motion each takes.
const TILED: [(Doing, f64); 4] =
    [(Doing::Load, 0.7), (Doing::Loaded, 0.3), (Doing::Compute, 1.2), (Doing::Done, 0.3)];
/// Without workgroup memory there is nothing to load and no barrier.
const UNTILED: [(Doing, f64); 1] = [(Doing::Compute, 1.2)];

impl SlowMotion {
    /// The phase `secs` after the beginning of an endless loop over `tiles` (1 or more) tiles.
    pub fn at(secs: f64, tiles: usize, untiled: bool) -> Self {
        let parts: &[(Doing, f64)] = if untiled { &UNTILED } else { &TILED };
        let turn: f64 = parts.iter().map(|part| part.1).sum();
        let turns = (secs.max(0.0) / turn).floor();
        let tile = (turns % tiles.max(1) as f64) as usize;
        let mut rest = secs.max(0.0) - turns * turn;
        for &(doing, length) in parts {
            if rest < length {
                return Self { tile, doing, part: (rest / length) as f32 };
            }
            rest -= length;
        }
        let (doing, _) = parts[parts.len() - 1];
        Self { tile, doing, part: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_of_a_tile_are_load_barrier_compute_barrier() {
        let phase_at = |secs| SlowMotion::at(secs, 3, false);
        assert_eq!((phase_at(0.0).tile, phase_at(0.0).doing), (0, Doing::Load));
        assert_eq!(phase_at(0.8).doing, Doing::Loaded);
        assert_eq!(phase_at(1.6).doing, Doing::Compute);
        assert!((phase_at(1.6).part - 0.5).abs() < 1e-6);
        assert_eq!(phase_at(2.3).doing, Doing::Done);
        assert_eq!((phase_at(2.6).tile, phase_at(2.6).doing), (1, Doing::Load));
        assert_eq!(phase_at(7.6).tile, 0, "and again from the first");
        for k in 0..1000 {
            let untiled = SlowMotion::at(f64::from(k) * 0.037, 2, true);
            assert_eq!(untiled.doing, Doing::Compute);
            assert!(untiled.tile < 2 && (0.0..=1.0).contains(&untiled.part));
        }
    }
}
