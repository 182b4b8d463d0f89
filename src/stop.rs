//! Breaking off long work.
//!
//! A force on a million bodies, or one step of theirs, may take minutes. Engines look here between pieces
//! of it (milliseconds each); once it is wanted they give up with [`Error::Stopped`], and whoever called
//! them is as far as before. One wish serves the whole process, as Ctrl-C does.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

static WANTED: AtomicBool = AtomicBool::new(false);

/// From now on (`true`) all engines give up what they are at; with `false` they work again.
pub fn all_work(stop: bool) {
    WANTED.store(stop, Ordering::SeqCst);
}

/// Whether work is to be broken off.
pub fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// [`Error::Stopped`] if work is to be broken off: called between pieces of it, and after pieces that
/// were left out.
pub fn check() -> Result<()> {
    if is_wanted() { Err(Error::Stopped) } else { Ok(()) }
}
