//! The main loop of a recorded run: steps, a snapshot, a row of the energy log, repeated. Files are
//! written in the background while the next steps are taken.

use std::sync::Arc;

use super::resuming::{ENERGY_INITIAL, INTERRUPTED, PASSAGE, set_restart};
use super::spread::Spread;
use super::writer::{LARGE, PendingOutput, RecordWriter, RowSource, WriteResult};
use super::{EnergyLog, EnergyWarning, RunFolder, StepRow};
use crate::diagnostics::Diagnostics;
use crate::error::{Error, Result};
use crate::integrate::blocks::{Passage, Restart};
use crate::sim::{Simulation, State};
use crate::snapshot::{ListedFile, Snapshot};

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Total energy at the start of the run; `None` if it was stopped before that was computed, or
    /// if it has been lost.
    pub energy_initial: Option<f64>,
    /// Diagnostics of the last state; `None` if they were interrupted as well.
    pub last: Option<Diagnostics>,
    /// Whether the run reached its last step.
    pub complete: bool,
    /// See [`Simulation::closer_than_f32`], at the end.
    pub closer_than_f32: usize,
}

/// Runs `sim` from its present state to the end of the folder's plan. `template` is a snapshot
/// whose units, attributes and columns are repeated in every snapshot. `watch` is called with the
/// number of steps done so far and stops the run by returning false: a last snapshot is then
/// written at that step. [`crate::stop`] also stops it, without waiting for long steps or
/// diagnostics. `warn` is called for each warning of the log.
///
/// # Errors
///
/// Those of steps and diagnostics, whose messages explain how to continue; a file that cannot be
/// written.
pub fn run(
    sim: &mut Simulation,
    folder: &RunFolder,
    log: &mut EnergyLog,
    template: &Snapshot,
    watch: &mut dyn FnMut(u64) -> bool,
    warn: &mut dyn FnMut(&EnergyWarning),
) -> Result<Outcome> {
    // The snapshot of an interruption has no row and is removed after the next snapshot.
    let obsolete = template.attributes.contains_key(INTERRUPTED).then(|| sim.steps());
    let has_row = obsolete.is_some() || log.ends_with(sim.steps())?;
    let mut energy_initial = log.initial();
    let spread = Spread::of(sim, folder.plan.files);
    let (ended, near, written) = std::thread::scope(|scope| {
        let mut writer = RecordWriter::begin(
            scope,
            (folder, sim.settings().clone()),
            log,
            template,
            obsolete,
            spread,
        )?;
        let first = (has_row, &mut energy_initial);
        let ended = steps(sim, folder, template, first, &mut writer, watch, warn);
        // While the last files are written, unless ranks count together: one may have failed to
        // write.
        let near = match &ended {
            Ok(EndOfSteps { last, .. }) if !sim.is_divided() => {
                Some(closer_than_f32(sim, last.as_ref()))
            }
            _ => None,
        };
        Ok((ended, near, writer.finish()))
    })?;
    let WriteResult { warnings, last, energy } = written;
    // Of a run that had no later snapshot.
    let at_start = matches!(ended, Ok(EndOfSteps { awaits_energy: true, .. }));
    energy_initial = energy_initial.or(energy.filter(|_| at_start));
    warnings.iter().for_each(&mut *warn);
    // Its file is named by the rank that could not write it.
    if let Err(Failure::Rank(rank)) = ended
        && spread.rank != rank
    {
        return Err(Error::Member(format!("rank {rank} could not write its file of a snapshot")));
    }
    // Errors of earlier writes take precedence.
    let last = last.map_err(|error| with_resume_hint(folder, error))?;
    let (logged, state) = match ended {
        Ok(EndOfSteps { logged, last, .. }) => (logged, last),
        Err(Failure::Step(error)) => return Err(stopped(sim, folder, template, error)),
        Err(Failure::Other(error)) => return Err(with_resume_hint(folder, error)),
        // The writer's own error has been returned.
        Err(Failure::Rank(_)) => (false, None),
    };
    let near = near.unwrap_or_else(|| closer_than_f32(sim, state.as_ref()));
    let near = near.map_err(|error| with_resume_hint(folder, error))?;
    // A run without steps left writes no row, and neither does an interrupted one.
    let last = last.filter(|(step, _)| *step == sim.steps()).map(|(_, found)| found);
    let last = match (last, logged) {
        (None, true) => {
            let last = unless_stopped(sim.diagnostics());
            last.map_err(|error| with_resume_hint(folder, error))?
        }
        (last, logged) => last.filter(|_| logged),
    };
    let complete = logged && sim.steps() >= folder.plan.steps;
    Ok(Outcome { energy_initial, last, complete, closer_than_f32: near })
}

/// [`Simulation::closer_than_f32`] at the end, of the last state if it was read.
fn closer_than_f32(sim: &mut Simulation, last: Option<&Arc<PendingOutput>>) -> Result<usize> {
    match last {
        Some(state) => sim.closer_than_f32(&state.snapshot.bodies),
        None => sim.bodies().and_then(|bodies| sim.closer_than_f32(&bodies)),
    }
}

/// The end of the steps.
struct EndOfSteps {
    /// Whether every state has its row: false if diagnostics were interrupted.
    logged: bool,
    /// Whether the energy of the first row was not received yet.
    awaits_energy: bool,
    /// The last state, if it was read.
    last: Option<Arc<PendingOutput>>,
}

/// Why a run ended early.
enum Failure {
    /// A step failed.
    Step(Error),
    /// This rank could not write its file of a snapshot.
    Rank(usize),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// Queues a snapshot. If it is spread over files, waits until all ranks have theirs on disk, and
/// queues the index.
fn write(
    sim: &Simulation,
    folder: &RunFolder,
    writer: &RecordWriter,
    state: &Arc<PendingOutput>,
) -> Result<(), Failure> {
    writer.write(state);
    if Spread::of(sim, folder.plan.files).files == 1 {
        return Ok(());
    }
    // Empty for a rank that failed.
    let message = writer.listed().map_or(Vec::new(), |own| {
        let own: &[u8] = bytemuck::cast_slice(&own);
        [&[1][..], own].concat()
    });
    let all = match &sim.choice().ranks {
        Some(ranks) => ranks.gather_messages(&message)?,
        None => vec![message],
    };
    if let Some(rank) = all.iter().position(Vec::is_empty) {
        return Err(Failure::Rank(rank));
    }
    let each = all.iter().flat_map(|all| bytemuck::pod_collect_to_vec::<u8, ListedFile>(&all[1..]));
    let mut listed: Vec<ListedFile> = each.collect();
    listed.sort_unstable_by_key(ListedFile::first);
    writer.write_index(state, listed);
    Ok(())
}

/// The input of a row of the log. If the bodies are distributed over ranks, all ranks compute the
/// row collectively, before the next step.
fn row(sim: &Simulation, state: &PendingOutput, potential: Vec<f64>) -> Result<RowSource> {
    match sim.is_divided() {
        true => sim.diagnose_by(&state.snapshot.bodies, &potential).map(RowSource::Found),
        false => Ok(RowSource::Potentials(potential)),
    }
}

/// Takes steps to the end of the plan. States at each snapshot are read here, and written by
/// `writer` during the next steps. `first`: whether the present state needs no row, and the energy
/// at the start.
fn steps(
    sim: &mut Simulation,
    folder: &RunFolder,
    template: &Snapshot,
    (has_row, energy_initial): (bool, &mut Option<f64>),
    writer: &mut RecordWriter,
    watch: &mut dyn FnMut(u64) -> bool,
    warn: &mut dyn FnMut(&EnergyWarning),
) -> Result<EndOfSteps, Failure> {
    let plan = &folder.plan;
    let mut continues = true;
    let mut awaits_energy = false;
    let mut last = None;
    if !has_row {
        // If the run was interrupted between a snapshot and its row, the snapshot has the passage.
        let noted = template.attributes.get(PASSAGE).and_then(|text| text.parse().ok());
        let step_row = StepRow::of(sim.varying());
        let state = match folder.take_first() {
            Some(snapshot) => {
                let first = Arc::new(PendingOutput { step: sim.steps(), snapshot, step_row });
                write(sim, folder, writer, &first)?;
                first
            }
            None => {
                let State { steps, time, bodies, .. } = sim.state()?;
                let snapshot = Snapshot::new(bodies, time);
                Arc::new(PendingOutput { step: steps, snapshot, step_row })
            }
        };
        let steps = state.step;
        let potential = unless_stopped(sim.potentials())?;
        let passage = passage(sim).map(|now| now.or(noted));
        match potential {
            Some(potential) => {
                awaits_energy = steps == 0;
                writer.log(&state, row(sim, &state, potential)?, passage);
            }
            None => return Ok(EndOfSteps { logged: false, awaits_energy, last: None }),
        }
    }
    while continues && sim.steps() < plan.steps && !writer.has_failed() {
        let begun = sim.steps();
        // The next multiple, so that after a stop in between later snapshots fall on the same
        // steps.
        let next =
            ((begun / plan.steps_per_snapshot + 1) * plan.steps_per_snapshot).min(plan.steps);
        // Among ranks that step together, only one receives the stop: it leaves between two
        // snapshots, while the others wait for it in a step, rather than in the middle of an
        // exchange.
        let is_shared = sim.choice().is_shared();
        let mut watch = |done| watch(begun + done) && (is_shared || !writer.has_failed());
        let done = match sim.step_watched(next - begun, &mut watch) {
            Ok(done) => done,
            Err(Error::Stopped) => sim.steps() - begun,
            Err(error) => return Err(Failure::Step(error)),
        };
        if done == 0 {
            break;
        }
        let is_interrupted = begun + done < next;
        continues = !is_interrupted && watch(next - begun);
        drop(last.take());
        if sim.len() >= LARGE {
            writer.wait();
        }
        let state = sim.state()?;
        let step = state.steps;
        let mut snapshot = snapshot(state, template);
        // Without a row the passage counts for the next one.
        let passage = if is_interrupted { None } else { passage(sim) };
        set_restart(&mut snapshot, sim.restart());
        let mut attribute = |name: &str, value| snapshot.attributes.insert(name.to_owned(), value);
        if let Some(Some(closest)) = &passage {
            attribute(PASSAGE, closest.to_string());
        }
        if std::mem::take(&mut awaits_energy) {
            *energy_initial = writer.energy();
        }
        if let Some(energy) = energy_initial {
            attribute(ENERGY_INITIAL, energy.to_string());
        }
        if is_interrupted {
            attribute(INTERRUPTED, true.to_string());
        }
        let step_row = StepRow::of(sim.varying());
        let state = Arc::new(PendingOutput { step, snapshot, step_row });
        write(sim, folder, writer, &state)?;
        last = Some(Arc::clone(&state));
        if is_interrupted {
            break;
        }
        // A missing row is written when the run is resumed.
        match unless_stopped(sim.potentials())? {
            Some(potential) => writer.log(&state, row(sim, &state, potential)?, passage),
            None => return Ok(EndOfSteps { logged: false, awaits_energy, last }),
        }
        writer.warnings().for_each(|warning| warn(&warning));
    }
    Ok(EndOfSteps { logged: true, awaits_energy, last })
}

/// The closest passage since the last row; `None` if there are no individual steps.
fn passage(sim: &mut Simulation) -> Option<Option<Passage>> {
    sim.blocks().is_some().then(|| sim.take_passage())
}

/// `None` if it was interrupted.
fn unless_stopped<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Stopped) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds instructions for resuming the run to an error that the request did not cause.
fn with_resume_hint(folder: &RunFolder, mut error: Error) -> Error {
    let resume_hint = match folder.has_begun() {
        true => format!(
            "continue from the last snapshot with: gravitile resume {}",
            folder.path.display()
        ),
        false => "begin the run again, which has no snapshot yet".to_owned(),
    };
    match &mut error {
        Error::Device(problem) | Error::Member(problem) => {
            problem.push_str(&format!("; {resume_hint}"));
        }
        // A file that cannot be written: the disk is full, or the folder was removed.
        Error::File { problem, .. } => {
            problem.push_str(&format!("; once that is fixed, {resume_hint}"))
        }
        Error::Io { source, .. } => {
            let problem = format!("{source}; once that is fixed, {resume_hint}");
            *source = std::io::Error::new(source.kind(), problem);
        }
        _ => {}
    }
    error
}

/// Saves the state at which `error` stopped the bodies, if it is complete; returns the error with
/// the path.
fn stopped(sim: &mut Simulation, folder: &RunFolder, template: &Snapshot, error: Error) -> Error {
    let mut error = with_resume_hint(folder, error);
    if !matches!(error, Error::Body { .. }) {
        return error;
    }
    let Ok(state) = sim.state() else { return error };
    let time = state.time;
    let mut state = snapshot(state, template);
    set_restart(&mut state, Restart::default());
    let saved = folder.write_stopped(&state);
    if let Error::Body { problem, .. } = &mut error {
        problem.push_str(&match saved {
            Ok(path) => format!("; the last state, t = {time}, is in {}", path.display()),
            Err(error) => format!("; the last state could not be saved: {error}"),
        });
    }
    error
}

/// A state as a snapshot, with everything else taken from `template`.
fn snapshot(state: State, template: &Snapshot) -> Snapshot {
    let mut attributes = template.attributes.clone();
    attributes.insert("step".to_owned(), state.steps.to_string());
    Snapshot {
        bodies: state.bodies,
        time: state.time,
        units: template.units.clone(),
        attributes,
        extra: template.extra.clone(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
