//! Checks while a mutant is read: memory, time, panics and messages.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use gravitile::messages::{LINE, shows};

/// Memory limit while reading: bytes per byte of the file, and a constant.
const PER_BYTE: usize = 100;
const CONSTANT_BYTES: usize = 64 << 20;

/// Time after which a mutant is taken to hang; none takes a hundredth of it, even on a busy
/// machine.
const HANGS_AFTER: Duration = Duration::from_secs(60);

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Counts the live bytes of each thread. Refuses allocations above 4 GiB, which ends the test at
/// once.
struct Counting;

fn count(bytes: isize) {
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged, or is refused as it may be.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > 4 << 30 {
            return std::ptr::null_mut();
        }
        count(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Peak memory of `act` on this thread in bytes, above that held before.
pub fn peak(act: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    act();
    (PEAK.get() - before).max(0) as usize
}

/// Number of mutants of each kind.
pub fn mutants() -> u64 {
    let number = std::env::var("GRAVITILE_MUTANTS").ok();
    number.map_or(2000, |number| number.parse().expect("GRAVITILE_MUTANTS should be a number"))
}

/// The numbers of the mutants to try: only GRAVITILE_MUTANT, if set.
fn indices() -> std::ops::Range<u64> {
    match std::env::var("GRAVITILE_MUTANT") {
        Ok(one) => {
            let one = one.parse().expect("GRAVITILE_MUTANT should be a number");
            one..one + 1
        }
        Err(_) => 0..mutants(),
    }
}

/// Tries a mutant. Returns whether it was accepted, or the program's fault.
type Trial = Box<dyn FnOnce(&[u8]) -> Result<bool, String>>;

/// A mutant under trial.
pub struct Mutant {
    /// The mutated bytes.
    pub bytes: Vec<u8>,
    /// Reads and judges it.
    pub trial: Trial,
}

/// Tries all mutants of a kind, created by `make`. Prints statistics and panics with the faults.
pub fn try_all(kind: &'static str, make: impl Fn(u64) -> Mutant) {
    let start_time = std::time::Instant::now();
    let watchdog = Watchdog::start(kind);
    let (mut accepted, mut faults) = (0, Vec::new());
    let indices = indices();
    let tried = indices.end - indices.start;
    for index in indices {
        let Mutant { bytes, trial } = make(index);
        watchdog.set_current(index);
        let mut outcome = Ok(false);
        let held = peak(|| {
            outcome = catch_unwind(AssertUnwindSafe(|| trial(&bytes)))
                .unwrap_or_else(|_| Err("panicked (see above)".to_owned()));
        });
        if outcome.is_ok() && held > PER_BYTE * bytes.len() + CONSTANT_BYTES {
            outcome = Err(format!("{} bytes of file took {held} bytes of memory", bytes.len()));
        }
        match outcome {
            Ok(is_accepted) => accepted += u64::from(is_accepted),
            Err(fault) => {
                let path =
                    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{kind}-{index}"));
                std::fs::write(&path, &bytes).expect("a mutant should be kept");
                let fault: String = fault.chars().take(1000).flat_map(char::escape_debug).collect();
                faults
                    .push(format!("mutant {index} of {kind}, kept as {}: {fault}", path.display()));
                if faults.len() == 10 {
                    break;
                }
            }
        }
    }
    let secs = start_time.elapsed().as_secs_f64();
    println!(
        "{kind}: {tried} mutants, {accepted} accepted, {} at fault, {secs:.1} s",
        faults.len()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // If all mutants or none were accepted, the mutations would be ineffective.
    assert!(
        tried < 1000 || (accepted > 0 && accepted < tried),
        "{accepted} of {tried} were accepted"
    );
}

/// Checks that the text is a printable, non-empty message of at most [`LINE`] characters.
pub fn check_line(text: &str) -> Result<(), String> {
    match text.chars().find(|c| !shows(*c)) {
        Some(c) => Err(format!("{c:?} does not show: {text}")),
        None if text.chars().count() > LINE => {
            Err(format!("longer than {LINE} characters: {text}"))
        }
        None if text.trim().is_empty() => Err("says nothing".to_owned()),
        None => Ok(()),
    }
}

/// Aborts the test and names the mutant if reading it hangs.
struct Watchdog {
    shared: std::sync::Arc<(Mutex<Option<u64>>, Condvar)>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watchdog {
    fn start(kind: &'static str) -> Self {
        let shared = std::sync::Arc::new((Mutex::new(Some(u64::MAX)), Condvar::new()));
        let watched = std::sync::Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let (now, changed) = &*watched;
            let mut last = *now.lock().unwrap();
            let mut guard = now.lock().unwrap();
            while let Some(index) = *guard {
                let (next, timed) = changed.wait_timeout(guard, HANGS_AFTER).unwrap();
                guard = next;
                if timed.timed_out() && *guard == last && last == Some(index) {
                    eprintln!(
                        "mutant {index} of {kind} hangs: GRAVITILE_MUTANT={index} tries it alone"
                    );
                    std::process::abort();
                }
                last = *guard;
            }
        });
        Self { shared, thread: Some(thread) }
    }

    fn set_current(&self, index: u64) {
        *self.shared.0.lock().unwrap() = Some(index);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // The watchdog ends even after a panic.
        *self.shared.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
