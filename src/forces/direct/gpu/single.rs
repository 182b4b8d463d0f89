//! The all-pairs kernel as an engine: uploads bodies and returns forces.
//!
//! For single force evaluations (`gravitile forces`, checks, a host integrator). A simulation on
//! the device keeps its bodies there and does not use this.

use std::sync::Arc;

use glam::DVec3;

use super::{AllPairs, KernelRequest, KernelVariant, PairBuffers};
use crate::error::{Error, Result};
use crate::forces::held::HeldSources;
use crate::forces::{
    Answers, ForceEngine, Identity, Making, Order, Precision, Sinks, Sources, Throughput, Want,
    check_plain, evaluate,
};
use crate::frame::Frame;
use crate::gpu::layout::{FOREIGN, IN_SINK};
use crate::gpu::{Gpu, blocking, read, storage};

/// The all-pairs kernel as an engine: each call uploads bodies and returns forces.
#[derive(Debug)]
pub struct GpuSingle {
    gpu: Arc<Gpu>,
    sources: HeldSources,
    request: KernelRequest,
    throughput: Throughput,
    buffers: Option<(wgpu::Buffer, wgpu::Buffer)>,
    kernel: Option<(Key, AllPairs)>,
    last: Option<String>,
    begun: Answers,
}

/// Key under which a bound kernel can be reused.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
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
        let (sources, begun) = Default::default();
        Self { gpu, sources, request, throughput, buffers: None, kernel: None, last: None, begun }
    }

    /// The device it runs on.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    async fn kernel_for(&mut self, key: Key, source_mass: &[f32]) -> Result<()> {
        let gpu = &self.gpu;
        // A kernel whose sources were sorted by mass is not reused: their masses may have changed.
        let is_known = |known: &Key| *known == key && !key.variant.one_mass;
        if self.kernel.as_ref().is_some_and(|(known, _)| is_known(known)) {
            return Ok(());
        }
        let same_size = |known: &Key| {
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

impl ForceEngine for GpuSingle {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn describe(&self) -> String {
        let adapter = &self.gpu.adapter;
        let shape = self.last.as_deref().unwrap_or("not yet run");
        format!("{} ({}), {shape}", adapter.name, adapter.backend)
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
        blocking(self.compute_all(sinks, softening, want))
    }

    fn collect(&mut self, out: &mut Answers) -> Result<()> {
        *out = std::mem::take(&mut self.begun);
        Ok(())
    }

    fn answer<'a>(
        &'a mut self,
        sinks: &'a Sinks<'a>,
        softening: f64,
        want: &'a Want<'a>,
        out: &'a mut Answers,
    ) -> Making<'a, ()> {
        Box::pin(async move {
            self.compute_all(sinks, softening, want).await?;
            self.collect(out)
        })
    }
}

impl GpuSingle {
    async fn compute_all(
        &mut self,
        sinks: &Sinks<'_>,
        softening: f64,
        want: &Want<'_>,
    ) -> Result<()> {
        sinks.check(softening, want)?;
        check_plain(self, want)?;
        let (held, mut begun) = (std::mem::take(&mut self.sources), Answers::default());
        let all = held.all();
        let done = self.compute(sinks, &all, softening, want.potential, &mut begun).await;
        (self.sources, self.begun) = (held, begun);
        done
    }

    async fn compute(
        &mut self,
        sinks: &Sinks<'_>,
        sources: &Sources<'_>,
        softening: f64,
        potential: bool,
        out: &mut Answers,
    ) -> Result<()> {
        let (n, m) = (sinks.position.len(), sources.position.len());
        if n == 0 || m == 0 {
            out.acceleration.resize(n, DVec3::ZERO);
            if potential {
                out.potential.resize(n, 0.0);
            }
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
            let own = std::mem::replace(&mut self.request, KernelRequest::NONE);
            let done = Box::pin(self.compute(sinks, sources, softening, true, out)).await;
            self.request = own;
            done?;
            out.acceleration.clear();
            return Box::pin(self.compute(sinks, sources, softening, false, out)).await;
        }
        let frame = Frame::of_call(sinks.position, sources.position, sources.mass, softening);
        frame.check_reach(sources.position)?;
        let largest_mass = sources.mass.iter().copied().fold(0.0, f64::max) / frame.mass;
        let eps = softening / frame.length;
        let source_mass: Vec<f32> =
            sources.mass.iter().map(|mass| (mass / frame.mass) as f32).collect();
        let variant = KernelVariant::new(config, eps, largest_mass, potential);
        let key = Key {
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

        let narrow = |position: &DVec3, w: f32| {
            let [x, y, z] = frame.position(*position);
            [x, y, z, w]
        };
        let masses = sources.position.iter().zip(&source_mass);
        let source_data: Vec<[f32; 4]> = masses.map(|(p, &m)| narrow(p, m)).collect();
        let number = |i: usize| match sinks.identity {
            Identity::Each(index) => f32::from_bits(index[i]),
            _ => 0.0,
        };
        let sink_data: Vec<[f32; 4]> =
            sinks.position.iter().enumerate().map(|(i, p)| narrow(p, number(i))).collect();
        if let Some(j) = source_data.iter().position(|b| !b.iter().all(|x| x.is_finite())) {
            let (position, mass) = (sources.position[j], sources.mass[j]);
            return Err(Error::Body {
                index: j,
                id: j as u64,
                problem: format!("position {position} or G m {mass} is not finite"),
            });
        }
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
        let acceleration = |i: usize| DVec3::new(total(i, 0), total(i, 1), total(i, 2)) * unit;
        out.acceleration.extend((0..n).map(acceleration));
        if potential {
            out.potential.extend((0..n).map(|i| total(i, 3) * potential_unit));
        }
        self.last = Some(config.to_string());
        Ok(())
    }
}
