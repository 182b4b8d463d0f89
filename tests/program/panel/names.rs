//! Very long names, and the singular for one body.

use egui_kittest::kittest::Queryable;
use gravitile::settings::InputRequest;
use gravitile_app::panel::Tab;

use super::world::{PANEL, World, cut_off};

#[test]
fn long_name_does_not_widen_the_panel() {
    let mut world = World::on(Tab::Scene);
    let name = "step_0000000004-meets-step_0000000001-once-more.toml";
    world.input = InputRequest::named(format!("/a/long/way/to/{name}"));
    let mut harness = world.shown(1100.0);
    harness.run_steps(5);
    let width = harness.state().panel.width;
    assert!((width - PANEL).abs() < 1.0, "the panel was pushed to {width} points");
    assert!(cut_off(&harness).is_empty(), "{:?}", cut_off(&harness));
}

#[test]
fn one_body_is_singular() {
    let mut world = World::on(Tab::Scene);
    world.count = 1;
    world.input = InputRequest::named("a/lonely-star.gvt");
    let harness = world.shown(640.0);
    assert!(harness.query_by_label("1 body from a file").is_some());
}
