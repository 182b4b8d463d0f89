//! Reference pictures of every tab, stored in `pictures/`. After an intended change run
//! `UPDATE_SNAPSHOTS=force cargo test --test program panel::pictures` and inspect them.

use egui_kittest::{Harness, SnapshotOptions};
use gravitile::forces::Method;
use gravitile::integrate::find;
use gravitile::live::BlockFacts;
use gravitile::sim::EngineKind;
use gravitile_app::panel::Tab;

use super::world::{PANEL, World, click, cut_off, report};

/// Text is drawn by egui itself; only the edges of glyphs and lines differ between drivers.
fn options() -> SnapshotOptions {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/program/panel/pictures");
    SnapshotOptions::new().threshold(1.0).max_failed_pixels(40).output_path(folder)
}

fn assert_picture(harness: Harness<'static, World>, name: &str) {
    let cut = cut_off(&harness);
    assert!(cut.is_empty(), "{name}: beyond the window's edge:\n{}", cut.join("\n"));
    let width = harness.state().panel.width;
    assert!((width - PANEL).abs() < 1.0, "{name}: the panel was pushed to {width} points");
    assert_same_picture(harness, name);
}

pub fn assert_same_picture(mut harness: Harness<'static, World>, name: &str) {
    harness.remove_cursor();
    harness.run();
    harness.snapshot_options(name, &options());
}

#[test]
fn scene() {
    assert_picture(World::on(Tab::Scene).shown(640.0), "scene");
}

#[test]
fn scene_with_an_encounter() {
    let mut world = World::on(Tab::Scene);
    let files = ["/long/way/to/a-galaxy.gvt".into(), "/long/way/to/another-galaxy.gvt".into()];
    let offer = gravitile_app::panel::MeetingOffer {
        files,
        separation: 8.0,
        pericentre: 1.3,
        unit: "3.5 kpc".to_owned(),
        mass: 12.0,
        speed: gravitile::units::Measure { factor: 262.0, name: "km/s".to_owned() },
    };
    world.panel.scene.offer_encounter(offer);
    world.input = gravitile::settings::InputRequest::named(
        "a/snapshot/with/a/rather/long/path/galaxy-0001.gvt",
    );
    assert_picture(world.shown(480.0), "encounter");
}

#[test]
fn light_theme() {
    let mut world = World::on(Tab::Conservation);
    world.panel.light = true;
    world.message = Some(("galaxy.bin: no such file".to_owned(), true));
    assert_picture(world.shown(900.0), "light");
}

#[test]
fn physics() {
    assert_picture(World::on(Tab::Physics).shown(440.0), "physics");
}

#[test]
fn physics_with_individual_steps() {
    let mut world = World::on(Tab::Physics);
    world.settings.integrator = find("hermite6").unwrap();
    world.engine = EngineKind::Cpu;
    assert_picture(world.shown(560.0), "physics_hermite");
}

#[test]
fn kernel() {
    assert_picture(World::on(Tab::Kernel).shown(640.0), "kernel");
}

#[test]
fn kernel_on_several_devices() {
    assert_picture(super::kernel::several().shown(760.0), "kernel_devices");
}

#[test]
fn kernel_with_wgsl_text() {
    let mut harness = World::on(Tab::Kernel).shown(900.0);
    click(&mut harness, "Show the WGSL");
    // The text is wider than the panel and scrolls.
    assert_same_picture(harness, "kernel_text");
}

#[test]
fn kernel_on_the_cpu() {
    let mut world = World::on(Tab::Kernel);
    world.engine = EngineKind::Cpu;
    assert_picture(world.shown(640.0), "kernel_cpu");
}

#[test]
fn tree() {
    let mut world = World::on(Tab::Tree);
    (world.method, world.inspected) = (Some(Method::Tree), super::world::seen());
    (world.panel.tree.boxes, world.panel.tree.lists) = (true, true);
    world.panel.tree.body = Some(42);
    assert_picture(world.shown(800.0), "tree");
}

#[test]
fn tree_with_all_pairs() {
    assert_picture(World::on(Tab::Tree).shown(400.0), "tree_direct");
}

#[test]
fn view() {
    assert_picture(World::on(Tab::View).shown(560.0), "view");
}

#[test]
fn numbers() {
    assert_picture(World::on(Tab::Numbers).shown(820.0), "numbers");
}

#[test]
fn numbers_with_individual_steps() {
    let mut world = World::on(Tab::Numbers);
    world.engine = EngineKind::Cpu;
    world.blocks = Some(BlockFacts {
        dt_max: 0.0625,
        steps_by_level: vec![0, 3, 180, 4200, 9000, 2400, 200, 14, 0, 1],
        last_active: 16_000,
        blocks: 1_234_567,
        mean_active: 213.4,
        blocks_per_time: 5321.0,
        blocks_per_sec: 1204.0,
    });
    assert_picture(world.shown(1000.0), "numbers_blocks");
}

#[test]
fn numbers_without_timestamps() {
    let mut world = World::on(Tab::Numbers);
    world.times = None;
    assert_picture(world.shown(760.0), "numbers_no_timestamps");
}

#[test]
fn conservation() {
    let mut world = World::on(Tab::Conservation);
    for k in 40..60 {
        world.history.report(&report(f64::from(k) * 0.05));
    }
    assert_picture(world.shown(860.0), "conservation");
}

#[test]
fn file() {
    assert_picture(World::on(Tab::File).shown(480.0), "file");
}

#[test]
fn file_while_recording() {
    let mut world = World::on(Tab::File);
    world.recording = Some(("a/film/of/some/galaxies-0001.apng".into(), 45));
    assert_picture(world.shown(480.0), "file_recording");
}

#[test]
fn message() {
    let mut world = World::on(Tab::Physics);
    world.message = Some(("galaxy.bin: no such file".to_owned(), true));
    world.status.behind = true;
    assert_picture(world.shown(440.0), "message");
}

#[test]
fn key_sheet() {
    let mut world = World::on(Tab::Scene);
    world.panel.help = true;
    world.panel.open = false;
    let mut harness = Harness::builder()
        .with_size([960.0, 620.0])
        .with_context_setup(gravitile_app::panel::style)
        .with_render_cursor(false)
        .build_ui_state(World::draw, world);
    harness.run();
    harness.snapshot_options("keys", &options());
}
