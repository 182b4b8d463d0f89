//! The welcome sheet, and the View tab's gas, dust and manual colour scale.

use egui_kittest::kittest::Queryable;
use gravitile::bodies::{Component, Role};
use gravitile::render::ColourBy;
use gravitile_app::panel::{Action, Tab, style};

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
fn welcome_picture_loads_its_scene_and_cross_closes() {
    let mut harness = welcome([1280.0, 720.0]);
    assert!(harness.query_by_label_contains("drag to turn").is_some());
    let actions = click(&mut harness, "The Mice");
    assert!(matches!(&actions[..], [Action::Load(input)] if input.input == "mice"), "{actions:?}");
    // Closing the sheet is up to the window. The cross closes it without an action.
    let mut harness = welcome([1280.0, 720.0]);
    assert_eq!(click(&mut harness, "×"), []);
    assert!(!harness.state().panel.welcome.open);
    let mut harness = World::on(Tab::Scene).shown(700.0);
    assert_eq!(click(&mut harness, "Choose by pictures"), [Action::Welcome]);
}

#[test]
fn welcome_names_no_keys_where_there_are_only_fingers() {
    let mut harness = welcome([400.0, 700.0]);
    harness.state_mut().panel.welcome.by_touch = true;
    harness.run();
    assert!(harness.query_by_label_contains("two fingers to zoom").is_some());
    assert!(harness.query_by_label_contains("space").is_none());
    assert!(harness.query_by_label_contains("scroll").is_none());
}

fn assert_fits(size: [f32; 2], name: &str) {
    let harness = welcome(size);
    // At least the first row is visible; others need scrolling.
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
    super::pictures::assert_same_picture(harness, name);
}

#[test]
fn welcome_sheet_fits_a_large_window() {
    assert_fits([1280.0, 720.0], "welcome");
}

#[test]
fn welcome_sheet_fits_a_small_window() {
    assert_fits([400.0, 240.0], "welcome_small");
}

#[test]
fn gas_controls_and_manual_colour_scale() {
    let mut world = World::on(Tab::View);
    world.components.push(Component::new("gas of galaxy 1", Role::Gas));
    let mut harness = world.shown(700.0);
    slide(&mut harness, "dust", 0.25);
    slide(&mut harness, "glow of gas", 0.75);
    let style = &harness.state().view.style;
    assert_eq!((style.dust, style.gas), (0.25, 0.75));
    // Components have no colour scale; that of speeds is automatic until fixed.
    assert!(harness.query_by_label("automatic scale").is_none());
    click(&mut harness, "speed");
    click(&mut harness, "automatic scale");
    assert_eq!(harness.state().view.style.value_range, Some([0.01, 2.5]));
    // A range of speeds does not apply to densities.
    click(&mut harness, "density");
    assert_eq!(harness.state().view.style.colour_by, ColourBy::Density);
    assert_eq!(harness.state().view.style.value_range, None);
    let mut without = World::on(Tab::View).shown(700.0);
    without.run();
    assert!(without.query_by_label("dust").is_none());
}
