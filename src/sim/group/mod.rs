//! Bodies on several devices: each holds all of them and moves a part.
//!
//! Every sink's sum runs over all sources in the same order wherever it is computed, so the bits are those of one
//! device, however many there are and however the bodies are shared out, as long as all devices compute alike: the
//! kernel's shape is the first device's, chosen for all bodies.

mod open;
mod residence;

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use glam::DVec3;
use web_time::Instant;

pub use self::open::DeviceGroup;
pub use self::residence::RESIDENCE;
use super::device::{DeviceState, Lockstep, Replica};
use super::{DevicePart, Share, Watch};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member, Ranks};
use crate::gpu::Spent;

/// A device of this process, and its place among all.
pub(super) struct Part {
    state: DeviceState,
    group: Place,
    spent: Spent,
}

/// What a device has of the bodies and of the work.
pub(super) enum Place {
    /// It moves a part of them.
    Lockstep(Lockstep),
    /// It moves all of them, and computes a part of the forces.
    Replica(Replica),
}

impl Place {
    fn member(&self) -> &Member {
        match self {
            Self::Lockstep(place) => &place.member,
            Self::Replica(place) => &place.member,
        }
    }

    fn member_mut(&mut self) -> &mut Member {
        match self {
            Self::Lockstep(place) => &mut place.member,
            Self::Replica(place) => &mut place.member,
        }
    }

    fn take_spent(&mut self) -> (f64, u64) {
        match self {
            Self::Lockstep(place) => place.take_spent(),
            Self::Replica(place) => place.take_spent(),
        }
    }

    /// Seconds spent in exchanges so far, since they were taken last.
    fn exchanged_secs(&self) -> f64 {
        match self {
            Self::Lockstep(place) => place.exchanged_secs(),
            Self::Replica(place) => place.exchanged_secs(),
        }
    }

    fn share(&self) -> Share {
        match self {
            Self::Lockstep(place) => Share::Bodies(place.own()),
            Self::Replica(place) => Share::Curve(place.own()),
        }
    }
}

impl Part {
    /// See [`DeviceState::advance_with`] and [`DeviceState::advance_alike`]. If it `gathers`, the device has everything of all
    /// bodies afterwards.
    fn advance(
        &mut self,
        (steps, gathers): ((f64, u64), bool),
        last: &AtomicU64,
        watch: &mut Watch<'_>,
    ) -> Result<u64> {
        let Self { state, group, spent } = self;
        let (begun, before) = (Instant::now(), group.exchanged_secs());
        let done = pollster::block_on(async {
            match group {
                Place::Lockstep(place) => {
                    let done = state.advance_with(place, steps, last, watch).await?;
                    if gathers {
                        state.gather(place).await?;
                    }
                    Ok(done)
                }
                Place::Replica(place) => state.advance_alike(place, steps, last, watch).await,
            }
        });
        spent.steps += begun.elapsed().as_secs_f64();
        spent.exchanges += group.exchanged_secs() - before;
        done
    }
}

/// What a group's devices have waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exchanged {
    /// Seconds that the first device has spent on copies and waiting for the others.
    pub secs: f64,
    /// How often positions were exchanged.
    pub times: u64,
}

impl DeviceGroup {
    /// Does `work` with every device of this process at once: with the first one on this thread, with each other on
    /// one of its own. What came of it in their order. Where one fails, the others hear of it.
    ///
    /// Errors: that of the device that failed.
    fn each<T: Send>(
        &mut self,
        first: impl FnOnce(&mut Part) -> Result<T>,
        others: impl Fn(&mut Part) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let (leader, rest) = self.parts.split_first_mut().expect("a group has a device");
        let others = &others;
        let told = |part: &mut Part, done: Result<T>| {
            done.inspect_err(|error| part.group.member().abort(&error.to_string()))
        };
        let done: Vec<Result<T>> = std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(rest.len());
            for part in rest {
                threads.push(scope.spawn(move || {
                    let done = others(part);
                    told(part, done)
                }));
            }
            let done = first(leader);
            let mut all = vec![told(leader, done)];
            for thread in threads {
                all.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            all
        });
        let mut all = Vec::with_capacity(done.len());
        let mut failed = None;
        for one in done {
            match one {
                Ok(value) => all.push(value),
                // Who only heard that another gave up has nothing to say beside that one.
                Err(error) if failed.is_none() || matches!(failed, Some(Error::Member(_))) => {
                    failed = Some(error);
                }
                Err(_) => {}
            }
        }
        let Some(error) = failed else { return Ok(all) };
        // Ranks end together.
        if self.ranks.is_some() {
            return Err(error);
        }
        // Who has been broken off may go on later, among members that have not given up.
        let members = exchange::team(self.parts.len(), None, self.patience);
        for (part, member) in self.parts.iter_mut().zip(members) {
            *part.group.member_mut() = member;
        }
        Err(error)
    }

    /// [`DeviceGroup::each`] where the first device is one like the others.
    fn all<T: Send>(&mut self, work: impl Fn(&mut Part) -> Result<T> + Sync) -> Result<Vec<T>> {
        self.each(&work, &work)
    }

    /// Takes up to `steps` steps of `dt`; afterwards the first device has everything of all bodies. `watch` sees the steps
    /// done after each, and ends it by returning false. Returns the steps done.
    ///
    /// Errors: a device failed.
    pub fn advance(&mut self, dt: f64, steps: u64, watch: &mut Watch<'_>) -> Result<u64> {
        if steps == 0 || !self.foresee_potentials()? {
            return self.take(((dt, steps), true), watch);
        }
        let mut ended = false;
        let mut before = |done| {
            ended |= !watch(done);
            !ended
        };
        let done = self.take(((dt, steps - 1), false), &mut before)?;
        if ended || done < steps - 1 {
            self.take(((dt, 0), true), &mut |_| true)?;
            return Ok(done);
        }
        self.parts.iter_mut().for_each(|part| part.state.swap_together());
        let last = self.take(((dt, 1), true), &mut |last| watch(done + last));
        self.parts.iter_mut().for_each(|part| part.state.swap_together());
        let last = last?;
        if last == 1 {
            self.parts.iter_mut().for_each(|part| part.state.end_together());
        }
        Ok(done + last)
    }

    /// Whether the last force of the next advance is to give potentials, too, on the devices of all ranks alike: on one
    /// of them a compiler may have made it so that it cannot.
    ///
    /// Errors: ranks that cannot be heard.
    fn foresee_potentials(&mut self) -> Result<bool> {
        let mut all = true;
        for Part { state, group, .. } in &mut self.parts {
            all &= state.foresees_potentials() && matches!(group, Place::Lockstep(_));
        }
        match &self.ranks {
            Some(ranks) => Ok(!ranks.any(!all)?),
            None => Ok(all),
        }
    }

    /// [`Part::advance`] of all devices.
    fn take(&mut self, steps: ((f64, u64), bool), watch: &mut Watch<'_>) -> Result<u64> {
        let last = AtomicU64::new(u64::MAX);
        let last = &last;
        let done = self.each(
            |part| part.advance(steps, last, watch),
            |part| part.advance(steps, last, &mut |_| true),
        )?;
        Ok(done[0])
    }

    /// What the first device has waited for since this was asked last.
    pub fn take_exchanged(&mut self) -> Exchanged {
        let (secs, times) = self.parts[0].group.take_spent();
        Exchanged { secs, times }
    }

    /// What each device of this process does.
    fn take_parts(&mut self) -> Vec<DevicePart> {
        let part = |part: &mut Part| DevicePart {
            device: part.state.gpu().adapter.in_words(),
            share: part.group.share(),
            exchanging: part.spent.take(),
        };
        self.parts.iter_mut().map(part).collect()
    }

    /// The bodies that each device moves, of all processes, in their order.
    pub fn shares(&self) -> &[Range<usize>] {
        &self.shares
    }

    fn first(&self) -> &DeviceState {
        &self.parts[0].state
    }

    /// All bodies as the first device has them after [`DeviceGroup::advance`].
    async fn read_all(&mut self, bodies: &mut Bodies, time: f64) -> Result<Vec<DVec3>> {
        let n = bodies.len();
        self.parts[0].state.read_range(0..n, bodies, time).await
    }

    /// Potentials of all bodies: each device computes those of its own, or the first one all where it has them all.
    fn potentials(&mut self) -> Result<Vec<f64>> {
        if let [Part { state, group: Place::Replica(_), .. }, ..] = self.parts.as_mut_slice() {
            let mut alone = Ranks::alone();
            let ranks = self.ranks.as_mut().unwrap_or(&mut alone);
            let all = exchange::while_looking(ranks, || pollster::block_on(state.potential()));
            return ranks.unless_stopped(all);
        }
        let mut all = self.all(|Part { state, group, .. }| {
            let member = group.member_mut();
            let own = match member.leads() {
                true => exchange::while_looking(member, || pollster::block_on(state.potential())),
                false => pollster::block_on(state.potential()),
            };
            let own = member.unless_stopped(own)?;
            match group {
                Place::Lockstep(place) => place.gather(&own),
                Place::Replica(_) => Ok(own),
            }
        })?;
        Ok(all.swap_remove(0))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::forces::direct::gpu::KernelRequest;
    use crate::gpu::{AdapterRequest, Gpu};
    use crate::scene::{Spread, test_bodies};
    use crate::sim::{EngineKind, Residence, Settings};

    /// Each of two ranks, one with two devices: whether potentials came with the last force of each advance, and all
    /// that is told of the bodies. Enough of them for that (`device/together.rs`).
    #[test]
    fn ranks_foresee_potentials_and_have_the_bits_of_one_device() {
        let name = std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default();
        let request = match name.as_str() {
            "" => AdapterRequest::default(),
            name => AdapterRequest::named(name),
        };
        let gpu = Gpu::open_blocking(&request).expect("the device tests need an adapter");
        let bodies = test_bodies(1500, Spread::Even);
        // Slices, so that steps are not fused.
        let kernel = KernelRequest { tiled: true, s: Some(3), ..KernelRequest::NONE };
        let engine = EngineKind::Gpu;
        let settings =
            Settings { softening: 0.05, dt: 0.01, engine, kernel, ..Settings::default() };
        let told = |place: &mut dyn Residence| {
            let mut bodies = bodies.clone();
            pollster::block_on(place.read(&mut bodies, 0.0)).unwrap();
            let potential = pollster::block_on(place.potential()).unwrap();
            format!("{bodies:?} {potential:?}")
        };
        let as_rank = |ranks: Option<Ranks>, devices: usize| {
            let devices = vec![Arc::clone(&gpu); devices];
            let group = DeviceGroup::open(&devices, ranks.as_ref(), &bodies, None, &settings);
            let mut group = pollster::block_on(group).unwrap();
            let mut seen = vec![told(&mut group)];
            for (steps, is_foreseen) in [(2, true), (1, true), (0, true), (1, true)] {
                group.advance(0.01, steps, &mut |_| true).unwrap();
                let mut parts = group.parts.iter();
                assert_eq!(parts.all(|part| part.state.has_potentials()), is_foreseen, "{steps}");
                seen.push(told(&mut group));
            }
            // Nobody asks for potentials after this one, so the next has none.
            for is_foreseen in [true, false] {
                group.advance(0.01, 1, &mut |_| true).unwrap();
                let mut parts = group.parts.iter();
                assert!(parts.all(|part| part.state.has_potentials() == is_foreseen));
            }
            seen.push(told(&mut group));
            seen
        };
        let alone = as_rank(None, 1);
        let by_ranks: Vec<_> = std::thread::scope(|scope| {
            let members = exchange::team(2, None, Duration::ZERO);
            let ranks = members.into_iter().map(|member| Ranks::new(Box::new(member), 0));
            let as_rank = &as_rank;
            let each = |(k, ranks)| scope.spawn(move || as_rank(Some(ranks), 1 + k));
            let threads: Vec<_> = ranks.enumerate().map(each).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(by_ranks.iter().all(|seen| *seen == alone));
    }
}
