//! Ctrl-C, SIGTERM and the closing of the terminal.
//!
//! While nothing would be lost (reading, making bodies, first forces, checks), the program ends at once.
//! Once there is something to save ([`end_in_good_order`]), the first signal asks for that and stops long
//! work a moment later; the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::app::ranks;
use crate::{files, stop};

/// How long current work may continue, so that what is nearly done can finish.
const GRACE: Duration = Duration::from_millis(300);

static WANTED: AtomicBool = AtomicBool::new(false);

/// What a signal does.
enum Manner {
    /// Ends the program after calling this.
    AtOnce(Option<Box<dyn Fn() + Send>>),
    /// Asks the program to save and end.
    InGoodOrder,
    /// Tells a listener, which ends the program.
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
    // A file that outgrows `ulimit -f` is then an error of writing, after which files are cleaned up.
    // SAFETY: no handler is installed, and no other thread changes this signal's.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
    #[cfg(unix)]
    let ignored = hangups_are_ignored();
    if let Err(error) = ctrlc::set_handler(signalled) {
        log::warn!("Ctrl-C will end the program at once: {error}");
    }
    #[cfg(unix)]
    if ignored {
        // `nohup` wants it ignored.
        // SAFETY: no handler is installed, and no other thread changes this signal's.
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

fn signalled() {
    let manner = manner();
    match &*manner {
        Manner::InGoodOrder if !WANTED.swap(true, Ordering::SeqCst) => {
            // After one rank fails and says so, MPI's launcher ends the others: no need to say more.
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
        Manner::Told(tell) if !WANTED.swap(true, Ordering::SeqCst) => tell(),
        // The lock is held to the end, so that nothing new begins.
        Manner::AtOnce(clean) => leave(clean.as_deref()),
        // The second signal.
        _ => leave(None),
    }
}

fn leave(clean: Option<&(dyn Fn() + Send)>) -> ! {
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

/// Cleans up if a signal ends the program before [`end_in_good_order`].
pub fn clean_up(clean: impl Fn() + Send + 'static) {
    *manner() = Manner::AtOnce(Some(Box::new(clean)));
}

/// From now on the first signal calls `tell`, whose owner ends the program; the second ends it at once.
#[cfg(feature = "window")]
pub fn tell(tell: Box<dyn Fn() + Send>) {
    *manner() = Manner::Told(tell);
}

/// From now on the caller polls [`wanted`] often, and saves its work when it turns true.
pub fn end_in_good_order() {
    *manner() = Manner::InGoodOrder;
}

/// True once the user wants to stop. If there are several ranks, all must ask at the same point of their work, and all
/// get the same answer.
pub fn wanted() -> bool {
    ranks::any(WANTED.load(Ordering::SeqCst))
}
