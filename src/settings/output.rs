//! What to do with the bodies: a run in a folder, a film, a window.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    Comparison, Coordinates, EngineRequest, FileCount, InputRequest, LookRequest, PictureSize,
    StepRequest, ThrowRequest,
};

/// A simulation recorded in a folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args))]
pub struct RunRequest {
    /// The bodies.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub input: InputRequest,
    /// Softening, step, integrator.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub steps: StepRequest,
    /// What is thrown in at the start.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub thrown: ThrowRequest,
    /// Time of the last snapshot [default: chosen to suit the bodies]
    #[cfg_attr(feature = "options", arg(long, value_name = "T", help_heading = "Run"))]
    pub until: Option<f64>,
    /// Time from one snapshot to the next; steps are shortened to fit it and the run [default: a
    /// tenth of the run]
    #[cfg_attr(feature = "options", arg(long, value_name = "DT", help_heading = "Run"))]
    pub every: Option<f64>,
    /// Folder to write to; created if it does not exist
    #[cfg_attr(feature = "options", arg(long, value_name = "DIR", help_heading = "Run"))]
    pub out: PathBuf,
    /// Number of files of each snapshot, or ranks for one per rank of MPI; an index with the
    /// snapshot's name lists them
    #[cfg_attr(feature = "options", arg(long, value_name = "COUNT|ranks", default_value_t = FileCount::ONE, help_heading = "Run"))]
    pub files: FileCount,
    /// Engine and kernel.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub engine: EngineRequest,
}

/// A simulation rendered to a film without a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args))]
pub struct FilmRequest {
    /// The bodies.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub input: InputRequest,
    /// Softening, step, integrator.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub steps: StepRequest,
    /// What is thrown in at the start.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub thrown: ThrowRequest,
    /// File or folder to write; its name sets the format: film.webp, film.mp4 (needs ffmpeg),
    /// film.apng, picture.png, frames/
    #[cfg_attr(feature = "options", arg(long, value_name = "FILM", default_value = FILM, help_heading = "Film"))]
    pub out: PathBuf,
    /// Replace the output if it exists
    #[cfg_attr(feature = "options", arg(long, help_heading = "Film"))]
    pub force: bool,
    /// Number of pictures [default: 300, or 1 for picture.png]
    #[cfg_attr(feature = "options", arg(long, value_name = "F", help_heading = "Film"))]
    pub frames: Option<u64>,
    /// Pictures per second
    #[cfg_attr(feature = "options", arg(long, default_value_t = FPS, help_heading = "Film"))]
    pub fps: u32,
    /// Picture size in pixels
    #[cfg_attr(feature = "options", arg(long, default_value_t = PictureSize::HD, value_name = "WxH", help_heading = "Film"))]
    pub size: PictureSize,
    /// Time of the last picture [default: chosen to suit the bodies; a single picture shows their
    /// first state]
    #[cfg_attr(feature = "options", arg(long, value_name = "T", help_heading = "Film"))]
    pub until: Option<f64>,
    /// Draw a moment that the scene marks, by its number from 1 on: its time, and its camera.
    /// 'gravitile scenes NAME' lists them
    #[cfg_attr(feature = "options", arg(long, value_name = "NUMBER", help_heading = "Film", conflicts_with_all = ["until", "path", "camera"]))]
    pub moment: Option<usize>,
    /// What to write on the pictures: none, all, or some of title,time,scale,colours
    #[cfg_attr(feature = "options", arg(long, value_name = "WHAT", default_value = NO_CAPTIONS, help_heading = "Film"))]
    pub captions: String,
    /// How the camera moves: still (except for --orbit and --follow) or directed (keeps the light
    /// in the picture)
    #[cfg_attr(feature = "options", arg(long, value_name = "HOW", help_heading = "Film"))]
    pub camera: Option<String>,
    /// File of keyframes for the camera to follow: time, extent (half the height of a 16:9
    /// picture), inclination, azimuth, target
    #[cfg_attr(feature = "options", arg(long, value_name = "FILE", help_heading = "Film"))]
    pub path: Option<PathBuf>,
    /// Camera and looks.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub look: LookRequest,
    /// Engine and kernel.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub engine: EngineRequest,
}

const FILM: &str = "film.webp";
const FPS: u32 = 30;
const NO_CAPTIONS: &str = "none";

impl Default for FilmRequest {
    fn default() -> Self {
        Self {
            input: InputRequest::default(),
            steps: StepRequest::default(),
            thrown: ThrowRequest::default(),
            out: FILM.into(),
            force: false,
            frames: None,
            fps: FPS,
            size: PictureSize::HD,
            until: None,
            moment: None,
            captions: NO_CAPTIONS.to_owned(),
            camera: None,
            path: None,
            look: LookRequest::default(),
            engine: EngineRequest::default(),
        }
    }
}

/// A simulation to watch in a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args))]
pub struct ViewRequest {
    /// The bodies.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub input: InputRequest,
    /// Softening, step, integrator.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub steps: StepRequest,
    /// What is thrown in during the run.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub thrown: ThrowRequest,
    /// Camera and looks.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub look: LookRequest,
    /// Point in the middle of the picture, in the bodies' units
    #[cfg_attr(
        feature = "options",
        arg(
            long,
            value_name = "X,Y,Z",
            allow_hyphen_values = true,
            help_heading = "Camera and looks (options left out are chosen to suit the bodies)"
        )
    )]
    pub target: Option<Coordinates>,
    /// Whether the scene is only the default: newcomers then see the welcome sheet first.
    #[cfg_attr(feature = "options", arg(skip))]
    #[serde(skip)]
    pub is_default: bool,
    /// Start paused
    #[cfg_attr(feature = "options", arg(long, help_heading = "Window"))]
    pub paused: bool,
    /// Take the run to this time first, as fast as possible, in the bodies' units
    #[cfg_attr(
        feature = "options",
        arg(short, value_name = "TIME", allow_negative_numbers = true, help_heading = "Window")
    )]
    pub t: Option<f64>,
    /// Show a second run of the same bodies next to the first, with another softening=LENGTH (in
    /// the bodies' units), method=NAME or integrator=NAME
    #[cfg_attr(
        feature = "options",
        arg(long, value_name = "SETTING=VALUE", help_heading = "Window")
    )]
    pub compare: Option<Comparison>,
    /// Show the picture alone, without panel and bar, as inside another page
    #[cfg_attr(feature = "options", arg(long, help_heading = "Window"))]
    pub embed: bool,
    /// For work on the shaders: read them from this copy of shaders/, and again whenever a file
    /// changes
    #[cfg_attr(feature = "options", arg(long, value_name = "DIR", help_heading = "Window"))]
    pub shaders: Option<PathBuf>,
    /// Engine and kernel.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub engine: EngineRequest,
}
