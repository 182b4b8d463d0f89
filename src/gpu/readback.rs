//! Reading device buffers back to the host.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

#[cfg(not(target_arch = "wasm32"))]
use bytemuck::cast_slice;

use super::Gpu;
use super::buffers::new_buffer;
use crate::error::{Error, Result};

/// Reads the first `count` entries of each buffer and blocks until they arrive. For headless runs
/// and tests.
///
/// All copies go in one submission, so the buffers are read in a consistent state.
#[cfg(not(target_arch = "wasm32"))]
pub fn read_blocking<T: bytemuck::Pod>(
    gpu: &Gpu,
    buffers: &[&wgpu::Buffer],
    count: usize,
) -> Result<Vec<Vec<T>>> {
    pollster::block_on(read(gpu, buffers, count))
}

/// The first `count` entries of each buffer in a consistent state, once the device has computed
/// them; does not block in a browser.
pub async fn read<T: bytemuck::Pod>(
    gpu: &Gpu,
    buffers: &[&wgpu::Buffer],
    count: usize,
) -> Result<Vec<Vec<T>>> {
    read_part(gpu, buffers, 0..count).await
}

/// [`read`] for a range of the entries.
pub async fn read_part<T: bytemuck::Pod>(
    gpu: &Gpu,
    buffers: &[&wgpu::Buffer],
    entries: Range<usize>,
) -> Result<Vec<Vec<T>>> {
    let ranges: Vec<_> = buffers.iter().map(|buffer| (*buffer, entries.clone())).collect();
    read_ranges(gpu, &ranges).await
}

/// [`read`] with a separate count for each buffer.
pub async fn read_each<T: bytemuck::Pod>(
    gpu: &Gpu,
    buffers: &[(&wgpu::Buffer, usize)],
) -> Result<Vec<Vec<T>>> {
    let ranges: Vec<_> = buffers.iter().map(|(buffer, count)| (*buffer, 0..*count)).collect();
    read_ranges(gpu, &ranges).await
}

async fn read_ranges<T: bytemuck::Pod>(
    gpu: &Gpu,
    buffers: &[(&wgpu::Buffer, Range<usize>)],
) -> Result<Vec<Vec<T>>> {
    let bytes = |n: usize| (n * size_of::<T>()) as u64;
    let ranges: Vec<_> = buffers
        .iter()
        .map(|(buffer, entries)| (*buffer, bytes(entries.start)..bytes(entries.end)))
        .collect();
    let mut readback = Readback::default();
    readback.copy(gpu, &ranges).await?;
    readback.arrive().await
}

/// An asynchronous copy of buffer contents to the host, for programs that must not block. Its
/// staging buffers are reused.
#[derive(Debug, Default)]
pub struct Readback {
    staging: Vec<wgpu::Buffer>,
    /// A buffer mapped and read in place instead of copied.
    watched: Option<wgpu::Buffer>,
    /// Bytes of each pending copy.
    bytes: Vec<u64>,
    state: CopyState,
    /// Number of finished copies; [`FAILED`] is added for each that failed.
    arrived: Arc<Arrived>,
}

#[derive(Debug, Default)]
struct Arrived {
    copies: AtomicU32,
    /// The task that awaits them.
    waker: Mutex<Option<Waker>>,
}

impl Arrived {
    fn waker(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CopyState {
    #[default]
    Idle,
    Recorded,
    Flying,
}

/// More than the number of copies, and small enough not to overflow when summed.
const FAILED: u32 = 1 << 16;

impl Readback {
    /// Whether a new copy can be recorded.
    pub fn is_idle(&self) -> bool {
        self.state == CopyState::Idle
    }

    /// Records copies of these byte ranges (multiples of 4) of each buffer. The readback must be
    /// idle.
    pub fn record(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        buffers: &[(&wgpu::Buffer, Range<u64>)],
    ) {
        debug_assert!(self.is_idle(), "a readback takes one copy at a time");
        self.bytes.clear();
        self.watched = None;
        for (i, (buffer, range)) in buffers.iter().enumerate() {
            let bytes = range.end - range.start;
            let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
            let made = |bytes: u64| new_buffer(device, "readback", bytes, usage);
            match self.staging.get_mut(i) {
                None => self.staging.push(made(bytes)),
                // What has grown once will grow again, within what the device allows.
                Some(staging) if staging.size() < bytes => {
                    let spare = (bytes + bytes / 4).next_multiple_of(4);
                    *staging = made(spare.min(device.limits().max_buffer_size).max(bytes));
                }
                Some(_) => {}
            }
            encoder.copy_buffer_to_buffer(buffer, range.start, &self.staging[i], 0, bytes);
            self.bytes.push(bytes);
        }
        self.state = CopyState::Recorded;
    }

    /// Copies these byte ranges (multiples of 4) of each buffer and waits for them. The readback
    /// must be idle.
    ///
    /// # Errors
    /// The device was lost.
    pub async fn copy(&mut self, gpu: &Gpu, buffers: &[(&wgpu::Buffer, Range<u64>)]) -> Result<()> {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        self.record(&gpu.device, &mut encoder, buffers);
        let submission = gpu.queue.submit([encoder.finish()]);
        self.submitted();
        gpu.finish(submission).await
    }

    /// Reads `bytes` of a mappable buffer in place after the next submission, instead of a copy.
    /// Until they have been read, no other submission may use the buffer. The readback must be
    /// idle.
    pub fn watch(&mut self, buffer: &wgpu::Buffer, bytes: u64) {
        debug_assert!(self.is_idle(), "a readback takes one copy at a time");
        self.bytes.clear();
        self.bytes.push(bytes);
        self.watched = Some(buffer.clone());
        self.state = CopyState::Recorded;
    }

    /// The buffers to map, with their numbers of bytes.
    fn used(&self) -> impl Iterator<Item = (&wgpu::Buffer, u64)> {
        let staging = if self.watched.is_some() { &[] } else { &self.staging[..] };
        self.watched.iter().chain(staging).zip(self.bytes.iter().copied())
    }

    /// Abandons pending copies and unmaps watched buffers for further use.
    pub fn abandon(&mut self) {
        if let (CopyState::Flying, Some(watched)) = (self.state, &self.watched) {
            watched.unmap();
        }
        *self = Self::default();
    }

    /// Discards copies whose encoder was dropped without being submitted.
    pub fn forget_recorded(&mut self) {
        if self.state == CopyState::Recorded {
            self.state = CopyState::Idle;
        }
    }

    /// Call after the submission that contains the copies; no effect if there are none.
    pub fn submitted(&mut self) {
        if self.state != CopyState::Recorded {
            return;
        }
        // A new counter: callbacks of the last copies may still be pending if another thread polls
        // the device and they were taken after a wait.
        self.arrived = Arc::default();
        for (staging, bytes) in self.used() {
            let arrived = Arc::clone(&self.arrived);
            staging.map_async(wgpu::MapMode::Read, 0..bytes, move |result| {
                let one = if result.is_ok() { 1 } else { FAILED };
                arrived.copies.fetch_add(one, Ordering::AcqRel);
                if let Some(waker) = arrived.waker().take() {
                    waker.wake();
                }
            });
        }
        self.state = CopyState::Flying;
    }

    /// The contents, once they have arrived; the caller has to poll the device meanwhile.
    ///
    /// # Errors
    /// The device was lost.
    pub fn take<T: bytemuck::Pod>(&mut self) -> Option<Result<Vec<Vec<T>>>> {
        let arrived = self.arrived.copies.load(Ordering::Acquire);
        if self.state != CopyState::Flying || (arrived as usize) < self.bytes.len() {
            return None;
        }
        if arrived >= FAILED {
            self.state = CopyState::Idle;
            self.staging.clear();
            return Some(Err(Error::Device(
                "cannot read a buffer back: its copy failed".to_owned(),
            )));
        }
        Some(self.take_waited())
    }

    /// The contents, after [`Gpu::finish`] of the submission that contains the copies.
    ///
    /// # Errors
    /// Nothing had been submitted; the device was lost.
    pub async fn arrive<T: bytemuck::Pod>(&mut self) -> Result<Vec<Vec<T>>> {
        if cfg!(not(target_arch = "wasm32")) || self.state != CopyState::Flying {
            return self.take_waited();
        }
        std::future::poll_fn(|context| {
            *self.arrived.waker() = Some(context.waker().clone());
            self.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Applies `look` to the contents in place, after [`Gpu::finish`] of the submission that
    /// contains the copies.
    ///
    /// # Errors
    /// Nothing had been submitted; the device was lost.
    pub async fn arrive_as<T: bytemuck::Pod, R>(
        &mut self,
        look: impl FnOnce(&[&[T]]) -> R,
    ) -> Result<R> {
        #[cfg(target_arch = "wasm32")]
        {
            let copied = self.arrive::<T>().await?;
            Ok(look(&copied.iter().map(Vec::as_slice).collect::<Vec<_>>()))
        }
        #[cfg(not(target_arch = "wasm32"))]
        self.look(|parts| look(&parts.iter().map(|part| cast_slice(part)).collect::<Vec<_>>()))
    }

    /// The contents, after a wait for the submission that contains the copies. The map callbacks
    /// need not have run by then: where several threads wait on one device, another may be about to
    /// run them.
    ///
    /// # Errors
    /// Nothing had been submitted; the device was lost.
    pub fn take_waited<T: bytemuck::Pod>(&mut self) -> Result<Vec<Vec<T>>> {
        self.look(|parts| parts.iter().map(|part| bytemuck::pod_collect_to_vec(part)).collect())
    }

    fn look<R>(&mut self, look: impl FnOnce(&[&[u8]]) -> R) -> Result<R> {
        let failed =
            |problem: String| Error::Device(format!("cannot read a buffer back: {problem}"));
        if self.state != CopyState::Flying {
            return Err(failed("no copy is pending".to_owned()));
        }
        self.state = CopyState::Idle;
        let views = self.used().map(|(staging, bytes)| staging.get_mapped_range(0..bytes));
        let views: std::result::Result<Vec<_>, _> = views.collect();
        match views {
            Ok(views) => {
                let made = look(&views.iter().map(|view| &view[..]).collect::<Vec<_>>());
                drop(views);
                self.used().for_each(|(staging, _)| staging.unmap());
                Ok(made)
            }
            Err(error) => {
                // Some of them may still be mapped.
                self.staging.clear();
                Err(failed(error.to_string()))
            }
        }
    }
}

/// The bytes of a buffer that is mapped until this is dropped, and meanwhile not used otherwise.
pub struct MappedCopy {
    buffer: wgpu::Buffer,
    /// `None` if there are no bytes, and while this is dropped.
    view: Option<wgpu::BufferView>,
}

impl MappedCopy {
    /// Maps the first `bytes` of a buffer into which a finished submission has copied.
    ///
    /// # Errors
    /// The device was lost.
    pub fn new(gpu: &Gpu, buffer: wgpu::Buffer, bytes: u64) -> Result<Self> {
        if bytes == 0 {
            return Ok(Self { buffer, view: None });
        }
        buffer.map_async(wgpu::MapMode::Read, 0..bytes, |_| ());
        gpu.poll_device(wgpu::PollType::wait_indefinitely())?;
        match buffer.get_mapped_range(0..bytes) {
            Ok(view) => Ok(Self { buffer, view: Some(view) }),
            Err(error) => Err(Error::Device(format!("cannot read a buffer back: {error}"))),
        }
    }
}

impl AsRef<[u8]> for MappedCopy {
    fn as_ref(&self) -> &[u8] {
        self.view.as_ref().map_or(&[], |view| &view[..])
    }
}

impl Drop for MappedCopy {
    fn drop(&mut self) {
        if self.view.take().is_some() {
            self.buffer.unmap();
        }
    }
}
