//! Ctrl-C, SIGTERM and the closing of the terminal.
//!
//! Where nothing is lost by it, the program ends at once: reading, making bodies, first forces, checks.
//! Where something can be saved ([`end_in_good_order`]), the first signal asks for that, and work that
//! takes long is broken off a moment later; the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::app::ranks;
use crate::{files, stop};

/// How long what is under way may go on, so that what is nearly done is done.
const GRACE: Duration = Duration::from_millis(300);

static WANTED: AtomicBool = AtomicBool::new(false);

/// What a signal does.
enum Manner {
    /// Ends the program, after this.
    AtOnce(Option<Box<dyn Fn() + Send>>),
    /// Asks the program to end.
    InGoodOrder,
    /// Asks somebody who listens for it.
    #[cfg(feature = "window")]
    Told(Box<dyn Fn() + Send>),
}

static MANNER: Mutex<Manner> = Mutex::new(Manner::AtOnce(None));

fn manner() -> MutexGuard<'static, Manner> {
    MANNER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to listen.
pub fn listen() {
    #[cfg(unix)]
    let ignored = hangups_are_ignored();
    if let Err(error) = ctrlc::set_handler(signalled) {
        log::warn!("Ctrl-C will end the program at once: {error}");
    }
    #[cfg(unix)]
    if ignored {
        // As nohup asks.
        // SAFETY: no handler is installed, and no other thread changes this signal's.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
}

#[cfg(unix)]
fn hangups_are_ignored() -> bool {
    // SAFETY: asks for the present state alone, into a value that all zeros are valid for.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

fn signalled() {
    let manner = manner();
    match &*manner {
        Manner::InGoodOrder if !WANTED.swap(true, Ordering::SeqCst) => {
            // MPI's launcher ends the other ranks once one has failed, which that one has said.
            if !super::together::is_ended_by_another() {
                super::print::note("stopping in good order (Ctrl-C again stops at once)");
            }
            // On a thread of its own: the next signal must find this one free.
            let hurry = || {
                std::thread::sleep(GRACE);
                stop::all_work(true);
            };
            if std::thread::Builder::new().spawn(hurry).is_err() {
                stop::all_work(true);
            }
        }
        #[cfg(feature = "window")]
        Manner::Told(tell) if !WANTED.swap(true, Ordering::SeqCst) => tell(),
        // The lock is kept to the end: nothing new begins.
        Manner::AtOnce(clean) => leave(clean.as_deref()),
        // Asked before.
        _ => leave(None),
    }
}

fn leave(clean: Option<&(dyn Fn() + Send)>) -> ! {
    files::abandon();
    if let Some(clean) = clean {
        clean();
    }
    // Not `exit`, which waits for graphics drivers to take themselves down, some of them for ever.
    #[cfg(unix)]
    // SAFETY: ends the process.
    unsafe {
        libc::_exit(130)
    }
    #[cfg(not(unix))]
    std::process::exit(130)
}

/// What is to be removed if a signal ends the program before [`end_in_good_order`].
pub fn clean_up(clean: impl Fn() + Send + 'static) {
    *manner() = Manner::AtOnce(Some(Box::new(clean)));
}

/// From now on the first signal tells this, whose owner ends the program; the second ends it at once.
#[cfg(feature = "window")]
pub fn tell(tell: Box<dyn Fn() + Send>) {
    *manner() = Manner::Told(tell);
}

/// From now on somebody asks [`wanted`] often, and saves what there is.
pub fn end_in_good_order() {
    *manner() = Manner::InGoodOrder;
}

/// True once the user wants to stop. Where there are several ranks all of them ask, at the same point of their work, and
/// hear the same.
pub fn wanted() -> bool {
    ranks::any(WANTED.load(Ordering::SeqCst))
}
