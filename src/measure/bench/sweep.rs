//! The rates of a figure's kernels, measured one point after another: for a page, which shows each as
//! it comes and cannot block.

use std::sync::Arc;

use super::figures::{CEILINGS, Figure, Plan};
use super::names::plain;
use super::points::{Candidate, Point};
use super::record::{Device, Kind, Record, rounded};
use super::run::Run;
use crate::error::{Error, Result};
use crate::gpu::{DeviceClass, Gpu};
use crate::measure::{Ceiling, Ceilings, Effort, KernelTimer, Steadiness, grouped};

/// Samples per point, in addition to the first, which is discarded because clocks rise.
const SAMPLES: usize = 3;

/// Measures the ceilings of an adapter in a few seconds; `taken` receives the fraction that is done.
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
    let found = Ceilings::measure_async(gpu, effort, &mut before).await?;
    let device = Device::of(&gpu.adapter);
    let record = |samples| run.record(device.clone(), CEILINGS, "").of_ceiling(samples);
    Ok((Ceilings::on(gpu, &found), found.iter().map(record).collect()))
}

/// Measures the kernels of a figure; `taken` receives each record and the fraction of the points
/// that is done, and returns false to stop. Points that take too long or that the device cannot run
/// are recorded as skipped, with the reason. The CPU engine is left out. With `ceilings` each record has the
/// model's prediction.
///
/// # Errors
///
/// The device failed; a figure that is not of kernels.
pub async fn sweep_kernels(
    gpu: &Arc<Gpu>,
    run: &Run,
    figure: &Figure,
    plan: &Plan<'_>,
    ceilings: Option<&Ceilings>,
    taken: &mut dyn FnMut(Record, f64) -> bool,
) -> Result<()> {
    let points = figure.kernel_points(plan).ok_or_else(|| Error::Unknown {
        kind: "figure of kernels",
        name: figure.name.to_owned(),
        known: "ladder, n, unroll, p, q, shapes".to_owned(),
    })?;
    let is_kernel = |point: &Point| matches!(point.candidate, Candidate::Kernel(_));
    let points: Vec<Point> = points.into_iter().filter(is_kernel).collect();
    let all = points.len().max(1) as f64;
    let groups = grouped(points.into_iter().map(|point| ((point.sinks, point.sources), point)));
    let device = Device::of(&gpu.adapter);
    // The best rate so far: a larger size is estimated by it.
    let (mut best, mut done) = (0.0f64, 0.0);
    for ((sinks, sources), points) in groups {
        let mut timer = KernelTimer::new(gpu, sinks, sources)?;
        for point in points {
            let Candidate::Kernel(config) = point.candidate else { continue };
            let mut record = run.record(device.clone(), figure.name, &point.series);
            (record.kind, record.x, record.kernel) = (Kind::Forces, point.x, Some(config));
            (record.sinks, record.sources) = (sinks as u64, sources as u64);
            record.work = sinks as f64 * sources as f64;
            record.predict(ceilings);
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
                    let watch = timer.stopwatch();
                    record.method = watch.method().name().to_owned();
                    let doubt = watch.doubt().map(plain);
                    record.remark = doubt.or_else(|| Steadiness::of(&secs).remark());
                    record.set_samples(&secs);
                    best = best.max(record.per_sec().unwrap_or(0.0));
                    record
                }
                Err(error @ (Error::Device(_) | Error::Stopped)) => return Err(error),
                Err(error) => record.skipped(&error.to_string()),
            };
            timer.release(&config);
            done += 1.0;
            if !taken(record, done / all) {
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn sampled(
    timer: &mut KernelTimer,
    config: &crate::forces::direct::gpu::KernelConfig,
) -> Result<Vec<f64>> {
    config.validate(Some(timer.gpu()))?;
    timer.sample_async(config).await?;
    let mut secs = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        secs.push(timer.sample_async(config).await?);
    }
    Ok(secs)
}
