//! A window whose bodies two devices move, of which one is lost: it goes on from the last state that had come back, to the
//! bits of a run that nothing happened to.

use gravitile::app::panel::Tab;

use super::display::is_there;
use super::lose::{ENVIRONMENT, layer};
use super::person::{Person, SKY};
use super::several::{TWO, is_of_the_command_line};

const LOST: &str = "lost";

/// Opens the window and, once states have come back, loses the device that was opened as `number`, from 1. `None` where that
/// cannot be tried.
fn loses(number: usize) -> Option<Person> {
    let mut is_layered = false;
    let [path, name] = ENVIRONMENT;
    let person =
        Person::opens_where(&TWO, Tab::File, &[path, name, ("LOSE_DEVICE", LOST)], |folder| {
            is_layered = layer(folder, "a window that loses a device");
        });
    if !is_layered {
        return None;
    }
    person.waits_until_sky(true);
    person.eventually("a state that came back", || {
        person.frame().contains(" restorable").then_some(())
    });
    let [new, lost] = ["new", LOST].map(|name| person.folder().join(name));
    std::fs::write(&new, number.to_string()).unwrap();
    std::fs::rename(&new, &lost).unwrap();
    Some(person)
}

/// Steps go on, and lead where they would have.
fn goes_on(person: &Person, devices: usize) {
    let step = person.step();
    person.eventually("steps", || (person.step() > step + 20).then_some(()));
    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    assert!(person.sees().bright(SKY) > 20);
    let saved = person.saves();
    let engine = &saved.attributes["engine"];
    assert_eq!(engine.matches(" + ").count(), devices - 1, "{engine}");
    is_of_the_command_line(person, &saved, "0");
}

#[test]
fn bodies_go_on_with_the_windows_device_where_another_is_lost() {
    if !is_there() {
        return;
    }
    let Some(person) = loses(2) else { return };
    let said =
        person.eventually("the loss", || person.sentence("Going on with one device from t = "));
    assert!(said.contains("device was lost"), "{said}");
    goes_on(&person, 1);
}

#[test]
fn bodies_go_on_with_all_devices_where_the_windows_is_replaced() {
    if !is_there() {
        return;
    }
    let Some(person) = loses(1) else { return };
    let said = person.eventually("the loss", || person.sentence("Going on from t = "));
    assert!(said.contains("device was lost"), "{said}");
    goes_on(&person, 2);
}
