//! Detects ranks that were killed: the others on the same machine print which rank it was, and end.
//!
//! Without the lost rank the others would wait in an exchange that never completes. Some of MPI's
//! launchers also end the rest of a run, and some do not. MPICH's ends all ranks at once with a
//! message of its own, before any can print.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::print;
use gravitile::error::Result;
use gravitile::exchange::Ranks;

/// How often the others are checked.
const PERIOD: Duration = Duration::from_millis(100);

/// How long to wait for the launcher to end this process once the reason is printed.
const GRACE: Duration = Duration::from_secs(2);

static STOPPED: AtomicBool = AtomicBool::new(false);
/// Whether another rank has printed why it ends, or is gone.
static LEFT: AtomicBool = AtomicBool::new(false);
static BEGUN: AtomicBool = AtomicBool::new(false);

/// The signal by which a rank that fails reports to the others on its machine that it has printed
/// why. A process without a handler ignores it.
const LEAVING: libc::c_int = libc::SIGURG;

static PEERS: OnceLock<Vec<Peer>> = OnceLock::new();

/// A rank on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Peer {
    rank: usize,
    process: u32,
}

impl Peer {
    /// The message printed if this rank was killed.
    fn lost_message(&self, machine: &str) -> String {
        let Self { rank, process } = self;
        format!(
            "rank {rank} (process {process} on {machine}) is gone: the run ends and can be resumed from its last snapshot"
        )
    }
}

/// Starts to watch the ranks on this machine, named `machine`.
///
/// # Errors
/// Ranks that cannot be reached.
pub fn begin(ranks: &Ranks, machine: &str) -> Result<()> {
    // Must come before any other rank knows this process and may signal it.
    BEGUN.store(true, Ordering::SeqCst);
    // SAFETY: the handler stores flags and does nothing else.
    unsafe {
        let handler: extern "C" fn(libc::c_int) = on_leaving;
        libc::signal(LEAVING, handler as libc::sighandler_t);
    }
    let own = std::process::id();
    let messages = ranks.gather_messages(format!("{own} {machine}").as_bytes())?;
    let (rank, machine) = (ranks.rank(), machine.to_owned());
    let peers = peers(&messages, &machine, rank);
    if peers.is_empty() {
        return Ok(());
    }
    let peers = PEERS.get_or_init(|| peers);
    let watch = move || {
        while !STOPPED.load(Ordering::SeqCst) {
            std::thread::sleep(PERIOD);
            let gone: Vec<&Peer> = peers.iter().filter(|peer| !is_alive(peer.process)).collect();
            if gone.is_empty() || STOPPED.load(Ordering::SeqCst) {
                continue;
            }
            // Signals from the launcher are expected from here on.
            LEFT.store(true, Ordering::SeqCst);
            // Only one of the ranks that notice prints it.
            let prints = peers.iter().all(|peer| peer.rank > rank || gone.contains(&peer));
            for peer in gone.iter().filter(|_| prints) {
                print::from_any_rank(&peer.lost_message(&machine));
            }
            std::thread::sleep(GRACE);
            // Not `exit`, which would wait for the thread that is waiting for the lost rank.
            // SAFETY: ends the process.
            unsafe { libc::_exit(1) }
        }
    };
    let started = std::thread::Builder::new().name("watchdog".to_owned()).spawn(watch);
    if let Err(error) = started {
        log::warn!("killed ranks will not be noticed: {error}");
    }
    Ok(())
}

extern "C" fn on_leaving(_: libc::c_int) {
    LEFT.store(true, Ordering::SeqCst);
    end();
}

/// Whether another rank on this machine has printed why it ends, or is gone; either ends the run.
pub fn is_ended_by_another() -> bool {
    LEFT.load(Ordering::SeqCst)
}

/// Whether ranks are being watched, or were.
pub fn has_begun() -> bool {
    BEGUN.load(Ordering::SeqCst)
}

/// Signals to the other ranks on this machine that this one has printed why it ends, so that they
/// need not.
pub fn announce_exit() {
    end();
    for Peer { process, .. } in PEERS.get().into_iter().flatten() {
        // SAFETY: only sends a harmless signal.
        unsafe { libc::kill(*process as libc::pid_t, LEAVING) };
    }
}

/// Stops watching: from now on ranks end normally.
pub fn end() {
    STOPPED.store(true, Ordering::SeqCst);
}

/// The other ranks on `machine`, taken from the messages of all ranks.
fn peers(messages: &[Vec<u8>], machine: &str, own: usize) -> Vec<Peer> {
    let peer = |(rank, words): (usize, &Vec<u8>)| {
        let words = String::from_utf8_lossy(words);
        let (process, name) = words.split_once(' ')?;
        let process = process.parse().ok().filter(|_| name == machine && rank != own)?;
        Some(Peer { rank, process })
    };
    messages.iter().enumerate().filter_map(peer).collect()
}

/// Whether the process is running, and not a zombie.
fn is_alive(process: u32) -> bool {
    if let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) {
        // The state follows the name, which is in brackets and may itself contain brackets.
        let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
        return !matches!(state, Some('Z' | 'X'));
    }
    // SAFETY: signal 0 only tests whether the process exists.
    let result = unsafe { libc::kill(process as libc::pid_t, 0) };
    result == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_the_other_ranks_on_the_same_machine() {
        let messages = ["10 a", "11 b", "12 a", "nonsense"].map(|text| text.as_bytes().to_vec());
        assert_eq!(peers(&messages, "a", 2), [Peer { rank: 0, process: 10 }]);
        assert_eq!(peers(&messages, "c", 3), []);
    }

    #[test]
    fn zombie_process_is_not_alive() {
        assert!(is_alive(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = child.id();
        // It ends by itself and remains a zombie until `wait`.
        while is_alive(process) {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait().unwrap();
        assert!(!is_alive(process));
    }
}
