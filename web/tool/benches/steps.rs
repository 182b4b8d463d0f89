//! Steps per second of the page and of the native program, on the same adapter with the same kernel, by one clock: this
//! bench's.
//!
//!     script/web --out target/page
//!     GRAVITILE_PAGE=target/page GRAVITILE_PROGRAM=target/release/gravitile \
//!         cargo bench --package gravitile-web --bench steps [-- N:STEPS:SHAPE ...]
//!
//! By turns each side is asked for `STEPS` steps of `N` bodies and for twice as many; times are from request to answer, and
//! the difference removes what both include (the start, compiling, the first forces). The page is in Chromium and shows
//! nothing; the program is `gravitile run --checked`, since browsers keep a kernel's run-time checks. The adapter is the
//! SwiftShader that comes with Chromium. `SHAPE` is a kernel as in `gravitile run`: `p=32,r=16,untiled`.

#[allow(dead_code, reason = "the tests drive it further")]
#[path = "../tests/page/browser.rs"]
mod browser;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use browser::Browser;
use gravitile_web::Server;

/// What is measured by default: few bodies, whose steps are mostly work of the host, and many.
const USUAL: [&str; 3] = [
    "1024:2000:p=32,q=1,r=16,unroll=1,untiled",
    "4096:200:p=32,q=1,r=16,unroll=1,untiled",
    "16384:12:p=32,q=1,r=16,unroll=1,untiled",
];
/// Each side has this many turns; which goes first alternates.
const TURNS: usize = 5;
const BROWSER: &[&str] =
    &["--headless=new", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
const DT: f64 = 1.0 / 1024.0;

/// Bodies, steps and a kernel.
struct Case {
    n: u32,
    steps: u32,
    shape: String,
}

impl Case {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let n = parts.next()?.parse().ok()?;
        let steps = parts.next()?.parse().ok().filter(|steps| *steps > 0)?;
        Some(Self { n, steps, shape: parts.next()?.to_owned() })
    }

    /// Options for both sides, by name and value.
    fn options(&self) -> Vec<(String, Option<String>)> {
        let given = [
            ("eps", "0.05".to_owned()),
            ("dt", DT.to_string()),
            ("engine", "gpu".to_owned()),
            ("method", "direct".to_owned()),
        ];
        let shape = self.shape.split(',').map(|part| match part.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (part.to_owned(), None),
        });
        given.map(|(name, value)| (name.to_owned(), Some(value))).into_iter().chain(shape).collect()
    }

    fn link(&self) -> String {
        let options = self.options().into_iter().map(|(name, value)| match value {
            Some(value) => format!("&{name}={value}"),
            None => format!("&{name}"),
        });
        format!("scene=plummer&n={}{}", self.n, options.collect::<String>())
    }
}

/// The native program, with the adapter that comes with Chromium.
struct Native {
    program: PathBuf,
    adapter: PathBuf,
    out: tempfile::TempDir,
}

impl Native {
    /// Seconds for so many steps; what it says of itself goes to `told`.
    fn secs(&self, case: &Case, steps: u32, told: &mut String) -> f64 {
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
        *told = text.lines().next().unwrap_or_default().to_owned();
        secs
    }
}

/// The page's program, in a browser that shows nothing.
struct Page {
    browser: Browser,
    adapter: String,
}

impl Page {
    /// Loads the program, but not the window.
    fn open(address: SocketAddr) -> Option<Self> {
        let mut browser = Browser::with(BROWSER, false, [1280, 720])?;
        // A file of the same origin that shows nothing.
        browser.go(&format!("http://{address}/page.css"));
        browser.until("location.pathname === '/page.css' && document.readyState === 'complete'");
        browser.value(
            "import('/gravitile.js').then(async program => { \
             await program.default({ module_or_path: '/gravitile_bg.wasm' }); window.program = program; })",
        );
        let adapter = browser.value(
            "navigator.gpu?.requestAdapter().then(a => a && [a.info.vendor, a.info.architecture].join(' '))",
        );
        Some(Self { browser, adapter: adapter.as_str()?.to_owned() })
    }

    /// Seconds for so many steps; what it says of itself goes to `told`.
    fn secs(&mut self, case: &Case, steps: u32, told: &mut String) -> f64 {
        let (adapter, link) = (&self.adapter, case.link());
        let asked = format!("window.program.steps({adapter:?}, {link:?}, {steps})");
        let begun = Instant::now();
        let answer = self.browser.value(&asked);
        let secs = begun.elapsed().as_secs_f64();
        *told = answer.as_str().unwrap_or_default().to_owned();
        secs
    }
}

/// The median, the least and the largest.
fn middle(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let (half, last) = (values.len() / 2, values.len() - 1);
    let median = (values[half] + values[last - half]) / 2.0;
    [median, values[0], values[last]]
}

fn compare(page: &mut Page, native: &Native, case: &Case) {
    let mut told = [String::new(), String::new()];
    let mut secs: [Vec<f64>; 2] = Default::default();
    for turn in 0..TURNS {
        for place in 0..2 {
            let side = (turn + place) % 2;
            let mut ask = |steps: u32| match side {
                0 => page.secs(case, steps, &mut told[side]),
                _ => native.secs(case, steps, &mut told[side]),
            };
            let (once, twice) = (ask(case.steps), ask(2 * case.steps));
            secs[side].push((twice - once) / f64::from(case.steps));
        }
    }
    println!("{} bodies, {} steps and twice as many, {TURNS} turns", case.n, case.steps);
    let ratios = secs[0].iter().zip(&secs[1]).map(|(page, native)| native / page).collect();
    for ((name, told), secs) in ["page", "program"].into_iter().zip(told).zip(secs) {
        let [median, least, most] = middle(secs).map(|secs| secs * 1e3);
        println!("  {name}: {median:.3} ms a step ({least:.3} to {most:.3}); {told}");
    }
    let [median, least, most] = middle(ratios);
    println!(
        "  steps of the page in a second over the program's: {median:.2} ({least:.2} to {most:.2})"
    );
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let usual = USUAL.map(str::to_owned).to_vec();
    let asked = if asked.is_empty() { usual } else { asked };
    let read = |text: &String| {
        Case::read(text)
            .unwrap_or_else(|| panic!("{text}: N:STEPS:SHAPE is wanted, as {}", USUAL[0]))
    };
    let cases: Vec<Case> = asked.iter().map(read).collect();
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (Some(folder), Some(program)) = (named("GRAVITILE_PAGE"), named("GRAVITILE_PROGRAM"))
    else {
        println!(
            "GRAVITILE_PAGE names no folder that script/web --out has made, or GRAVITILE_PROGRAM no program: \
             nothing is measured"
        );
        return;
    };
    let adapter = named("GRAVITILE_SWIFTSHADER")
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
