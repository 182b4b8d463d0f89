//! Converts panics and errors at the C boundary into return codes and one line on stderr.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_int;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use gravitile::error::Result;
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
