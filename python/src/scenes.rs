//! Scenes.

use std::path::PathBuf;

use gravitile::error::Result;
use gravitile::memory;
use gravitile::scene::{IntegratorHints, Scene};
use gravitile::snapshot::{self, Snapshot};
use gravitile::units::Units;
use pyo3::prelude::*;

use crate::arrays::check_room;
use crate::attend::attend;
use crate::errors::raised;
use crate::fields::{Taken, taken};

/// Names, titles and descriptions of the scenes that come with the package.
#[pyfunction]
pub fn scene_names() -> PyResult<Vec<(&'static str, String, String)>> {
    let row = |name| -> Result<_> {
        let scene = Scene::builtin(name)?;
        Ok((name, scene.title, scene.about))
    };
    Scene::names().map(row).collect::<Result<_>>().map_err(raised)
}

/// A scene with its bodies.
#[derive(IntoPyObject)]
pub struct Made<'py> {
    name: String,
    title: String,
    about: String,
    softening: f64,
    dt: f64,
    until: f64,
    field: Vec<String>,
    integrator: Option<String>,
    eta: Option<f64>,
    eta6: Option<f64>,
    dt_max: Option<f64>,
    precision: Option<String>,
    parameters: Vec<(String, f64)>,
    bodies: Taken<'py>,
}

/// Makes a scene: by name, or from the text of a TOML file and its path.
#[pyfunction]
pub fn scene<'py>(
    py: Python<'py>,
    name: &str,
    toml: Option<(String, PathBuf)>,
    n: Option<usize>,
    seed: Option<u64>,
    parameters: Vec<(String, f64)>,
) -> PyResult<Made<'py>> {
    let made = || -> Result<Scene> {
        let mut scene = match &toml {
            Some((text, path)) => Scene::from_toml(text, path)?,
            None => Scene::builtin(name)?,
        };
        scene.seed = seed.unwrap_or(scene.seed);
        parameters.iter().try_for_each(|(name, value)| scene.set(name, *value))?;
        n.map_or(Ok(()), |n| scene.set_n(n))?;
        Ok(scene)
    };
    let scene = made().map_err(raised)?;
    scene.n().map_or(Ok(()), |n| check_room(n, memory::BODIES))?;
    let source = scene.clone();
    let build = move || source.build_with(&|path| Ok(snapshot::read(path)?.bodies));
    let bodies = attend(py, build, &mut |_| Ok(()))?;
    let parameters = scene.parameters().into_iter().map(|(name, _, value)| (name, value));
    let parameters = parameters.collect();
    let Scene { name, title, about, run, field, integrator, units, .. } = scene;
    // The numbers are in units in which G is 1, whatever these are called.
    let units = Units { gravitational_constant: 1.0, ..units };
    let snapshot = Snapshot { units, ..Snapshot::new(bodies, 0.0) };
    let IntegratorHints { integrator, blocks } = integrator;
    Ok(Made {
        name,
        title,
        about,
        softening: run.softening,
        dt: run.dt,
        until: run.until,
        field: field.0.iter().map(ToString::to_string).collect(),
        integrator,
        eta: blocks.eta,
        eta6: blocks.eta6,
        dt_max: blocks.dt_max,
        precision: blocks.precision,
        parameters,
        bodies: taken(py, snapshot)?,
    })
}
