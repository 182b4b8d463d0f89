//! Messages between the worker and the frame loop; neither waits for the other.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

use super::cadence::CopyPurpose;
use super::command::KernelChange;
use super::points::PointArrays;
use super::{BlockFacts, Event};
use crate::gpu::DevicePart;
use crate::sim::VaryingStep;

/// The worker's progress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WorkerProgress {
    pub time: f64,
    pub steps: u64,
    pub interactions: u64,
    /// Seconds that the worker has spent in steps.
    pub busy_secs: f64,
    /// Whether the first forces have been computed.
    pub ready: bool,
}

/// What must be served before the next step.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Requests {
    /// The forces to continue with, if they are other ones.
    pub change: Option<KernelChange>,
    pub report: bool,
    pub bodies: Option<CopyPurpose>,
    pub blocks: bool,
}

pub(super) struct Inbox {
    /// The number of steps since the start up to which the worker may go.
    pub until: u64,
    pub dt: f64,
    pub requests: Requests,
    /// Whether the frame loop has taken the last state and requests another.
    pub points_requested: bool,
    pub quit: bool,
    /// Frames since the start.
    pub frames: u64,
    /// Wakes the worker, if it waits for a message.
    pub waiting: Option<Waker>,
}

#[derive(Default)]
pub(super) struct Outbox {
    pub progress: WorkerProgress,
    /// Filled on request, never twice for the same state.
    pub points: Option<PointArrays>,
    pub events: Vec<Event>,
    pub blocks: Option<BlockFacts>,
    /// The step of all bodies, if it varies.
    pub varying: Option<VaryingStep>,
    /// Steps done since the start.
    pub done: u64,
    /// The engine and its adapter in one line, once known.
    pub description: Option<String>,
    /// What each device computes, if there are several.
    pub parts: Option<Vec<DevicePart>>,
    /// Points to reuse, so that none are allocated per step.
    pub spare: Option<PointArrays>,
    /// Whether the worker has ended: with an error, or because its link was dropped.
    pub ended: bool,
}

impl Inbox {
    /// One that requests the first state, and allows no steps.
    pub fn new(dt: f64) -> Self {
        Self {
            until: 0,
            dt,
            requests: Requests::default(),
            points_requested: true,
            quit: false,
            frames: 0,
            waiting: None,
        }
    }

    /// Whether there is a request that must be served before the next step.
    pub fn has_request(&self) -> bool {
        self.requests != Requests::default()
    }

    /// Steps that the worker may take now, having taken `done`. `done` may be greater than `until`:
    /// the frame loop counts from the steps it knows of, and a pause allows none beyond those.
    pub fn due(&self, done: u64) -> u64 {
        if self.has_request() { 0 } else { self.until.saturating_sub(done) }
    }

    /// Whether the worker should stop between two steps.
    pub fn wants_worker(&self) -> bool {
        self.points_requested || self.quit || self.has_request()
    }
}

pub(super) struct Mailbox {
    pub inbox: Mutex<Inbox>,
    pub outbox: Mutex<Outbox>,
    /// Set when the link is dropped: forces being computed are cancelled.
    pub cancelled: Arc<AtomicBool>,
}

impl Mailbox {
    /// Changes the inbox and wakes the worker.
    pub fn send(&self, change: impl FnOnce(&mut Inbox)) {
        let waiting = {
            let mut inbox = lock(&self.inbox);
            change(&mut inbox);
            inbox.waiting.take()
        };
        if let Some(worker) = waiting {
            worker.wake();
        }
    }

    /// Waits until `find` returns a value for the inbox.
    pub async fn receive<T>(&self, mut find: impl FnMut(&mut Inbox) -> Option<T>) -> T {
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
    fn worker_ahead_of_a_pause_takes_no_step() {
        let mut inbox = Inbox { until: 3, ..Inbox::new(0.1) };
        assert_eq!([0, 3, 5].map(|done| inbox.due(done)), [3, 0, 0]);
        inbox.requests.report = true;
        assert_eq!(inbox.due(0), 0, "requests come before steps");
    }
}
