//! What a user can request from the window.

use std::path::PathBuf;

use gravitile::field::Field;
use gravitile::forces::tree::TreeConfig;
use gravitile::forces::{Method, Precision};
use gravitile::integrate::Integrator;
use gravitile::integrate::blocks::BlockSettings;
use gravitile::live::Command;
use gravitile::render::Preset;
use gravitile::scene::Orbit;
use gravitile::settings::{Comparison, DeviceCount, InputRequest, Throw};
use gravitile::sim::{EngineKind, Settings};

/// How the bodies are integrated.
#[derive(Clone, Debug, PartialEq)]
pub struct Integration {
    /// The integrator, one of [`gravitile::integrate::ALL`].
    pub integrator: &'static Integrator,
    /// How individual steps are chosen, if it has them.
    pub blocks: BlockSettings,
    /// How precisely forces are computed; `None` for the default.
    pub precision: Option<Precision>,
}

impl Integration {
    /// The integration that these settings describe.
    pub fn of(settings: &Settings) -> Self {
        let Settings { integrator, blocks, precision, .. } = settings;
        Self { integrator, blocks: *blocks, precision: *precision }
    }
}

/// A request from the panel, a key or the mouse.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A command for the simulation.
    Live(Command),
    /// Another engine, keeping the current state.
    Engine(EngineKind),
    /// The bodies on another number of devices, keeping the current state.
    Devices(DeviceCount),
    /// Another method of the engine, keeping the current state.
    Method(Method),
    /// Another opening rule or other multipoles of the tree, keeping the current state.
    Tree(TreeConfig),
    /// Another integrator or accuracy, keeping the current state.
    Integration(Integration),
    /// Other numbers of the external field, keeping the current state.
    Field(Field),
    /// A second run next to this one with another setting, or none.
    Compare(Option<Comparison>),
    /// Other bodies.
    Load(InputRequest),
    /// Restarts the present bodies from their beginning.
    Restart {
        /// With the time step and softening that suit them; else with the current ones.
        reset_numbers: bool,
    },
    /// Goes to a stored state, by its index in [`super::Facts::past`].
    GoTo(usize),
    /// Goes to a moment that the scene marks, by its index in [`super::Facts::moments`]: to its
    /// time, back or as fast as possible forward, and to its camera.
    GoToMoment(usize),
    /// Bookmarks the current state.
    Bookmark,
    /// Names a bookmark, by its index in [`super::Facts::past`].
    NameBookmark(usize, String),
    /// Removes a bookmark, by its index there.
    DropBookmark(usize),
    /// Switches between turning the picture with a drag and throwing something in.
    ThrowMode,
    /// Throws something into the run now; its own time is not used.
    Throw(Throw),
    /// Undoes the last change.
    Undo,
    /// Goes back to the bodies that an undo left.
    Redo,
    /// Starts an encounter of the two snapshots that were offered.
    Encounter {
        /// The orbit of their centres.
        orbit: Orbit,
        /// The tilt of the second one's xy plane, in degrees.
        tilt_degrees: f64,
    },
    /// Opens the file dialog.
    OpenDialog,
    /// Saves a snapshot of the current state.
    SaveSnapshot(PathBuf),
    /// Saves a picture without the panel: path, width, height.
    Screenshot(PathBuf, u32, u32),
    /// Starts recording a film, of this width and height in pixels or as large as the free part of
    /// the window.
    Record(PathBuf, Option<[u32; 2]>),
    /// Ends the film.
    StopRecording,
    /// Copies a command line that reproduces this view.
    CopyCommandLine,
    /// Copies a link that reproduces this view in a browser.
    CopyLink,
    /// Copies text to the clipboard.
    CopyText(String),
    /// Begins to measure the adapter's score; the simulation waits meanwhile.
    MeasureScore,
    /// Copies the current kernel to a file and runs the copy.
    EditKernel,
    /// Saves an edited text of the copy, and runs it if it is right.
    SaveKernel(String),
    /// Compares the current kernel with f64; the simulation waits meanwhile.
    CheckKernel,
    /// Finds the fastest kernel for this many bodies and remembers it; the simulation waits
    /// meanwhile.
    TuneKernel,
    /// Stops any of these three.
    StopMeasuring,
    /// Moves the camera to a preset place.
    Camera(Viewpoint),
    /// Switches the directed camera on or off.
    Direct,
    /// Adds the current place and time to the camera's path.
    Keyframe,
    /// Saves the scene with the camera's path.
    SavePath(PathBuf),
    /// Folds or unfolds the panel.
    FoldPanel,
    /// Switches between the dark and the light theme.
    Light,
    /// Shows or hides the sheet of keys.
    Help,
    /// Shows the sheet of scene pictures.
    Welcome,
    /// Enters or leaves full screen.
    Fullscreen,
    /// Selects the next colouring.
    NextColouring,
    /// Multiplies the size of the sprites by this.
    SpriteSize(f64),
    /// Brightens the exposure by this many stops.
    Stops(f64),
    /// Shows or hides dark matter.
    Halo,
    /// Cancels the loading in progress.
    CancelLoading,
    /// Abandons bodies whose first forces take too long.
    LeaveForces,
    /// Dismisses the message.
    DismissMessage,
    /// Closes what is open, leaves full screen, or asks whether to close the window.
    Escape,
    /// Asks whether to close the window.
    AskToQuit,
    /// Closes the window.
    Quit,
}

/// Places for the camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewpoint {
    /// Where the camera was at the scene's start.
    Start,
    /// All bodies in the picture, in the current direction.
    Fit,
    /// From a side, at the current distance.
    From(Preset),
    /// The place with that index on the path.
    Keyframe(usize),
    /// That of the moment with that index among those that the scene marks.
    Moment(usize),
}

impl Viewpoint {
    /// Places with a button: its label and hint.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Start, "start", "Where the camera began (Home)"),
        (Self::Fit, "fit", "Fit everything visible in view (f)"),
        (Self::From(Preset::Top), "top", "Down the z axis"),
        (Self::From(Preset::Front), "front", "Along the y axis"),
        (Self::From(Preset::Side), "side", "Along the x axis"),
    ];
}
