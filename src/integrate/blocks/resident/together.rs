//! The device on which bodies on individual steps live, or several of them that share their blocks.

use super::{Done, Resident};
use crate::error::Result;
use crate::integrate::blocks::{Accuracy, Schedule, Track};

/// The first device, and others that take the same steps.
pub(in super::super) struct Residents {
    first: Box<Resident>,
    beside: Vec<Resident>,
    words: String,
}

impl Residents {
    /// Bodies on one device.
    pub fn alone(first: Resident) -> Self {
        let words = "block steps on the device".to_owned();
        Self { first: Box::new(first), beside: Vec::new(), words }
    }

    /// With others that have the same bodies.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn with(self, beside: Vec<Resident>) -> Self {
        if beside.is_empty() {
            return self;
        }
        let (mut first, mut beside) = (self.first, beside);
        let members = crate::exchange::team(1 + beside.len(), None, first.gpu.patience());
        let all = std::iter::once(&mut *first).chain(&mut beside);
        all.zip(members).for_each(|(resident, member)| resident.share(member));
        let words =
            format!("block steps on {} devices, which share large blocks", 1 + beside.len());
        Self { first, beside, words }
    }

    /// Where the bodies are predicted and corrected, in words.
    pub fn describe(&self) -> &str {
        &self.words
    }

    /// [`Resident::run`] on all devices.
    pub async fn run(&mut self, end: u64) -> Result<Done> {
        #[cfg(not(target_arch = "wasm32"))]
        if !self.beside.is_empty() {
            return self.run_together(end);
        }
        self.first.run(end).await
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn run_together(&mut self, end: u64) -> Result<Done> {
        use crate::error::Error;
        let Self { first, beside, .. } = self;
        let run = |resident: &mut Resident| {
            let done = pollster::block_on(resident.run(end));
            // Who stops does so with all others.
            if let Err(error) = &done
                && !matches!(error, Error::Stopped)
            {
                resident.give_up(error);
            }
            done
        };
        let mut all: Vec<Result<Done>> = std::thread::scope(|scope| {
            let run = &run;
            let threads: Vec<_> =
                beside.iter_mut().map(|resident| scope.spawn(move || run(resident))).collect();
            let mut all = vec![run(first)];
            all.extend(threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }));
            all
        });
        // Who only heard that another gave up has nothing to say beside that one.
        let has_failed =
            |done: &Result<Done>| matches!(done, Err(error) if !matches!(error, Error::Member(_)));
        let told = all.iter().position(has_failed).unwrap_or(0);
        all.swap_remove(told)
    }

    /// [`Resident::turn_over`] on all devices.
    pub fn turn_over(&mut self) {
        self.first.turn_over();
        self.beside.iter_mut().for_each(Resident::turn_over);
    }

    /// [`Resident::download`]: all devices have the same.
    pub async fn download(
        &mut self,
        accuracy: &mut Accuracy,
        tracks: &mut [Track],
        schedule: &mut Schedule,
    ) -> Result<()> {
        self.first.download(accuracy, tracks, schedule).await
    }
}
