//! The background thread that writes a run's files while the next steps are taken. Snapshots and
//! rows are written one after another, in the order in which they are queued.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::spread::Spread;
use super::{EnergyLog, EnergyWarning, RunFolder, StepRow};
use crate::diagnostics::Diagnostics;
use crate::error::{Error, Result};
use crate::integrate::blocks::Passage;
use crate::sim::Settings;
use crate::snapshot::{ListedFile, Snapshot};

/// Queue length: the snapshot and the row of one state. With the state being written and the one
/// just read, at most three are in memory; of [`LARGE`] states one.
const WAITING: usize = 2;
/// Number of bodies from which a state is read only once the one before is written.
pub(super) const LARGE: usize = if cfg!(test) { 64 } else { 1 << 22 };

/// The bodies after a step.
pub(super) struct PendingOutput {
    pub step: u64,
    pub snapshot: Snapshot,
    /// The step of all bodies, if it varies.
    pub step_row: Option<StepRow>,
}

/// What a row of the log is made from.
pub(super) enum RowSource {
    /// The potentials of all bodies.
    Potentials(Vec<f64>),
    /// What all ranks have found, each from some of the bodies.
    Found(Diagnostics),
}

enum Job {
    /// A whole snapshot, or this rank's files of it.
    Snapshot(Arc<PendingOutput>),
    /// The index of a snapshot whose files are on disk.
    Index(Arc<PendingOutput>, Vec<ListedFile>),
    /// A state, and the closest passage since the last row.
    Row(Arc<PendingOutput>, RowSource, Option<Option<Passage>>),
}

/// The result of everything that was queued.
pub(super) struct WriteResult {
    /// Warnings that have not been reported yet.
    pub warnings: Vec<EnergyWarning>,
    /// The last row's step and diagnostics, if there was one; or the error of a failed write.
    pub last: Result<Option<(u64, Diagnostics)>>,
    /// The energy of the first row whose energy was not received before.
    pub energy: Option<f64>,
}

/// The handle of the thread.
pub(super) struct RecordWriter<'scope> {
    jobs: SyncSender<Job>,
    warnings: Receiver<EnergyWarning>,
    /// The energies of rows, sent before they are written.
    energies: Receiver<f64>,
    /// A message for each job that is done, and the number of those queued for which there was
    /// none.
    done: Receiver<()>,
    queued: Cell<usize>,
    /// The files of each snapshot that this rank has written.
    listed: Receiver<Vec<ListedFile>>,
    failed: Arc<AtomicBool>,
    thread: ScopedJoinHandle<'scope, Result<Option<(u64, Diagnostics)>>>,
}

impl<'scope> RecordWriter<'scope> {
    /// Starts the thread. It removes the snapshot of the step `obsolete` once a later one is
    /// written. If a snapshot is several files, its index follows them.
    ///
    /// # Errors
    ///
    /// The system cannot create a thread.
    pub fn begin<'env>(
        scope: &'scope Scope<'scope, 'env>,
        (folder, settings): (&'env RunFolder, Settings),
        log: &'env mut EnergyLog,
        template: &'env Snapshot,
        mut obsolete: Option<u64>,
        spread: Spread,
    ) -> Result<Self> {
        let (jobs, taken) = sync_channel(WAITING);
        let (sender, warnings) = channel();
        let (energy_sender, energies) = channel();
        let (done_sender, done) = channel();
        let (listed_sender, listed) = channel();
        let failed = Arc::new(AtomicBool::new(false));
        let failed_flag = Arc::clone(&failed);
        let work = move || {
            let mut last = None;
            let mut work = |job: Job| -> Result<()> {
                match job {
                    Job::Snapshot(state) => {
                        let PendingOutput { step, snapshot, .. } = &*state;
                        if spread.files > 1 {
                            let own = folder.write_files((*step, snapshot), &spread)?;
                            let _ = listed_sender.send(own);
                            return Ok(());
                        }
                        folder.write(*step, snapshot)?;
                        obsolete.take().map_or(Ok(()), |step| folder.remove(step))
                    }
                    Job::Index(state, listed) => {
                        folder.write_index(state.step, &state.snapshot, &listed)?;
                        obsolete.take().map_or(Ok(()), |step| folder.remove(step))
                    }
                    Job::Row(state, row, passage) => {
                        let PendingOutput { step, snapshot, step_row } = &*state;
                        let found = match row {
                            RowSource::Found(found) => found,
                            RowSource::Potentials(potential) => {
                                settings.diagnose(&snapshot.bodies, &potential)?
                            }
                        };
                        // After a failed run there may be no receiver.
                        let _ = energy_sender.send(found.energy());
                        let warning =
                            log.append(*step, snapshot.time, &found, template, passage, *step_row)?;
                        last = Some((*step, found));
                        if let Some(warning) = warning {
                            let _ = sender.send(warning);
                        }
                        Ok(())
                    }
                }
            };
            let worked = taken.iter().try_for_each(|job| {
                work(job)?;
                let _ = done_sender.send(());
                Ok(())
            });
            // Stop writing: files after a missing one would be ignored on resume.
            failed_flag.store(worked.is_err(), Ordering::Release);
            worked.map(|()| last)
        };
        let thread = Builder::new().name("run's files".to_owned()).spawn_scoped(scope, work);
        let thread = thread.map_err(|source| Error::io("write into", &folder.path, source))?;
        let queued = Cell::new(0);
        Ok(Self { jobs, warnings, energies, done, queued, listed, failed, thread })
    }

    /// Whether a write has failed, so that nothing more will be written.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Queues a snapshot; waits if the queue is full.
    pub fn write(&self, state: &Arc<PendingOutput>) {
        self.hand_over(Job::Snapshot(Arc::clone(state)));
    }

    /// Waits until this rank's files of the snapshot that was queued last are on disk; `None` if
    /// one could not be written.
    pub fn listed(&self) -> Option<Vec<ListedFile>> {
        self.listed.recv().ok()
    }

    /// Queues the index of a snapshot whose files are on disk.
    pub fn write_index(&self, state: &Arc<PendingOutput>, listed: Vec<ListedFile>) {
        self.hand_over(Job::Index(Arc::clone(state), listed));
    }

    /// Queues a row of the log.
    pub fn log(
        &self,
        state: &Arc<PendingOutput>,
        row: RowSource,
        passage: Option<Option<Passage>>,
    ) {
        self.hand_over(Job::Row(Arc::clone(state), row, passage));
    }

    /// Waits until everything queued so far is written, or writing has failed.
    pub fn wait(&self) {
        while self.queued.get() > 0 && self.done.recv().is_ok() {
            self.queued.set(self.queued.get() - 1);
        }
    }

    /// The energy of the next row, once it is computed; `None` if writing failed before.
    pub fn energy(&self) -> Option<f64> {
        self.energies.recv().ok()
    }

    fn hand_over(&self, job: Job) {
        self.queued.set(self.queued.get() + 1);
        // Fails only if writing has failed, which `finish` reports.
        let _ = self.jobs.send(job);
    }

    /// Warnings since the last call.
    pub fn warnings(&self) -> impl Iterator<Item = EnergyWarning> + '_ {
        self.warnings.try_iter()
    }

    /// Waits until everything is written.
    pub fn finish(self) -> WriteResult {
        let Self { jobs, warnings, energies, thread, .. } = self;
        drop(jobs);
        let last = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        WriteResult {
            warnings: warnings.try_iter().collect(),
            last,
            energy: energies.try_iter().next(),
        }
    }
}
