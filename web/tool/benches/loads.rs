//! What blocks a page's thread while it loads, load after load, with several pages by turns:
//!
//!     GRAVITILE_PAGE=target/page:target/other cargo bench --package gravitile-web --bench loads [-- LOADS]
//!
//! A browser reports tasks of more than 50 ms as long. Those before the program has loaded are the browser's own.

#[allow(dead_code, reason = "the tests drive it further")]
#[path = "../tests/page/browser.rs"]
mod browser;

use std::net::SocketAddr;
use std::path::PathBuf;

use browser::{Browser, Sight};
use gravitile_web::Server;

/// Loads of each page if no number is given.
const USUAL: u32 = 20;
/// Script: keeps begin and length in milliseconds of each long task.
const WATCH: &str = "window.long = []; new PerformanceObserver(list => { for (const task of list.getEntries()) \
     window.long.push([task.startTime, task.duration]); }).observe({ type: 'longtask', buffered: true });";
/// Script: the longest of these since the program was loaded, or 0.
const LONGEST: &str = "(() => { const begun = performance.getEntriesByName('begun')[0].startTime; \
     return Math.max(0, ...window.long.filter(([at]) => at >= begun).map(([, ms]) => ms)); })()";

/// A folder that is served, and the results of its loads.
struct Page {
    folder: PathBuf,
    address: SocketAddr,
    /// Milliseconds of the longest task of each load; 0 if none was long.
    longest: Vec<f64>,
    /// Milliseconds to the first picture.
    pictured: Vec<f64>,
}

impl Page {
    fn open(folder: PathBuf) -> Self {
        let server = Server::open(&folder, 0).unwrap();
        let address = server.address();
        std::thread::spawn(move || server.run());
        Self { folder, address, longest: Vec::new(), pictured: Vec::new() }
    }

    fn load(&mut self, browser: &mut Browser) {
        let from = browser.console.len();
        browser.go(&format!("http://{}/?log=trace#scene=galaxy-collision", self.address));
        browser.stepped(3, from);
        self.longest.push(browser.value(LONGEST).as_f64().unwrap());
        self.pictured.push(browser.pictured(from));
        browser.go("about:blank");
    }

    fn tell(&mut self) {
        let loads = self.longest.len();
        let long: Vec<f64> = self.longest.iter().copied().filter(|ms| *ms > 0.0).collect();
        self.pictured.sort_by(f64::total_cmp);
        println!(
            "{}: first picture at {:.0} ms ({:.0} to {:.0}); in {} of {loads} loads a task of more than 50 ms: {long:.0?} ms",
            self.folder.display(),
            self.pictured[loads / 2],
            self.pictured[0],
            self.pictured[loads - 1],
            long.len()
        );
    }
}

fn main() {
    let asked = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let loads: u32 = asked.unwrap_or(USUAL);
    let Some(folders) = std::env::var_os("GRAVITILE_PAGE") else {
        println!(
            "GRAVITILE_PAGE names no folder that script/web --out has made: nothing is measured"
        );
        return;
    };
    let mut pages: Vec<Page> = std::env::split_paths(&folders).map(Page::open).collect();
    let Some(mut browser) = Browser::open(Sight::Pictures, [1280, 720]) else {
        println!("no Chromium, or no Xvfb: nothing is measured");
        return;
    };
    browser.before(WATCH);
    // The first load of each fills the browser's caches of compiled code, as a visitor's does; it counts.
    for turn in 0..loads as usize {
        let count = pages.len();
        for place in 0..count {
            pages[(turn + place) % count].load(&mut browser);
        }
    }
    pages.iter_mut().for_each(Page::tell);
}
