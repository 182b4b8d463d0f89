//! The Tree tab: actions of its controls, and displayed results.

use egui_kittest::kittest::{NodeT, Queryable};
use gravitile::forces::Method;
use gravitile::forces::tree::{MultipoleOrder, Opening, Rebuild, TreeConfig};
use gravitile::live::InspectRequest;
use gravitile_app::panel::{Action, Tab};

use super::world::{World, after, click, seen, slide};

const TALL: f32 = 1100.0;

fn world() -> World {
    let mut world = World::on(Tab::Tree);
    world.method = Some(Method::Tree);
    world
}

fn requested_config(actions: Vec<Action>) -> TreeConfig {
    match <[Action; 1]>::try_from(actions) {
        Ok([Action::Tree(config)]) => config,
        other => panic!("one change of the tree was expected: {other:?}"),
    }
}

#[test]
fn opening_rule_parameters_and_multipoles_are_set() {
    let mut harness = world().shown(TALL);
    for (name, opening) in [
        ("radius", Opening::Radius { theta: 0.6 }),
        ("bonsai", Opening::Bonsai { theta: 0.75 }),
        ("octgrav", Opening::Octgrav { theta: 0.75 }),
    ] {
        let expected = TreeConfig { opening, ..TreeConfig::default() };
        assert_eq!(requested_config(click(&mut harness, name)), expected);
        assert!(expected.check().is_ok());
    }
    assert_eq!(click(&mut harness, "acceleration"), [], "that one is in force");
    let finer = requested_config(slide(&mut harness, "alpha", 1e-4));
    let Opening::Acceleration { alpha } = finer.opening else { panic!("{finer}") };
    assert!((alpha / 1e-4 - 1.0).abs() < 1e-6);
    assert_eq!(
        requested_config(click(&mut harness, "monopoles")).moments,
        MultipoleOrder::Monopole
    );
    assert_eq!(click(&mut harness, "quadrupoles"), []);

    harness.state_mut().settings.tree.opening = Opening::Octgrav { theta: 0.5 };
    harness.run();
    assert!(harness.query_by_label("alpha").is_none());
    let coarser = requested_config(slide(&mut harness, "theta", 0.9));
    assert_eq!(coarser.opening, Opening::Octgrav { theta: 0.9 });
}

#[test]
fn rebuild_interval_is_set_and_reset() {
    let mut harness = world().shown(TALL);
    for (name, rebuild) in
        [("every 4 steps", Rebuild::Every(4)), ("when it pays off", Rebuild::Auto)]
    {
        // An open list shows the chosen item twice.
        harness.get_by_value("at each step").click();
        harness.run();
        assert_eq!(requested_config(click(&mut harness, name)).rebuild, rebuild);
    }
    harness.state_mut().settings.tree.rebuild = Rebuild::Every(16);
    harness.run();
    let list = harness.get_by_value("every 16 steps").rect();
    let actions = after(&mut harness, |h| {
        let mut buttons = h.get_all_by_label("↺");
        let is_in_row = |rect: egui::Rect| (rect.center().y - list.center().y).abs() < 8.0;
        buttons.find(|node| is_in_row(node.rect())).expect("a button in its row").click();
    });
    assert_eq!(requested_config(actions).rebuild, Rebuild::EACH_STEP);
}

#[test]
fn tree_method_is_offered_where_supported() {
    let mut harness = World::on(Tab::Tree).shown(TALL);
    assert_eq!(click(&mut harness, "Use the tree"), [Action::Method(Method::Tree)]);
    let mut reference = World::on(Tab::Tree);
    reference.settings.engine = gravitile::sim::EngineKind::Reference;
    let mut harness = reference.shown(TALL);
    assert_eq!(click(&mut harness, "Use the tree"), []);
    assert!(world().shown(TALL).query_by_label("Use the tree").is_none());
}

#[test]
fn boxes_and_lists_request_their_data() {
    let mut harness = world().shown(TALL);
    let needs =
        |h: &egui_kittest::Harness<'static, World>, shown| h.state().panel.tree.request(shown);
    assert_eq!(needs(&harness, false), InspectRequest::default());
    assert_eq!(needs(&harness, true), InspectRequest { error: true, ..InspectRequest::default() });
    assert!(harness.query_by_label_contains("boxes are off").is_some());
    click(&mut harness, "boxes");
    assert_eq!(needs(&harness, false), InspectRequest { tree: true, ..InspectRequest::default() });
    slide(&mut harness, "depth", 7.0);
    assert_eq!(harness.state().panel.tree.depth, 7);
    harness.state_mut().panel.tree.body = Some(9);
    assert_eq!(needs(&harness, false).body, None, "nobody asked for lists");
    click(&mut harness, "of the body clicked on");
    assert_eq!(
        needs(&harness, true),
        InspectRequest { error: true, tree: true, body: Some(9), about: None }
    );
    click(&mut harness, "boxes");
    assert!(needs(&harness, false).tree, "lists need the tree as well");
}

#[test]
fn force_errors_and_walk_statistics_are_shown() {
    let mut world = world();
    (world.inspected, world.count) = (seen(), 3000);
    (world.panel.tree.lists, world.panel.tree.boxes) = (true, true);
    let mut harness = world.shown(TALL);
    assert!(harness.query_by_label("click on a body in the picture").is_some());
    harness.state_mut().panel.tree.body = Some(41);
    harness.run();
    assert!(harness.query_by_label("computing …").is_some(), "that was another body's");
    harness.state_mut().panel.tree.body = Some(42);
    harness.run();
    let walk = harness.state().inspected.walk.clone().unwrap().walk;
    let acts = walk.cells.len() + walk.far.len() + walk.bodies.len();
    assert!(acts < 3000);
    for text in [
        "4.32e-4",
        "body 42: quadrupoles, radius 0.7",
        &format!("{}", walk.cells.len()),
        &format!("{}", walk.bodies.len()),
    ] {
        let found = harness.query_all_by_label(text).count();
        assert!(found > 0, "{text}");
    }
    let tests = format!("{} tests", walk.tests());
    assert!(harness.query_by_label_contains(&tests).is_some());
    let slider = harness.get_by_role_and_label(egui::accesskit::Role::Slider, "depth");
    assert!(!slider.accesskit_node().is_disabled());
}
