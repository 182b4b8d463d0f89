//! The score: whole steps at three numbers of bodies, by the kernel that the program takes.

use super::{Figure, RATE};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{KernelRequest, Masses};
use crate::measure::bench::candidate::plain;
use crate::measure::bench::record::rounded;
use crate::measure::bench::score::{FIGURE as NAME, MOST_SECS, SIZES};
use crate::measure::plot::{Axis, Curve, Lines, Look, Plot};
use crate::measure::{Kind, Record, Session, Steadiness, StepTimer, Summary, Timer};

pub(super) const FIGURE: Figure = Figure {
    name: NAME,
    title: "The score",
    about: "Whole steps, force and leapfrog, of 1,024, 16,384 and 262,144 bodies of one mass by the kernel that the program takes \
            by itself (tuned, where it was tuned). The score is the geometric mean of the three rates in 10^9 \
            interactions per second; with 20 flops an interaction it is also a number of GFLOP/s. A size whose step takes \
            over 60 s leaves it blank.",
    measure,
    plots,
};

const SAMPLES: usize = 7;

fn measure(session: &mut Session<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    // Seconds per interaction at the last size: larger ones take no more.
    let mut each: Option<f64> = None;
    for (done, n) in session.sizes.score.into_iter().enumerate() {
        let config = session.known.resolve(&KernelRequest::NONE, &gpu, n, Masses::InBlocks)?;
        let mut record = session.step_record(FIGURE.name, "whole steps", n, config);
        let estimate = each.map_or(0.0, |each| each * record.work);
        if estimate > MOST_SECS {
            record.kind = Kind::Skipped;
            let words = format!("a step would take about {estimate:.0} s, more than {MOST_SECS} s");
            record.remark = Some(words);
            session.records.push(record);
            continue;
        }
        let mut timer = StepTimer::new(&gpu, n);
        let mut secs = Vec::new();
        let part = |at: usize| (done as f64 + at as f64 / SAMPLES as f64) / SIZES.len() as f64;
        let prepared = timer.prepare(&config);
        for at in 0..=SAMPLES {
            if prepared.is_err() || !session.progress(part(at.min(SAMPLES)), &format!("{n} bodies"))
            {
                break;
            }
            let sample = timer.sample(&config)?;
            // The first is dropped: clocks rise.
            if at > 0 {
                secs.push(sample);
            }
        }
        if session.is_stopped() {
            return Ok(());
        }
        if let Err(error) = prepared {
            if matches!(error, Error::Device(_)) {
                return Err(error);
            }
            record.kind = Kind::Skipped;
            record.remark = Some(plain(&error.to_string()));
            session.records.push(record);
            continue;
        }
        each = Summary::of(&secs).map(|summary| summary.median / record.work);
        record.repeats = timer.steps_of(&config).unwrap_or(1) as u32;
        record.rms_error = timer.error_of(&config).map(|error| rounded(error.rms));
        record.method = timer.method().name().to_owned();
        let doubt = timer.doubt().map(plain);
        record.remark = doubt.or_else(|| Steadiness::of(&secs).remark());
        record.set_samples(&secs);
        session.records.push(record);
    }
    Ok(())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = records.iter().filter(|r| r.figure == FIGURE.name && r.kind == Kind::Steps);
    let places: Vec<_> = own.filter_map(super::rate).collect();
    if places.is_empty() {
        return Vec::new();
    }
    let values: Vec<f64> = places.iter().map(|place| place.y).collect();
    let name = "whole steps".to_owned();
    vec![Plot::Lines(Lines {
        title: "Whole steps at the sizes of the score".to_owned(),
        x: Axis::powers("number of bodies N"),
        y: Axis::fitting(RATE, values.into_iter()),
        curves: vec![Curve { name, places, look: Look::Measured, colour: 0 }],
    })]
}
