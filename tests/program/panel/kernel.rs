//! The Kernel tab: every choice becomes a command, and shapes that the adapter cannot run are
//! disabled with the reason.

use egui::accesskit::Toggled;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use gravitile::forces::direct::gpu::{Dispatch, KernelConfig, KernelRequest};
use gravitile::gpu::{DeviceCount, Gpu};
use gravitile::live::Command;
use gravitile::sim::{DevicePart, EngineKind, Share};
use gravitile_app::panel::{Action, Tab};

use super::world::{World, after, click, command, full};

const TALL: f32 = 1100.0;
const ROWS: [&str; 5] = ["p", "q", "r", "u", "s"];

/// The button of that value in the row of that name.
fn cell<'a>(harness: &'a Harness<'static, World>, row: &str, value: u32) -> egui_kittest::Node<'a> {
    let name = format!("{row} = {value}").leak();
    harness.get_by_label(name)
}

fn with_parameter(config: KernelConfig, row: &str, value: u32) -> KernelConfig {
    let mut config = config;
    match row {
        "p" => config.p = value,
        "q" => config.q = value,
        "r" => config.r = value,
        "u" => config.u = value,
        _ => config.s = value,
    }
    config
}

fn requested_kernel(actions: Vec<Action>) -> KernelRequest {
    match command(actions) {
        Command::Kernel(request) => request,
        other => panic!("a kernel was expected: {other:?}"),
    }
}

#[test]
fn engine_buttons_select_the_engine() {
    let mut harness = World::on(Tab::Kernel).shown(TALL);
    for (name, kind) in
        [("auto", EngineKind::Auto), ("cpu", EngineKind::Cpu), ("reference", EngineKind::Reference)]
    {
        assert_eq!(click(&mut harness, name), [Action::Engine(kind)]);
    }
    assert_eq!(click(&mut harness, "gpu"), [], "that one runs already");
}

#[test]
fn kernel_parameters_are_commands_or_disabled_with_reason() {
    for gpu in [super::world::baseline(), full()] {
        let mut world = World::on(Tab::Kernel);
        world.gpu = gpu.clone();
        let mut harness = world.shown(TALL);
        let config = harness.state().config.unwrap();
        let values = |row: &str| match row {
            "p" => vec![16, 32, 64, 128, 256, 512, 1024],
            "u" => vec![1, 2, 4, 8, 16, 32],
            "s" => vec![1, 2, 4, 8, 16, 32, 64],
            _ => vec![1, 2, 4, 8, 16],
        };
        let mut refused = 0;
        for row in ROWS {
            for value in values(row) {
                let config = with_parameter(config, row, value);
                let fits = config.validate(Some(&gpu));
                let node = cell(&harness, row, value);
                assert_eq!(node.accesskit_node().is_disabled(), fits.is_err(), "{row} = {value}");
                match fits {
                    Ok(()) if config != harness.state().config.unwrap() => {
                        let actions = after(&mut harness, |h| cell(h, row, value).click());
                        assert_eq!(
                            requested_kernel(actions),
                            KernelRequest::from(config),
                            "{row} = {value}"
                        );
                    }
                    Ok(()) => {}
                    Err(reason) => {
                        refused += 1;
                        assert_reason_shown(&mut harness, row, value, &reason.to_string());
                    }
                }
            }
        }
        if gpu.limits.threads_per_workgroup == 256 {
            assert!(refused >= 3, "256 threads at most: {refused} refused");
        }
    }
}

fn assert_reason_shown(harness: &mut Harness<'static, World>, row: &str, value: u32, reason: &str) {
    assert_eq!(after(harness, |h| cell(h, row, value).click()), [], "{row} = {value} is disabled");
    cell(harness, row, value).hover();
    harness.run_steps(6);
    assert!(harness.query_by_label(reason).is_some(), "{row} = {value} should say: {reason}");
    harness.remove_cursor();
    harness.run();
}

#[test]
fn switches_give_valid_shapes() {
    let mut world = World::on(Tab::Kernel);
    world.count = 300;
    let gpu = world.gpu.clone();
    let mut harness = world.shown(TALL);
    type Case = (&'static str, fn(&KernelRequest) -> bool);
    let cases: [Case; 3] = [
        ("tiled", |request| request.untiled),
        ("steps in one workgroup", |request| request.dispatch == Dispatch::OneWorkgroup),
        ("run-time checks", |request| request.checked),
    ];
    for (name, is_expected) in cases {
        let request = requested_kernel(click(&mut harness, name));
        assert!(is_expected(&request), "{name}: {request:?}");
        assert!(request.resolve(&gpu, 300, 300).is_ok(), "{name}: {request:?}");
    }
    let request = requested_kernel(click(&mut harness, "Choose automatically"));
    assert_eq!(request, KernelRequest::default());
}

#[test]
fn one_workgroup_is_disabled_for_many_bodies() {
    let mut harness = World::on(Tab::Kernel).shown(TALL);
    let switch = harness.get_by_label("steps in one workgroup");
    assert!(switch.accesskit_node().is_disabled());
    assert_eq!(click(&mut harness, "steps in one workgroup"), []);
    let (gpu, count) = (harness.state().gpu.clone(), harness.state().count);
    let why = KernelConfig::in_one_workgroup(&gpu, count, &KernelRequest::default()).unwrap_err();
    harness.get_by_label("steps in one workgroup").hover();
    harness.run_steps(6);
    assert!(harness.query_by_label(&why.to_string()).is_some(), "{why}");
}

#[test]
fn untiled_shape_returns_to_a_valid_tiled_one() {
    let mut world = World::on(Tab::Kernel);
    let config = KernelConfig { untiled: true, u: 5, ..world.config.unwrap() };
    world.config = Some(config);
    let gpu: std::sync::Arc<Gpu> = world.gpu.clone();
    let mut harness = world.shown(TALL);
    let switch = harness.get_by_label("tiled").accesskit_node().toggled();
    assert_eq!(switch, Some(Toggled::False));
    let request = requested_kernel(click(&mut harness, "tiled"));
    assert_eq!((request.tiled, request.u), (true, Some(4)));
    assert!(request.resolve(&gpu, 1000, 1000).is_ok());
}

#[test]
fn wgsl_text_is_shown_and_copied() {
    let mut harness = World::on(Tab::Kernel).shown(TALL);
    click(&mut harness, "Show the WGSL");
    let text = harness.state().wgsl.clone().unwrap();
    assert!(harness.query_by_label_contains("@compute").is_some());
    assert_eq!(click(&mut harness, "Copy"), [Action::CopyText(text)]);
    harness.state_mut().wgsl = None;
    harness.state_mut().engine = EngineKind::Cpu;
    harness.run();
    assert!(harness.query_by_label_contains("does not run now").is_some());
}

#[test]
fn unsupported_shape_is_reported() {
    let mut world = World::on(Tab::Kernel);
    world.config = None;
    let harness = world.shown(TALL);
    assert!(harness.query_by_label_contains("cannot run a kernel of this shape").is_some());
}

/// A machine with three adapters, of which two compute.
pub fn several() -> World {
    let mut world = World::on(Tab::Kernel);
    world.adapters = ["0000:01:00.0", "0000:02:00.0", "0000:41:00.0"]
        .map(|place| format!("A fast adapter at {place}"))
        .to_vec();
    (world.count, world.settings.devices) = (16_000, DeviceCount::These(2));
    let part = |k: usize, range, exchanging| DevicePart {
        device: world.adapters[k].clone(),
        share: Share::Bodies(range),
        exchanging: Some(exchanging),
    };
    world.parts = vec![part(0, 0..9_000, 0.05), part(1, 9_000..16_000, 0.125)];
    let found =
        "3 devices are faster: a step of 16000 bodies takes 0.211 ms on them, 0.352 ms on one";
    world.measured = Some(found.to_owned());
    world
}

#[test]
fn device_count_is_selected_with_several_adapters() {
    let mut harness = several().shown(TALL);
    for (name, count) in [
        ("1 device", DeviceCount::ONE),
        ("3 devices", DeviceCount::These(3)),
        ("fastest", DeviceCount::Auto),
    ] {
        assert_eq!(click(&mut harness, name), [Action::Devices(count)], "{name}");
    }
    assert_eq!(click(&mut harness, "2 devices"), [], "these compute already");
    for line in [
        "2: A fast adapter at 0000:02:00.0",
        "moves bodies 9000 to 15999, 44 %, computes 88 % of the time",
        "as measured: 3 devices are faster: a step of 16000 bodies takes 0.211 ms on them, 0.352 ms on one",
    ] {
        assert!(harness.query_by_label(line).is_some(), "{line}");
    }
}

#[test]
fn single_device_restriction_is_explained() {
    let mut world = several();
    world.parts.clear();
    world.only_one = Some("with the engine cpu: only gpu takes several".to_owned());
    let mut harness = world.shown(TALL);
    assert!(harness.get_by_label("2 devices").accesskit_node().is_disabled());
    assert_eq!(click(&mut harness, "2 devices"), []);
    let why = "one device with the engine cpu: only gpu takes several";
    assert!(harness.query_by_label(why).is_some());
}

#[test]
fn one_adapter_shows_no_device_controls() {
    for adapters in [0, 1] {
        let mut world = World::on(Tab::Kernel);
        world.adapters = vec!["An adapter".to_owned(); adapters];
        let harness = world.shown(TALL);
        assert!(harness.query_by_label("Devices").is_none());
        assert!(harness.query_by_label("1 device").is_none());
    }
}
