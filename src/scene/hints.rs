//! A scene's suggestions for running, viewing and labelling it.

use crate::settings::BlockRequest;

/// The settings that a run of the scene uses unless its user overrides them. N-body units, G = 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunHints {
    /// Plummer softening length eps >= 0.
    pub softening: f64,
    /// Time step > 0 of the leapfrog.
    pub dt: f64,
    /// Time > 0 at which the run ends.
    pub until: f64,
}

impl Default for RunHints {
    fn default() -> Self {
        Self { softening: 0.05, dt: 0.01, until: 10.0 }
    }
}

/// Which integrator suits the scene, and how accurate it should be. The program chooses what is
/// missing; names are checked against the registries where they are used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntegratorHints {
    /// Name of the integrator.
    pub integrator: Option<String>,
    /// Its individual steps; numbers are > 0.
    pub blocks: BlockRequest,
}

/// How to view the scene.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewHints {
    /// Half the height of a 16:9 picture in length units, > 0. Wider pictures show the same height;
    /// narrower ones show the same width.
    pub extent: f64,
    /// Angle between the line of sight and the z axis, degrees: 0 looks down on the xy plane,
    /// 90 along it.
    pub inclination: f64,
    /// Angle of the camera about the z axis from the x axis, degrees.
    pub azimuth: f64,
    /// How fast the camera orbits the z axis, degrees per second of film.
    pub orbit_speed: f64,
    /// What decides a body's colour.
    pub colouring: Colouring,
    /// Strength of smoothing and glow, 0 to 1; `None` for the default.
    pub glow: Option<f64>,
    /// How the camera moves in films.
    pub camera: CameraHint,
    /// Camera keyframes in ascending order of time; if there are none, the fields above hold.
    pub keyframes: Vec<Keyframe>,
    /// Times worth stopping at, in ascending order.
    pub moments: Vec<Moment>,
}

impl Default for ViewHints {
    fn default() -> Self {
        Self {
            extent: 2.0,
            inclination: 60.0,
            azimuth: 0.0,
            orbit_speed: 0.0,
            colouring: Colouring::default(),
            glow: None,
            camera: CameraHint::default(),
            keyframes: Vec::new(),
            moments: Vec::new(),
        }
    }
}

/// How the camera moves in films; lower case in scene files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CameraHint {
    /// Stays where it was aimed, apart from its orbit.
    #[default]
    Still,
    /// Frames the bodies' light as closely as possible.
    Directed,
}

/// The camera at one simulation time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyframe {
    /// Simulation time.
    pub time: f64,
    /// Half the height of a 16:9 picture in length units, > 0, as in [`ViewHints`].
    pub extent: f64,
    /// Angle between the line of sight and the z axis, degrees.
    pub inclination: f64,
    /// Angle of the camera about the z axis from the x axis, degrees. Not reduced to one turn:
    /// between keyframes the camera passes through all angles between.
    pub azimuth: f64,
    /// The point in the middle of the picture.
    pub target: [f64; 3],
}

/// A time of the simulation that is worth a picture, and the camera for it: the one at which a pair
/// of galaxies looks as it does from Earth, say.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// What there is to see, in a few words.
    pub title: String,
    /// Its time, and the camera.
    pub camera: Keyframe,
}

impl std::fmt::Display for Keyframe {
    /// Formats it as in the `[view]` of a scene file.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [x, y, z] = self.target;
        writeln!(f, "[[view.keyframe]]")?;
        writeln!(f, "time = {:?}", self.time)?;
        writeln!(f, "extent = {:?}", self.extent)?;
        writeln!(f, "inclination = {:?}", self.inclination)?;
        writeln!(f, "azimuth = {:?}", self.azimuth)?;
        writeln!(f, "target = [{x:?}, {y:?}, {z:?}]")
    }
}

/// What decides a body's colour; lower case in scene files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colouring {
    /// The component it belongs to.
    #[default]
    Component,
    /// Its speed.
    Speed,
    /// Nothing: all bodies have the same colour.
    Plain,
}
