//! What `gravitile forces` computes: one evaluation of the forces of all bodies on all, by any engine.

use std::path::{Path, PathBuf};

use gravitile::bodies::Bodies;
use gravitile::error::Error;
use gravitile::field::Field;
use gravitile::forces::{
    ForceEngine, Forces, Identity, InField, Order, Outputs, Precision, Sinks, Sources, Within,
    check_softening,
};
use gravitile::input::Input;

/// What to compute besides accelerations and potentials.
#[derive(Clone, Debug, clap::Args)]
#[command(
    next_help_heading = "Derivatives and neighbours (in f64 on the CPU, in double-single on a GPU)"
)]
pub struct DerivativeOptions {
    /// Also write the first time derivative of each acceleration: jx,jy,jz
    #[arg(long)]
    pub jerk: bool,
    /// Also write the second time derivative: sx,sy,sz
    #[arg(long)]
    pub snap: bool,
    /// Also write nearest_id, nearest_distance and n_neighbours, the number of bodies within H; the
    /// neighbours' ids go to a second file, FILE.neighbours.csv: id,neighbour_id
    #[arg(long, value_name = "H")]
    pub neighbours: Option<f64>,
    /// Largest number of neighbours listed per body; n_neighbours still counts all
    #[arg(long, value_name = "K", default_value_t = 1024)]
    pub capacity: usize,
    /// Precision of the forces: single, double-single or double; not every engine has all of them
    #[arg(long, value_name = "TIER")]
    pub precision: Option<String>,
}

impl DerivativeOptions {
    /// The requested tier of precision.
    pub fn tier(&self) -> Result<Option<Precision>, Error> {
        self.precision.as_deref().map(Precision::from_name).transpose()
    }

    /// Whether an engine for derivatives is needed.
    pub fn are_requested(&self) -> Result<bool, Error> {
        let precise = self.tier()?.is_some_and(|tier| tier != Precision::Single);
        Ok(self.needs_more() || precise)
    }

    /// Whether derivatives or neighbours are requested.
    pub fn needs_more(&self) -> bool {
        self.jerk || self.snap || self.neighbours.is_some()
    }

    /// Refuses a radius out of range.
    pub fn check(&self) -> Result<(), Error> {
        match self.neighbours {
            Some(radius) if !(radius.is_finite() && radius >= 0.0) => {
                Err(Error::value("--neighbours", radius, "finite and at least 0"))
            }
            _ => Ok(()),
        }
    }

    /// The highest requested derivative.
    pub fn order(&self) -> Order {
        match (self.snap, self.jerk) {
            (true, _) => Order::Snap,
            (_, true) => Order::Jerk,
            _ => Order::Acceleration,
        }
    }
}

/// Where the lists of neighbours go: `acc.neighbours.csv` next to `acc.csv`.
pub fn lists_path(out: &Path) -> PathBuf {
    out.with_extension("neighbours.csv")
}

/// What to compute, by one engine or by several that are compared.
pub struct Evaluation<'a> {
    pub bodies: &'a Bodies,
    pub eps: f64,
    /// Masses times the gravitational constant.
    mass: Vec<f64>,
    /// The external field, with such masses.
    pub field: Field,
    /// Radius around each body within which its neighbours lie.
    radius: Vec<f64>,
    pub options: &'a DerivativeOptions,
}

impl<'a> Evaluation<'a> {
    /// An evaluation for these bodies, softened by `eps` or by a length that suits them.
    pub fn of(
        input: &'a Input,
        eps: Option<f64>,
        options: &'a DerivativeOptions,
    ) -> Result<Self, Error> {
        let eps = eps.unwrap_or(input.run.softening);
        check_softening(eps)?;
        let bodies = &input.snapshot.bodies;
        let mass = bodies.gravitating_mass(input.snapshot.units.gravitational_constant);
        let field = input.field.gravitating(input.snapshot.units.gravitational_constant);
        let radius = vec![options.neighbours.unwrap_or(0.0); bodies.len()];
        Ok(Self { bodies, eps, mass, field, radius, options })
    }

    /// This engine, with the field in its accelerations.
    pub fn in_field(&self, engine: Box<dyn ForceEngine>) -> Box<dyn ForceEngine> {
        InField::engine(engine, self.field.clone())
    }

    /// Computes everything with this engine, which is [`Evaluation::in_field`]. Snaps need the accelerations of a first pass.
    pub fn by(&self, engine: &mut dyn ForceEngine) -> Result<Forces, Error> {
        let mut found = Forces::default();
        let mut acceleration = Vec::new();
        let order = self.options.order();
        if order == Order::Snap {
            self.evaluate(engine, &[], &Outputs::only(Order::Acceleration), &mut found)?;
            acceleration = std::mem::take(&mut found.acceleration);
        }
        let within = Within { radius: &self.radius, capacity: self.options.capacity };
        let outputs = Outputs {
            order,
            potential: true,
            nearest: self.options.neighbours.is_some(),
            distance: true,
            within: self.options.neighbours.map(|_| within),
        };
        self.evaluate(engine, &acceleration, &outputs, &mut found)?;
        if !self.field.is_empty() {
            for (potential, position) in found.potential.iter_mut().zip(&self.bodies.position) {
                *potential += self.field.potential(*position);
            }
        }
        Ok(found)
    }

    fn evaluate(
        &self,
        engine: &mut dyn ForceEngine,
        acceleration: &[glam::DVec3],
        outputs: &Outputs,
        found: &mut Forces,
    ) -> Result<(), Error> {
        let (position, velocity) = (&self.bodies.position[..], &self.bodies.velocity[..]);
        let sources = Sources { position, velocity, acceleration, mass: &self.mass };
        let identity = Identity::Offset(0);
        let sinks = Sinks { velocity, acceleration, ..Sinks::new(position, identity) };
        let result = engine
            .set_sources(&sources)
            .and_then(|()| engine.evaluate(&sinks, self.eps, outputs, found));
        result.map_err(|error| error.with_ids(&self.bodies.id))
    }
}
