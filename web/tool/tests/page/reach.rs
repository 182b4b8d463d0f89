//! The page by keyboard and screen reader, with bad links or a bad network, and without WebGPU.

use std::path::Path;

use gravitile_web::Server;

use super::browser::{Browser, Graphics};
use super::{click, open_browser, open_link, output_path, page_url, small_scene_url};

/// Serves a folder with only these files of the page; returns its address.
fn serve_files(files: &[&str]) -> String {
    let out = output_path("without-program");
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in files {
        std::fs::copy(from.join(name), out.join(name)).unwrap();
    }
    let server = Server::open(&out, 0).unwrap();
    let address = format!("http://{}/", server.address());
    std::thread::spawn(move || server.run());
    address
}

fn wait_for_note(browser: &mut Browser) -> String {
    // Right after a navigation the document may still be empty.
    let note = browser.wait_until(
        "(() => { const n = document.getElementById('note'); return n && !n.hidden && n.textContent })()",
    );
    note.as_str().unwrap_or_default().to_owned()
}

fn is_visible(browser: &mut Browser, id: &str) -> bool {
    browser.evaluate(&format!("document.getElementById({id:?}).checkVisibility()")) == true
}

#[test]
#[ignore = "script/test --long"]
fn missing_program_is_reported_and_loading_screen_removed() {
    let Some(mut browser) = open_browser(Graphics::NoWebGpu) else { return };
    browser.navigate(&serve_files(&["index.html", "page.css", "page.js"]));
    assert!(wait_for_note(&mut browser).contains("could not be loaded"));
    assert!(!is_visible(&mut browser, "begin"));
}

#[test]
#[ignore = "script/test --long"]
fn without_webgpu_bodies_are_capped_and_bad_links_reported() {
    let Some(mut browser) = open_browser(Graphics::NoWebGpu) else { return };
    for (link, expected) in [
        ("#n=100000", "1500 bodies are shown instead of 100000"),
        ("#scene=plumer", "did you mean 'plummer'?"),
        ("#scene=figure-eight", "no WebGPU"),
    ] {
        let from = open_link(&mut browser, link);
        browser.wait_for_line(&["plain picture, step 3"], from);
        let note = wait_for_note(&mut browser);
        assert!(note.contains(expected), "{link}: {note}");
        let shown =
            "[...document.querySelectorAll('canvas')].filter(e => e.checkVisibility()).length";
        assert_eq!(browser.evaluate(shown), 1);
    }
}

#[test]
#[ignore = "script/test --long"]
fn too_many_bodies_are_refused_and_slow_scene_is_cancelled() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    let from = open_link(&mut browser, "#n=100000000");
    browser.wait_for_line(&["says", "from 1 to 4000000"], from);
    browser.wait_for_step(1, from);
    let from = open_link(&mut browser, "#scene=plummer&n=4000000");
    browser.wait_until(
        "document.getElementById('progress')?.textContent.startsWith('making plummer')",
    );
    browser.evaluate("document.getElementById('cancel').click()");
    browser.wait_for_line(&["says", "cancelled", "galaxy-collision"], from);
    browser.wait_for_step(1, from);
    assert!(!is_visible(&mut browser, "begin"));
}

#[test]
#[ignore = "script/test --long"]
fn every_control_is_reachable_by_tab_key_and_named() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.navigate(&small_scene_url());
    browser.wait_for_step(1, 0);
    browser.wait_until("document.querySelectorAll('#mirror input[type=number]').length > 10");
    browser.evaluate("document.getElementById('window').focus()");
    browser.press_key("Tab", 9);
    let focused = "document.activeElement.textContent";
    assert_eq!(browser.evaluate(focused), "Fold the panel (`)");
    assert!(is_visible(&mut browser, "ring"));
    let names =
        "[...document.querySelectorAll('#mirror input')].map(e => e.getAttribute('aria-label'))";
    let names = browser.evaluate(names).as_array().cloned().unwrap_or_default();
    for name in &names {
        let name = name.as_str().unwrap_or_default();
        let has_letters = name.chars().any(char::is_alphabetic);
        assert!(has_letters && !name.contains("Drag, or click"), "{name:?} of {names:?}");
    }
    let unit = "[...document.querySelectorAll('#mirror input')].find(e => \
                e.getAttribute('aria-label') === 'tilt of disk 1')?.getAttribute('aria-valuetext')";
    assert_eq!(browser.evaluate(unit), "60°");
    // The button disappears with the panel: focus moves to the next control, not to the page.
    browser.evaluate("document.activeElement.click()");
    browser.wait_until(
        "[...document.querySelectorAll('#mirror button')].some(e => e.textContent === '« panel')",
    );
    assert_ne!(browser.evaluate("document.activeElement.tagName"), "BODY");
}

#[test]
#[ignore = "script/test --long"]
fn refused_request_does_not_pause_run() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    // Steps so short that the run does not end before the map is filled.
    browser.navigate(&format!("{}&dt=0.0005", small_scene_url()));
    browser.wait_for_step(1, 0);
    click(&mut browser, "Learn");
    click(&mut browser, "Measure ceilings");
    let from = browser.console.len();
    browser.wait_for_line(&["frame on Learn", "going"], from);
    // The panel scrolls to the button that has the focus.
    browser.evaluate(
        "[...document.querySelectorAll('#mirror button')].find(e => e.textContent === 'Fill').focus()",
    );
    browser.wait_for_line(&["frame on Learn", "going"], browser.console.len());
    click(&mut browser, "Fill");
    browser.wait_until(
        "[...document.querySelectorAll('#mirror button')].some(e => \
         e.textContent.startsWith('p = ') && e.textContent.endsWith('G interactions/s'))",
    );
}

/// Browsers compile WGSL with a stricter compiler than the native program.
#[test]
#[ignore = "script/test --long"]
fn tree_moves_bodies() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    let link = "#scene=plummer&n=3000&engine=gpu&method=tree&dt=0.001&t=0.02&paused&embed";
    let from = open_link(&mut browser, link);
    let line = browser.wait_for_line(&["frame on", "paused"], from);
    let step = line.split_once("step ").and_then(|(_, rest)| rest.split(' ').next());
    assert!(
        step.and_then(|step| step.parse::<u64>().ok()).is_some_and(|step| step >= 20),
        "{line}"
    );
    browser.wait_for_quiet_console();
}

#[test]
#[ignore = "script/test --long"]
fn link_runs_to_its_time_and_embedded_page_has_no_controls() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    let from = open_link(&mut browser, "#scene=two-body&engine=gpu&t=0.5&paused&embed");
    let line = browser.wait_for_line(&["frame on", "paused"], from);
    let step = line.split_once("step ").and_then(|(_, rest)| rest.split(' ').next());
    assert!(step.and_then(|step| step.parse::<u64>().ok()).is_some_and(|step| step > 0), "{line}");
    browser.wait_for_quiet_console();
    let controls = "document.querySelectorAll('#mirror button').length";
    assert_eq!(browser.evaluate(controls), 0);
    // A scene's own page shows it without a link.
    browser.navigate(&format!("{}figure-eight.html?log=trace", page_url()));
    browser.wait_until("document.title === 'gravitile: figure-eight'");
}
