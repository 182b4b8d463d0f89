//! What the page shows and hands out: energy, screens of all kinds, pictures and films.

use std::path::Path;

use serde_json::Value;

use super::browser::{Browser, Sight};
use super::{lit, open, picture, press, small};

/// The first text in the page that begins like this, once it is there.
pub fn words(browser: &mut Browser, begin: &str) -> String {
    awaited(browser, &format!("startsWith({begin:?})"))
}

/// The first text in the page with that part, once it is there.
pub fn words_with(browser: &mut Browser, part: &str) -> String {
    awaited(browser, &format!("includes({part:?})"))
}

fn awaited(browser: &mut Browser, are_they: &str) -> String {
    let found = format!(
        "[...document.querySelectorAll('#mirror span')].map(e => e.textContent).find(t => t.{are_they})"
    );
    browser.until(&found).as_str().unwrap_or_default().to_owned()
}

/// Keeps what is offered for download, for [`offered`].
pub fn keep_downloads(browser: &mut Browser) {
    browser.value(
        "HTMLAnchorElement.prototype.click = function () { \
         window.offered = fetch(this.href).then(answer => answer.arrayBuffer()) }",
    );
}

/// The bytes of the last file that was offered.
pub fn offered(browser: &mut Browser) -> Vec<u8> {
    let text = "offered.then(b => Array.from(new Uint8Array(b), x => x.toString(16).padStart(2, '0')).join(''))";
    let hex = browser.value(text);
    let hex = hex.as_str().unwrap();
    (0..hex.len() / 2).map(|k| u8::from_str_radix(&hex[2 * k..2 * k + 2], 16).unwrap()).collect()
}

/// Opens a small scene in a window of 640 x 400 pixels, where the panel is folded, and catches downloads.
fn begin_in_a_small_window(browser: &mut Browser) {
    browser.resize([640, 400], 1.0, false);
    browser.go(&small());
    browser.stepped(2, 0);
    keep_downloads(browser);
}

/// Unfolds the panel and records a film of six pictures.
fn record(browser: &mut Browser, name: &str) {
    press(browser, "« panel");
    press(browser, "File");
    press(browser, "Record");
    let from = browser.console.len();
    browser.line_with(&["frame on", "filmed 6"], from);
    press(browser, "Stop");
    browser.line_with(&[&format!("says saved {name}")], from);
}

#[test]
#[ignore = "script/test --long"]
fn the_energy_error_is_one_that_was_measured() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.go(&small());
    browser.stepped(1, 0);
    let said = words(&mut browser, "energy error");
    let number = said.trim_start_matches("energy error ").trim_end_matches(" %");
    let number: f64 = number.parse().unwrap_or_else(|_| panic!("{said}"));
    // In f32 no two states have the same energy to the last bit; leapfrog keeps it to a part in a hundred.
    assert!(number != 0.0 && (said.ends_with('%') || number.abs() < 1e-3), "{said}");
    assert!(!said.ends_with('%') || number.abs() < 1.0, "{said}");
}

#[test]
#[ignore = "script/test --long"]
fn every_pixel_of_a_fine_screen_is_drawn() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.resize([390, 844], 3.0, true);
    browser.go(&small());
    browser.stepped(2, 0);
    let sides =
        "[document.getElementById('window').width, document.getElementById('window').height]";
    assert_eq!(browser.value(sides), Value::from(vec![1170, 2532]));
    let path = picture("phone-fine.png");
    browser.picture(&path);
    assert!(lit(&path) > 0.005, "{}", lit(&path));
}

#[test]
#[ignore = "script/test --long"]
fn pictures_and_films_are_downloaded() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    begin_in_a_small_window(&mut browser);
    browser.value("document.getElementById('window').focus()");
    browser.key("F12", 123);
    browser.line_with(&["says saved", ".png"], 0);
    let path = picture("saved.png");
    std::fs::write(&path, offered(&mut browser)).unwrap();
    let (size, frames) = png_of(&path);
    assert_eq!((size, frames), ([640, 400], 1));
    assert!(lit(&path) > 0.02, "{}", lit(&path));
    record(&mut browser, "film.webm");
    browser.until("!!window.offered");
    // The browser plays what it encoded: width, height, and at least five pictures at 30 per second.
    let played = browser.value(
        "(async () => { const film = document.createElement('video'); \
         film.src = URL.createObjectURL(new Blob([await offered], { type: 'video/webm' })); \
         await new Promise((done, failed) => { film.onloadeddata = done; film.onerror = failed; }); \
         return [film.videoWidth, film.videoHeight, film.duration]; })()",
    );
    assert_eq!(played[1], 400);
    assert!(played[2].as_f64().is_some_and(|secs| secs > 4.5 / 30.0), "{played}");
}

#[test]
#[ignore = "script/test --long"]
fn a_browser_without_an_encoder_makes_animated_png() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.before("delete window.VideoEncoder");
    begin_in_a_small_window(&mut browser);
    record(&mut browser, "film.apng");
    let path = picture("film.apng");
    std::fs::write(&path, offered(&mut browser)).unwrap();
    assert!(png_of(&path).1 >= 5, "{} pictures", png_of(&path).1);
}

#[test]
#[ignore = "script/test --long"]
fn a_text_is_pasted_and_a_phone_types() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.resize([800, 800], 1.0, true);
    browser.go(&small());
    browser.stepped(1, 0);
    press(&mut browser, "File");
    let first = "document.querySelector('#mirror input[type=text]')";
    let has = |text: &str| format!("{first}?.value === {text:?}");
    browser.until(&format!("(() => {{ {first}?.focus(); return !!{first}; }})()"));
    let from = browser.console.len();
    browser.line_with(&["frame on File", "writing"], from);
    // egui has a field to type into: the keyboard of a device that is touched opens for this one.
    browser.until("document.activeElement.id === 'typing'");
    browser.value(
        "(() => { const data = new DataTransfer(); data.setData('text', 'plum'); \
         document.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true })); })()",
    );
    browser.until(&has("plum"));
    // The keyboard has written 'merk' and corrects itself.
    let types = |ending: &str| {
        format!(
            "(() => {{ const e = document.getElementById('typing'); e.value = ' '.repeat(32) + {ending:?}; \
             e.dispatchEvent(new Event('input')); }})()"
        )
    };
    browser.value(&types("merk"));
    browser.until(&has("plummerk"));
    browser.value(&types("mer"));
    browser.until(&has("plummer"));
}

/// Size and number of pictures of a PNG file, each of which is decoded.
fn png_of(path: &Path) -> ([u32; 2], u32) {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let size = [reader.info().width, reader.info().height];
    let count = reader.info().animation_control().map_or(1, |control| control.num_frames);
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    for _ in 0..count {
        reader.next_frame(&mut bytes).unwrap();
    }
    (size, count)
}
