//! Tells the program which commit and which wgpu it is built from; result files say so. Makes the fonts of the page.

#[path = "build/letters.rs"]
mod letters;

use std::path::Path;
use std::process::Command;

fn main() {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
    };
    // Without git, or out of a source package, the commit is unknown.
    if let Some(commit) = git(&["rev-parse", "--short=10", "HEAD"]) {
        println!("cargo::rustc-env=GRAVITILE_COMMIT={commit}");
    }
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    let mut lines = lock.lines().skip_while(|line| *line != "name = \"wgpu\"");
    if let Some(version) = lines.nth(1).and_then(|line| line.strip_prefix("version = ")) {
        println!("cargo::rustc-env=GRAVITILE_WGPU={}", version.trim_matches('"'));
    }
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rerun-if-changed=build.rs");
    // Where git writes at each commit.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && std::path::Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|is| is == value);
    if is("CARGO_CFG_TARGET_ARCH", "wasm32") && is("CARGO_FEATURE_PANEL", "1") {
        make_fonts();
    }
}

/// The fonts that egui has for every program, with the letters of a page.
fn make_fonts() {
    println!("cargo::rerun-if-changed=build");
    let out = std::env::var("OUT_DIR").expect("cargo names the folder");
    let fonts = [
        ("letters.ttf", epaint_default_fonts::UBUNTU_LIGHT),
        ("code.ttf", epaint_default_fonts::HACK_REGULAR),
    ];
    let write = |name: &str, font: &[u8]| {
        std::fs::write(Path::new(&out).join(name), font).expect("the folder can be written to");
    };
    for (name, font) in fonts {
        let thin = letters::thinned(font, letters::is_of_page).expect("egui's fonts are TrueType");
        write(name, &thin);
    }
    // A few signs that no other font has.
    write("icons.ttf", epaint_default_fonts::EGUI_ICONS);
}
