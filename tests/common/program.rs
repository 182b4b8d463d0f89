//! The program under test, which finds nothing that somebody tuned on this machine.

use std::process::Command;

/// `gravitile`, without a cache of kernels.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gravitile"));
    command.env("GRAVITILE_CACHE_DIR", "");
    command
}
