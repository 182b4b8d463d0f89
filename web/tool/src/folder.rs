//! The page's folder: the compiled program, its bindings, and the other files.
//!
//! Binaryen's `wasm-opt` is not used: compressed, the page gets no smaller, and Debian 12's version (108) makes one that
//! does not load.

use std::fmt::{Display, Formatter};
use std::fs;
use std::io::Write;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use flate2::{Compression, write::GzEncoder};

use super::{bindings, scenes};

/// How the program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// A small and fast page; takes minutes.
    Release,
    /// Quick, for work on the page.
    Dev,
}

/// Files that are copied as they are.
const FILES: &[&str] =
    &["index.html", "page.css", "page.js", "film.js", "worker.js", "sw.js", "icon.svg"];

/// Iterations of zopfli; with fifteen files are hardly smaller.
const ROUNDS: NonZeroU64 = NonZeroU64::new(5).expect("more than none");

/// What was made.
#[derive(Debug, Default)]
pub struct Made {
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of all files, compressed by gzip, as every host sends them.
    pub by_gzip: u64,
    /// Compressed by brotli, as some hosts send them.
    pub by_brotli: u64,
}

impl Display for Made {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mb = |bytes: u64| bytes as f64 / 1e6;
        let [bytes, by_gzip, by_brotli] = [self.bytes, self.by_gzip, self.by_brotli].map(mb);
        write!(f, "{bytes:.2} MB; compressed: {by_gzip:.2} MB by gzip, {by_brotli:.2} MB by brotli")
    }
}

/// Compiles the page of the repository `root` into the folder `out`, each file also compressed, with `.gz` and `.br` after
/// its name: servers configured for it (nginx: `gzip_static`, `brotli_static`) send these. With `names` functions keep their
/// names. `url` is the address that the folder will have, for pictures of links.
pub fn make(
    root: &Path,
    out: &Path,
    profile: Profile,
    names: bool,
    url: Option<&str>,
) -> Result<Made> {
    bindings::check_version(&fs::read_to_string(root.join("Cargo.lock"))?)?;
    let program = compile(root, profile)?;
    fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
    bindings::write(&program, out, names)?;
    let bytes = fs::metadata(out.join("gravitile_bg.wasm"))?.len();
    let index =
        fs::read_to_string(root.join("web/index.html")).context("reading web/index.html")?;
    let index = index.replace(" data-bytes", &format!(" data-bytes=\"{bytes}\""));
    scenes::write(root, out, &index, url)?;
    for name in FILES.iter().filter(|name| **name != "index.html") {
        let from = root.join("web").join(name);
        fs::copy(&from, out.join(name)).with_context(|| format!("copying {}", from.display()))?;
    }
    fs::write(out.join("index.html"), index)?;
    let mut made = Made::default();
    for name in FILES.iter().chain(&["gravitile.js", "gravitile_bg.wasm"]) {
        let bytes = fs::read(out.join(name))?;
        made.bytes += bytes.len() as u64;
        let packed = [("gz", by_gzip(&bytes, profile)?), ("br", by_brotli(&bytes, profile)?)];
        for ((ending, packed), sum) in packed.iter().zip([&mut made.by_gzip, &mut made.by_brotli]) {
            *sum += packed.len() as u64;
            fs::write(out.join(format!("{name}.{ending}")), packed)?;
        }
    }
    Ok(made)
}

/// For a release by zopfli, whose files any host can send: 4 % smaller than zlib's best, in some twenty seconds.
fn by_gzip(bytes: &[u8], profile: Profile) -> Result<Vec<u8>> {
    if profile == Profile::Dev {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes)?;
        return Ok(packed.finish()?);
    }
    let options = zopfli::Options { iteration_count: ROUNDS, ..zopfli::Options::default() };
    let mut packed = Vec::new();
    zopfli::compress(options, zopfli::Format::Gzip, bytes, &mut packed)?;
    Ok(packed)
}

/// As small as possible for a release.
fn by_brotli(bytes: &[u8], profile: Profile) -> Result<Vec<u8>> {
    let quality = if profile == Profile::Release { 11 } else { 2 };
    let mut packed = brotli::CompressorWriter::new(Vec::new(), 1 << 16, quality, 24);
    packed.write_all(bytes)?;
    Ok(packed.into_inner())
}

/// Compiles the program; returns the compiler's file.
fn compile(root: &Path, profile: Profile) -> Result<PathBuf> {
    let (name, folder) = match profile {
        Profile::Release => ("web-release", "web-release"),
        Profile::Dev => ("dev", "debug"),
    };
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| root.join("target")).join("web");
    let mut compile = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    compile
        .current_dir(root)
        .args(["rustc", "--locked", "--lib", "--crate-type", "cdylib"])
        .args(["--target", "wasm32-unknown-unknown", "--no-default-features"])
        .args(["--features", "panel", "--profile", name, "--target-dir"])
        .arg(&target)
        // 128-bit vectors, which every current browser with WebAssembly has.
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-Ctarget-feature=+simd128");
    if profile == Profile::Dev {
        // Compiling takes the time here, not the page.
        compile.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "false");
    }
    let compiled = compile.status().context("starting cargo")?;
    ensure!(
        compiled.success(),
        "the page was not compiled; is the target there? (rustup target add wasm32-unknown-unknown)"
    );
    Ok(target.join("wasm32-unknown-unknown").join(folder).join("gravitile.wasm"))
}
