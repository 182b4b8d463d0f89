//! Sapporo2, figure 5, and Kirin's thesis, tables 5.1 and 5.2: bodies shared by several devices.

use std::sync::Arc;

mod drawing;
mod model;
mod timed;

use drawing::plots;
use model::Model;
use timed::timed;

use super::Figure;
use crate::error::{Error, Result};
use crate::forces::Method;
use crate::forces::tree::{Opening, TreeConfig};
use crate::gpu::Gpu;
use crate::integrate::{self, blocks::BlockSettings};
use crate::measure::bench::record::rounded;
use crate::measure::bench::sizes::Sizes;
use crate::measure::{Device, DevicesFacts, Kind, Record, Session};
use crate::sim::{EngineKind, Settings};

pub(super) const FIGURE: Figure = Figure {
    name: "devices",
    title: "Several devices (Sapporo2, figure 5; kirin's thesis, tables 5.1 and 5.2)",
    about: "How much faster steps are when several devices share the bodies. The bits are those of one device. By all pairs, \
            each device holds all bodies and moves a part of them; after each drift they exchange positions through the host. By the \
            tree (alpha 1e-4), each device builds the whole tree and walks it for a part of the bodies, and they exchange forces. With \
            hermite4 in double-single, each device takes all blocks, and the forces of large blocks are shared; a step here is 1/64 of \
            a unit of time of a Plummer sphere in virial equilibrium. The model starts from the measured time of one device and divides \
            the shared part by the number of devices: everything by all pairs, everything but the build by the tree, and with hermite4 the \
            forces of shared blocks, at the rate of a force on all bodies. It adds 200 µs for each exchange, and its bytes at 25 GB/s. \
            The second plot shows the part of each step that the first device spends waiting for the others and copying.",
    measure,
    plots,
};

const SOFTENING: f64 = 0.01;
const DT: f64 = 1e-6;
/// A strict rule: walks then take longer than the build, which each device does by itself.
const STRICT: Opening = Opening::Acceleration { alpha: 1e-4 };
/// The longest individual step; bodies are synchronised at its multiples.
const DT_MAX: f64 = 1.0 / 64.0;

/// The integrator and the force method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepMode {
    /// Leapfrog with all pairs.
    Pairs,
    /// Leapfrog with the tree.
    Tree,
    /// Individual steps.
    Blocks,
}

impl StepMode {
    const ALL: [Self; 3] = [Self::Pairs, Self::Tree, Self::Blocks];

    /// The suffix of its series' names.
    fn words(self) -> &'static str {
        match self {
            Self::Pairs => "",
            Self::Tree => ", by the tree",
            Self::Blocks => ", hermite4",
        }
    }

    /// The mode of a record.
    fn of(record: &Record) -> Self {
        let named = |mode: &Self| *mode != Self::Pairs && record.series.ends_with(mode.words());
        Self::ALL.into_iter().find(named).unwrap_or(Self::Pairs)
    }

    fn sizes(self, sizes: &Sizes) -> &'static [usize] {
        match self {
            Self::Pairs => sizes.devices,
            Self::Tree => sizes.devices_tree,
            Self::Blocks => sizes.devices_blocks,
        }
    }

    fn settings(self, session: &Session<'_>) -> Result<Settings> {
        let settings = Settings {
            softening: SOFTENING,
            dt: DT,
            engine: EngineKind::Gpu,
            known: session.known.clone(),
            method: Some(if self == Self::Tree { Method::Tree } else { Method::Direct }),
            tree: TreeConfig { opening: STRICT, ..TreeConfig::default() },
            ..Settings::default()
        };
        Ok(match self {
            Self::Blocks => Settings {
                dt: DT_MAX,
                integrator: integrate::find("hermite4")?,
                blocks: BlockSettings { dt_max: DT_MAX, ..BlockSettings::default() },
                ..settings
            },
            _ => settings,
        })
    }
}

fn measure(session: &mut Session<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let devices: Vec<Arc<Gpu>> = [gpu].into_iter().chain(session.beside.clone()).collect();
    for (done, mode) in StepMode::ALL.into_iter().enumerate() {
        measure_mode(session, &devices, mode, done as f64 / StepMode::ALL.len() as f64)?;
    }
    Ok(())
}

/// Measures each number of bodies on each number of devices.
fn measure_mode(
    session: &mut Session<'_>,
    devices: &[Arc<Gpu>],
    mode: StepMode,
    before: f64,
) -> Result<()> {
    let counts = counts(devices.len());
    let sizes = mode.sizes(&session.sizes);
    for (k, &n) in sizes.iter().enumerate() {
        let mut model = None;
        for (j, &count) in counts.iter().enumerate() {
            let part = (k as f64 + j as f64 / counts.len() as f64) / sizes.len() as f64;
            let name = series(count, mode);
            let done = before + part / StepMode::ALL.len() as f64;
            if !session.progress(done, &format!("N = {n}, {name}")) {
                return Ok(());
            }
            let mut record = session.blank(FIGURE.name, &name);
            record.device = Device::of(&devices[0].adapter);
            (record.kind, record.x) = (Kind::Devices, n as f64);
            (record.sinks, record.sources) = (n as u64, n as u64);
            record.method = "wall clock, whole steps".to_owned();
            match one(session, &devices[..count], n, mode, &mut model, &mut record) {
                Ok(()) => (),
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

/// Measures one number of bodies on these devices. The first measurement, on one device, gives the
/// `model` for the others.
fn one(
    session: &Session<'_>,
    devices: &[Arc<Gpu>],
    n: usize,
    mode: StepMode,
    model: &mut Option<Model>,
    record: &mut Record,
) -> Result<()> {
    let Some(timed) = timed(session, devices, n, mode)? else {
        record.kind = Kind::Skipped;
        record.remark = Some("one step takes longer than is allowed here".to_owned());
        return Ok(());
    };
    record.work = timed.work;
    record.repeats = timed.steps as u32;
    record.set_samples(&timed.secs);
    let median = record.summary().map_or(f64::NAN, |summary| summary.median);
    if devices.len() == 1 {
        *model = Some(Model::of(mode, &devices[0], n, median, session.beside.is_empty())?);
    }
    let known = model.as_ref();
    let foreseen = known.map(|model| model.secs(devices.len(), &timed.shared));
    record.predicted_per_sec = foreseen.map(|secs| rounded(record.work / secs));
    let facts = DevicesFacts {
        devices: devices.len() as u32,
        exchanging: rounded(timed.shared.secs / median),
        speed_up: known.map(|model| rounded(model.alone() / median)),
    };
    record.remark = Some(in_words(n, &record.series, &facts));
    record.devices = Some(facts);
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

fn series(count: usize, mode: StepMode) -> String {
    let devices = if count == 1 { "1 device".to_owned() } else { format!("{count} devices") };
    devices + mode.words()
}

fn in_words(n: usize, name: &str, facts: &DevicesFacts) -> String {
    format!(
        "{n} bodies on {}: {:.3} times as fast, {:.1} % of a step in the exchange",
        name,
        facts.speed_up.unwrap_or(f64::NAN),
        100.0 * facts.exchanging
    )
}
