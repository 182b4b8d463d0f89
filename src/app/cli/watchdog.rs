//! Ranks that are killed: the others on the same machine see it, say which it was, and end.
//!
//! MPI's own launchers end the rest of a run, but name processes only, and some wait for ever: a rank that is gone
//! leaves the others in an exchange that never comes to its end.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::print;
use crate::error::Result;
use crate::exchange::Ranks;

/// How often the others are looked at.
const PERIOD: Duration = Duration::from_millis(100);

/// How long a launcher has to end this process, after it was said why.
const GRACE: Duration = Duration::from_secs(2);

static OVER: AtomicBool = AtomicBool::new(false);
/// Another rank has said why it ends, or is gone.
static LEFT: AtomicBool = AtomicBool::new(false);
static BEGUN: AtomicBool = AtomicBool::new(false);

/// By this signal a rank that ends by itself tells the others on its machine that it has said why. A process that does
/// not expect it is left alone by it.
const LEAVING: libc::c_int = libc::SIGURG;

static PEERS: OnceLock<Vec<Peer>> = OnceLock::new();

/// A rank on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Peer {
    rank: usize,
    process: u32,
}

impl Peer {
    /// What is said if it is killed.
    fn is_gone(&self, machine: &str) -> String {
        let Self { rank, process } = self;
        format!(
            "rank {rank} (process {process} on {machine}) is gone: the run ends with its last snapshot, and can be resumed from it"
        )
    }
}

/// Whether a process of its own says it.
fn has_witness() -> bool {
    #[cfg(target_os = "linux")]
    return super::witness::is_there();
    #[cfg(not(target_os = "linux"))]
    false
}

/// Begins to watch the ranks on this machine, named `machine`.
///
/// Errors: ranks that cannot be heard.
pub fn begin(ranks: &Ranks, machine: &str) -> Result<()> {
    // Before anybody knows this process.
    BEGUN.store(true, Ordering::SeqCst);
    // SAFETY: the handler stores flags and writes a byte, and does nothing else.
    unsafe {
        let handler: extern "C" fn(libc::c_int) = hear_leaving;
        libc::signal(LEAVING, handler as libc::sighandler_t);
    }
    let own = std::process::id();
    let told = ranks.tell(format!("{own} {machine}").as_bytes())?;
    let (rank, machine) = (ranks.rank(), machine.to_owned());
    let peers = peers(&told, &machine, rank);
    // One of the machine's ranks has it watch all of them.
    #[cfg(target_os = "linux")]
    if peers.iter().all(|peer| peer.rank > rank) {
        let all = [&[Peer { rank, process: own }][..], &peers].concat();
        let words = |peer: &Peer| (peer.process, peer.is_gone(&machine));
        super::witness::watch(&all.iter().map(words).collect::<Vec<_>>());
    }
    if peers.is_empty() {
        return Ok(());
    }
    let peers = PEERS.get_or_init(|| peers);
    let watch = move || {
        while !OVER.load(Ordering::SeqCst) {
            std::thread::sleep(PERIOD);
            let gone: Vec<&Peer> = peers.iter().filter(|peer| !is_alive(peer.process)).collect();
            if gone.is_empty() || OVER.load(Ordering::SeqCst) {
                continue;
            }
            // What the launcher tells this process now is no news.
            LEFT.store(true, Ordering::SeqCst);
            // One of those who see it says it.
            let speaks =
                !has_witness() && peers.iter().all(|peer| peer.rank > rank || gone.contains(&peer));
            for peer in gone.iter().filter(|_| speaks) {
                print::from_any_rank(&peer.is_gone(&machine));
            }
            std::thread::sleep(GRACE);
            // Not `exit`, which would wait for the thread that waits for the lost rank.
            // SAFETY: ends the process.
            unsafe { libc::_exit(1) }
        }
    };
    let started = std::thread::Builder::new().name("watchdog".to_owned()).spawn(watch);
    if let Err(error) = started {
        log::warn!("nobody watches whether ranks are killed: {error}");
    }
    Ok(())
}

extern "C" fn hear_leaving(_: libc::c_int) {
    LEFT.store(true, Ordering::SeqCst);
    end();
}

/// Whether another rank on this machine has said why it ends, or is gone, and with it all.
pub fn is_ended_by_another() -> bool {
    LEFT.load(Ordering::SeqCst)
}

/// Whether ranks are, or were, watched.
pub fn has_begun() -> bool {
    BEGUN.load(Ordering::SeqCst)
}

/// Tells the other ranks on this machine that this one has said why it ends: nothing is left for them to say.
pub fn leave() {
    end();
    for Peer { process, .. } in PEERS.get().into_iter().flatten() {
        // SAFETY: sends a signal that does no harm.
        unsafe { libc::kill(*process as libc::pid_t, LEAVING) };
    }
}

/// Stops watching: from now on ranks end by themselves.
pub fn end() {
    OVER.store(true, Ordering::SeqCst);
    #[cfg(target_os = "linux")]
    super::witness::end();
}

/// The other ranks on `machine`, out of what all have told.
fn peers(told: &[Vec<u8>], machine: &str, own: usize) -> Vec<Peer> {
    let peer = |(rank, words): (usize, &Vec<u8>)| {
        let words = String::from_utf8_lossy(words);
        let (process, there) = words.split_once(' ')?;
        let process = process.parse().ok().filter(|_| there == machine && rank != own)?;
        Some(Peer { rank, process })
    };
    told.iter().enumerate().filter_map(peer).collect()
}

/// Whether the process is there and no mere entry that nobody has fetched.
fn is_alive(process: u32) -> bool {
    if let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) {
        // The state is behind the name, which is in brackets and may hold some.
        let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
        return !matches!(state, Some('Z' | 'X'));
    }
    // SAFETY: signal 0 asks only.
    let asked = unsafe { libc::kill(process as libc::pid_t, 0) };
    asked == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_the_other_ranks_of_the_same_machine() {
        let told = ["10 a", "11 b", "12 a", "nonsense"].map(|text| text.as_bytes().to_vec());
        assert_eq!(peers(&told, "a", 2), [Peer { rank: 0, process: 10 }]);
        assert_eq!(peers(&told, "c", 3), []);
    }

    #[test]
    fn a_process_that_has_ended_is_not_alive_even_before_somebody_asks_for_it() {
        assert!(is_alive(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = child.id();
        // It ends by itself; its entry stays until `wait`.
        while is_alive(process) {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait().unwrap();
        assert!(!is_alive(process));
    }
}
