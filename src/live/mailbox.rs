//! What a worker and its watcher tell each other, each at any time.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use super::cadence::Purpose;
use super::points::Points;
use super::{BlockFacts, Event};
use crate::forces::direct::gpu::KernelRequest;
use crate::gpu::DevicePart;

/// How far the worker is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Progress {
    pub time: f64,
    pub steps: u64,
    pub interactions: u64,
    /// Seconds that the worker has spent in steps.
    pub busy_secs: f64,
    /// Whether the first forces are known.
    pub ready: bool,
}

pub(super) struct Inbox {
    /// How many steps since the start may be done.
    pub until: u64,
    pub dt: f64,
    pub softening: Option<f64>,
    pub kernel: Option<KernelRequest>,
    pub report: bool,
    pub bodies: Option<Purpose>,
    pub blocks: bool,
    /// Whether the watcher has taken the last state and wants another.
    pub wanted: bool,
    pub quit: bool,
    /// The watcher's frames since the start.
    pub frames: u64,
    /// The worker, if it waits for news.
    pub waiting: Option<Waker>,
}

#[derive(Default)]
pub(super) struct Outbox {
    pub progress: Progress,
    /// Filled when wanted, never twice for the same state.
    pub points: Option<Points>,
    pub events: Vec<Event>,
    pub blocks: Option<BlockFacts>,
    /// Steps done since the start.
    pub done: u64,
    /// What the worker computes with and where, once it knows.
    pub description: Option<String>,
    /// What each device does, if several compute.
    pub parts: Option<Vec<DevicePart>>,
    /// A set of points to fill again, so that none is allocated per step.
    pub spare: Option<Points>,
    /// Whether the worker has ended: with an error, or because nobody watches.
    pub ended: bool,
}

impl Inbox {
    /// Whether something was asked for that comes before the next step.
    pub fn news(&self) -> bool {
        let changes = self.softening.is_some() || self.kernel.is_some();
        changes || self.report || self.bodies.is_some() || self.blocks
    }

    /// Steps that a worker may take now, having taken `done`. It may be ahead of what was allowed last: the watcher counts
    /// from the steps it knows of, and a pause allows nothing beyond those.
    pub fn due(&self, done: u64) -> u64 {
        if self.news() { 0 } else { self.until.saturating_sub(done) }
    }

    /// Whether the worker should stop between two steps.
    pub fn wants_worker(&self) -> bool {
        self.wanted || self.quit || self.news()
    }
}

pub(super) struct Shared {
    pub inbox: Mutex<Inbox>,
    pub outbox: Mutex<Outbox>,
    /// Set when nobody watches any more: forces being computed should be given up.
    pub left: Arc<AtomicBool>,
}

impl Shared {
    /// Puts something into the inbox and wakes the worker.
    pub fn tell(&self, change: impl FnOnce(&mut Inbox)) {
        let waiting = {
            let mut inbox = lock(&self.inbox);
            change(&mut inbox);
            inbox.waiting.take()
        };
        if let Some(worker) = waiting {
            worker.wake();
        }
    }

    /// Waits until the inbox has what `find` looks for.
    pub async fn news<T>(&self, mut find: impl FnMut(&mut Inbox) -> Option<T>) -> T {
        std::future::poll_fn(|context| {
            let mut inbox = lock(&self.inbox);
            match find(&mut inbox) {
                Some(found) => Poll::Ready(found),
                None => {
                    inbox.waiting = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_is_ahead_of_a_pause_takes_no_step() {
        let mut inbox = Inbox {
            until: 3,
            dt: 0.1,
            softening: None,
            kernel: None,
            report: false,
            bodies: None,
            blocks: false,
            wanted: true,
            quit: false,
            frames: 0,
            waiting: None,
        };
        assert_eq!([0, 3, 5].map(|done| inbox.due(done)), [3, 0, 0]);
        inbox.report = true;
        assert_eq!(inbox.due(0), 0, "what was asked for comes first");
    }
}
