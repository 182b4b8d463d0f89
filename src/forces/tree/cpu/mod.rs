//! The tree on the processor: built in parallel, one walk per group of sinks, SIMD over their lists, all cores.

use std::sync::atomic::{AtomicU64, Ordering};

use glam::DVec3;

use super::TreeConfig;
use crate::error::Result;
use crate::forces::direct::cpu::Kernel;
use crate::forces::held::HeldSources;
use crate::forces::{Answers, ForceEngine, Order, Precision, Sinks, Sources, Want, check_plain};
use crate::stop;

mod call;
mod groups;
mod kernel;
mod loops;
#[cfg(test)]
mod tests;
mod view;
mod walk;

pub use view::{GroupWalk, LevelWalk, TreeView};
pub use walk::Lists;

/// The engine. Keeps the sources from call to call, 32 bytes each; a call takes about 150 bytes per source and 60 per
/// sink for its time.
#[derive(Debug)]
pub struct CpuTree {
    kernel: Kernel,
    config: TreeConfig,
    sources: HeldSources,
    begun: Answers,
    /// Of the evaluation that was begun last.
    interactions: AtomicU64,
}

impl CpuTree {
    /// With the fastest kernel of this processor.
    pub fn new(config: TreeConfig) -> Self {
        Self::of_kernel(Kernel::available()[0], config)
    }

    /// With that kernel; an error where the processor lacks its instructions.
    pub fn with_kernel(kernel: Kernel, config: TreeConfig) -> Result<Self> {
        kernel.check().map(|()| Self::of_kernel(kernel, config))
    }

    fn of_kernel(kernel: Kernel, config: TreeConfig) -> Self {
        let (sources, begun, interactions) = Default::default();
        Self { kernel, config, sources, begun, interactions }
    }

    fn compute(
        &self,
        sinks: &Sinks,
        sources: &Sources,
        softening: f64,
        potential: bool,
        out: &mut Answers,
    ) -> Result<()> {
        self.interactions.store(0, Ordering::Relaxed);
        if sinks.position.is_empty() {
            return Ok(());
        }
        let call = call::Call::new(self.kernel, sinks, sources, softening);
        let count = |interactions| {
            self.interactions.fetch_add(interactions, Ordering::Relaxed);
        };
        let opening = self.config.opening;
        let order = self.config.moments;
        if !opening.needs_accelerations() || sinks.acceleration.len() == sinks.position.len() {
            count(call.evaluate(opening, order, sinks.acceleration, potential, out)?);
        } else {
            // Nothing is known of the accelerations: a first force finds them.
            let mut first = Answers::default();
            first.resize(sinks.position.len(), &Want::ACCELERATION);
            count(call.evaluate(TreeConfig::FIRST, order, &[], false, &mut first)?);
            count(call.evaluate(opening, order, &first.acceleration, potential, out)?);
        }
        Ok(())
    }
}

impl ForceEngine for CpuTree {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> String {
        let threads = rayon::current_num_threads();
        format!("tree, {}, {} on {threads} threads", self.config, self.kernel.name())
    }

    fn precision(&self) -> Precision {
        Precision::Single
    }

    fn highest_order(&self) -> Order {
        Order::Acceleration
    }

    fn source_count(&self) -> usize {
        self.sources.len()
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        self.sources.set(sources)
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.sources.update(index, sources)
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, want: &Want) -> Result<()> {
        sinks.check(softening, want)?;
        check_plain(self, want)?;
        let mut begun = std::mem::take(&mut self.begun);
        begun.resize(sinks.position.len(), want);
        self.compute(sinks, &self.sources.all(), softening, want.potential, &mut begun)?;
        self.begun = begun;
        stop::check()
    }

    fn collect(&mut self, out: &mut Answers) -> Result<()> {
        // Memory goes round: what was in `out` is filled by the next `begin`.
        std::mem::swap(out, &mut self.begun);
        self.begun.resize(0, &Want::ACCELERATION);
        Ok(())
    }

    fn needs_last_accelerations(&self) -> bool {
        self.config.opening.needs_accelerations()
    }

    fn interactions(&self, _: usize) -> u64 {
        self.interactions.load(Ordering::Relaxed)
    }
}

/// What a sink has gathered, in the caller's units.
#[derive(Clone, Copy, Debug)]
struct Gathered {
    acceleration: DVec3,
    potential: f64,
}
