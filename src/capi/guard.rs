//! The C boundary: panics and errors become return codes and one line on stderr, and calls in a
//! forked process fail.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_int;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use gravitile::error::{Error, Result};
use gravitile::messages;

/// Success.
pub const DONE: c_int = 0;
/// A neighbour list was truncated.
pub const OVERFLOW: c_int = 1;
/// The call failed; the reason is on stderr.
pub const FAILED: c_int = -1;

thread_local! {
    /// Whether this thread is in a call from C, where panics are caught.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Number of errors printed: a client that ignores return codes may run for hours.
const MAX_REPORTS: u32 = 200;

/// Runs `work` for the call `name`. An error or panic becomes [`FAILED`] and a line on stderr.
pub fn guarded(name: &str, work: impl FnOnce() -> Result<c_int>) -> c_int {
    silence_panics_that_are_caught();
    let outside = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outside);
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            report_limited(name, &error.to_string());
            FAILED
        }
        Err(panic) => {
            report_limited(
                name,
                &format!("internal error, please report it: {}", text_of(&*panic)),
            );
            FAILED
        }
    }
}

/// [`report`] for the first [`MAX_REPORTS`] errors; the next one adds that no more follow.
fn report_limited(name: &str, text: &str) {
    static REPORTED: AtomicU32 = AtomicU32::new(0);
    let before = REPORTED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
    match before.unwrap_or(u32::MAX) {
        0..MAX_REPORTS => report(name, text),
        MAX_REPORTS => report(name, &format!("{text} (and no more of this: look at the codes)")),
        _ => {}
    }
}

/// Prints one line on stderr, `gravitile: NAME: TEXT`. Errors of stderr are ignored.
pub fn report(name: &str, text: &str) {
    // One write, so that lines of several threads do not mix.
    let line = messages::line(&format!("gravitile: {name}: {text}")) + "\n";
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}

/// Suppresses the default hook's output for panics that [`guarded`] catches and reports.
fn silence_panics_that_are_caught() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let default_hook = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                default_hook(panic);
            }
        }));
    });
}

// The library belongs to the process that opened it; calls in a process forked from it fail.
// Threads and devices do not survive fork(), and a lock held by another thread at that time would
// never be released.

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

#[cfg(test)]
mod tests {
    use super::*;
    use gravitile::error::Error;

    #[test]
    fn errors_and_panics_become_codes() {
        assert_eq!(guarded("a", || Ok(OVERFLOW)), OVERFLOW);
        assert_eq!(guarded("b", || Err(Error::value("nj", -1, "at least 0"))), FAILED);
        assert_eq!(guarded("c", || panic!("never {}", "ever")), FAILED);
        assert!(!GUARDED.get());
        let panic = catch_unwind(|| panic!("plain")).unwrap_err();
        assert_eq!(text_of(&*panic), "plain");
    }
}
