//! The figures. Each is a description: the points that are timed, how their records are drawn, and
//! what is concluded. A new one is a [`Figure`], a line in [`FIGURES`], and its title and how to
//! read it in `report/figures.toml`.

#[cfg(not(target_arch = "wasm32"))]
use super::BenchSession;
use super::plot::Plot;
use super::{BenchSizes, FigurePoint, Record};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{KernelConfig, KernelRequest};
use crate::gpu::Gpu;

mod ceilings;
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page has figures of kernels only"))]
mod conclusions;
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page has figures of kernels only"))]
mod curves;
mod kernels;

pub(super) use ceilings::CEILINGS;
pub use ceilings::{ceilings_of, ceilings_plots};
use conclusions::Conclusion;
pub use conclusions::model as conclusions_on_model;
pub use curves::FLOPS_WITH_JERK;
#[cfg(not(target_arch = "wasm32"))]
pub(super) use curves::rate;

// Figures that only the program measures.
#[cfg(not(target_arch = "wasm32"))]
mod blocks;
#[cfg(not(target_arch = "wasm32"))]
mod derivatives;
#[cfg(not(target_arch = "wasm32"))]
mod devices;
#[cfg(not(target_arch = "wasm32"))]
mod instructions;
#[cfg(not(target_arch = "wasm32"))]
mod roofline;
#[cfg(not(target_arch = "wasm32"))]
mod rule;
#[cfg(not(target_arch = "wasm32"))]
mod score;
#[cfg(not(target_arch = "wasm32"))]
mod transfer;
#[cfg(not(target_arch = "wasm32"))]
mod tree;
#[cfg(not(target_arch = "wasm32"))]
mod tree_times;

/// A figure.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name, on the command line and in its records.
    pub name: &'static str,
    /// How its records are measured.
    measure: FigureSource,
    /// Draws it, from all records of a file.
    plots: fn(&[Record]) -> Vec<Plot>,
    /// What is concluded from its records, in addition to how right the model is.
    concludes: &'static [Conclusion],
}

/// How the records of a figure are measured.
#[derive(Clone, Copy, Debug)]
enum FigureSource {
    /// These kernels are timed, by [`BenchSession::sweep`] or, in a page, by
    /// [`sweep_kernels`](super::sweep_kernels).
    Kernels(fn(&FigurePlan<'_>) -> Vec<FigurePoint>),
    /// Its own function adds records to the session.
    #[cfg(not(target_arch = "wasm32"))]
    Own(fn(&mut BenchSession<'_>) -> Result<()>),
}

/// What the points of a figure of kernels depend on.
#[derive(Clone, Copy, Debug)]
pub struct FigurePlan<'a> {
    /// The adapter, if there is one.
    pub gpu: Option<&'a Gpu>,
    /// How much is measured.
    pub sizes: &'a BenchSizes,
    /// A kernel shape that is measured in addition to the default, if requested.
    pub added: KernelRequest,
}

impl FigurePlan<'_> {
    /// The shape that the program chooses for `n` sinks and `m` sources, with some parameters
    /// fixed; `None` without a GPU, and if the adapter cannot run it.
    pub fn kernel(&self, request: &KernelRequest, n: usize, m: usize) -> Option<KernelConfig> {
        request.resolve(self.gpu?, n, m).ok()
    }
}

impl Figure {
    /// A figure of kernels.
    const fn kernels(
        name: &'static str,
        points: fn(&FigurePlan<'_>) -> Vec<FigurePoint>,
        plots: fn(&[Record]) -> Vec<Plot>,
    ) -> Self {
        Self { name, measure: FigureSource::Kernels(points), plots, concludes: &[] }
    }

    /// The points of a figure of kernels; `None` for other figures.
    pub fn kernel_points(&self, plan: &FigurePlan<'_>) -> Option<Vec<FigurePoint>> {
        match self.measure {
            FigureSource::Kernels(points) => Some(points(plan)),
            #[cfg(not(target_arch = "wasm32"))]
            _ => None,
        }
    }

    /// A figure whose own function adds records to the session.
    #[cfg(not(target_arch = "wasm32"))]
    const fn own(
        name: &'static str,
        measure: fn(&mut BenchSession<'_>) -> Result<()>,
        plots: fn(&[Record]) -> Vec<Plot>,
    ) -> Self {
        Self { name, measure: FigureSource::Own(measure), plots, concludes: &[] }
    }

    /// With conclusions from its records.
    const fn concluding(self, concludes: &'static [Conclusion]) -> Self {
        Self { concludes, ..self }
    }

    /// Measures it; adds records to the session.
    ///
    /// # Errors
    ///
    /// The device failed; [`Error::Stopped`], unless the user stopped it. Anything else is
    /// recorded as skipped.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn measure(&self, session: &mut BenchSession<'_>) -> Result<()> {
        let measured = match self.measure {
            FigureSource::Kernels(points) => {
                let points = points(&session.plan());
                session.sweep(self.name, &points, session.sizes.figure_secs)
            }
            FigureSource::Own(measure) => measure(session),
        };
        match measured {
            Err(Error::Stopped) if session.is_stopped() => Ok(()),
            measured => measured,
        }
    }

    /// Draws it, from all records of a file.
    pub fn plots(&self, records: &[Record]) -> Vec<Plot> {
        (self.plots)(records)
    }

    /// Sentences generated from its records.
    pub fn conclusions(&self, records: &[Record]) -> Vec<String> {
        conclusions::conclusions(self, records)
    }
}

/// All figures, in the order of the report.
#[cfg(not(target_arch = "wasm32"))]
pub const FIGURES: &[Figure] = &[
    kernels::TABLE,
    score::SCORE,
    kernels::LADDER,
    kernels::N,
    kernels::UNROLL,
    kernels::P,
    kernels::Q,
    kernels::SHAPES,
    derivatives::SINKS,
    kernels::FILL,
    transfer::TRANSFER,
    kernels::CROSSOVER,
    derivatives::PRECISION,
    derivatives::ORDER,
    blocks::BLOCKS,
    Figure::own(CEILINGS, |session| session.ceilings().map(|_| ()), ceilings_plots)
        .concluding(&[conclusions::per_unit_and_clock]),
    roofline::ROOFLINE,
    instructions::INSTRUCTIONS,
    rule::RULE,
    tree::ERROR,
    tree::THETA,
    tree::N,
    tree_times::PARTS,
    tree_times::RATES,
    tree_times::BONSAI,
    devices::DEVICES,
    devices::DEVICES_TREE,
];

/// The figures of kernels, which a page measures too.
#[cfg(target_arch = "wasm32")]
pub const FIGURES: &[Figure] = &[
    kernels::TABLE,
    kernels::LADDER,
    kernels::N,
    kernels::UNROLL,
    kernels::P,
    kernels::Q,
    kernels::SHAPES,
    kernels::FILL,
    kernels::CROSSOVER,
];

/// Figures that take minutes on any adapter: measured only if named.
const LONG: &[&str] = &["rule", "blocks"];

/// The figures that a name stands for: one, or with `all` every one except those that take long.
///
/// # Errors
///
/// [`Error::Unknown`] with the known names.
pub fn named(name: &str) -> Result<Vec<Figure>> {
    if name == "all" {
        let short = FIGURES.iter().filter(|figure| !LONG.contains(&figure.name));
        return Ok(short.copied().collect());
    }
    let found = FIGURES.iter().find(|figure| figure.name == name);
    let known = || FIGURES.iter().map(|figure| figure.name).chain(["all"]);
    found.map(|figure| vec![*figure]).ok_or_else(|| Error::unknown("figure", name, known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_unknown_ones_are_refused_with_the_known() {
        for (i, figure) in FIGURES.iter().enumerate() {
            assert!(FIGURES[..i].iter().all(|other| other.name != figure.name));
            assert_eq!(named(figure.name).unwrap()[0].name, figure.name);
        }
        assert_eq!(named("all").unwrap().len(), FIGURES.len() - LONG.len());
        let long = |name: &str| name == "rule" || name == "blocks";
        assert!(named("all").unwrap().iter().all(|figure| !long(figure.name)));
        let error = named("rooflin").unwrap_err().to_string();
        assert!(error.contains("rooflin") && error.contains("roofline") && error.contains("all"));
    }

    #[test]
    fn figures_without_records_draw_nothing_and_do_not_panic() {
        for figure in FIGURES {
            for plot in figure.plots(&[]) {
                assert!(plot.svg().contains("</svg>"));
            }
        }
    }
}
