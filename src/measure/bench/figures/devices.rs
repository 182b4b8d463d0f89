//! Sapporo2, figure 5, and kirin's thesis, tables 5.1 and 5.2: several devices share the bodies.

use std::sync::Arc;

use web_time::Instant;

use super::tree::{exactly, sphere};
use super::{Curve, Figure, Place, marks};
use crate::error::{Error, Result};
use crate::forces::Method;
use crate::forces::tree::{Opening, TreeConfig};
use crate::gpu::Gpu;
use crate::measure::bench::record::rounded;
use crate::measure::plot::{Axis, Lines, Look, Plot};
use crate::measure::{Device, DevicesFacts, Kind, Record, Session};
use crate::sim::{ASKED_FOR, Choice, DeviceGroup, EngineKind, Settings, Simulation};

pub(super) const FIGURE: Figure = Figure {
    name: "devices",
    title: "Several devices (Sapporo2, figure 5; kirin's thesis, tables 5.1 and 5.2)",
    about: "How many times as fast steps of a leapfrog by all pairs are where several devices share the bodies: each \
            holds all of them and moves a part, and after each drift they exchange positions through the host. The \
            bits are those of one device. The model has a device's measured time, divided by their number, 300 µs \
            for each exchange and 25 GB/s for its 16 bytes a body. The second plot is the part of each step that the \
            first device spends waiting and copying. By the tree each device builds all of it and walks for a part of the \
            bodies (alpha 1e-4); of that there is no model.",
    measure,
    plots,
};

/// Seconds that an exchange takes however little is exchanged, by the model.
const LATENCY: f64 = 300e-6;
/// Bytes per second between a device and the host, by the model.
const BANDWIDTH: f64 = 25e9;
/// Bytes that a body's position and mass take.
const BYTES: f64 = 16.0;

const SOFTENING: f64 = 0.01;
const DT: f64 = 1e-6;
/// With few errors walks take longer than building, which is each device's own.
const STRICT: Opening = Opening::Acceleration { alpha: 1e-4 };

/// What one or several devices took for some steps.
struct Timed {
    secs: Vec<f64>,
    /// The part of that time in exchanges.
    exchanging: f64,
    steps: u64,
}

fn measure(session: &mut Session<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let devices: Vec<Arc<Gpu>> = [gpu].into_iter().chain(session.beside.clone()).collect();
    for method in [Method::Direct, Method::Tree] {
        by_method(session, &devices, method)?;
    }
    Ok(())
}

/// Each number of bodies on each number of devices.
fn by_method(session: &mut Session<'_>, devices: &[Arc<Gpu>], method: Method) -> Result<()> {
    let counts = counts(devices.len());
    let sizes = match method {
        Method::Tree => session.sizes.devices_tree,
        _ => session.sizes.devices,
    };
    let of_tree = if method == Method::Tree { 0.5 } else { 0.0 };
    for (k, &n) in sizes.iter().enumerate() {
        let mut alone = None;
        for (j, &count) in counts.iter().enumerate() {
            let part = (k as f64 + j as f64 / counts.len() as f64) / sizes.len() as f64;
            let name = series(count, method);
            if !session.progress(of_tree + 0.5 * part, &format!("N = {n}, {name}")) {
                return Ok(());
            }
            let mut record = session.blank(FIGURE.name, &name);
            record.device = Device::of(&devices[0].adapter);
            (record.kind, record.x) = (Kind::Devices, n as f64);
            (record.sinks, record.sources) = (n as u64, n as u64);
            record.work = if method == Method::Tree { n as f64 } else { (n as f64).powi(2) };
            record.method = "wall clock, whole steps".to_owned();
            match timed(session, &devices[..count], n, method) {
                Ok(Some(timed)) => {
                    record.repeats = timed.steps as u32;
                    record.set_samples(&timed.secs);
                    let median = record.summary().map(|summary| summary.median);
                    alone = alone.or(median);
                    let is_foreseen = |_: &f64| method == Method::Direct;
                    let foreseen = alone.filter(is_foreseen).map(|alone| foreseen(alone, n, count));
                    record.predicted_per_sec = foreseen.map(|secs| rounded(record.work / secs));
                    record.devices = Some(DevicesFacts {
                        devices: count as u32,
                        exchanging: rounded(timed.exchanging),
                        speed_up: alone.zip(median).map(|(one, all)| rounded(one / all)),
                    });
                    record.remark = record.devices.as_ref().map(|facts| in_words(n, &name, facts));
                }
                Ok(None) => {
                    record.kind = Kind::Skipped;
                    record.remark = Some("one step takes longer than is allowed here".to_owned());
                }
                Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
                Err(error) => {
                    record.kind = Kind::Skipped;
                    record.remark = Some(error.to_string());
                }
            }
            session.records.push(record);
        }
    }
    Ok(())
}

/// 1, 2, 3, 4, 8, 16, ... and all.
fn counts(devices: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (1..=devices).filter(|n| *n < 4 || n.is_power_of_two()).collect();
    if counts.last() != Some(&devices) {
        counts.push(devices);
    }
    counts
}

fn series(count: usize, method: Method) -> String {
    let devices = if count == 1 { "1 device".to_owned() } else { format!("{count} devices") };
    if method == Method::Tree { format!("{devices}{BY_TREE}") } else { devices }
}

/// What names of series end with.
const BY_TREE: &str = ", by the tree";

fn in_words(n: usize, name: &str, facts: &DevicesFacts) -> String {
    format!(
        "{n} bodies on {}: {:.3} times as fast, {:.1} % of a step in the exchange",
        name,
        facts.speed_up.unwrap_or(f64::NAN),
        100.0 * facts.exchanging
    )
}

/// Seconds per step by the model, where one device takes `alone`.
fn foreseen(alone: f64, n: usize, count: usize) -> f64 {
    match count {
        1 => alone,
        _ => alone / count as f64 + LATENCY + BYTES * n as f64 / BANDWIDTH,
    }
}

/// Steps of `n` bodies on `devices`, as runs take them; `None` where one takes longer than is allowed.
fn timed(
    session: &Session<'_>,
    devices: &[Arc<Gpu>],
    n: usize,
    method: Method,
) -> Result<Option<Timed>> {
    let bodies = sphere(n);
    let settings = Settings {
        softening: SOFTENING,
        dt: DT,
        engine: EngineKind::Gpu,
        known: session.known.clone(),
        method: Some(method),
        tree: TreeConfig { opening: STRICT, ..TreeConfig::default() },
        ..Settings::default()
    };
    if devices.len() == 1 {
        let gpu = Some(Arc::clone(&devices[0]));
        let choice = Choice::of(EngineKind::Gpu, method, ASKED_FOR, gpu);
        let mut sim = Simulation::on(choice, bodies, settings)?;
        return samples(session, &mut |steps| sim.step(steps).map(|()| 0.0));
    }
    let mut group = pollster::block_on(DeviceGroup::open(devices, None, &bodies, None, &settings))?;
    samples(session, &mut |steps| {
        group.advance(DT, steps, &mut |_| true)?;
        Ok(group.take_exchanged().secs)
    })
}

/// Samples of `take`, which takes so many steps and tells how many seconds went into exchanges.
fn samples(
    session: &Session<'_>,
    take: &mut dyn FnMut(u64) -> Result<f64>,
) -> Result<Option<Timed>> {
    let mut timed = |steps: u64| -> Result<(f64, f64)> {
        let begun = Instant::now();
        let exchanging = take(steps)?;
        Ok((begun.elapsed().as_secs_f64() / steps as f64, exchanging / steps as f64))
    };
    // The first may compile, and tells how long the others take.
    timed(1)?;
    let first = timed(1)?.0;
    if first > session.sizes.sample_secs {
        return Ok(None);
    }
    // What is done once for an advance is next to nothing beside so many steps.
    let steps = (0.5 / first).clamp(2.0, 1000.0) as u64;
    timed(steps)?;
    let (mut secs, mut parts) = (Vec::new(), 0.0);
    for _ in 0..session.sizes.rounds.0.max(3) {
        let (step, exchanging) = timed(steps)?;
        secs.push(step);
        parts += exchanging / step;
    }
    let exchanging = parts / secs.len() as f64;
    Ok(Some(Timed { secs, exchanging, steps }))
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = || {
        let own = records.iter().filter(|r| r.figure == FIGURE.name && r.kind == Kind::Devices);
        own.filter_map(|record| Some((record, record.devices.as_ref()?)))
    };
    let curves = |look: Look, y: &dyn Fn(&Record, &DevicesFacts) -> Option<f64>| {
        let mut curves: Vec<Curve> = Vec::new();
        for (record, facts) in own().filter(|(_, facts)| facts.devices > 1) {
            let name = match look {
                Look::Measured => record.series.clone(),
                _ => format!("{}, by the model", record.series),
            };
            let known = curves.iter().position(|curve| curve.name == name);
            let index = known.unwrap_or_else(|| {
                curves.push(Curve { name, places: Vec::new(), look, colour: curves.len() });
                curves.len() - 1
            });
            curves[index].places.extend(y(record, facts).map(|y| exactly(record.x, y)));
        }
        // Not everything has a model.
        curves.retain(|curve| !curve.places.is_empty());
        for curve in &mut curves {
            curve.places.sort_by(|a: &Place, b: &Place| a.x.total_cmp(&b.x));
        }
        curves
    };
    let mut speed_up = curves(Look::Measured, &|_, facts| facts.speed_up);
    let is_tree = |record: &Record| record.series.ends_with(BY_TREE);
    let alone = |n: f64| {
        let is_it = |(record, facts): &(&Record, &DevicesFacts)| {
            facts.devices == 1 && record.x == n && !is_tree(record)
        };
        own().find(is_it)?.0.summary()
    };
    speed_up.extend(curves(Look::Predicted, &|record, _| {
        Some(alone(record.x)?.median / (record.work / record.predicted_per_sec?))
    }));
    let exchanging = curves(Look::Measured, &|_, facts| Some(100.0 * facts.exchanging));
    let plot = |title: &str, y: &str, curves: Vec<Curve>| {
        Plot::Lines(Lines {
            title: title.to_owned(),
            x: Axis::decades("number of bodies N").with_marks(marks(&curves)),
            y: Axis::fitting(y, super::values(&curves)),
            curves,
        })
    };
    if speed_up.is_empty() {
        return Vec::new();
    }
    vec![
        plot("Speed-up by several devices", "time on one / time on all", speed_up),
        plot("Time spent in exchanges", "part of a step, %", exchanging),
    ]
}
