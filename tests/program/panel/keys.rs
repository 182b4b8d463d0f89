//! Keys have the effects that the help sheet lists.

use egui::accesskit::Role as WidgetRole;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable;
use gravitile::live::{Command, Tempo};
use gravitile::scene::Scene;
use gravitile_app::panel::{Action, KEYS, Tab, Viewpoint};

use super::world::{World, after};

#[test]
fn each_key_returns_its_action() {
    let mut harness = World::on(Tab::Scene).shown(700.0);
    let mut press = |key: Key| after(&mut harness, |h| h.key_press(key));
    let live = |command: Command| vec![Action::Live(command)];
    assert_eq!(press(Key::Space), live(Command::Pause(true)));
    let step = vec![Action::Live(Command::Pause(true)), Action::Live(Command::Step(1))];
    assert_eq!(press(Key::S), step);
    assert_eq!(press(Key::B), live(Command::Reverse));
    assert_eq!(press(Key::R), [Action::Restart { reset_numbers: true }]);
    assert_eq!(press(Key::Comma), live(Command::Factor(0.5)));
    assert_eq!(press(Key::Period), live(Command::Factor(2.0)));
    assert_eq!(press(Key::X), live(Command::Tempo(Tempo::Fastest)));
    assert_eq!(press(Key::F), [Action::Camera(Viewpoint::Fit)]);
    assert_eq!(press(Key::Home), [Action::Camera(Viewpoint::Start)]);
    assert_eq!(press(Key::Tab), [Action::FoldPanel]);
    assert_eq!(press(Key::Backtick), [Action::FoldPanel]);
    assert_eq!(press(Key::F11), [Action::Fullscreen]);
    assert_eq!(press(Key::F12), [Action::Screenshot("gravitile-000125.png".into(), 1280, 720)]);
    assert_eq!(press(Key::F1), [Action::Help]);
    assert_eq!(press(Key::Questionmark), [Action::Help]);
    assert_eq!(press(Key::Q), [Action::AskToQuit]);
    assert_eq!(press(Key::Escape), [Action::Escape]);
    assert!(matches!(&press(Key::Num5)[..], [Action::Load(input)] if input.input == "cartwheel"));
}

#[test]
fn n_goes_from_marked_moment_to_marked_moment() {
    let mut world = World::on(Tab::Scene);
    world.moments = Scene::builtin("antennae").unwrap().view.moments;
    let mut harness = world.shown(700.0);
    let mut at = |time: f64| {
        harness.state_mut().status.time = time;
        after(&mut harness, |harness| harness.key_press(Key::N))
    };
    assert_eq!(at(1.25), [Action::GoToMoment(0)]);
    assert_eq!(at(1e3), [Action::GoToMoment(0)], "after the last one follows the first");
    harness.state_mut().moments.clear();
    assert_eq!(after(&mut harness, |harness| harness.key_press(Key::N)), []);
}

#[test]
fn modifiers_select_different_actions() {
    let mut harness = World::on(Tab::Scene).shown(700.0);
    let mut press = |m: Modifiers, key: Key| after(&mut harness, |h| h.key_press_modifiers(m, key));
    assert_eq!(press(Modifiers::NONE, Key::P), [Action::SpriteSize(1.25)]);
    assert_eq!(press(Modifiers::SHIFT, Key::P), [Action::SpriteSize(0.8)]);
    assert_eq!(press(Modifiers::SHIFT, Key::Slash), [Action::Help]);
    assert_eq!(press(Modifiers::COMMAND, Key::O), [Action::OpenDialog]);
    assert_eq!(press(Modifiers::COMMAND, Key::Q), [Action::Quit]);
    assert_eq!(press(Modifiers::COMMAND, Key::Z), [Action::Undo]);
    assert_eq!(press(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z), [Action::Redo]);
    assert_eq!(press(Modifiers::SHIFT, Key::R), [Action::Restart { reset_numbers: false }]);
}

#[test]
fn tab_key_does_not_move_the_focus() {
    let mut harness = World::on(Tab::Physics).shown(700.0);
    after(&mut harness, |h| h.key_press(Key::Tab));
    let pause = after(&mut harness, |h| h.key_press(Key::Space));
    assert_eq!(pause, [Action::Live(Command::Pause(true))], "Tab must not move egui's focus");
}

#[test]
fn every_control_of_the_panel_is_reached_by_keys_alone() {
    let mut harness = World::on(Tab::Physics).shown(700.0);
    let press = |harness: &mut egui_kittest::Harness<'static, World>, key: Key| {
        after(harness, |h| h.key_press(key))
    };
    assert_eq!(press(&mut harness, Key::F6), []);
    let is_focused = |harness: &egui_kittest::Harness<'static, World>, label: &str| {
        harness.get_all_by_label(label).any(|node| node.is_focused())
    };
    for label in ["Step", "Speed", "dt", "hermite4"] {
        let mut presses = 0;
        while !is_focused(&harness, label) {
            assert_eq!(press(&mut harness, Key::Tab), [], "Tab must not fold the panel now");
            presses += 1;
            assert!(presses < 60, "{label} is not reached");
        }
    }
    let changed = press(&mut harness, Key::Enter);
    assert!(matches!(changed[..], [Action::Integration(_)]), "{changed:?}");
    // Escape leaves the controls, and only then closes or quits.
    assert_eq!(press(&mut harness, Key::Escape), []);
    assert_eq!(press(&mut harness, Key::Tab), [Action::FoldPanel]);
    assert_eq!(press(&mut harness, Key::Escape), [Action::Escape]);
}

#[test]
fn focus_passes_over_numbers_without_rounding_them() {
    let mut world = World::on(Tab::View);
    let style = &mut world.view.style;
    (style.sprite_size, style.stops, style.trail_secs) = (1.234_567_8, 0.123_456, 2.345_678_9);
    (style.bloom, world.view.orbit_degrees_per_sec) = (0.654_321_9, 1.234_567_8);
    let before = world.view.clone();
    let mut harness = world.shown(1100.0);
    after(&mut harness, |h| h.key_press(Key::F6));
    let mut numbers = 0;
    for _ in 0..80 {
        assert_eq!(after(&mut harness, |h| h.key_press(Key::Tab)), []);
        let fields = harness.get_all_by_role(WidgetRole::SpinButton);
        numbers += fields.filter(|node| node.is_focused()).count();
    }
    assert!(numbers >= 5, "only {numbers} numbers had the focus");
    assert_eq!(harness.state().view, before);
}

#[test]
fn key_sheet_entries_are_complete() {
    // A key without a name is covered by the name of the one before.
    assert!(!KEYS[0].name.is_empty());
    for key in KEYS {
        assert_eq!(key.name.is_empty(), key.about.is_empty(), "{}", key.name);
        assert!(!key.codes.is_empty());
    }
}

#[test]
fn escape_closes_only_an_open_list() {
    let mut harness = World::on(Tab::Scene).shown(700.0);
    after(&mut harness, |h| h.get_by_role(WidgetRole::ComboBox).click());
    assert!(harness.query_by_label("plummer").is_some(), "the list is open");
    assert_eq!(after(&mut harness, |h| h.key_press(Key::Escape)), []);
    assert!(harness.query_by_label("plummer").is_none(), "the list should be closed");
    assert_eq!(after(&mut harness, |h| h.key_press(Key::Escape)), [Action::Escape]);
}

#[test]
fn quit_dialog_blocks_other_keys() {
    let mut world = World::on(Tab::Scene);
    world.panel.asks_to_quit = true;
    let mut harness = world.shown(700.0);
    let answers = [Key::Escape, Key::Q, Key::Enter];
    for key in Key::ALL.iter().filter(|key| !answers.contains(key)) {
        for modifiers in [Modifiers::NONE, Modifiers::SHIFT, Modifiers::COMMAND] {
            harness.state_mut().panel.asks_to_quit = true;
            harness.run();
            let actions = after(&mut harness, |h| h.key_press_modifiers(modifiers, *key));
            // Tab focuses a button, and Space presses it.
            assert!(actions.is_empty() || actions == [Action::Quit], "{key:?}: {actions:?}");
        }
        assert!(!harness.state().panel.help && harness.state().panel.open, "{key:?}");
    }
    harness.state_mut().panel.asks_to_quit = true;
    harness.run();
    assert_eq!(after(&mut harness, |h| h.key_press(Key::Q)), [Action::AskToQuit]);
}

#[test]
fn quit_dialog_is_answered_by_button_or_key() {
    let mut world = World::on(Tab::Scene);
    world.panel.asks_to_quit = true;
    let mut harness = world.shown(700.0);
    assert!(harness.query_by_label("Close gravitile?").is_some());
    assert_eq!(after(&mut harness, |h| h.get_by_label("Close").click()), [Action::Quit]);
    assert_eq!(after(&mut harness, |h| h.key_press(Key::Enter)), [Action::Quit]);
    assert_eq!(after(&mut harness, |h| h.key_press(Key::Escape)), [Action::Escape]);
    assert_eq!(after(&mut harness, |h| h.get_by_label("Stay").click()), []);
    assert!(!harness.state().panel.asks_to_quit);
}
