//! Individual steps in powers of two, taken in blocks (McMillan 1986; Makino 1991), on the host or
//! on the engine's device (`resident/`).
//!
//! Each body has its own time and step. The bodies whose steps end first are the block: all bodies
//! are predicted to that time, the forces on the block are computed, the block is corrected, and
//! each of its bodies gets its next step. Steps are `dt_max` / 2^k, and a body's time is a multiple
//! of its step, so that blocks are large; once every `dt_max` all bodies are at the same time.
//!
//! Times are integers that count the shortest step within the present `dt_max`: nothing drifts, and
//! steps do not depend on how long the run is.
//!
//! The rounding errors of positions and velocities are stored, and the attraction of close pairs
//! takes them into account (`near`).
//!
//! At times other than multiples of `dt_max`, output is a Taylor prediction that changes no
//! trajectory. Snapshots hold times, steps and derivatives, so that a run resumes with the same
//! bits (`restart`). On the host, a position or velocity is two f64; the second holds what rounding
//! the first lost. Engines get the first, and `near` adds the effect of the second to the forces of
//! close pairs. Energies are computed in f64 whatever the precision of the engine: potentials from
//! f32 pairs err by more than the orbits.
//!
//! On the host, forces come from any `ForceEngine`. If that is a GPU in double-single or f64, the
//! bodies are moved there.

mod arrays;
mod backend;
mod coincident;
mod messages;
mod near;
mod passage;
mod ranks;
mod resident;
mod restart;
mod schedule;
mod scheme;
mod settings;
mod start;
mod stats;

pub use passage::Passage;
pub use restart::{PREFIX, Restart};
pub(crate) use schedule::{PERIOD, common as common_step};
pub use scheme::{
    Accuracy, Predicted, Scheme, SinkForces, Track, TrackChange, aarseth, beyond, ratio,
};
pub use settings::{BlockSettings, LEVELS, power_of_two_below};
pub use stats::{BlockStats, SharedBlocks};

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::{ForceEngine, Forces, Identity, Noise, Order, Outputs, Precision};
use arrays::Arrays;
use backend::BlocksBackend;
use schedule::Schedule;

/// The properties of the bodies, besides their motion, that determine forces; constant over all
/// steps.
#[derive(Clone, Copy)]
pub struct Attractors<'a> {
    /// Gravitating masses G m, one per body.
    pub mass: &'a [f64],
    /// Plummer softening length, >= 0.
    pub softening: f64,
    /// The bodies' ids, for messages.
    pub id: &'a [u64],
}

/// All bodies, on individual steps.
pub struct BlockSteps {
    scheme: &'static dyn Scheme,
    accuracy: Accuracy,
    tracks: Vec<Track>,
    schedule: Schedule,
    /// Time, in units of `dt_max`, at which the first period began.
    origin: f64,
    stats: BlockStats,
    passage_record: passage::PassageRecord,
    at: Arrays,
    sinks: Arrays,
    active: Vec<u32>,
    found: Forces,
    /// Host or device.
    backend: BlocksBackend,
    /// Whether the device holds a later state of the bodies than `tracks` and `schedule`.
    is_behind_device: bool,
}

impl BlockSteps {
    /// Starts with `bodies`, all at time `now` (in the caller's unit, since the beginning of the
    /// run): computes their derivatives and first steps.
    ///
    /// # Errors
    /// Settings out of range; two bodies, not both massless, at the same position while eps = 0; a
    /// first step below the shortest.
    pub async fn start(
        scheme: &'static dyn Scheme,
        settings: BlockSettings,
        bodies: &Bodies,
        now: f64,
        field: &Attractors<'_>,
        engine: &mut dyn ForceEngine,
    ) -> Result<Self> {
        settings.validate()?;
        coincident::check_distinct_positions(&bodies.position, field)?;
        let (tracks, evaluations) = start::tracks(&settings, bodies, field, engine).await?;
        let n = tracks.len();
        let accuracy = Accuracy {
            settings,
            least_acceleration: least_acceleration(&tracks),
            noise: engine.precision().noise(n),
        };
        let mut steps = Vec::with_capacity(n);
        for track in &tracks {
            let criterion = scheme.first_step(track, &accuracy) / settings.dt_max * PERIOD as f64;
            steps.push(schedule::first(criterion).unwrap_or(0));
        }
        let origin = now / settings.dt_max;
        let mut made = Self::on_host(scheme, accuracy, tracks, Schedule::new(steps), origin);
        made.stats.interactions = evaluations * (n as u64).pow(2);
        if let Some(i) = made.schedule.step.iter().position(|&step| step == 0) {
            made.schedule.step.fill(1);
            return Err(made.too_short(i, field));
        }
        Ok(made)
    }

    fn on_host(
        scheme: &'static dyn Scheme,
        accuracy: Accuracy,
        tracks: Vec<Track>,
        schedule: Schedule,
        origin: f64,
    ) -> Self {
        Self {
            scheme,
            accuracy,
            tracks,
            schedule,
            origin,
            stats: BlockStats::default(),
            passage_record: passage::PassageRecord::default(),
            at: Arrays::default(),
            sinks: Arrays::default(),
            active: Vec::new(),
            found: Forces::default(),
            backend: BlocksBackend::default(),
            is_behind_device: false,
        }
    }

    /// Restarts the present scheme with `bodies` at time `now` and other attractors.
    ///
    /// # Errors
    /// As [`BlockSteps::start`].
    pub async fn restarted(
        &self,
        bodies: &Bodies,
        now: f64,
        field: &Attractors<'_>,
        engine: &mut dyn ForceEngine,
    ) -> Result<Self> {
        let mut made =
            Self::start(self.scheme, self.accuracy.settings, bodies, now, field, engine).await?;
        made.stats.add(&self.stats);
        Ok(made)
    }

    /// Takes all blocks that end up to `time` (in the caller's unit, since the beginning of the
    /// run).
    ///
    /// # Errors
    /// A step that would become shorter than the shortest; a force that is not finite. The bodies
    /// are then at the end of the last whole block; on a device, those of the failed block that
    /// could be corrected are at its end.
    pub async fn advance(
        &mut self,
        time: f64,
        field: &Attractors<'_>,
        engine: &mut dyn ForceEngine,
    ) -> Result<()> {
        self.accuracy.noise = engine.precision().noise(self.tracks.len());
        let (period, offset) = self.place_of(time);
        if matches!(self.backend, BlocksBackend::Device(_)) {
            return self.advance_on_device(period, offset, field).await;
        }
        loop {
            let next = self.schedule.next();
            let due = self.schedule.period < period
                || (self.schedule.period == period && next as f64 <= offset);
            if !due {
                return Ok(());
            }
            self.block(next, field, engine).await?;
        }
    }

    /// [`BlockSteps::advance`] to `time`, or not at all if it is interrupted ([`crate::stop`]).
    ///
    /// # Errors
    /// Those of [`BlockSteps::advance`]; [`Error::Stopped`].
    pub async fn advance_whole(
        &mut self,
        time: f64,
        field: &Attractors<'_>,
        engine: &mut dyn ForceEngine,
    ) -> Result<()> {
        if std::mem::take(&mut self.is_behind_device) {
            self.move_to_device(field, engine).await;
        }
        let least = self.accuracy.least_acceleration;
        let before = (self.tracks.clone(), self.schedule.clone(), least);
        let advanced = self.advance(time, field, engine).await;
        if matches!(advanced, Err(Error::Stopped)) {
            (self.tracks, self.schedule, self.accuracy.least_acceleration) = before;
            self.is_behind_device = self.is_on_device();
        }
        advanced
    }

    /// Writes the motion of all bodies at `time`, from their Taylor series, into `bodies` and
    /// `acceleration`. At whole multiples of `dt_max` all have been corrected to it, and nothing is
    /// extrapolated.
    pub fn synchronise(&self, time: f64, bodies: &mut Bodies, acceleration: &mut Vec<DVec3>) {
        let (period, offset) = self.place_of(time);
        let now = (period as f64 - self.schedule.period as f64) * PERIOD as f64 + offset;
        acceleration.resize(self.tracks.len(), DVec3::ZERO);
        for (i, track) in self.tracks.iter().enumerate() {
            let at = track.at((now - self.schedule.time[i] as f64) * self.tick());
            (bodies.position[i], bodies.velocity[i]) = (at.position, at.velocity);
            acceleration[i] = at.acceleration;
        }
    }

    /// The latest time to which any body has been corrected.
    pub fn time(&self) -> f64 {
        let within = self.schedule.now() as f64 / PERIOD as f64;
        (self.origin + self.schedule.period as f64 + within) * self.accuracy.settings.dt_max
    }

    /// Statistics of the blocks so far.
    pub fn stats(&self) -> &BlockStats {
        &self.stats
    }

    /// The closest passage since the last call; none if the bodies live on a device.
    pub fn take_passage(&mut self) -> Option<Passage> {
        self.passage_record.take()
    }

    /// The number of bodies with a step of `dt_max` / 2^k, as element k, up to the shortest in use.
    pub fn steps_by_level(&self) -> Vec<usize> {
        self.schedule.by_level()
    }

    /// The highest derivative of the acceleration in the scheme.
    pub fn order(&self) -> Order {
        self.scheme.order()
    }

    /// The accuracy it runs with.
    pub fn settings(&self) -> &BlockSettings {
        &self.accuracy.settings
    }

    /// The state from which a later run continues to the same bits.
    pub fn restart(&self) -> Restart {
        let mut restart =
            Restart::of(&self.schedule, self.accuracy.least_acceleration, &self.tracks);
        restart.facts.extend(self.passage_record.fact());
        // Times and steps of bodies are fractions of it.
        let dt_max = self.accuracy.settings.dt_max;
        restart.facts.insert(format!("{PREFIX}dt_max"), dt_max.to_string());
        restart
    }

    /// Resumes from what [`BlockSteps::restart`] returned in a run that began at time 0.
    ///
    /// # Errors
    /// Numbers that no such run can have.
    pub fn resume(
        scheme: &'static dyn Scheme,
        settings: BlockSettings,
        restart: &Restart,
    ) -> Result<Self> {
        settings.validate()?;
        let (schedule, least_acceleration, tracks) = restart.read()?;
        // The engine's noise is set at the next step.
        let accuracy = Accuracy { settings, least_acceleration, noise: Noise::default() };
        let made = Self::on_host(scheme, accuracy, tracks, schedule, 0.0);
        Ok(Self { passage_record: passage::PassageRecord::find(&restart.facts), ..made })
    }

    /// The shortest step, as a time.
    fn tick(&self) -> f64 {
        self.accuracy.settings.dt_max / PERIOD as f64
    }

    /// The period that contains a time, and the offset within it in shortest steps.
    fn place_of(&self, time: f64) -> (u64, f64) {
        let periods = (time / self.accuracy.settings.dt_max - self.origin).max(0.0);
        (periods.floor() as u64, periods.fract() * PERIOD as f64)
    }

    /// Takes one block: the bodies whose steps end at `next`.
    async fn block(
        &mut self,
        next: u64,
        field: &Attractors<'_>,
        engine: &mut dyn ForceEngine,
    ) -> Result<()> {
        let (scheme, n, tick) = (self.scheme, self.tracks.len(), self.tick());
        let (tracks, schedule) = (&self.tracks, &self.schedule);
        let since = |i: usize| (next - schedule.time[i]) as f64 * tick;
        self.at.fill(n, scheme.order(), |i| {
            let h = since(i);
            tracks[i].after(&scheme.predict(&tracks[i], h), h)
        });
        engine.set_sources(&self.at.sources(field.mass))?;
        schedule.ending_at(next, &mut self.active);
        let outputs = Outputs::only(scheme.order());
        if self.active.len() == n {
            let sinks = self.at.sinks(Identity::Offset(0));
            engine.answer(&sinks, field.softening, &outputs, &mut self.found).await?;
        } else {
            let (at, active) = (&self.at, &self.active);
            self.sinks.fill(active.len(), scheme.order(), |k| at.get(active[k] as usize));
            let sinks = self.sinks.sinks(Identity::Each(active));
            engine.answer(&sinks, field.softening, &outputs, &mut self.found).await?;
        }
        self.stats.note(self.active.len(), n);
        // With a less precise engine, its own errors exceed those of rounding.
        if engine.precision() == Precision::Double {
            let exact = |i: usize| {
                let change = scheme.predict(&tracks[i], since(i));
                let moved = tracks[i].moved(&change, since(i));
                Track { acceleration: change.acceleration, ..moved }
            };
            near::correct_close_pairs(
                &mut self.found,
                &self.active,
                tracks,
                &self.at,
                exact,
                field,
            );
        }

        let found = &self.found;
        let pull = |k: usize| SinkForces {
            acceleration: found.acceleration[k],
            jerk: found.jerk[k],
            snap: found.snap.get(k).copied().unwrap_or(DVec3::ZERO),
        };
        if let Some((k, _)) = found.lost() {
            let i = self.active[k] as usize;
            return Err(self.lost(i, field));
        }
        let mut too_short = None;
        let mut shortest = None;
        for (k, i) in self.active.iter().map(|&i| i as usize).enumerate() {
            let h = since_of(&self.schedule, i, next, tick);
            let (track, criterion) = scheme.correct(&self.tracks[i], h, &pull(k), &self.accuracy);
            if self.accuracy.noise != Noise::default() {
                let quiet = Accuracy { noise: Noise::default(), ..self.accuracy };
                let (_, plain) = scheme.correct(&self.tracks[i], h, &pull(k), &quiet);
                self.stats.compare(criterion / h, plain / h);
            }
            self.tracks[i] = track;
            if !self.schedule.step_done(i, next, criterion / tick) {
                too_short.get_or_insert(i);
            }
            let step = self.schedule.step[i];
            if self.passage_record.is_shorter(step)
                && shortest.is_none_or(|(shorter, _)| step < shorter)
            {
                shortest = Some((step, i));
            }
        }
        if let Some((step, i)) = shortest {
            let time = self.time();
            self.passage_record.note(i, step, time, &self.at, field.id);
        }
        if self.schedule.turn_over() {
            self.accuracy.least_acceleration = least_acceleration(&self.tracks);
        }
        match too_short {
            Some(i) => Err(self.too_short(i, field)),
            None => Ok(()),
        }
    }
}

/// Time from body `i`'s own to `next`.
fn since_of(schedule: &Schedule, i: usize, next: u64, tick: f64) -> f64 {
    (next - schedule.time[i]) as f64 * tick
}

/// [`scheme::LEAST`] of the mean acceleration.
fn least_acceleration(tracks: &[Track]) -> f64 {
    let sum: f64 = tracks.iter().map(|track| track.acceleration.length()).sum();
    scheme::LEAST * sum / tracks.len().max(1) as f64
}
