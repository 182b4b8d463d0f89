//! What the panel shows. It reads this and never changes it.

use std::path::Path;
use std::sync::Arc;

use egui::TextureHandle;

use super::{History, Integration};
use gravitile::bodies::Component;
use gravitile::forces::Method;
use gravitile::forces::direct::gpu::KernelConfig;
use gravitile::gpu::{FrameTimes, Gpu};
use gravitile::live::{BlockFacts, Inspected, Rates, Status, TimeKeeper};
use gravitile::scene::{Moment, RunHints};
use gravitile::settings::{Comparison, InputRequest};
use gravitile::sim::{DevicePart, EngineKind, Settings, State, VaryingStep};
use gravitile::units::Units;

/// Everything that a tab may show.
pub struct Facts<'a> {
    /// What is being simulated.
    pub input: &'a InputRequest,
    /// Softening and step that suit the bodies.
    pub hints: &'a RunHints,
    /// The input's default integrator and accuracy.
    pub defaults: &'a Integration,
    /// Units in which numbers are shown; without names if they are shown as in files.
    pub units: &'a Units,
    /// The bodies' own units, whether numbers are shown in them or not.
    pub own_units: &'a Units,
    /// Number of bodies.
    pub count: usize,
    /// Groups of bodies.
    pub components: &'a [Component],
    /// Softening, step (positive), kernel and so on.
    pub settings: &'a Settings,
    /// The time step with its direction.
    pub dt: f64,
    /// How time passes.
    pub keeper: &'a TimeKeeper,
    /// The progress of the simulation.
    pub status: Status,
    /// The engine that runs; never `Auto`.
    pub engine: EngineKind,
    /// The method by which it computes forces.
    pub method: Method,
    /// Why this engine was chosen.
    pub engine_reason: &'a str,
    /// What it computes on, and how.
    pub engine_text: &'a str,
    /// Devices that share the bodies, or could share them.
    pub shared: DeviceSharing<'a>,
    /// The device that draws and may compute.
    pub gpu: &'a Gpu,
    /// The kernel's shape, if the adapter can run the requested one.
    pub config: Option<KernelConfig>,
    /// The text of the kernel that runs, if the engine is the GPU.
    pub wgsl: Option<&'a str>,
    /// The file of the kernel that runs, if it is the user's own.
    pub kernel_file: Option<&'a Path>,
    /// How fast everything is.
    pub rates: &'a Rates,
    /// The individual steps, if the integrator has them and they are shown.
    pub blocks: Option<&'a BlockFacts>,
    /// The step of all bodies, if it varies and is shown.
    pub varying: Option<&'a VaryingStep>,
    /// Results of inspecting the forces: their error, the tree, what acts on a body.
    pub inspected: &'a Inspected,
    /// Rates and diagnostics so far.
    pub history: &'a History,
    /// Stored states, by time.
    pub past: &'a [StoredState],
    /// Times that the scene marks, in ascending order.
    pub moments: &'a [Moment],
    /// Whether the run has stopped at the scene's end.
    pub is_at_end: bool,
    /// Times of the parts of a frame on the device, if it has timestamps.
    pub times: Option<&'a FrameTimes>,
    /// Processor time that the panel takes per frame, in seconds.
    pub panel_secs: f64,
    /// Least and largest value of the colour scale, if it has numbers.
    pub colour_range: Option<[f64; 2]>,
    /// Size of the picture in pixels.
    pub picture: [u32; 2],
    /// The default name of a film, whose extension is that of a format that can be written here.
    pub film_name: &'a str,
    /// The file a film is being recorded to, and its number of pictures so far.
    pub recording: Option<(&'a Path, u64)>,
    /// What is being loaded, if anything.
    pub loading: Option<&'a str>,
    /// Which effects the window leaves out because the adapter is too slow for them, in a sentence.
    pub left_out: Option<&'a str>,
    /// A message to the user.
    pub message: Option<&'a str>,
    /// Whether the message is an error.
    pub message_is_error: bool,
    /// The second run next to the first, if there is one.
    pub compared: Option<ComparedRuns<'a>>,
}

impl Facts<'_> {
    /// Whether the all-pairs kernel of the graphics adapter computes the forces.
    pub fn runs_all_pairs(&self) -> bool {
        (self.engine, self.method) == (EngineKind::Gpu, Method::Direct)
    }

    /// How much of the first forces is done, in per cent. With a tree the total is not known
    /// beforehand.
    pub fn part_of_first_forces(&self) -> Option<f64> {
        let (all, so_far) = (self.count as f64 * self.count as f64, self.status.first_interactions);
        let is_known = self.runs_all_pairs() && so_far > 0;
        is_known.then(|| (100.0 * so_far as f64 / all).min(99.0))
    }

    /// The time of the run, for the line at the bottom.
    pub fn time_text(&self) -> String {
        format!("t = {}", super::theme::quantity(self.status.time, &self.units.time))
    }

    /// Whether the run is paused or how fast it is, for the line at the bottom.
    pub fn activity_text(&self) -> String {
        if !self.status.ready {
            let part = self.part_of_first_forces();
            part.map_or("first forces".to_owned(), |part| format!("first forces: {part:.0} %"))
        } else if self.keeper.paused {
            "paused".to_owned()
        } else {
            let steps = super::theme::rate(self.rates.steps_per_sec());
            format!("{steps} steps/s{}", if self.dt < 0.0 { " backwards" } else { "" })
        }
    }
}

/// Two runs side by side.
#[derive(Clone, Debug)]
pub struct ComparedRuns<'a> {
    /// The setting in which they differ.
    pub differs: &'a Comparison,
    /// What each has for it.
    pub names: [String; 2],
    /// The latest energy errors since they parted.
    pub energy_errors: Option<[f64; 2]>,
    /// Diagnostics since then.
    pub histories: &'a [History; 2],
}

/// Devices that share the bodies, or could share them.
#[derive(Clone, Debug, Default)]
pub struct DeviceSharing<'a> {
    /// Names of the devices that could share them, the window's own first. With only one, nothing
    /// is shown.
    pub adapters: &'a [String],
    /// What each device that takes part does.
    pub parts: &'a [DevicePart],
    /// Whether several are faster for these bodies, if measured.
    pub measured: Option<&'a str>,
    /// Why only one can compute, if so; shown after "one device".
    pub only_one: Option<String>,
}

/// A stored state of the run, and its bookmark if it has one.
#[derive(Clone)]
pub struct StoredState {
    /// The state.
    pub state: Arc<State>,
    /// Its bookmark.
    pub bookmark: Option<Bookmark>,
}

/// A bookmark of a state.
#[derive(Clone, Default)]
pub struct Bookmark {
    /// Its name; may be empty.
    pub name: String,
    /// The picture, once it is drawn.
    pub picture: Option<TextureHandle>,
}

impl Bookmark {
    /// Size of a picture in pixels.
    pub const PICTURE: [u32; 2] = [192, 108];

    /// The name, or what it is.
    pub fn title(&self) -> &str {
        if self.name.is_empty() { "bookmark" } else { &self.name }
    }
}
