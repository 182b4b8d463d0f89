//! The thread that writes a run's files while the next steps are taken. Snapshots and rows are
//! written one after another, in the order in which they are queued.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::{EnergyLog, Jump, RunFolder};
use crate::diagnostics::{Diagnostics, diagnose};
use crate::error::{Error, Result};
use crate::integrate::blocks::Passage;
use crate::snapshot::Snapshot;

/// Queue length: the snapshot and the row of one state. With the state being written and the one
/// just read, at most three are in memory.
const WAITING: usize = 2;

/// The bodies after a step.
pub(super) struct State {
    pub step: u64,
    pub snapshot: Snapshot,
}

enum Job {
    Snapshot(Arc<State>),
    /// A state with the potentials of all bodies, and the closest passage since the last row.
    Row(Arc<State>, Vec<f64>, Option<Option<Passage>>),
}

/// The result of everything that was queued.
pub(super) struct Written {
    /// Jumps of the energy that have not been reported.
    pub jumps: Vec<Jump>,
    /// The last row's diagnostics, if there was one; or why something could not be written.
    pub last: Result<Option<Diagnostics>>,
}

/// The handle of the thread.
pub(super) struct Writer<'scope> {
    jobs: SyncSender<Job>,
    jumps: Receiver<Jump>,
    failed: Arc<AtomicBool>,
    thread: ScopedJoinHandle<'scope, Result<Option<Diagnostics>>>,
}

impl<'scope> Writer<'scope> {
    /// Starts the thread.
    ///
    /// Errors: the system cannot create one.
    pub fn begin<'env>(
        scope: &'scope Scope<'scope, 'env>,
        folder: &'env RunFolder,
        log: &'env mut EnergyLog,
        template: &'env Snapshot,
    ) -> Result<Self> {
        let (jobs, taken) = sync_channel(WAITING);
        let (told, jumps) = channel();
        let failed = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&failed);
        let work = move || {
            let mut last = None;
            let worked =
                taken.iter().try_for_each(|job| work(job, folder, log, template, &told, &mut last));
            // Nothing more is written: files after a missing one would not be found either.
            seen.store(worked.is_err(), Ordering::Release);
            worked.map(|()| last)
        };
        let thread = Builder::new().name("run's files".to_owned()).spawn_scoped(scope, work);
        let thread = thread.map_err(|source| Error::io("write into", &folder.path, source))?;
        Ok(Self { jobs, jumps, failed, thread })
    }

    /// Whether writing has failed, so that nothing more will be written.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Queues a snapshot; waits if the queue is full.
    pub fn write(&self, state: &Arc<State>) {
        self.hand_over(Job::Snapshot(Arc::clone(state)));
    }

    /// Queues a row of the log.
    pub fn log(&self, state: &Arc<State>, potential: Vec<f64>, passage: Option<Option<Passage>>) {
        self.hand_over(Job::Row(Arc::clone(state), potential, passage));
    }

    fn hand_over(&self, job: Job) {
        // Fails only if writing has failed, which `finish` reports.
        let _ = self.jobs.send(job);
    }

    /// Jumps of the energy seen since the last call.
    pub fn jumps(&self) -> impl Iterator<Item = Jump> + '_ {
        self.jumps.try_iter()
    }

    /// Waits until everything is written.
    pub fn finish(self) -> Written {
        let Self { jobs, jumps, thread, .. } = self;
        drop(jobs);
        let last = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Written { jumps: jumps.try_iter().collect(), last }
    }
}

fn work(
    job: Job,
    folder: &RunFolder,
    log: &mut EnergyLog,
    template: &Snapshot,
    told: &Sender<Jump>,
    last: &mut Option<Diagnostics>,
) -> Result<()> {
    match job {
        Job::Snapshot(state) => folder.write(state.step, &state.snapshot),
        Job::Row(state, potential, passage) => {
            let State { step, snapshot } = &*state;
            let found = diagnose(&snapshot.bodies, &potential)?;
            let jump = log.append(*step, snapshot.time, &found, template, passage)?;
            *last = Some(found);
            if let Some(jump) = jump {
                // At the end of a failed run there is no receiver.
                let _ = told.send(jump);
            }
            Ok(())
        }
    }
}
