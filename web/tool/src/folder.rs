//! The page's folder: the compiled program, its bindings, and the other files.
//!
//! Binaryen's `wasm-opt` is not used: it does not make the compressed page smaller, and the output
//! of Debian 12's version (108) does not load.

use std::fmt::{Display, Formatter};
use std::fs;
use std::io::Write;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use flate2::{Compression, write::GzEncoder};

use super::{bindings, lesson, scenes, scores};

/// How the program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// A small and fast page; takes minutes.
    Release,
    /// Compiles quickly, for work on the page.
    Dev,
}

/// The page's files in `web/`.
const FILES: &[&str] =
    &["index.html", "page.css", "page.js", "film.js", "worker.js", "sw.js", "icon.svg"];

/// The files of the lesson in `web/`, besides `lesson.html` and what `lesson.rs` writes.
const LESSON: &[&str] = &["lesson.css", "lesson.js", "editor.js", "lesson-worker.js", "icon.svg"];

/// The files of the page of scores in `web/`, which the page itself does not load.
const SCORES: &[&str] = &["scores.css", "scores.js"];

/// Iterations of zopfli; 15, its default, make hardly smaller files.
const ZOPFLI_ITERATIONS: NonZeroU64 = NonZeroU64::new(5).expect("more than none");

/// Size of the page.
#[derive(Debug, Default)]
pub struct PageSize {
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of all files, compressed by gzip, which every host can send.
    pub by_gzip: u64,
    /// Bytes of all files, compressed by brotli, which some hosts can send.
    pub by_brotli: u64,
}

impl Display for PageSize {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mb = |bytes: u64| bytes as f64 / 1e6;
        let [bytes, by_gzip, by_brotli] = [self.bytes, self.by_gzip, self.by_brotli].map(mb);
        write!(f, "{bytes:.2} MB; compressed: {by_gzip:.2} MB by gzip, {by_brotli:.2} MB by brotli")
    }
}

/// Builds the page of the repository `root` in the folder `out`. Each file is also written
/// compressed, with `.gz` and `.br` appended to its name, for servers configured to send those
/// (nginx: `gzip_static`, `brotli_static`). Returns the sizes of the page and of the lesson. With
/// `names` functions keep their names. `url` is the address that the folder will have, for link
/// previews.
pub fn make(
    root: &Path,
    out: &Path,
    profile: Profile,
    names: bool,
    url: Option<&str>,
) -> Result<(PageSize, PageSize)> {
    bindings::check_version(&fs::read_to_string(root.join("Cargo.lock"))?)?;
    let program = compile(root, profile, &PAGE)?;
    fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
    bindings::write(&program, out, "gravitile", names)?;
    let bytes = fs::metadata(out.join("gravitile_bg.wasm"))?.len();
    let index =
        fs::read_to_string(root.join("web/index.html")).context("reading web/index.html")?;
    let index = index.replace(" data-bytes", &format!(" data-bytes=\"{bytes}\""));
    scenes::write(root, out, &index, url)?;
    scores::write(root, out)?;
    for name in FILES.iter().chain(SCORES).filter(|name| **name != "index.html") {
        let from = root.join("web").join(name);
        fs::copy(&from, out.join(name)).with_context(|| format!("copying {}", from.display()))?;
    }
    fs::write(out.join("index.html"), index)?;
    let files: Vec<String> = FILES
        .iter()
        .chain(&["gravitile.js", "gravitile_bg.wasm"])
        .map(|name| (*name).to_owned())
        .collect();
    Ok((packed(out, &files, profile)?, make_lesson(root, out, profile, names)?))
}

/// Builds the lesson alone in the folder `out`, as [`make`] does with the page. Returns its size.
pub fn make_lesson(root: &Path, out: &Path, profile: Profile, names: bool) -> Result<PageSize> {
    bindings::check_version(&fs::read_to_string(root.join("Cargo.lock"))?)?;
    let figures = compile(root, profile, &FIGURES)?;
    fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
    bindings::write(&figures, out, "lesson-figures", names)?;
    let mut files = lesson::write(root, out)?;
    for name in LESSON {
        let from = root.join("web").join(name);
        fs::copy(&from, out.join(name)).with_context(|| format!("copying {}", from.display()))?;
    }
    let compiled = ["lesson-figures.js", "lesson-figures_bg.wasm"];
    files.extend(LESSON.iter().chain(&compiled).map(|name| (*name).to_owned()));
    packed(out, &files, profile)
}

/// Writes a compressed copy next to each file; returns the sizes of all in bytes.
fn packed(out: &Path, names: &[String], profile: Profile) -> Result<PageSize> {
    let mut size = PageSize::default();
    for name in names {
        let bytes = fs::read(out.join(name))?;
        size.bytes += bytes.len() as u64;
        if name.ends_with(".png") {
            // Compressed already.
            size.by_gzip += bytes.len() as u64;
            size.by_brotli += bytes.len() as u64;
            continue;
        }
        let packed =
            [("gz", compress_gzip(&bytes, profile)?), ("br", compress_brotli(&bytes, profile)?)];
        for ((ending, packed), sum) in packed.iter().zip([&mut size.by_gzip, &mut size.by_brotli]) {
            *sum += packed.len() as u64;
            fs::write(out.join(format!("{name}.{ending}")), packed)?;
        }
    }
    Ok(size)
}

/// Compresses by gzip; for a release with zopfli, which makes files 4 % smaller than zlib's best in
/// about 20 s.
fn compress_gzip(bytes: &[u8], profile: Profile) -> Result<Vec<u8>> {
    if profile == Profile::Dev {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes)?;
        return Ok(packed.finish()?);
    }
    let options =
        zopfli::Options { iteration_count: ZOPFLI_ITERATIONS, ..zopfli::Options::default() };
    let mut packed = Vec::new();
    zopfli::compress(options, zopfli::Format::Gzip, bytes, &mut packed)?;
    Ok(packed)
}

/// Compresses by brotli; for a release with the highest quality.
fn compress_brotli(bytes: &[u8], profile: Profile) -> Result<Vec<u8>> {
    let quality = if profile == Profile::Release { 11 } else { 2 };
    let mut packed = brotli::CompressorWriter::new(Vec::new(), 1 << 16, quality, 24);
    packed.write_all(bytes)?;
    Ok(packed.into_inner())
}

/// A library that is compiled to WebAssembly.
struct Module {
    package: &'static str,
    features: &'static str,
}

const PAGE: Module = Module { package: "gravitile-app", features: "panel" };
/// The live figures of the lesson, which has a module of its own: 0.64 MB by brotli, where the
/// page's has 2.2, since it needs no window.
const FIGURES: Module = Module { package: "gravitile-lesson", features: "" };

/// Compiles a module; returns the path of the `.wasm` file.
fn compile(root: &Path, profile: Profile, module: &Module) -> Result<PathBuf> {
    let (name, folder) = match profile {
        Profile::Release => ("web-release", "web-release"),
        Profile::Dev => ("dev", "debug"),
    };
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| root.join("target")).join("web");
    let mut compile = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    compile
        .current_dir(root)
        .args(["rustc", "--locked", "--package", module.package, "--lib", "--crate-type", "cdylib"])
        .args(["--target", "wasm32-unknown-unknown", "--no-default-features"])
        .args(["--features", module.features, "--profile", name, "--target-dir"])
        .arg(&target)
        // 128-bit SIMD, which every current browser with WebAssembly supports.
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-Ctarget-feature=+simd128");
    if profile == Profile::Dev {
        // Short compile time matters here more than the speed of the page.
        compile.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "false");
    }
    let compiled = compile.status().context("starting cargo")?;
    ensure!(
        compiled.success(),
        "the page was not compiled; is the target there? (rustup target add wasm32-unknown-unknown)"
    );
    Ok(target
        .join("wasm32-unknown-unknown")
        .join(folder)
        .join(format!("{}.wasm", module.package.replace('-', "_"))))
}
