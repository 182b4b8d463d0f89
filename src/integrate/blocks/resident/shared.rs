//! Blocks shared by several devices. Each device has all bodies and takes the same blocks. If a
//! block is large enough to pay, each computes the forces on a range of its bodies and receives the
//! rest from the others through the host. Every body's sums have the same order as on one device,
//! so the bits are those of one.
//!
//! The plan on the device stops before a block that is to be shared (`BlockState::waiting`). The
//! slices are those of the whole block. Members agree whether to stop at that point, or after some
//! hundreds of blocks that were not shared.

use web_time::Instant;

use super::{NONE, Resident};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member};
use crate::gpu::layout::{BlockParams, BlockState};
use crate::gpu::{DeviceClass, DevicePart, Share, Spent, read_each};
use crate::integrate::blocks::SharedBlocks;
use crate::stop;

/// State of a device that shares blocks.
pub(super) struct SharedState {
    pub member: Member,
    /// Offset of the parameters of shared blocks.
    row: u32,
    /// Whether a block has received forces that are still to be used.
    has_received: bool,
    /// Number of this device's sinks in the last such block.
    last_own: usize,
    /// The number of blocks taken, as counted by [`Resident::taken`], at the last synchronisation.
    last_sync: u32,
    spent: SharedBlocks,
    /// Time spent since the last report.
    since_report: Spent,
}

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
        let shared = BlockParams { alone: u32::MAX, parts, part, ..self.common };
        let row = self.params.offset_of(shared);
        self.params.upload(&self.gpu);
        let last_sync = self.taken();
        let (spent, since_report) = Default::default();
        self.shared = Some(SharedState {
            member,
            row,
            has_received: false,
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

    /// Computes this device's range of the pending block, and receives the ranges of the others.
    ///
    /// # Errors
    /// [`Error::Stopped`], on all devices together; the device failed; another one failed.
    pub(super) async fn compute_shared(&mut self) -> Result<()> {
        let Some(SharedState { row, last_own, .. }) = self.shared else { return Ok(()) };
        let members = self.last_state.waiting as usize;
        self.gpu.submit_pass(|pass| {
            self.kernels.plan.set(pass, &[row]);
            pass.dispatch_workgroups(1, 1, 1);
            self.kernels.predict.set(pass, &[0, row]);
            self.indirect(pass, 0);
            self.kernels.share.set(pass, &[row]);
            pass.dispatch_workgroups(1, 1, 1);
            self.forces(pass);
        });
        // The number of this device's own sinks is known only afterwards; the read-ahead assumes as
        // many as last time.
        let state_words = size_of::<BlockState>() / 4;
        let most = self.count.min(members);
        let mut guess = (last_own + last_own / 8 + 64).min(most);
        let (own, itself, sums) = loop {
            let Self { buffers, gpu, .. } = &*self;
            let sums = (&buffers.sums, guess * buffers.sum_words);
            let ranges = [(&buffers.state, state_words), (&buffers.itself, guess), sums];
            let mut read = read_each::<u32>(gpu, &ranges).await?;
            let state: BlockState = bytemuck::pod_read_unaligned(bytemuck::cast_slice(&read[0]));
            let own = state.taken as usize;
            if own <= guess {
                let sums = read.swap_remove(2);
                break (own, read.swap_remove(1), sums);
            }
            guess = own.min(most);
        };
        let (words, taken) = (self.buffers.sum_words, self.taken());
        let Some(shared) = &mut self.shared else { return Ok(()) };
        shared.last_own = own;
        let begun = Instant::now();
        // All devices receive a stop at the same block.
        let count = if stop::is_wanted() { NONE } else { own as u32 };
        let all = vec![size_of::<u32>(); shared.member.members()];
        let mut counts = Vec::with_capacity(all.len());
        shared.member.all_gather(&count.to_le_bytes(), &all, &mut |_, received| {
            counts.push(bytemuck::pod_read_unaligned::<u32>(received));
        })?;
        if counts.contains(&NONE) {
            self.abandon().await?;
            return Err(Error::Stopped);
        }
        let bytes: Vec<usize> = counts.iter().map(|n| *n as usize * (1 + words) * 4).collect();
        let mut mine = itself[..own].to_vec();
        mine.extend_from_slice(&sums[..own * words]);
        let me = shared.member.member();
        let mut at = own;
        let (buffers, queue) = (&self.buffers, &self.gpu.queue);
        shared.member.all_gather(bytemuck::cast_slice(&mine), &bytes, &mut |k, received| {
            if k == me || received.is_empty() {
                return;
            }
            let n = counts[k] as usize;
            let (itself, sums) = received.split_at(4 * n);
            queue.write_buffer(&buffers.itself, 4 * at as u64, itself);
            queue.write_buffer(&buffers.sums, (4 * words * at) as u64, sums);
            at += n;
        })?;
        if at != members {
            let what = format!("the devices have found {at} bodies of a block of {members}");
            return Err(Error::Device(what));
        }
        shared.spent.blocks += 1;
        shared.spent.body_steps += members as u64;
        shared.spent.bytes += bytes.iter().sum::<usize>() as u64;
        let secs = begun.elapsed().as_secs_f64();
        shared.spent.secs += secs;
        shared.since_report.exchanges += secs;
        shared.has_received = true;
        shared.last_sync = taken.wrapping_add(1);
        Ok(())
    }

    /// Drops a block that has begun: its bodies have not been changed.
    async fn abandon(&mut self) -> Result<()> {
        let members = std::mem::offset_of!(BlockState, members) as u64;
        self.gpu.queue.write_buffer(&self.buffers.state, members, &[0; 4]);
        self.last_state.members = 0;
        self.gpu.check()
    }
}
