//! The score: whole steps at three numbers of bodies, with the kernel that the program chooses.

use super::Figure;
use super::curves::{OVER_N, RATE, by_series, filled, of, rate};
use crate::error::Result;
use crate::measure::bench::score::FIGURE;
use crate::measure::bench::steps::measure_sizes;
use crate::measure::plot::{Plot, PlotAxis};
use crate::measure::{BenchSession, Record, RecordKind};

pub(super) const SCORE: Figure = Figure::own(FIGURE, measure, plots);

/// If a step takes longer, the score is left blank.
const MOST_SECS: f64 = 60.0;

fn measure(session: &mut BenchSession<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let (sizes, known) = (session.sizes.score, session.known.clone());
    let blank = session.on_adapter(SCORE.name, "whole steps", RecordKind::Steps);
    let mut records = Vec::new();
    session.expect(1);
    session.step("whole steps")?;
    let mut going = |part: f64, doing: &str| session.progress(part, doing).is_ok();
    let sized = measure_sizes(&gpu, &known, &blank, sizes, MOST_SECS, &mut records, &mut going);
    let measured = pollster::block_on(sized);
    session.records.append(&mut records);
    measured.map(|_| ())
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let curves = by_series(of(records, SCORE.name, RecordKind::Steps), rate);
    let (x, y) = (PlotAxis::powers(OVER_N), PlotAxis::fitting(RATE, &curves));
    filled([Plot::lines("Whole steps at the sizes of the score", x, y, curves)])
}
