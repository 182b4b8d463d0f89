//! The tree on the processor: built in parallel, one walk per group of sinks, SIMD over their
//! lists, all cores.

use crate::wall_clock::Instant;
use glam::DVec3;

use super::TreeConfig;
use crate::error::Error;
use crate::error::Result;
use crate::forces::Identity;
use crate::forces::direct::cpu::InstructionSet;
use crate::forces::{
    EngineCapabilities, Evaluator, Forces, Interfaces, Order, Outputs, Precision, Sinks, Sources,
    WithSources,
};
use crate::settings::Rebuild;
use crate::stop;

mod call;
mod domains;
mod expand;
mod groups;
mod kernel;
mod loops;
mod reused;
#[cfg(test)]
mod tests;
mod view;
mod walk;

use reused::ReusedTree;
pub use view::{GroupWalk, LevelWalk, TreeView};
pub use walk::InteractionLists;

/// The engine. Stores sources that are set, 32 bytes each; a call on these bodies needs about 75
/// bytes for each, and 24 for its acceleration. A tree that serves several steps is stored too:
/// about 65 bytes per source.
pub type CpuTree = WithSources<HostTree>;

/// The tree of [`CpuTree`].
#[derive(Debug)]
pub struct HostTree {
    kernel: InstructionSet,
    config: TreeConfig,
    /// Whether accelerations that are not known are estimated.
    estimates: bool,
    /// Interactions of the latest evaluation.
    interactions: u64,
    reused: ReusedTree,
    /// The ranks that share the bodies.
    domains: Option<domains::RankDomains>,
}

impl CpuTree {
    /// An engine with this processor's fastest kernel.
    pub fn new(config: TreeConfig) -> Self {
        Self::of(HostTree::new(InstructionSet::available()[0], config))
    }

    /// An engine with this kernel.
    ///
    /// # Errors
    /// The processor lacks its instructions.
    pub fn with_kernel(kernel: InstructionSet, config: TreeConfig) -> Result<Self> {
        kernel.check().map(|()| Self::of(HostTree::new(kernel, config)))
    }

    /// The same for single evaluations: where no accelerations are known, those that the rule
    /// `acceleration` needs are estimated from a few bodies of each group instead of computed for
    /// all. On 100,000 bodies the estimates take 3 % of the time, computing them half of it, and
    /// errors are the same. Ranks do not share such an evaluation.
    pub fn estimating(mut self) -> Self {
        self.evaluator.estimates = true;
        self
    }
}

impl HostTree {
    fn new(kernel: InstructionSet, config: TreeConfig) -> Self {
        Self {
            kernel,
            config,
            estimates: false,
            interactions: 0,
            reused: ReusedTree::new(config.rebuild),
            domains: None,
        }
    }

    /// A new tree with another configuration, shared by the same ranks.
    fn alike(&self, config: TreeConfig) -> Self {
        let domains = self.domains.as_ref().map(|own| domains::RankDomains::new(own.ranks.clone()));
        Self { domains, ..Self::new(self.kernel, config) }
    }

    fn compute(
        &mut self,
        sources: &Sources,
        sinks: &Sinks,
        softening: f64,
        potential: bool,
        out: &mut Forces,
    ) -> Result<()> {
        self.interactions = 0;
        if let Some(mut domains) = self.domains.take() {
            // As bits, of which NaN has some too.
            let [own, all] = [sinks.position, sources.position].map(bytemuck::cast_slice::<_, u64>);
            if sinks.identity != Identity::Offset(0) || own != all {
                let allowed = "the sources themselves if ranks share a tree";
                return Err(Error::value("the sinks", "other points", allowed));
            }
            let what = (softening, potential);
            let done = self.compute_shared(&mut domains, sources, sinks.acceleration, what, out);
            self.domains = Some(domains);
            return done;
        }
        if sinks.position.is_empty() {
            return Ok(());
        }
        // The stored tree can be reused only if its bodies are the sinks too.
        let is_whole = call::are_the_same(sinks, sources);
        let Self { kernel, config, estimates, interactions, reused, .. } = self;
        let n = sources.position.len();
        let begun = is_whole.then(|| reused.begin(n));
        let since = Instant::now();
        let (tree, is_step) = begun.map_or((None, false), |begun| (begun.tree, begun.is_step));
        let is_refit = tree.is_some();
        let mut call = call::TreeCall::new(*kernel, sinks, sources, softening, tree)?;
        let evaluated = if !config.opening.needs_accelerations() {
            call.evaluate(config, &[], potential, out)
        } else if sinks.acceleration.len() == sinks.position.len() {
            call.evaluate(config, &call.least_of(sinks.acceleration), potential, out)
        } else if *estimates {
            call.estimate()
                .and_then(|(least, some)| Ok(some + call.evaluate(config, &least, potential, out)?))
        } else {
            // No accelerations are known yet; a first evaluation finds them.
            let by_angle = TreeConfig { opening: TreeConfig::FIRST, ..*config };
            call.evaluate(&by_angle, &[], false, out).and_then(|some| {
                let least = call.least_of(&out.acceleration);
                Ok(some + call.evaluate(config, &least, potential, out)?)
            })
        };
        if is_whole && evaluated.is_ok() {
            super::balance(&mut out.acceleration, sources.mass);
        }
        // A tree that failed, or was not built for a step, is not stored.
        if is_refit || (is_step && evaluated.is_ok()) {
            reused.end(call.into_reusable(), is_step, (!is_refit).then_some(sources.position));
        }
        if is_step {
            reused.pace.learn(1, since.elapsed().as_secs_f64());
        }
        *interactions = evaluated?;
        Ok(())
    }
}

impl Evaluator for HostTree {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> String {
        let threads = rayon::current_num_threads();
        let (config, pace) = (&self.config, self.reused.pace.description());
        let kernel = self.kernel.name();
        let one = format!("tree, {config}{pace}, {kernel} on {threads} threads");
        if let Some(domains) = &self.domains {
            return format!("{one}, in parts on {} ranks", domains.ranks.size());
        }
        one
    }

    fn precision(&self) -> Precision {
        Precision::Single
    }

    fn highest_order(&self) -> Order {
        Order::Acceleration
    }

    async fn evaluate(
        &mut self,
        sources: &Sources<'_>,
        sinks: &Sinks<'_>,
        softening: f64,
        outputs: &Outputs<'_>,
        out: &mut Forces,
    ) -> Result<()> {
        self.compute(sources, sinks, softening, outputs.potential, out)?;
        stop::check()
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        let config = TreeConfig { rebuild: Rebuild::EACH_STEP, ..self.config.for_energies() };
        EngineCapabilities {
            last_accelerations: self.config.needs_accelerations(),
            interactions: Some(self.interactions),
            built_at: self.reused.built_at(),
            for_energies: Some(Box::new(WithSources::of(self.alike(config)))),
            ranks: self.domains.as_ref().map(|domains| &domains.ranks),
            ..EngineCapabilities::default()
        }
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        let reuses = self.config.rebuild.keeps();
        if !reuses {
            return Interfaces { divides: Some(self), ..Interfaces::default() };
        }
        Interfaces { rebuilds: if reuses { Some(self) } else { None }, ..Interfaces::default() }
    }

    fn sources_changed(&mut self) {}
}

impl crate::forces::Divides for HostTree {
    fn divide_among(&mut self, ranks: crate::exchange::Ranks) {
        self.domains = (ranks.size() > 1).then(|| domains::RankDomains::new(ranks));
    }
}

/// The sums of one sink, in the caller's units.
#[derive(Clone, Copy, Debug)]
struct SinkForce {
    acceleration: DVec3,
    potential: f64,
}
