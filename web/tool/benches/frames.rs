//! Frames and steps per second of the page in a browser on this machine's GPU:
//!
//!     script/web --out target/page
//!     GRAVITILE_PAGE=target/page cargo bench --package gravitile-web --bench frames [-- OPTION...]
//!
//! `--bodies A,B,...` asks for other numbers of bodies. Other options go to Chromium, in place of those below: on a machine
//! with a screen none are needed (`-- ""`). A browser shows no more frames than its screen; on a display without one (Xvfb),
//! which it gets if there is no `DISPLAY`, it shows 60 per second. A picture of each page is left in the build's folder for
//! temporary files.

#[allow(dead_code, reason = "the tests drive it further")]
#[path = "../tests/page/browser.rs"]
mod browser;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use browser::Browser;
use gravitile_web::Server;

/// Vulkan without a screen: what Chromium needs on a server with a GPU. Not `--headless=new`, with which it offers no NVIDIA
/// GPU.
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
/// From this many on forces are computed by the tree.
const BY_TREE: u32 = 100_000;
/// How long each page is watched, once it has made its first steps.
const WATCHED: Duration = Duration::from_secs(8);

/// The step in a line that reports a frame.
fn step_of(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("frame on")?;
    rest.split_once("step ")?.1.split(' ').next()?.parse().ok()
}

/// The arguments after `--`: numbers of bodies (`--bodies A,B`), and the browser's options if there are any.
fn asked() -> (Vec<u32>, Option<Vec<String>>) {
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

fn main() {
    let (bodies, options) = asked();
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
    let unseen = std::env::var_os("DISPLAY").is_none();
    let Some(mut browser) = Browser::with(&options, unseen, [1280, 720]) else {
        println!(
            "no Chromium, no Xvfb, or it does not start with {options:?}: nothing is measured"
        );
        return;
    };
    for n in bodies {
        let method = if n < BY_TREE { "direct" } else { "tree" };
        let from = browser.console.len();
        let page = format!(
            "http://{address}/?log=trace#scene=galaxy-collision&n={n}&engine=gpu&method={method}"
        );
        let asked = Instant::now();
        browser.go(&page);
        browser.stepped(3, from);
        let begun = asked.elapsed();
        let device = browser.value(
            "navigator.gpu.requestAdapter().then(a => [a.info.vendor, a.info.architecture].join(' '))",
        );
        let from = browser.console.len();
        let watched = Instant::now();
        while watched.elapsed() < WATCHED {
            browser.value("new Promise(done => setTimeout(done, 250))");
        }
        let secs = watched.elapsed().as_secs_f64();
        let steps: Vec<u64> =
            browser.console[from..].iter().filter_map(|line| step_of(line)).collect();
        let made = steps.last().zip(steps.first()).map_or(0, |(last, first)| last - first);
        println!(
            "{n} bodies by {method}, on {device}: third step {:.1} s after the page was asked for, \
             {:.0} frames a second, {:.0} steps a second",
            begun.as_secs_f64(),
            steps.len() as f64 / secs,
            made as f64 / secs
        );
        browser.picture(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("frames-{n}.png")));
        browser.go("about:blank");
    }
}
