//! Drives the program's window as a user would: input by xdotool, observed by its trace log and by
//! screenshots.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use gravitile::snapshot::Snapshot;
use gravitile_app::panel::Tab;

use super::display::{Display, Picture, Region};
use super::log::{LOG_FILTER, Log, frames, is_frame_line, is_idle_line};
use super::world::{FREE, PANEL, World};

/// The window's size in these tests, for which its panel has the layout of [`World::shown`].
pub const SIZE: [usize; 2] = [(FREE + PANEL) as usize, 640];
/// The region of the bodies, without panel, scale bar, messages, time bar and status line.
pub const SKY: Region = [0, 0, FREE as usize - 4, 500];

/// A wait fails once it has exceeded both this many frames and this time.
const MAX_FRAMES: usize = 1500;
const MAX_WAIT: Duration = Duration::from_secs(60);
/// A program that logs nothing for this long is taken to hang, however busy the machine is.
const MAX_SILENCE: Duration = Duration::from_secs(180);
/// Input that is not logged within this many frames and this time is repeated.
const INPUT_TIMEOUT: (usize, Duration) = (40, Duration::from_secs(2));
const MAX_ATTEMPTS: usize = 5;
/// Frames that egui needs to process events, lay out again and show the result.
const SETTLE_FRAMES: usize = 2;
/// Time between two polls of the log.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The running program with its window on a virtual display; killed on drop.
pub struct Session {
    program: RefCell<Child>,
    display: Display,
    log: RefCell<Log>,
    /// The pointer's last target: moving it to the same position causes no event.
    pointer: Cell<Option<[i32; 2]>>,
    window: String,
    folder: tempfile::TempDir,
    _turn: Turn,
}

/// One of at most two windows at a time: a test sleeps about half of the time until its window has
/// drawn. More windows would compete for two cores.
struct Turn;

static OPEN: Mutex<usize> = Mutex::new(0);
static CLOSED: Condvar = Condvar::new();

impl Turn {
    fn wait() -> Self {
        let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = CLOSED.wait_while(open, |open| *open == 2);
        *open.unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *OPEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        CLOSED.notify_one();
    }
}

impl Session {
    /// Opens `gravitile view ...` on that tab and waits until bodies are visible.
    pub fn open(args: &[&str], tab: Tab) -> Self {
        Self::open_with(args, tab, |_| {})
    }

    /// [`Self::open`] after `prepare` has put files into the working folder.
    pub fn open_with(args: &[&str], tab: Tab, prepare: impl FnOnce(&Path)) -> Self {
        Self::open_with_env(args, tab, &[], prepare)
    }

    /// [`Self::open_with`] with additional environment variables.
    pub fn open_with_env(
        args: &[&str],
        tab: Tab,
        variables: &[(&str, &str)],
        prepare: impl FnOnce(&Path),
    ) -> Self {
        let turn = Turn::wait();
        let folder = tempfile::tempdir().unwrap();
        let memory = folder.path().join("config/gravitile/window.toml");
        std::fs::create_dir_all(memory.parent().unwrap()).unwrap();
        let tab = format!("{tab:?}").to_lowercase();
        let [width, height] = SIZE;
        // `spares = false`: compared pictures must be complete, however busy the machine is.
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
            .env("RUST_LOG", LOG_FILTER)
            .envs(variables.iter().copied())
            .stderr(Stdio::from(std::fs::File::create(&stderr).unwrap()))
            .spawn()
            .expect("gravitile should start");
        let (program, log) = (RefCell::new(program), RefCell::new(Log::of(&stderr)));
        let (window, pointer) = (String::new(), Cell::new(None));
        let mut session = Self { program, display, log, pointer, window, folder, _turn: turn };
        session.window = session.wait_for("the window", || {
            let search = ["search", "--onlyvisible", "--name", "^gravitile: "];
            session.display.xdotool(&search).ok()?.lines().next().map(str::to_owned)
        });
        session.xdotool(&["windowfocus", "--sync", &session.window.clone()]);
        // Outside the window, so that no control under the pointer shows its hint.
        session.xdotool(&["mousemove", &(width + 20).to_string(), &(height + 20).to_string()]);
        session.wait_for("bodies", || (session.screenshot().count_bright(SKY) > 20).then_some(()));
        session
    }

    /// Polls `done` until it returns a value. Panics if the program ends, hangs, or draws for too
    /// long.
    pub fn wait_for<T>(&self, what: &str, mut done: impl FnMut() -> Option<T>) -> T {
        let (start, mark) = (Instant::now(), self.line_count());
        loop {
            if let Some(found) = done() {
                return found;
            }
            if let Some(status) = self.status() {
                panic!(
                    "gravitile ended with {status} while waited for {what}: {}",
                    self.log_tail()
                );
            }
            let drawn = frames(&self.log.borrow_mut().lines()[mark..]);
            let is_overdue = drawn > MAX_FRAMES && start.elapsed() > MAX_WAIT;
            assert!(!is_overdue, "waited too long for {what}: {drawn} frames; {}", self.log_tail());
            let silence = self.log.borrow_mut().silence();
            assert!(silence < MAX_SILENCE, "{what}: nothing for {silence:?}; {}", self.log_tail());
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn status(&self) -> Option<ExitStatus> {
        self.program.borrow_mut().try_wait().unwrap()
    }

    /// Number of lines logged so far: a mark for [`Self::find_line`].
    fn line_count(&self) -> usize {
        self.log.borrow_mut().lines().len()
    }

    /// The first line from `mark` on for which `fits` holds.
    fn find_line(&self, mark: usize, fits: impl Fn(&str) -> bool) -> Option<String> {
        self.log.borrow_mut().lines()[mark..].iter().find(|line| fits(line)).cloned()
    }

    /// The log line of the latest frame.
    pub fn last_frame_line(&self) -> String {
        let mut log = self.log.borrow_mut();
        log.lines().iter().rev().find(|line| is_frame_line(line)).cloned().unwrap_or_default()
    }

    /// Whether the last line reports that the window is idle.
    pub fn is_idle(&self) -> bool {
        self.log.borrow_mut().lines().last().is_some_and(|line| is_idle_line(line))
    }

    /// Number of frames drawn so far.
    pub fn frame_count(&self) -> usize {
        frames(self.log.borrow_mut().lines())
    }

    /// Calls `act`, and repeats it if the input was lost, until the program logs a line for which
    /// `fits` holds; then waits for the frames that show the effect.
    fn act_until_logged(
        &self,
        what: &str,
        mut act: impl FnMut(usize),
        fits: &dyn Fn(&str) -> bool,
    ) {
        for attempt in 0..MAX_ATTEMPTS {
            let mark = self.line_count();
            act(attempt);
            let start = Instant::now();
            let is_logged = self.wait_for(what, || {
                let ended = self.status().is_some();
                let mut log = self.log.borrow_mut();
                let lines = &log.lines()[mark..];
                match lines.iter().position(|line| fits(line)) {
                    Some(at) => {
                        let rests = lines[at..].last().is_some_and(|line| is_idle_line(line));
                        (frames(&lines[at..]) >= SETTLE_FRAMES || rests || ended).then_some(true)
                    }
                    None => {
                        let is_idle = lines.last().is_none_or(|line| is_idle_line(line));
                        let is_overdue = frames(lines) > INPUT_TIMEOUT.0 || is_idle;
                        (is_overdue && start.elapsed() > INPUT_TIMEOUT.1).then_some(false)
                    }
                }
            });
            if is_logged {
                return;
            }
        }
        panic!("{what}: done {MAX_ATTEMPTS} times and never seen; {}", self.log_tail());
    }

    /// The last 40 lines of standard error, without those of frames and idling.
    pub fn log_tail(&self) -> String {
        let mut log = self.log.borrow_mut();
        let is_message = |line: &&String| !is_frame_line(line) && !is_idle_line(line);
        let lines: Vec<&String> = log.lines().iter().filter(is_message).collect();
        // A panic's message precedes a backtrace longer than the tail.
        let panic = lines.iter().position(|line| line.contains(" panicked at "));
        let (panic, tail) = (panic.unwrap_or(lines.len()), lines.len().saturating_sub(40));
        let shown = lines.iter().skip(panic).take(40).chain(lines.iter().skip(tail.min(panic)));
        shown.map(|line| line.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The X11 window id.
    pub fn window(&self) -> String {
        self.window.clone()
    }

    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub fn xdotool(&self, args: &[&str]) -> String {
        self.display
            .xdotool(args)
            .unwrap_or_else(|problem| panic!("{problem}; {}", self.log_tail()))
    }

    pub fn screenshot(&self) -> Picture {
        self.display.picture()
    }

    pub fn title(&self) -> String {
        self.xdotool(&["getwindowname", &self.window])
    }

    /// Presses a key; `logged_name` is its name in the log.
    pub fn press_key(&self, key: &str, logged_name: &str) {
        let line = format!("key {logged_name} Pressed");
        self.act_until_logged(&line, |_| drop(self.xdotool(&["key", key])), &|logged| {
            logged == line
        });
    }

    pub fn type_text(&self, text: &str) {
        for letter in text.chars() {
            let line = format!("key Character({:?}) Pressed", letter.to_string());
            let letter = letter.to_string();
            self.act_until_logged(&line, |_| drop(self.xdotool(&["type", &letter])), &|logged| {
                logged == line
            });
        }
    }

    /// Clicks until the program logs a line that starts with `effect`.
    pub fn click(&self, at: egui::Pos2, effect: &str) {
        let line = "button Left Released";
        let click = |_| {
            self.move_pointer(at);
            self.act_until_logged(line, |_| drop(self.xdotool(&["click", "1"])), &|logged| {
                logged == line
            });
        };
        self.act_until_logged(effect, click, &|logged| logged.starts_with(effect));
    }

    /// Drags until the program logs a line that starts with `effect`.
    pub fn drag(&self, from: egui::Pos2, to: egui::Pos2, effect: &str) {
        let drag = |_| {
            self.move_pointer(from);
            self.button(true);
            for fraction in [0.3, 0.7, 1.0] {
                self.move_pointer(from + (to - from) * fraction);
            }
            self.button(false);
        };
        self.act_until_logged(effect, drag, &|logged| logged.starts_with(effect));
    }

    fn button(&self, down: bool) {
        let (what, state) = if down { ("mousedown", "Pressed") } else { ("mouseup", "Released") };
        let line = format!("button Left {state}");
        self.act_until_logged(&line, |_| drop(self.xdotool(&[what, "1"])), &|logged| {
            logged == line
        });
    }

    fn move_pointer(&self, to: egui::Pos2) {
        let to = [to.x.round() as i32, to.y.round() as i32];
        if self.pointer.replace(Some(to)) == Some(to) {
            return;
        }
        let go = |[x, y]: [i32; 2]| self.xdotool(&["mousemove", &x.to_string(), &y.to_string()]);
        let line = format!("pointer {} {}", to[0], to[1]);
        let move_to_target = |attempt: usize| {
            if attempt > 0 {
                // The pointer may have been at the target already, which causes no event.
                go([to[0] + 7, to[1] + 5]);
            }
            go(to);
        };
        self.act_until_logged(&line, move_to_target, &|logged| logged == line);
    }

    /// Turns the wheel towards the user by this many notches.
    pub fn scroll(&self, at: egui::Pos2, notches: usize) {
        self.move_pointer(at);
        let line = "wheel";
        for _ in 0..notches {
            let turn = |_| drop(self.xdotool(&["click", "5"]));
            self.act_until_logged(line, turn, &|logged| logged.starts_with(line));
        }
    }

    /// Moves the window, possibly off the display.
    pub fn move_window(&self, x: i32, y: i32) {
        self.xdotool(&["windowmove", &self.window, &x.to_string(), &y.to_string()]);
    }

    /// Whether any logged line starts with `line`.
    pub fn has_logged(&self, line: &str) -> bool {
        self.log.borrow_mut().lines().iter().any(|logged| logged.starts_with(line))
    }

    /// The last logged line that starts with `line`.
    pub fn last_line(&self, line: &str) -> Option<String> {
        self.log.borrow_mut().lines().iter().rev().find(|logged| logged.starts_with(line)).cloned()
    }

    /// Whether it has logged that this effect is left out.
    pub fn has_left_out(&self, effect: &str) -> bool {
        let mut log = self.log.borrow_mut();
        log.lines().iter().any(|line| line.starts_with("shows left out") && line.ends_with(effect))
    }

    /// The last message to the user that contains these words.
    pub fn last_message(&self, words: &str) -> Option<String> {
        let mut log = self.log.borrow_mut();
        let fits = |line: &&String| line.starts_with("says ") && line.contains(words);
        log.lines().iter().rev().find(fits).cloned()
    }

    /// Number of frames recorded of the current film.
    pub fn frames_recorded(&self) -> u64 {
        let frame = self.last_frame_line();
        let count = frame.split("filmed ").nth(1).and_then(|rest| rest.split(' ').next());
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let id = self.program.borrow().id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Whether the card of a body is shown.
    pub fn shows_card(&self) -> bool {
        self.last_frame_line().split(' ').any(|word| word == "card")
    }

    /// Whether the latest frame drew nothing because the window is hidden.
    pub fn is_hidden(&self) -> bool {
        self.last_frame_line().contains(" hidden")
    }

    /// Whether the run was paused in the latest frame.
    pub fn is_paused(&self) -> bool {
        self.last_frame_line().contains(" paused")
    }

    /// Whether the latest frame reports work in the background (` making`).
    pub fn is_building(&self) -> bool {
        self.last_frame_line().contains(" making")
    }

    /// The step of the latest frame.
    pub fn step(&self) -> u64 {
        let frame = self.last_frame_line();
        let step = frame.split("step ").nth(1).and_then(|rest| rest.split(' ').next());
        step.and_then(|step| step.parse().ok()).unwrap_or(0)
    }

    pub fn resize(&self, width: usize, height: usize) {
        self.xdotool(&["windowsize", &self.window, &width.to_string(), &height.to_string()]);
    }

    /// Waits until the program reports that it is paused and idle.
    pub fn wait_until_idle(&self) {
        let is_still = || self.is_idle() && self.last_frame_line().contains("paused");
        self.wait_for("rest", || is_still().then_some(()))
    }

    /// Waits until the picture of the bodies changes.
    pub fn wait_for_motion(&self) {
        let first = self.screenshot();
        self.wait_for("motion", || {
            (self.screenshot().count_changed(&first, SKY) > 10).then_some(())
        });
    }

    /// Opens a tab by a click on its title.
    pub fn open_tab(&self, tab: Tab) {
        let title = Tab::ALL.iter().find(|(known, ..)| *known == tab).unwrap().1;
        let at = place(World::on(Tab::Scene), |h| h.get_by_label(title).rect().center());
        self.click(at, &format!("frame on {tab:?},"));
    }

    /// Saves a snapshot by the File tab, which must be open, and reads it.
    pub fn save_snapshot(&self) -> Snapshot {
        let mark = self.line_count();
        let at = place(World::on(Tab::File), |harness| {
            let saves = harness.get_all_by_label("Save");
            let top = saves.min_by(|a, b| a.rect().min.y.total_cmp(&b.rect().min.y));
            top.unwrap().rect().center()
        });
        self.click(at, "does SaveSnapshot");
        let is_saved = |line: &str| line.starts_with("says saved ") && line.ends_with(".gvt");
        let line = self.wait_for("a snapshot", || self.find_line(mark, is_saved));
        gravitile::snapshot::read(&line["says saved ".len()..]).unwrap()
    }

    /// Copies the command line by the File tab, which must be open, and returns it.
    pub fn copy_command_line(&self) -> String {
        let mark = self.line_count();
        let at = place(World::on(Tab::File), |harness| {
            harness.get_by_label("Copy the command line").rect().center()
        });
        self.click(at, "does CopyCommandLine");
        let line = self.wait_for("it", || {
            self.find_line(mark, |line| line.starts_with("says copied: gravitile view"))
        });
        line["says copied: ".len()..].to_owned()
    }

    /// Waits until the program exits.
    pub fn wait_for_exit(&self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.status() {
                return status;
            }
            assert!(start.elapsed() < MAX_SILENCE, "it does not end: {}", self.log_tail());
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let program = self.program.get_mut();
        let _ = program.kill();
        let _ = program.wait();
        if std::thread::panicking() {
            println!("the program said: {}", self.log_tail());
        }
    }
}

/// The program in `folder`, without the user's settings or display.
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

/// The position of a widget in the window, found by laying out the same panel in this process.
pub fn place<T>(world: World, find: impl FnOnce(&mut Harness<'static, World>) -> T) -> T {
    find(&mut world.shown(SIZE[1] as f32))
}
