//! The page in a browser, on a real WebGPU device. Without a browser the tests are skipped, and say so.

#[path = "page/browser.rs"]
mod browser;
#[path = "page/native.rs"]
mod native;
#[path = "page/pace.rs"]
mod pace;
#[path = "page/reach.rs"]
mod reach;
#[path = "page/shown.rs"]
mod shown;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use browser::{Browser, Sight};
use gravitile_web::{Profile, Server, make};
use shown::{keep_downloads, offered};

/// The address of the page, made once and served while the tests run; or of the one in the folder
/// GRAVITILE_PAGE, for example the release.
fn page() -> String {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    let address = ADDRESS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = std::env::var_os("GRAVITILE_PAGE").map(PathBuf::from).unwrap_or_else(|| {
            let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page");
            println!("{}", make(&root, &out, Profile::Dev, true, None).unwrap());
            out
        });
        let server = Server::open(&out, 0).unwrap();
        let address = server.address();
        std::thread::spawn(move || server.run());
        format!("http://{address}/")
    });
    address.clone()
}

/// Tells `script/test` that this was left out.
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(path) = std::env::var_os("GRAVITILE_SKIPPED") {
        use std::io::Write;
        let file = std::fs::File::options().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{why}"));
    }
}

fn open(sight: Sight) -> Option<Browser> {
    let browser = Browser::open(sight, [1280, 720]);
    if browser.is_none() {
        skipped("the page: no Chromium, or no Xvfb");
    }
    browser
}

/// The pictures that were taken, to be looked at.
fn picture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The part of the pixels that are lighter than the sky.
fn lit(path: &Path) -> f64 {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    let channels = frame.color_type.samples();
    let light = bytes.chunks_exact(channels).filter(|pixel| pixel[..3].iter().any(|c| *c > 60));
    light.count() as f64 / f64::from(frame.width * frame.height)
}

/// Presses the control of that name through the page's element for it.
fn press(browser: &mut Browser, name: &str) {
    let found = format!(
        "[...document.querySelectorAll('#mirror button')].find(e => e.textContent === {name:?})"
    );
    browser.until(&format!("(() => {{ const e = {found}; e?.click(); return !!e; }})()"));
}

/// A small scene on the device, watched closely.
fn small() -> String {
    format!("{}?log=trace#scene=galaxy-collision&n=1000&engine=gpu", page())
}

/// Opens the page with this fragment as if for the first time; returns where its lines begin on the console.
fn follow(browser: &mut Browser, link: &str) -> usize {
    browser.go("about:blank");
    let from = browser.console.len();
    browser.go(&format!("{}?log=trace{link}", page()));
    from
}

/// Drops a file onto the page.
fn drop_file(browser: &mut Browser, name: &str, content: &str) {
    browser.value(&format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File([{content}], {name:?})); \
         document.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, cancelable: true }})); }})()"
    ));
}

#[test]
fn the_page_loads_and_makes_steps_and_can_be_seen() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.go(&small());
    let device = "(async () => !!(navigator.gpu && await navigator.gpu.requestAdapter()))()";
    if browser.value(device) != true {
        return skipped("the page: the browser here has no WebGPU device, not even SwiftShader");
    }
    browser.stepped(5, 0);
    let path = picture("desktop.png");
    browser.picture(&path);
    assert!(lit(&path) > 0.02, "{}", lit(&path));
    assert_eq!(browser.value("document.title"), "gravitile: galaxy-collision");
    assert_eq!(browser.value("getComputedStyle(document.getElementById('begin')).display"), "none");
    assert!(
        !browser.console.iter().any(|line| line.contains("exception")),
        "{:#?}",
        browser.console
    );
}

#[test]
#[ignore = "script/test --long"]
fn every_tab_is_opened_by_its_name_and_what_was_chosen_is_remembered() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.go(&small());
    browser.stepped(1, 0);
    let tabs = [
        "Physics",
        "Kernel",
        "Tree",
        "View",
        "Learn",
        "Numbers",
        "Conservation",
        "File",
        "Scene",
        "Learn",
    ];
    for tab in tabs {
        let from = browser.console.len();
        press(&mut browser, tab);
        browser.line_with(&[&format!("frame on {tab}")], from);
        browser.picture(&picture(&format!("tab-{tab}.png")));
    }
    browser.value("document.dispatchEvent(new Event('visibilitychange'))");
    browser.until("localStorage.getItem('gravitile/window.toml')?.includes('tab = \"learn\"')");
    let from = browser.console.len();
    browser.reload();
    browser.line_with(&["frame on Learn"], from);
    browser.stepped(1, from);
}

#[test]
#[ignore = "script/test --long"]
fn bodies_are_dropped_saved_and_read_again() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.go(&small());
    browser.stepped(1, 0);
    drop_file(&mut browser, "nothing.gvt", "'nonsense'");
    browser.line_with(&["says", "nothing.gvt"], 0);
    let table = "'x,y,z,vx,vy,vz,mass\\n1,0,0,0,0.5,0,1\\n-1,0,0,0,-0.5,0,1\\n'";
    drop_file(&mut browser, "two.csv", table);
    browser.line_with(&["says", "is kept at"], 0);
    assert_eq!(browser.value("document.title"), "gravitile: two.csv");
    keep_downloads(&mut browser);
    press(&mut browser, "File");
    press(&mut browser, "Save");
    browser.line_with(&["says saved", "snapshot.gvt"], 0);
    let saved = picture("saved.gvt");
    std::fs::write(&saved, offered(&mut browser)).unwrap();
    let table = picture("saved.csv");
    let _ = std::fs::remove_file(&table);
    native::gravitile(&["convert", saved.to_str().unwrap(), table.to_str().unwrap()], None);
    let rows =
        std::fs::read_to_string(&table).unwrap().lines().filter(|l| !l.starts_with('#')).count();
    assert_eq!(rows, 3, "a head and two bodies");
    // A link cannot hold them.
    press(&mut browser, "Copy the link");
    browser.line_with(&["says a link holds a scene by its name"], 0);
}

#[test]
#[ignore = "script/test --long"]
fn a_lost_device_is_replaced_and_a_second_time_too() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.before(
        "const ask = GPUAdapter.prototype.requestDevice; \
         GPUAdapter.prototype.requestDevice = async function (...how) { \
         return window.device = await ask.apply(this, how) }",
    );
    browser.go(&small());
    browser.stepped(3, 0);
    for _ in 0..2 {
        // One that breaks within three seconds is not replaced.
        browser.value("new Promise(done => setTimeout(done, 3500))");
        let from = browser.console.len();
        browser.value("window.device.destroy()");
        browser.line_with(&["says", "device was lost"], from);
        let from = browser.console.len();
        browser.line_with(&["frame on", "going"], from);
    }
    browser.frame();
    let path = picture("recovered.png");
    browser.picture(&path);
    assert!(lit(&path) > 0.02, "{}", lit(&path));
}

#[test]
#[ignore = "script/test --long"]
fn without_webgpu_there_are_bodies_a_button_and_a_sentence() {
    let Some(mut browser) = open(Sight::Without) else { return };
    browser.go(&format!("{}?log=trace", page()));
    browser.line_with(&["plain picture, step 3"], 0);
    let path = picture("plain.png");
    browser.picture(&path);
    assert!(lit(&path) > 0.02, "{}", lit(&path));
    let said = browser.value("document.getElementById('note').textContent");
    assert!(said.as_str().is_some_and(|said| said.contains("no WebGPU")), "{said}");
    browser.value("document.getElementById('pause').click()");
    browser.until_silent();
    assert_eq!(browser.value("document.getElementById('pause').textContent"), "Play");
}

#[test]
#[ignore = "script/test --long"]
fn a_link_that_is_nonsense_is_said_and_one_that_was_copied_shows_the_same() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    let from = follow(&mut browser, "#scene=plumer&n=3");
    browser.line_with(&["says", "plummer"], from);
    let from = follow(&mut browser, "#scene=plummer&n=700&engine=gpu&colour=speed");
    browser.stepped(1, from);
    press(&mut browser, "File");
    press(&mut browser, "Copy the link");
    let line = browser.line_with(&["says copied: http"], from);
    assert!(line.contains("#scene=plummer&n=700&") && line.contains("colour=speed"), "{line}");
}

#[test]
#[ignore = "script/test --long"]
fn a_phone_and_a_projector_show_the_picture() {
    let Some(mut browser) = open(Sight::Pictures) else { return };
    browser.resize([390, 780], 1.0, true);
    browser.go(&small());
    browser.stepped(2, 0);
    assert_eq!(browser.value("document.getElementById('window').width"), 390);
    let path = picture("phone.png");
    browser.picture(&path);
    // Two galaxies as wide as half the screen, 0.018 with the line of numbers, which is longer later.
    assert!(lit(&path) > 0.012, "{}", lit(&path));
    let from = browser.console.len();
    browser.touch(&[[200.0, 400.0], [240.0, 420.0], [280.0, 440.0]]);
    browser.line_with(&["frame on"], from);
    let dragged = picture("phone-dragged.png");
    browser.picture(&dragged);
    press(&mut browser, "« panel");
    browser.frame();
    browser.picture(&picture("phone-panel.png"));
    browser.resize([1920, 1080], 1.0, false);
    browser.until("document.getElementById('window').width === 1920");
    browser.frame();
    browser.picture(&picture("projector.png"));
}
