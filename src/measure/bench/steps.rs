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
use crate::measure::{Steadiness, StepTimer, Summary};
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
    match timer.prepare_soon(&config).await {
        Ok(()) => {}
        Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
        Err(error) => return Ok(Some(skipped(record, &error.to_string()))),
    }
    let mut secs = Vec::new();
    for at in 0..=SAMPLES {
        if !going(at as f64 / SAMPLES as f64, &doing) {
            return Ok(None);
        }
        let sample = timer.sample_soon(&config).await?;
        if at > 0 {
            secs.push(sample);
        }
    }
    record.repeats = timer.steps_of(&config).unwrap_or(1) as u32;
    record.rms_error = timer.error_of(&config).map(|error| rounded(error.rms));
    record.method = timer.method().name().to_owned();
    let doubt = timer.doubt().map(plain);
    let coarse = timer.quantum_secs().filter(|secs| *secs > COARSE_SECS);
    let coarse = coarse.map(|secs| format!("timestamps are {:.0} us apart", secs * 1e6));
    record.remark = doubt.or_else(|| Steadiness::of(&secs).remark()).or(coarse);
    record.set_samples(&secs);
    Ok(Some(record))
}

/// Timestamps coarser than this, as in browsers, are remarked upon.
const COARSE_SECS: f64 = 10e-6;

/// Records that a size was left out, and why.
pub(super) fn skipped(mut record: Record, why: &str) -> Record {
    record.kind = Kind::Skipped;
    record.remark = Some(plain(why));
    record
}

/// The record of a size whose steps would take longer than `most_secs`, judging by `each` seconds
/// per interaction so far; larger sizes are no slower per interaction.
pub(super) fn too_long(record: &Record, each: Option<f64>, most_secs: f64) -> Option<Record> {
    let estimate = each.map_or(0.0, |each| each * record.work);
    let words = || format!("a step would take about {estimate:.0} s, more than {most_secs} s");
    (estimate > most_secs).then(|| skipped(record.clone(), &words()))
}

/// Seconds per interaction in a record.
pub(super) fn each_of(record: &Record) -> Option<f64> {
    record.summary().map(|summary: Summary| summary.median / record.work)
}

/// The records for the score of `gpu`, listed as `device`, on this `machine`, with the kernels that
/// the program chooses. Sizes whose steps would take longer than `most_secs` are left out. `None`
/// if it was stopped.
///
/// # Errors
///
/// [`Error::Device`].
pub async fn steps_of_score(
    gpu: &Arc<Gpu>,
    (device, machine): (Device, Machine),
    known: &Known,
    most_secs: f64,
    going: &mut Going<'_>,
) -> Result<Vec<Record>> {
    let run = Run::begin();
    let mut of_machine = run.record(device.clone(), MACHINE, MACHINE);
    (of_machine.kind, of_machine.machine) = (Kind::Machine, Some(Box::new(machine)));
    of_machine.method = "asked of the system".to_owned();
    let mut records = vec![of_machine];
    let mut each = None;
    for (done, n) in SIZES.into_iter().enumerate() {
        let config = known.resolve(&KernelRequest::NONE, gpu, n, Masses::InBlocks)?;
        let mut record = run.record(device.clone(), FIGURE, "whole steps");
        record.kind = Kind::Steps;
        (record.x, record.kernel) = (n as f64, Some(config));
        (record.sinks, record.sources) = (n as u64, n as u64);
        record.work = n as f64 * n as f64;
        if let Some(left_out) = too_long(&record, each, most_secs) {
            records.push(left_out);
            continue;
        }
        let mut part =
            |within: f64, doing: &str| going((done as f64 + within) / SIZES.len() as f64, doing);
        let Some(measured) = measure_steps(gpu, config, record, &mut part).await? else {
            return Ok(Vec::new());
        };
        each = each_of(&measured);
        records.push(measured);
    }
    Ok(records)
}
