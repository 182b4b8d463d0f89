//! Bodies on several devices: each device holds all bodies and moves its own range.
//!
//! The sum of a sink runs over all sources in the same order on every device. The bits therefore
//! equal those of a single device, whatever the number of devices and the ranges, as long as all
//! devices compute alike: all use the kernel shape that the first device has for all bodies.
//!
//! There is one thread per device, and an `Exchange` between them (`exchange/`): an all-gather
//! through the host, sums in the order of members, and a cancellation that leaves no member
//! waiting. After each drift only positions have to be exchanged. The unit of work is a turn: the
//! end of one step, the kick and drift of the next, and the copy of what has moved, in one
//! submission (`sim/device/lockstep.rs`). Three measures keep a turn short; each is worth some 50
//! of the 200 µs that a turn takes:
//!
//! - the others read what a device sends where it was mapped (`sim/device/range_exchange.rs`);
//! - the end of a short turn is polled for, not slept for;
//! - parameters that the device already has are not sent again.
//!
//! Fused steps and steps in one workgroup leave no time for the exchange and are not used here. The
//! first device determines the kernel's shape and the frame, for all bodies. After an advance it
//! holds the complete state of all bodies, for pictures and readers.
//!
//! A tree orders its sinks along a curve, not by body number: devices share it in domains
//! (`domains.rs`). Individual steps share their blocks in `integrate/blocks/resident/shared.rs`.

mod backend;
mod domains;
mod hosts;
mod open;
mod team;

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use crate::wall_clock::Instant;
use glam::DVec3;

pub use self::backend::BACKEND;
pub use self::domains::BACKEND as DOMAINS;
pub use self::hosts::BACKEND as HOSTS;
pub use self::open::DeviceGroup;
use self::team::{Local, run_on_each};
use super::backend::first_of_all;
use super::device::{DeviceState, RangeExchange};
use super::{Choice, Settings, Watch};
use crate::bodies::{Bodies, Rows};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member, polling_stop};
use crate::gpu::Spent;

/// Whether `n` bodies are distributed over several ranks: in domains on devices, or with a tree on
/// processors. Otherwise every rank stores all bodies.
pub fn divides(choice: &Choice, settings: &Settings, n: usize) -> bool {
    let suits = |entry: &super::BackendEntry| (entry.suits)(choice, settings, n);
    choice.is_shared() && (suits(&DOMAINS) || suits(&HOSTS))
}

/// Checks the bodies of a rank that stores a range of them.
///
/// # Errors
/// Ranks that would all need all bodies; another number of bodies than `rows` says; a body out of
/// range, on any rank; a rank is gone.
pub fn check_rows(
    choice: &Choice,
    rows: &Rows,
    bodies: &Bodies,
    settings: &Settings,
) -> Result<()> {
    if !divides(choice, settings, rows.n) {
        let allowed = "all, unless several ranks share a tree in parts";
        return Err(Error::value("the bodies of a rank", format!("{:?}", rows.own), allowed));
    }
    let checked = match rows.own.len() == bodies.len() {
        true if bodies.is_empty() => Ok(()),
        true => bodies.validate().map_err(|error| error.numbered_from(rows.own.start)),
        false => Err(Error::value(
            "the number of bodies of a rank",
            bodies.len(),
            rows.own.len().to_string(),
        )),
    };
    first_of_all(choice.ranks.as_ref(), checked)
}

/// A device of this process and its connection to the others.
pub(super) struct LocalDevice {
    state: DeviceState,
    exchange: RangeExchange,
    spent: Spent,
}

impl Local for LocalDevice {
    fn member(&mut self) -> &mut Member {
        &mut self.exchange.member
    }
}

impl LocalDevice {
    /// See [`DeviceState::advance_in_group`]. With `gathers`, the device holds the full state of
    /// all bodies afterwards.
    fn advance(
        &mut self,
        (steps, gathers): ((f64, u64), bool),
        last: &AtomicU64,
        watch: &mut Watch<'_>,
    ) -> Result<u64> {
        let Self { state, exchange, spent } = self;
        let (begun, before) = (Instant::now(), exchange.exchanged_secs());
        let done = pollster::block_on(async {
            let done = state.advance_in_group(exchange, steps, last, watch).await?;
            if gathers {
                state.gather(exchange).await?;
            }
            Ok(done)
        });
        spent.steps += begun.elapsed().as_secs_f64();
        spent.exchanges += exchange.exchanged_secs() - before;
        done
    }
}

/// Time and number of the exchanges between a group's devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exchanged {
    /// Seconds that the first device spent on copies and on waiting for the others.
    pub secs: f64,
    /// The number of exchanges.
    pub times: u64,
}

impl DeviceGroup {
    /// [`run_on_each`] of this group's devices.
    fn run_on_each<T: Send>(
        &mut self,
        first: impl FnOnce(&mut LocalDevice) -> Result<T>,
        others: impl Fn(&mut LocalDevice) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let group = (self.ranks.is_some(), self.patience);
        run_on_each(&mut self.local_devices, group, first, others)
    }

    /// [`DeviceGroup::run_on_each`] with the same work for all devices.
    fn run_on_all<T: Send>(
        &mut self,
        work: impl Fn(&mut LocalDevice) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        self.run_on_each(&work, &work)
    }

    /// Takes up to `steps` steps of `dt`; afterwards the first device holds the full state of all
    /// bodies. `watch` is called with the steps done after each step and ends the advance by
    /// returning false. Returns the number of steps done.
    ///
    /// # Errors
    /// A device failed.
    pub fn advance(&mut self, dt: f64, steps: u64, watch: &mut Watch<'_>) -> Result<u64> {
        if steps == 0 || !self.expects_potentials()? {
            return self.advance_all(((dt, steps), true), watch);
        }
        let mut ended = false;
        let mut before = |done| {
            ended |= !watch(done);
            !ended
        };
        let done = self.advance_all(((dt, steps - 1), false), &mut before)?;
        if ended || done < steps - 1 {
            self.advance_all(((dt, 0), true), &mut |_| true)?;
            return Ok(done);
        }
        self.local_devices.iter_mut().for_each(|local| local.state.swap_combined());
        let last = self.advance_all(((dt, 1), true), &mut |last| watch(done + last));
        self.local_devices.iter_mut().for_each(|local| local.state.swap_combined());
        let last = last?;
        if last == 1 {
            self.local_devices.iter_mut().for_each(|local| local.state.end_combined());
        }
        Ok(done + last)
    }

    /// Whether the last force of the next advance should also compute potentials. All ranks must
    /// agree, because the compiler of one device may rule it out. Fails if a rank does not answer.
    fn expects_potentials(&mut self) -> Result<bool> {
        let mut all = true;
        for local in &mut self.local_devices {
            all &= local.state.expects_potentials();
        }
        match &self.ranks {
            Some(ranks) => Ok(!ranks.any(!all)?),
            None => Ok(all),
        }
    }

    /// [`LocalDevice::advance`] of all devices.
    fn advance_all(&mut self, steps: ((f64, u64), bool), watch: &mut Watch<'_>) -> Result<u64> {
        let last = AtomicU64::new(u64::MAX);
        let last = &last;
        let done = self.run_on_each(
            |local| local.advance(steps, last, watch),
            |local| local.advance(steps, last, &mut |_| true),
        )?;
        Ok(done[0])
    }

    /// The exchanges of the first device since the last call.
    pub fn take_exchanged(&mut self) -> Exchanged {
        let (secs, times) = self.local_devices[0].exchange.take_spent();
        Exchanged { secs, times }
    }

    /// The range of bodies that each device moves, for the devices of all processes in order.
    pub fn shares(&self) -> &[Range<usize>] {
        &self.shares
    }

    fn first(&self) -> &DeviceState {
        &self.local_devices[0].state
    }

    /// Reads all bodies from the first device, after [`DeviceGroup::advance`].
    async fn read_all(&mut self, bodies: &mut Bodies, time: f64) -> Result<Vec<DVec3>> {
        let n = bodies.len();
        self.local_devices[0].state.read_range(0..n, bodies, time).await
    }

    /// Potentials of all bodies: each device computes those of its range.
    fn potentials(&mut self) -> Result<Vec<f64>> {
        let mut all = self.run_on_all(|LocalDevice { state, exchange, .. }| {
            let member = &mut exchange.member;
            let own = match member.leads() {
                true => polling_stop(member, || pollster::block_on(state.potential())),
                false => pollster::block_on(state.potential()),
            };
            let own = member.unless_stopped(own)?;
            exchange.gather(&own)
        })?;
        Ok(all.swap_remove(0))
    }
}

#[cfg(test)]
mod tests;

/// The adapter of the tests here.
#[cfg(test)]
fn test_adapter() -> std::sync::Arc<crate::gpu::Gpu> {
    use crate::gpu::{AdapterRequest, Gpu};
    let name = std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default();
    let request = match name.as_str() {
        "" => AdapterRequest::default(),
        name => AdapterRequest::named(name),
    };
    Gpu::open_blocking(&request).expect("the device tests need an adapter")
}
