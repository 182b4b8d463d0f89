//! The program under test, isolated from kernels that were tuned on this machine.

use std::process::Command;

/// `gravitile` without a kernel cache.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gravitile"));
    command.env("GRAVITILE_CACHE_DIR", "");
    command
}
