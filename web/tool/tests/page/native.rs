//! The page agrees with the native program in steps, energy and picture.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::browser::Graphics;
use super::shown::{capture_downloads, last_download};
use super::{click, open_browser, output_path, page_url, report_skipped};

/// Runs the native program, on the Vulkan driver of the description `adapter` if given.
pub fn run_native(words: &[&str], adapter: Option<&Path>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(root).args(["run", "--quiet", "--locked", "--package", "gravitile-app"]);
    command.args(["--bin", "gravitile", "--"]).args(words);
    if let Some(adapter) = adapter {
        command.env("VK_DRIVER_FILES", adapter).env("VK_ICD_FILENAMES", adapter);
    }
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// The Vulkan driver description (ICD file) of Chromium's SwiftShader, for the native program.
fn swiftshader() -> Option<PathBuf> {
    let named = std::env::var_os("GRAVITILE_SWIFTSHADER").map(PathBuf::from);
    let path = named.unwrap_or_else(|| "/usr/lib/chromium/vk_swiftshader_icd.json".into());
    path.exists().then_some(path)
}

/// Bodies of a snapshot, sorted by id, and its metadata.
struct Table {
    time: String,
    softening: f64,
    step: u64,
    /// Mass, position and velocity.
    bodies: Vec<[f64; 7]>,
}

impl Table {
    /// Reads a snapshot, converted to CSV by the native program.
    fn from_snapshot(snapshot: &Path) -> Self {
        let csv = snapshot.with_extension("csv");
        let _ = std::fs::remove_file(&csv);
        run_native(&["convert", path_str(snapshot), path_str(&csv)], None);
        let text = std::fs::read_to_string(csv).unwrap();
        let metadata = |name: &str| {
            let begin = format!("#: {name} = ");
            let found = text.lines().find_map(|line| line.strip_prefix(&begin));
            found.unwrap_or_else(|| panic!("no {name} in {text:.400}")).to_owned()
        };
        let mut bodies: Vec<(u64, [f64; 7])> = Vec::new();
        for line in text.lines().filter(|l| !l.starts_with('#')).skip(1) {
            let (id, rest) = line.split_once(',').unwrap();
            let numbers: Vec<f64> = rest.split(',').take(7).map(|x| x.parse().unwrap()).collect();
            bodies.push((id.parse().unwrap(), numbers.try_into().unwrap()));
        }
        bodies.sort_by_key(|(id, _)| *id);
        Self {
            time: metadata("time"),
            softening: metadata("attribute.softening").parse().unwrap(),
            step: metadata("attribute.step").parse().unwrap(),
            bodies: bodies.into_iter().map(|(_, body)| body).collect(),
        }
    }

    /// Total energy, kinetic plus potential, with G = 1.
    fn energy(&self) -> f64 {
        let square = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
        let mut energy = 0.0;
        for (i, a) in self.bodies.iter().enumerate() {
            energy += 0.5 * a[0] * square(&a[4..]);
            for b in &self.bodies[..i] {
                let away = [a[1] - b[1], a[2] - b[2], a[3] - b[3]];
                energy -= a[0] * b[0] / (square(&away) + self.softening * self.softening).sqrt();
            }
        }
        energy
    }
}

fn path_str(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
#[ignore = "script/test --long"]
fn page_agrees_with_native_f64_after_100_steps() {
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.navigate(&format!("{}?log=trace#scene=plummer&n=500&engine=gpu", page_url()));
    browser.wait_for_step(100, 0);
    capture_downloads(&mut browser);
    click(&mut browser, "File");
    click(&mut browser, "Save");
    browser.wait_for_line(&["says saved", "snapshot.gvt"], 0);
    let saved = output_path("hundred.gvt");
    std::fs::write(&saved, last_download(&mut browser)).unwrap();
    let page = Table::from_snapshot(&saved);
    assert!(page.step >= 100 && page.bodies.len() == 500, "step {}", page.step);
    let run = output_path("hundred");
    let _ = std::fs::remove_dir_all(&run);
    let time = page.time.as_str();
    let words =
        ["run", "plummer", "-n", "500", "--engine", "reference", "--until", time, "--every", time];
    run_native(&[&words[..], &["--out", path_str(&run)]].concat(), None);
    let at = |step: u64| Table::from_snapshot(&run.join(format!("step_{step:010}.gvt")));
    let (first, native) = (at(0), at(page.step));
    let pairs = page.bodies.iter().zip(&native.bodies);
    let squares = pairs.map(|(a, b)| (1..4).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>());
    let rms = (squares.sum::<f64>() / 500.0).sqrt();
    // Forces in f32 have relative errors of about 1e-7, which close pairs amplify a hundredfold in
    // about a time unit.
    assert!(rms < 1e-4, "bodies are {rms:e} apart after {} steps", page.step);
    let error = (page.energy() - first.energy()) / first.energy();
    assert!(error.abs() < 1e-4, "the energy has changed by {error:e}");
}

#[test]
#[ignore = "script/test --long"]
fn page_picture_matches_native_on_same_adapter() {
    let Some(adapter) = swiftshader() else {
        return report_skipped("the page's picture beside the native one: no SwiftShader");
    };
    let Some(mut browser) = open_browser(Graphics::WebGpu) else { return };
    browser.resize([640, 400], 1.0, false);
    // The default views differ: the window frames all bodies, `render` leaves a few outside.
    let view = "extent=14&inclination=60&azimuth=20";
    let link =
        format!("{}?log=trace#scene=galaxy-collision&n=2000&engine=gpu&paused&{view}", page_url());
    browser.navigate(&link);
    browser.wait_for_line(&["frame on", "step 0 paused"], 0);
    browser.wait_for_line(&["rests"], 0);
    capture_downloads(&mut browser);
    browser.evaluate("document.getElementById('window').focus()");
    browser.press_key("F12", 123);
    browser.wait_for_line(&["says saved", ".png"], 0);
    let [page, native] = ["page-picture.png", "native-picture.png"].map(output_path);
    std::fs::write(&page, last_download(&mut browser)).unwrap();
    let words =
        ["render", "galaxy-collision", "-n", "2000", "--engine", "gpu", "--adapter", "SwiftShader"];
    let view = ["--extent", "14", "--inclination", "60", "--azimuth", "20"];
    let out = ["--size", "640x400", "--force", "--out", path_str(&native)];
    run_native(&[&words[..], &view[..], &out[..]].concat(), Some(&adapter));
    let [page, native] = [page, native].map(|path| pixels(&path));
    assert_eq!(page.len(), native.len());
    let differences = page.iter().zip(&native).map(|(a, b)| a.abs_diff(*b));
    let worst = differences.clone().max().unwrap();
    let mean = differences.map(f64::from).sum::<f64>() / page.len() as f64;
    // The same WGSL goes through two compilers, Tint and naga: the last bits of f32 may differ, and
    // so may the rounding to 8 bits. (Measured with Chromium 156 and its SwiftShader: 0 levels.)
    assert!(worst <= 3 && mean < 0.05, "at most {worst} levels, {mean} in the mean");
    assert!(page.iter().any(|level| *level > 100), "the picture is dark");
}

/// The bytes of a picture, three per pixel.
fn pixels(path: &Path) -> Vec<u8> {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    bytes.truncate(frame.buffer_size());
    bytes
}
