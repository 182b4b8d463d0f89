//! Engines that compute in one call from sources on the host.

use glam::DVec3;

use super::{
    BoxFuture, EngineCapabilities, ForceEngine, Forces, Interfaces, Order, Outputs, Precision,
    Sinks, Sources, check_update,
};
use crate::error::{Error, Result};
use crate::gpu::blocking;

/// A method that computes forces in one call: with [`WithSources`] it is a [`ForceEngine`].
pub trait Evaluator: Send {
    /// As [`ForceEngine::name`].
    fn name(&self) -> &'static str;

    /// As [`ForceEngine::describe`].
    fn describe(&self) -> String;

    /// As [`ForceEngine::precision`].
    fn precision(&self) -> Precision;

    /// As [`ForceEngine::highest_order`].
    fn highest_order(&self) -> Order;

    /// Computes what `outputs` requests on `sinks` into `out`, which has an entry for each sink.
    /// Sources and sinks have been checked: they have all that `outputs` needs, and `outputs` has
    /// no more than [`Evaluator::highest_order`].
    ///
    /// # Errors
    /// Bodies that it cannot compute; the device failed; [`Error::Stopped`].
    fn evaluate(
        &mut self,
        sources: &Sources<'_>,
        sinks: &Sinks<'_>,
        softening: f64,
        outputs: &Outputs<'_>,
        out: &mut Forces,
    ) -> impl Future<Output = Result<()>>;

    /// Called when sources have changed, for methods that derive something from them.
    fn sources_changed(&mut self);

    /// As [`ForceEngine::capabilities`].
    fn capabilities(&self) -> EngineCapabilities<'_>;

    /// As [`ForceEngine::interfaces`].
    fn interfaces(&mut self) -> Interfaces<'_>;
}

/// A [`ForceEngine`] that stores the sources of an [`Evaluator`] on the host, in the caller's
/// units: 32 bytes each, 80 with velocities and accelerations.
#[derive(Clone, Debug, Default)]
pub struct WithSources<E> {
    pub(super) evaluator: E,
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
    acceleration: Vec<DVec3>,
    mass: Vec<f64>,
    found: Forces,
    /// Number of sources of the latest evaluation.
    latest: usize,
}

impl<E: Evaluator> WithSources<E> {
    /// An engine without sources.
    pub fn of(evaluator: E) -> Self {
        let (position, velocity, acceleration, mass, found, latest) = Default::default();
        Self { evaluator, position, velocity, acceleration, mass, found, latest }
    }

    /// Checks the input, and computes into `self.found`.
    async fn compute(
        &mut self,
        sinks: &Sinks<'_>,
        softening: f64,
        outputs: &Outputs<'_>,
    ) -> Result<()> {
        let Self { evaluator, position, velocity, acceleration, mass, found, latest } = self;
        *latest = position.len();
        let sources = Sources { position, velocity, acceleration, mass };
        compute(evaluator, &sources, sinks, softening, outputs, found).await
    }
}

/// Checks the input, and computes into `out`.
async fn compute(
    evaluator: &mut impl Evaluator,
    sources: &Sources<'_>,
    sinks: &Sinks<'_>,
    softening: f64,
    outputs: &Outputs<'_>,
    out: &mut Forces,
) -> Result<()> {
    sinks.check(softening, outputs)?;
    check_supported(evaluator, outputs)?;
    let has = (!sources.velocity.is_empty(), !sources.acceleration.is_empty());
    outputs.order.check_sources(sources.position.len(), has.0, has.1)?;
    out.resize(sinks.position.len(), outputs);
    let done = evaluator.evaluate(sources, sinks, softening, outputs, out).await;
    if done.is_err() {
        *out = Forces::default();
    }
    done
}

/// Checks that only accelerations and potentials are requested of an engine that has no more.
fn check_supported(engine: &impl Evaluator, outputs: &Outputs) -> Result<()> {
    if engine.highest_order() > Order::Acceleration {
        return Ok(());
    }
    let requested = match outputs.order {
        Order::Acceleration if outputs.nearest || outputs.within.is_some() => "neighbours",
        Order::Acceleration => return Ok(()),
        order => order.name(),
    };
    let (name, tier) = (engine.name(), engine.precision().name());
    let allowed = format!("acceleration and potential with the engine {name} in {tier}");
    Err(Error::value("what is requested", requested, allowed))
}

impl<E: Evaluator> ForceEngine for WithSources<E> {
    fn name(&self) -> &'static str {
        self.evaluator.name()
    }

    fn describe(&self) -> String {
        self.evaluator.describe()
    }

    fn precision(&self) -> Precision {
        self.evaluator.precision()
    }

    fn highest_order(&self) -> Order {
        self.evaluator.highest_order()
    }

    fn source_count(&self) -> usize {
        self.position.len()
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        sources.check()?;
        self.evaluator.sources_changed();
        sources.position.clone_into(&mut self.position);
        sources.velocity.clone_into(&mut self.velocity);
        sources.acceleration.clone_into(&mut self.acceleration);
        sources.mass.clone_into(&mut self.mass);
        Ok(())
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        check_update(index, sources, self.position.len())?;
        self.evaluator.sources_changed();
        for (k, j) in index.iter().map(|&j| j as usize).enumerate() {
            self.position[j] = sources.position[k];
            self.mass[j] = sources.mass[k];
            for (all, new) in [
                (&mut self.velocity, sources.velocity),
                (&mut self.acceleration, sources.acceleration),
            ] {
                if let (Some(old), Some(new)) = (all.get_mut(j), new.get(k)) {
                    *old = *new;
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        blocking(self.compute(sinks, softening, outputs))
    }

    fn collect(&mut self, out: &mut Forces) -> Result<()> {
        // The next evaluation reuses the memory of `out`.
        std::mem::swap(out, &mut self.found);
        self.found.resize(0, &Outputs::ACCELERATION);
        Ok(())
    }

    fn evaluate_from(
        &mut self,
        sources: &Sources,
        sinks: &Sinks,
        softening: f64,
        outputs: &Outputs,
        out: &mut Forces,
    ) -> Result<()> {
        sources.check()?;
        self.latest = sources.position.len();
        let evaluator = &mut self.evaluator;
        evaluator.sources_changed();
        let done = blocking(compute(evaluator, sources, sinks, softening, outputs, out));
        // The stored sources are others.
        evaluator.sources_changed();
        done?;
        out.check(evaluator.precision())
    }

    fn interactions(&self, sinks: usize) -> u64 {
        self.capabilities().interactions.unwrap_or(sinks as u64 * self.latest as u64)
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        self.evaluator.capabilities()
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        self.evaluator.interfaces()
    }

    fn answer<'a>(
        &'a mut self,
        sinks: &'a Sinks<'a>,
        softening: f64,
        outputs: &'a Outputs<'a>,
        out: &'a mut Forces,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.compute(sinks, softening, outputs).await?;
            self.collect(out)
        })
    }
}
