//! Full steps at the sizes of the score, measured without blocking, for the program and for a page
//! in a browser.

use std::sync::Arc;

use super::figures::{CEILINGS, Figure, FigurePlan};
use super::machine::{MACHINE, Machine};
use super::points::{Candidate, FigurePoint};
use super::record::{Record, RecordKind, RecordedDevice, Run, rounded};
use super::score::{FIGURE, SIZES};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{KernelConfig, KernelRequest, Masses};
use crate::gpu::{DeviceClass, Gpu};
use crate::measure::{Ceiling, Ceilings, Effort, KernelTimer, StepTimer, Timer, grouped};
use crate::tuned::KnownResults;

/// Samples per size, in addition to the first, which is discarded because clocks rise.
const SAMPLES: usize = 7;

/// Called with the fraction of the work that is done, 0 to 1, and the current activity; returns
/// false to stop.
pub type Going<'a> = dyn FnMut(f64, &str) -> bool + 'a;

/// Measures steps of `record.sinks` bodies with this kernel and stores the results in `record`;
/// `None` if it was stopped. A kernel that is wrong or too large is recorded as skipped.
///
/// # Errors
///
/// [`Error::Device`].
pub async fn measure_steps(
    gpu: &Arc<Gpu>,
    config: KernelConfig,
    mut record: Record,
    going: &mut Going<'_>,
) -> Result<Option<Record>> {
    let n = record.sinks as usize;
    let doing = format!("{n} bodies");
    if !going(0.0, &doing) {
        return Ok(None);
    }
    let mut timer = StepTimer::new(gpu, n);
    match timer.prepare(&config).await {
        Ok(()) => {}
        Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
        Err(error) => return Ok(Some(record.skipped(&error.to_string()))),
    }
    let mut secs = Vec::new();
    for at in 0..=SAMPLES {
        if !going(at as f64 / SAMPLES as f64, &doing) {
            return Ok(None);
        }
        let sample = timer.sample(&config).await?;
        if at > 0 {
            secs.push(sample);
        }
    }
    record.repeats = timer.steps_of(&config).unwrap_or(1) as u32;
    record.rms_error = timer.error_of(&config).map(|error| rounded(error.rms));
    let watch = timer.stopwatch();
    let coarse = watch.quantum_secs().filter(|secs| *secs > COARSE_SECS);
    record.set_timed(watch, &secs);
    if let (None, Some(secs)) = (&record.remark, coarse) {
        record.remark = Some(format!("timestamps are {:.0} us apart", secs * 1e6));
    }
    Ok(Some(record))
}

/// Timestamps coarser than this, as in browsers, are remarked upon.
const COARSE_SECS: f64 = 10e-6;

/// A record of steps of `n` bodies with this kernel, from one without measurements.
pub(super) fn of_steps(blank: &Record, n: usize, config: KernelConfig) -> Record {
    Record { kernel: Some(config), ..blank.clone().sized(n, n) }
}

/// A record of a point that this kernel computes, from one without measurements.
pub(super) fn of_kernel(
    blank: Record,
    point: &FigurePoint,
    config: KernelConfig,
    ceilings: Option<&Ceilings>,
) -> Record {
    let sized = blank.sized(point.sinks, point.sources);
    let mut record = Record { x: point.x, kernel: Some(config), ..sized };
    record.predict(ceilings);
    record
}

/// Adds the records of `sizes` from a `blank` one, with the kernels that the program chooses. Sizes
/// whose steps would take longer than `most_secs` are left out. Returns false if it was stopped.
///
/// # Errors
///
/// [`Error::Device`].
pub(super) async fn measure_sizes(
    gpu: &Arc<Gpu>,
    known: &KnownResults,
    blank: &Record,
    sizes: [usize; 3],
    most_secs: f64,
    records: &mut Vec<Record>,
    going: &mut Going<'_>,
) -> Result<bool> {
    // Seconds per interaction so far; larger sizes are no slower per interaction.
    let mut each: Option<f64> = None;
    for (done, n) in sizes.into_iter().enumerate() {
        let config = known.resolve(&KernelRequest::default(), gpu, n, Masses::InBlocks)?;
        let record = of_steps(blank, n, config);
        let estimate = each.map_or(0.0, |each| each * record.work);
        if estimate > most_secs {
            let why = format!("a step would take about {estimate:.0} s, more than {most_secs} s");
            records.push(record.skipped(&why));
            continue;
        }
        let mut part =
            |within: f64, doing: &str| going((done as f64 + within) / sizes.len() as f64, doing);
        let measured = measure_steps(gpu, config, record, &mut part).await?;
        let Some(measured) = measured else { return Ok(false) };
        each = measured.summary().map(|summary| summary.median / measured.work);
        records.push(measured);
    }
    Ok(true)
}

/// The records for the score of `gpu`, listed as `device`, on this `machine`, with the kernels that
/// the program chooses. Sizes whose steps would take longer than `most_secs` are left out. None if
/// it was stopped.
///
/// # Errors
///
/// [`Error::Device`].
pub async fn steps_of_score(
    gpu: &Arc<Gpu>,
    run: &Run,
    (device, machine): (RecordedDevice, Machine),
    known: &KnownResults,
    most_secs: f64,
    going: &mut Going<'_>,
) -> Result<Vec<Record>> {
    let mut records = vec![machine.record(run.record(device.clone(), MACHINE, MACHINE))];
    let blank = Record { kind: RecordKind::Steps, ..run.record(device, FIGURE, "whole steps") };
    let sized = measure_sizes(gpu, known, &blank, SIZES, most_secs, &mut records, going);
    Ok(if sized.await? { records } else { Vec::new() })
}

// The rates of a figure's kernels, measured one point after another: for a page, which shows each
// as it comes and cannot block.

/// Samples per point, in addition to the first, which is discarded because clocks rise.
const SAMPLES_OF_KERNEL: usize = 3;

/// Measures the ceilings of an adapter in a few seconds; `taken` receives the fraction that is
/// done.
///
/// # Errors
///
/// The device failed.
pub async fn sweep_ceilings(
    gpu: &Arc<Gpu>,
    run: &Run,
    taken: &mut dyn FnMut(f64),
) -> Result<(Ceilings, Vec<Record>)> {
    let effort = match gpu.adapter.class {
        DeviceClass::Software => Effort::Quick,
        _ => Effort::Full,
    };
    let mut before = |ceiling: Ceiling| {
        taken(ceiling as usize as f64 / Ceiling::ALL.len() as f64);
        true
    };
    let found = Ceilings::measure(gpu, effort, &mut before).await?;
    let device = RecordedDevice::of(&gpu.adapter);
    let record = |samples| run.record(device.clone(), CEILINGS, "").of_ceiling(samples);
    Ok((Ceilings::on(gpu, &found), found.iter().map(record).collect()))
}

/// Measures the kernels of a figure; `taken` receives each record and the fraction of the points
/// that is done, and returns false to stop. Points that take too long or that the device cannot run
/// are recorded as skipped, with the reason. The CPU engine is left out. With `ceilings` each
/// record has the model's prediction.
///
/// # Errors
///
/// The device failed; a figure that is not of kernels.
pub async fn sweep_kernels(
    gpu: &Arc<Gpu>,
    run: &Run,
    figure: &Figure,
    plan: &FigurePlan<'_>,
    ceilings: Option<&Ceilings>,
    taken: &mut dyn FnMut(Record, f64) -> bool,
) -> Result<()> {
    let known = ["ladder", "n", "unroll", "p", "q", "shapes"];
    let unknown = || Error::unknown("figure of kernels", figure.name, known);
    let points = figure.kernel_points(plan).ok_or_else(unknown)?;
    let is_kernel = |point: &FigurePoint| matches!(point.candidate, Candidate::Kernel(_));
    let points: Vec<FigurePoint> = points.into_iter().filter(is_kernel).collect();
    let all = points.len().max(1) as f64;
    let groups = grouped(points.into_iter().map(|point| ((point.sinks, point.sources), point)));
    let device = RecordedDevice::of(&gpu.adapter);
    // The best rate so far: a larger size is estimated by it.
    let (mut best, mut done) = (0.0f64, 0.0);
    for ((sinks, sources), points) in groups {
        let mut timer = KernelTimer::new(gpu, sinks, sources)?;
        for point in points {
            let Candidate::Kernel(config) = point.candidate else { continue };
            let blank = run.record(device.clone(), figure.name, &point.series);
            let mut record = of_kernel(blank, &point, config, ceilings);
            let estimate = if best > 0.0 { record.work / best } else { 0.0 };
            let most = plan.sizes.sample_secs;
            let measured = if estimate > most {
                let why =
                    format!("one evaluation would take about {estimate:.1} s, more than {most} s");
                Err(Error::Outside(why))
            } else {
                sampled(&mut timer, &config).await
            };
            let record = match measured {
                Ok(secs) => {
                    if let Some((repeats, _, error)) = timer.prepared(&config) {
                        (record.repeats, record.rms_error) = (repeats, Some(rounded(error.rms)));
                    }
                    record.set_timed(timer.stopwatch(), &secs);
                    best = best.max(record.per_sec().unwrap_or(0.0));
                    record
                }
                Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
                Err(error) => record.skipped(&error.to_string()),
            };
            timer.forget(&config);
            done += 1.0;
            if !taken(record, done / all) {
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn sampled(timer: &mut KernelTimer, config: &KernelConfig) -> Result<Vec<f64>> {
    config.validate(Some(timer.gpu()))?;
    timer.time(config, SAMPLES_OF_KERNEL).await
}
