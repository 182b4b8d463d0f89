//! Times force kernels on the device after checking their results.

use std::collections::HashMap;
use std::sync::Arc;

use crate::wall_clock::Instant;
use glam::DVec3;

use super::problem::{Problem, SOFTENING};
use super::{Stopwatch, Timer, TimingMethod};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{AllPairs, KernelConfig, KernelVariant, PairBuffers};
use crate::forces::{DeviceForces, Throughput, evaluate};
use crate::frame::narrow;
use crate::gpu::layout::VEC4;
use crate::gpu::{DeviceClass, Gpu, storage};
use crate::measure::ErrorStats;

/// Times all-pairs kernels on a device for a synthetic cloud: accelerations, with softening.
#[derive(Debug)]
pub struct KernelTimer {
    gpu: Arc<Gpu>,
    watch: Stopwatch,
    sources: wgpu::Buffer,
    sinks: wgpu::Buffer,
    problem: Problem,
    /// Masses of the sources.
    source_mass: Vec<f32>,
    prepared: HashMap<KernelConfig, PreparedKernel>,
    warm: bool,
    /// Shortest time of a sample; evaluations are repeated in one pass to reach it.
    sample_secs: f64,
}

#[derive(Debug)]
struct PreparedKernel {
    kernel: AllPairs,
    throughput: Throughput,
    repeats: u32,
    error: ErrorStats,
    /// Seconds per evaluation in the last sample.
    last: f64,
}

/// Largest rms relative error of a correct kernel with few tiles; see [`error_limit`].
const RMS_LIMIT: f64 = 2e-6;

/// Largest ratio of worst to rms error that passes: the worst sink is one whose forces nearly
/// cancel.
const WORST_OVER_RMS: f64 = 50.0;

/// The most evaluations in a sample.
const MOST_REPEATS: f64 = 4096.0;

impl KernelTimer {
    /// A timer on `gpu` for `sinks` sinks, the first of the `sources` sources if there are that
    /// many.
    ///
    /// # Errors
    ///
    /// Bodies that do not fit on the device; no sinks or no sources.
    pub fn new(gpu: &Arc<Gpu>, sinks: usize, sources: usize) -> Result<Self> {
        let most = (gpu.limits.storage_buffer / VEC4) as usize;
        let both = [("the number of sinks", sinks), ("the number of sources", sources)];
        for (what, n) in both {
            if n == 0 || n > most {
                return Err(Error::value(what, n, format!("between 1 and {most} on this adapter")));
            }
        }
        let problem = Problem::new(sinks, sources)?;
        let entry = |i: usize| {
            let [x, y, z] = narrow(problem.bodies.position[i]);
            [x, y, z, problem.bodies.mass[i] as f32]
        };
        let upload = |label, n: usize| {
            let data: Vec<[f32; 4]> = (0..n).map(entry).collect();
            let buffer = storage(gpu, label, n);
            gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&data));
            buffer
        };
        let source_buffer = upload("sources", sources);
        let sink_buffer =
            if sinks == sources { source_buffer.clone() } else { upload("sinks", sinks) };

        // A wall clock includes the submission, so its samples are longer.
        let watch = Stopwatch::new(gpu);
        let sample_secs = match (gpu.adapter.class, watch.method()) {
            // The timestamps of browsers may be 0.1 ms apart.
            _ if cfg!(target_arch = "wasm32") => 2e-2,
            (DeviceClass::Software, _) | (_, TimingMethod::WallClock) => 5e-3,
            _ => 1e-3,
        };
        Ok(Self {
            gpu: Arc::clone(gpu),
            watch,
            sources: source_buffer,
            sinks: sink_buffer,
            source_mass: problem.bodies.mass[..sources].iter().map(|mass| *mass as f32).collect(),
            problem,
            prepared: HashMap::new(),
            warm: false,
            sample_secs,
        })
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The clock in use, with the reason if the device's was implausible.
    pub fn stopwatch(&self) -> &Stopwatch {
        &self.watch
    }

    /// A prepared candidate: evaluations per sample, seconds of one, and its error against f64 for
    /// a sample of the sinks.
    pub fn prepared(&self, candidate: &KernelConfig) -> Option<(u32, f64, ErrorStats)> {
        self.prepared.get(candidate).map(|known| (known.repeats, known.last, known.error))
    }

    /// Compiles, evaluates once and compares with f64.
    async fn compile_and_check(&self, config: KernelConfig) -> Result<PreparedKernel> {
        let gpu = &self.gpu;
        let field = PairBuffers {
            sources: &self.sources,
            source_mass: &self.source_mass,
            sinks: &self.sinks,
            sink_count: self.problem.sink_count as u32,
            first_sink: 0,
            self_offset: 0,
            softening: SOFTENING as f32,
        };
        let variant =
            KernelVariant::new(config, SOFTENING, 1.0, false).for_masses(&self.source_mass);
        let mut kernel = AllPairs::new(gpu, variant, field).await?;
        let mut throughput = Throughput::guess(gpu.adapter.class);
        evaluate(&mut kernel, gpu, &mut throughput).await?;
        let found = read_probes(gpu, &kernel, &self.problem).await?;
        let error = self.problem.errors_of_probed(&found);
        let limit = error_limit(&config, self.problem.source_count);
        if !(error.rms < limit && error.worst < limit * WORST_OVER_RMS) {
            return Err(gpu.refuse(format!(
                "the kernel {config} is wrong: rms error {:.1e}, worst {:.1e} against f64, allowed {limit:.1e}",
                error.rms, error.worst
            )));
        }
        Ok(PreparedKernel { kernel, throughput, repeats: 1, error, last: 0.0 })
    }
}

impl Timer for KernelTimer {
    async fn prepare(&mut self, candidate: &KernelConfig) -> Result<()> {
        if self.prepared.contains_key(candidate) {
            return Ok(());
        }
        let mut prepared = self.compile_and_check(*candidate).await?;
        // An idle GPU has low clocks, so it is kept busy for a moment before the first time counts.
        let busy = if self.gpu.adapter.class == DeviceClass::Software { 0.0 } else { 0.2 };
        let begun = Instant::now();
        loop {
            let secs = prepared.run(&mut self.watch).await?;
            let needed = (self.sample_secs / secs).ceil().clamp(1.0, MOST_REPEATS) as u32;
            let enough = needed <= prepared.repeats.saturating_mul(2);
            prepared.repeats = prepared.repeats.max(needed);
            if enough && (self.warm || begun.elapsed().as_secs_f64() >= busy) {
                break;
            }
        }
        self.warm = true;
        self.prepared.insert(*candidate, prepared);
        Ok(())
    }

    async fn sample(&mut self, candidate: &KernelConfig) -> Result<f64> {
        self.prepare(candidate).await?;
        let prepared = self.prepared.get_mut(candidate).expect("it was prepared above");
        prepared.run(&mut self.watch).await
    }

    fn forget(&mut self, candidate: &KernelConfig) {
        self.prepared.remove(candidate);
    }
}

impl PreparedKernel {
    /// Seconds per evaluation over `repeats` evaluations.
    async fn run(&mut self, watch: &mut Stopwatch) -> Result<f64> {
        let (kernel, throughput) = (&mut self.kernel, &mut self.throughput);
        kernel.restart();
        let secs = watch.evaluations(kernel, throughput, self.repeats).await?;
        self.last = secs / f64::from(self.repeats);
        Ok(self.last)
    }
}

/// Largest rms error of a correct kernel: f32 interactions err by 2e-7 each; the tiles' sums are
/// added in f32 one after another, each adding half a rounding at random.
fn error_limit(config: &KernelConfig, sources: usize) -> f64 {
    let tiles = sources as f64 / f64::from(config.s * config.tile());
    RMS_LIMIT.max(6e-8 * tiles.sqrt())
}

/// The accelerations of the probed sinks, summed over all slices.
async fn read_probes(gpu: &Gpu, kernel: &AllPairs, problem: &Problem) -> Result<Vec<DVec3>> {
    let (probes, sinks) = (&problem.probes, problem.sink_count);
    let slices = kernel.variant.config.s as usize;
    let probed: usize = probes.iter().map(ExactSizeIterator::len).sum();
    let gathered = storage(gpu, "probes", probed * slices);
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    let mut at = 0;
    for slice in 0..slices {
        for probe in probes {
            let from = ((slice * sinks + probe.start) as u64) * VEC4;
            let bytes = probe.len() as u64 * VEC4;
            encoder.copy_buffer_to_buffer(&kernel.partial_sums, from, &gathered, at, bytes);
            at += bytes;
        }
    }
    gpu.queue.submit([encoder.finish()]);
    let sums = crate::gpu::read::<[f32; 4]>(gpu, &[&gathered], probed * slices).await?.remove(0);
    let total = |i: usize, axis: usize| -> f64 {
        (0..slices).map(|slice| f64::from(sums[slice * probed + i][axis])).sum()
    };
    Ok((0..probed).map(|i| DVec3::new(total(i, 0), total(i, 1), total(i, 2))).collect())
}
