//! [`SimulationBuilder`], which opens a [`Simulation`].

use super::{Backend, Choice, EngineKind, Settings, Simulation};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::ForceEngine;
use crate::integrate::blocks::Restart;

/// Opens a simulation: [`super::choose()`] takes an engine and a method for it unless the caller
/// has one.
///
/// ```no_run
/// use gravitile::scene::Scene;
/// use gravitile::sim::{Settings, Simulation, choose};
///
/// # fn main() -> gravitile::error::Result<()> {
/// let scene = Scene::builtin("plummer")?;
/// let (bodies, settings) = (scene.build()?, Settings::of(&scene)?);
/// let choice = pollster::block_on(choose(bodies.len(), &settings))?;
/// println!("{}", choice.reason);
/// let sim = Simulation::builder(bodies, settings).choice(choice).build()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "it opens nothing before `build` or `open`"]
pub struct SimulationBuilder<'a> {
    bodies: Bodies,
    settings: Settings,
    by: By,
    restart: Option<&'a Restart>,
}

/// What computes forces and steps.
enum By {
    /// What suits bodies and settings.
    Auto,
    Choice(Choice),
    Engine(Box<dyn ForceEngine>),
    Backend(Box<dyn Backend>),
}

impl Simulation {
    /// A simulation of `bodies` on the engine and by the method that [`super::choose()`] takes for
    /// them. Waits for the first accelerations. [`Simulation::builder`] offers more.
    ///
    /// # Errors
    /// Those of [`SimulationBuilder::open`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(bodies: Bodies, settings: Settings) -> Result<Self> {
        Self::builder(bodies, settings).build()
    }

    /// A simulation of `bodies` that is not open yet: see [`SimulationBuilder`].
    pub fn builder<'a>(bodies: Bodies, settings: Settings) -> SimulationBuilder<'a> {
        SimulationBuilder { bodies, settings, by: By::Auto, restart: None }
    }
}

impl<'a> SimulationBuilder<'a> {
    /// On an engine already chosen: by [`crate::measure::choose()`], say, or on a device that is
    /// already open.
    pub fn choice(self, choice: Choice) -> Self {
        Self { by: By::Choice(choice), ..self }
    }

    /// On the caller's own engine, called by the host; the settings give the rest.
    pub fn engine(self, engine: Box<dyn ForceEngine>) -> Self {
        Self { by: By::Engine(engine), ..self }
    }

    /// On the caller's own backend, which has already taken the bodies and computed their first
    /// accelerations.
    pub fn backend(self, backend: Box<dyn Backend>) -> Self {
        Self { by: By::Backend(backend), ..self }
    }

    /// Continues to the same bits from a snapshot written in the middle of a run, with what
    /// [`Simulation::restart`] returned then; with `None` from the bodies alone.
    pub fn restart(self, restart: Option<&'a Restart>) -> Self {
        Self { restart, ..self }
    }

    /// Checks bodies and settings and computes the first accelerations.
    ///
    /// # Errors
    /// Bodies or settings out of range; no such engine or adapter; bodies that do not fit on the
    /// device; an engine that does not compute what the integrator needs; restart data that no such
    /// run can have; restart data or an external field for a backend of the caller's own, which
    /// takes neither.
    pub async fn open(self) -> Result<Simulation> {
        let Self { bodies, settings, by, restart } = self;
        settings.validate()?;
        match by {
            By::Auto => {
                let choice = super::choose(bodies.len(), &settings).await?;
                open_on(choice, bodies, settings, restart).await
            }
            By::Choice(choice) => open_on(choice, bodies, settings, restart).await,
            By::Engine(engine) => {
                bodies.validate()?;
                settings.check_same_bits()?;
                Simulation::open_engine(own_choice(), engine, bodies, settings, restart).await
            }
            By::Backend(backend) => {
                bodies.validate()?;
                let refused = |what, found: String| {
                    let allowed = "none on a backend of the caller's own, which computes all forces and takes all steps itself";
                    Err(Error::value(what, found, allowed))
                };
                if !settings.field.is_empty() {
                    return refused("the external field", settings.field.names());
                }
                if restart.is_some() {
                    return refused("restart data", "that of an earlier run".to_owned());
                }
                Simulation::of(backend, own_choice(), bodies, settings).await
            }
        }
    }

    /// [`SimulationBuilder::open`], blocking.
    ///
    /// # Errors
    /// Those of [`SimulationBuilder::open`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn build(self) -> Result<Simulation> {
        pollster::block_on(self.open())
    }
}

/// What is shown of an engine or a backend of the caller's own.
fn own_choice() -> Choice {
    let kind = EngineKind::Cpu;
    Choice::of(kind, kind.method(), "the caller's own", None)
}

async fn open_on(
    choice: Choice,
    bodies: Bodies,
    mut settings: Settings,
    restart: Option<&Restart>,
) -> Result<Simulation> {
    settings.check_same_bits()?;
    choice.check_parts(&settings)?;
    settings.method = Some(choice.method);
    let n = match &choice.rows {
        #[cfg(not(target_arch = "wasm32"))]
        Some(rows) => {
            super::group::check_rows(&choice, rows, &bodies, &settings)?;
            rows.n
        }
        _ => {
            bodies.validate()?;
            bodies.len()
        }
    };
    settings.spread |= choice.ranks.is_some();
    super::shapes::settle(&mut settings, &choice, n)?;
    Simulation::open_unchecked(choice, bodies, settings, restart).await
}
