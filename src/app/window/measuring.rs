//! Measurements in the background while the simulation is stopped: the adapter's score, a kernel
//! against f64, the fastest kernel.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use web_time::Instant;

use super::frame::Frames;
use super::machine;
use crate::lookup;
use crate::panel::{ScoreForm, TrialForm};
use gravitile::error::{Error, Result};
use gravitile::gpu::Gpu;
use gravitile::live::Background;
use gravitile::measure::{Device, Machine, Record, Row, cases_around, check_soon, steps_of_score};
use gravitile::tune::{Tuned, tune_steps};

/// Longest duration of a step of the score in a window; slower ones are left out.
const MOST_SECS: f64 = 5.0;
/// Duration of a race of kernel shapes.
const RACE_SECS: f64 = 20.0;

/// A measurement in progress.
pub struct Measuring {
    making: Background<Found>,
    shared: Arc<Shared>,
    is_score: bool,
}

/// The result.
enum Found {
    Score(Vec<Record>),
    Checked(Vec<Row>),
    Tuned(Box<Tuned>),
    /// Nothing: the measurement was stopped.
    Nothing,
}

#[derive(Default)]
struct Shared {
    progress: Mutex<(f64, String)>,
    stop: AtomicBool,
}

impl Shared {
    fn progress(&self) -> MutexGuard<'_, (f64, String)> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports progress; returns whether to continue.
    fn report_progress(&self, part: f64, doing: &str) -> bool {
        *self.progress() = (part, doing.to_owned());
        !self.stop.load(Ordering::Relaxed)
    }
}

async fn score(gpu: Arc<Gpu>, shared: Arc<Shared>) -> Result<Found> {
    let mut device = Device::of(&gpu.adapter);
    let mut machine = Machine::read(Some(&gpu));
    if let Some((browser, agent)) = machine::browser() {
        (device.driver, machine.system) = (browser, Some(agent));
    }
    let known = lookup::known();
    let mut going = |part: f64, doing: &str| shared.report_progress(part, doing);
    let records = steps_of_score(&gpu, (device, machine), &known, MOST_SECS, &mut going).await?;
    Ok(Found::Score(records))
}

async fn race(gpu: Arc<Gpu>, shared: Arc<Shared>, n: usize) -> Result<Found> {
    let begun = Instant::now();
    let doing = format!("racing with {n} bodies");
    let go_on = || shared.report_progress(begun.elapsed().as_secs_f64() / RACE_SECS, &doing);
    // No ceilings: measuring them takes longer than trying the shapes that they would exclude.
    let tuned = tune_steps(&gpu, n, RACE_SECS, &mut |_| None, &go_on).await?;
    if !go_on() {
        return Ok(Found::Nothing);
    }
    if let (Some(store), Some(choice)) = (lookup::store(), tuned.choice(&gpu)) {
        store.keep(choice)?;
    }
    Ok(Found::Tuned(Box::new(tuned)))
}

impl Frames {
    /// Starts the measurement `work`, unless another one is running.
    fn measure<F>(
        &mut self,
        is_score: bool,
        work: impl FnOnce(Arc<Gpu>, Arc<Shared>) -> F + Send + 'static,
    ) -> Result<()>
    where
        F: Future<Output = Result<Found>> + 'static,
    {
        if self.measuring.is_some() {
            return Err(Error::Outside("a measurement is already running".to_owned()));
        }
        let (gpu, shared) = (Arc::clone(&self.output.screen.gpu), Arc::<Shared>::default());
        let for_task = Arc::clone(&shared);
        let making = Background::start("measuring", move || work(gpu, for_task))?;
        self.measuring = Some(Measuring { making, shared, is_score });
        if let Some(session) = &mut self.simulated.session {
            session.live.rest();
        }
        Ok(())
    }

    /// Starts to measure the score.
    pub(super) fn measure_score(&mut self) -> Result<()> {
        self.measure(true, score)
    }

    /// Starts a race of kernels for the current number of bodies.
    pub(super) fn tune_kernel(&mut self) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        let n = session.live.len();
        self.measure(false, move |gpu, shared| race(gpu, shared, n))
    }

    /// Starts to compare the current kernel with f64.
    pub(super) fn check_kernel(&mut self) -> Result<()> {
        let session = self.simulated.session.as_ref();
        let Some(config) = session.and_then(|session| session.live.config()) else { return Ok(()) };
        if config.is_in_one_workgroup() {
            let allowed = "an ordinary force kernel; 'gravitile check' can check this one";
            return Err(Error::value("the kernel to check", "steps in one workgroup", allowed));
        }
        self.measure(false, move |gpu, shared| async move {
            let cases = cases_around(config);
            let mut rows = Vec::with_capacity(cases.len());
            for (done, case) in cases.iter().enumerate() {
                let doing = format!("{} sinks, {} sources", case.sinks, case.sources);
                if !shared.report_progress(done as f64 / cases.len() as f64, &doing) {
                    return Ok(Found::Nothing);
                }
                rows.push(check_soon(&gpu, *case).await?);
            }
            Ok(Found::Checked(rows))
        })
    }

    /// Stops measuring at its next sample.
    pub(super) fn stop_measuring(&mut self) {
        if let Some(measuring) = &self.measuring {
            measuring.shared.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Takes in progress and results since the last frame.
    pub(super) fn take_measured(&mut self) {
        let Some(measuring) = &self.measuring else { return };
        let Some(made) = measuring.making.take() else {
            let (part, doing) = measuring.shared.progress().clone();
            match measuring.is_score {
                true => self.panel.score = ScoreForm::Measuring { part, doing },
                false => self.panel.trial = TrialForm::Going { part, doing },
            }
            return;
        };
        match measuring.is_score {
            true => self.panel.score = ScoreForm::default(),
            false => self.panel.trial = TrialForm::default(),
        }
        self.measuring = None;
        if let Some(session) = &mut self.simulated.session {
            session.live.go_on();
        }
        match made {
            Ok(Found::Score(records)) => self.panel.score = ScoreForm::of(&records),
            Ok(Found::Checked(rows)) => self.panel.trial = TrialForm::of_check(&rows),
            Ok(Found::Tuned(tuned)) => self.panel.trial = TrialForm::of_race(&tuned),
            Ok(Found::Nothing) => {}
            Err(error) => self.output.show_error(&error),
        }
        self.still.disturb();
    }
}
