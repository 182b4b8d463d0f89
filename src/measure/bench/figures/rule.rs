//! The 5 % rule: the shape that `auto` takes compared with the best of a full sweep over the
//! kernel's shapes.

use std::sync::Arc;

use super::Figure;
use super::curves::{OVER_N, RATE, by_series, of, rate};
use super::kernels::DEFAULT;
use crate::error::{Error, Result};
use crate::forces::direct::gpu::candidates::{Bounds, neighbours, shapes};
use crate::forces::direct::gpu::{KernelConfig, KernelRequest, Masses};
use crate::gpu::{Gpu, blocking};
use crate::measure::bench::record::rounded;
use crate::measure::bench::steps::of_steps;
use crate::measure::plot::{Curve, CurvePoint, Plot, PlotAxis};
use crate::measure::{BenchSession, Record, RecordKind, StepTimer, Summary, Timer, interleave};

pub(super) const RULE: Figure = Figure::own("rule", measure, plots);

/// The series of the shape that the program chooses by default.
const AUTO: &str = "auto";
const BEST: &str = "best of the sweep";
const FINALIST: &str = "also in the final";

/// Number of shapes that reach the final.
const FINALISTS: usize = 6;
/// Samples per shape in the sweep; the shortest counts.
const SAMPLES: usize = 2;
/// Number of the best shapes whose neighbours and unrollings are swept too.
const WITH_NEIGHBOURS: usize = 3;

fn measure(session: &mut BenchSession<'_>) -> Result<()> {
    let Some(gpu) = session.gpu.clone() else { return Ok(()) };
    let sizes = session.sizes.rule.clone();
    session.expect(sizes.len());
    for n in sizes {
        session.step(&format!("{n} bodies"))?;
        let request = KernelRequest::default();
        let given = Given {
            auto: session.known.resolve(&request, &gpu, n, Masses::InBlocks)?,
            default: request.resolve(&gpu, n, n)?,
        };
        let mut sweep = Sweep::new(StepTimer::new(&gpu, n), given);
        let mut sets = sweep.run(session, &gpu, n)?;
        if sweep.timer.is_mixed() {
            // Times by two clocks cannot be compared: starts again with the remaining clock.
            sweep = Sweep::new(StepTimer::by_wall_clock(&gpu, n), given);
            sets = sweep.run(session, &gpu, n)?;
        }
        record(session, &gpu, n, &sweep, sets);
    }
    Ok(())
}

/// Shapes that are in every final.
#[derive(Clone, Copy)]
struct Given {
    auto: KernelConfig,
    default: KernelConfig,
}

struct Sweep {
    timer: StepTimer,
    given: Given,
    /// Every shape that was sampled or rejected.
    tried: Vec<KernelConfig>,
    refused: usize,
    /// The fastest so far with their seconds, fastest first.
    best: Vec<(KernelConfig, f64)>,
}

impl Sweep {
    fn new(timer: StepTimer, given: Given) -> Self {
        Self { timer, given, tried: Vec::new(), refused: 0, best: Vec::new() }
    }

    /// Sweeps all shapes for `n` bodies; returns the finalists with their samples, taken in turn.
    fn run(
        &mut self,
        session: &mut BenchSession<'_>,
        gpu: &Gpu,
        n: usize,
    ) -> Result<Vec<(KernelConfig, Vec<f64>)>> {
        let bounds = Bounds::of(gpu);
        let mut all = vec![self.given.auto];
        all.extend(shapes(self.given.default, n, &bounds).shapes);
        all.truncate(session.sizes.rule_shapes);
        self.take(session, &all, n, (0.0, 0.8))?;
        let near: Vec<KernelConfig> = self.best[..self.best.len().min(WITH_NEIGHBOURS)]
            .iter()
            .flat_map(|(shape, _)| neighbours(*shape, n, &bounds).shapes)
            .take(session.sizes.rule_shapes)
            .collect();
        self.take(session, &near, n, (0.8, 0.15))?;

        let mut finalists = vec![self.given.auto];
        for shape in std::iter::once(self.given.default).chain(self.best.iter().map(|(c, _)| *c)) {
            if !finalists.contains(&shape) {
                finalists.push(shape);
            }
        }
        let rounds = session.sizes.rounds.1;
        let doing = format!("{n} bodies, the final");
        let mut go_on = || session.progress(0.95, &doing).is_ok();
        let sets = blocking(interleave(&mut self.timer, &finalists, rounds, &mut go_on))?;
        session.progress(1.0, &doing)?;
        Ok(finalists.into_iter().zip(sets).collect())
    }

    /// Samples shapes, which take the fraction `part` of the present step after `before`.
    fn take(
        &mut self,
        session: &mut BenchSession<'_>,
        shapes: &[KernelConfig],
        n: usize,
        (before, part): (f64, f64),
    ) -> Result<()> {
        for (at, shape) in shapes.iter().enumerate() {
            if self.tried.contains(shape) {
                continue;
            }
            let doing = format!("{n} bodies, {} of {}: {shape}", at + 1, shapes.len());
            session.progress(before + part * at as f64 / shapes.len() as f64, &doing)?;
            self.tried.push(*shape);
            let secs = blocking(self.timer.prepare(shape)).and_then(|()| {
                let mut samples = (0..SAMPLES).map(|_| blocking(self.timer.sample(shape)));
                samples.try_fold(f64::INFINITY, |least, secs| Ok(least.min(secs?)))
            });
            match secs {
                Ok(secs) => self.note(*shape, secs),
                Err(error @ Error::Device(_)) => return Err(error),
                Err(error) => {
                    log::debug!("{shape} is out: {error}");
                    self.timer.forget(shape);
                    self.refused += 1;
                }
            }
        }
        Ok(())
    }

    /// Keeps the best few, and releases the device resources of the others.
    fn note(&mut self, shape: KernelConfig, secs: f64) {
        let point = self.best.partition_point(|(_, other)| *other <= secs);
        self.best.insert(point, (shape, secs));
        if self.best.len() > FINALISTS
            && let Some((last, _)) = self.best.pop()
            && last != self.given.auto
            && last != self.given.default
        {
            self.timer.forget(&last);
        }
    }
}

fn record(
    session: &mut BenchSession<'_>,
    gpu: &Arc<Gpu>,
    n: usize,
    sweep: &Sweep,
    sets: Vec<(KernelConfig, Vec<f64>)>,
) {
    let median = |samples: &[f64]| Summary::of(samples).map_or(f64::INFINITY, |s| s.median);
    let fastest = sets.iter().min_by(|a, b| median(&a.1).total_cmp(&median(&b.1)));
    let Some((best, best_samples)) = fastest.cloned() else { return };
    let Given { auto, default } = sweep.given;
    let source = if session.known.find(gpu, n, Masses::InBlocks).is_some() {
        "auto took what 'gravitile tune' had found"
    } else {
        "auto took the default, as nothing was tuned"
    };
    for (config, samples) in &sets {
        let named = [(auto, AUTO), (best, BEST), (default, DEFAULT)];
        let is_this = |(shape, name)| (shape == *config).then_some(name);
        let mut series: Vec<&str> = named.into_iter().filter_map(is_this).collect();
        if series.is_empty() {
            series.push(FINALIST);
        }
        for series in series {
            let blank = session.on_adapter(RULE.name, series, RecordKind::Steps);
            let mut record = of_steps(&blank, n, *config);
            record.repeats = sweep.timer.steps_of(config).unwrap_or(1) as u32;
            record.rms_error = sweep.timer.error_of(config).map(|error| rounded(error.rms));
            record.method = sweep.timer.stopwatch().method().name().to_owned();
            record.set_samples(samples);
            if let (AUTO, Some(part)) = (series, part_of(samples, &best_samples)) {
                record.remark = Some(format!(
                    "N = {n}: {:.1} % of the best's rate, that of {best}; {} shapes measured, {} refused; {source}",
                    100.0 * part.median,
                    sweep.tried.len() - sweep.refused,
                    sweep.refused
                ));
            }
            session.records.push(record);
        }
    }
}

/// Rate relative to the best, per round: samples of one round were taken in the same state of the
/// machine.
fn part_of(samples: &[f64], best: &[f64]) -> Option<Summary> {
    let parts: Vec<f64> = samples.iter().zip(best).map(|(own, best)| best / own).collect();
    Summary::of(&parts)
}

fn plots(records: &[Record]) -> Vec<Plot> {
    let own = of(records, RULE.name, RecordKind::Steps);
    let shown = own.clone().filter(|record| record.series != FINALIST);
    let rates = by_series(shown.clone(), rate);
    if rates.is_empty() {
        return Vec::new();
    }
    let best_at = |x: f64| own.clone().find(|r| r.series == BEST && r.x == x);
    let mut parts: Vec<Curve> = Vec::new();
    for (colour, series) in [AUTO, DEFAULT].into_iter().enumerate() {
        let points = shown.clone().filter(|record| record.series == series).filter_map(|record| {
            let part = part_of(&record.samples, &best_at(record.x)?.samples)?;
            let [y, low, high] = [part.median, part.lower, part.upper].map(|part| 100.0 * part);
            Some(CurvePoint { x: record.x, y, range: (low, high) })
        });
        parts.push(Curve::measured(series, points.collect(), colour));
    }
    let rule = parts[0].points.iter().map(|point| CurvePoint::at(point.x, 95.0)).collect();
    parts.push(Curve::predicted("the rule", rule, 0));
    let x = PlotAxis::powers(OVER_N);
    let y = PlotAxis::linear("rate / best rate, %");
    vec![
        Plot::lines("Rate over that of the best shape", x.clone(), y, parts),
        Plot::lines("Rates in whole steps", x, PlotAxis::fitting(RATE, &rates), rates),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;
    use crate::measure::plot::Lines;

    fn at(series: &str, x: f64, samples: &[f64]) -> Record {
        let mut record = example();
        (record.figure, record.kind) = (RULE.name.to_owned(), RecordKind::Steps);
        (record.series, record.x) = (series.to_owned(), x);
        record.samples = samples.to_vec();
        record
    }

    #[test]
    fn relative_rate_is_computed_per_round() {
        // The machine became half as fast after the first round; auto is slower by a tenth in each.
        let best = [1.0, 2.0, 2.0];
        let auto = best.map(|secs| secs / 0.9);
        assert!((part_of(&auto, &best).unwrap().median - 0.9).abs() < 1e-12);
        assert!(part_of(&[], &best).is_none());
    }

    #[test]
    fn both_plots_show_auto_and_the_best() {
        let records = [
            at(AUTO, 256.0, &[1.02e-3; 3]),
            at(BEST, 256.0, &[1e-3; 3]),
            at(AUTO, 1024.0, &[1e-3; 3]),
            at(BEST, 1024.0, &[1e-3; 3]),
            at(DEFAULT, 1024.0, &[2e-3; 3]),
            at(FINALIST, 1024.0, &[1.1e-3; 3]),
        ];
        let found = plots(&records);
        let [Plot::Lines(parts), Plot::Lines(rates)] = &found[..] else { panic!("{found:?}") };
        let of = |lines: &Lines, name: &str| -> Vec<f64> {
            let curve = lines.curves.iter().find(|curve| curve.name == name);
            curve.unwrap().points.iter().map(|point| point.y).collect()
        };
        let auto = of(parts, AUTO);
        assert!((auto[0] - 100.0 / 1.02).abs() < 1e-9 && auto[1] == 100.0, "{auto:?}");
        assert_eq!(of(parts, DEFAULT), [50.0]);
        assert_eq!(of(parts, "the rule"), [95.0, 95.0]);
        assert_eq!(rates.curves.len(), 3);
        for plot in found {
            assert!(plot.svg().contains("</svg>"));
        }
    }
}
