//! A person at the window: starts it, looks, presses keys, clicks, drags and leaves.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use gravitile::app::panel::Tab;
use gravitile::snapshot::Snapshot;

use super::display::{Display, Part, Picture};
use super::log::{FILTER, Log, frames, is_frame, is_rest};
use super::world::{FREE, PANEL, World};

/// The window's size in these tests: its panel is then where [`World::shown`] has it.
pub const SIZE: [usize; 2] = [(FREE + PANEL) as usize, 640];
/// The picture without panel, scale bar, messages, the bar and the line at the bottom.
pub const SKY: Part = [0, 0, FREE as usize - 4, 500];

/// After this many frames, and this long, the window will not do what is waited for any more.
const MANY_FRAMES: usize = 1500;
const LONG: Duration = Duration::from_secs(60);
/// A program without a line for this long hangs, however busy the machine is.
const SILENCE: Duration = Duration::from_secs(180);
/// Input not seen after this many frames, and this long, is lost: it is repeated.
const LOST_AFTER: (usize, Duration) = (40, Duration::from_secs(2));
const TRIES: usize = 5;
/// Frames that egui needs to take in events, lay out again, and show the result.
const SETTLED: usize = 2;
/// Time between two looks at the program's lines.
const BEAT: Duration = Duration::from_millis(10);

pub struct Person {
    program: RefCell<Child>,
    display: Display,
    log: RefCell<Log>,
    /// Where the pointer was put last: moving it to the same place has no effect.
    pointer: Cell<Option<[i32; 2]>>,
    window: String,
    folder: tempfile::TempDir,
    /// One window at a time: two would compete for the processor.
    _alone: MutexGuard<'static, ()>,
}

impl Person {
    /// Opens `gravitile view ...` on that tab and waits until bodies are to be seen.
    pub fn opens(args: &[&str], tab: Tab) -> Self {
        Self::opens_with(args, tab, |_| {})
    }

    /// The same after `prepare` has put something into the working folder.
    pub fn opens_with(args: &[&str], tab: Tab, prepare: impl FnOnce(&Path)) -> Self {
        Self::opens_where(args, tab, &[], prepare)
    }

    /// The same with more variables in the environment.
    pub fn opens_where(
        args: &[&str],
        tab: Tab,
        variables: &[(&str, &str)],
        prepare: impl FnOnce(&Path),
    ) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let folder = tempfile::tempdir().unwrap();
        let memory = folder.path().join("config/gravitile/window.toml");
        std::fs::create_dir_all(memory.parent().unwrap()).unwrap();
        let tab = format!("{tab:?}").to_lowercase();
        let [width, height] = SIZE;
        // Compared pictures must be complete, whatever else runs on this machine.
        let text = format!(
            "window_size = [{width}.0, {height}.0]\npanel_open = true\nwelcomed = true\ntab = \"{tab}\"\nspares = false\n"
        );
        std::fs::write(memory, text).unwrap();
        prepare(folder.path());
        let display = Display::open();
        let stderr = folder.path().join("stderr");
        let program = command(folder.path())
            .args(args)
            .env("DISPLAY", &display.name)
            .env("RUST_LOG", FILTER)
            .envs(variables.iter().copied())
            .stderr(Stdio::from(std::fs::File::create(&stderr).unwrap()))
            .spawn()
            .expect("gravitile should start");
        let (program, log) = (RefCell::new(program), RefCell::new(Log::of(&stderr)));
        let (window, pointer) = (String::new(), Cell::new(None));
        let mut person = Self { program, display, log, pointer, window, folder, _alone: alone };
        person.window = person.eventually("the window", || {
            let search = ["search", "--onlyvisible", "--name", "^gravitile: "];
            person.display.xdotool(&search).ok()?.lines().next().map(str::to_owned)
        });
        person.does(&["windowfocus", "--sync", &person.window.clone()]);
        person.eventually("bodies", || (person.sees().bright(SKY) > 20).then_some(()));
        person
    }

    /// Waits until `done` gives something, as long as the program draws and reports it. Gives up if it has
    /// ended, hangs, or has drawn for too long.
    pub fn eventually<T>(&self, what: &str, mut done: impl FnMut() -> Option<T>) -> T {
        let (begun, mark) = (Instant::now(), self.told());
        loop {
            if let Some(found) = done() {
                return found;
            }
            if let Some(status) = self.status() {
                panic!("gravitile ended with {status} while waited for {what}: {}", self.said());
            }
            let drawn = frames(&self.log.borrow_mut().lines()[mark..]);
            let much = drawn > MANY_FRAMES && begun.elapsed() > LONG;
            assert!(!much, "waited too long for {what}: {drawn} frames; {}", self.said());
            let silence = self.log.borrow_mut().silence();
            assert!(silence < SILENCE, "{what}: nothing for {silence:?}; {}", self.said());
            std::thread::sleep(BEAT);
        }
    }

    fn status(&self) -> Option<ExitStatus> {
        self.program.borrow_mut().try_wait().unwrap()
    }

    /// How many lines the program has written: a mark to look after.
    fn told(&self) -> usize {
        self.log.borrow_mut().lines().len()
    }

    /// The first line after `mark` that fits.
    fn line(&self, mark: usize, fits: impl Fn(&str) -> bool) -> Option<String> {
        self.log.borrow_mut().lines()[mark..].iter().find(|line| fits(line)).cloned()
    }

    /// The program's line on its latest frame.
    pub fn frame(&self) -> String {
        let mut log = self.log.borrow_mut();
        log.lines().iter().rev().find(|line| is_frame(line)).cloned().unwrap_or_default()
    }

    /// Whether the program has reported that nothing moves, and nothing has happened since.
    pub fn rests(&self) -> bool {
        self.log.borrow_mut().lines().last().is_some_and(|line| is_rest(line))
    }

    /// How many frames the program has drawn so far.
    pub fn frames(&self) -> usize {
        frames(self.log.borrow_mut().lines())
    }

    /// Does something, and again if it was lost, until the program writes a line that `fits`; then waits for
    /// the frames that show it.
    fn until_said(&self, what: &str, mut act: impl FnMut(usize), fits: &dyn Fn(&str) -> bool) {
        for attempt in 0..TRIES {
            let mark = self.told();
            act(attempt);
            let begun = Instant::now();
            let seen = self.eventually(what, || {
                let ended = self.status().is_some();
                let mut log = self.log.borrow_mut();
                let lines = &log.lines()[mark..];
                match lines.iter().position(|line| fits(line)) {
                    Some(at) => {
                        let rests = lines[at..].last().is_some_and(|line| is_rest(line));
                        (frames(&lines[at..]) >= SETTLED || rests || ended).then_some(true)
                    }
                    None => {
                        let is_idle = lines.last().is_none_or(|line| is_rest(line));
                        let much = frames(lines) > LOST_AFTER.0 || is_idle;
                        (much && begun.elapsed() > LOST_AFTER.1).then_some(false)
                    }
                }
            });
            if seen {
                return;
            }
        }
        panic!("{what}: done {TRIES} times and never seen; {}", self.said());
    }

    /// The last lines of the program's standard error, without those of frames.
    pub fn said(&self) -> String {
        let mut log = self.log.borrow_mut();
        let tells = |line: &&String| !is_frame(line) && !is_rest(line);
        let lines: Vec<&String> = log.lines().iter().filter(tells).collect();
        let last: Vec<&str> = lines.iter().rev().take(40).rev().map(|line| line.as_str()).collect();
        last.join("\n")
    }

    /// The number that the window system knows the window by.
    pub fn window(&self) -> String {
        self.window.clone()
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

    /// Presses a key; `seen` is the window's name for it.
    pub fn presses(&self, key: &str, seen: &str) {
        let line = format!("key {seen} Pressed");
        self.until_said(&line, |_| drop(self.does(&["key", key])), &|said| said == line);
    }

    pub fn writes(&self, text: &str) {
        for letter in text.chars() {
            let line = format!("key Character({:?}) Pressed", letter.to_string());
            let letter = letter.to_string();
            self.until_said(&line, |_| drop(self.does(&["type", &letter])), &|said| said == line);
        }
    }

    /// Clicks until the program writes a line that begins with `effect`.
    pub fn clicks(&self, at: egui::Pos2, effect: &str) {
        let line = "button Left Released";
        let click = |_| {
            self.moves(at);
            self.until_said(line, |_| drop(self.does(&["click", "1"])), &|said| said == line);
        };
        self.until_said(effect, click, &|said| said.starts_with(effect));
    }

    /// Drags until the program writes a line that begins with `effect`.
    pub fn drags(&self, from: egui::Pos2, to: egui::Pos2, effect: &str) {
        let drag = |_| {
            self.moves(from);
            self.button(true);
            for part in [0.3, 0.7, 1.0] {
                self.moves(from + (to - from) * part);
            }
            self.button(false);
        };
        self.until_said(effect, drag, &|said| said.starts_with(effect));
    }

    fn button(&self, down: bool) {
        let (what, state) = if down { ("mousedown", "Pressed") } else { ("mouseup", "Released") };
        let line = format!("button Left {state}");
        self.until_said(&line, |_| drop(self.does(&[what, "1"])), &|said| said == line);
    }

    fn moves(&self, to: egui::Pos2) {
        let to = [to.x.round() as i32, to.y.round() as i32];
        if self.pointer.replace(Some(to)) == Some(to) {
            return;
        }
        let go = |[x, y]: [i32; 2]| self.does(&["mousemove", &x.to_string(), &y.to_string()]);
        let line = format!("pointer {} {}", to[0], to[1]);
        let move_there = |attempt: usize| {
            if attempt > 0 {
                // The pointer may have been there all the time.
                go([to[0] + 7, to[1] + 5]);
            }
            go(to);
        };
        self.until_said(&line, move_there, &|said| said == line);
    }

    /// Turns the wheel towards the user by this many notches.
    pub fn turns_wheel(&self, at: egui::Pos2, notches: usize) {
        self.moves(at);
        let line = "wheel";
        for _ in 0..notches {
            let turn = |_| drop(self.does(&["click", "5"]));
            self.until_said(line, turn, &|said| said.starts_with(line));
        }
    }

    /// Moves the window on the display, or off it.
    pub fn moves_window(&self, x: i32, y: i32) {
        self.does(&["windowmove", &self.window, &x.to_string(), &y.to_string()]);
    }

    /// Whether the program has written a line that begins like this.
    pub fn has_said(&self, line: &str) -> bool {
        self.log.borrow_mut().lines().iter().any(|said| said.starts_with(line))
    }

    /// The last message to the user that contains these words.
    pub fn sentence(&self, words: &str) -> Option<String> {
        let mut log = self.log.borrow_mut();
        let fits = |line: &&String| line.starts_with("says ") && line.contains(words);
        log.lines().iter().rev().find(fits).cloned()
    }

    /// Number of pictures of the film being recorded.
    pub fn filmed(&self) -> u64 {
        let frame = self.frame();
        let count = frame.split("filmed ").nth(1).and_then(|rest| rest.split(' ').next());
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// SIGTERM.
    pub fn is_told_to_end(&self) {
        let id = self.program.borrow().id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Whether the card of a body is shown.
    pub fn shows_card(&self) -> bool {
        self.frame().split(' ').any(|word| word == "card")
    }

    /// Whether the latest frame drew nothing because the window is hidden.
    pub fn is_hidden(&self) -> bool {
        self.frame().contains(" hidden")
    }

    /// Whether the run was paused in the latest frame.
    pub fn has_paused(&self) -> bool {
        self.frame().contains(" paused")
    }

    /// Whether something was being made in the latest frame.
    pub fn is_making(&self) -> bool {
        self.frame().contains(" making")
    }

    /// The step of the latest frame.
    pub fn step(&self) -> u64 {
        let frame = self.frame();
        let step = frame.split("step ").nth(1).and_then(|rest| rest.split(' ').next());
        step.and_then(|step| step.parse().ok()).unwrap_or(0)
    }

    pub fn resizes(&self, width: usize, height: usize) {
        self.does(&["windowsize", &self.window, &width.to_string(), &height.to_string()]);
    }

    /// Waits until the sky of two pictures differs, or until the program reports that it rests, paused.
    pub fn waits_until_sky(&self, moves: bool) {
        if !moves {
            let is_still = || self.rests() && self.frame().contains("paused");
            return self.eventually("rest", || is_still().then_some(()));
        }
        let first = self.sees();
        self.eventually("motion", || (self.sees().changes(&first, SKY) > 10).then_some(()));
    }

    /// Goes to a tab by clicking on its name.
    pub fn goes_to(&self, tab: Tab) {
        let title = Tab::ALL.iter().find(|(known, ..)| *known == tab).unwrap().1;
        let at = place(World::on(Tab::Scene), |h| h.get_by_label(title).rect().center());
        self.clicks(at, &format!("frame on {tab:?},"));
    }

    /// Saves the bodies in the tab File, which must be shown, and reads them.
    pub fn saves(&self) -> Snapshot {
        let mark = self.told();
        let at = place(World::on(Tab::File), |harness| {
            let saves = harness.get_all_by_label("Save");
            let top = saves.min_by(|a, b| a.rect().min.y.total_cmp(&b.rect().min.y));
            top.unwrap().rect().center()
        });
        self.clicks(at, "does SaveSnapshot");
        let saved = |line: &str| line.starts_with("says saved ") && line.ends_with(".gvt");
        let line = self.eventually("a snapshot", || self.line(mark, saved));
        gravitile::snapshot::read(&line["says saved ".len()..]).unwrap()
    }

    /// Waits until the program has ended.
    pub fn ended(&self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.status() {
                return status;
            }
            assert!(begun.elapsed() < SILENCE, "it does not end: {}", self.said());
            std::thread::sleep(BEAT);
        }
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let program = self.program.get_mut();
        let _ = program.kill();
        let _ = program.wait();
        if std::thread::panicking() {
            println!("the program said: {}", self.said());
        }
    }
}

/// The program in a folder of its own, without the user's settings.
pub fn command(folder: &Path) -> Command {
    let mut command = crate::program::program();
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
pub fn place<T>(world: World, find: impl FnOnce(&mut Harness<'static, World>) -> T) -> T {
    find(&mut world.shown(SIZE[1] as f32))
}
