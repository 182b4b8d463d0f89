//! The devices of this process, each on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member};

/// A device and its connection to the others.
pub(super) trait Local: Send {
    /// The connection.
    fn member(&mut self) -> &mut Member;
}

/// Does the work of a device; if it fails or panics, aborts the exchanges of the others, which would
/// wait for it.
fn abort_on_error<L: Local, T>(local: &mut L, work: impl FnOnce(&mut L) -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(|| work(local))) {
        Ok(done) => done.inspect_err(|error| local.member().abort(&error.to_string())),
        Err(panic) => {
            local.member().abort("the thread of another device panicked");
            resume_unwind(panic)
        }
    }
}

/// Runs `first` for the first device on this thread, and `others` for each further device of this
/// process on a thread of its own. Returns the results in the order of the devices. A device that
/// fails aborts the exchanges of the others; its error is returned, and if there are no other
/// processes (`are_ranks`), the devices get new connections, with this `patience`.
pub(super) fn run_on_each<L: Local, T: Send>(
    locals: &mut [L],
    (are_ranks, patience): (bool, Duration),
    first: impl FnOnce(&mut L) -> Result<T>,
    others: impl Fn(&mut L) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (leader, rest) = locals.split_first_mut().expect("a group has a device");
    let others = &others;
    let done: Vec<Result<T>> = std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(rest.len());
        for local in rest {
            threads.push(scope.spawn(move || abort_on_error(local, others)));
        }
        let mut all = vec![abort_on_error(leader, first)];
        for thread in threads {
            all.push(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    let mut all = Vec::with_capacity(done.len());
    let mut failed = None;
    for one in done {
        match one {
            Ok(value) => all.push(value),
            // The error of the device that failed first replaces the `Member` errors that its abort
            // caused in the others.
            Err(error) if failed.is_none() || matches!(failed, Some(Error::Member(_))) => {
                failed = Some(error);
            }
            Err(_) => {}
        }
    }
    let Some(error) = failed else { return Ok(all) };
    // After an error no rank continues.
    if are_ranks {
        return Err(error);
    }
    // An aborted exchange stays aborted: new members allow later calls.
    let members = exchange::team(locals.len(), None, patience);
    for (local, member) in locals.iter_mut().zip(members) {
        *local.member() = member;
    }
    Err(error)
}
