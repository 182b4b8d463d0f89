//! A barrier of threads that a thread which gives up takes down for all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Result;

/// Threads meet here, again and again.
pub(super) struct Barrier {
    threads: usize,
    /// For so long a thread looks again and again before it sleeps: being woken takes longer than most waits.
    patience: Duration,
    /// Changes with every meeting, and when somebody gives up: what can be looked at without a lock.
    news: AtomicUsize,
    state: Mutex<State>,
    met: Condvar,
}

#[derive(Default)]
struct State {
    arrived: usize,
    meetings: u64,
    /// Why somebody has given up.
    dead: Option<String>,
}

impl Barrier {
    pub fn new(threads: usize, patience: Duration) -> Self {
        let (news, state, met) = Default::default();
        Self { threads, patience, news, state, met }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.news.fetch_add(1, Ordering::Release);
        self.met.notify_all();
    }

    /// Waits for all threads.
    ///
    /// Errors: one of them has given up instead.
    pub fn wait(&self) -> Result<()> {
        let mut state = self.state();
        let (meeting, news) = (state.meetings, self.news.load(Ordering::Acquire));
        if let Some(why) = &state.dead {
            return Err(super::given_up(why));
        }
        state.arrived += 1;
        if state.arrived == self.threads {
            state.arrived = 0;
            state.meetings += 1;
            self.tell();
            return Ok(());
        }
        drop(state);
        if !self.patience.is_zero() {
            let begun = Instant::now();
            while self.news.load(Ordering::Acquire) == news && begun.elapsed() < self.patience {
                std::hint::spin_loop();
            }
        }
        let waits = |state: &mut State| state.meetings == meeting && state.dead.is_none();
        let state = self.met.wait_while(self.state(), waits);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        match &state.dead {
            Some(why) if state.meetings == meeting => Err(super::given_up(why)),
            _ => Ok(()),
        }
    }

    /// Takes it down: all who wait, or come later, hear why. The first reason stays.
    pub fn abort(&self, why: &str) {
        let mut state = self.state();
        state.dead.get_or_insert_with(|| why.to_owned());
        self.tell();
    }
}
