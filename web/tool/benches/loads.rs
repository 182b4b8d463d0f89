//! Long tasks on the page's main thread while it loads. Several builds of the page take turns:
//!
//!     GRAVITILE_PAGE=target/page:target/other \
//!         cargo bench --package gravitile-web --bench loads [-- LOADS]
//!
//! Browsers define a long task as one of more than 50 ms. Those before the program has loaded are
//! the browser's own and do not count.

#[allow(dead_code, reason = "the tests drive it further")]
#[path = "../tests/page/browser.rs"]
mod browser;

use std::net::SocketAddr;
use std::path::PathBuf;

use browser::{Browser, Graphics};
use gravitile_web::Server;

/// Loads of each page by default.
const DEFAULT_LOADS: u32 = 20;
/// Script that records start and duration, in ms, of each long task.
const OBSERVE_LONG_TASKS: &str = "window.long = []; new PerformanceObserver(list => { for (const task of list.getEntries()) \
     window.long.push([task.startTime, task.duration]); }).observe({ type: 'longtask', buffered: true });";
/// Script that returns the longest of these since the program was loaded, or 0.
const LONGEST: &str = "(() => { const begun = performance.getEntriesByName('begun')[0].startTime; \
     return Math.max(0, ...window.long.filter(([at]) => at >= begun).map(([, ms]) => ms)); })()";

/// A build of the page, served from its folder, and the results of its loads.
struct Page {
    folder: PathBuf,
    address: SocketAddr,
    /// Milliseconds of the longest task of each load; 0 if none was long.
    longest: Vec<f64>,
    /// Milliseconds to the first picture, of each load.
    first_picture: Vec<f64>,
}

impl Page {
    fn open(folder: PathBuf) -> Self {
        let server = Server::open(&folder, 0).unwrap();
        let address = server.address();
        std::thread::spawn(move || server.run());
        Self { folder, address, longest: Vec::new(), first_picture: Vec::new() }
    }

    fn load(&mut self, browser: &mut Browser) {
        let from = browser.console.len();
        browser.navigate(&format!("http://{}/?log=trace#scene=galaxy-collision", self.address));
        browser.wait_for_step(3, from);
        self.longest.push(browser.evaluate(LONGEST).as_f64().unwrap());
        self.first_picture.push(browser.first_picture_ms(from));
        browser.navigate("about:blank");
    }

    fn print_summary(&mut self) {
        let loads = self.longest.len();
        let long: Vec<f64> = self.longest.iter().copied().filter(|ms| *ms > 0.0).collect();
        self.first_picture.sort_by(f64::total_cmp);
        println!(
            "{}: first picture at {:.0} ms ({:.0} to {:.0}); in {} of {loads} loads a task of more than 50 ms: {long:.0?} ms",
            self.folder.display(),
            self.first_picture[loads / 2],
            self.first_picture[0],
            self.first_picture[loads - 1],
            long.len()
        );
    }
}

fn main() {
    let argument = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let loads: u32 = argument.unwrap_or(DEFAULT_LOADS);
    let Some(folders) = std::env::var_os("GRAVITILE_PAGE") else {
        println!(
            "GRAVITILE_PAGE names no folder that script/web --out has made: nothing is measured"
        );
        return;
    };
    let mut pages: Vec<Page> = std::env::split_paths(&folders).map(Page::open).collect();
    let Some(mut browser) = Browser::open(Graphics::WebGpu, [1280, 720]) else {
        println!("no Chromium, or no Xvfb: nothing is measured");
        return;
    };
    browser.add_init_script(OBSERVE_LONG_TASKS);
    // The first load of each page fills the browser's code caches, as a visitor's does; it counts.
    for turn in 0..loads as usize {
        let count = pages.len();
        for offset in 0..count {
            pages[(turn + offset) % count].load(&mut browser);
        }
    }
    pages.iter_mut().for_each(Page::print_summary);
}
