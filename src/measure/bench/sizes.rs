//! How much is measured: on a GPU, on a software adapter, and in tests.

use std::collections::HashMap;

use serde::Deserialize;

use crate::gpu::{DeviceClass, Gpu};
use crate::measure::Effort;

/// Sizes and times of all figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchSizes {
    /// Name for the report.
    pub name: String,
    /// Largest number of bodies.
    pub largest: usize,
    /// The three numbers of bodies in the chapter's figures, or smaller ones.
    pub chapter: [usize; 3],
    /// The number of bodies at which kernels are compared.
    pub many: usize,
    /// Unrolling factors.
    pub unroll: Vec<u32>,
    /// Number of sources for few sinks.
    pub sources: usize,
    /// Largest side of the map of sinks and sources.
    pub map: usize,
    /// Numbers of bodies for the full sweep of shapes.
    pub rule: Vec<usize>,
    /// The most shapes in that sweep.
    pub rule_shapes: usize,
    /// Numbers of bodies of runs on individual steps, ascending.
    pub runs: Vec<usize>,
    /// Those of them that are run with more accuracies.
    pub runs_closer: Vec<usize>,
    /// Time limit for all runs, in seconds.
    pub runs_secs: f64,
    /// The three numbers of bodies for the tree's errors and times against the opening angle.
    pub tree: [usize; 3],
    /// Numbers of bodies for the tree's figure against the number of bodies, ascending.
    pub tree_n: Vec<usize>,
    /// Numbers of bodies shared by several devices, ascending.
    pub devices: Vec<usize>,
    /// Numbers of bodies shared by several devices with the tree.
    pub devices_tree: Vec<usize>,
    /// Numbers of bodies of which each device has a part.
    pub devices_domains: Vec<usize>,
    /// Numbers of bodies shared by several devices with individual steps.
    pub devices_blocks: Vec<usize>,
    /// Steps of a sample on several devices take about this many seconds.
    pub steps_secs: f64,
    /// Opening angles of the tree, ascending.
    pub tree_thetas: Vec<f64>,
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

impl BenchSizes {
    /// The sizes of this name in the table, where those for a GPU are complete.
    fn named(name: &str) -> Self {
        let table = include_str!("sizes.toml");
        let table: HashMap<String, toml::Table> =
            toml::from_str(table).expect("the sizes should be tables");
        let mut sizes = table["full"].clone();
        sizes.extend(table[name].clone());
        sizes.try_into().expect("the sizes should be complete")
    }

    /// For a quick look and for tests.
    pub fn quick() -> Self {
        Self::named("quick")
    }

    /// The sizes for a page, where somebody waits for each figure: seconds on any adapter.
    pub fn for_page(gpu: &Gpu) -> Self {
        match gpu.adapter.class {
            DeviceClass::Software => Self { sample_secs: 0.3, ..Self::named("quick") },
            _ => Self { largest: 65_536, many: 16_384, sample_secs: 0.3, ..Self::named("full") },
        }
    }

    /// The sizes for an adapter.
    pub fn for_adapter(gpu: Option<&Gpu>, quick: bool) -> Self {
        match gpu {
            _ if quick => Self::quick(),
            Some(gpu) if gpu.adapter.class == DeviceClass::Software => Self::named("reduced"),
            _ => Self::named("full"),
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
    fn sizes_are_complete_and_the_score_has_its_own() {
        for name in ["full", "reduced"] {
            assert_eq!(BenchSizes::named(name).score, crate::measure::bench::score::SIZES);
        }
        assert!(BenchSizes::quick().largest < BenchSizes::named("reduced").largest);
    }

    #[test]
    fn powers_include_last() {
        assert_eq!(BenchSizes::powers(256, 4096, 2), [256, 1024, 4096]);
        assert_eq!(BenchSizes::powers(1, 5, 1), [1, 2, 4]);
    }
}
