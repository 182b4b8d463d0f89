//! Blocks shared by several devices. Each device has all bodies and takes the same blocks. If a
//! block is large enough to pay, each computes the forces on a range of its bodies and receives the
//! rest from the others through the host. Every body's sums have the same order as on one device,
//! so the bits are those of one.
//!
//! The plan on the device stops before a block that is to be shared (`BlockState::waiting`).
//! Another plan at the end of each submission begins it, so the host waits once for each such
//! block. The slices are those of the whole block. Members agree whether to stop at that point, or
//! after some hundreds of blocks that were not shared.

use std::ops::Range;

use crate::wall_clock::Instant;
use wgpu::util::StagingBelt;

use super::kernels::BlockBuffers;
use super::{NONE, Resident};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member};
use crate::gpu::layout::{BlockParams, BlockState};
use crate::gpu::{DeviceClass, DevicePart, Readback, Share, Spent};
use crate::integrate::blocks::SharedBlocks;
use crate::stop;

/// State of a device that shares blocks.
pub(super) struct SharedState {
    pub member: Member,
    /// Offset of the parameters of shared blocks.
    row: u32,
    /// Whether a block has received forces that are still to be used.
    has_received: bool,
    /// Copies of these forces, and the memory from which they are made.
    received: Option<wgpu::CommandEncoder>,
    staging: StagingBelt,
    /// Number of this device's sinks in the last such block.
    last_own: usize,
    /// The number of blocks taken, as counted by [`Resident::taken`], at the last synchronisation.
    last_sync: u32,
    spent: SharedBlocks,
    /// Time spent since the last report.
    since_report: Spent,
}

/// Bytes of a staging buffer for received forces.
const STAGING: u64 = 1 << 20;

/// Blocks with more interactions than this are shared: computing one of this size takes a device
/// twice as long as an exchange.
fn sharing_threshold(class: DeviceClass) -> u64 {
    match class {
        DeviceClass::Discrete => 1 << 27,
        // Too few for any gain, but enough that small runs exercise both paths.
        DeviceClass::Software => 1 << 14,
        _ => 1 << 25,
    }
}

/// Number of blocks computed without the other devices after which the devices agree whether to
/// stop, as they do after each shared block: less than a second of the largest such blocks.
fn sync_interval(class: DeviceClass) -> u32 {
    match class {
        DeviceClass::Discrete => 1024,
        DeviceClass::Software => 128,
        _ => 256,
    }
}

impl Resident {
    /// Shares blocks of many bodies from now on with the other members, all of which have the same
    /// bodies.
    pub fn share(&mut self, member: Member) {
        let (parts, part) = (member.members() as u32, member.member() as u32);
        let most = sharing_threshold(self.gpu.adapter.class) / self.count.max(1) as u64;
        self.common.alone = most.min(u64::from(u32::MAX)) as u32;
        self.params.clear();
        self.params.offset_of(self.common);
        let shared = BlockParams { parts, part, shares: 1, ..self.common };
        let row = self.params.offset_of(shared);
        self.params.upload(&self.gpu);
        let last_sync = self.taken();
        let (spent, since_report) = Default::default();
        self.shared = Some(SharedState {
            member,
            row,
            has_received: false,
            received: None,
            staging: StagingBelt::new(self.gpu.device.clone(), STAGING),
            last_own: 0,
            last_sync,
            spent,
            since_report,
        });
    }

    /// Number of blocks taken so far; the device counts a block when it looks for the next.
    fn taken(&self) -> u32 {
        self.last_state.blocks.wrapping_add(u32::from(self.last_state.members > 0))
    }

    /// Stops if requested. Devices that share blocks stop after the same one, when they
    /// synchronise.
    ///
    /// # Errors
    /// [`Error::Stopped`]; another device failed.
    pub(super) fn check_stop(&mut self) -> Result<()> {
        let (left, taken) = (self.blocks_until_sync(), self.taken());
        let Some(SharedState { member, last_sync, .. }) = &mut self.shared else {
            return stop::check();
        };
        if left > 0 {
            return Ok(());
        }
        *last_sync = taken;
        match member.all_agree(!stop::is_wanted())? {
            true => Ok(()),
            false => Err(Error::Stopped),
        }
    }

    /// Number of blocks that may be taken before the devices must synchronise.
    pub(super) fn blocks_until_sync(&self) -> u32 {
        let Some(SharedState { last_sync, .. }) = self.shared else { return u32::MAX };
        let since = self.taken().wrapping_sub(last_sync);
        // A shared block is counted before it is done.
        let since = if since > u32::MAX / 2 { 0 } else { since };
        sync_interval(self.gpu.adapter.class).saturating_sub(since)
    }

    /// Statistics of the blocks it has shared with others.
    pub fn shared_blocks(&self) -> SharedBlocks {
        self.shared.as_ref().map(|shared| shared.spent).unwrap_or_default()
    }

    /// Adds the duration of steps.
    pub fn spend(&mut self, secs: f64) {
        if let Some(shared) = &mut self.shared {
            shared.since_report.steps += secs;
        }
    }

    /// The device's share and exchange time since the last call.
    pub fn take_report(&mut self) -> DevicePart {
        DevicePart {
            device: self.gpu.adapter.in_words(),
            share: Share::Blocks,
            exchanging: self.shared.as_mut().and_then(|shared| shared.since_report.take()),
        }
    }

    /// Notifies the other devices that this one has failed.
    pub fn notify_failure(&self, why: &Error) {
        if let Some(shared) = &self.shared {
            shared.member.abort(&why.to_string());
        }
    }

    /// Records the end of a block whose forces have been received.
    pub(super) fn end_shared(&mut self, pass: &mut wgpu::ComputePass<'_>) {
        if self.shared.as_mut().is_some_and(|shared| std::mem::take(&mut shared.has_received)) {
            self.correct(pass);
        }
    }

    /// Records the forces on this device's range of the next block, if that is to be shared.
    pub(super) fn begin_shared(&self, pass: &mut wgpu::ComputePass<'_>) {
        let Some(SharedState { row, .. }) = self.shared else { return };
        self.kernels.plan.set(pass, &[row]);
        pass.dispatch_workgroups(1, 1, 1);
        self.kernels.predict.set(pass, &[0, row]);
        self.indirect(pass, 0);
        self.kernels.share.set(pass, &[row]);
        pass.dispatch_workgroups(1, 1, 1);
        self.forces(pass);
    }

    /// The sinks of a shared block and the forces on them that are read with the state: a little
    /// more than the last time, since their number is known only afterwards.
    pub(super) fn expected_forces(&self) -> Vec<(&wgpu::Buffer, Range<u64>)> {
        let Some(SharedState { last_own, .. }) = self.shared else { return Vec::new() };
        self.ranges_of(0..(last_own + last_own / 8 + 64).min(self.count))
    }

    fn ranges_of(&self, sinks: Range<usize>) -> Vec<(&wgpu::Buffer, Range<u64>)> {
        let bytes = |words: usize| 4 * (words * sinks.start) as u64..4 * (words * sinks.end) as u64;
        let BlockBuffers { itself, sums, sum_words, .. } = &self.buffers;
        vec![(itself, bytes(1)), (sums, bytes(*sum_words))]
    }

    /// The forces that were received last, to be copied before the next submission.
    pub(super) fn received(&mut self) -> Option<wgpu::CommandBuffer> {
        let SharedState { staging, received, .. } = self.shared.as_mut()?;
        let encoder = received.take()?;
        staging.finish();
        Some(encoder.finish())
    }

    /// Makes the memory of these copies usable again, after the submission.
    pub(super) fn recall_staging(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.staging.recall();
        }
    }

    /// Exchanges the forces of the block that has just begun, if all that this device has of them
    /// were read; otherwise returns those that were.
    ///
    /// # Errors
    /// As of [`Resident::exchange`].
    pub(super) fn exchange_read(
        &mut self,
        itself: &[u32],
        sums: &[u32],
    ) -> Result<Option<[Vec<u32>; 2]>> {
        let (own, words) = (self.last_state.taken as usize, self.buffers.sum_words);
        match own > itself.len() {
            true => Ok(Some([itself.to_vec(), sums.to_vec()])),
            false => self.exchange(&itself[..own], &sums[..own * words]).map(|()| None),
        }
    }

    /// [`Resident::exchange_read`] with forces of which only the first were read.
    ///
    /// # Errors
    /// The device failed; as of [`Resident::exchange`].
    pub(super) async fn exchange_more(
        &mut self,
        [mut itself, mut sums]: [Vec<u32>; 2],
    ) -> Result<()> {
        let mut readback = Readback::default();
        let rest = self.ranges_of(itself.len()..self.last_state.taken as usize);
        readback.copy(&self.gpu, &rest).await?;
        let rest = readback.arrive::<u32>().await?;
        itself.extend_from_slice(&rest[0]);
        sums.extend_from_slice(&rest[1]);
        self.exchange(&itself, &sums)
    }

    /// Sends the others the forces on this device's sinks of a block, and receives theirs.
    ///
    /// # Errors
    /// [`Error::Stopped`], on all devices together; another one failed.
    fn exchange(&mut self, itself: &[u32], sums: &[u32]) -> Result<()> {
        let (taken, members) = (self.taken(), self.last_state.members as usize);
        let words = self.buffers.sum_words;
        let Some(shared) = &mut self.shared else { return Ok(()) };
        shared.last_own = itself.len();
        let begun = Instant::now();
        // All devices receive a stop at the same block.
        let count = if stop::is_wanted() { NONE } else { itself.len() as u32 };
        let mine = [&count.to_le_bytes(), bytemuck::cast_slice(itself), bytemuck::cast_slice(sums)];
        let me = shared.member.member();
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let (buffers, staging) = (&self.buffers, &mut shared.staging);
        let mut write = |buffer: &wgpu::Buffer, at: usize, bytes: &[u8]| {
            if let Some(size) = wgpu::BufferSize::new(bytes.len() as u64) {
                let mut view = staging.write_buffer(&mut encoder, buffer, 4 * at as u64, size);
                view.copy_from_slice(bytes);
            }
        };
        let (mut at, mut bytes, mut stops) = (itself.len(), 0, false);
        shared.member.gather_pieces(&mine, &mut |from, message| {
            let (count, forces) = message.split_at(4);
            let count: u32 = bytemuck::pod_read_unaligned(count);
            stops |= count == NONE;
            bytes += forces.len() as u64;
            let n = count as usize;
            if from == me || count == NONE {
                return;
            }
            if at + n <= members {
                let (itself, sums) = forces.split_at(4 * n);
                write(&buffers.itself, at, itself);
                write(&buffers.sums, words * at, sums);
            }
            at += n;
        })?;
        shared.received = Some(encoder);
        if stops {
            self.abandon()?;
            return Err(Error::Stopped);
        }
        if at != members {
            let what = format!("the devices have found {at} bodies of a block of {members}");
            return Err(Error::Device(what));
        }
        shared.spent.blocks += 1;
        shared.spent.body_steps += members as u64;
        shared.spent.bytes += bytes;
        let secs = begun.elapsed().as_secs_f64();
        shared.spent.secs += secs;
        shared.since_report.exchanges += secs;
        shared.has_received = true;
        shared.last_sync = taken;
        Ok(())
    }

    /// Drops a block that has begun: its bodies have not been changed.
    fn abandon(&mut self) -> Result<()> {
        let members = std::mem::offset_of!(BlockState, members) as u64;
        self.gpu.queue.write_buffer(&self.buffers.state, members, &[0; 4]);
        (self.last_state.members, self.last_state.waiting) = (0, 0);
        self.gpu.check()
    }
}
