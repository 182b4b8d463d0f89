//! Device loss in a window that computes on two devices: the simulation continues from the last
//! state read back, and its result is bitwise equal to an undisturbed run.

use gravitile_app::panel::Tab;

use super::display::can_run_window_tests;
use super::lose::{ENVIRONMENT, layer};
use super::person::{SKY, Session};
use super::several::{TWO_DEVICES, assert_equals_command_line_run};

const LOST: &str = "lost";

/// Opens the window and, once a state has been read back, loses the device that was opened as
/// `number`, counted from 1. `None` without the layer that loses devices.
fn open_and_lose_device(number: usize) -> Option<Session> {
    let mut is_layered = false;
    let [path, name] = ENVIRONMENT;
    let session = Session::open_with_env(
        &TWO_DEVICES,
        Tab::File,
        &[path, name, ("LOSE_DEVICE", LOST)],
        |folder| {
            is_layered = layer(folder, "a window that loses a device");
        },
    );
    if !is_layered {
        return None;
    }
    session.wait_for_motion();
    session.wait_for("a state that came back", || {
        session.last_frame_line().contains(" restorable").then_some(())
    });
    let [new, lost] = ["new", LOST].map(|name| session.folder().join(name));
    std::fs::write(&new, number.to_string()).unwrap();
    std::fs::rename(&new, &lost).unwrap();
    Some(session)
}

/// Asserts that steps continue on `devices` devices, with the bits of an undisturbed run.
fn assert_steps_continue(session: &Session, devices: usize) {
    let step = session.step();
    session.wait_for("steps", || (session.step() > step + 20).then_some(()));
    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    assert!(session.screenshot().count_bright(SKY) > 20);
    let saved = session.save_snapshot();
    let engine = &saved.attributes["engine"];
    assert_eq!(engine.matches(" + ").count(), devices - 1, "{engine}");
    assert_equals_command_line_run(session, &saved, "0");
}

#[test]
fn window_continues_on_its_own_device_after_loss_of_the_other() {
    if !can_run_window_tests() {
        return;
    }
    let Some(session) = open_and_lose_device(2) else { return };
    let message =
        session.wait_for("the loss", || session.last_message("Going on with one device from t = "));
    assert!(message.contains("device was lost"), "{message}");
    assert_steps_continue(&session, 1);
}

#[test]
fn window_replaces_its_lost_device_and_keeps_both() {
    if !can_run_window_tests() {
        return;
    }
    let Some(session) = open_and_lose_device(1) else { return };
    let message = session.wait_for("the loss", || session.last_message("Going on from t = "));
    assert!(message.contains("device was lost"), "{message}");
    assert_steps_continue(&session, 2);
}
