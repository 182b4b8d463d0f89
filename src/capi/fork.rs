//! The library belongs to the process that opened it; calls in a process forked from it fail.
//! Threads and devices do not survive fork(), and a lock held by another thread at that time would
//! never be released.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use gravitile::error::{Error, Result};

/// Id of the process that opened the library; 0 while nothing is open.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Whether this process was forked from the owner, set by the `pthread_atfork` handler.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Makes this process the owner.
pub fn set_owner() {
    static ONCE: Once = Once::new();
    OWNER.store(std::process::id(), Ordering::Relaxed);
    ONCE.call_once(|| {
        #[cfg(unix)]
        // SAFETY: the handler takes no arguments, lives as long as the program and is
        // async-signal-safe: it only stores to an atomic.
        unsafe {
            pthread_atfork(None, None, Some(mark_forked));
        }
    });
}

/// Clears the owner: nothing is open.
pub fn clear_owner() {
    OWNER.store(0, Ordering::Relaxed);
}

/// Fails in a process that was forked from the owner.
pub fn check() -> Result<()> {
    let owner = OWNER.load(Ordering::Relaxed);
    if owner != 0 && owner != std::process::id() { Err(forked_error()) } else { Ok(()) }
}

/// [`check`] for calls made by the hundred thousand: getpid takes longer than setting a particle.
/// Does not detect a child that was created without the C library's fork.
pub fn check_flag() -> Result<()> {
    if FORKED.load(Ordering::Relaxed) { Err(forked_error()) } else { Ok(()) }
}

#[cold]
fn forked_error() -> Error {
    Error::Outside(format!(
        "this process was forked from process {}, which had opened the library: open it after the fork, in each \
         process by itself",
        OWNER.load(Ordering::Relaxed)
    ))
}

#[cfg(unix)]
extern "C" fn mark_forked() {
    FORKED.store(OWNER.load(Ordering::Relaxed) != 0, Ordering::Relaxed);
}

#[cfg(unix)]
unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> std::ffi::c_int;
}
