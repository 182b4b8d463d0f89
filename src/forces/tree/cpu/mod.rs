//! The tree on the processor: built in parallel, one walk per group of sinks, SIMD over their
//! lists, all cores.

use glam::DVec3;
use web_time::Instant;

use super::TreeConfig;
use crate::error::Result;
use crate::forces::direct::cpu::Kernel;
use crate::forces::held::HeldSources;
use crate::forces::{
    Answers, ForceEngine, Order, Precision, Rebuilds, Sinks, Sources, Want, check_plain,
};
use crate::settings::Rebuild;
use crate::stop;

mod call;
mod groups;
mod kept;
mod kernel;
mod loops;
#[cfg(test)]
mod tests;
mod view;
mod walk;

pub use view::{GroupWalk, LevelWalk, TreeView};
pub use walk::Lists;

/// The engine. Stores the sources between calls, 32 bytes each; during a call it needs about 150
/// bytes per source and 60 per sink. A tree that serves several steps is stored too: about 120
/// bytes per source.
#[derive(Debug)]
pub struct CpuTree {
    kernel: Kernel,
    config: TreeConfig,
    sources: HeldSources,
    begun: Answers,
    /// Interactions of the latest evaluation.
    interactions: u64,
    kept: kept::ReusedTree,
}

impl CpuTree {
    /// An engine with this processor's fastest kernel.
    pub fn new(config: TreeConfig) -> Self {
        Self::of_kernel(Kernel::available()[0], config)
    }

    /// An engine with this kernel.
    ///
    /// # Errors
    /// The processor lacks its instructions.
    pub fn with_kernel(kernel: Kernel, config: TreeConfig) -> Result<Self> {
        kernel.check().map(|()| Self::of_kernel(kernel, config))
    }

    fn of_kernel(kernel: Kernel, config: TreeConfig) -> Self {
        let (sources, begun) = Default::default();
        let kept = kept::ReusedTree::new(config.rebuild);
        Self { kernel, config, sources, begun, interactions: 0, kept }
    }

    fn compute(
        &mut self,
        sinks: &Sinks,
        softening: f64,
        potential: bool,
        out: &mut Answers,
    ) -> Result<()> {
        let Self { kernel, config, sources, interactions, kept, .. } = self;
        let sources = sources.all();
        *interactions = 0;
        if sinks.position.is_empty() {
            return Ok(());
        }
        // The stored tree can be reused only if its bodies are the sinks too.
        let is_whole = call::are_the_same(sinks, &sources);
        let n = sources.position.len();
        let begun = is_whole.then(|| kept.begin(n));
        let since = Instant::now();
        let (tree, is_step) = begun.map_or((None, false), |begun| (begun.tree, begun.is_step));
        let is_refit = tree.is_some();
        let call = call::Call::new(*kernel, sinks, &sources, softening, tree)?;
        let TreeConfig { opening, moments, .. } = *config;
        let evaluated =
            if !opening.needs_accelerations() || sinks.acceleration.len() == sinks.position.len() {
                call.evaluate(opening, moments, sinks.acceleration, potential, out)
            } else {
                // No accelerations are known yet; a first evaluation finds them.
                let mut first = Answers::default();
                first.resize(sinks.position.len(), &Want::ACCELERATION);
                call.evaluate(TreeConfig::FIRST, moments, &[], false, &mut first).and_then(|some| {
                    let known = &first.acceleration;
                    Ok(some + call.evaluate(opening, moments, known, potential, out)?)
                })
            };
        if is_whole && evaluated.is_ok() {
            super::balance(&mut out.acceleration, sources.mass);
        }
        // A tree that failed, or was not built for a step, is not stored.
        if is_refit || (is_step && evaluated.is_ok()) {
            kept.end(call.into_reusable(), is_step, (!is_refit).then_some(sources.position));
        }
        if is_step {
            kept.pace.learn(1, since.elapsed().as_secs_f64());
        }
        *interactions = evaluated?;
        Ok(())
    }
}

impl ForceEngine for CpuTree {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> String {
        let threads = rayon::current_num_threads();
        let (config, pace) = (&self.config, self.kept.pace.description());
        format!("tree, {config}{pace}, {} on {threads} threads", self.kernel.name())
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
        self.compute(sinks, softening, want.potential, &mut begun)?;
        self.begun = begun;
        stop::check()
    }

    fn collect(&mut self, out: &mut Answers) -> Result<()> {
        // Memory is reused: the next `begin` fills what was in `out`.
        std::mem::swap(out, &mut self.begun);
        self.begun.resize(0, &Want::ACCELERATION);
        Ok(())
    }

    fn for_energies(&self) -> Option<Box<dyn ForceEngine>> {
        let config = TreeConfig { rebuild: Rebuild::EACH_STEP, ..self.config.for_energies() };
        Some(Box::new(Self::of_kernel(self.kernel, config)))
    }

    fn needs_last_accelerations(&self) -> bool {
        self.config.needs_accelerations()
    }

    fn rebuilds(&mut self) -> Option<&mut dyn Rebuilds> {
        if self.config.rebuild.keeps() { Some(self) } else { None }
    }

    fn built_at(&self) -> Option<&[DVec3]> {
        self.kept.built_at()
    }

    fn interactions(&self, _: usize) -> u64 {
        self.interactions
    }
}

/// The sums of one sink, in the caller's units.
#[derive(Clone, Copy, Debug)]
struct Gathered {
    acceleration: DVec3,
    potential: f64,
}
