//! Keys, and the sheet that lists them. Where NVIDIA's nbody sample has a key for the same thing,
//! that key is used.

use egui::{Context, Key as Code, Modifiers};

use super::theme::{self, DIM};
use super::{Action, Facts, Viewpoint, compare};
use gravitile::live::{Command, Tempo};
use gravitile::settings::InputRequest;

/// A key and what it does.
pub struct KeyBinding {
    /// Its label in the sheet.
    pub name: &'static str,
    /// Any of these keys.
    pub codes: &'static [Code],
    /// Modifiers held with it.
    pub modifiers: Modifiers,
    /// What it does, for the sheet.
    pub about: &'static str,
    /// The actions it triggers.
    pub actions: fn(&Facts) -> Vec<Action>,
}

const SHIFT: Modifiers = Modifiers::SHIFT;
const COMMAND: Modifiers = Modifiers::COMMAND;

/// A key without modifiers.
const fn key(
    name: &'static str,
    codes: &'static [Code],
    about: &'static str,
    actions: fn(&Facts) -> Vec<Action>,
) -> KeyBinding {
    KeyBinding { name, codes, modifiers: Modifiers::NONE, about, actions }
}

const fn with(modifiers: Modifiers, key: KeyBinding) -> KeyBinding {
    KeyBinding { modifiers, ..key }
}

const IS_PAGE: bool = cfg!(target_arch = "wasm32");

/// Moves the focus to the first control, from where Tab goes on to the next; Escape leaves it.
const FOCUS: Code = Code::F6;

/// Keys that fold the panel. In a browser Tab goes from control to control.
pub(super) const FOLD: &str = if IS_PAGE { "`" } else { "Tab or `" };

/// The names of the keys that quit, empty in a page, which only the browser closes; and what Escape
/// does.
const QUIT: [&str; 3] = match IS_PAGE {
    true => ["", "", "close what is open"],
    false => ["ctrl+q", "q", "close what is open; else quit"],
};

/// All keys. Of two that match, the earlier one wins.
pub const KEYS: &[KeyBinding] = &[
    key("space", &[Code::Space], "pause or resume", |f| live(Command::Pause(!f.keeper.paused))),
    key("s", &[Code::S], "one step", |_| {
        vec![Action::Live(Command::Pause(true)), Action::Live(Command::Step(1))]
    }),
    key("b", &[Code::B], "run time backwards, or forwards", |_| live(Command::Reverse)),
    with(
        COMMAND.plus(SHIFT),
        key("shift+ctrl+z", &[Code::Z], "redo a change of bodies", |_| vec![Action::Redo]),
    ),
    with(COMMAND, key("ctrl+z", &[Code::Z], "undo the last change", |_| vec![Action::Undo])),
    with(SHIFT, key("shift+r", &[Code::R], "restart, keep step and softening", |_| restart(false))),
    key("r", &[Code::R], "restart from the beginning", |_| restart(true)),
    key(",", &[Code::Comma], "half the speed", |f| live(Command::Factor(f.keeper.factor * 0.5))),
    key(".", &[Code::Period], "twice the speed", |f| live(Command::Factor(f.keeper.factor * 2.0))),
    key("x", &[Code::X], "as fast as possible, or at a fixed speed", |f| {
        let fastest = f.keeper.tempo == Tempo::Fastest;
        let tempo = if fastest { Tempo::RealTime } else { Tempo::Fastest };
        live(Command::Tempo(tempo))
    }),
    key("m", &[Code::M], "bookmark this state", |_| vec![Action::Bookmark]),
    key("n", &[Code::N], "go to the next marked moment", |f| {
        // Of a moment that was reached, the clock shows the end of the step that reached it.
        let now = f.status.time + 1e-6 * f.dt.abs();
        let next = f.moments.iter().position(|moment| moment.camera.time > now);
        let first = (!f.moments.is_empty()).then_some(0);
        next.or(first).map(Action::GoToMoment).into_iter().collect()
    }),
    key("v", &[Code::V], "two runs side by side, or one", compare::toggled),
    key("t", &[Code::T], "throw in with a drag, or turn again", |_| vec![Action::ThrowMode]),
    key("1 2 3", &[Code::Num1], "shell, random sphere, expanding", |_| load("random-shell")),
    key("", &[Code::Num2], "", |_| load("random-sphere")),
    key("", &[Code::Num3], "", |_| load("expanding")),
    key("4 5 6", &[Code::Num4], "collision, cartwheel, one galaxy", |_| load("galaxy-collision")),
    key("", &[Code::Num5], "", |_| load("cartwheel")),
    key("", &[Code::Num6], "", |_| load("disk-galaxy")),
    key("c", &[Code::C], "next colouring", |_| vec![Action::NextColouring]),
    with(SHIFT, key("shift+p", &[Code::P], "smaller sprites", |_| vec![Action::SpriteSize(0.8)])),
    key("p", &[Code::P], "larger sprites", |_| vec![Action::SpriteSize(1.25)]),
    key("[ and ]", &[Code::OpenBracket], "darker, brighter", |_| vec![Action::Stops(-0.5)]),
    key("", &[Code::CloseBracket], "", |_| vec![Action::Stops(0.5)]),
    key("h", &[Code::H], "show or hide dark matter", |_| vec![Action::Halo]),
    key("k", &[Code::K], "add a place to the camera path", |_| vec![Action::Keyframe]),
    key("d", &[Code::D], "directed camera on or off", |_| vec![Action::Direct]),
    key("f", &[Code::F], "fit everything in view", |_| vec![Action::Camera(Viewpoint::Fit)]),
    key("Home", &[Code::Home], "camera back to its start", |_| {
        vec![Action::Camera(Viewpoint::Start)]
    }),
    key(FOLD, &[Code::Tab, Code::Backtick], "fold or unfold the panel", |_| {
        vec![Action::FoldPanel]
    }),
    key("l", &[Code::L], "light panel, for projectors", |_| vec![Action::Light]),
    // [`pressed`] moves the focus.
    key("F6", &[FOCUS], "to the controls: Tab, arrows, Enter; Esc", |_| Vec::new()),
    key("F11", &[Code::F11], "full screen", |_| vec![Action::Fullscreen]),
    key("F12", &[Code::F12], "save a picture", |f| {
        let name = format!("gravitile-{:06}.png", f.status.steps);
        vec![Action::Screenshot(name.into(), f.picture[0], f.picture[1])]
    }),
    with(COMMAND, key("ctrl+o", &[Code::O], "open a file", |_| vec![Action::OpenDialog])),
    key("? or F1", &[Code::Questionmark, Code::F1], "this sheet", |_| vec![Action::Help]),
    with(SHIFT, key("", &[Code::Slash], "", |_| vec![Action::Help])),
    with(SHIFT, key("", &[Code::Questionmark], "", |_| vec![Action::Help])),
    with(COMMAND, key(QUIT[0], &[Code::Q], "quit without asking", |_| vec![Action::Quit])),
    key(QUIT[1], &[Code::Q], "quit, asking first", |_| vec![Action::AskToQuit]),
    key("Esc", &[Code::Escape], QUIT[2], |_| vec![Action::Escape]),
];

/// Mouse and touch gestures, for the sheet.
const GESTURES: [(&str, &str); 8] = [
    ("left drag", "turn"),
    ("right drag", "move sideways"),
    ("wheel", "zoom"),
    ("click", "show facts of a body"),
    ("double click", "follow a body, or stop"),
    ("one or two fingers", "turn; zoom, move"),
    ("drop a file or two", "open; let two meet"),
    ("ctrl and + - 0", "text size"),
];

fn live(command: Command) -> Vec<Action> {
    vec![Action::Live(command)]
}

fn restart(reset_numbers: bool) -> Vec<Action> {
    vec![Action::Restart { reset_numbers }]
}

fn load(name: &str) -> Vec<Action> {
    vec![Action::Load(InputRequest::named(name))]
}

/// The actions of the keys pressed in this frame. While the window asks whether to close, keys that
/// do not answer are ignored.
pub(super) fn pressed(context: &Context, facts: &Facts, is_closing: bool) -> Vec<Action> {
    if !is_closing && context.text_edit_focused() {
        return Vec::new();
    }
    // egui has taken the focus from a control with Escape already.
    let has_focus = !IS_PAGE && context.memory(|memory| memory.focused().is_some());
    let known = egui::Id::unique("had the focus");
    let had_focus = context.data(|data| data.get_temp(known)).unwrap_or(false);
    context.data_mut(|data| data.insert_temp(known, has_focus));
    // egui would move its focus with Tab, which folds the panel here, and then take all other keys.
    if !is_closing && !has_focus && context.input(|input| input.key_pressed(Code::Tab)) {
        context.memory_mut(|memory| memory.move_focus(egui::FocusDirection::None));
    }
    let answers =
        |action: &Action| matches!(action, Action::Escape | Action::AskToQuit | Action::Quit);
    // An open list takes Escape for itself.
    let is_list_open = !is_closing && egui::Popup::is_any_open(context);
    let (mut actions, mut takes_focus) = (Vec::new(), false);
    context.input_mut(|input| {
        for key in KEYS {
            let triggered = (key.actions)(facts);
            if is_closing && !triggered.iter().all(answers) {
                continue;
            }
            for code in key.codes {
                let is_taken = match *code {
                    Code::Escape => is_list_open || had_focus && !is_closing,
                    Code::Tab => has_focus,
                    _ => false,
                };
                if !is_taken && input.consume_key(key.modifiers, *code) {
                    takes_focus |= *code == FOCUS;
                    actions.extend(triggered.clone());
                }
            }
        }
    });
    if takes_focus {
        context.memory_mut(|memory| memory.move_focus(egui::FocusDirection::Next));
    }
    actions
}

/// Widths of the window in points from which the sheet has two columns of keys, and a third one
/// with gestures.
const TWO_COLUMNS: f32 = 720.0;
const THREE_COLUMNS: f32 = 960.0;

/// The sheet of keys, in a window of its own over the picture.
pub fn sheet(context: &Context, open: &mut bool) {
    let room = context.content_rect().size();
    let columns = if room.x > TWO_COLUMNS { 2 } else { 1 };
    let has_gesture_column = room.x >= THREE_COLUMNS;
    let high = (room.y - 60.0).max(100.0);
    // A row of keys is 23 points high.
    let needed = match (has_gesture_column, columns) {
        (true, _) => 485.0,
        (false, 2) => 655.0,
        _ => 993.0,
    };
    egui::Window::new("Keys and mouse")
        // egui remembers a height for each id; other columns need another one.
        .id(egui::Id::unique(("keys", columns, has_gesture_column)))
        .open(open)
        .resizable(false)
        .collapsible(false)
        .anchor(egui::Align2::CENTER_CENTER, [0.0, 0.0])
        .default_size([(room.x - 40.0).min(920.0), high.min(needed)])
        .max_height(high)
        .vscroll(true)
        .frame(theme::sheet())
        .show(context, |ui| {
            ui.spacing_mut().item_spacing.y = 3.0;
            ui.horizontal_top(|ui| {
                let named: Vec<&KeyBinding> =
                    KEYS.iter().filter(|key| !key.name.is_empty()).collect();
                for (half, keys) in named.chunks(named.len().div_ceil(columns)).enumerate() {
                    let rows = keys.iter().map(|key| (key.name, key.about));
                    column(ui, half, rows);
                    ui.add_space(14.0);
                }
                if has_gesture_column {
                    column(ui, columns, GESTURES);
                }
            });
            if !has_gesture_column {
                ui.separator();
                column(ui, columns, GESTURES);
            }
        });
}

/// Keys or gestures, and what they do.
fn column(
    ui: &mut egui::Ui,
    number: usize,
    rows: impl IntoIterator<Item = (&'static str, &'static str)>,
) {
    egui::Grid::new(("keys", number))
        .num_columns(2)
        .min_col_width(theme::NARROW)
        .spacing([8.0, 3.0])
        .show(ui, |ui| {
            for (how, what) in rows {
                ui.monospace(how);
                ui.colored_label(DIM, what);
                ui.end_row();
            }
        });
}
