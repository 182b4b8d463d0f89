//! Work without the interpreter's lock, which Ctrl-C ends.
//!
//! Python notes signals at any time, but handles them only in its main thread, with the lock held.
//! So long work runs on a thread of its own, while the calling thread looks for signals every
//! [`TURN`]. A signal sets the flag that engines obey ([`gravitile::stop`]); work that does not end
//! within [`PATIENCE`] is left to end by itself, unobserved.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, Builder, ThreadId};
use std::time::Duration;

use gravitile::error::{Error, Result};
use gravitile::stop;
use pyo3::prelude::*;

use crate::errors::{GravitileError, raised};

/// How often signals and progress are looked at.
const TURN: Duration = Duration::from_millis(50);

/// How long interrupted work may take to end.
const PATIENCE: Duration = Duration::from_millis(700);

/// How long a thread may take to obtain the lock and give it back, while nothing else runs.
const HANDOVER: Duration = Duration::from_millis(20);

/// The thread in which the interpreter ends, once it does.
static ENDING: OnceLock<ThreadId> = OnceLock::new();

/// Number of threads in [`detached`]; changes with the lock held.
static DETACHED: AtomicUsize = AtomicUsize::new(0);

/// Called each [`TURN`] with the lock held; an error ends the work.
pub type Tick<'a> = dyn FnMut(Python<'_>) -> PyResult<()> + 'a;

/// Work without the lock. Threads that are here when the interpreter ends stay here: before 3.14,
/// Python ends those that take the lock then by unwinding their frames. A wheel linked by zig has
/// an unwinder of its own, and its frames crash.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    DETACHED.fetch_add(1, Ordering::Relaxed);
    let done = py.detach(|| {
        let done = work();
        while ENDING.get().is_some_and(|ending| *ending != thread::current().id()) {
            thread::park();
        }
        done
    });
    DETACHED.fetch_sub(1, Ordering::Relaxed);
    done
}

/// The interpreter is about to end: called at exit. Threads on their way to the lock can still
/// obtain it.
#[pyfunction]
pub fn end(py: Python<'_>) {
    let is_first = ENDING.set(thread::current().id()).is_ok();
    if is_first && DETACHED.load(Ordering::Relaxed) > 0 {
        py.detach(|| thread::sleep(HANDOVER));
    }
}

/// Work of a few milliseconds, on the calling thread: a thread of its own would cost 20 us or more.
///
/// # Errors
/// Those of the work; a panic; a process forked from one that had used the package.
pub fn briefly<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    check_process()?;
    let done = detached(py, || catch_unwind(AssertUnwindSafe(work)));
    settled(done)
}

/// Work of any length.
///
/// # Errors
/// Those of [`briefly`]; KeyboardInterrupt, or what another handler of signals raises; those of
/// `tick`.
pub fn attend<T, W>(py: Python<'_>, work: W, tick: &mut Tick<'_>) -> PyResult<T>
where
    T: Send + 'static,
    W: FnOnce() -> Result<T> + Send + 'static,
{
    check_process()?;
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::new((Mutex::new(None), Condvar::new()));
    let (theirs, heeded) = (Arc::clone(&shared), Arc::clone(&flag));
    let begun = Builder::new().name("gravitile".to_owned()).spawn(move || {
        stop::heed(&heeded);
        let done = catch_unwind(AssertUnwindSafe(work));
        *theirs.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        theirs.1.notify_all();
    });
    begun.map_err(|problem| {
        GravitileError::new_err(format!("the system cannot start a thread: {problem}"))
    })?;
    let wait = |at_most: Duration| {
        let (done, condition) = &*shared;
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = condition.wait_timeout_while(done, at_most, |done| done.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    };
    loop {
        if let Some(done) = detached(py, || wait(TURN)) {
            // A signal of the last moment is raised by the interpreter itself.
            return settled(done);
        }
        let Err(interruption) = py.check_signals().and_then(|()| tick(py)) else { continue };
        flag.store(true, Ordering::Relaxed);
        detached(py, || wait(PATIENCE));
        return Err(interruption);
    }
}

/// The result of work that may have panicked.
fn settled<T>(done: std::thread::Result<Result<T>>) -> PyResult<T> {
    match done {
        Ok(done) => done.map_err(raised),
        Err(panic) => {
            let text = format!("internal error, please report it: {}", text_of(&*panic));
            Err(GravitileError::new_err(text))
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// Threads and devices do not survive fork(), and a lock held by another thread then is never
/// released: only the process that worked first may work.
fn check_process() -> PyResult<()> {
    static OWNER: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id();
    match OWNER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != own => Err(GravitileError::new_err(format!(
            "this process was forked from process {owner}, which had used gravitile: use the start method 'spawn', \
             or use gravitile only after the fork"
        ))),
        _ => Ok(()),
    }
}

/// The error for an object that a panic left behind.
pub fn unusable<T>(_: PoisonError<T>) -> Error {
    Error::Outside("the simulation is unusable after an internal error".to_owned())
}
