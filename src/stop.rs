//! Breaking off long work.
//!
//! A force on a million bodies, or one step of theirs, may take minutes. Engines look here between pieces
//! of it (milliseconds each); once it is wanted they give up with [`Error::Stopped`], and whoever called
//! them is as far as before. One request serves the whole process, as Ctrl-C does.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// How often engines look before they give up: 0 is now, [`NEVER`] is not wanted.
static LOOKS_LEFT: AtomicU64 = AtomicU64::new(NEVER);

const NEVER: u64 = u64::MAX;

/// From now on (`true`) all engines give up what they are at; with `false` they work again.
pub fn all_work(stop: bool) {
    LOOKS_LEFT.store(if stop { 0 } else { NEVER }, Ordering::SeqCst);
}

/// Engines give up at the look after `looks` more: tests strike at a place in the work, not at a time.
#[doc(hidden)]
pub fn all_work_after(looks: u64) {
    LOOKS_LEFT.store(looks, Ordering::SeqCst);
}

/// The looks that are left of those given to [`all_work_after`].
#[doc(hidden)]
pub fn looks_left() -> u64 {
    LOOKS_LEFT.load(Ordering::SeqCst)
}

/// Whether work is to be broken off.
pub fn is_wanted() -> bool {
    match LOOKS_LEFT.load(Ordering::Relaxed) {
        NEVER => false,
        0 => true,
        _ => LOOKS_LEFT
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_err(),
    }
}

/// [`Error::Stopped`] if work is to be broken off: called between pieces of it, and after pieces that
/// were left out.
pub fn check() -> Result<()> {
    if is_wanted() { Err(Error::Stopped) } else { Ok(()) }
}
