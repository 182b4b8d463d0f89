//! Owned test data for the panel, which a window would borrow to it as [`Facts`].

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use egui::accesskit::Role as WidgetRole;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::diagnostics::{ComponentRadii, Diagnostics};
use gravitile::forces::Method;
use gravitile::forces::direct::gpu::{KernelConfig, KernelVariant};
use gravitile::forces::tree::{Opening, TreeConfig, TreeView};
use gravitile::gpu::{AdapterRequest, FrameTimes, Gpu};
use gravitile::live::{
    BlockFacts, Command, ForceError, Inspected, InspectedTree, InspectedWalk, Rates, Report,
    Status, TimeKeeper,
};
use gravitile::scene::{Moment, RunHints, Scene};
use gravitile::settings::InputRequest;
use gravitile::sim::{DevicePart, EngineKind, Settings, State};
use gravitile::units::Units;
use gravitile_app::panel::{
    Action, Bookmark, DeviceSharing, Facts, History, Integration, Panel, StoredState, Tab,
    ViewChoice, background, style,
};

/// Left edge of the panel: the width of the window's free area.
pub const FREE: f32 = 270.0;
/// The panel's default width.
pub const PANEL: f32 = 360.0;

/// Everything behind [`Facts`], with the panel and the actions it returned.
pub struct World {
    pub gpu: Arc<Gpu>,
    pub input: InputRequest,
    pub hints: RunHints,
    pub units: Units,
    pub count: usize,
    pub components: Vec<Component>,
    pub settings: Settings,
    pub dt: f64,
    pub keeper: TimeKeeper,
    pub status: Status,
    pub engine: EngineKind,
    /// `None` is the engine's default.
    pub method: Option<Method>,
    pub engine_reason: String,
    pub engine_text: String,
    /// Adapters that could share the bodies.
    pub adapters: Vec<String>,
    pub parts: Vec<DevicePart>,
    pub measured: Option<String>,
    pub only_one: Option<String>,
    pub config: Option<KernelConfig>,
    pub wgsl: Option<String>,
    pub blocks: Option<BlockFacts>,
    pub inspected: Inspected,
    pub defaults: Integration,
    pub history: History,
    pub past: Vec<StoredState>,
    pub moments: Vec<Moment>,
    pub is_at_end: bool,
    pub times: Option<FrameTimes>,
    pub recording: Option<(PathBuf, u64)>,
    pub message: Option<(String, bool)>,
    pub left_out: Option<String>,
    pub panel: Panel,
    pub view: ViewChoice,
    pub actions: Vec<Action>,
    rates: Rates,
}

/// A device with the WebGPU baseline, whose limits are the same on every machine. Names of the
/// machine are replaced, so that pictures are the same everywhere.
pub fn baseline() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    let open = || {
        let request = AdapterRequest { baseline: true, ..AdapterRequest::default() };
        let mut gpu = Gpu::open_blocking(&request).expect("these tests need an adapter");
        let names = &mut Arc::get_mut(&mut gpu).expect("nobody else has it yet").adapter;
        names.name = "An adapter".to_owned();
        names.driver = "a driver 1.2".to_owned();
        names.backend = "vulkan".to_owned();
        names.class = gravitile::gpu::DeviceClass::Software;
        gpu
    };
    Arc::clone(GPU.get_or_init(open))
}

/// The device with all its features.
pub fn full() -> Arc<Gpu> {
    static GPU: OnceLock<Arc<Gpu>> = OnceLock::new();
    let open =
        || Gpu::open_blocking(&AdapterRequest::default()).expect("these tests need an adapter");
    Arc::clone(GPU.get_or_init(open))
}

impl World {
    /// A galaxy collision in the middle of its run on the GPU, on that tab.
    pub fn on(tab: Tab) -> Self {
        let scene = Scene::builtin("galaxy-collision").unwrap();
        let (hints, count) = (scene.run, scene.n().unwrap());
        let config = KernelConfig {
            p: 64,
            q: 1,
            r: 2,
            u: 4,
            s: 1,
            ..KernelConfig::for_device(gravitile::gpu::DeviceClass::Integrated, count, count)
        };
        let keeper = TimeKeeper::new(hints.until / 30.0);
        let mut world = Self {
            gpu: baseline(),
            input: InputRequest::named("galaxy-collision"),
            hints,
            units: scene.units.clone(),
            count,
            components: vec![
                Component::new("disk of galaxy 1", Role::Disk),
                Component::new("bulge of galaxy 1", Role::Bulge),
                Component::new("halo of galaxy 1", Role::Halo),
            ],
            settings: Settings {
                softening: hints.softening,
                dt: hints.dt,
                engine: EngineKind::Gpu,
                ..Settings::default()
            },
            dt: hints.dt,
            keeper,
            status: Status { time: 1.25, steps: 125, ready: true, ..Status::default() },
            engine: EngineKind::Gpu,
            method: None,
            engine_reason: "it is the fastest here for 16000 bodies".to_owned(),
            engine_text: format!("An adapter (vulkan), {config}"),
            adapters: Vec::new(),
            parts: Vec::new(),
            measured: None,
            only_one: None,
            config: Some(config),
            wgsl: KernelVariant::new(config, hints.softening, 1.0, false).wgsl().ok(),
            blocks: None,
            inspected: Inspected::default(),
            defaults: Integration::of(&Settings::default()),
            history: History::default(),
            moments: Vec::new(),
            is_at_end: false,
            past: (0..10)
                .map(|k| StoredState {
                    state: Arc::new(State {
                        time: 0.1 * f64::from(k),
                        steps: 0,
                        bodies: Bodies::default(),
                        acceleration: Vec::new(),
                        softening: 0.0,
                    }),
                    bookmark: (k == 4).then(Bookmark::default),
                })
                .collect(),
            times: Some(FrameTimes {
                number: 7,
                parts: vec![
                    ("steps", 0.0112),
                    ("sprites", 0.0024),
                    ("glow", 0.0008),
                    ("exposure", 0.0002),
                    ("tone map", 0.0009),
                    ("panel", 0.0006),
                ],
            }),
            recording: None,
            message: None,
            left_out: None,
            panel: Panel::new(true, tab),
            view: ViewChoice::default(),
            actions: Vec::new(),
            rates: Rates::default(),
        };
        for k in 0..40 {
            world.history.frame(0.11, &world.rates);
            world.history.report(&report(f64::from(k) * 0.05));
        }
        world
    }

    /// Draws background and panel.
    pub fn draw(ui: &mut egui::Ui, world: &mut Self) {
        // The colours of the picture and behind the panel.
        let whole = ui.ctx().content_rect();
        ui.painter().rect_filled(whole, 0.0, background(false));
        let panel = whole.with_min_x(whole.max.x - world.panel.covers(ui.ctx()).x);
        ui.painter().rect_filled(panel, 0.0, background(world.panel.light));
        world.show(ui);
    }

    fn show(&mut self, ui: &mut egui::Ui) {
        let Self { gpu, panel, view, .. } = self;
        let facts = Facts {
            input: &self.input,
            hints: &self.hints,
            units: view.units(&self.units),
            own_units: &self.units,
            count: self.count,
            components: &self.components,
            settings: &self.settings,
            dt: self.dt,
            keeper: &self.keeper,
            status: self.status,
            engine: self.engine,
            method: self.method.unwrap_or(self.engine.method()),
            engine_reason: &self.engine_reason,
            engine_text: &self.engine_text,
            shared: DeviceSharing {
                adapters: &self.adapters,
                parts: &self.parts,
                measured: self.measured.as_deref(),
                only_one: self.only_one.clone(),
            },
            gpu,
            config: self.config,
            wgsl: self.wgsl.as_deref(),
            kernel_file: None,
            rates: &self.rates,
            blocks: self.blocks.as_ref(),
            varying: None,
            inspected: &self.inspected,
            defaults: &self.defaults,
            history: &self.history,
            past: &self.past,
            moments: &self.moments,
            is_at_end: self.is_at_end,
            times: self.times.as_ref(),
            panel_secs: 0.0004,
            colour_range: Some([0.01, 2.5]),
            picture: [1280, 720],
            film_name: "film.webp",
            recording: self.recording.as_ref().map(|(path, n)| (path.as_path(), *n)),
            loading: None,
            left_out: self.left_out.as_deref(),
            message: self.message.as_ref().map(|(text, _)| text.as_str()),
            message_is_error: self.message.as_ref().is_some_and(|(_, bad)| *bad),
            compared: None,
        };
        self.actions.extend(panel.pressed(ui.ctx(), &facts));
        self.actions.extend(panel.show(ui, &facts, view));
        panel.tint(ui.ctx());
    }

    /// The panel with its default width, `height` points high, next to an empty picture.
    pub fn shown(self, height: f32) -> Harness<'static, Self> {
        let mut harness = Harness::builder()
            .with_size([FREE + PANEL, height])
            .with_context_setup(style)
            .with_render_cursor(false)
            .build_ui_state(Self::draw, self);
        harness.run();
        harness
    }
}

/// Inspection results of a small cluster: force errors, tree and walk.
pub fn seen() -> Inspected {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(3000).unwrap();
    let bodies = scene.build().unwrap();
    let view = Arc::new(TreeView::new(&bodies.position, &bodies.mass, 0.01));
    let config = TreeConfig { opening: Opening::Radius { theta: 0.7 }, ..TreeConfig::default() };
    let walk = Arc::new(view.walk(42, &config, &[]).unwrap());
    let (samples, rms, median, largest) = (256, 4.321e-4, 2.5e-4, 3.1e-3);
    Inspected {
        error: Some(ForceError { time: 1.25, steps: 125, samples, rms, median, largest }),
        tree: Some(InspectedTree { time: 1.25, view }),
        walk: Some(InspectedWalk { body: 42, config, walk }),
        about: None,
    }
}

/// Diagnostics that vary slightly with time.
pub fn report(time: f64) -> Report {
    let wave = (3.0 * time).sin();
    let radii = |component| ComponentRadii {
        component,
        centre: DVec3::ZERO,
        radii: [0.4, 1.1 + 0.2 * wave, 3.0 + 0.5 * time].map(|r| r * f64::from(component + 1)),
    };
    let diagnostics = Diagnostics {
        field: None,
        kinetic: 1.0 + 0.1 * wave,
        potential: -2.0 - 0.1 * wave + 1e-4 * time,
        momentum: DVec3::new(1e-9, 2e-9, 0.0),
        angular_momentum: DVec3::new(0.0, 0.1, 3.0),
        centre: DVec3::ZERO,
        drift: DVec3::ZERO,
        half_mass_radius: 1.0,
        components: vec![radii(0), radii(1)],
    };
    Report { time, steps: 0, softening: 0.05, diagnostics }
}

/// Performs `touch` and returns the resulting actions.
pub fn after(
    harness: &mut Harness<'static, World>,
    touch: impl FnOnce(&Harness<'static, World>),
) -> Vec<Action> {
    harness.state_mut().actions.clear();
    touch(harness);
    harness.run();
    std::mem::take(&mut harness.state_mut().actions)
}

/// Clicks on the widget with that text.
pub fn click(harness: &mut Harness<'static, World>, label: &str) -> Vec<Action> {
    // A label may have the same text.
    let is_widget =
        |node: &egui_kittest::Node<'_>| node.accesskit_node().role() != WidgetRole::Label;
    after(harness, |harness| {
        let mut found = harness.get_all_by_label(label).filter(is_widget);
        found.next().unwrap_or_else(|| panic!("nothing to click: {label}")).click();
    })
}

/// Gives the slider of that name a value.
pub fn slide(harness: &mut Harness<'static, World>, label: &str, value: f64) -> Vec<Action> {
    after(harness, |harness| {
        harness.get_by_role_and_label(WidgetRole::Slider, label).set_value_accesskit(value);
    })
}

/// Descriptions of the widgets that extend beyond the window's edges.
pub fn cut_off(harness: &Harness<'static, World>) -> Vec<String> {
    let right = FREE + PANEL;
    let reaches = |node: &egui_kittest::Node<'_>| {
        if node.accesskit_node().bounding_box().is_none() {
            return false;
        }
        let rect = node.rect();
        rect.is_positive() && (rect.max.x > right + 0.5 || rect.min.x < 0.0)
    };
    let nodes = harness.get_all(egui_kittest::kittest::By::new().recursive(true));
    nodes
        .filter(reaches)
        .map(|node| {
            let node_text = node.accesskit_node();
            format!("{:?} {:?} {:?}", node_text.role(), node_text.label(), node.rect())
        })
        .collect()
}

/// The single command in `actions`.
pub fn command(actions: Vec<Action>) -> Command {
    match <[Action; 1]>::try_from(actions) {
        Ok([Action::Live(command)]) => command,
        other => panic!("one command was expected: {other:?}"),
    }
}
