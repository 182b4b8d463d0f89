//! What a user can want of the window.

use std::path::PathBuf;

use super::{Input, Place};
use crate::forces::tree::TreeConfig;
use crate::forces::{Method, Precision};
use crate::integrate::Integrator;
use crate::integrate::blocks::BlockSettings;
use crate::live::Command;
use crate::scene::Orbit;
use crate::settings::DeviceCount;
use crate::sim::{EngineKind, Settings};

/// How time is to go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Integration {
    /// The integrator, one of [`crate::integrate::ALL`].
    pub integrator: &'static Integrator,
    /// How individual steps are chosen, if it has them.
    pub blocks: BlockSettings,
    /// How precisely forces are computed; `None` for what is usual.
    pub precision: Option<Precision>,
}

impl Integration {
    /// How time goes on with these settings.
    pub fn of(settings: &Settings) -> Self {
        let Settings { integrator, blocks, precision, .. } = settings;
        Self { integrator, blocks: *blocks, precision: *precision }
    }
}

/// What the panel, a key or the mouse asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// For the simulation.
    Live(Command),
    /// Another engine, with the state as it is.
    Engine(EngineKind),
    /// The bodies on another number of devices, with the state as it is.
    Devices(DeviceCount),
    /// Another method of the engine, with the state as it is.
    Method(Method),
    /// Another opening rule or other multipoles of the tree, with the state as it is.
    Tree(TreeConfig),
    /// Another integrator or accuracy, with the state as it is.
    Integration(Integration),
    /// Other bodies.
    Load(Input),
    /// Starts the present bodies again from their beginning.
    Restart {
        /// With the time step and softening that suit them; else with those of now.
        anew: bool,
    },
    /// Goes back to a kept state, by its place in [`super::Facts::past`].
    GoTo(usize),
    /// Keeps the state of now.
    Bookmark,
    /// Takes back what was done last.
    Undo,
    /// Goes back to the bodies that were left by taking back.
    Redo,
    /// The two snapshots that were offered meet.
    Encounter {
        /// Of their centres.
        orbit: Orbit,
        /// Of the second one's xy plane, in degrees.
        tilt_degrees: f64,
    },
    /// A file dialog for opening.
    OpenDialog,
    /// A snapshot of the state as it is.
    SaveSnapshot(PathBuf),
    /// A picture without the panel: path, width, height.
    Screenshot(PathBuf, u32, u32),
    /// Begins a film, of width and height in pixels or as large as the part of the window that is free.
    Record(PathBuf, Option<[u32; 2]>),
    /// Ends it.
    StopRecording,
    /// The command line that shows this again, to the clipboard.
    CopyCommandLine,
    /// The link that shows this again in a browser, to the clipboard.
    CopyLink,
    /// Text to the clipboard.
    CopyText(String),
    /// Begins to measure the adapter's score; the simulation rests meanwhile.
    MeasureScore,
    /// Compares the kernel of now with f64; the simulation rests meanwhile.
    CheckKernel,
    /// Finds the fastest kernel for so many bodies and remembers it; the simulation rests meanwhile.
    TuneKernel,
    /// Breaks one of these off.
    StopMeasuring,
    /// The camera to a place that suits.
    Camera(Place),
    /// The camera directs, or rests where it is.
    Direct,
    /// The camera's path goes through the place of now at the time of now.
    Keyframe,
    /// Saves the scene with the camera's path.
    SavePath(PathBuf),
    /// Shows the picture alone, or with the panel.
    FoldPanel,
    /// The sheet of keys.
    Help,
    /// A few scenes as pictures.
    Welcome,
    /// Leaves fullscreen or goes there.
    Fullscreen,
    /// The next of the colourings.
    NextColouring,
    /// Sprites so many times larger.
    SpriteSize(f64),
    /// The exposure brighter by so many stops.
    Stops(f64),
    /// Dark matter to be seen or not.
    Halo,
    /// What is being made is not wanted any more.
    CancelLoading,
    /// Leaves bodies whose first forces take long.
    LeaveForces,
    /// The message has been read.
    DismissMessage,
    /// Closes what is open, leaves the whole screen, or asks whether the window is to be closed.
    Escape,
    /// Asks whether the window is to be closed.
    AskToQuit,
    /// Closes the window.
    Quit,
}
