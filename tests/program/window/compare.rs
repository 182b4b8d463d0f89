//! Two runs side by side.

use gravitile_app::panel::Tab;

use super::display::{Region, can_run_window_tests};
use super::person::{SIZE, Session};

/// The left picture without names, scale bar and status; and how far right the other one is: half
/// of the window without a gap of 2 pixels.
const LEFT: Region = [0, 40, SIZE[0] / 2 - 1, 480];
const OFFSET: usize = SIZE[0] / 2 + 1;

/// Opens a small cluster with a softening of 0.02, paused, next to another run.
fn open(compare: &str) -> Session {
    let args = ["view", "plummer", "-n", "300", "--engine", "cpu", "--eps", "0.02", "--paused"];
    let session = Session::open(&[&args[..], &["--compare", compare]].concat(), Tab::File);
    fold(&session);
    session
}

/// Folds or unfolds the panel.
fn fold(session: &Session) {
    session.wait_until_idle();
    session.press_key("Tab", "Named(Tab)");
    session.wait_until_idle();
}

/// Runs until some steps later, pauses, and waits until both runs are there.
fn run(session: &Session) {
    let from = session.step();
    session.press_key("space", "Named(Space)");
    session.wait_for("steps", || (session.step() > from + 10).then_some(()));
    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
}

/// The last reported energy errors of both runs.
fn energy_errors(session: &Session) -> [f64; 2] {
    let line = session.last_line("compares energy errors ").expect("both have reported");
    let numbers: Vec<&str> = line.split(' ').collect();
    [numbers[3], numbers[4]].map(|number| number.parse().unwrap())
}

#[test]
fn runs_with_equal_settings_have_the_same_bits_and_other_settings_show() {
    if !can_run_window_tests() {
        return;
    }
    let session = open("softening=0.02");
    let picture = session.screenshot();
    assert!(picture.count_bright(LEFT) > 20, "the first run is not drawn");
    assert_eq!(picture.differs_from_shifted(LEFT, OFFSET), 0, "at the beginning");
    for _ in 0..2 {
        run(&session);
        let picture = session.screenshot();
        assert_eq!(picture.differs_from_shifted(LEFT, OFFSET), 0, "at step {}", session.step());
    }
    // The report of one run may come later than that of the other.
    session.wait_for("equal energies", || {
        let [first, second] = energy_errors(&session);
        (first.to_bits() == second.to_bits()).then_some(())
    });
    drop(session);

    let session = open("softening=0.5");
    assert_eq!(session.screenshot().differs_from_shifted(LEFT, OFFSET), 0, "at the beginning");
    run(&session);
    assert!(
        session.screenshot().differs_from_shifted(LEFT, OFFSET) > 50,
        "both have one softening"
    );
    let [first, second] = energy_errors(&session);
    assert_ne!(first.to_bits(), second.to_bits());

    fold(&session);
    // The command line has it; a key ends and an undo restores it.
    assert!(session.copy_command_line().contains(" --compare softening=0.5"));
    session.press_key("v", "Character(\"v\")");
    let compares = || session.last_frame_line().contains(" compares");
    session.wait_for("one run", || (!session.is_building() && !compares()).then_some(()));
    assert!(!session.copy_command_line().contains("--compare"));
    session.xdotool(&["key", "ctrl+z"]);
    session.wait_for("two runs", || compares().then_some(()));
    assert!(session.copy_command_line().contains(" --compare softening=0.5"));
    // Pictures show one run.
    session.press_key("F12", "Named(F12)");
    session.wait_for("a reason", || session.last_message("saved pictures show one run"));
}

/// Energies are measured where the runs part and where they end, also if they end at once.
#[test]
fn runs_that_end_soon_have_their_energies_compared() {
    if !can_run_window_tests() {
        return;
    }
    let scene = "title = \"Short\"\nabout = \"Five steps\"\n[[part]]\nname = \"stars\"\ngenerator = \"plummer\"\n\
                 parameters = { n = 300 }\n[run]\nsoftening = 0.05\ndt = 0.01\nuntil = 0.05\n[view]\nextent = 3.0\n";
    let opening = ["view", "short.toml", "--engine", "cpu", "--compare", "softening=0.5"];
    let session = Session::open_with(&opening, Tab::File, |folder| {
        std::fs::write(folder.join("short.toml"), scene).unwrap();
    });
    session.wait_for("the end", || (session.step() == 5 && session.is_idle()).then_some(()));
    let [first, second] = energy_errors(&session);
    assert!(first != 0.0 && second != 0.0 && first != second, "{first:e} {second:e}");
}
