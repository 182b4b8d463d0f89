//! One picture by several devices, each of which has some of the bodies: the first adds up the
//! light of all. The sums are of integers, so a picture has the bits that one device with all
//! bodies would give it by [`super::Adding::Compute`].

use std::num::Wrapping;
use std::ops::Range;

use super::adding::{GROUP, GROUPS_A_ROW};
use super::ages::{Ages, missing_ages};
use super::light::{HDR_FORMAT, shader};
use super::look::Look;
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange};
use crate::gpu::{
    Binding, Handles, Readback, begin_computing, bind, compute_pipeline, group_layout, new_buffer,
    poll,
};

/// Bytes of a message with sums of light: messages this long are sent from memory that is used
/// again.
const PIECE: usize = 1 << 23;

/// The devices that paint a picture together.
pub struct Together<'a> {
    /// The connection of this one; all make the same calls. Member 0 gets the picture.
    pub exchange: &'a mut dyn Exchange,
    /// Number of bodies of all devices.
    pub all: u32,
    /// `array<u32>`: the number of each body of this device among all.
    pub numbers: &'a wgpu::Buffer,
}

/// What a device keeps from one picture to the next.
#[derive(Default)]
pub(super) struct Shared {
    /// The light of all devices, on the first.
    total: Vec<u64>,
    readback: Readback,
    ages: Option<PartAges>,
}

/// The ages of a device's bodies, while colours show them.
struct PartAges {
    known: Ages,
    all: wgpu::Buffer,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    /// `array<vec4<f32>>`: that of each body in x.
    own: wgpu::Buffer,
}

impl PartAges {
    /// # Errors
    /// More bodies than a buffer of the device holds.
    fn new(gpu: Handles, known: &Ages) -> Result<Self> {
        use Binding::{Read, Write};
        let compute = wgpu::ShaderStages::COMPUTE;
        let layout = group_layout(gpu.device, "ages", compute, &[Read, Read, Write]);
        let module = shader(gpu.device, "ages", HDR_FORMAT)?;
        let bytes = 4 * known.len().max(1) as u64;
        let limits = gpu.device.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        if bytes > most {
            let allowed = format!("at most {} to be coloured by age on this device", most / 4);
            return Err(Error::value("the number of bodies", known.len(), allowed));
        }
        let all = new_buffer(gpu.device, "ages of all", bytes, USAGE);
        gpu.queue.write_buffer(&all, 0, bytemuck::cast_slice(known));
        Ok(Self {
            pipeline: compute_pipeline(gpu.device, &module, "main", &[&layout]),
            own: new_buffer(gpu.device, "ages", 16, USAGE),
            known: Ages::clone(known),
            all,
            layout,
        })
    }
}

const USAGE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST);

impl Shared {
    /// Records the ages of `count` bodies, if the look shows ages, and returns their buffer.
    ///
    /// # Errors
    /// A look without ages; more bodies than a buffer of the device holds.
    pub fn ages(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        (look, numbers): (&Look, &wgpu::Buffer),
        count: u32,
    ) -> Result<Option<wgpu::Buffer>> {
        if !look.shows_ages() {
            self.ages = None;
            return Ok(None);
        }
        let known = look.ages.as_ref().ok_or_else(missing_ages)?;
        let kept = self.ages.take().filter(|ages| Ages::ptr_eq(&ages.known, known));
        let ages = self.ages.insert(match kept {
            Some(ages) => ages,
            None => PartAges::new(gpu, known)?,
        });
        let bytes = 16 * u64::from(count.max(1));
        if ages.own.size() < bytes {
            ages.own = new_buffer(gpu.device, "ages", bytes, USAGE);
        }
        let bound = [&ages.all, numbers, &ages.own].map(wgpu::Buffer::as_entire_binding);
        let group = bind(gpu.device, "ages", &ages.layout, &bound);
        let mut pass = begin_computing(encoder, "ages");
        pass.set_pipeline(&ages.pipeline);
        pass.set_bind_group(0, &group, &[]);
        let groups = count.div_ceil(GROUP);
        pass.dispatch_workgroups(groups.min(GROUPS_A_ROW), groups.div_ceil(GROUPS_A_ROW), 1);
        Ok(Some(ages.own.clone()))
    }
}

impl Together<'_> {
    /// Whether this device makes the picture.
    pub fn is_first(&self) -> bool {
        self.exchange.member() == 0
    }

    /// Submits `encoder` and replaces the `u32` in these bytes of each buffer by their sums over
    /// all devices, modulo 2^32.
    ///
    /// # Errors
    /// The device was lost; another member has failed.
    pub(super) fn sum(
        &mut self,
        gpu: Handles,
        encoder: wgpu::CommandEncoder,
        buffers: &[(&wgpu::Buffer, Range<u64>)],
    ) -> Result<()> {
        let mut readback = Readback::default();
        submit_and_read(gpu, encoder, &mut readback, buffers)?;
        for ((buffer, range), mut words) in
            buffers.iter().zip(readback.take_waited::<Wrapping<u32>>()?)
        {
            exchange::sum_integers(self.exchange, &mut words)?;
            gpu.queue.write_buffer(buffer, range.start, bytemuck::cast_slice(&words));
        }
        Ok(())
    }

    /// Submits `encoder` and adds the sums of light, `array<u64>`, of all devices to those of the
    /// first; those of the others become 0.
    ///
    /// # Errors
    /// As of [`Together::sum`].
    pub(super) fn sum_light(
        &mut self,
        gpu: Handles,
        encoder: wgpu::CommandEncoder,
        sums: &wgpu::Buffer,
        Shared { total, readback, .. }: &mut Shared,
    ) -> Result<()> {
        submit_and_read(gpu, encoder, readback, &[(sums, 0..sums.size())])?;
        let (members, is_first) = (self.exchange.members(), self.is_first());
        let add = |read: &[&[u64]]| {
            total.clear();
            if is_first {
                total.extend_from_slice(read[0]);
            }
            for (k, own) in read[0].chunks(PIECE / 8).enumerate() {
                let mut messages: Vec<&[u8]> = vec![&[]; members];
                if !is_first {
                    messages[0] = bytemuck::cast_slice(own);
                }
                self.exchange.all_to_all(&messages, &mut |_, received| {
                    let others = received.chunks_exact(8).map(bytemuck::pod_read_unaligned::<u64>);
                    let here = total.iter_mut().skip(k * PIECE / 8);
                    here.zip(others).for_each(|(sum, other)| *sum = sum.wrapping_add(other));
                })?;
            }
            Ok(())
        };
        pollster::block_on(readback.arrive_as(add))??;
        match is_first {
            true => gpu.queue.write_buffer(sums, 0, bytemuck::cast_slice(total)),
            false => {
                let mut encoder = gpu.device.create_command_encoder(&Default::default());
                encoder.clear_buffer(sums, 0, None);
                gpu.queue.submit([encoder.finish()]);
            }
        }
        Ok(())
    }
}

fn submit_and_read(
    gpu: Handles,
    mut encoder: wgpu::CommandEncoder,
    readback: &mut Readback,
    buffers: &[(&wgpu::Buffer, Range<u64>)],
) -> Result<()> {
    readback.record(gpu.device, &mut encoder, buffers);
    let submission_index = Some(gpu.queue.submit([encoder.finish()]));
    readback.submitted();
    let lost = |problem| Error::Device(format!("reading sums of light: {problem}"));
    poll(gpu.device, wgpu::PollType::Wait { submission_index, timeout: None }).map_err(lost)?;
    Ok(())
}
