//! The time bar below the picture.

use egui_kittest::kittest::Queryable;
use gravitile_app::panel::Tab;

use super::world::World;

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
