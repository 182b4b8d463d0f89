//! Full steps at the sizes of the score, measured without blocking, for the program and for a page
//! in a browser.

use std::sync::Arc;

use super::machine::{MACHINE, Machine};
use super::names::plain;
use super::record::{Device, Kind, Record, rounded};
use super::run::Run;
use super::score::{FIGURE, SIZES};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{KernelConfig, KernelRequest, Masses};
use crate::gpu::Gpu;
use crate::measure::{Steadiness, StepTimer};
use crate::tuned::Known;

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
    match timer.prepare_async(&config).await {
        Ok(()) => {}
        Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
        Err(error) => return Ok(Some(record.skipped(&error.to_string()))),
    }
    let mut secs = Vec::new();
    for at in 0..=SAMPLES {
        if !going(at as f64 / SAMPLES as f64, &doing) {
            return Ok(None);
        }
        let sample = timer.sample_async(&config).await?;
        if at > 0 {
            secs.push(sample);
        }
    }
    record.repeats = timer.steps_of(&config).unwrap_or(1) as u32;
    record.rms_error = timer.error_of(&config).map(|error| rounded(error.rms));
    let watch = timer.stopwatch();
    record.method = watch.method().name().to_owned();
    let doubt = watch.doubt().map(plain);
    let coarse = watch.quantum_secs().filter(|secs| *secs > COARSE_SECS);
    let coarse = coarse.map(|secs| format!("timestamps are {:.0} us apart", secs * 1e6));
    record.remark = doubt.or_else(|| Steadiness::of(&secs).remark()).or(coarse);
    record.set_samples(&secs);
    Ok(Some(record))
}

/// Timestamps coarser than this, as in browsers, are remarked upon.
const COARSE_SECS: f64 = 10e-6;

/// A record of steps of `n` bodies with this kernel, from one without measurements.
pub(super) fn of_steps(blank: &Record, n: usize, config: KernelConfig) -> Record {
    let (x, kernel, sinks, sources) = (n as f64, Some(config), n as u64, n as u64);
    Record { x, kernel, sinks, sources, work: x * x, ..blank.clone() }
}

/// Adds the records of `sizes` from a `blank` one, with the kernels that the program chooses. Sizes
/// whose steps would take longer than `most_secs` are left out. Returns false if it was stopped.
///
/// # Errors
///
/// [`Error::Device`].
pub(super) async fn measure_sizes(
    gpu: &Arc<Gpu>,
    known: &Known,
    blank: &Record,
    sizes: [usize; 3],
    most_secs: f64,
    records: &mut Vec<Record>,
    going: &mut Going<'_>,
) -> Result<bool> {
    // Seconds per interaction so far; larger sizes are no slower per interaction.
    let mut each: Option<f64> = None;
    for (done, n) in sizes.into_iter().enumerate() {
        let config = known.resolve(&KernelRequest::NONE, gpu, n, Masses::InBlocks)?;
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
    (device, machine): (Device, Machine),
    known: &Known,
    most_secs: f64,
    going: &mut Going<'_>,
) -> Result<Vec<Record>> {
    let mut records = vec![machine.record(run.record(device.clone(), MACHINE, MACHINE))];
    let blank = Record { kind: Kind::Steps, ..run.record(device, FIGURE, "whole steps") };
    let sized = measure_sizes(gpu, known, &blank, SIZES, most_secs, &mut records, going);
    Ok(if sized.await? { records } else { Vec::new() })
}
