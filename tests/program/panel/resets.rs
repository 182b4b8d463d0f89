//! Reset buttons, the camera's path, and the notice of omitted effects.

use egui::accesskit::Role as WidgetRole;
use egui_kittest::kittest::Queryable;
use gravitile::forces::tree::{Opening, TreeConfig};
use gravitile::integrate::find;
use gravitile::render::PALETTES;
use gravitile::scene::Keyframe;
use gravitile_app::panel::{Action, Integration, Tab, Viewpoint};

use super::controls::integration;
use super::world::{World, after, click};

const TALL: f32 = 1100.0;

#[test]
fn integrator_and_tree_reset_to_defaults() {
    let click_reset_in_row = |h: &egui_kittest::Harness<'static, World>, of: egui::Rect| {
        let buttons = h.get_all_by_label("↺");
        let mut in_row =
            buttons.filter(|node| (node.rect().center().y - of.center().y).abs() < 8.0);
        in_row.next().expect("a button in its row").click();
    };
    let mut world = World::on(Tab::Physics);
    world.settings.integrator = find("hermite4").unwrap();
    world.settings.blocks.eta = 0.3;
    world.defaults = Integration::of(&world.settings);
    world.defaults.blocks.eta = 0.02;
    let defaults = world.defaults.clone();
    let mut harness = world.shown(TALL);
    let actions = after(&mut harness, |h| {
        click_reset_in_row(h, h.get_by_role_and_label(WidgetRole::Slider, "eta").rect());
    });
    assert_eq!(integration(actions).blocks.eta, 0.02);
    harness.state_mut().settings.integrator = find("leapfrog").unwrap();
    harness.run();
    let actions = after(&mut harness, |h| click_reset_in_row(h, h.get_by_label("hermite4").rect()));
    assert_eq!(integration(actions), defaults);

    let mut world = World::on(Tab::Tree);
    world.settings.method = Some(gravitile::forces::Method::Tree);
    world.settings.tree.opening = Opening::Radius { theta: 0.3 };
    let mut harness = world.shown(TALL);
    let actions = after(&mut harness, |h| {
        click_reset_in_row(h, h.get_by_role_and_label(WidgetRole::Slider, "theta").rect());
    });
    let theta = |theta| Opening::Radius { theta };
    let [Action::Tree(tree)] = actions[..] else { panic!("{actions:?}") };
    assert_eq!(tree.opening, theta(0.6));
    let actions = after(&mut harness, |h| click_reset_in_row(h, h.get_by_label("octgrav").rect()));
    let [Action::Tree(tree)] = actions[..] else { panic!("{actions:?}") };
    assert_eq!(tree.opening, TreeConfig::default().opening);
}

#[test]
fn palette_resets_to_default() {
    let mut world = World::on(Tab::View);
    world.view.style.colour_by = gravitile::render::ColourBy::Speed;
    world.view.style.palette = &PALETTES[1];
    let mut harness = world.shown(TALL);
    let list = harness.get_all_by_role(WidgetRole::ComboBox).next().unwrap().rect();
    assert!(list.is_positive());
    after(&mut harness, |h| {
        let buttons = h.get_all_by_label("↺");
        let y = list.center().y;
        let mut in_row = buttons.filter(|node| (node.rect().center().y - y).abs() < 8.0);
        in_row.next().expect("a button behind the palette").click();
    });
    assert_eq!(harness.state().view.style.palette, &PALETTES[0]);
}

#[test]
fn camera_keyframes_are_set_removed_visited_and_saved() {
    let key =
        |time| Keyframe { time, extent: 2.0, inclination: 60.0, azimuth: 0.0, target: [0.0; 3] };
    let mut harness = with_path(vec![]);
    assert_eq!(click(&mut harness, "Set a place"), [Action::Keyframe]);
    assert!(harness.query_by_label("Save the path").is_none(), "there is none");
    let mut harness = with_path(vec![key(1.0), key(2.0)]);
    click(&mut harness, "follow the path");
    assert!(harness.state().view.plays);
    let actions = after(&mut harness, |h| h.get_by_label_contains("t = 26.10").click());
    assert_eq!(actions, [Action::Camera(Viewpoint::Keyframe(1))]);
    assert_eq!(click(&mut harness, "Save the path"), [Action::SavePath("path.toml".into())]);
    for left in [1, 0] {
        click(&mut harness, "×");
        assert_eq!(harness.state().view.path.len(), left);
    }
    assert!(!harness.state().view.plays, "there is no path any more");
}

#[test]
fn directed_camera_is_toggled() {
    let mut harness = with_path(vec![]);
    for directs in [true, false] {
        click(&mut harness, "directed camera");
        assert_eq!(harness.state().view.directs, directs);
    }
}

fn with_path(path: Vec<Keyframe>) -> egui_kittest::Harness<'static, World> {
    let mut world = World::on(Tab::View);
    world.view.path = path;
    world.shown(TALL)
}

#[test]
fn omitted_effects_are_shown_and_can_be_forced() {
    let notice = "left out in motion (over 20 ms here): streaks";
    let mut world = World::on(Tab::View);
    world.left_out = Some(notice.to_owned());
    let mut harness = world.shown(TALL);
    // A sign at the bottom with the text as its tooltip, instead of a line.
    let signs = |harness: &egui_kittest::Harness<'static, World>| {
        harness.query_all_by_label(gravitile_app::panel::LEFT_OUT).count()
    };
    assert_eq!((signs(&harness), harness.query_all_by_label(notice).count()), (1, 0));
    assert!(harness.state().view.spares);
    click(&mut harness, "leave out what is too slow here");
    assert!(!harness.state().view.spares);
    let everything = World::on(Tab::View).shown(TALL);
    assert_eq!(signs(&everything), 0);
}
