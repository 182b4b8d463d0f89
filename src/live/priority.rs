//! Background threads have a lower priority than those that draw frames: without a GPU both need
//! the same cores, and a window that responds late is worse than a step that ends late.

use thread_priority::{ThreadPriority, set_current_thread_priority};

/// From 0 to 99, where a thread's default priority is about 50. On Linux this is `nice` 10: a tenth
/// of a core that a thread of default priority competes for, and all of a free one. With `nice` 5
/// frames were late, and with `nice` 15 steps get next to nothing while an unrelated program runs.
const BACKGROUND: u8 = 22;

/// Lowers the priority of the calling thread.
pub(super) fn lower_own_priority() {
    let priority = BACKGROUND.try_into().map(ThreadPriority::Crossplatform);
    if let Err(error) = priority.map_or(Ok(()), set_current_thread_priority) {
        log::debug!("a background thread keeps the default priority: {error:?}");
    }
}

/// Lowers the priority of the CPU engines' threads, for a program that draws. No effect once
/// rayon's global pool has started.
pub fn lower_engine_priority() {
    let pool = rayon::ThreadPoolBuilder::new().start_handler(|_| lower_own_priority());
    if let Err(error) = pool.build_global() {
        log::debug!("engine threads keep the default priority: {error}");
    }
}
