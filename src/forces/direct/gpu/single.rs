//! The all-pairs kernel as an engine: uploads bodies and returns forces.
//!
//! For single force evaluations (`gravitile forces`, checks, a host integrator). A simulation on
//! the device keeps its bodies there and does not use this.

use std::sync::Arc;

use glam::DVec3;

use super::{AllPairs, KernelRequest, KernelVariant, PairBuffers};
use crate::error::Result;
use crate::forces::{
    EngineCapabilities, Evaluator, Forces, Identity, Interfaces, Order, Outputs, Precision, Sinks,
    Sources, Throughput, WithSources, evaluate,
};
use crate::frame::Frame;
use crate::gpu::layout::{FOREIGN, IN_SINK};
use crate::gpu::{Gpu, read, storage};

/// The all-pairs kernel as an engine: each call uploads bodies and returns forces.
pub type GpuSingle = WithSources<UploadedPairs>;

/// The kernel of [`GpuSingle`].
#[derive(Debug)]
pub struct UploadedPairs {
    gpu: Arc<Gpu>,
    request: KernelRequest,
    throughput: Throughput,
    buffers: Option<(wgpu::Buffer, wgpu::Buffer)>,
    kernel: Option<(BindingKey, AllPairs)>,
    last: Option<String>,
}

/// Key under which a bound kernel can be reused.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BindingKey {
    variant: KernelVariant,
    sink_count: usize,
    source_count: usize,
    self_offset: u32,
    softening: f32,
}

impl GpuSingle {
    /// An engine on `gpu`, with the parts of the kernel's shape that the user has fixed.
    pub fn new(gpu: Arc<Gpu>, request: KernelRequest) -> Self {
        let throughput = Throughput::guess(gpu.adapter.class);
        let (buffers, kernel, last) = (None, None, None);
        Self::of(UploadedPairs { gpu, request, throughput, buffers, kernel, last })
    }
}

impl UploadedPairs {
    async fn kernel_for(&mut self, key: BindingKey, source_mass: &[f32]) -> Result<()> {
        let gpu = &self.gpu;
        // A kernel whose sources were sorted by mass is not reused: their masses may have changed.
        let is_known = |known: &BindingKey| *known == key && !key.variant.one_mass;
        if self.kernel.as_ref().is_some_and(|(known, _)| is_known(known)) {
            return Ok(());
        }
        let same_size = |known: &BindingKey| {
            (known.sink_count, known.source_count) == (key.sink_count, key.source_count)
        };
        if !self.kernel.as_ref().is_some_and(|(known, _)| same_size(known)) {
            let (sinks, sources) = (key.sink_count, key.source_count);
            let most = (gpu.limits.storage_buffer / crate::gpu::layout::VEC4) as usize;
            if sinks.max(sources) > most {
                return Err(gpu.refuse(format!(
                    "{} bodies are more than one of its storage buffers holds (at most {most})",
                    sinks.max(sources)
                )));
            }
            self.buffers = Some((storage(gpu, "sinks", sinks), storage(gpu, "sources", sources)));
        }
        let (sinks, sources) = self.buffers.as_ref().expect("made above or with the last kernel");
        let field = PairBuffers {
            sources,
            source_mass,
            sinks,
            sink_count: key.sink_count as u32,
            first_sink: 0,
            self_offset: key.self_offset,
            softening: key.softening,
        };
        let kernel = AllPairs::new(gpu, key.variant, field).await?;
        self.kernel = Some((key, kernel));
        Ok(())
    }
}

impl Evaluator for UploadedPairs {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn describe(&self) -> String {
        let adapter = &self.gpu.adapter;
        let shape = self.last.as_ref().map_or(String::new(), |shape| format!(", {shape}"));
        format!("{} ({}){shape}", adapter.name, adapter.backend)
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
        self.compute(sources, sinks, softening, outputs.potential, out).await
    }

    fn sources_changed(&mut self) {}

    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities::default()
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces::default()
    }
}

impl UploadedPairs {
    async fn compute(
        &mut self,
        sources: &Sources<'_>,
        sinks: &Sinks<'_>,
        softening: f64,
        potential: bool,
        out: &mut Forces,
    ) -> Result<()> {
        let (n, m) = (sinks.position.len(), sources.position.len());
        if n == 0 || m == 0 {
            out.acceleration.fill(DVec3::ZERO);
            out.potential.fill(0.0);
            return Ok(());
        }
        if n.max(m) >= IN_SINK as usize {
            return Err(self
                .gpu
                .refuse(format!("{} bodies are more than 32 bits can count", n.max(m))));
        }
        let config = self.request.resolve(&self.gpu, n, m)?;
        if config.own && potential {
            // A user's own kernel computes accelerations only.
            let own = std::mem::take(&mut self.request);
            let done = Box::pin(self.compute(sources, sinks, softening, true, out)).await;
            self.request = own;
            done?;
            return Box::pin(self.compute(sources, sinks, softening, false, out)).await;
        }
        let frame = Frame::of_call(sinks.position, sources.position, sources.mass, softening);
        let source_data = sources.narrowed(&frame)?;
        let largest_mass = sources.mass.iter().copied().fold(0.0, f64::max) / frame.mass;
        let eps = softening / frame.length;
        let source_mass: Vec<f32> = source_data.iter().map(|place| place[3]).collect();
        let variant = KernelVariant::new(config, eps, largest_mass, potential);
        let key = BindingKey {
            variant: variant.for_masses(&source_mass),
            sink_count: n,
            source_count: m,
            self_offset: match sinks.identity {
                Identity::Foreign => FOREIGN,
                Identity::Offset(offset) => offset as u32,
                Identity::Each(_) => IN_SINK,
            },
            softening: eps as f32,
        };
        self.kernel_for(key, &source_mass).await?;

        let sink = |(i, position): (usize, &DVec3)| {
            let [x, y, z] = frame.position(*position);
            let source = match sinks.identity {
                Identity::Each(index) => index[i],
                _ => 0,
            };
            [x, y, z, f32::from_bits(source)]
        };
        let sink_data: Vec<[f32; 4]> = sinks.position.iter().enumerate().map(sink).collect();
        let (sink_buffer, source_buffer) = self.buffers.as_ref().expect("made with the kernel");
        self.gpu.queue.write_buffer(source_buffer, 0, bytemuck::cast_slice(&source_data));
        self.gpu.queue.write_buffer(sink_buffer, 0, bytemuck::cast_slice(&sink_data));
        let (_, kernel) = self.kernel.as_mut().expect("bound above");
        evaluate(kernel, &self.gpu, &mut self.throughput).await?;
        let slices = config.s as usize;
        let sums = read::<[f32; 4]>(&self.gpu, &[&kernel.partial_sums], slices * n).await?;
        let total = |i: usize, axis: usize| -> f64 {
            (0..slices).map(|slice| f64::from(sums[0][slice * n + i][axis])).sum()
        };
        let (unit, potential_unit) = (frame.acceleration_unit(), frame.potential_unit());
        for (i, acceleration) in out.acceleration.iter_mut().enumerate() {
            *acceleration = DVec3::new(total(i, 0), total(i, 1), total(i, 2)) * unit;
        }
        if potential {
            for (i, of_sink) in out.potential.iter_mut().enumerate() {
                *of_sink = total(i, 3) * potential_unit;
            }
        }
        self.last = Some(config.to_string());
        Ok(())
    }
}
