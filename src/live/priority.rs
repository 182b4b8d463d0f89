//! Background threads yield to those that draw frames: without a GPU both need the same cores, and a window that responds
//! late is worse than a step that ends late.

use thread_priority::{ThreadPriority, set_current_thread_priority};

/// From 0 to 99, where a thread's usual priority is about 50. On Linux this is `nice` 10: a tenth of a core that a thread
/// of usual priority wants as well, and all of one that is free. Frames were late with `nice` 5, and with 15 steps get
/// next to nothing beside an unrelated program.
const BESIDE_FRAMES: u8 = 22;

/// Makes the calling thread yield from now on.
pub(super) fn give_way() {
    let wanted = BESIDE_FRAMES.try_into().map(ThreadPriority::Crossplatform);
    if let Err(error) = wanted.map_or(Ok(()), set_current_thread_priority) {
        log::debug!("a background thread keeps the usual priority: {error:?}");
    }
}

/// Makes the threads of the processor's engines yield, for a program that draws. If they have started already they stay
/// as they are.
pub(crate) fn let_engines_give_way() {
    let pool = rayon::ThreadPoolBuilder::new().start_handler(|_| give_way());
    if let Err(error) = pool.build_global() {
        log::debug!("engine threads keep the usual priority: {error}");
    }
}
