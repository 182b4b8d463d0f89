//! Records which version of wgpu the library is built with, for result files.

fn main() {
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    let mut lines = lock.lines().skip_while(|line| *line != "name = \"wgpu\"");
    if let Some(version) = lines.nth(1).and_then(|line| line.strip_prefix("version = ")) {
        println!("cargo::rustc-env=GRAVITILE_WGPU={}", version.trim_matches('"'));
    }
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rerun-if-changed=build.rs");
}
