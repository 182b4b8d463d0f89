//! The first five seconds, and what is new in the tab View: gas, dust, a scale set by hand.

use egui_kittest::kittest::Queryable;
use gravitile::app::panel::{Action, Tab, style};
use gravitile::bodies::{Component, Role};
use gravitile::render::ColourBy;

use super::world::{World, click, slide};

fn welcome(size: [f32; 2]) -> egui_kittest::Harness<'static, World> {
    let mut world = World::on(Tab::Scene);
    world.panel.open = false;
    world.panel.welcome.open = true;
    let mut harness = egui_kittest::Harness::builder()
        .with_size(size)
        .with_context_setup(style)
        .with_render_cursor(false)
        .build_ui_state(World::draw, world);
    harness.run();
    harness
}

#[test]
fn a_picture_loads_its_scene_and_the_cross_leaves_all_as_it_is() {
    let mut harness = welcome([1280.0, 720.0]);
    assert!(harness.query_by_label_contains("drag to turn").is_some());
    let asked = click(&mut harness, "Three bodies, one path");
    assert!(
        matches!(&asked[..], [Action::Load(input)] if input.input == "figure-eight"),
        "{asked:?}"
    );
    // The window closes the sheet, and the scene plays because it was chosen from it.
    let mut harness = welcome([1280.0, 720.0]);
    assert_eq!(click(&mut harness, "×"), []);
    assert!(!harness.state().panel.welcome.open);
    let mut harness = World::on(Tab::Scene).shown(700.0);
    assert_eq!(click(&mut harness, "Choose by pictures"), [Action::Welcome]);
}

fn fits(size: [f32; 2], name: &str) {
    let harness = welcome(size);
    // The first row at least; others are scrolled to.
    for title in ["Two galaxies meet", "Galaxies with gas"] {
        for node in harness.get_all_by_label(title) {
            let rect = node.rect();
            let inside = rect.min.x >= 0.0 && rect.max.x <= size[0] && rect.max.y <= size[1];
            assert!(inside, "{title} at {size:?}: {rect:?}");
        }
    }
    let cross = harness.get_by_label("×").rect();
    let question = harness.get_by_label_contains("What would you like").rect();
    assert!(question.max.x <= cross.min.x, "{question:?} reaches into {cross:?}");
    let hint = harness.get_by_label_contains("drag to turn").rect();
    assert!(hint.max.y <= size[1], "{hint:?}");
    super::pictures::looks_the_same(harness, name);
}

#[test]
fn the_pictures_lie_side_by_side() {
    fits([1280.0, 720.0], "welcome");
}

#[test]
fn the_pictures_fit_a_small_window() {
    fits([400.0, 240.0], "welcome_small");
}

#[test]
fn gas_has_its_light_and_a_scale_is_set_by_hand() {
    let mut world = World::on(Tab::View);
    world.components.push(Component::new("gas of galaxy 1", Role::Gas));
    let mut harness = world.shown(700.0);
    slide(&mut harness, "dust", 0.25);
    slide(&mut harness, "glow of gas", 0.75);
    let style = &harness.state().view.style;
    assert_eq!((style.dust, style.gas), (0.25, 0.75));
    // Components have no scale; speeds have one that follows the bodies until it is held.
    assert!(harness.query_by_label("automatic scale").is_none());
    click(&mut harness, "speed");
    click(&mut harness, "automatic scale");
    assert_eq!(harness.state().view.style.value_range, Some([0.01, 2.5]));
    // A range of speeds means nothing for densities.
    click(&mut harness, "density");
    assert_eq!(harness.state().view.style.colour_by, ColourBy::Density);
    assert_eq!(harness.state().view.style.value_range, None);
    let mut without = World::on(Tab::View).shown(700.0);
    without.run();
    assert!(without.query_by_label("dust").is_none());
}
