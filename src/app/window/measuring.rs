//! Measurements in the background while the simulation is stopped: the adapter's score, a kernel
//! against f64, the fastest kernel.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use web_time::Instant;

use super::machine;
use crate::lookup;
use crate::panel::{Panel, ScoreForm, TrialForm};
use gravitile::error::{Error, Result};
use gravitile::forces::direct::gpu::{KernelConfig, own};
use gravitile::gpu::Gpu;
use gravitile::live::Background;
use gravitile::measure::{
    Machine, RecordedDevice, Run, accesses, cases_around, check_case, steps_of_score,
};
use gravitile::tune::tune_steps;

/// Longest duration of a step of the score in a window; slower ones are left out.
const MOST_SECS: f64 = 5.0;
/// Duration of a race of kernel shapes.
const RACE_SECS: f64 = 20.0;

/// A measurement in progress.
pub struct Measuring {
    making: Background<Show>,
    shared: Arc<MeasuringState>,
    is_score: bool,
}

/// Shows a result in the panel.
type Show = Box<dyn FnOnce(&mut Panel) + Send>;

/// The result of a measurement that was stopped.
fn nothing() -> Show {
    Box::new(|_| ())
}

#[derive(Default)]
struct MeasuringState {
    progress: Mutex<(f64, String)>,
    stop: AtomicBool,
}

impl MeasuringState {
    fn progress(&self) -> MutexGuard<'_, (f64, String)> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports progress; returns whether to continue.
    fn report_progress(&self, part: f64, doing: &str) -> bool {
        *self.progress() = (part, doing.to_owned());
        !self.stop.load(Ordering::Relaxed)
    }
}

async fn score(gpu: Arc<Gpu>, shared: Arc<MeasuringState>) -> Result<Show> {
    let mut device = RecordedDevice::of(&gpu.adapter);
    let mut machine = Machine::read(Some(&gpu));
    if let Some((browser, agent)) = machine::browser() {
        (device.driver, machine.system) = (browser, Some(agent));
    }
    let known = lookup::known();
    let run = Run::begin(crate::COMMIT);
    let mut going = |part: f64, doing: &str| shared.report_progress(part, doing);
    let records =
        steps_of_score(&gpu, &run, (device, machine), &known, MOST_SECS, &mut going).await?;
    Ok(Box::new(move |panel| panel.score = ScoreForm::of(&records)))
}

async fn race(gpu: Arc<Gpu>, shared: Arc<MeasuringState>, n: usize) -> Result<Show> {
    let begun = Instant::now();
    let doing = format!("racing with {n} bodies");
    let go_on = || shared.report_progress(begun.elapsed().as_secs_f64() / RACE_SECS, &doing);
    // No ceilings: measuring them takes longer than trying the shapes that they would exclude.
    let tuned = tune_steps(&gpu, n, RACE_SECS, &mut |_| None, &go_on).await?;
    if !go_on() {
        return Ok(nothing());
    }
    if let (Some(store), Some(choice)) = (lookup::store(), tuned.choice(&gpu)) {
        store.keep(choice)?;
    }
    Ok(Box::new(move |panel| panel.trial = TrialForm::of_race(&tuned)))
}

async fn check(gpu: Arc<Gpu>, shared: Arc<MeasuringState>, config: KernelConfig) -> Result<Show> {
    let cases = cases_around(config);
    let mut rows = Vec::with_capacity(cases.len());
    for (done, case) in cases.iter().enumerate() {
        let doing = format!("{} sinks, {} sources", case.sinks, case.sources);
        if !shared.report_progress(done as f64 / cases.len() as f64, &doing) {
            return Ok(nothing());
        }
        rows.push(check_case(&gpu, *case).await?);
    }
    let own = own::loaded().filter(|_| config.own);
    let accesses = own.and_then(|(_, text)| accesses("kernel", &text).ok());
    let findings = accesses.map(|found| found.findings()).unwrap_or_default();
    Ok(Box::new(move |panel| panel.trial = TrialForm::of_check(&rows, &findings)))
}

impl Measuring {
    /// Starts the measurement `work`.
    fn start<F>(
        gpu: &Arc<Gpu>,
        is_score: bool,
        work: impl FnOnce(Arc<Gpu>, Arc<MeasuringState>) -> F + Send + 'static,
    ) -> Result<Self>
    where
        F: Future<Output = Result<Show>> + 'static,
    {
        let (gpu, shared) = (Arc::clone(gpu), Arc::<MeasuringState>::default());
        let for_task = Arc::clone(&shared);
        let making = Background::start("measuring", move || work(gpu, for_task))?;
        Ok(Self { making, shared, is_score })
    }

    /// Starts to measure the score.
    pub fn score(gpu: &Arc<Gpu>) -> Result<Self> {
        Self::start(gpu, true, score)
    }

    /// Starts a race of kernels for `n` bodies.
    pub fn race(gpu: &Arc<Gpu>, n: usize) -> Result<Self> {
        Self::start(gpu, false, move |gpu, shared| race(gpu, shared, n))
    }

    /// Starts to compare the kernel of this shape with f64.
    pub fn check(gpu: &Arc<Gpu>, config: KernelConfig) -> Result<Self> {
        if config.is_in_one_workgroup() {
            let allowed = "an ordinary force kernel; 'gravitile check' can check this one";
            return Err(Error::value("the kernel to check", "steps in one workgroup", allowed));
        }
        Self::start(gpu, false, move |gpu, shared| check(gpu, shared, config))
    }

    /// Stops at the next sample.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Shows the progress or the result in the panel. Returns `Some` at the end, with the error of
    /// the measurement if there is one.
    pub fn poll(&self, panel: &mut Panel) -> Option<Result<()>> {
        let Some(made) = self.making.take() else {
            let (part, doing) = self.shared.progress().clone();
            match self.is_score {
                true => panel.score = ScoreForm::Measuring { part, doing },
                false => panel.trial = TrialForm::Going { part, doing },
            }
            return None;
        };
        match self.is_score {
            true => panel.score = ScoreForm::default(),
            false => panel.trial = TrialForm::default(),
        }
        Some(made.map(|show| show(panel)))
    }
}
