//! Thread barrier that any thread can abort for all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Result;

/// Reusable barrier for a fixed number of threads.
pub(super) struct Barrier {
    threads: usize,
    /// How long a thread spins before it sleeps: waking a thread takes longer than most waits.
    spin: Duration,
    /// Incremented when a round completes or a thread aborts; polled without a lock.
    version: AtomicUsize,
    state: Mutex<BarrierState>,
    changed: Condvar,
}

#[derive(Default)]
struct BarrierState {
    arrived: usize,
    rounds: u64,
    /// The reason of the first abort.
    aborted: Option<String>,
}

impl Barrier {
    pub fn new(threads: usize, spin: Duration) -> Self {
        let (version, state, changed) = Default::default();
        Self { threads, spin, version, state, changed }
    }

    fn state(&self) -> MutexGuard<'_, BarrierState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        self.version.fetch_add(1, Ordering::Release);
        self.changed.notify_all();
    }

    /// Waits for all threads.
    ///
    /// # Errors
    /// Another thread has called [`Barrier::abort`].
    pub fn wait(&self) -> Result<()> {
        let mut state = self.state();
        let (round, version) = (state.rounds, self.version.load(Ordering::Acquire));
        if let Some(why) = &state.aborted {
            return Err(super::aborted(why));
        }
        state.arrived += 1;
        if state.arrived == self.threads {
            state.arrived = 0;
            state.rounds += 1;
            self.notify();
            return Ok(());
        }
        drop(state);
        if !self.spin.is_zero() {
            let begun = Instant::now();
            while self.version.load(Ordering::Acquire) == version && begun.elapsed() < self.spin {
                std::hint::spin_loop();
            }
        }
        let is_waiting =
            |state: &mut BarrierState| state.rounds == round && state.aborted.is_none();
        let state = self.changed.wait_while(self.state(), is_waiting);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        match &state.aborted {
            Some(why) if state.rounds == round => Err(super::aborted(why)),
            _ => Ok(()),
        }
    }

    /// Aborts: all current and later waits fail with this reason. The first reason counts.
    pub fn abort(&self, why: &str) {
        let mut state = self.state();
        state.aborted.get_or_insert_with(|| why.to_owned());
        self.notify();
    }
}
