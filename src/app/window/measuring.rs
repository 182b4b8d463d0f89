//! Measuring the score beside the window, while the simulation rests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::frame::Frames;
use super::machine;
use crate::app::lookup;
use crate::app::panel::ScoreForm;
use crate::error::Result;
use crate::gpu::Gpu;
use crate::live::Beside;
use crate::measure::{Device, Machine, Record, steps_of_score};

/// A step that would take longer is left out: nobody waits for it in front of a window.
const MOST_SECS: f64 = 5.0;

/// The score in the making.
pub struct Measuring {
    making: Beside<Vec<Record>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    told: Mutex<(f64, String)>,
    stop: AtomicBool,
}

impl Shared {
    fn told(&self) -> MutexGuard<'_, (f64, String)> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Measuring {
    fn begin(gpu: &Arc<Gpu>) -> Result<Self> {
        let (gpu, shared) = (Arc::clone(gpu), Arc::<Shared>::default());
        let told = Arc::clone(&shared);
        let measure = move || async move {
            let mut going = |part: f64, doing: &str| {
                *told.told() = (part, doing.to_owned());
                !told.stop.load(Ordering::Relaxed)
            };
            let mut device = Device::of(&gpu.adapter);
            let mut machine = Machine::read(Some(&gpu));
            if let Some((browser, agent)) = machine::browser() {
                (device.driver, machine.system) = (browser, Some(agent));
            }
            let known = lookup::known();
            steps_of_score(&gpu, (device, machine), &known, MOST_SECS, &mut going).await
        };
        Ok(Self { making: Beside::start("measuring", measure)?, shared })
    }
}

impl Frames {
    /// Begins to measure, unless that goes on already.
    pub(super) fn measure_score(&mut self) -> Result<()> {
        if self.measuring.is_none() {
            self.measuring = Some(Measuring::begin(&self.output.screen.gpu)?);
            if let Some(session) = &mut self.simulated.session {
                session.live.rest();
            }
        }
        Ok(())
    }

    /// Breaks measuring off, at its next sample.
    pub(super) fn stop_measuring(&mut self) {
        if let Some(measuring) = &self.measuring {
            measuring.shared.stop.store(true, Ordering::Relaxed);
        }
    }

    /// What has come of it since the last frame.
    pub(super) fn take_score(&mut self) {
        let Some(measuring) = &self.measuring else { return };
        let Some(made) = measuring.making.take() else {
            let (part, doing) = measuring.shared.told().clone();
            self.panel.score = ScoreForm::Measuring { part, doing };
            return;
        };
        self.measuring = None;
        if let Some(session) = &mut self.simulated.session {
            session.live.go_on();
        }
        self.panel.score = ScoreForm::default();
        match made {
            Ok(records) => self.panel.score = ScoreForm::of(&records),
            Err(error) => self.output.say_error(&error),
        }
        self.still.disturb();
    }
}
