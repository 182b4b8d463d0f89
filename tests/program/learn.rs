//! The Learn tab without a window: the actions of its controls, and that nothing is cut off.
//!
//! `LEARN_PICTURE=file.png cargo test --test program learn` writes a screenshot.

use crate::common;

use std::sync::Arc;

use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use gravitile::forces::Method;
use gravitile::forces::direct::gpu::{KernelConfig, KernelRequest};
use gravitile::gpu::{FrameTimes, Gpu};
use gravitile::live::{Command, Inspected, Rates, Status, TimeKeeper};
use gravitile::scene::RunHints;
use gravitile::settings::InputRequest;
use gravitile::sim::{EngineKind, Settings};
use gravitile::units::Units;
use gravitile_app::panel::{
    Action, DeviceSharing, Facts, History, Integration, Panel, Tab, ViewChoice, style,
};

const TILED: KernelConfig = KernelConfig { q: 2, r: 2, u: 4, s: 2, ..KernelConfig::tiled(64) };

/// The state that [`Facts`] borrows from.
struct World {
    gpu: Arc<Gpu>,
    settings: Settings,
    keeper: TimeKeeper,
    engine: EngineKind,
    method: Method,
    config: KernelConfig,
    times: Option<FrameTimes>,
    panel: Panel,
    actions: Vec<Action>,
}

impl World {
    fn new() -> Self {
        Self {
            gpu: common::gpu(),
            settings: Settings { kernel: KernelRequest::from(TILED), ..Settings::default() },
            keeper: TimeKeeper::new(1.0),
            engine: EngineKind::Gpu,
            method: Method::Direct,
            config: TILED,
            times: Some(FrameTimes { number: 1, parts: vec![("steps", 0.01)] }),
            panel: Panel::new(true, Tab::Learn),
            actions: Vec::new(),
        }
    }

    fn show(ui: &mut egui::Ui, world: &mut Self) {
        let (input, units) = (InputRequest::named("plummer"), Units::default());
        let (hints, history, rates) = (RunHints::default(), History::default(), Rates::default());
        let facts = Facts {
            input: &input,
            hints: &hints,
            defaults: &Integration::of(&world.settings),
            units: &units,
            own_units: &units,
            count: 4096,
            components: &[],
            settings: &world.settings,
            dt: 0.01,
            keeper: &world.keeper,
            status: Status { ready: true, ..Status::default() },
            engine: world.engine,
            method: world.method,
            engine_reason: "asked for",
            engine_text: "an adapter",
            shared: DeviceSharing::default(),
            gpu: &world.gpu,
            config: Some(world.config),
            wgsl: None,
            kernel_file: None,
            rates: &rates,
            blocks: None,
            varying: None,
            inspected: &Inspected::default(),
            history: &history,
            past: &[],
            moments: &[],
            is_at_end: false,
            times: world.times.as_ref(),
            panel_secs: 0.0,
            colour_range: None,
            picture: [960, 540],
            film_name: "film.webp",
            recording: None,
            loading: None,
            left_out: None,
            message: None,
            message_is_error: false,
            compared: None,
        };
        let actions = world.panel.show(ui, &facts, &mut ViewChoice::default());
        // Requested kernels run from the next frame on, as in the window.
        for action in &actions {
            if let Action::Live(Command::Kernel(request)) = action {
                world.config = request.fill(TILED);
            }
        }
        world.actions.extend(actions);
    }

    /// The panel at its default width, tall enough to be visible in full.
    fn shown(self) -> Harness<'static, Self> {
        let mut harness = Harness::builder()
            .with_size([WIDTH + 60.0, 4800.0])
            .with_context_setup(style)
            .build_ui_state(Self::show, self);
        // The slow-motion animation never ends, so a fixed number of frames is run.
        harness.run_steps(3);
        harness
    }
}

const WIDTH: f32 = 360.0;

fn click(harness: &mut Harness<'static, World>, label: &str) -> Vec<Action> {
    harness.state_mut().actions.clear();
    harness.get_by_label(label).click();
    harness.run_steps(3);
    std::mem::take(&mut harness.state_mut().actions)
}

fn kernel(action: &Action) -> KernelConfig {
    match action {
        Action::Live(Command::Kernel(request)) => request.fill(TILED),
        other => panic!("a kernel was expected: {other:?}"),
    }
}

#[test]
fn clicking_a_rung_runs_its_kernel_and_shows_source() {
    let mut harness = World::new().shown();
    let actions = click(&mut harness, "1  naive");
    assert_eq!(actions.len(), 1);
    let naive = kernel(&actions[0]);
    assert!(naive.untiled && (naive.r, naive.u, naive.s) == (1, 1, 1), "{naive}");
    let actions = click(&mut harness, "5  register-blocked");
    let blocked = kernel(&actions[0]);
    assert!(!blocked.untiled && blocked.r == 4 && blocked.q == 1);
    assert!(harness.query_by_label_contains("keeps four sinks in registers").is_some());
    // The previous rung is shown next to it, with the same text where they agree.
    assert_eq!(harness.query_all_by_label_contains("workgroupBarrier").count(), 2);
    // A kernel that is running already is not requested a second time.
    assert_eq!(click(&mut harness, "5  register-blocked"), []);
}

#[test]
fn map_cell_runs_kernel_and_oversized_cell_is_disabled() {
    let mut harness = World::new().shown();
    let actions = click(&mut harness, "p = 32, q = 4");
    let requested = kernel(&actions[0]);
    assert_eq!((actions.len(), requested), (1, KernelConfig { p: 32, q: 4, ..TILED }));
    // No adapter has 16,384 threads per workgroup.
    let refused = harness.get_by_label("p = 1024, q = 16").accesskit_node();
    assert!(
        refused.is_disabled() && refused.value().unwrap().contains("16384"),
        "{:?}",
        refused.value()
    );
    let unknown = harness.get_by_label("p = 32, q = 4").accesskit_node();
    assert_eq!(unknown.value().as_deref(), Some("not measured"));
    assert_eq!(click(&mut harness, "p = 1024, q = 16"), []);
}

#[test]
fn fill_requests_shapes_and_leaving_restores_kernel() {
    let mut harness = World::new().shown();
    let actions = click(&mut harness, "Fill");
    assert_eq!(actions.len(), 1, "{actions:?}");
    assert_eq!(kernel(&actions[0]), KernelConfig { p: 8, q: 1, ..TILED });
    // Other cells are disabled meanwhile.
    assert_eq!(click(&mut harness, "p = 32, q = 4"), []);
    let stopped = click(&mut harness, "Stop");
    assert_eq!(stopped, [Action::Live(Command::Kernel(KernelRequest::from(TILED)))]);
    // Leaving the tab has the same effect as the button.
    click(&mut harness, "Fill");
    let left = click(&mut harness, "Kernel");
    assert_eq!(left, [Action::Live(Command::Kernel(KernelRequest::from(TILED)))]);
}

#[test]
fn tree_method_offers_switch_to_direct() {
    let mut world = World::new();
    world.method = Method::Tree;
    let mut harness = world.shown();
    assert_eq!(click(&mut harness, "Use all pairs"), [Action::Method(Method::Direct)]);
}

#[test]
fn fill_is_disabled_when_it_cannot_run() {
    for change in [
        (|world: &mut World| world.keeper.paused = true) as fn(&mut World),
        |world| world.times = None,
        |world| world.engine = EngineKind::Cpu,
        |world| world.method = Method::Tree,
    ] {
        let mut world = World::new();
        change(&mut world);
        let mut harness = world.shown();
        assert!(harness.get_by_label("Fill").accesskit_node().is_disabled());
        assert_eq!(click(&mut harness, "Fill"), []);
    }
    let mut world = World::new();
    world.engine = EngineKind::Cpu;
    let mut harness = world.shown();
    assert_eq!(click(&mut harness, "Use the GPU"), [Action::Engine(EngineKind::Gpu)]);
}

#[test]
fn simulation_pauses_while_ceilings_are_measured() {
    let mut harness = World::new().shown();
    assert!(harness.query_by_label("measure the ceilings first").is_some());
    let begun = click(&mut harness, "Measure ceilings");
    assert_eq!(begun, [Action::Live(Command::Pause(true))]);
    let mut ended = Vec::new();
    // Takes seconds; minutes on a busy machine.
    for _ in 0..30_000 {
        harness.run_steps(1);
        ended.append(&mut harness.state_mut().actions);
        if !ended.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(ended, [Action::Live(Command::Pause(false))]);
    harness.run_steps(2);
    assert!(harness.query_by_label("measure the ceilings first").is_none());
    assert!(harness.query_by_label("limit").is_some(), "the model names the limit");
}

#[test]
fn nothing_is_cut_off_at_default_width() {
    let mut untiled = World::new();
    untiled.config = KernelConfig { untiled: true, q: 1, r: 16, p: 1024, s: 64, ..TILED };
    for (i, world) in [World::new(), untiled].into_iter().enumerate() {
        let mut harness = world.shown();
        harness.run_steps(20);
        let width = harness.state().panel.width;
        assert!((width - WIDTH).abs() < 1.0, "the panel was pushed to {width} points");
        if let (Ok(path), 0) = (std::env::var("LEARN_PICTURE"), i) {
            harness.render().unwrap().save(path).unwrap();
        }
    }
}
