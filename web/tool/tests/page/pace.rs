//! Long tasks on the page's main thread, and the checks and timings of kernels.

use serde_json::Value;

use super::browser::{Browser, Graphics};
use super::{click, open_browser, page_url};

/// Script that records start and duration, in ms, of each long task (more than 50 ms, as defined by
/// browsers).
const OBSERVE_LONG_TASKS: &str = "window.long = []; new PerformanceObserver(list => { for (const task of list.getEntries()) \
     window.long.push([task.startTime, task.duration]); }).observe({ type: 'longtask', buffered: true });";

/// Bound on the longest task of a load of a release build, in ms, on a busy machine. The aim is 50
/// on an idle one.
const LONGEST_MS: f64 = 100.0;
/// Bound on its CPU time, in ms, which other load hardly changes: the rest of a task's duration is
/// waiting for a core while the driver, the worker and the browser's compiler use them.
const LONGEST_CPU_MS: f64 = 15.0;
/// Number of loads; the least disturbed one counts.
const LOADS: usize = 4;

/// Start and duration, in ms, of the long tasks so far.
fn long_tasks(browser: &mut Browser) -> Vec<[f64; 2]> {
    let tasks = browser.evaluate("window.long");
    let pair = |task: &Value| [0, 1].map(|k| task[k].as_f64().unwrap());
    tasks.as_array().unwrap().iter().map(pair).collect()
}

/// When the program was loaded, in ms since navigation: before that the browser compiles it.
fn program_loaded_ms(browser: &mut Browser) -> f64 {
    browser.evaluate("performance.getEntriesByName('begun')[0].startTime").as_f64().unwrap()
}

/// The most CPU time, in ms, of a task of the page's main thread since the program was loaded.
fn longest_cpu_ms(events: &[Value]) -> f64 {
    let number = |event: &Value, name: &str| event[name].as_f64().unwrap_or(0.0);
    let loaded = events.iter().find(|event| event["name"] == "begun");
    let loaded = loaded.expect("the page marks when its program is there");
    let is_of_page = |event: &&Value| {
        event["name"].as_str().is_some_and(|name| name.ends_with("RunTask"))
            && ["pid", "tid"].iter().all(|key| event[key] == loaded[key])
            && number(event, "ts") >= number(loaded, "ts")
    };
    // A late reading of the CPU clock can exceed the duration.
    let cpu_ms = |event: &Value| number(event, "tdur").min(number(event, "dur")) / 1e3;
    let tasks: Vec<f64> = events.iter().filter(is_of_page).map(cpu_ms).collect();
    assert!(tasks.len() > 100, "{} tasks were noted", tasks.len());
    tasks.into_iter().fold(0.0, f64::max)
}

#[test]
#[ignore = "script/test --long: only a page to be published is quick"]
fn no_long_tasks_while_page_loads() {
    if std::env::var_os("GRAVITILE_PAGE").is_none() {
        return super::report_skipped(
            "long tasks of the page: GRAVITILE_PAGE names none that is to be published",
        );
    }
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.add_init_script(OBSERVE_LONG_TASKS);
    let (mut least, mut least_cpu) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..LOADS {
        let from = browser.console.len();
        browser.start_trace(&["toplevel", "blink.user_timing"]);
        browser.navigate(&format!("{}?log=trace#scene=galaxy-collision", page_url()));
        browser.wait_for_step(3, from);
        let cpu_ms = longest_cpu_ms(&browser.stop_trace());
        let loaded = program_loaded_ms(&mut browser);
        let tasks = long_tasks(&mut browser);
        let pictured = browser.first_picture_ms(from);
        println!(
            "program there at {loaded:.0} ms, first picture at {pictured:.0} ms, long tasks (begin, ms): {tasks:.0?}, \
             at most {cpu_ms:.1} ms of a core"
        );
        let durations = tasks.iter().filter(|[begin, _]| *begin >= loaded).map(|[_, ms]| *ms);
        least = least.min(durations.fold(0.0, f64::max));
        least_cpu = least_cpu.min(cpu_ms);
        browser.navigate("about:blank");
    }
    assert!(least <= LONGEST_MS, "a task takes {least} ms");
    assert!(least_cpu <= LONGEST_CPU_MS, "a task takes {least_cpu} ms of a core");
}

#[test]
#[ignore = "script/test --long"]
fn kernel_check_passes_and_fastest_kernel_is_stored() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.navigate(&super::small_scene_url());
    browser.wait_for_step(1, 0);
    click(&mut browser, "Kernel");
    click(&mut browser, "Check this kernel");
    let text = super::shown::text_containing(&mut browser, "cases agree with f64");
    let counts: Vec<&str> = text.split(' ').collect();
    assert_eq!(counts[0], counts[2], "{text}");
    click(&mut browser, "Find the fastest");
    let text = super::shown::text_containing(&mut browser, "for 1000 bodies:");
    assert!(text.starts_with("fastest of "), "{text}");
    let clock = super::shown::text_starting_with(&mut browser, "timed by ");
    // The resolution depends on the browser: 1 ns, or 100 us where it coarsens timestamps.
    let resolution = clock
        .strip_prefix("timed by GPU timestamps, resolution ")
        .and_then(|c| c.strip_suffix("s"));
    let is_stated = resolution.is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    assert!(is_stated || clock == "timed by wall clock", "{clock}");
    let stored = browser.evaluate("localStorage.getItem('gravitile/tuned.toml')");
    assert!(stored.as_str().is_some_and(|text| text.contains("[[choice]]")), "{stored}");
    click(&mut browser, "Use the fastest");
    let from = browser.console.len();
    browser.wait_for_line(&["frame on Kernel", "going"], from);
}
