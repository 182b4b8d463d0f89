//! Interrupting long work.
//!
//! A force evaluation or a step of a million bodies may take minutes. Engines check for a request
//! between pieces of work (milliseconds each) and return [`Error::Stopped`], leaving the caller's
//! state as it was before. One request stops the whole process, as Ctrl-C does; another stops what
//! one thread has begun ([`heed`]), even if other threads share that work ([`of_caller`]).

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Number of checks until engines give up: 0 is now, [`NEVER`] is no request.
static LOOKS_LEFT: AtomicU64 = AtomicU64::new(NEVER);

const NEVER: u64 = u64::MAX;

/// With `true`, all engines give up what they are doing from now on; with `false`, they work again.
pub fn all_work(stop: bool) {
    LOOKS_LEFT.store(if stop { 0 } else { NEVER }, Ordering::SeqCst);
}

/// Engines give up after `looks` more checks: tests stop at a place in the work, not at a time.
#[doc(hidden)]
pub fn all_work_after(looks: u64) {
    LOOKS_LEFT.store(looks, Ordering::SeqCst);
}

/// The number of checks left of those given to [`all_work_after`].
#[doc(hidden)]
pub fn looks_left() -> u64 {
    LOOKS_LEFT.load(Ordering::SeqCst)
}

thread_local! {
    /// See `heed`.
    static HEEDED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// From now on engines called by this thread also give up while `flag` is set. One flag per thread:
/// the latest counts.
pub fn heed(flag: &Arc<AtomicBool>) {
    HEEDED.with_borrow_mut(|heeded| *heeded = Some(Arc::clone(flag)));
}

/// A request to stop work that one thread began and others share.
#[derive(Clone, Debug)]
pub struct OfCaller(Option<Arc<AtomicBool>>);

/// The request for work that this thread begins; all threads that take part check it.
pub fn of_caller() -> OfCaller {
    OfCaller(HEEDED.with_borrow(Clone::clone))
}

impl OfCaller {
    /// Whether the work should stop.
    pub fn is_requested(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) || is_requested_of_all()
    }

    /// Returns [`Error::Stopped`] if the work should stop.
    pub fn check(&self) -> Result<()> {
        if self.is_requested() { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// Whether this thread's own work should stop.
pub fn is_wanted() -> bool {
    of_caller().is_requested()
}

/// Whether all work of the process should stop.
fn is_requested_of_all() -> bool {
    match LOOKS_LEFT.load(Ordering::Relaxed) {
        NEVER => false,
        0 => true,
        _ => LOOKS_LEFT
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_err(),
    }
}

/// Returns [`Error::Stopped`] if this thread's own work should stop. Called between pieces of work,
/// and after pieces that were skipped.
pub fn check() -> Result<()> {
    of_caller().check()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_heeds_its_flag_and_so_do_those_that_share_its_work() {
        let flag = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&flag);
        std::thread::spawn(move || {
            heed(&own);
            let token = of_caller();
            assert!(check().is_ok() && token.check().is_ok());
            own.store(true, Ordering::Relaxed);
            assert!(is_wanted() && check().is_err());
            let elsewhere = std::thread::spawn(move || {
                assert!(token.is_requested(), "it works for the thread that began");
                assert!(!is_wanted() && !of_caller().is_requested(), "and has none of its own");
            });
            elsewhere.join().unwrap();
        })
        .join()
        .unwrap();
        assert!(!is_wanted());
    }
}
