//! Generates the program's JavaScript bindings with wasm-bindgen's support crate, so that no
//! separate `wasm-bindgen` program of a matching version is needed.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

/// Version of wasm-bindgen in this tool's `Cargo.toml`.
const VERSION: &str = "0.2.130";

/// Writes `NAME.js` and `NAME_bg.wasm` into `out`; with `keep_names` the names of
/// functions stay in the latter.
pub fn write(program: &Path, out: &Path, name: &str, keep_names: bool) -> Result<()> {
    Bindgen::new()
        .input_path(program)
        .web(true)?
        .typescript(false)
        .out_name(name)
        .keep_debug(false)
        .remove_name_section(!keep_names)
        .generate(out)
        .context("wasm-bindgen")
}

/// Checks that wasm-bindgen has the same version in the page's lock file as in this tool.
pub fn check_version(lock: &str) -> Result<()> {
    let locked = lock.split("name = \"wasm-bindgen\"\nversion = \"").nth(1);
    let locked = locked.and_then(|rest| rest.split('"').next()).unwrap_or("none");
    ensure!(
        locked == VERSION,
        "Cargo.lock has wasm-bindgen {locked}, but web/tool is for {VERSION}: set both to the same"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_file_and_tool_agree_on_wasm_bindgen_version() {
        check_version(include_str!("../../../Cargo.lock")).unwrap();
        assert!(include_str!("../Cargo.toml").contains(&format!("\"={VERSION}\"")));
        let other = "name = \"wasm-bindgen\"\nversion = \"0.2.1\"\n";
        assert!(check_version(other).unwrap_err().to_string().contains("0.2.1,"));
    }
}
