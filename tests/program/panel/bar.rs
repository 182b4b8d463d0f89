//! The time bar below the picture.

use egui_kittest::kittest::Queryable;
use gravitile::scene::{Keyframe, Moment};
use gravitile_app::panel::{Action, Bookmark, Tab};

use super::world::{World, after, click};

/// Collects all texts in a shape.
fn texts(shape: &egui::Shape, found: &mut Vec<String>) {
    match shape {
        egui::Shape::Text(text) => found.push(text.galley.text().to_owned()),
        egui::Shape::Vec(shapes) => shapes.iter().for_each(|shape| texts(shape, found)),
        _ => {}
    }
}

#[test]
fn hovering_the_time_bar_shows_time_and_memory_limit() {
    let mut world = World::on(Tab::Scene);
    world.panel.open = false;
    world.past[4].bookmark = None;
    let mut harness = world.shown(640.0);
    let last = harness.get_all_by_label("⚑").next().unwrap().rect();
    let tooltip = |harness: &egui_kittest::Harness<'static, World>| {
        let mut found = Vec::new();
        harness.output().shapes.iter().for_each(|clipped| texts(&clipped.shape, &mut found));
        found.into_iter().find(|text| text.contains("to t = "))
    };
    assert_eq!(tooltip(&harness), None);
    harness.hover_at(egui::pos2(last.right() + 14.0, last.center().y));
    harness.run();
    let tooltip = tooltip(&harness).expect("a note over the bar");
    assert!(tooltip.starts_with("back to t = "), "{tooltip}");
    assert!(tooltip.ends_with("10 states kept, in at most 256 MB"), "{tooltip}");
}

#[test]
fn marked_moments_show_their_titles_and_a_click_goes_there() {
    let mut world = World::on(Tab::Scene);
    world.panel.open = false;
    let moment = |title: &str, time| Moment {
        title: title.to_owned(),
        camera: Keyframe { time, extent: 5.0, inclination: 30.0, azimuth: 0.0, target: [0.0; 3] },
    };
    world.moments = vec![moment("the first passage", 10.0), moment("the merger", 40.0)];
    let mut harness = world.shown(640.0);
    let place = |harness: &egui_kittest::Harness<'_, World>, title: &str| {
        harness.get_by_label(title).rect().center()
    };
    let [passage, merger] = ["the first passage", "the merger"].map(|title| place(&harness, title));
    // The run of the scene is 50 long.
    let last = harness.get_all_by_label("⚑").next().unwrap().rect();
    assert!(last.right() < passage.x && passage.x < merger.x && passage.y == merger.y);
    harness.hover_at(merger);
    harness.run();
    let mut found = Vec::new();
    harness.output().shapes.iter().for_each(|clipped| texts(&clipped.shape, &mut found));
    let notes: Vec<&String> = found.iter().filter(|text| text.contains(" t = ")).collect();
    assert_eq!(notes.len(), 1, "{found:?}");
    assert!(notes[0].starts_with("the merger · t = ") && notes[0].ends_with(" Myr"), "{notes:?}");
    let went = after(&mut harness, |harness| harness.get_by_label("the merger").click());
    assert_eq!(went, [Action::GoToMoment(1)]);
    // Next to the marks the bar goes to kept states as before.
    let between = passage + 0.5 * (merger - passage);
    harness.hover_at(between);
    let went = after(&mut harness, |harness| {
        harness.drag_at(between);
        harness.drop_at(between);
    });
    assert!(matches!(went[..], [Action::GoTo(_)]), "{went:?}");
}

#[test]
fn bookmarks_are_gone_to_named_and_removed() {
    let mut world = World::on(Tab::Scene);
    world.past[4].bookmark = Some(Bookmark { name: "closest".to_owned(), picture: None });
    let mut harness = world.shown(1400.0);
    let at_mark = harness.get_by_label("closest").rect().center();
    let went = after(&mut harness, |harness| harness.get_by_label("closest").click());
    assert_eq!(went, [Action::GoTo(4)]);
    harness.hover_at(at_mark);
    harness.run();
    let mut found = Vec::new();
    harness.output().shapes.iter().for_each(|clipped| texts(&clipped.shape, &mut found));
    let is_note = |text: &&String| text.starts_with("closest · t = ");
    assert_eq!(found.iter().filter(is_note).count(), 1, "{found:?}");
    // The list in the panel.
    harness.hover_at(egui::pos2(4.0, 4.0));
    harness.run();
    assert_eq!(click(&mut harness, "Bookmark this state"), [Action::Bookmark]);
    assert_eq!(click(&mut harness, "go"), [Action::GoTo(4)]);
    assert_eq!(click(&mut harness, "remove the bookmark"), [Action::DropBookmark(4)]);
    let field = |harness: &egui_kittest::Harness<'static, World>, text: &str| {
        let name = |node: &egui_kittest::Node<'_>| node.value().as_deref() == Some("closest");
        let mut fields = harness.get_all_by_role(egui::accesskit::Role::TextInput);
        let field = fields.find(name).expect("the field with the name");
        field.focus();
        field.set_text_value_accesskit(text);
    };
    assert_eq!(after(&mut harness, |harness| field(harness, "passage")), [], "it is being edited");
    let named = after(&mut harness, |harness| harness.key_press(egui::Key::Enter));
    assert_eq!(named, [Action::NameBookmark(4, "passage".to_owned())]);
}
