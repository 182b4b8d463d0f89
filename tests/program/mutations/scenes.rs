//! Mutated scene files.

use std::path::Path;

use gravitile::scene::Scene;

use super::mutator::{Random, mutant};
use super::watch::{Mutant, check_line, try_all};

/// The built-in scene files, and one with every key.
fn texts() -> Vec<Vec<u8>> {
    let built_in =
        Scene::names().map(|name| Scene::builtin_text(name).unwrap().as_bytes().to_vec());
    let by_hand = r#"title = "by hand"
about = """
Two parts."""
seed = 7
[[part]]
name = "one"
generator = "plummer"
parameters = { n = 20 }
length_scale = 2.0
spin = 10
tilt = -20.5
node = 3
stars = { masses = "kroupa", least_mass = 0.1, orbits = "log-uniform", binaries = 0.5, least_axis = 1e-5, eccentricity = 0.3 }
[[part]]
file = "other.csv"
seed = 3
mass_scale = 1e0
[encounter]
eccentricity = 1.1
pericentre = 0.5
separation = 10.0
[run]
softening = 0.01
dt = 0.001
until = 1.0
integrator = "hermite4"
eta = 0.02
eta6 = 0.5
dt_max = 0.125
precision = "double"
[view]
extent = 3.0
inclination = 60
azimuth = 1
orbit_speed = 0.5
colouring = "speed"
[units]
length = "3.5 kpc"
mass = "1e10 Msun"
time = "30.87 Myr"
"#;
    let orbits = r#"[[part]]
name = "A"
mass = 1.0
[[part]]
name = "B"
mass = 0.5
orbit = { about = "A", semi_major_axis = 2.0, eccentricity = 0.1, inclination = 5, node = 6, argument = 7, mean_anomaly = 8 }
[[part]]
mass = 1e-3
orbit = { about = ["A", "B"], pericentre = 30.0, eccentricity = 1.5, true_anomaly = -20 }
[[part]]
generator = "king"
parameters = { n = 20, w0 = 5 }
stars = { masses = "salpeter", greatest_mass = 20, orbits = "duquennoy-mayor", mean_log_period = 5, sigma_log_period = 2, greatest_period = 1e9, least_ratio = 0.5, eccentricity = "circular" }
orbit = { about = 1e3, period = 1e4 }
[[field]]
potential = "point"
mass = 1e3
[units]
length = "pc"
mass = "Msun"
time = "14.9096 Myr"
"#;
    built_in.chain([by_hand, orbits].map(|text| text.as_bytes().to_vec())).collect()
}

/// Reads a scene file and optionally builds its bodies, few if possible. True if it is accepted.
fn read(bytes: &[u8], builds: bool) -> Result<bool, String> {
    // Bytes that are not UTF-8 are covered by `programs`.
    let text = String::from_utf8_lossy(bytes);
    let rejected =
        |error: gravitile::error::Error| check_line(&format!("gravitile: {error}")).map(|()| false);
    let mut scene = match Scene::from_toml(&text, Path::new("some.toml")) {
        Ok(scene) => scene,
        Err(error) => return rejected(error),
    };
    for (name, parameter, value) in scene.parameters() {
        parameter.check(value).map_err(|error| format!("was read, but {name}: {error}"))?;
    }
    if !(scene.run.dt > 0.0 && scene.run.until > 0.0 && scene.run.softening >= 0.0) {
        return Err(format!("was read with {:?}", scene.run));
    }
    if !builds {
        return Ok(true);
    }
    let few = scene.n().unwrap_or(0).clamp(2, 60);
    if scene.n() != Some(few) && scene.set_n(few).is_err() {
        return Ok(true);
    }
    match scene
        .build_with(&|path| Err(gravitile::error::Error::file(path, "there is no such file")))
    {
        Ok(bodies) => {
            bodies.validate().map_err(|error| format!("made what is not valid: {error}"))?
        }
        Err(error) => return rejected(error),
    }
    Ok(true)
}

#[test]
fn scene_files() {
    let texts = texts();
    try_all("scenes", |index| {
        let mut random = Random::new("scenes", index);
        let (original, other) = (random.of(&texts).clone(), random.of(&texts).clone());
        let bytes = mutant(&original, &other, &mut random);
        // Building galaxies takes a hundred times as long as reading their files.
        let builds = random.below(10) == 0;
        Mutant { bytes, trial: Box::new(move |bytes| read(bytes, builds)) }
    });
}

#[test]
fn valid_scene_files_are_accepted() {
    for text in texts() {
        assert_eq!(read(&text, false), Ok(true), "{}", String::from_utf8_lossy(&text));
    }
}
