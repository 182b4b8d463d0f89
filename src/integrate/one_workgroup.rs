//! Leapfrog for bodies that all fit in one workgroup: many steps per dispatch.
//!
//! Takes the same steps as the ordinary device integrator does with two dispatches each, but sums
//! in a different order. See `shaders/integrate/one_workgroup.wgsl`.

use minijinja::context;

use super::Integrator;
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{KernelConfig, KernelVariant};
use crate::gpu::layout::StepsParams;
use crate::gpu::{Binding, BodyBuffers, BoundKernel, Gpu, Params, compile, template};

/// The kernel's file below `shaders/`.
const FILE: &str = "integrate/one_workgroup.wgsl";

/// Approximate number of sources whose sum is held in one register: few enough for rounding, enough
/// for speed.
const BLOCK: u32 = 64;

/// The most loop iterations of a thread in one dispatch. llvmpipe (Mesa 22.3) counts those of all
/// loops together, nested ones too, and silently leaves every loop after 65,535.
const MOST_ITERATIONS: u32 = 30_000;

/// The kernel bound to the bodies of a simulation.
#[derive(Debug)]
pub struct OneWorkgroup {
    kernel: BoundKernel,
    params: Params<StepsParams>,
    same: StepsParams,
    most_steps: u32,
}

/// The assembled WGSL for a variant (whose potential switch is ignored).
///
/// # Errors
/// A shape that is out of range.
pub fn wgsl(variant: &KernelVariant) -> Result<String> {
    let config = variant.config;
    config.validate(None)?;
    let KernelConfig { p, q, r, u, .. } = config;
    let (capacity, block) = (config.one_workgroup_capacity(), (BLOCK / u).max(1) * u);
    let guarded = variant.guarded;
    let values = context! {
        p, q, r, u, capacity, block, guarded, potential => false, one_mass => false,
    };
    template::assemble(FILE, values)
}

impl OneWorkgroup {
    /// Compiles the kernel for `variant` and binds it to `bodies`.
    ///
    /// # Errors
    /// More bodies than p * r; bodies that are not all sinks; a shape that the adapter cannot run.
    pub async fn new(
        gpu: &Gpu,
        variant: &KernelVariant,
        bodies: &BodyBuffers,
        softening: f64,
    ) -> Result<Self> {
        let config = variant.config;
        config.validate(Some(gpu))?;
        config.holds(bodies.count as usize)?;
        if !bodies.moves_all() {
            let (sinks, n) = (bodies.sink_count(), bodies.count);
            let limit = format!("all {n} bodies with --one-workgroup");
            return Err(Error::value("the number of a device's sinks", sinks, limit));
        }
        let size = size_of::<StepsParams>() as u64;
        let bindings = [Binding::Write, Binding::Write, Binding::Write, Binding::Params(size)];
        let kernel = compile(gpu, FILE, &wgsl(variant)?, &bindings, config.checks).await?;
        // A submission has at most three different rows: a first force, whole dispatches, a last
        // one.
        let params = Params::new(gpu, "steps params", 16);
        let resources = [
            bodies.position_mass.as_entire_binding(),
            bodies.velocity.as_entire_binding(),
            bodies.acceleration.as_entire_binding(),
            params.binding(),
        ];
        let kernel = kernel.bind(gpu, "steps in one workgroup", &resources);
        let same = StepsParams {
            count: bodies.count,
            per_row: bodies.count.div_ceil(config.q).next_multiple_of(config.u),
            softening_squared: (softening as f32) * (softening as f32),
            ..Default::default()
        };
        // Each loop counts once more when it is left.
        let KernelConfig { q, r, u, .. } = config;
        let blocks = same.per_row.div_ceil((BLOCK / u).max(1) * u);
        let per_step = 1 + (blocks + 1) + (same.per_row.div_ceil(u) + blocks) + r * q;
        let most_steps = (MOST_ITERATIONS / per_step).max(1);
        Ok(Self { kernel, params, same, most_steps })
    }

    /// Checks that the integrator has such a kernel.
    pub fn takes(integrator: &Integrator) -> Result<()> {
        if integrator.name == super::leapfrog::LEAPFROG.name {
            return Ok(());
        }
        Err(Error::value("the integrator", integrator.name, "leapfrog with --one-workgroup"))
    }

    /// Interactions of one step.
    pub fn interactions(&self) -> u64 {
        u64::from(self.same.count).pow(2)
    }

    /// The most steps that one dispatch may take.
    pub fn most_steps(&self) -> u64 {
        self.most_steps.into()
    }

    /// Uses another softening from the next submission on.
    pub fn set_softening(&mut self, softening: f32) {
        self.same.softening_squared = softening * softening;
    }

    /// Begins a submission.
    pub fn begin_submission(&mut self) {
        self.params.clear();
    }

    /// Sends the parameters of everything recorded. Call before submitting.
    pub fn end_submission(&mut self, gpu: &Gpu) {
        self.params.upload(gpu);
    }

    /// Whether this submission cannot take another distinct dispatch.
    pub fn is_full(&self) -> bool {
        self.params.is_full()
    }

    /// Records one dispatch of `steps` steps of `dt`; 0 steps only update the accelerations.
    pub fn record(&mut self, pass: &mut wgpu::ComputePass<'_>, dt: f64, steps: u32) {
        let row = StepsParams { steps, kick: (0.5 * dt) as f32, drift: dt as f32, ..self.same };
        let offset = self.params.offset_of(row);
        self.kernel.set(pass, &[offset]);
        pass.dispatch_workgroups(1, 1, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::direct::gpu::Dispatch;
    use crate::gpu::{Checks, Language, translate};

    #[test]
    fn every_shape_validates_and_translates() {
        for (p, q, r, u) in [
            (1, 1, 1, 1),
            (64, 1, 1, 4),
            (32, 2, 3, 4),
            (256, 4, 1, 8),
            (64, 4, 4, 4),
            (128, 1, 16, 2),
        ] {
            let dispatch = Dispatch::OneWorkgroup;
            let config = KernelConfig { q, r, u, dispatch, ..KernelConfig::tiled(p) };
            for guarded in [false, true] {
                let variant = KernelVariant {
                    config,
                    guarded,
                    potential: false,
                    one_mass: false,
                    alone: false,
                };
                let text = wgsl(&variant).unwrap();
                for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                    for checks in [Checks::On, Checks::Off] {
                        assert!(translate(FILE, &text, language, checks).unwrap().len() > 500);
                    }
                }
                assert_eq!(text.matches("= attract(").count() as u32, r * u);
            }
        }
    }

    #[test]
    fn one_workgroup_supports_leapfrog_only() {
        let takes = |name: &str| OneWorkgroup::takes(crate::integrate::find(name).unwrap());
        assert!(takes("leapfrog").is_ok());
        let text = takes("hermite4").unwrap_err().to_string();
        assert!(text.contains("hermite") && text.contains("leapfrog with"), "{text}");
    }
}
