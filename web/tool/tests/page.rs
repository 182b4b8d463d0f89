//! The page in a browser, on a real WebGPU device. Without a browser the tests are skipped with a
//! message.

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

use browser::{Browser, Graphics};
use gravitile_web::{Profile, Server, make};
use shown::{capture_downloads, last_download};

/// Address of the page, built once and served while the tests run. GRAVITILE_PAGE names the folder
/// of another build to serve instead, for example the release.
fn page_url() -> String {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    let address = ADDRESS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = std::env::var_os("GRAVITILE_PAGE").map(PathBuf::from).unwrap_or_else(|| {
            let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page");
            let (page, lesson) = make(&root, &out, Profile::Dev, true, None).unwrap();
            println!("{page}; the lesson: {lesson}");
            out
        });
        let server = Server::open(&out, 0).unwrap();
        let address = server.address();
        std::thread::spawn(move || server.run());
        format!("http://{address}/")
    });
    address.clone()
}

/// Reports a skipped test on stderr, and to `script/test` through the file GRAVITILE_SKIPPED.
fn report_skipped(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(path) = std::env::var_os("GRAVITILE_SKIPPED") {
        use std::io::Write;
        let file = std::fs::File::options().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{why}"));
    }
}

fn open_browser(graphics: Graphics) -> Option<Browser> {
    let browser = Browser::open(graphics, [1280, 720]);
    if browser.is_none() {
        report_skipped("the page: no Chromium, or no Xvfb");
    }
    browser
}

/// Path of an output file in the target folder, kept for inspection.
fn output_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Fraction of pixels brighter than the sky.
fn lit_fraction(path: &Path) -> f64 {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    let channels = frame.color_type.samples();
    let light = bytes.chunks_exact(channels).filter(|pixel| pixel[..3].iter().any(|c| *c > 60));
    light.count() as f64 / f64::from(frame.width * frame.height)
}

/// Clicks the control of that name through its element in the page's accessibility mirror.
fn click(browser: &mut Browser, name: &str) {
    let found = format!(
        "[...document.querySelectorAll('#mirror button')].find(e => e.textContent === {name:?})"
    );
    browser.wait_until(&format!("(() => {{ const e = {found}; e?.click(); return !!e; }})()"));
}

/// Address of the page with a small scene on the GPU and trace logging.
fn small_scene_url() -> String {
    format!("{}?log=trace#scene=galaxy-collision&n=1000&engine=gpu", page_url())
}

/// Loads the page afresh with this fragment; returns the index of its first console line.
fn open_link(browser: &mut Browser, link: &str) -> usize {
    browser.navigate("about:blank");
    let from = browser.console.len();
    browser.navigate(&format!("{}?log=trace{link}", page_url()));
    from
}

/// Drops a file onto the page.
fn drop_file(browser: &mut Browser, name: &str, content: &str) {
    browser.evaluate(&format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File([{content}], {name:?})); \
         document.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, cancelable: true }})); }})()"
    ));
}

#[test]
fn page_loads_steps_and_renders_bodies() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.navigate(&small_scene_url());
    let device = "(async () => !!(navigator.gpu && await navigator.gpu.requestAdapter()))()";
    if browser.evaluate(device) != true {
        return report_skipped(
            "the page: the browser here has no WebGPU device, not even SwiftShader",
        );
    }
    browser.wait_for_step(5, 0);
    let path = output_path("desktop.png");
    browser.screenshot(&path);
    assert!(lit_fraction(&path) > 0.02, "{}", lit_fraction(&path));
    assert_eq!(browser.evaluate("document.title"), "gravitile: galaxy-collision");
    assert_eq!(
        browser.evaluate("getComputedStyle(document.getElementById('begin')).display"),
        "none"
    );
    assert!(
        !browser.console.iter().any(|line| line.contains("exception")),
        "{:#?}",
        browser.console
    );
}

#[test]
#[ignore = "script/test --long"]
fn tabs_open_by_name_and_selected_tab_survives_reload() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.navigate(&small_scene_url());
    browser.wait_for_step(1, 0);
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
        click(&mut browser, tab);
        browser.wait_for_line(&[&format!("frame on {tab}")], from);
        browser.screenshot(&output_path(&format!("tab-{tab}.png")));
    }
    browser.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    browser
        .wait_until("localStorage.getItem('gravitile/window.toml')?.includes('tab = \"learn\"')");
    let from = browser.console.len();
    browser.reload();
    browser.wait_for_line(&["frame on Learn"], from);
    browser.wait_for_step(1, from);
}

#[test]
#[ignore = "script/test --long"]
fn dropped_bodies_can_be_saved_and_read_back() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.navigate(&small_scene_url());
    browser.wait_for_step(1, 0);
    drop_file(&mut browser, "nothing.gvt", "'nonsense'");
    browser.wait_for_line(&["says", "nothing.gvt"], 0);
    let table = "'x,y,z,vx,vy,vz,mass\\n1,0,0,0,0.5,0,1\\n-1,0,0,0,-0.5,0,1\\n'";
    drop_file(&mut browser, "two.csv", table);
    browser.wait_for_line(&["says", "is kept at"], 0);
    assert_eq!(browser.evaluate("document.title"), "gravitile: two.csv");
    capture_downloads(&mut browser);
    click(&mut browser, "File");
    click(&mut browser, "Save");
    browser.wait_for_line(&["says saved", "snapshot.gvt"], 0);
    let saved = output_path("saved.gvt");
    std::fs::write(&saved, last_download(&mut browser)).unwrap();
    let table = output_path("saved.csv");
    let _ = std::fs::remove_file(&table);
    native::run_native(&["convert", saved.to_str().unwrap(), table.to_str().unwrap()], None);
    let rows =
        std::fs::read_to_string(&table).unwrap().lines().filter(|l| !l.starts_with('#')).count();
    assert_eq!(rows, 3, "a head and two bodies");
    // A link names a built-in scene; it cannot hold bodies from a file.
    click(&mut browser, "Copy the link");
    browser.wait_for_line(&["says a link holds a scene by its name"], 0);
}

#[test]
#[ignore = "script/test --long"]
fn lost_device_is_replaced_twice() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.add_init_script(
        "const ask = GPUAdapter.prototype.requestDevice; \
         GPUAdapter.prototype.requestDevice = async function (...how) { \
         return window.device = await ask.apply(this, how) }",
    );
    browser.navigate(&small_scene_url());
    browser.wait_for_step(3, 0);
    for _ in 0..2 {
        // A device lost within three seconds is not replaced.
        browser.evaluate("new Promise(done => setTimeout(done, 3500))");
        let from = browser.console.len();
        browser.evaluate("window.device.destroy()");
        browser.wait_for_line(&["says", "device was lost"], from);
        let from = browser.console.len();
        browser.wait_for_line(&["frame on", "going"], from);
    }
    browser.wait_for_fresh_frame();
    let path = output_path("recovered.png");
    browser.screenshot(&path);
    assert!(lit_fraction(&path) > 0.02, "{}", lit_fraction(&path));
}

#[test]
#[ignore = "script/test --long"]
fn without_webgpu_page_shows_bodies_pause_button_and_note() {
    let Some(mut browser) = open_browser(Graphics::NoWebGpu) else { return };
    browser.navigate(&format!("{}?log=trace", page_url()));
    browser.wait_for_line(&["plain picture, step 3"], 0);
    let path = output_path("plain.png");
    browser.screenshot(&path);
    assert!(lit_fraction(&path) > 0.02, "{}", lit_fraction(&path));
    let note = browser.evaluate("document.getElementById('note').textContent");
    assert!(note.as_str().is_some_and(|text| text.contains("no WebGPU")), "{note}");
    browser.evaluate("document.getElementById('pause').click()");
    browser.wait_for_quiet_console();
    assert_eq!(browser.evaluate("document.getElementById('pause').textContent"), "Play");
}

#[test]
#[ignore = "script/test --long"]
fn invalid_link_is_reported_and_copied_link_keeps_options() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    let from = open_link(&mut browser, "#scene=plumer&n=3");
    browser.wait_for_line(&["says", "plummer"], from);
    let from = open_link(&mut browser, "#scene=plummer&n=700&engine=gpu&colour=speed");
    browser.wait_for_step(1, from);
    click(&mut browser, "File");
    click(&mut browser, "Copy the link");
    let line = browser.wait_for_line(&["says copied: http"], from);
    assert!(line.contains("#scene=plummer&n=700&") && line.contains("colour=speed"), "{line}");
}

#[test]
#[ignore = "script/test --long"]
fn phone_and_projector_sizes_render_bodies() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.resize([390, 780], 1.0, true);
    browser.navigate(&small_scene_url());
    browser.wait_for_step(2, 0);
    assert_eq!(browser.evaluate("document.getElementById('window').width"), 390);
    let path = output_path("phone.png");
    browser.screenshot(&path);
    // Measured: 0.018 for two galaxies half the screen wide and the status line, which grows later.
    assert!(lit_fraction(&path) > 0.012, "{}", lit_fraction(&path));
    let from = browser.console.len();
    browser.drag_finger(&[[200.0, 400.0], [240.0, 420.0], [280.0, 440.0]]);
    browser.wait_for_line(&["frame on"], from);
    let dragged = output_path("phone-dragged.png");
    browser.screenshot(&dragged);
    click(&mut browser, "« panel");
    browser.wait_for_fresh_frame();
    browser.screenshot(&output_path("phone-panel.png"));
    browser.resize([1920, 1080], 1.0, false);
    browser.wait_until("document.getElementById('window').width === 1920");
    browser.wait_for_fresh_frame();
    browser.screenshot(&output_path("projector.png"));
}
