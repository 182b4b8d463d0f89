//! An engine with an external field: the forces of any engine, and those of the field in f64.
//!
//! The field is added to accelerations and their derivatives after the engine has computed the
//! forces of the bodies on each other, so a tree's momentum balance removes only the net force of
//! the bodies. Potentials remain those of the bodies: a pair's counts half in an energy, a field's
//! counts whole, so diagnostics add it ([`crate::diagnostics::Diagnostics::in_field`]).

use glam::DVec3;
use rayon::prelude::*;

use super::{
    BoxFuture, EngineCapabilities, ForceEngine, Forces, Interfaces, Order, Outputs, Precision,
    Sinks, Sources,
};
use crate::error::Result;
use crate::field::Field;

/// Sinks that one task computes the field for.
const SHARE: usize = 512;

/// An engine whose sinks are also in an external field.
///
/// It offers no device to integrators, which would compute forces there without the field, and no
/// sources that it predicts itself.
pub struct InField {
    engine: Box<dyn ForceEngine>,
    /// With gravitating masses.
    field: Field,
    /// The field's forces in the evaluation that was begun.
    added: Forces,
}

impl InField {
    /// `engine` in `field`, whose masses are gravitating ones; the engine itself if there is none.
    pub fn engine(engine: Box<dyn ForceEngine>, field: Field) -> Box<dyn ForceEngine> {
        match field.is_empty() {
            true => engine,
            false => Box::new(Self { engine, field, added: Forces::default() }),
        }
    }

    /// Computes the field's forces on the sinks. Entries outside their range remain as they were.
    fn compute(&mut self, sinks: &Sinks, outputs: &Outputs) {
        let outputs = Outputs::only(outputs.order);
        self.added.resize(sinks.position.len(), &outputs);
        let (range, field) = (sinks.range(), &self.field);
        let Forces { acceleration, jerk, snap, .. } = &mut self.added;
        if outputs.order == Order::Acceleration {
            let into = acceleration[range.clone()].par_iter_mut().with_min_len(SHARE);
            let places = &sinks.position[range];
            into.zip(places).for_each(|(into, place)| *into = field.acceleration(*place));
            return;
        }
        let derivatives = |i: usize| {
            let known = sinks.acceleration.get(i).copied().unwrap_or(DVec3::ZERO);
            field.derivatives(sinks.position[i], sinks.velocity[i], known)
        };
        let found: Vec<_> =
            range.clone().into_par_iter().with_min_len(SHARE).map(derivatives).collect();
        for (i, [a, j, s]) in range.zip(found) {
            (acceleration[i], jerk[i]) = (a, j);
            if let Some(snap) = snap.get_mut(i) {
                *snap = s;
            }
        }
    }

    /// The accelerations that the engine itself gave in the last step, roughly, for a method that
    /// needs their size: those of the sinks less that of the field where they are now. Empty if the
    /// engine gets the sinks' own.
    fn own_accelerations(&self, sinks: &Sinks, outputs: &Outputs) -> Vec<DVec3> {
        let is_estimate = outputs.order == Order::Acceleration;
        if !is_estimate || !self.engine.capabilities().last_accelerations {
            return Vec::new();
        }
        let both = sinks.acceleration.iter().zip(&self.added.acceleration);
        both.map(|(total, added)| *total - *added).collect()
    }

    fn add(&self, out: &mut Forces) {
        let Forces { acceleration, jerk, snap, .. } = &self.added;
        for (out, added) in
            [(&mut out.acceleration, acceleration), (&mut out.jerk, jerk), (&mut out.snap, snap)]
        {
            out.iter_mut().zip(added).for_each(|(out, added)| *out += *added);
        }
    }
}

impl ForceEngine for InField {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn describe(&self) -> String {
        format!("{}, in the field {}", self.engine.describe(), self.field.names())
    }

    fn precision(&self) -> Precision {
        self.engine.precision()
    }

    fn highest_order(&self) -> Order {
        self.engine.highest_order()
    }

    fn source_count(&self) -> usize {
        self.engine.source_count()
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        self.engine.set_sources(sources)
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.engine.update_sources(index, sources)
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        sinks.check(softening, outputs)?;
        self.compute(sinks, outputs);
        let own = self.own_accelerations(sinks, outputs);
        let acceleration = if own.is_empty() { sinks.acceleration } else { &own };
        self.engine.begin(&Sinks { acceleration, ..*sinks }, softening, outputs)
    }

    fn collect(&mut self, out: &mut Forces) -> Result<()> {
        self.engine.collect(out)?;
        self.add(out);
        self.added.resize(0, &Outputs::ACCELERATION);
        Ok(())
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities { device: None, ..self.engine.capabilities() }
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces { moving: None, ..self.engine.interfaces() }
    }

    fn answer<'a>(
        &'a mut self,
        sinks: &'a Sinks<'a>,
        softening: f64,
        outputs: &'a Outputs<'a>,
        out: &'a mut Forces,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            sinks.check(softening, outputs)?;
            self.compute(sinks, outputs);
            let own = self.own_accelerations(sinks, outputs);
            let acceleration = if own.is_empty() { sinks.acceleration } else { &own };
            let sinks = Sinks { acceleration, ..*sinks };
            self.engine.answer(&sinks, softening, outputs, out).await?;
            self.add(out);
            Ok(())
        })
    }

    fn interactions(&self, sinks: usize) -> u64 {
        self.engine.interactions(sinks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::direct::{CpuDouble, CpuSingle};
    use crate::forces::tree::{CpuTree, Rebuild, TreeConfig};
    use crate::forces::{Identity, TestBodies};

    fn field() -> Field {
        "nfw:mass=30,scale=2,x=5 tidal:xx=1,yy=-1".parse().unwrap()
    }

    #[test]
    fn field_is_added_to_every_order_and_not_to_potentials() {
        let TestBodies { position, velocity, acceleration, mass, .. } = TestBodies::new(600, 3);
        let sources = Sources {
            velocity: &velocity,
            acceleration: &acceleration,
            ..Sources::new(&position, &mass)
        };
        let each: Vec<u32> = (0..600).step_by(7).collect();
        let pick =
            |all: &[DVec3]| -> Vec<DVec3> { each.iter().map(|i| all[*i as usize]).collect() };
        let (at, moving, known) = (pick(&position), pick(&velocity), pick(&acceleration));
        let sinks = Sinks {
            velocity: &moving,
            acceleration: &known,
            ..Sinks::new(&at, Identity::Each(&each))
        };
        let outputs = Outputs { potential: true, ..Outputs::only(Order::Snap) };
        let (mut plain, mut found) = (Forces::default(), Forces::default());
        CpuDouble::new().evaluate_from(&sources, &sinks, 0.05, &outputs, &mut plain).unwrap();
        let mut engine = InField::engine(Box::new(CpuDouble::new()), field());
        engine.evaluate_from(&sources, &sinks, 0.05, &outputs, &mut found).unwrap();
        assert_eq!(found.potential, plain.potential);
        for (k, at) in at.iter().enumerate() {
            let [a, j, s] = field().derivatives(*at, moving[k], known[k]);
            assert_eq!(found.acceleration[k], plain.acceleration[k] + a);
            assert_eq!(found.jerk[k], plain.jerk[k] + j);
            assert_eq!(found.snap[k], plain.snap[k] + s);
        }
    }

    #[test]
    fn wrapper_passes_on_what_the_engine_offers_but_device_and_predicted_sources() {
        let mut engine = InField::engine(Box::new(CpuDouble::new()), field());
        assert!(CpuDouble::new().interfaces().moving.is_some());
        assert!(engine.interfaces().moving.is_none() && engine.interfaces().rebuilds.is_none());
        assert!(engine.capabilities().ranges && !engine.capabilities().last_accelerations);
        let reused = TreeConfig { rebuild: Rebuild::Every(4), ..TreeConfig::default() };
        let mut tree = InField::engine(Box::new(CpuTree::new(reused)), field());
        let plain = CpuTree::new(reused);
        let offered = plain.capabilities();
        assert!(offered.last_accelerations && offered.for_energies.is_some());
        assert!(tree.interfaces().rebuilds.is_some() && tree.capabilities().last_accelerations);
        assert!(tree.capabilities().for_energies.is_some());
        let none = InField::engine(Box::new(CpuSingle::new()), Field::default());
        assert_eq!(none.describe(), CpuSingle::new().describe());
    }

    /// The size of the bodies' own accelerations decides which cells a tree opens. In a uniform
    /// strong field they must not appear larger.
    #[test]
    fn tree_opens_the_same_cells_in_a_strong_field() {
        let TestBodies { position, mass, .. } = TestBodies::new(4000, 5);
        let sources = Sources::new(&position, &mass);
        let strong: Field = "point:mass=1e12,x=1e6".parse().unwrap();
        let mut interactions = Vec::new();
        for field in [Field::default(), strong] {
            let mut engine = InField::engine(Box::new(CpuTree::new(TreeConfig::default())), field);
            let (mut first, mut out) = (Forces::default(), Forces::default());
            let sinks = Sinks::new(&position, Identity::Offset(0));
            let outputs = Outputs::ACCELERATION;
            engine.set_sources(&sources).unwrap();
            engine.evaluate(&sinks, 0.01, &outputs, &mut first).unwrap();
            let sinks = Sinks { acceleration: &first.acceleration, ..sinks };
            engine.evaluate(&sinks, 0.01, &outputs, &mut out).unwrap();
            interactions.push(engine.interactions(position.len()) as f64);
        }
        assert!((interactions[1] / interactions[0] - 1.0).abs() < 1e-6, "{interactions:?}");
    }
}
