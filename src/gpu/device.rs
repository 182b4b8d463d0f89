//! The open device: what it can do, and what went wrong on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::DeviceClass;
use super::adapter::{self, AdapterInfo};
use super::kernel_cache::KernelCache;
use super::layout::VEC4;
use super::pipeline::{Checks, ComputeKernel};
use super::polling;
use crate::error::{Error, Result};
use crate::settings::AdapterRequest;

/// What an adapter offers beyond WebGPU's baseline. Each is optional and has a fallback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tier {
    /// GPU timestamps at pass boundaries; without, the wall clock around a drained queue serves.
    pub timestamps: bool,
    /// f64 in shaders (Vulkan only).
    pub f64: bool,
    /// Subgroup operations.
    pub subgroups: bool,
    /// Threads of each subgroup, where there are subgroup operations and all subgroups are as large.
    pub subgroup_size: Option<u32>,
    /// Additive blending into 32-bit float targets; without, 16-bit floats serve.
    pub float32_blending: bool,
    /// The host writes into storage buffers of the device's own memory and reads where kernels have written; without,
    /// what it sends and fetches is copied (Vulkan only).
    pub mapped_storage: bool,
}

/// The limits that kernels and buffers meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads per workgroup.
    pub threads_per_workgroup: u32,
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
    /// Bytes that offsets into uniform buffers are multiples of.
    pub uniform_alignment: u32,
    /// Texels along the side of a picture.
    pub texture_side: u32,
    /// Bytes of memory of its own, where the driver tells.
    pub memory: Option<u64>,
    /// Compute units (NVIDIA: multiprocessors), where the driver tells.
    pub units: Option<u32>,
}

impl Limits {
    /// The most bodies that there is room for, if that is fewer: of `each` bytes in all and a `vec4<f32>` in one buffer.
    fn exceeded(&self, bodies: u64, each: u64) -> Option<u64> {
        let of_a_buffer = self.storage_buffer / VEC4;
        let most = self.memory.map_or(of_a_buffer, |memory| (memory / each).min(of_a_buffer));
        Some(most).filter(|most| *most < bodies)
    }
}

/// An open device with its queue.
#[derive(Debug)]
pub struct Gpu {
    /// The adapter it runs on.
    pub adapter: AdapterInfo,
    /// What is there beyond the baseline.
    pub tier: Tier,
    /// What kernels must fit into.
    pub limits: Limits,
    /// wgpu's adapter.
    pub wgpu_adapter: wgpu::Adapter,
    /// wgpu's device.
    pub device: wgpu::Device,
    /// wgpu's queue.
    pub queue: wgpu::Queue,
    /// The first thing that went wrong since the last look.
    failure: Arc<Mutex<Option<String>>>,
    /// How it was lost, if it was: that is told to everybody who looks, as several threads may.
    loss: Arc<OnceLock<String>>,
    /// Kernels compiled so far, by their text.
    pub(super) kernels: Mutex<HashMap<(String, Checks), ComputeKernel>>,
    /// And by earlier starts.
    pub(super) kernel_cache: Option<KernelCache>,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if let Some(cache) = &self.kernel_cache {
            cache.keep();
        }
    }
}

impl Gpu {
    /// Opens the adapter that is asked for.
    ///
    /// Errors: [`Error::NoAdapter`] names the adapters that are there; [`Error::Adapter`] when the
    /// driver refuses to open it.
    ///
    /// The first device of a process stays until its end, and no two are opened at a time: NVIDIA's driver
    /// (580, Linux) hangs where one thread takes down the last device while another loads the driver's libraries.
    #[cfg(not(target_arch = "wasm32"))]
    pub async fn open(request: &AdapterRequest) -> Result<Arc<Self>> {
        Self::open_kept(Self::open_on(&adapter::shared(), None, request)).await
    }

    /// What `opening` gives, while no other thread opens anything; the first device is kept.
    #[cfg(not(target_arch = "wasm32"))]
    #[allow(clippy::await_holding_lock, reason = "nothing is awaited that needs this thread")]
    async fn open_kept(opening: impl Future<Output = Result<Arc<Self>>>) -> Result<Arc<Self>> {
        static FIRST: Mutex<Option<wgpu::Device>> = Mutex::new(None);
        let mut first = FIRST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let gpu = opening.await?;
        first.get_or_insert_with(|| gpu.device.clone());
        Ok(gpu)
    }

    /// Opens the adapter that is asked for, in a browser.
    #[cfg(target_arch = "wasm32")]
    pub async fn open(request: &AdapterRequest) -> Result<Arc<Self>> {
        Self::open_on(&adapter::shared(), None, request).await
    }

    /// Opens an adapter through an instance that is there already, able to present on a surface of it.
    pub async fn open_on(
        instance: &wgpu::Instance,
        surface: Option<&wgpu::Surface<'_>>,
        request: &AdapterRequest,
    ) -> Result<Arc<Self>> {
        let (adapter, info) = adapter::choose(instance, surface, request).await?;
        Self::open_adapter(adapter, info, request.baseline).await
    }

    /// Every adapter that is there, best first, and what came of opening it: those of
    /// [`super::adapters`], each under its own name.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_each(baseline_only: bool) -> Vec<(AdapterInfo, Result<Arc<Self>>)> {
        let found = pollster::block_on(adapter::enumerate(&adapter::shared()));
        let open = |(adapter, info): (wgpu::Adapter, AdapterInfo)| {
            let opened = Self::open_kept(Self::open_adapter(adapter, info.clone(), baseline_only));
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
        let wanted = if baseline_only { baseline.clone() } else { raised(&baseline, &has) };
        let optional = KernelCache::feature()
            | wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::SHADER_F64
            | wgpu::Features::SUBGROUP
            | wgpu::Features::FLOAT32_BLENDABLE
            | super::memory::mapping(&adapter);
        let features =
            if baseline_only { wgpu::Features::empty() } else { adapter.features() & optional };
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("gravitile"),
                required_features: features,
                required_limits: wanted,
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
        // Also when it is destroyed on purpose; after it is dropped nobody asks.
        device.set_device_lost_callback(move |_, text| {
            let _ = first_loss.set(format!("the device was lost: {text}"));
        });

        log::info!("{} is open", info.name);
        let kernel_cache = KernelCache::open(&device, &info);
        let (got, told) = (device.limits(), adapter.get_info());
        Ok(Arc::new(Self {
            adapter: info,
            tier: Tier {
                timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
                f64: features.contains(wgpu::Features::SHADER_F64),
                subgroups: features.contains(wgpu::Features::SUBGROUP),
                subgroup_size: Some(told.subgroup_min_size)
                    .filter(|_| features.contains(wgpu::Features::SUBGROUP))
                    .filter(|size| *size == told.subgroup_max_size),
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
                uniform_alignment: got.min_uniform_buffer_offset_alignment,
                texture_side: got.max_texture_dimension_2d,
                memory: super::memory::of(&adapter),
                units: super::units::of(&adapter),
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

    /// [`Gpu::open`] for programs that have nothing else to do meanwhile.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_blocking(request: &AdapterRequest) -> Result<Arc<Self>> {
        pollster::block_on(Self::open(request))
    }

    /// An error if anything went wrong on the device since the last call, or if it was lost.
    pub fn check(&self) -> Result<()> {
        if let Some(text) = self.loss.get() {
            return Err(Error::Device(text.clone()));
        }
        let mut first = self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        first.take().map_or(Ok(()), |text| Err(Error::Device(text)))
    }

    /// Whether it was lost.
    pub fn is_lost(&self) -> bool {
        self.loss.get().is_some()
    }

    /// Lets callbacks of finished work run, without waiting.
    pub fn poll(&self) -> Result<()> {
        self.come(wgpu::PollType::Poll)
    }

    fn come(&self, so_far: wgpu::PollType) -> Result<()> {
        let polled = polling::poll(&self.device, so_far);
        if polled.is_err() {
            // A lost device refuses in words of its own, which come with the next look.
            let _ = polling::poll(&self.device, wgpu::PollType::Poll);
        }
        self.check()?;
        polled.map(drop).map_err(|problem| {
            // Nothing that it has been given is ever done.
            let _ = self.loss.set(format!("the device was lost: {problem}"));
            Error::Device(problem)
        })
    }

    /// Waits until everything submitted so far is done. For headless runs and tests.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(&self) -> Result<()> {
        self.come(wgpu::PollType::wait_indefinitely())
    }

    /// Waits for one submission. For headless runs and tests.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait_for(&self, submission: wgpu::SubmissionIndex) -> Result<()> {
        self.come(wgpu::PollType::Wait { submission_index: Some(submission), timeout: None })
    }

    /// [`Gpu::finish`] of what should take no longer than `patience`: for so long the host looks again and again, which
    /// tells it some microseconds earlier than being woken.
    ///
    /// Errors: the device was lost.
    pub async fn finish_soon(
        &self,
        submission: wgpu::SubmissionIndex,
        patience: std::time::Duration,
    ) -> Result<()> {
        // A software adapter needs the cores itself.
        if cfg!(not(target_arch = "wasm32")) && self.adapter.class != DeviceClass::Software {
            let begun = web_time::Instant::now();
            while begun.elapsed() < patience {
                let polled = polling::poll(&self.device, wgpu::PollType::Poll);
                if polled.is_ok_and(|status| status.is_queue_empty()) {
                    return self.check();
                }
                std::hint::spin_loop();
            }
        }
        self.finish(submission).await
    }

    /// Ends when the submission has: natively by waiting for it, in a browser without holding anything up.
    ///
    /// Errors: the device was lost.
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
            let lost = |_| Error::Device("the device was lost on the way".to_owned());
            arrives.await.map_err(lost)?;
            self.check()
        }
    }

    /// Refuses more bodies than there is room for, of `each` bytes in all and a `vec4<f32>` in one buffer; `method`
    /// is what they are for.
    ///
    /// Errors: [`Error::Adapter`] with the largest number.
    pub fn check_bodies(&self, bodies: u64, each: u64, method: &str) -> Result<()> {
        let Some(most) = self.limits.exceeded(bodies, each) else { return Ok(()) };
        let mib = (bodies.saturating_mul(each)) >> 20;
        Err(self.refuse(format!(
            "{bodies} bodies by the method {method} take {mib} MiB, but there is room for at most {most} bodies"
        )))
    }

    /// An error of this adapter.
    pub fn refuse(&self, problem: impl Into<String>) -> Error {
        Error::Adapter { adapter: self.adapter.name.clone(), problem: problem.into() }
    }
}

/// The baseline with those limits raised that the engine can make use of.
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
    fn bodies_are_counted_by_the_buffer_and_by_all_memory() {
        let limits = Limits {
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
