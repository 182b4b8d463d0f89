//! Bodies thrown into a run by a drag in the picture.

use gravitile_app::panel::Tab;

use super::display::can_run_window_tests;
use super::person::Session;

/// Opens a small cluster, paused after a few steps.
fn open(more: &[&str]) -> Session {
    let args = ["view", "plummer", "-n", "300", "--engine", "cpu", "--sky", "0"];
    Session::open(&[&args[..], more].concat(), Tab::File)
}

#[test]
fn thrown_galaxy_is_taken_out_by_undo_and_repeated_by_its_text() {
    if !can_run_window_tests() {
        return;
    }
    let session = open(&["--paused"]);
    session.wait_until_idle();
    for step in 1..=3 {
        session.press_key("s", "Character(\"s\")");
        session.wait_for("a step", || (session.step() == step).then_some(()));
    }
    session.press_key("t", "Character(\"t\")");
    let (from, to) = (egui::pos2(80.0, 120.0), egui::pos2(180.0, 160.0));
    session.drag(from, to, "does Throw(");
    session.wait_for("it", || session.last_message("is thrown in at"));
    session.wait_for("its bodies", || (!session.is_building()).then_some(()));
    let with = session.save_snapshot();
    assert_eq!(with.bodies.len(), 1300, "{:?}", with.bodies.components);
    assert!(with.bodies.components.iter().any(|part| part.name == "thrown galaxy 1 disk"));
    let mut ids = with.bodies.id.clone();
    ids.dedup();
    assert_eq!(ids, (0..1300).collect::<Vec<u64>>());

    // The same by what the command line says.
    let line = session.copy_command_line();
    let throw = line.split(" --throw ").nth(1).expect(&line).split(' ').next().unwrap().to_owned();
    session.xdotool(&["key", "ctrl+z"]);
    session.wait_for("it to go", || session.last_message("undone: back at"));
    session.wait_for("the bodies", || (!session.is_building()).then_some(()));
    let without = session.save_snapshot();
    assert_eq!((without.bodies.len(), without.time), (300, with.time));
    assert!(!session.copy_command_line().contains("--throw"));
    drop(session);

    // A run that begins with the state before it and has it thrown in begins with the same bodies.
    let folder = tempfile::tempdir().unwrap();
    let [before, out] = ["before.gvt", "run"].map(|name| folder.path().join(name));
    gravitile::snapshot::write(&before, &without, &Default::default()).unwrap();
    let mut run = crate::program::program();
    run.arg("run").arg(&before).args(["--throw", &throw, "--engine", "cpu", "--every", "0.01"]);
    run.args(["--until", &(with.time + 0.01).to_string(), "--out"]).arg(&out);
    assert!(run.status().unwrap().success());
    let first = gravitile::snapshot::read(out.join("step_0000000000.gvt")).unwrap();
    assert!(first.bodies == with.bodies, "the bodies of {throw}");

    let repeated = open(&["--throw", &throw, "-t", &with.time.to_string(), "--paused"]);
    repeated.wait_for("the throw", || repeated.is_paused().then_some(()));
    repeated.wait_until_idle();
    let again = repeated.save_snapshot();
    assert_eq!(again.time, with.time);
    assert!(again.bodies == with.bodies, "the same bits of {throw}");
}
