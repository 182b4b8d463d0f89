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

pub use self::open::DeviceGroup;
pub use self::residence::RESIDENCE;
use super::Watch;
use super::device::{DeviceState, Lockstep, Replica};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member, Ranks};

/// A device of this process, and its place among all.
pub(super) struct Part {
    state: DeviceState,
    group: Place,
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
        let Self { state, group } = self;
        pollster::block_on(async {
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
        })
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
        if !self.foresee_potentials() || steps == 0 {
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

    /// Whether the last force of the next advance is to give potentials, too, on all devices alike: those of other ranks are
    /// not asked.
    fn foresee_potentials(&mut self) -> bool {
        let mut all = self.ranks.is_none();
        for Part { state, group } in &mut self.parts {
            all &= state.foresees_potentials() && matches!(group, Place::Lockstep(_));
        }
        all
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
        if let [Part { state, group: Place::Replica(_) }, ..] = self.parts.as_mut_slice() {
            let mut alone = Ranks::alone();
            let ranks = self.ranks.as_mut().unwrap_or(&mut alone);
            let all = exchange::while_looking(ranks, || pollster::block_on(state.potential()));
            return ranks.unless_stopped(all);
        }
        let mut all = self.all(|Part { state, group }| {
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
