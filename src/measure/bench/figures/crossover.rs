//! Sapporo2, figure 7: for which sinks and sources is the GPU faster than the CPU?

use super::{Figure, of};
use crate::error::Result;
use crate::measure::plot::{Map, Plot, short};
use crate::measure::{Candidate, Point, Record, Session, Sizes};

pub(super) const FIGURE: Figure = Figure {
    name: "crossover",
    title: "CPU or GPU (Sapporo2, figure 7)",
    about: "Time of the CPU engine over that of the GPU, both asked from the host: bodies go up and \
            forces come back, as for an integrator that lives on the CPU. Blue cells are faster on the \
            GPU, orange ones on the CPU. The border is where the cost of a submission and of copying is \
            paid back. A simulation that keeps its bodies on the GPU has its border at smaller numbers.",
    measure,
    plots,
};

const GPU: &str = "gpu, from host to host";

fn measure(session: &mut Session<'_>) -> Result<()> {
    let sizes = Sizes::powers(1, session.sizes.map, 2);
    let gpu = session.gpu.is_some();
    let mut points = Vec::new();
    for &sources in &sizes {
        for &sinks in &sizes {
            let mut add = |series: &str, candidate| {
                let series = series.to_owned();
                points.push(Point { series, x: sinks as f64, sinks, sources, candidate });
            };
            if gpu {
                add(GPU, Candidate::GpuFromHost);
            }
            add(super::table::CPU, Candidate::Cpu);
        }
    }
    session.sweep(FIGURE.name, &points)
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let found: Vec<&Record> = of(records, FIGURE.name).collect();
    let distinct = |value: fn(&Record) -> u64| {
        let mut all: Vec<u64> = found.iter().map(|record| value(record)).collect();
        all.sort_unstable();
        all.dedup();
        // A foreign file may contain any number of sizes; 16 fit a sheet.
        all.truncate(16);
        all
    };
    let (sinks, sources) = (distinct(|r| r.sinks), distinct(|r| r.sources));
    let secs = |on_cpu: bool, i: u64, j: u64| {
        let mut here = found.iter().filter(|r| (r.sinks, r.sources) == (i, j));
        here.find(|r| r.device.is_cpu() == on_cpu)?.summary().map(|s| s.median)
    };
    let cell = |i, j| Some(secs(true, i, j)? / secs(false, i, j)?);
    let cells: Vec<Vec<Option<f64>>> =
        sources.iter().map(|&j| sinks.iter().map(|&i| cell(i, j)).collect()).collect();
    // Without a GPU there is nothing to compare.
    if cells.iter().flatten().flatten().count() == 0 {
        return Vec::new();
    }
    let names = |sizes: &[u64]| sizes.iter().map(|n| short(*n as f64)).collect();
    vec![Plot::Map(Map {
        title: "Time on the CPU / time on the GPU".to_owned(),
        x: ("number of sinks".to_owned(), names(&sinks)),
        y: ("number of sources".to_owned(), names(&sources)),
        cells,
        ends: ("CPU faster".to_owned(), "GPU faster".to_owned()),
    })]
}
