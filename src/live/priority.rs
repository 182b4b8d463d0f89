//! Threads that compute beside the frames give way to those that draw them: where there is no GPU both want the same cores, and
//! a window that answers late is worse than a step that ends late.

use thread_priority::{ThreadPriority, set_current_thread_priority};

/// From 0 to 99, where a thread's usual priority lies at about 50. On Linux that is `nice` 10: where a thread of usual
/// priority wants the same core a tenth of it, and all of it where nobody does. Frames that somebody waits for were late
/// with `nice` 5, and with 15 next to nothing is left to steps beside a program that has nothing to do with them.
const BESIDE_FRAMES: u8 = 22;

/// The calling thread gives way from now on.
pub(super) fn give_way() {
    let wanted = BESIDE_FRAMES.try_into().map(ThreadPriority::Crossplatform);
    if let Err(error) = wanted.map_or(Ok(()), set_current_thread_priority) {
        log::debug!("a thread beside the frames has the usual priority: {error:?}");
    }
}

/// The threads that the engines of the processor compute with give way, from the first of them on: for a program that
/// draws. Where they have begun already they stay as they are.
pub(crate) fn let_engines_give_way() {
    let pool = rayon::ThreadPoolBuilder::new().start_handler(|_| give_way());
    if let Err(error) = pool.build_global() {
        log::debug!("threads of engines have the usual priority: {error}");
    }
}
