//! Ctrl-C, SIGTERM and the closing of the terminal.
//!
//! While nothing would be lost (reading, generating bodies, first forces, checks), the program ends
//! at once. Once there is something to save ([`save_on_signal`]), the first signal requests that,
//! and long work is cancelled a moment later; the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ranks;
use gravitile::{files, stop};

/// How long current work may continue after the first signal, so that what is nearly done can
/// finish.
const GRACE: Duration = Duration::from_millis(300);

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// The reaction to a signal.
enum Reaction {
    /// Ends the program after calling this.
    ExitNow(Option<Box<dyn Fn() + Send>>),
    /// Requests that the program saves and ends.
    SaveFirst,
    /// Calls a listener, which ends the program.
    #[cfg(feature = "window")]
    Notify(Box<dyn Fn() + Send>),
}

static REACTION: Mutex<Reaction> = Mutex::new(Reaction::ExitNow(None));

fn reaction() -> MutexGuard<'static, Reaction> {
    REACTION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs the signal handler.
pub fn listen() {
    #[cfg(unix)]
    // A file that outgrows `ulimit -f` is then an error of writing, after which files are cleaned
    // up.
    // SAFETY: SIG_IGN installs no handler, and no other thread changes this signal's disposition.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
    #[cfg(unix)]
    let ignored = hangups_are_ignored();
    if let Err(error) = ctrlc::set_handler(on_signal) {
        log::warn!("Ctrl-C will end the program at once: {error}");
    }
    #[cfg(unix)]
    if ignored {
        // Under `nohup` SIGHUP must stay ignored; `set_handler` has replaced that.
        // SAFETY: SIG_IGN installs no handler, and no other thread changes this signal's
        // disposition.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
}

#[cfg(unix)]
fn hangups_are_ignored() -> bool {
    // SAFETY: only reads the present state, into a value for which all zeros are valid.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

fn on_signal() {
    let reaction = reaction();
    match &*reaction {
        Reaction::SaveFirst if !REQUESTED.swap(true, Ordering::SeqCst) => {
            // When one rank fails, it prints why, and MPI's launcher ends the others: print nothing
            // more.
            if !super::together::is_ended_by_another() {
                super::print::note("stopping after saving (press Ctrl-C again to stop at once)");
            }
            // On a separate thread, to leave this one free for the next signal.
            let hurry = || {
                std::thread::sleep(GRACE);
                stop::all_work(true);
            };
            if std::thread::Builder::new().spawn(hurry).is_err() {
                stop::all_work(true);
            }
        }
        #[cfg(feature = "window")]
        Reaction::Notify(notify) if !REQUESTED.swap(true, Ordering::SeqCst) => notify(),
        // The lock is held until the process ends, so that no other reaction can be set.
        Reaction::ExitNow(clean) => {
            if !super::together::is_ended_by_another() {
                super::print::note(match clean {
                    Some(_) => "stopped before there was anything to save",
                    None => "stopped",
                });
            }
            exit_now(clean.as_deref())
        }
        // The second signal.
        _ => exit_now(None),
    }
}

fn exit_now(clean: Option<&(dyn Fn() + Send)>) -> ! {
    files::abandon();
    if let Some(clean) = clean {
        clean();
    }
    // Not `exit`, which waits for graphics drivers to shut down; some never do.
    #[cfg(unix)]
    // SAFETY: ends the process.
    unsafe {
        libc::_exit(130)
    }
    #[cfg(not(unix))]
    std::process::exit(130)
}

/// Cleans up if a signal ends the program before [`save_on_signal`].
pub fn clean_up(clean: impl Fn() + Send + 'static) {
    *reaction() = Reaction::ExitNow(Some(Box::new(clean)));
}

/// From now on the first signal calls `notify`, which makes the window end the program; the second
/// ends it at once.
#[cfg(feature = "window")]
pub fn notify(notify: Box<dyn Fn() + Send>) {
    *reaction() = Reaction::Notify(notify);
}

/// From now on the caller polls [`requested`] often, and saves its work when it turns true.
pub fn save_on_signal() {
    *reaction() = Reaction::SaveFirst;
}

/// True once the user wants to stop. Collective if several ranks work together: all must call it at
/// the same point of their work, and all get the same answer.
pub fn requested() -> bool {
    ranks::any(REQUESTED.load(Ordering::SeqCst))
}
