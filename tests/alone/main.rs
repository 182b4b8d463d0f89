//! Tests that change what is global to a process: the texts of kernels, the request to stop all
//! work. They hold [`alone`] while they run.

#[path = "../common/mod.rs"]
mod common;

mod kernel_check;
mod own_kernel;
mod stop;
mod tree_check;

use std::sync::{Mutex, MutexGuard};

/// Makes the tests of this program wait for each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
