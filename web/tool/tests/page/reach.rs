//! The page by keyboard and screen reader, with bad links or a bad network, and without WebGPU.

use std::path::Path;

use gravitile_web::Server;

use super::browser::{Browser, Sight};
use super::{follow, open, page, picture, press, small};

/// The address of a folder with some of the page's files.
fn folder(files: &[&str]) -> String {
    let out = picture("without-program");
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

fn note(browser: &mut Browser) -> String {
    browser.until(
        "(() => { const n = document.getElementById('note'); return !n.hidden && n.textContent })()",
    );
    let note = browser.value("document.getElementById('note').textContent");
    note.as_str().unwrap_or_default().to_owned()
}

fn is_shown(browser: &mut Browser, id: &str) -> bool {
    browser.value(&format!("document.getElementById({id:?}).checkVisibility()")) == true
}

#[test]
#[ignore = "script/test --long"]
fn a_page_whose_program_is_missing_says_so_and_no_longer_loads() {
    let Some(mut browser) = open(Sight::Without) else { return };
    browser.go(&folder(&["index.html", "page.css", "page.js"]));
    assert!(note(&mut browser).contains("could not be loaded"));
    assert!(!is_shown(&mut browser, "begin"));
}

#[test]
#[ignore = "script/test --long"]
fn without_webgpu_a_link_is_limited_and_nonsense_is_reported() {
    let Some(mut browser) = open(Sight::Without) else { return };
    for (link, expected) in [
        ("#n=100000", "1500 bodies are shown instead of 100000"),
        ("#scene=plumer", "did you mean 'plummer'?"),
        ("#scene=figure-eight", "no WebGPU"),
    ] {
        let from = follow(&mut browser, link);
        browser.line_with(&["plain picture, step 3"], from);
        let note = note(&mut browser);
        assert!(note.contains(expected), "{link}: {note}");
        let shown =
            "[...document.querySelectorAll('canvas')].filter(e => e.checkVisibility()).length";
        assert_eq!(browser.value(shown), 1);
    }
}

#[test]
#[ignore = "script/test --long"]
fn a_link_with_too_many_bodies_is_refused_and_one_that_takes_long_is_cancelled() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    let from = follow(&mut browser, "#n=100000000");
    browser.line_with(&["says", "from 1 to 4000000"], from);
    browser.stepped(1, from);
    let from = follow(&mut browser, "#scene=plummer&n=4000000");
    browser.until("document.getElementById('progress').textContent.startsWith('making plummer')");
    browser.value("document.getElementById('cancel').click()");
    browser.line_with(&["says", "cancelled", "galaxy-collision"], from);
    browser.stepped(1, from);
    assert!(!is_shown(&mut browser, "begin"));
}

#[test]
#[ignore = "script/test --long"]
fn every_control_is_reached_by_the_tab_key_and_has_a_name() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.go(&small());
    browser.stepped(1, 0);
    browser.until("document.querySelectorAll('#mirror input[type=number]').length > 10");
    browser.value("document.getElementById('window').focus()");
    browser.key("Tab", 9);
    let focused = "document.activeElement.textContent";
    assert_eq!(browser.value(focused), "Fold the panel (`)");
    assert!(is_shown(&mut browser, "ring"));
    let names =
        "[...document.querySelectorAll('#mirror input')].map(e => e.getAttribute('aria-label'))";
    let names = browser.value(names).as_array().cloned().unwrap_or_default();
    for name in &names {
        let name = name.as_str().unwrap_or_default();
        let has_letters = name.chars().any(char::is_alphabetic);
        assert!(has_letters && !name.contains("Drag, or click"), "{name:?} of {names:?}");
    }
    let unit = "[...document.querySelectorAll('#mirror input')].find(e => \
                e.getAttribute('aria-label') === 'tilt of disk 1')?.getAttribute('aria-valuetext')";
    assert_eq!(browser.value(unit), "60°");
    // The button disappears with the panel: the focus goes to the next control, not to the page.
    browser.value("document.activeElement.click()");
    browser.until(
        "[...document.querySelectorAll('#mirror button')].some(e => e.textContent === '« panel')",
    );
    assert_ne!(browser.value("document.activeElement.tagName"), "BODY");
}

#[test]
#[ignore = "script/test --long"]
fn a_question_that_is_refused_does_not_pause_the_run() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    // Steps so short that the run does not end before the map is filled.
    browser.go(&format!("{}&dt=0.0005", small()));
    browser.stepped(1, 0);
    press(&mut browser, "Learn");
    press(&mut browser, "Measure ceilings");
    let from = browser.console.len();
    browser.line_with(&["frame on Learn", "going"], from);
    press(&mut browser, "Fill");
    browser.until(
        "[...document.querySelectorAll('#mirror button')].some(e => \
         e.textContent.startsWith('p = ') && e.textContent.endsWith('G interactions/s'))",
    );
}

#[test]
#[ignore = "script/test --long"]
fn a_link_goes_to_its_time_and_an_embedded_page_is_a_picture() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    let from = follow(&mut browser, "#scene=two-body&engine=gpu&t=0.5&paused&embed");
    let line = browser.line_with(&["frame on", "paused"], from);
    let step = line.split_once("step ").and_then(|(_, rest)| rest.split(' ').next());
    assert!(step.and_then(|step| step.parse::<u64>().ok()).is_some_and(|step| step > 0), "{line}");
    browser.until_silent();
    let controls = "document.querySelectorAll('#mirror button').length";
    assert_eq!(browser.value(controls), 0);
    // A scene's own page shows it without a link.
    browser.go(&format!("{}figure-eight.html?log=trace", page()));
    browser.until("document.title === 'gravitile: figure-eight'");
}
