//! What a scene suggests to those who run, look at and label it.

use crate::units::{Measure, Units};

/// What a run of the scene should use unless its user says otherwise. N-body units, G = 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunHints {
    /// Plummer softening length eps >= 0.
    pub softening: f64,
    /// Time step > 0 of the leapfrog.
    pub dt: f64,
    /// Time > 0 at which the run is over.
    pub until: f64,
}

impl Default for RunHints {
    fn default() -> Self {
        Self { softening: 0.05, dt: 0.01, until: 10.0 }
    }
}

/// Which integrator suits the scene, and how accurate it is to be. What is missing, the program chooses;
/// names are compared with the registries where they are used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntegratorHints {
    /// Name of the integrator.
    pub integrator: Option<String>,
    /// Aarseth's accuracy parameter > 0.
    pub eta: Option<f64>,
    /// That of the sixth-order criterion, > 0.
    pub eta6: Option<f64>,
    /// The longest individual step > 0, a power of two.
    pub dt_max: Option<f64>,
    /// Name of the tier of precision.
    pub precision: Option<String>,
}

/// How the scene looks best.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewHints {
    /// Half the height of a picture of 16 by 9, in length units, > 0. Wider ones are as high; narrower ones show as much to
    /// the sides.
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
    /// Strength of smoothing and glow, 0 to 1; what is usual where the scene says nothing.
    pub glow: Option<f64>,
    /// How the camera moves in films.
    pub camera: CameraHint,
    /// Where it is at which times, ascending; may be none, which leaves it to the rest.
    pub keyframes: Vec<Keyframe>,
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
        }
    }
}

/// How the camera moves in films; in scene files in lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CameraHint {
    /// As it was aimed, but for its orbit.
    #[default]
    Still,
    /// Keeps the bodies' light in the picture, no larger than needed.
    Directed,
}

/// Where the camera is at a time of the simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyframe {
    /// Simulation time.
    pub time: f64,
    /// Half the height of a picture of 16 by 9, in length units, > 0, as that of the whole [`ViewHints`]: pictures of every
    /// other shape show as much and more.
    pub extent: f64,
    /// Angle between the line of sight and the z axis, degrees.
    pub inclination: f64,
    /// Angle of the camera about the z axis from the x axis, degrees; from one keyframe to the next it goes through all between.
    pub azimuth: f64,
    /// The point in the middle of the picture.
    pub target: [f64; 3],
}

impl std::fmt::Display for Keyframe {
    /// As it stands in the `[view]` of a scene file.
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

/// What decides a body's colour; in scene files in lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colouring {
    /// The component that it belongs to.
    #[default]
    Component,
    /// Its speed.
    Speed,
    /// Nothing: all bodies have the same colour.
    Plain,
}

/// What the units of a scene are worth, for display. Inside, G = 1 whatever they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SceneUnits {
    /// Length.
    pub length: Measure,
    /// Mass.
    pub mass: Measure,
    /// Time.
    pub time: Measure,
}

impl From<&SceneUnits> for Units {
    /// The names with their factors, `3.5 kpc` say; G = 1.
    fn from(units: &SceneUnits) -> Self {
        Units {
            length: units.length.to_string(),
            mass: units.mass.to_string(),
            time: units.time.to_string(),
            gravitational_constant: 1.0,
        }
    }
}
