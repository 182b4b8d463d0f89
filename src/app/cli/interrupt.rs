//! Ctrl-C: the first asks the work to end in good order, the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Begins to listen.
pub fn listen() {
    let stop = || {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        eprintln!("gravitile: stopping after this step (Ctrl-C again stops at once)");
    };
    if let Err(error) = ctrlc::set_handler(stop) {
        log::warn!("Ctrl-C will end the program at once: {error}");
    }
}

/// True once the user wants to stop.
pub fn wanted() -> bool {
    STOP.load(Ordering::SeqCst)
}
