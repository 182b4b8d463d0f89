//! Figures of the kernels of all pairs: those of GPU Gems 3, chapter 31, and of Sapporo2's paper.

use super::conclusions::{fastest_at_each_size, optimum, trend_of_optimum};
use super::curves::{
    CPU, OVER_N, RATE, by_series, curves, distinct, filled, gains, millis, of, rate,
    rates_and_model, recoloured,
};
use super::{Figure, FigurePlan};
use crate::forces::direct::gpu::{KernelConfig, KernelRequest};
use crate::gpu::DeviceClass;
use crate::measure::plot::{Curve, CurvePoint, GREY, Map, Plot, PlotAxis, short};
use crate::measure::{BenchSizes, Candidate, FigurePoint, RUNGS, Record, RecordKind};

pub(super) const TABLE: Figure =
    Figure::kernels("table", table_points, table_plots).concluding(&[fastest_at_each_size]);

/// The series of the kernel that the engine chooses by default.
pub(super) const DEFAULT: &str = "default kernel";

/// The kernel of GPU Gems 3: p = 256, one sink per thread, four interactions unrolled.
pub(super) const CHAPTER: KernelConfig = KernelConfig { u: 4, ..KernelConfig::tiled(256) };

fn table_points(plan: &FigurePlan<'_>) -> Vec<FigurePoint> {
    let mut sizes = plan.sizes.chapter.to_vec();
    let more = [16_384, 65_536, 262_144, 1 << 20, plan.sizes.largest];
    sizes.extend(more.into_iter().filter(|n| *n <= plan.sizes.largest));
    sizes.dedup();
    rate_points(plan, &sizes, true)
}

/// The points of a figure of rates against N.
fn rate_points(plan: &FigurePlan<'_>, sizes: &[usize], with_untiled: bool) -> Vec<FigurePoint> {
    let mut points = Vec::new();
    for &n in sizes {
        if let Some(default) = plan.kernel(&KernelRequest::default(), n, n) {
            points.push(FigurePoint::all_on_all(DEFAULT, n, default));
            points.push(FigurePoint::all_on_all("the chapter's kernel", n, CHAPTER));
            // Not simply the default with a flag changed: kernels without tiles cannot have rows of
            // threads.
            let other = KernelRequest {
                untiled: !default.untiled,
                tiled: default.untiled,
                ..KernelRequest::default()
            };
            if with_untiled && let Some(other) = plan.kernel(&other, n, n) {
                let name = if other.untiled { "default, untiled" } else { "default, but tiled" };
                points.push(FigurePoint::all_on_all(name, n, other));
            }
        }
        if !plan.added.fixes_nothing()
            && let Some(fixed) = plan.kernel(&plan.added, n, n)
        {
            let name = if fixed.own { "own kernel" } else { "as asked" };
            points.push(FigurePoint::all_on_all(name, n, fixed));
        }
        points.push(FigurePoint::all_on_all(CPU, n, Candidate::Cpu));
    }
    points
}

fn over_n(title: &str, curves: Vec<Curve>) -> Plot {
    let y = PlotAxis::fitting(RATE, &curves);
    Plot::lines(title, PlotAxis::powers(OVER_N), y, curves)
}

fn table_plots(records: &[Record]) -> Vec<Plot> {
    let curves = rates_and_model(of(records, TABLE.name, RecordKind::Forces));
    vec![over_n("Rate against the number of bodies", curves)]
}

pub(super) const N: Figure = Figure::kernels(
    "n",
    |plan| {
        let sizes = BenchSizes::powers(plan.sizes.chapter[0] / 4, plan.sizes.largest, 1);
        rate_points(plan, &sizes, false)
    },
    n_plots,
)
.concluding(&[fastest_at_each_size]);

/// The rate of the GeForce 8800 GTX according to the chapter's text: 10 billion interactions per
/// second, more than 200 GFLOP/s, with many bodies. Its curves are not given as numbers.
const G80_RATE: f64 = 10.0;
const G80_RATE_FROM: f64 = 16_384.0;

fn n_plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, N.name, RecordKind::Forces);
    let mut curves = rates_and_model(own.clone());
    let sizes = own.map(|record| record.x);
    let from = sizes.clone().fold(f64::INFINITY, f64::min).max(G80_RATE_FROM);
    let to = sizes.fold(0.0, f64::max);
    if from < to {
        let ends = [from, to].map(|x| CurvePoint::at(x, G80_RATE));
        curves.push(Curve::predicted("the chapter's G80", ends.to_vec(), GREY));
    }
    vec![over_n("Rate as N grows", curves)]
}

pub(super) const UNROLL: Figure = Figure::kernels("unroll", unroll_points, unroll_plots)
    .concluding(&[|own, _| optimum("u", own)]);

fn unroll_points(plan: &FigurePlan<'_>) -> Vec<FigurePoint> {
    let mut points = Vec::new();
    for &u in &plan.sizes.unroll {
        for (series, r, untiled) in [
            ("r = 1", 1, false),
            ("r = 2", 2, false),
            ("r = 4", 4, false),
            ("untiled, r = 1", 1, true),
        ] {
            let config = KernelConfig { r, u, s: r, untiled, ..CHAPTER };
            points.push(FigurePoint::all_on_all(series, plan.sizes.many, config).at(u.into()));
        }
    }
    points
}

/// The gain of the GeForce 8800 GTX according to the chapter's text: from 1 at the first point to
/// this value at the other. Its figures do not give numbers.
fn chapters_gain(name: &str, from: f64, (x, gain): (f64, f64)) -> Curve {
    let points = vec![CurvePoint::at(from, 1.0), CurvePoint::at(x, gain)];
    Curve::predicted(format!("the chapter's G80{name}"), points, GREY)
}

/// The chapter's text on unrolling by four: from 163 to more than 200 GFLOP/s.
const G80_UNROLLED: (f64, f64) = (4.0, 200.0 / 163.0);

fn unroll_plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, UNROLL.name, RecordKind::Forces);
    let n = short(own.clone().map(|record| record.sinks).max().unwrap_or(0) as f64);
    // Earlier records have one slice, and so fewer workgroups for larger r.
    let is_even = |record: &Record| record.kernel.is_some_and(|kernel| kernel.s == kernel.r);
    let slices = if own.clone().all(is_even) { "r" } else { "1" };
    let curves = rates_and_model(own.clone());
    let x = PlotAxis::powers("interactions written out per turn of the loop, u").marked(&curves);
    let mut won = gains(&by_series(own, rate), 1.0);
    let title = format!("Rate against unrolling, N = {n}, p = 256, s = {slices}");
    let mut plots = vec![Plot::lines(title, x.clone(), PlotAxis::linear(RATE), curves)];
    if !won.is_empty() {
        won.push(chapters_gain(", 16k bodies", 1.0, G80_UNROLLED));
        let title = format!("What unrolling wins over a plain loop, N = {n}");
        plots.push(Plot::lines(title, x, PlotAxis::linear("rate / rate with u = 1"), won));
    }
    plots
}

pub(super) const P: Figure = Figure::kernels("p", p_points, p_plots)
    .concluding(&[|own, _| optimum("p", own), |own, _| trend_of_optimum("p", own)]);

fn p_points(plan: &FigurePlan<'_>) -> Vec<FigurePoint> {
    let mut points = Vec::new();
    for n in plan.sizes.chapter {
        for p in [16, 32, 64, 128, 256, 512, 1024] {
            let series = format!("N = {}", short(n as f64));
            points.push(
                FigurePoint::all_on_all(series, n, KernelConfig { p, ..CHAPTER }).at(f64::from(p)),
            );
        }
    }
    points
}

/// A plot for each number of bodies: on a common axis the smallest would be a line along the
/// bottom.
fn p_plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, P.name, RecordKind::Forces);
    let plot = |name: &str| {
        let curves = rates_and_model(own.clone().filter(move |record| record.series == name));
        let x = PlotAxis::powers("threads per workgroup and sources per tile, p").marked(&curves);
        Plot::lines(
            format!("Rate against the block size, {name}"),
            x,
            PlotAxis::linear(RATE),
            curves,
        )
    };
    distinct(own.clone().map(|record| record.series.as_str())).into_iter().map(plot).collect()
}

pub(super) const Q: Figure =
    Figure::kernels("q", q_points, q_plots).concluding(&[fastest_at_each_size]);

fn q_points(plan: &FigurePlan<'_>) -> Vec<FigurePoint> {
    let [least, _, most] = plan.sizes.chapter;
    let mut points = Vec::new();
    for n in BenchSizes::powers(least / 4, most, 1) {
        for q in [1, 2, 4, 8, 16] {
            let series = format!("{q} thread{} per body", if q == 1 { "" } else { "s" });
            points.push(FigurePoint::all_on_all(
                series,
                n,
                KernelConfig { p: 256 / q, q, ..CHAPTER },
            ));
        }
        let sliced = KernelConfig { p: 64, s: 16, ..CHAPTER };
        points.push(FigurePoint::all_on_all("1 thread, 16 slices", n, sliced));
    }
    points
}

/// The gain of two threads per body on the chapter's GPU, with 1,024 bodies.
const G80_TWO_THREADS: (f64, f64) = (2.0, 1.44);

fn q_plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, Q.name, RecordKind::Forces);
    let all = rates_and_model(own.clone());
    let mut plots = vec![over_n("Rate with several threads per body, p x q = 256", all)];
    // Grouped by number of bodies, against q; records with slices do not belong here.
    let split =
        own.filter(|r| r.kernel.is_some_and(|kernel| kernel.s == 1 && kernel.p * kernel.q == 256));
    let by_size = curves(
        split,
        |r: &Record| format!("{} bodies", short(r.sinks as f64)),
        |r| Some(CurvePoint { x: f64::from(r.kernel?.q), ..rate(r)? }),
    );
    let mut won = recoloured(gains(&by_size, 1.0));
    if !won.is_empty() {
        won.push(chapters_gain(", 1,024 bodies", 1.0, G80_TWO_THREADS));
        let x = PlotAxis::powers("threads per body, q").marked(&won);
        let title = "What several threads per body win over one";
        plots.push(Plot::lines(title, x, PlotAxis::linear("rate / rate with q = 1"), won));
    }
    plots
}

pub(super) const LADDER: Figure =
    Figure::kernels("ladder", ladder_points, ladder_plots).concluding(&[fastest_at_each_size]);

fn ladder_points(plan: &FigurePlan<'_>) -> Vec<FigurePoint> {
    let [least, _, most] = plan.sizes.chapter;
    let sizes = BenchSizes::powers(least, most, 1);
    let points = |n: usize| RUNGS.map(|rung| FigurePoint::all_on_all(rung.name, n, rung.config()));
    sizes.into_iter().flat_map(points).collect()
}

fn ladder_plots(records: &[Record]) -> Vec<Plot> {
    let curves = rates_and_model(of(records, LADDER.name, RecordKind::Forces));
    vec![over_n("The ladder: each kernel adds one idea", curves)]
}

pub(super) const SHAPES: Figure =
    Figure::kernels("shapes", shapes_points, shapes_plots).concluding(&[fastest_at_each_size]);

/// Threads along the sinks and per sink in the map of shapes; WebGPU promises 256 threads.
const MAP_P: [u32; 6] = [8, 16, 32, 64, 128, 256];
const MAP_Q: [u32; 6] = [1, 2, 4, 8, 16, 32];

fn shapes_points(plan: &FigurePlan<'_>) -> Vec<FigurePoint> {
    let n = plan.sizes.chapter[1];
    let shapes = MAP_Q.into_iter().flat_map(|q| MAP_P.map(|p| (p, q)));
    let fitting = shapes.filter(|(p, q)| p * q <= 256);
    fitting
        .map(|(p, q)| {
            let config = KernelConfig { p, q, ..CHAPTER };
            FigurePoint::all_on_all(format!("p = {p}, q = {q}"), n, config).at(f64::from(p))
        })
        .collect()
}

/// Rates relative to the chapter's shape, p = 256, q = 1.
fn shapes_plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, SHAPES.name, RecordKind::Forces);
    let of_shape = |p: u32, q: u32| {
        let is_it = |r: &&Record| r.kernel.is_some_and(|kernel| (kernel.p, kernel.q) == (p, q));
        own.clone().find(is_it).and_then(|record| record.per_sec())
    };
    let Some(chapter) = of_shape(CHAPTER.p, CHAPTER.q) else { return Vec::new() };
    let n = own.clone().map(|record| record.sinks).max().unwrap_or(0);
    let names = |values: [u32; 6]| values.map(|value| value.to_string()).to_vec();
    let row = |q: u32| MAP_P.map(|p| of_shape(p, q).map(|rate| rate / chapter)).to_vec();
    vec![Plot::Map(Map {
        title: format!("Rate of p x q over that of p = 256, q = 1, N = {}", short(n as f64)),
        x: ("threads along the sinks, p".to_owned(), names(MAP_P)),
        y: ("threads per sink, q".to_owned(), names(MAP_Q)),
        cells: MAP_Q.map(row).to_vec(),
        ends: ("slower".to_owned(), "faster".to_owned()),
    })]
}

pub(super) const FILL: Figure = Figure::kernels("fill", fill_points, fill_plots);

/// Number of compute units assumed if the driver does not report it.
const DEFAULT_UNITS: u32 = 16;

fn fill_points(plan: &FigurePlan<'_>) -> Vec<FigurePoint> {
    let Some(gpu) = plan.gpu else { return Vec::new() };
    // On a GPU, enough sources that a slice has a whole tile even with the most slices and the
    // largest tiles.
    let is_software = gpu.adapter.class == DeviceClass::Software;
    let sources = plan.sizes.sources * if is_software { 1 } else { 8 };
    let units = gpu.limits.units.unwrap_or(DEFAULT_UNITS);
    let mut points = Vec::new();
    let sizes = [32, 64, 128, 192, 256, 384, 512, 768, 1024];
    for p in sizes.into_iter().filter(|p| *p <= gpu.limits.threads_per_workgroup) {
        for per_unit in [1, 2, 4, 8] {
            let s = (per_unit * units).clamp(1, 1024);
            // Workgroups without sources would only be counted.
            if sources >= (p * s) as usize {
                let plural = if per_unit == 1 { "" } else { "s" };
                let series = format!("{per_unit} workgroup{plural} per unit");
                let config = KernelConfig { p, s, ..CHAPTER };
                points.push(FigurePoint::new(series, p as usize, sources, config));
            }
        }
    }
    points
}

fn fill_plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, FILL.name, RecordKind::Forces);
    let times = by_series(own.clone(), millis);
    let sources = short(own.clone().map(|record| record.sources).max().unwrap_or(0) as f64);
    let rates = rates_and_model(own);
    let x = PlotAxis::powers("sinks = threads per workgroup").marked(&times);
    let (y, rate) = (PlotAxis::decades("time per evaluation, ms"), PlotAxis::fitting(RATE, &rates));
    let of = |what: &str| format!("{what} of a block of sinks on {sources} sources");
    filled([Plot::lines(of("Time"), x.clone(), y, times), Plot::lines(of("Rate"), x, rate, rates)])
}

pub(super) const CROSSOVER: Figure =
    Figure::kernels("crossover", crossover_points, crossover_plots);

fn crossover_points(plan: &FigurePlan<'_>) -> Vec<FigurePoint> {
    let sizes = BenchSizes::powers(1, plan.sizes.map, 2);
    let mut points = Vec::new();
    for &sources in &sizes {
        for &sinks in &sizes {
            let gpu = "gpu, from host to host";
            points.push(FigurePoint::new(gpu, sinks, sources, Candidate::GpuFromHost));
            points.push(FigurePoint::new(CPU, sinks, sources, Candidate::Cpu));
        }
    }
    points
}

fn crossover_plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, CROSSOVER.name, RecordKind::Forces);
    let distinct = |value: fn(&Record) -> u64| {
        let mut all: Vec<u64> = own.clone().map(value).collect();
        all.sort_unstable();
        all.dedup();
        // A foreign file may contain any number of sizes; 16 fit a sheet.
        all.truncate(16);
        all
    };
    let (sinks, sources) = (distinct(|r| r.sinks), distinct(|r| r.sources));
    let secs = |on_cpu: bool, i: u64, j: u64| {
        let mut here = own.clone().filter(|r| (r.sinks, r.sources) == (i, j));
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
