//! A race with early elimination.

use crate::wall_clock::Instant;

use crate::error::{Error, Result};
use crate::forces::direct::gpu::KernelConfig;
use crate::measure::{Summary, Timer};

/// The clock of a race, and the callback that stops it.
pub struct RaceClock<'a> {
    /// Seconds since an arbitrary moment.
    pub clock: Box<dyn Fn() -> f64>,
    /// False stops the race; results so far remain.
    pub go_on: &'a dyn Fn() -> bool,
}

impl<'a> RaceClock<'a> {
    /// By the wall clock, from now on.
    pub fn new(go_on: &'a dyn Fn() -> bool) -> Self {
        let begun = Instant::now();
        Self { clock: Box::new(move || begun.elapsed().as_secs_f64()), go_on }
    }
}

/// A candidate with its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked<Shape = KernelConfig> {
    /// The shape.
    pub config: Shape,
    /// Seconds per step, in the order they were taken.
    pub samples: Vec<f64>,
}

impl<Shape> Ranked<Shape> {
    /// Median of the samples.
    pub fn secs(&self) -> f64 {
        Summary::of(&self.samples).map_or(f64::INFINITY, |summary| summary.median)
    }

    /// The shortest sample, which was disturbed least.
    fn least(&self) -> f64 {
        self.samples.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The result of a race.
#[derive(Clone, Debug)]
pub struct RaceOutcome<Shape = KernelConfig> {
    /// Every candidate that was timed: first the finishers by their medians, then the dropped ones.
    pub ranking: Vec<Ranked<Shape>>,
    /// Number of finishers.
    pub finished: usize,
    /// Candidates that were rejected, and why: wrong results, or too large for the device.
    pub refused: Vec<(Shape, String)>,
    /// Number of candidates not tried for lack of time.
    pub untried: usize,
    /// Number of shapes left out because they exceed the device's limits.
    pub beyond_limits: usize,
    /// Number of shapes left out because the model predicts them to be slow; `None` if the device's
    /// ceilings were not known.
    pub slow_by_model: Option<usize>,
}

impl<Shape> Default for RaceOutcome<Shape> {
    fn default() -> Self {
        let (ranking, refused) = Default::default();
        Self { ranking, finished: 0, refused, untried: 0, beyond_limits: 0, slow_by_model: None }
    }
}

impl<Shape: PartialEq> RaceOutcome<Shape> {
    /// The fastest.
    pub fn best(&self) -> Option<&Ranked<Shape>> {
        self.ranking.first()
    }

    /// The result of one shape.
    pub fn of(&self, config: &Shape) -> Option<&Ranked<Shape>> {
        self.ranking.iter().find(|ranked| ranked.config == *config)
    }

    /// The fastest shape, and the seconds with it and with `default`, if that was timed.
    pub fn gain(&self, default: &Shape) -> Option<(Shape, f64, f64)>
    where
        Shape: Copy,
    {
        let best = self.best()?;
        Some((best.config, best.secs(), self.of(default).unwrap_or(best).secs()))
    }

    /// Inserts the results of a later race, which included this race's best, ahead of this race's
    /// other results.
    pub(super) fn merge(&mut self, later: Self) {
        if later.finished == 0 {
            return;
        }
        let earlier = std::mem::replace(&mut self.ranking, later.ranking);
        for ranked in earlier {
            if self.of(&ranked.config).is_none() {
                self.ranking.push(ranked);
            }
        }
        self.finished = later.finished;
        self.refused.extend(later.refused);
        self.untried += later.untried;
    }
}

/// How much slower than the best a candidate may be after its first, second, ... sample. A first
/// sample suffers from cold caches and clocks; the margin shrinks for later ones.
const MARGINS: [f64; 6] = [2.0, 1.5, 1.25, 1.15, 1.08, 1.05];

/// Number of rounds; after the last, the medians decide.
const ROUNDS: usize = 9;

/// Fraction of the budget during which candidates may enter; the rest is for the rounds.
const ENTRY: f64 = 0.7;

/// Races `candidates`, the most promising first. The first is timed whatever the budget; others
/// enter, and rounds continue, only while there is time.
///
/// # Errors
///
/// [`Error::Device`] from the timer; the first rejection if no candidate at all can be timed.
pub async fn race<Shape: Copy>(
    timer: &mut impl Timer<Shape>,
    candidates: &[Shape],
    budget_secs: f64,
    watch: &mut RaceClock<'_>,
) -> Result<RaceOutcome<Shape>> {
    let begun = (watch.clock)();
    let spent = |watch: &RaceClock<'_>| (watch.clock)() - begun;
    let mut outcome = RaceOutcome::default();
    let mut running: Vec<Ranked<Shape>> = Vec::new();
    let mut dropped: Vec<Ranked<Shape>> = Vec::new();
    let mut refusal: Option<Error> = None;
    // Time that a candidate takes to enter, averaged over the last few.
    let mut entry_secs: f64 = 0.0;

    for (at, config) in candidates.iter().enumerate() {
        let late = spent(watch) + entry_secs > ENTRY * budget_secs;
        if !running.is_empty() && (late || !(watch.go_on)()) {
            outcome.untried = candidates.len() - at;
            break;
        }
        let before = spent(watch);
        let entered = match timer.prepare(config).await {
            Ok(()) => timer.sample(config).await,
            Err(error) => Err(error),
        };
        let took = spent(watch) - before;
        entry_secs = if at == 0 { took } else { 0.5 * (entry_secs + took) };
        match entered {
            Ok(secs) if secs > 0.0 => {
                running.push(Ranked { config: *config, samples: vec![secs] });
                drop_slow(timer, &mut running, &mut dropped, MARGINS[0]);
            }
            Ok(secs) => outcome.refused.push((*config, format!("it seems to take {secs} s"))),
            Err(error @ Error::Device(_)) => return Err(error),
            Err(error) => {
                timer.forget(config);
                outcome.refused.push((*config, error.to_string()));
                refusal.get_or_insert(error);
            }
        }
    }

    'rounds: for round in 1..ROUNDS {
        if running.len() < 2 {
            break;
        }
        for ranked in &mut running {
            if spent(watch) + ranked.least() > budget_secs || !(watch.go_on)() {
                break 'rounds;
            }
            ranked.samples.push(timer.sample(&ranked.config).await?);
        }
        let margin = MARGINS[round.min(MARGINS.len() - 1)];
        drop_slow(timer, &mut running, &mut dropped, margin);
    }

    for ranked in &running {
        timer.forget(&ranked.config);
    }
    let by_secs = |a: &Ranked<Shape>, b: &Ranked<Shape>| a.secs().total_cmp(&b.secs());
    running.sort_by(by_secs);
    dropped.sort_by(by_secs);
    outcome.finished = running.len();
    outcome.ranking = running;
    outcome.ranking.append(&mut dropped);
    match (outcome.ranking.is_empty(), refusal) {
        (true, Some(error)) => Err(error),
        _ => Ok(outcome),
    }
}

/// Drops candidates that are slower than the best by more than `margin`.
fn drop_slow<Shape>(
    timer: &mut impl Timer<Shape>,
    running: &mut Vec<Ranked<Shape>>,
    dropped: &mut Vec<Ranked<Shape>>,
    margin: f64,
) {
    let best = running.iter().map(Ranked::least).fold(f64::INFINITY, f64::min);
    let slow: Vec<Ranked<Shape>> =
        running.extract_if(.., |ranked| ranked.least() > margin * best).collect();
    for ranked in slow {
        timer.forget(&ranked.config);
        dropped.push(ranked);
    }
}
