//! The JavaScript around the program, made by wasm-bindgen's own crate: so no separate program with another version is
//! needed.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

/// As in `Cargo.toml` here.
const VERSION: &str = "0.2.130";

/// Writes `gravitile.js` and `gravitile_bg.wasm` into `out`.
pub fn write(program: &Path, out: &Path, keeps_names: bool) -> Result<()> {
    Bindgen::new()
        .input_path(program)
        .web(true)?
        .typescript(false)
        .out_name("gravitile")
        .keep_debug(false)
        .remove_name_section(!keeps_names)
        .generate(out)
        .context("wasm-bindgen")
}

/// The page's wasm-bindgen must be of the version of its support crate.
pub fn check_version(lock: &str) -> Result<()> {
    let of_page = lock.split("name = \"wasm-bindgen\"\nversion = \"").nth(1);
    let of_page = of_page.and_then(|rest| rest.split('"').next()).unwrap_or("none");
    ensure!(
        of_page == VERSION,
        "Cargo.lock has wasm-bindgen {of_page}, but web/tool is for {VERSION}: set both to the same"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_and_the_tool_agree() {
        check_version(include_str!("../../../Cargo.lock")).unwrap();
        assert!(include_str!("../Cargo.toml").contains(&format!("\"={VERSION}\"")));
        let other = "name = \"wasm-bindgen\"\nversion = \"0.2.1\"\n";
        assert!(check_version(other).unwrap_err().to_string().contains("0.2.1,"));
    }
}
