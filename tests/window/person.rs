//! Somebody at the window: starts it, looks, presses keys, clicks, drags and leaves.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use gravitile::app::panel::Tab;
use gravitile::snapshot::Snapshot;

use super::display::{Display, Part, Picture};
use super::world::{FREE, PANEL, World};

/// The window's size in these tests: its panel is then where [`World::shown`] has it.
pub const SIZE: [usize; 2] = [(FREE + PANEL) as usize, 640];
/// The picture without panel, scale bar and status line.
pub const SKY: Part = [0, 0, FREE as usize - 4, 560];

/// Nothing takes longer, even on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two events of the mouse: a frame or two.
const BEAT: Duration = Duration::from_millis(60);

pub struct Person {
    program: Child,
    display: Display,
    window: String,
    folder: tempfile::TempDir,
    /// One window at a time: two would take each other's processor.
    _alone: MutexGuard<'static, ()>,
}

/// Waits until `done` gives something.
pub fn eventually<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = done() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(40));
    }
}

impl Person {
    /// Opens `gravitile view ...` on that tab and waits until bodies are to be seen.
    pub fn opens(args: &[&str], tab: Tab) -> Self {
        Self::opens_with(args, tab, |_| {})
    }

    /// The same after `prepare` has put something into the working folder.
    pub fn opens_with(args: &[&str], tab: Tab, prepare: impl FnOnce(&Path)) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let folder = tempfile::tempdir().unwrap();
        let memory = folder.path().join("config/gravitile/window.toml");
        std::fs::create_dir_all(memory.parent().unwrap()).unwrap();
        let tab = format!("{tab:?}").to_lowercase();
        let [width, height] = SIZE;
        let text =
            format!("window_size = [{width}.0, {height}.0]\npanel_open = true\ntab = \"{tab}\"\n");
        std::fs::write(memory, text).unwrap();
        prepare(folder.path());
        let display = Display::open();
        let program = command(folder.path())
            .args(args)
            .env("DISPLAY", &display.name)
            .stderr(Stdio::from(std::fs::File::create(folder.path().join("stderr")).unwrap()))
            .spawn()
            .expect("gravitile should start");
        let window = String::new();
        let mut person = Self { program, display, window, folder, _alone: alone };
        person.window = eventually("the window", || {
            person.still_runs();
            let search = ["search", "--onlyvisible", "--name", "^gravitile: "];
            person.display.xdotool(&search).ok()?.lines().next().map(str::to_owned)
        });
        person.does(&["windowfocus", "--sync", &person.window.clone()]);
        eventually("bodies", || (person.sees().bright(SKY) > 20).then_some(()));
        person
    }

    fn still_runs(&mut self) {
        if let Some(status) = self.program.try_wait().unwrap() {
            panic!("gravitile ended early with {status}: {}", self.said());
        }
    }

    /// What the program wrote to its standard error.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default()
    }

    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub fn does(&self, args: &[&str]) -> String {
        self.display.xdotool(args).unwrap_or_else(|problem| panic!("{problem}; {}", self.said()))
    }

    pub fn sees(&self) -> Picture {
        self.display.picture()
    }

    pub fn title(&self) -> String {
        self.does(&["getwindowname", &self.window])
    }

    pub fn presses(&self, key: &str) {
        self.does(&["key", key]);
        std::thread::sleep(BEAT);
    }

    pub fn writes(&self, text: &str) {
        self.does(&["type", "--delay", "15", text]);
        std::thread::sleep(BEAT);
    }

    pub fn clicks(&self, at: egui::Pos2) {
        self.moves(at);
        for what in ["mousedown", "mouseup"] {
            self.does(&[what, "1"]);
            std::thread::sleep(BEAT);
        }
    }

    pub fn drags(&self, from: egui::Pos2, to: egui::Pos2) {
        self.moves(from);
        self.does(&["mousedown", "1"]);
        std::thread::sleep(BEAT);
        for part in [0.3, 0.7, 1.0] {
            self.moves(from + (to - from) * part);
        }
        self.does(&["mouseup", "1"]);
        std::thread::sleep(BEAT);
    }

    fn moves(&self, to: egui::Pos2) {
        self.does(&["mousemove", &to.x.round().to_string(), &to.y.round().to_string()]);
        std::thread::sleep(BEAT);
    }

    pub fn resizes(&self, width: usize, height: usize) {
        self.does(&["windowsize", &self.window, &width.to_string(), &height.to_string()]);
    }

    /// Waits until the sky of two pictures in a row differs, or does not.
    pub fn waits_until_sky(&self, moves: bool) {
        let mut last = self.sees();
        eventually(if moves { "motion" } else { "rest" }, || {
            std::thread::sleep(Duration::from_millis(250));
            let now = self.sees();
            let changed = now.changes(&last, SKY);
            last = now;
            (if moves { changed > 10 } else { changed == 0 }).then_some(())
        });
    }

    /// Goes to a tab by clicking on its name.
    pub fn goes_to(&self, tab: Tab) {
        let title = Tab::ALL.iter().find(|(known, ..)| *known == tab).unwrap().1;
        self.clicks(place(World::on(Tab::Scene), |h| h.get_by_label(title).rect().center()));
    }

    /// Saves the bodies in the tab File, which must be shown, and reads them.
    pub fn saves(&self) -> Snapshot {
        let files = || {
            let names = std::fs::read_dir(self.folder.path()).unwrap();
            let paths = names.map(|entry| entry.unwrap().path());
            let mut saved: Vec<PathBuf> = paths
                .filter(|path| path.extension().is_some_and(|e| e == "gvt"))
                .filter(|path| path.file_stem().unwrap().to_string_lossy().starts_with("snapshot"))
                .collect();
            saved.sort();
            saved
        };
        let before = files();
        self.clicks(place(World::on(Tab::File), |harness| {
            let saves = harness.get_all_by_label("Save");
            let top = saves.min_by(|a, b| a.rect().min.y.total_cmp(&b.rect().min.y));
            top.unwrap().rect().center()
        }));
        eventually("a snapshot", || {
            let new = files().into_iter().find(|path| !before.contains(path))?;
            gravitile::snapshot::read(new).ok()
        })
    }

    /// Waits until the program has ended, at most as long as anything.
    pub fn ended(&mut self) -> ExitStatus {
        let program = &mut self.program;
        eventually("the end", || program.try_wait().unwrap())
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
        if std::thread::panicking() {
            println!("the program said: {}", self.said());
        }
    }
}

/// The program in a folder of its own, with nothing of the user's.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gravitile"));
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("XDG_DATA_HOME", folder.join("data"))
        .env("XDG_RUNTIME_DIR", folder)
        .env("GRAVITILE_CACHE_DIR", folder.join("cache"))
        .env("WINIT_X11_SCALE_FACTOR", "1")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env_remove("DISPLAY");
    command
}

/// Where something is in a window of this size, by laying out the same panel here.
pub fn place(
    world: World,
    find: impl FnOnce(&Harness<'static, World>) -> egui::Pos2,
) -> egui::Pos2 {
    find(&world.shown(SIZE[1] as f32))
}
