//! Nothing blocks the page's thread: there are no long tasks but the browser's own.

use serde_json::Value;

use super::browser::{Browser, Sight};
use super::{open, page, press};

/// Script: keeps begin and length in milliseconds of each task of more than 50 ms, as browsers report them.
const WATCH: &str = "window.long = []; new PerformanceObserver(list => { for (const task of list.getEntries()) \
     window.long.push([task.startTime, task.duration]); }).observe({ type: 'longtask', buffered: true });";

/// The longest task of a load may take this many milliseconds in a release, beside other work. The aim is 50 on an idle
/// machine.
const LONGEST_MS: f64 = 100.0;
/// And this many of a core's time, which other work hardly changes: the rest is waiting for a core while the adapter's
/// driver, the worker and the browser's compiler have them.
const LONGEST_OWN_MS: f64 = 15.0;
/// Of this many loads the least disturbed one counts.
const LOADS: usize = 4;

/// Begins and lengths of long tasks so far.
fn long_tasks(browser: &mut Browser) -> Vec<[f64; 2]> {
    let told = browser.value("window.long");
    let pair = |task: &Value| [0, 1].map(|k| task[k].as_f64().unwrap());
    told.as_array().unwrap().iter().map(pair).collect()
}

/// When the program was loaded, in milliseconds: before that the browser compiles it.
fn begun(browser: &mut Browser) -> f64 {
    browser.value("performance.getEntriesByName('begun')[0].startTime").as_f64().unwrap()
}

/// The longest task of the page's thread since the program was loaded, in milliseconds of a core.
fn longest_own(events: &[Value]) -> f64 {
    let number = |event: &Value, name: &str| event[name].as_f64().unwrap_or(0.0);
    let begun = events.iter().find(|event| event["name"] == "begun");
    let begun = begun.expect("the page marks when its program is there");
    let is_of_page = |event: &&Value| {
        event["name"].as_str().is_some_and(|name| name.ends_with("RunTask"))
            && ["pid", "tid"].iter().all(|key| event[key] == begun[key])
            && number(event, "ts") >= number(begun, "ts")
    };
    // A clock that was read late shows more than has passed.
    let own = |event: &Value| number(event, "tdur").min(number(event, "dur")) / 1e3;
    let tasks: Vec<f64> = events.iter().filter(is_of_page).map(own).collect();
    assert!(tasks.len() > 100, "{} tasks were noted", tasks.len());
    tasks.into_iter().fold(0.0, f64::max)
}

#[test]
#[ignore = "script/test --long: only a page to be published is quick"]
fn no_task_holds_the_page_up_while_it_begins() {
    if std::env::var_os("GRAVITILE_PAGE").is_none() {
        return super::skipped(
            "long tasks of the page: GRAVITILE_PAGE names none that is to be published",
        );
    }
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.before(WATCH);
    let (mut least, mut least_own) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..LOADS {
        let from = browser.console.len();
        browser.trace(&["toplevel", "blink.user_timing"]);
        browser.go(&format!("{}?log=trace#scene=galaxy-collision", page()));
        browser.stepped(3, from);
        let own = longest_own(&browser.traced());
        let begun = begun(&mut browser);
        let tasks = long_tasks(&mut browser);
        let pictured = browser.pictured(from);
        println!(
            "program there at {begun:.0} ms, first picture at {pictured:.0} ms, long tasks (begin, ms): {tasks:.0?}, \
             at most {own:.1} ms of a core"
        );
        let of_ours = tasks.iter().filter(|[begin, _]| *begin >= begun).map(|[_, ms]| *ms);
        least = least.min(of_ours.fold(0.0, f64::max));
        least_own = least_own.min(own);
        browser.go("about:blank");
    }
    assert!(least <= LONGEST_MS, "a task takes {least} ms");
    assert!(least_own <= LONGEST_OWN_MS, "a task takes {least_own} ms of a core");
}

#[test]
#[ignore = "script/test --long"]
fn a_kernel_is_checked_and_the_fastest_is_found_and_remembered() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.go(&super::small());
    browser.stepped(1, 0);
    press(&mut browser, "Kernel");
    press(&mut browser, "Check this kernel");
    let said = super::shown::words_with(&mut browser, "cases agree with f64");
    let counts: Vec<&str> = said.split(' ').collect();
    assert_eq!(counts[0], counts[2], "{said}");
    press(&mut browser, "Find the fastest");
    let said = super::shown::words_with(&mut browser, "for 1000 bodies:");
    assert!(said.starts_with("fastest of "), "{said}");
    let clock = super::shown::words(&mut browser, "timed by ");
    // How fine is for the browser to say: 1 ns where it may, 100 us where pages are kept from it.
    let apart = clock
        .strip_prefix("timed by GPU timestamps, resolution ")
        .and_then(|c| c.strip_suffix("s"));
    let is_stated = apart.is_some_and(|apart| apart.starts_with(|c: char| c.is_ascii_digit()));
    assert!(is_stated || clock == "timed by wall clock", "{clock}");
    let kept = browser.value("localStorage.getItem('gravitile/tuned.toml')");
    assert!(kept.as_str().is_some_and(|text| text.contains("[[choice]]")), "{kept}");
    press(&mut browser, "Use the fastest");
    let from = browser.console.len();
    browser.line_with(&["frame on Kernel", "going"], from);
}
