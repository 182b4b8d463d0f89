//! Steps per second of the page and of the native program, on the same adapter with the same
//! kernel, both timed by this bench.
//!
//!     script/web --out target/page
//!     GRAVITILE_PAGE=target/page GRAVITILE_PROGRAM=target/release/gravitile \
//!         cargo bench --package gravitile-web --bench steps [-- N:STEPS:SHAPE ...]
//!
//! The two sides take turns. Each runs `STEPS` steps of `N` bodies and then twice as many; the
//! difference of the wall times removes what both include (start-up, compilation, the first
//! forces). The page runs in Chromium without rendering. The program is `gravitile run --checked`,
//! since browsers keep a kernel's run-time checks. The adapter is the SwiftShader that comes with
//! Chromium. `SHAPE` is a kernel as in `gravitile run`: `p=32,r=16,untiled`.

#[allow(dead_code, reason = "the tests drive it further")]
#[path = "../tests/page/browser.rs"]
mod browser;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use browser::Browser;
use gravitile_web::Server;

/// Cases measured by default: few bodies, whose steps are mostly work of the host, and many.
const DEFAULT_CASES: [&str; 3] = [
    "1024:2000:p=32,q=1,r=16,unroll=1,untiled",
    "4096:200:p=32,q=1,r=16,unroll=1,untiled",
    "16384:12:p=32,q=1,r=16,unroll=1,untiled",
];
/// Turns of each side; which goes first alternates.
const TURNS: usize = 5;
const BROWSER: &[&str] =
    &["--headless=new", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
const DT: f64 = 1.0 / 1024.0;

/// Number of bodies, number of steps and kernel shape.
struct Case {
    n: u32,
    steps: u32,
    shape: String,
}

impl Case {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let n = parts.next()?.parse().ok()?;
        let steps = parts.next()?.parse().ok().filter(|steps| *steps > 0)?;
        Some(Self { n, steps, shape: parts.next()?.to_owned() })
    }

    /// Names and values of the options, which both sides share.
    fn options(&self) -> Vec<(String, Option<String>)> {
        let fixed = [
            ("eps", "0.05".to_owned()),
            ("dt", DT.to_string()),
            ("engine", "gpu".to_owned()),
            ("method", "direct".to_owned()),
        ];
        let shape = self.shape.split(',').map(|part| match part.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (part.to_owned(), None),
        });
        fixed.map(|(name, value)| (name.to_owned(), Some(value))).into_iter().chain(shape).collect()
    }

    fn link(&self) -> String {
        let options = self.options().into_iter().map(|(name, value)| match value {
            Some(value) => format!("&{name}={value}"),
            None => format!("&{name}"),
        });
        format!("scene=plummer&n={}{}", self.n, options.collect::<String>())
    }
}

/// The native program, run on Chromium's SwiftShader.
struct Native {
    program: PathBuf,
    /// Vulkan driver description (ICD file).
    adapter: PathBuf,
    out: tempfile::TempDir,
}

impl Native {
    /// Seconds for `steps` steps; writes the description that the program prints to `description`.
    fn secs(&self, case: &Case, steps: u32, description: &mut String) -> f64 {
        let until = (f64::from(steps) * DT).to_string();
        let mut command = Command::new(&self.program);
        command.args(["run", "plummer", "-n", &case.n.to_string(), "--adapter", "SwiftShader"]);
        command.args(["--checked", "--until", &until, "--every", &until, "--out"]);
        command.arg(self.out.path().join("run"));
        for (name, value) in case.options() {
            command.arg(format!("--{name}")).args(value);
        }
        command.env("VK_DRIVER_FILES", &self.adapter).env("VK_ICD_FILENAMES", &self.adapter);
        let begun = Instant::now();
        let ended = command.stderr(Stdio::inherit()).output().unwrap();
        let secs = begun.elapsed().as_secs_f64();
        std::fs::remove_dir_all(self.out.path().join("run")).unwrap();
        let text = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{text}");
        *description = text.lines().next().unwrap_or_default().to_owned();
        secs
    }
}

/// The page's program, in a browser without a window.
struct Page {
    browser: Browser,
    adapter: String,
}

impl Page {
    /// Loads the page's program without starting its window.
    fn open(address: SocketAddr) -> Option<Self> {
        let mut browser = Browser::with_options(BROWSER, false, [1280, 720])?;
        // A file of the same origin that starts no program.
        browser.navigate(&format!("http://{address}/page.css"));
        browser
            .wait_until("location.pathname === '/page.css' && document.readyState === 'complete'");
        browser.evaluate(
            "import('/gravitile.js').then(async program => { \
             await program.default({ module_or_path: '/gravitile_bg.wasm' }); window.program = program; })",
        );
        let adapter = browser.evaluate(
            "navigator.gpu?.requestAdapter().then(a => a && [a.info.vendor, a.info.architecture].join(' '))",
        );
        Some(Self { browser, adapter: adapter.as_str()?.to_owned() })
    }

    /// Seconds for `steps` steps; writes the description that the program prints to `description`.
    fn secs(&mut self, case: &Case, steps: u32, description: &mut String) -> f64 {
        let (adapter, link) = (&self.adapter, case.link());
        let call = format!("window.program.steps({adapter:?}, {link:?}, {steps})");
        let begun = Instant::now();
        let answer = self.browser.evaluate(&call);
        let secs = begun.elapsed().as_secs_f64();
        *description = answer.as_str().unwrap_or_default().to_owned();
        secs
    }
}

/// Median, minimum and maximum.
fn median_min_max(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let (half, last) = (values.len() / 2, values.len() - 1);
    let median = (values[half] + values[last - half]) / 2.0;
    [median, values[0], values[last]]
}

fn compare(page: &mut Page, native: &Native, case: &Case) {
    let mut description = [String::new(), String::new()];
    let mut secs: [Vec<f64>; 2] = Default::default();
    for turn in 0..TURNS {
        for offset in 0..2 {
            let side = (turn + offset) % 2;
            let mut run = |steps: u32| match side {
                0 => page.secs(case, steps, &mut description[side]),
                _ => native.secs(case, steps, &mut description[side]),
            };
            let (once, twice) = (run(case.steps), run(2 * case.steps));
            secs[side].push((twice - once) / f64::from(case.steps));
        }
    }
    println!("{} bodies, {} steps and twice as many, {TURNS} turns", case.n, case.steps);
    let ratios = secs[0].iter().zip(&secs[1]).map(|(page, native)| native / page).collect();
    for ((name, description), secs) in ["page", "program"].into_iter().zip(description).zip(secs) {
        let [median, least, most] = median_min_max(secs).map(|secs| secs * 1e3);
        println!("  {name}: {median:.3} ms a step ({least:.3} to {most:.3}); {description}");
    }
    let [median, least, most] = median_min_max(ratios);
    println!(
        "  steps of the page in a second over the program's: {median:.2} ({least:.2} to {most:.2})"
    );
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let defaults = DEFAULT_CASES.map(str::to_owned).to_vec();
    let arguments = if arguments.is_empty() { defaults } else { arguments };
    let parse = |text: &String| {
        Case::parse(text)
            .unwrap_or_else(|| panic!("{text}: N:STEPS:SHAPE is wanted, as {}", DEFAULT_CASES[0]))
    };
    let cases: Vec<Case> = arguments.iter().map(parse).collect();
    let path_from_env = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (Some(folder), Some(program)) =
        (path_from_env("GRAVITILE_PAGE"), path_from_env("GRAVITILE_PROGRAM"))
    else {
        println!(
            "GRAVITILE_PAGE names no folder that script/web --out has made, or GRAVITILE_PROGRAM no program: \
             nothing is measured"
        );
        return;
    };
    let adapter = path_from_env("GRAVITILE_SWIFTSHADER")
        .unwrap_or_else(|| "/usr/lib/chromium/vk_swiftshader_icd.json".into());
    if !adapter.exists() {
        println!("no SwiftShader at {}: nothing is measured", adapter.display());
        return;
    }
    let server = Server::open(&folder, 0).unwrap();
    let address = server.address();
    std::thread::spawn(move || server.run());
    let Some(mut page) = Page::open(address) else {
        println!("no Chromium with WebGPU by SwiftShader: nothing is measured");
        return;
    };
    let native = Native { program, adapter, out: tempfile::tempdir().unwrap() };
    for case in &cases {
        compare(&mut page, &native, case);
    }
}
