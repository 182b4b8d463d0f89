//! Frames and steps per second of the page in a browser on this machine's GPU:
//!
//!     script/web --out target/page
//!     GRAVITILE_PAGE=target/page cargo bench --package gravitile-web --bench frames [-- OPTION...]
//!
//! `--bodies A,B,...` sets the numbers of bodies. Other options replace those passed to Chromium
//! (`NO_SCREEN` below): on a machine with a screen none are needed (`-- ""`). The frame rate is
//! limited by the display's refresh rate; without `DISPLAY` the browser runs on Xvfb, at 60 Hz. A
//! screenshot of each page is written to the target folder for temporary files.

#[allow(dead_code, reason = "the tests drive it further")]
#[path = "../tests/page/browser.rs"]
mod browser;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use browser::Browser;
use gravitile_web::Server;

/// Chromium's options for Vulkan on a server with a GPU but no screen. Not `--headless=new`, with
/// which it offers no NVIDIA GPU.
const NO_SCREEN: &[&str] = &[
    "--ozone-platform=x11",
    "--disable-dev-shm-usage",
    "--enable-unsafe-webgpu",
    "--ignore-gpu-blocklist",
    "--enable-features=Vulkan",
    "--use-angle=vulkan",
    "--disable-vulkan-surface",
];
/// Numbers of bodies of the galaxy collision.
const BODIES: &[u32] = &[16_384, 65_536, 262_144, 1_000_000];
/// From this number of bodies on, forces are computed by the tree.
const TREE_FROM: u32 = 100_000;
/// How long frames and steps are counted, at most, after the first steps.
const WATCH_TIME: Duration = Duration::from_secs(8);

/// The step number in a console line that reports a frame.
fn step_of(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("frame on")?;
    rest.split_once("step ")?.1.split(' ').next()?.parse().ok()
}

/// Parses the arguments after `--`: numbers of bodies (`--bodies A,B`), and the browser's options
/// if there are any.
fn parse_arguments() -> (Vec<u32>, Option<Vec<String>>) {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut bodies, mut options) = (BODIES.to_vec(), None);
    while let Some(word) = words.next() {
        if word == "--bodies" {
            let list = words.next().unwrap_or_default();
            bodies = list.split(',').map(|n| n.parse().expect("--bodies takes numbers")).collect();
        } else {
            options.get_or_insert_with(Vec::new).extend((!word.is_empty()).then_some(word));
        }
    }
    (bodies, options)
}

/// Frames and steps a second, until [`WATCH_TIME`] is over or the run ends.
fn rates(browser: &mut Browser) -> [f64; 2] {
    let from = browser.console.len();
    let watch_start = Instant::now();
    let (mut rates, mut known) = ([0.0; 2], 0);
    while watch_start.elapsed() < WATCH_TIME {
        browser.evaluate("new Promise(done => setTimeout(done, 250))");
        let secs = watch_start.elapsed().as_secs_f64();
        let steps: Vec<u64> =
            browser.console[from..].iter().filter_map(|line| step_of(line)).collect();
        let made = steps.last().zip(steps.first()).map_or(0, |(last, first)| last - first);
        if made > known {
            (rates, known) = ([steps.len() as f64 / secs, made as f64 / secs], made);
        }
    }
    rates
}

fn main() {
    let (bodies, options) = parse_arguments();
    let options: Vec<&str> = match &options {
        Some(given) => given.iter().map(String::as_str).collect(),
        None => NO_SCREEN.to_vec(),
    };
    let Some(folder) = std::env::var_os("GRAVITILE_PAGE").map(PathBuf::from) else {
        println!(
            "GRAVITILE_PAGE names no folder that script/web --out has made: nothing is measured"
        );
        return;
    };
    let server = Server::open(&folder, 0).unwrap();
    let address = server.address();
    std::thread::spawn(move || server.run());
    let virtual_display = std::env::var_os("DISPLAY").is_none();
    let Some(mut browser) = Browser::with_options(&options, virtual_display, [1280, 720]) else {
        println!(
            "no Chromium, no Xvfb, or it does not start with {options:?}: nothing is measured"
        );
        return;
    };
    for n in bodies {
        let method = if n < TREE_FROM { "direct" } else { "tree" };
        let from = browser.console.len();
        let page = format!(
            "http://{address}/?log=trace#scene=galaxy-collision&n={n}&engine=gpu&method={method}"
        );
        let requested = Instant::now();
        browser.navigate(&page);
        browser.wait_for_step(3, from);
        let startup = requested.elapsed();
        let device = browser.evaluate(
            "navigator.gpu.requestAdapter().then(a => [a.info.vendor, a.info.architecture].join(' '))",
        );
        let [frames, steps] = rates(&mut browser);
        println!(
            "{n} bodies by {method}, on {device}: third step {:.1} s after the page was asked for, \
             {frames:.0} frames a second, {steps:.0} steps a second",
            startup.as_secs_f64(),
        );
        // As fast as possible: x.
        browser.press_key("x", 88);
        let [frames, steps] = rates(&mut browser);
        println!("  as fast as possible: {frames:.0} frames, {steps:.0} steps a second");
        browser.screenshot(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("frames-{n}.png")));
        browser.navigate("about:blank");
    }
}
