//! The open device: its capabilities, and errors that occurred on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::DeviceClass;
use super::adapter::{self, AdapterInfo};
use super::find_adapter;
use super::kernel::{Checks, ComputeKernel};
use super::kernel_cache::KernelCache;
use super::layout::VEC4;
use super::vulkan::Reported;
use super::waiting;
use crate::error::{Error, Result};
use crate::settings::AdapterRequest;

/// Optional features of an adapter beyond WebGPU's baseline. Each has a fallback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tier {
    /// GPU timestamps at pass boundaries; without, the wall clock around a drained queue serves.
    pub timestamps: bool,
    /// f64 in shaders (Vulkan only).
    pub f64: bool,
    /// Subgroup operations.
    pub subgroups: bool,
    /// Additive blending into 32-bit float targets; without, 16-bit floats serve.
    pub float32_blending: bool,
    /// Mapped storage (Vulkan only): the host writes into storage buffers in device memory and
    /// reads kernel output there; without, data is copied both ways.
    pub mapped_storage: bool,
}

/// Device limits relevant to kernels and buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads per workgroup.
    pub threads_per_workgroup: u32,
    /// The least and the most threads in a subgroup, powers of two; `None` without subgroup
    /// operations.
    pub subgroup_sizes: Option<[u32; 2]>,
    /// Threads per workgroup in x.
    pub workgroup_x: u32,
    /// Threads per workgroup in y.
    pub workgroup_y: u32,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Workgroups per dispatch and dimension.
    pub workgroups: u32,
    /// Bytes of one storage buffer as a shader sees it.
    pub storage_buffer: u64,
    /// Alignment in bytes of offsets into uniform buffers.
    pub uniform_alignment: u32,
    /// Largest side of a texture in texels.
    pub texture_side: u32,
    /// Bytes of dedicated memory, if the driver reports them.
    pub memory: Option<u64>,
    /// Compute units (NVIDIA: multiprocessors), if the driver reports them.
    pub units: Option<u32>,
}

impl Limits {
    /// The largest number of bodies that fits, if `bodies` do not: at `each` bytes in total and a
    /// `vec4<f32>` in one buffer.
    fn exceeded(&self, bodies: u64, each: u64) -> Option<u64> {
        let of_a_buffer = self.storage_buffer / VEC4;
        let most = self.memory.map_or(of_a_buffer, |memory| (memory / each).min(of_a_buffer));
        Some(most).filter(|most| *most < bodies)
    }
}

/// A borrowed device with its queue: all that drawing needs, independent of who opened it.
#[derive(Clone, Copy, Debug)]
pub struct Handles<'a> {
    /// Creates resources.
    pub device: &'a wgpu::Device,
    /// Receives submissions.
    pub queue: &'a wgpu::Queue,
}

/// An open device with its queue.
#[derive(Debug)]
pub struct Gpu {
    /// The adapter of this device.
    pub adapter: AdapterInfo,
    /// Supported features beyond the baseline.
    pub tier: Tier,
    /// Limits that kernels must respect.
    pub limits: Limits,
    /// wgpu's adapter.
    pub wgpu_adapter: wgpu::Adapter,
    /// wgpu's device.
    pub device: wgpu::Device,
    /// wgpu's queue.
    pub queue: wgpu::Queue,
    /// The first error since the last [`Gpu::check`].
    failure: Arc<Mutex<Option<String>>>,
    /// The reason for device loss, if lost. Never reset: several threads may check it.
    loss: Arc<OnceLock<String>>,
    /// Compiled kernels, by their source text.
    pub(super) kernels: Mutex<HashMap<(String, Checks), ComputeKernel>>,
    /// Compiled kernels from earlier runs of the program.
    pub(super) kernel_cache: Option<KernelCache>,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if let Some(cache) = &self.kernel_cache {
            cache.store();
        }
    }
}

impl Gpu {
    /// Opens the requested adapter.
    ///
    /// Natively the first device of a process stays open until the process ends, and devices are
    /// opened one at a time: NVIDIA's driver (580, Linux) hangs where one thread destroys the last
    /// device while another loads the driver's libraries.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] lists the available adapters; [`Error::Adapter`] if the driver refuses
    /// to open it.
    pub async fn open(request: &AdapterRequest) -> Result<Arc<Self>> {
        Self::open_serialised(Self::open_on(&adapter::shared(), None, request)).await
    }

    /// Runs `opening` while no other thread opens a device, and keeps the first device open.
    #[allow(clippy::await_holding_lock, reason = "nothing is awaited that needs this thread")]
    async fn open_serialised(
        opening: impl Future<Output = Result<Arc<Self>>>,
    ) -> Result<Arc<Self>> {
        #[cfg(target_arch = "wasm32")]
        return opening.await;
        #[cfg(not(target_arch = "wasm32"))]
        {
            static FIRST: Mutex<Option<wgpu::Device>> = Mutex::new(None);
            let mut first = FIRST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let gpu = opening.await?;
            first.get_or_insert_with(|| gpu.device.clone());
            Ok(gpu)
        }
    }

    /// Opens an adapter through an existing instance, able to present on a surface of it.
    pub async fn open_on(
        instance: &wgpu::Instance,
        surface: Option<&wgpu::Surface<'_>>,
        request: &AdapterRequest,
    ) -> Result<Arc<Self>> {
        let (adapter, info) = find_adapter::choose(instance, surface, request).await?;
        Self::open_adapter(adapter, info, request.baseline).await
    }

    /// Every available adapter, best first, and the result of opening it: those of
    /// [`super::adapters`], each under its own name.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_each(baseline_only: bool) -> Vec<(AdapterInfo, Result<Arc<Self>>)> {
        let found = pollster::block_on(find_adapter::enumerate(&adapter::shared()));
        let open = |(adapter, info): (wgpu::Adapter, AdapterInfo)| {
            let opened =
                Self::open_serialised(Self::open_adapter(adapter, info.clone(), baseline_only));
            (info, pollster::block_on(opened))
        };
        found.into_iter().map(open).collect()
    }

    async fn open_adapter(
        adapter: wgpu::Adapter,
        info: AdapterInfo,
        baseline_only: bool,
    ) -> Result<Arc<Self>> {
        let refused = |problem: String| Error::Adapter { adapter: info.name.clone(), problem };

        let has = adapter.limits();
        let baseline = wgpu::Limits::default();
        let required = if baseline_only { baseline.clone() } else { raised(&baseline, &has) };
        let reported = Reported::of(&adapter);
        let mut optional = KernelCache::feature()
            | wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::SHADER_F64
            | wgpu::Features::SUBGROUP
            | wgpu::Features::FLOAT32_BLENDABLE;
        optional.set(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS, reported.maps_storage);
        let features =
            if baseline_only { wgpu::Features::empty() } else { adapter.features() & optional };
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("gravitile"),
                required_features: features,
                required_limits: required,
                ..Default::default()
            })
            .await
            .map_err(|error| refused(error.to_string()))?;

        let failure = Arc::new(Mutex::new(None));
        let first_failure: Arc<Mutex<Option<String>>> = Arc::clone(&failure);
        device.on_uncaptured_error(Arc::new(move |error| {
            let mut first = first_failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            first.get_or_insert(error.to_string());
        }));
        let loss = Arc::new(OnceLock::new());
        let first_loss: Arc<OnceLock<String>> = Arc::clone(&loss);
        // Also called on deliberate destruction; after the drop nothing reads it.
        device.set_device_lost_callback(move |_, text| {
            let _ = first_loss.set(format!("the device was lost: {text}"));
        });

        log::info!("{} is open", info.in_words());
        let kernel_cache = KernelCache::open(&device, &info);
        let (got, properties) = (device.limits(), adapter.get_info());
        Ok(Arc::new(Self {
            adapter: info,
            tier: Tier {
                timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
                f64: features.contains(wgpu::Features::SHADER_F64),
                subgroups: features.contains(wgpu::Features::SUBGROUP),
                float32_blending: features.contains(wgpu::Features::FLOAT32_BLENDABLE),
                mapped_storage: features.contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS),
            },
            limits: Limits {
                threads_per_workgroup: got.max_compute_invocations_per_workgroup,
                workgroup_x: got.max_compute_workgroup_size_x,
                workgroup_y: got.max_compute_workgroup_size_y,
                workgroup_memory: got.max_compute_workgroup_storage_size,
                workgroups: got.max_compute_workgroups_per_dimension,
                storage_buffer: got.max_storage_buffer_binding_size.min(got.max_buffer_size),
                subgroup_sizes: features
                    .contains(wgpu::Features::SUBGROUP)
                    .then_some([properties.subgroup_min_size, properties.subgroup_max_size]),
                uniform_alignment: got.min_uniform_buffer_offset_alignment,
                texture_side: got.max_texture_dimension_2d,
                memory: reported.memory,
                units: reported.units,
            },
            wgpu_adapter: adapter,
            device,
            queue,
            failure,
            loss,
            kernels: Mutex::default(),
            kernel_cache,
        }))
    }

    /// Blocking version of [`Gpu::open`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_blocking(request: &AdapterRequest) -> Result<Arc<Self>> {
        pollster::block_on(Self::open(request))
    }

    /// The handles for drawing.
    pub fn handles(&self) -> Handles<'_> {
        Handles { device: &self.device, queue: &self.queue }
    }

    /// Returns an error if one occurred on the device since the last call, or if the device was
    /// lost.
    pub fn check(&self) -> Result<()> {
        if let Some(text) = self.loss.get() {
            return Err(Error::Device(text.clone()));
        }
        let mut first = self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        first.take().map_or(Ok(()), |text| Err(Error::Device(text)))
    }

    /// Whether the device was lost.
    pub fn is_lost(&self) -> bool {
        self.loss.get().is_some()
    }

    /// Runs callbacks of finished work, without waiting.
    pub fn poll(&self) -> Result<()> {
        self.poll_device(wgpu::PollType::Poll)
    }

    pub(super) fn poll_device(&self, poll_type: wgpu::PollType) -> Result<()> {
        let polled = waiting::poll(&self.device, poll_type);
        if polled.is_err() {
            // A lost device reports its own error, which the next check returns.
            let _ = waiting::poll(&self.device, wgpu::PollType::Poll);
        }
        self.check()?;
        polled.map(drop).map_err(|problem| {
            // No submitted work will ever finish.
            let _ = self.loss.set(format!("the device was lost: {problem}"));
            Error::Device(problem)
        })
    }

    /// Blocks until all submitted work is done. For headless runs and tests.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(&self) -> Result<()> {
        self.poll_device(wgpu::PollType::wait_indefinitely())
    }

    /// Blocks until one submission is done. For headless runs and tests.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait_for(&self, submission: wgpu::SubmissionIndex) -> Result<()> {
        self.poll_device(wgpu::PollType::Wait { submission_index: Some(submission), timeout: None })
    }

    /// [`Gpu::finish`] for work that is expected to take at most `patience`: busy-polls that long,
    /// which notices the end some microseconds earlier than a blocking wait. A poll locks the
    /// driver for all threads of the process, so the pause between two polls is 1/64 of the time
    /// waited so far, up to 50 microseconds: a step of 16 million bodies on four NVIDIA H200 took
    /// 72 ms without pauses, 18 ms with such of 50 microseconds.
    ///
    /// # Errors
    /// The device was lost.
    pub async fn finish_within(
        &self,
        submission: wgpu::SubmissionIndex,
        patience: std::time::Duration,
    ) -> Result<()> {
        // A software adapter needs the CPU cores itself.
        if cfg!(not(target_arch = "wasm32")) && self.adapter.class != DeviceClass::Software {
            const LONGEST_PAUSE: std::time::Duration = std::time::Duration::from_micros(50);
            let begun = crate::wall_clock::Instant::now();
            let mut next = std::time::Duration::ZERO;
            while begun.elapsed() < patience {
                let elapsed = begun.elapsed();
                if elapsed >= next {
                    let polled = waiting::poll(&self.device, wgpu::PollType::Poll);
                    if polled.is_ok_and(|status| status.is_queue_empty()) {
                        return self.check();
                    }
                    next = elapsed + (elapsed / 64).min(LONGEST_PAUSE);
                }
                std::hint::spin_loop();
            }
        }
        self.finish(submission).await
    }

    /// Completes with the submission: natively by blocking, in a browser asynchronously.
    ///
    /// # Errors
    /// The device was lost.
    pub async fn finish(&self, submission: wgpu::SubmissionIndex) -> Result<()> {
        #[cfg(not(target_arch = "wasm32"))]
        return self.wait_for(submission);
        #[cfg(target_arch = "wasm32")]
        {
            let _ = submission;
            let (done, arrives) = futures_channel::oneshot::channel();
            self.queue.on_submitted_work_done(move || {
                let _ = done.send(());
            });
            let lost =
                |_| Error::Device("the device was lost before the submission ended".to_owned());
            arrives.await.map_err(lost)?;
            self.check()
        }
    }

    /// Records one compute pass and submits it. Parameters may be uploaded by `record`.
    pub fn submit_pass(
        &self,
        record: impl FnOnce(&mut wgpu::ComputePass<'_>),
    ) -> wgpu::SubmissionIndex {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        record(&mut encoder.begin_compute_pass(&Default::default()));
        self.queue.submit([encoder.finish()])
    }

    /// Refuses more bodies than fit, at `each` bytes in total and a `vec4<f32>` in one buffer;
    /// `method` names their use in the message.
    ///
    /// # Errors
    /// [`Error::Adapter`] with the largest number.
    pub fn check_bodies(&self, bodies: u64, each: u64, method: &str) -> Result<()> {
        let Some(most) = self.limits.exceeded(bodies, each) else { return Ok(()) };
        let mib = (bodies.saturating_mul(each)) >> 20;
        Err(self.refuse(format!(
            "{bodies} bodies by the method {method} take {mib} MiB, but there is room for at most {most} bodies"
        )))
    }

    /// Creates an error of this adapter.
    pub fn refuse(&self, problem: impl Into<String>) -> Error {
        Error::Adapter { adapter: self.adapter.name.clone(), problem: problem.into() }
    }
}

/// The baseline limits, with those raised that the engine can use.
fn raised(baseline: &wgpu::Limits, has: &wgpu::Limits) -> wgpu::Limits {
    wgpu::Limits {
        max_buffer_size: has.max_buffer_size,
        max_storage_buffer_binding_size: has.max_storage_buffer_binding_size,
        max_compute_workgroup_storage_size: has.max_compute_workgroup_storage_size,
        max_compute_invocations_per_workgroup: has.max_compute_invocations_per_workgroup,
        max_compute_workgroup_size_x: has.max_compute_workgroup_size_x,
        max_compute_workgroup_size_y: has.max_compute_workgroup_size_y,
        max_texture_dimension_2d: has.max_texture_dimension_2d,
        ..baseline.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_limit_respects_buffer_size_and_memory() {
        let limits = Limits {
            subgroup_sizes: None,
            threads_per_workgroup: 256,
            workgroup_x: 256,
            workgroup_y: 256,
            workgroup_memory: 16384,
            workgroups: 65535,
            storage_buffer: 1600,
            uniform_alignment: 256,
            texture_side: 8192,
            memory: None,
            units: None,
        };
        assert_eq!([limits.exceeded(100, 160), limits.exceeded(101, 160)], [None, Some(100)]);
        let small = Limits { memory: Some(8000), ..limits };
        assert_eq!([small.exceeded(50, 160), small.exceeded(51, 160)], [None, Some(50)]);
        assert_eq!([small.exceeded(100, 64), small.exceeded(101, 64)], [None, Some(100)]);
    }
}
