//! An engine with a deadline.

use web_time::Instant;

use crate::error::{Error, Result};
use crate::forces::{
    Capabilities, ForceEngine, Forces, Interfaces, Order, Outputs, Precision, Sinks, Sources,
};

/// Refuses work from a given time on. An integrator then stops before its next block and can
/// continue later: this interrupts runs of unknown length.
pub struct Pausing {
    engine: Box<dyn ForceEngine>,
    /// The time from which it refuses; `None` for never.
    pub pause_at: Option<Instant>,
    /// Whether it has refused.
    pub paused: bool,
}

impl Pausing {
    pub fn new(engine: Box<dyn ForceEngine>) -> Self {
        Self { engine, pause_at: None, paused: false }
    }
}

impl ForceEngine for Pausing {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn describe(&self) -> String {
        self.engine.describe()
    }

    fn precision(&self) -> Precision {
        self.engine.precision()
    }

    fn highest_order(&self) -> Order {
        self.engine.highest_order()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        self.engine.capabilities()
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        self.engine.interfaces()
    }

    fn source_count(&self) -> usize {
        self.engine.source_count()
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        if self.pause_at.is_some_and(|at| Instant::now() >= at) {
            (self.paused, self.pause_at) = (true, None);
            return Err(Error::Outside("a pause".to_owned()));
        }
        self.engine.set_sources(sources)
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.engine.update_sources(index, sources)
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        self.engine.begin(sinks, softening, outputs)
    }

    fn collect(&mut self, out: &mut Forces) -> Result<()> {
        self.engine.collect(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Bodies;
    use crate::forces::direct::CpuDouble;
    use crate::gpu::blocking;
    use crate::integrate::blocks::{Attractors, BlockSettings, BlockSteps};
    use crate::integrate::{HostSide, find};
    use crate::scene::Scene;

    fn run(pauses: bool) -> (Bodies, u64) {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(32).unwrap();
        let mut bodies = scene.build().unwrap();
        let HostSide::Blocks(scheme) = find("hermite4").unwrap().host else { unreachable!() };
        let (mass, id) = (bodies.mass.clone(), bodies.id.clone());
        let field = Attractors { mass: &mass, softening: 0.01, id: &id };
        let settings = BlockSettings::default();
        let mut engine = Pausing::new(Box::new(CpuDouble::new()));
        let started =
            blocking(BlockSteps::start(scheme, settings, &bodies, 0.0, &field, &mut engine));
        let mut steps = started.unwrap();
        let mut refused = 0;
        for k in 1..=8 {
            let time = f64::from(k) / 64.0;
            if pauses {
                engine.pause_at = Some(Instant::now());
                assert!(blocking(steps.advance(time, &field, &mut engine)).is_err());
                assert!(std::mem::take(&mut engine.paused), "it was no fault");
                refused += 1;
            }
            blocking(steps.advance(time, &field, &mut engine)).unwrap();
        }
        steps.synchronise(0.125, &mut bodies, &mut Vec::new());
        (bodies, refused)
    }

    #[test]
    fn pauses_do_not_change_the_bits() {
        let (whole, (paused, refused)) = (run(false).0, run(true));
        assert_eq!(refused, 8);
        assert_eq!((whole.position, whole.velocity), (paused.position, paused.velocity));
    }
}
