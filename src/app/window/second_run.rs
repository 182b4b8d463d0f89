//! The second of two runs side by side, which has one other setting.
//!
//! Both have steps of the same length and one clock: each may be a few steps ahead of the other
//! while they move, as many as both take within about a frame, and both rest at the same time. All
//! that changes the run begins the second one again from the state of the first.

use std::sync::Arc;

use glam::DVec3;
use log::trace;

use super::trace::TRACE;
use crate::lookup;
use crate::panel::{ComparedRuns, History, quantity};
use gravitile::bodies::Bodies;
use gravitile::error::{Error, Result};
use gravitile::forces::Budget;
use gravitile::gpu::{FrameTimes, Gpu};
use gravitile::live::{Command, Event, Live, Report};
use gravitile::render::paths::{self, Paths};
use gravitile::settings::Comparison;
use gravitile::sim::Settings;

/// The part of a frame in which the second run steps, and that of its picture.
pub const SECOND_STEPS: &str = "steps of the second run";
pub const SECOND_PICTURE: &str = "second picture";
/// The most steps that one run may be ahead of the other.
const MOST_AHEAD: u64 = 4096;

/// The second run.
pub struct SecondRun {
    pub differs: Comparison,
    pub live: Live,
    /// Diagnostics of both runs since they parted.
    histories: [History; 2],
    pub paths: Paths,
    /// How many steps one run may be ahead of the other.
    ahead: u64,
    /// When both were last at one time, and the frames since.
    met: f64,
    frames: u32,
    /// Commands to both runs, carried out when both are at one time.
    pub waiting: Vec<Command>,
}

impl SecondRun {
    /// Opens a run of the same bodies as `first`, which was opened with the settings `requested`.
    /// `lasts` is the duration of the run.
    ///
    /// # Errors
    ///
    /// Several devices move the bodies; those of [`Comparison::over`] and [`Live::open`].
    pub async fn open(
        gpu: &Arc<Gpu>,
        differs: Comparison,
        (first, requested): (&Live, &Settings),
        bodies: Bodies,
        lasts: f64,
    ) -> Result<Self> {
        if !first.choice().others.is_empty() {
            let problem = "two runs side by side share one device: choose one (tab Kernel)";
            return Err(Error::Outside(problem.to_owned()));
        }
        // The engine chosen for the first run, and the method that was requested.
        let as_first = Settings { method: requested.method, ..first.settings().clone() };
        let mut settings = differs.over(&as_first)?;
        let is_same_engine =
            (settings.integrator, settings.method) == (as_first.integrator, as_first.method);
        if settings.integrator == as_first.integrator {
            settings.engine = first.choice().kind;
        }
        let choice = match is_same_engine {
            true => first.choice().clone(),
            false => lookup::choose_on(gpu, bodies.len(), &mut settings).await?,
        };
        let units_per_sec = first.keeper().units_per_sec;
        let mut live = Live::open(gpu, choice, bodies, settings, units_per_sec).await?;
        live.apply(Command::Pause(true))?;
        let met = live.status().time;
        let mut histories: [History; 2] = Default::default();
        for history in &mut histories {
            history.set_forces(&live.settings().field, live.len());
        }
        let paths = Paths::new(paths::FADES_WITHIN * lasts);
        Ok(Self { differs, live, histories, paths, ahead: 1, met, frames: 0, waiting: Vec::new() })
    }

    /// Whether the runs are at different times.
    pub fn is_apart(&self, first: &Live) -> bool {
        let away = first.status().time - self.live.status().time;
        // They differ by whole steps.
        away.abs() > 0.5 * first.dt().abs()
    }

    /// Sets what the first run follows, and returns its limit: a few steps beyond the second, and
    /// `limit` while time runs forwards.
    pub fn hold(&mut self, first: &mut Live, limit: Option<f64>) -> f64 {
        self.frames += 1;
        let (now, dt) = (self.live.status().time, first.dt());
        if !self.is_apart(first) && now != self.met {
            self.ahead = match self.frames {
                0..=2 => (2 * self.ahead).min(MOST_AHEAD),
                3 => self.ahead,
                _ => (self.ahead / 2).max(1),
            };
            (self.met, self.frames) = (now, 0);
        }
        first.follow(Some(now));
        // Energy errors are relative to the state in which the runs parted, and those of a pause
        // are of its state.
        let has_parted = self.histories.iter().all(|history| !history.reports().is_empty());
        if !has_parted || first.keeper().is_still() && !self.is_apart(first) {
            first.report_at_rest();
            self.live.report_at_rest();
        }
        let ahead = if has_parted && self.waiting.is_empty() { self.ahead } else { 0 };
        let until = now + ahead as f64 * dt;
        limit.filter(|_| dt > 0.0).map_or(until, |limit| limit.min(until))
    }

    /// Records a frame of the second run, which follows the first.
    pub fn record(
        &mut self,
        first: &Live,
        encoder: &mut wgpu::CommandEncoder,
        (secs, budget): (f64, Budget),
    ) -> Result<()> {
        self.live.follow(Some(first.allowed_until()));
        self.live.record(encoder, secs, budget).map(drop)
    }

    /// Learns from the device times of a frame.
    pub fn learn(&mut self, times: &FrameTimes) {
        if let Some(secs) = times.secs(SECOND_STEPS) {
            self.live.learn(&FrameTimes { number: times.number, parts: vec![("steps", secs)] });
        }
    }

    /// Takes in diagnostics of the first run.
    pub fn report_first(&mut self, report: &Report) {
        self.histories[0].report(report);
        self.trace_errors(report.time);
    }

    /// For tests: of two reports of one time, either may come first.
    fn trace_errors(&self, time: f64) {
        if let Some([first, second]) = self.energy_errors() {
            trace!(target: TRACE, "compares energy errors {first:e} {second:e} at {time}");
        }
    }

    /// Takes in results since the last frame.
    ///
    /// # Errors
    ///
    /// That of the run.
    pub fn poll(&mut self, bodies: usize) -> Result<()> {
        for event in self.live.poll() {
            match event {
                Event::Report(report) => {
                    self.histories[1].report(&report);
                    self.trace_errors(report.time);
                }
                // The run is restored from the first one's states.
                Event::State(_) | Event::Checkpoint(_) => {}
                Event::Failed(error) => return Err(error),
            }
        }
        let places = self.live.tracked().filter(|places| places.len() == bodies);
        if let Some(places) = places {
            let places: Vec<DVec3> = places.iter().map(|place| place.truncate()).collect();
            self.paths.take(self.live.status().time, &places);
        }
        Ok(())
    }

    /// The latest energy errors of both runs since they parted.
    fn energy_errors(&self) -> Option<[f64; 2]> {
        let [first, second] = &self.histories;
        Some([first.newest_compared()?.energy_error, second.newest_compared()?.energy_error])
    }

    /// A command for both runs, which are at one time.
    pub fn apply(&mut self, first: &mut Live, command: Command) -> Result<()> {
        let engine = |live: &Live| (live.choice().kind, live.choice().method);
        let is_of_both = match (&command, &self.differs) {
            (Command::Softening(_), Comparison::Softening(_)) => false,
            (Command::Kernel(_), _) => engine(first) == engine(&self.live),
            _ => true,
        };
        first.apply(command.clone())?;
        let applied = if is_of_both { self.live.apply(command.clone()) } else { Ok(()) };
        if let (Err(_), Command::Reverse) = (&applied, command) {
            first.apply(Command::Reverse)?;
        }
        applied
    }

    /// Names of both runs, by the setting in which they differ.
    fn names(&self, first: &Live, length: &str) -> [String; 2] {
        [first, &self.live].map(|live| match &self.differs {
            Comparison::Softening(_) => {
                format!("softening {}", quantity(live.settings().softening, length))
            }
            Comparison::Method(_) => live.choice().method.name().to_owned(),
            Comparison::Integrator(_) => live.settings().integrator.name.to_owned(),
        })
    }

    /// What the panel shows of both runs; lengths are in this unit.
    pub fn summary(&self, first: &Live, length: &str) -> ComparedRuns<'_> {
        ComparedRuns {
            differs: &self.differs,
            names: self.names(first, length),
            energy_errors: self.energy_errors(),
            histories: &self.histories,
        }
    }
}
