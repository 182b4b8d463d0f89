//! The device or devices, of this process and of others, on which bodies on individual steps live
//! and which share their blocks.

use super::{BlocksTaken, Resident};
use crate::error::Result;
use crate::exchange::{Exchange, Ranks, team};
use crate::gpu::DevicePart;
use crate::integrate::blocks::{Accuracy, Schedule, SharedBlocks, Track};

/// Devices that take the same steps, at least one.
pub(in super::super) struct Residents {
    devices: Vec<Resident>,
    /// Whether they share blocks, with each other or with devices of other ranks.
    are_several: bool,
    words: String,
}

impl Residents {
    /// Bodies on one device.
    pub fn alone(first: Resident) -> Self {
        let words = "block steps on the device".to_owned();
        Self { devices: vec![first], are_several: false, words }
    }

    /// With other devices that have the same bodies, in this process and on other ranks; the second
    /// element of `ranks` is the number of devices of each.
    pub fn with(mut self, others: Vec<Resident>, ranks: Option<(Ranks, Vec<usize>)>) -> Self {
        self.devices.extend(others);
        let own = self.devices.len();
        let all = ranks.as_ref().map_or(own, |(_, members_of)| members_of.iter().sum());
        if all < 2 {
            return self;
        }
        let outer =
            ranks.map(|(ranks, members_of)| (Box::new(ranks) as Box<dyn Exchange>, members_of));
        let members = team(own, outer, self.devices[0].gpu.patience());
        self.devices.iter_mut().zip(members).for_each(|(device, member)| device.share(member));
        let words = format!("block steps on {all} devices, which share large blocks");
        Self { are_several: true, words, ..self }
    }

    /// Describes where the bodies are predicted and corrected.
    pub fn describe(&self) -> &str {
        &self.words
    }

    /// Statistics of the blocks they have shared.
    pub fn shared(&self) -> SharedBlocks {
        self.devices[0].shared_blocks()
    }

    /// The share of each device, if several share blocks.
    pub fn take_parts(&mut self) -> Vec<DevicePart> {
        if self.are_several {
            return self.devices.iter_mut().map(Resident::take_report).collect();
        }
        Vec::new()
    }

    /// [`Resident::run`] on all devices.
    pub async fn run(&mut self, end: u64) -> Result<BlocksTaken> {
        if self.are_several {
            return self.run_together(end);
        }
        self.devices[0].run(end).await
    }

    fn run_together(&mut self, end: u64) -> Result<BlocksTaken> {
        use crate::error::Error;
        let run = |resident: &mut Resident| {
            let begun = crate::wall_clock::Instant::now();
            let done = pollster::block_on(resident.run(end));
            resident.spend(begun.elapsed().as_secs_f64());
            // A stop happens on all devices together.
            if let Err(error) = &done
                && !matches!(error, Error::Stopped)
            {
                resident.notify_failure(error);
            }
            done
        };
        let mut all: Vec<Result<BlocksTaken>> = std::thread::scope(|scope| {
            let run = &run;
            let mut devices = self.devices.iter_mut();
            let first = devices.next();
            let threads: Vec<_> =
                devices.map(|resident| scope.spawn(move || run(resident))).collect();
            let mut all: Vec<_> = first.into_iter().map(run).collect();
            all.extend(threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }));
            all
        });
        // A device that only received another's failure has no error of its own to report.
        let is_own = |done: &Result<BlocksTaken>| !matches!(done, Ok(_) | Err(Error::Member(_)));
        let failed = all.iter().position(is_own).unwrap_or(0);
        all.swap_remove(failed)
    }

    /// [`Resident::turn_over`] on all devices.
    pub fn turn_over(&self) {
        self.devices.iter().for_each(Resident::turn_over);
    }

    /// [`Resident::download`] from the first device: all have the same data.
    pub async fn download(
        &mut self,
        accuracy: &mut Accuracy,
        tracks: &mut [Track],
        schedule: &mut Schedule,
    ) -> Result<()> {
        self.devices[0].download(accuracy, tracks, schedule).await
    }
}
