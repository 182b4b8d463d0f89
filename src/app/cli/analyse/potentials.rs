//! Potentials for the bound mass.

use super::Args;
use crate::lookup;
use gravitile::error::Error;
use gravitile::forces::{
    self, ForceEngine, Forces, Identity, Order, Outputs, Sinks, Sources, Tools, check_softening,
};
use gravitile::input::Input;
use gravitile::sim::Settings;

/// Computes potentials with the engine and method that runs of as many bodies have.
pub(super) struct Potentials {
    /// `None` if no potentials are requested.
    settings: Option<Settings>,
    eps: Option<f64>,
    /// The last engine, and for how many bodies it is.
    engine: Option<(usize, Box<dyn ForceEngine>)>,
}

impl Potentials {
    /// What the options say.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn of(args: &Args) -> Result<Self, Error> {
        args.eps.map_or(Ok(()), check_softening)?;
        let settings = args.engine.settings()?;
        settings.check_one_device()?;
        let settings = Some(settings).filter(|_| !args.no_bound);
        Ok(Self { settings, eps: args.eps, engine: None })
    }

    /// The potential at each body, G included.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn compute(&mut self, input: &Input) -> Result<Option<Vec<f64>>, Error> {
        let Some(settings) = &self.settings else { return Ok(None) };
        let bodies = &input.snapshot.bodies;
        let n = bodies.len();
        let (_, engine) = match self.engine.take().filter(|(of, _)| *of == n) {
            Some(engine) => self.engine.insert(engine),
            None => {
                let mut settings = settings.clone();
                let choice = lookup::choose(n, &mut settings)?;
                let Settings { kernel, tree, .. } = settings;
                let tools = Tools { gpu: choice.gpu.as_ref(), kernel, tree, ..Tools::default() };
                let order = Order::Acceleration;
                let engine =
                    forces::make(choice.kind.placement(), choice.method, None, order, &tools)?;
                self.engine.insert((n, engine))
            }
        };
        let mass = bodies.gravitating_mass(input.snapshot.units.gravitational_constant);
        let eps = self.eps.unwrap_or(input.run.softening);
        let outputs = Outputs { potential: true, ..Outputs::ACCELERATION };
        let mut found = Forces::default();
        let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
        engine
            .set_sources(&Sources::new(&bodies.position, &mass))
            .and_then(|()| engine.evaluate(&sinks, eps, &outputs, &mut found))
            .map_err(|error| error.with_ids(&bodies.id))?;
        Ok(Some(found.potential))
    }

    /// The engine, in words.
    pub fn described(&self) -> Option<String> {
        self.engine.as_ref().map(|(_, engine)| engine.describe())
    }
}
