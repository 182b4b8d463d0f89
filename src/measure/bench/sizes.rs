//! How much is measured: on a GPU, on a software adapter, and in tests.

use super::score::SIZES;
use crate::gpu::{DeviceClass, Gpu};
use crate::measure::Effort;

/// Sizes and times of all figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Name for the report.
    pub name: &'static str,
    /// Largest number of bodies.
    pub largest: usize,
    /// The three numbers of bodies in the chapter's figures, or smaller ones.
    pub chapter: [usize; 3],
    /// The number of bodies at which kernels are compared.
    pub many: usize,
    /// Unrolling factors.
    pub unroll: &'static [u32],
    /// Number of sources for few sinks.
    pub sources: usize,
    /// Largest side of the map of sinks and sources.
    pub map: usize,
    /// Numbers of bodies for the full sweep of shapes.
    pub rule: &'static [usize],
    /// The most shapes in that sweep.
    pub rule_shapes: usize,
    /// Numbers of bodies of runs on individual steps, ascending.
    pub runs: &'static [usize],
    /// Those of them that are run with more accuracies.
    pub runs_closer: &'static [usize],
    /// Time limit for all runs, in seconds.
    pub runs_secs: f64,
    /// The three numbers of bodies for the tree's errors and times against the opening angle.
    pub tree: [usize; 3],
    /// Numbers of bodies for the tree's figure against the number of bodies, ascending.
    pub tree_n: &'static [usize],
    /// Numbers of bodies shared by several devices, ascending.
    pub devices: &'static [usize],
    /// Numbers of bodies shared by several devices with the tree.
    pub devices_tree: &'static [usize],
    /// Numbers of bodies shared by several devices with individual steps.
    pub devices_blocks: &'static [usize],
    /// Opening angles of the tree, ascending.
    pub tree_thetas: &'static [f64],
    /// The numbers of bodies for the score.
    pub score: [usize; 3],
    /// The most seconds of one evaluation; longer ones are skipped.
    pub sample_secs: f64,
    /// Time limit for the samples of a figure, in seconds.
    pub figure_secs: f64,
    /// The fewest and most rounds of samples.
    pub rounds: (usize, usize),
    /// How thoroughly ceilings are measured.
    pub effort: Effort,
}

impl Sizes {
    /// For a GPU or a CPU alone: the sizes of the chapter and beyond.
    pub fn full() -> Self {
        Self {
            name: "full",
            largest: 1 << 20,
            chapter: [1024, 4096, 16_384],
            many: 65_536,
            unroll: &[1, 2, 4, 8, 16, 32],
            sources: 131_072,
            map: 65_536,
            rule: &[256, 1024, 4096, 16_384, 65_536, 262_144],
            rule_shapes: usize::MAX,
            runs: &[256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536],
            runs_closer: &[1024, 16_384],
            runs_secs: 1200.0,
            tree: [30_000, 100_000, 1_000_000],
            tree_n: &[10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000],
            devices: &[16_384, 65_536, 262_144, 1_048_576],
            devices_tree: &[1_048_576, 4_194_304],
            devices_blocks: &[65_536, 131_072, 262_144],
            tree_thetas: &[0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
            score: SIZES,
            sample_secs: 1.5,
            figure_secs: 12.0,
            rounds: (3, 15),
            effort: Effort::Full,
        }
    }

    /// For a software adapter: what a processor can do in reasonable time. A kernel reaches about
    /// 0.1 to 0.5 G interactions/s on llvmpipe with two cores.
    pub fn reduced() -> Self {
        Self {
            name: "reduced (software adapter)",
            largest: 16_384,
            chapter: [256, 1024, 4096],
            many: 4096,
            tree: [1000, 3000, 10_000],
            tree_n: &[1000, 3000, 10_000],
            devices: &[1024, 4096, 16_384],
            devices_tree: &[4096, 16_384],
            devices_blocks: &[1024, 4096],
            tree_thetas: &[0.3, 0.5, 0.7],
            sources: 16_384,
            map: 4096,
            rule: &[256, 1024, 4096],
            runs: &[256, 512, 1024, 2048],
            runs_closer: &[1024],
            runs_secs: 240.0,
            sample_secs: 0.5,
            figure_secs: 10.0,
            rounds: (3, 9),
            ..Self::full()
        }
    }

    /// For a quick look and for tests: seconds for everything.
    pub fn quick() -> Self {
        Self {
            name: "quick",
            largest: 2048,
            chapter: [128, 256, 512],
            many: 1024,
            unroll: &[1, 4],
            sources: 4096,
            map: 256,
            rule: &[128, 256],
            rule_shapes: 3,
            runs: &[32, 64],
            runs_closer: &[64],
            runs_secs: 5.0,
            tree: [100, 300, 1000],
            tree_n: &[300, 1000],
            devices: &[512, 1024],
            devices_tree: &[512, 1024],
            devices_blocks: &[256],
            tree_thetas: &[0.4, 0.7],
            score: [64, 128, 256],
            sample_secs: 0.5,
            figure_secs: 0.3,
            rounds: (2, 3),
            effort: Effort::Quick,
        }
    }

    /// The sizes for an adapter.
    pub fn for_adapter(gpu: Option<&Gpu>, quick: bool) -> Self {
        match gpu {
            _ if quick => Self::quick(),
            Some(gpu) if gpu.adapter.class == DeviceClass::Software => Self::reduced(),
            _ => Self::full(),
        }
    }

    /// Every `step`-th power of two from `first` to `last`.
    pub fn powers(first: usize, last: usize, step: u32) -> Vec<usize> {
        std::iter::successors(Some(first), |n| n.checked_shl(step))
            .take_while(|n| *n <= last && *n > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_include_last() {
        assert_eq!(Sizes::powers(256, 4096, 2), [256, 1024, 4096]);
        assert_eq!(Sizes::powers(1, 5, 1), [1, 2, 4]);
    }
}
