//! Judges that look on while a mutant is read: memory, time, panics, and the words that come of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use gravitile::messages::{LINE, shows};

/// Bytes that reading may take for each byte of the file, and beside.
const PER_BYTE: usize = 100;
const BESIDE: usize = 64 << 20;

/// No mutant takes a hundredth of it, also on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(60);

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Counts what each thread holds. What no machine has is refused, so that it ends the test at once.
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

/// Bytes that `act` holds at once, at most, beyond what was held before.
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

/// The mutants that are tried: one, where GRAVITILE_MUTANT says which.
fn indices() -> std::ops::Range<u64> {
    match std::env::var("GRAVITILE_MUTANT") {
        Ok(one) => {
            let one = one.parse().expect("GRAVITILE_MUTANT should be a number");
            one..one + 1
        }
        Err(_) => 0..mutants(),
    }
}

/// Tries a mutant: whether it was accepted, or what is wrong with the program.
type Trial = Box<dyn FnOnce(&[u8]) -> Result<bool, String>>;

/// A mutant under trial.
pub struct Mutant {
    /// What is read.
    pub bytes: Vec<u8>,
    /// Tries it; complaints are what is wrong with the program.
    pub trial: Trial,
}

/// Tries all mutants of a kind; `make` makes one. Reports those that are accepted, and those at fault.
pub fn try_all(kind: &'static str, make: impl Fn(u64) -> Mutant) {
    let begun = std::time::Instant::now();
    let watchdog = Watchdog::start(kind);
    let (mut accepted, mut faults) = (0, Vec::new());
    let indices = indices();
    let tried = indices.end - indices.start;
    for index in indices {
        let Mutant { bytes, trial } = make(index);
        watchdog.look_at(index);
        let mut outcome = Ok(false);
        let held = peak(|| {
            outcome = catch_unwind(AssertUnwindSafe(|| trial(&bytes)))
                .unwrap_or_else(|_| Err("panicked (see above)".to_owned()));
        });
        if outcome.is_ok() && held > PER_BYTE * bytes.len() + BESIDE {
            outcome = Err(format!("{} bytes of file took {held} bytes of memory", bytes.len()));
        }
        match outcome {
            Ok(is_accepted) => accepted += u64::from(is_accepted),
            Err(fault) => {
                let place =
                    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{kind}-{index}"));
                std::fs::write(&place, &bytes).expect("a mutant should be kept");
                let fault: String = fault.chars().take(1000).flat_map(char::escape_debug).collect();
                faults.push(format!(
                    "mutant {index} of {kind}, kept as {}: {fault}",
                    place.display()
                ));
                if faults.len() == 10 {
                    break;
                }
            }
        }
    }
    let secs = begun.elapsed().as_secs_f64();
    println!(
        "{kind}: {tried} mutants, {accepted} accepted, {} at fault, {secs:.1} s",
        faults.len()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // Mutants that are all refused, or none, would show that nothing was tried.
    assert!(
        tried < 1000 || (accepted > 0 && accepted < tried),
        "{accepted} of {tried} were accepted"
    );
}

/// A text that is fit to be printed.
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

/// Ends the test with the mutant's name where one is read for ever.
struct Watchdog {
    shared: std::sync::Arc<(Mutex<Option<u64>>, Condvar)>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watchdog {
    fn start(kind: &'static str) -> Self {
        let shared = std::sync::Arc::new((Mutex::new(Some(u64::MAX)), Condvar::new()));
        let seen = std::sync::Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let (now, changed) = &*seen;
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

    fn look_at(&self, index: u64) {
        *self.shared.0.lock().unwrap() = Some(index);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // A judge who panics does not poison the end.
        *self.shared.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
