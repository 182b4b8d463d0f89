//! What may not cross the boundary: panics. Every call answers with a code, and says in one line on
//! stderr what was wrong.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_int;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Result;
use crate::messages;

/// All is well.
pub const DONE: c_int = 0;
/// A list of neighbours is longer than there is room for.
pub const OVERFLOW: c_int = 1;
/// The call did nothing; stderr says why.
pub const FAILED: c_int = -1;

thread_local! {
    /// Whether this thread is in a call from C, whose panics become codes.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Complaints that are said. A client that does not look at codes may go on for hours.
const COMPLAINTS: u32 = 200;

/// Does `work` for the call `name`. An error or panic becomes [`FAILED`] and a line on stderr.
pub fn guarded(name: &str, work: impl FnOnce() -> Result<c_int>) -> c_int {
    silence_panics_that_are_caught();
    let outside = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outside);
    match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            complain(name, &error.to_string());
            FAILED
        }
        Err(panic) => {
            complain(name, &format!("internal error, please report it: {}", text_of(&*panic)));
            FAILED
        }
    }
}

/// [`say`], as long as it has not been too often.
fn complain(name: &str, text: &str) {
    static SAID: AtomicU32 = AtomicU32::new(0);
    let before = SAID.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
    match before.unwrap_or(u32::MAX) {
        0..COMPLAINTS => say(name, text),
        COMPLAINTS => say(name, &format!("{text} (and no more of this: look at the codes)")),
        _ => {}
    }
}

/// One line on stderr, `gravitile: NAME: TEXT`. A closed stderr is no reason to stop.
pub fn say(name: &str, text: &str) {
    // In one piece: lines of several threads must not mix.
    let line = messages::line(&format!("gravitile: {name}: {text}")) + "\n";
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The text of a panic.
fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words")
}

/// The standard hook prints several lines for a panic that `guarded` turns into one.
fn silence_panics_that_are_caught() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                usual(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

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
