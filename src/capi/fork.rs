//! Whose the library is: the process that opened it. Threads and devices are not in one that was forked from it, and a
//! lock that one of those threads held would never be free.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::error::{Error, Result};

/// The process that opened what is open; 0 as long as there is none.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Whether this process was forked from the owner, as far as its C library noted it.
static FORKED: AtomicBool = AtomicBool::new(false);

/// This process opens something.
pub fn own() {
    static ONCE: Once = Once::new();
    OWNER.store(std::process::id(), Ordering::Relaxed);
    ONCE.call_once(|| {
        #[cfg(unix)]
        // SAFETY: the function takes nothing, stays, and does nothing but store a number.
        unsafe {
            pthread_atfork(None, None, Some(note));
        }
    });
}

/// Nothing is open any more.
pub fn disown() {
    OWNER.store(0, Ordering::Relaxed);
}

/// Refuses a process that was forked from the owner.
pub fn check() -> Result<()> {
    let owner = OWNER.load(Ordering::Relaxed);
    if owner != 0 && owner != std::process::id() { Err(refused()) } else { Ok(()) }
}

/// [`check`] for calls that come by the hundred thousand: asking the system who we are takes longer than setting a
/// particle. A process that was made without the C library's fork is not seen.
pub fn check_noted() -> Result<()> {
    if FORKED.load(Ordering::Relaxed) { Err(refused()) } else { Ok(()) }
}

#[cold]
fn refused() -> Error {
    Error::Outside(format!(
        "this process was forked from process {}, which had opened the library: open it after the fork, in each \
         process by itself",
        OWNER.load(Ordering::Relaxed)
    ))
}

#[cfg(unix)]
extern "C" fn note() {
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
