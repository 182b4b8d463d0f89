//! One GRAPE: its memory, its engine, and the calls that are under way.

mod calls;
mod twins;

use calls::{CallState, Calls, Pending};
use glam::DVec3;

use super::memory::Memory;
use crate::error::{Error, Result};
use crate::forces::{Answers, ForceEngine, Identity, Order, Sinks, Want, Within};
use crate::math::all_vectors_finite;

/// Entries of all lists of one call at most: 256 MB.
const LIST_ENTRIES: usize = 1 << 26;

/// Entries beyond which lists are not made along with the forces, but when they are read: 16 MB.
const ENTRIES_ALONG: usize = 1 << 22;

/// Entries of a list at first; where a longer one is met, the lists are made again.
const FIRST_CAPACITY: usize = 256;

/// The i-particles of a call, as the client gave them.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// j-particles below this address attract.
    pub addresses: usize,
    /// Positions.
    pub position: Vec<DVec3>,
    /// Velocities, for jerks.
    pub velocity: Vec<DVec3>,
    /// Accelerations, for snaps.
    pub acceleration: Vec<DVec3>,
    /// Indices: j-particles of the same index are left out. Empty: none is.
    pub index: Vec<i32>,
    /// eps^2.
    pub softening_squared: f64,
    /// h^2 of each, looked at when lists are read. Empty: there are none.
    pub radius_squared: Vec<f64>,
}

/// A call whose i-particles are in arrays of the client's, which may change as soon as it has begun.
#[derive(Clone, Copy, Debug)]
pub struct Lent<'a> {
    pub addresses: usize,
    pub position: &'a [DVec3],
    pub velocity: &'a [DVec3],
    pub acceleration: &'a [DVec3],
    pub index: &'a [i32],
    pub softening_squared: f64,
    pub radius_squared: &'a [f64],
}

impl Call {
    fn lend(&self) -> Lent<'_> {
        Lent {
            addresses: self.addresses,
            position: &self.position,
            velocity: &self.velocity,
            acceleration: &self.acceleration,
            index: &self.index,
            softening_squared: self.softening_squared,
            radius_squared: &self.radius_squared,
        }
    }

    /// Takes what is lent, into the memory of the call before.
    fn copy(&mut self, lent: &Lent) {
        fn renew<T: Copy>(all: &mut Vec<T>, from: &[T]) {
            all.clear();
            all.extend_from_slice(from);
        }
        (self.addresses, self.softening_squared) = (lent.addresses, lent.softening_squared);
        renew(&mut self.position, lent.position);
        renew(&mut self.velocity, lent.velocity);
        renew(&mut self.acceleration, lent.acceleration);
        renew(&mut self.index, lent.index);
        renew(&mut self.radius_squared, lent.radius_squared);
    }
}

/// What a client fetches of a call.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Asked {
    /// Forces, derivatives, potentials.
    Forces,
    /// Who is nearest, too.
    Nearest,
    /// And how far away.
    Distance,
}

/// One GRAPE: its memory of j-particles, its engine, and the calls that are under way.
pub struct Cluster {
    engine: Box<dyn ForceEngine>,
    order: Order,
    pub memory: Memory,
    /// What particles are predicted to; `None` takes them as they are.
    pub time: Option<f64>,
    calls: Calls,
    /// This client reads lists: they are made along with the forces, with this room for each.
    capacity: Option<usize>,
    /// This client asks who is nearest, and how far away: that is found along with the forces.
    with_nearest: bool,
    with_distance: bool,
}

impl Cluster {
    /// With empty memory, for forces of this order.
    pub fn new(engine: Box<dyn ForceEngine>, order: Order) -> Self {
        Self {
            engine,
            order,
            memory: Memory::new(order),
            time: None,
            calls: Calls::default(),
            capacity: None,
            with_nearest: false,
            with_distance: false,
        }
    }

    /// What it computes on, in one line.
    pub fn describe(&mut self) -> String {
        format!("{}, {} j-particles", self.engine.describe(), self.memory.len())
    }

    /// Forgets a call of this thread that is under way. The memory stays.
    pub fn reset(&mut self) {
        self.calls.renew();
    }

    /// Starts the computation of `call`. What a call of this thread before it began is lost; another thread's is
    /// computed first.
    ///
    /// Errors: numbers that are none, with the particle's name; what the engine refuses.
    pub fn begin(&mut self, call: Call) -> Result<()> {
        let place = self.start(&call.lend())?;
        self.calls.all[place].call = call;
        Ok(())
    }

    /// [`Cluster::begin`] with what is copied only when the device computes.
    ///
    /// Errors: those of [`Cluster::begin`].
    pub fn begin_lent(&mut self, call: &Lent) -> Result<()> {
        let place = self.start(call)?;
        self.calls.all[place].call.copy(call);
        Ok(())
    }

    /// Starts the computation of `call`, and tells which of all calls it is: that one's i-particles are still to be kept.
    fn start(&mut self, call: &Lent) -> Result<usize> {
        let place = self.calls.renew();
        check(call)?;
        self.settle();
        self.memory.send(self.engine.as_mut(), call.addresses, self.time)?;
        let pending = &mut self.calls.all[place];
        self.memory.identify(call.index, &mut pending.identity);
        pending.arrangement = self.memory.arrangement();
        let n = call.position.len();
        let fits = |room: &usize| room.saturating_mul(n) <= ENTRIES_ALONG;
        let capacity = self.capacity.filter(fits);
        let radius = capacity.and_then(|_| radii(call.radius_squared, n).ok());
        let within = radius.as_deref().zip(capacity);
        pending.with_lists = within.is_some();
        let want = Want {
            order: self.order,
            potential: true,
            nearest: self.with_nearest,
            distance: self.with_distance,
            within: within.map(|(radius, capacity)| Within { radius, capacity }),
        };
        let sinks = sinks(call, &pending.identity);
        let begun = self.engine.begin(&sinks, call.softening_squared.sqrt(), &want);
        self.memory.settle(self.engine.as_mut());
        begun?;
        pending.state = CallState::Begun;
        Ok(place)
    }

    /// Makes the engine free: a call that it is at is computed to its end, and kept for its thread.
    fn settle(&mut self) {
        let Some(place) = self.calls.at_work() else { return };
        self.calls.overlapped = true;
        // Who is nearest cannot be asked of this moment's sources later.
        let near = self.order > Order::Acceleration;
        let outcome = self.collect(place, if near { Asked::Distance } else { Asked::Forces });
        self.calls.all[place].state = CallState::Computed(outcome);
    }

    /// Waits for the call at `place`, which the engine is at.
    fn collect(&mut self, place: usize, asked: Asked) -> Result<()> {
        let pending = &mut self.calls.all[place];
        pending.state = CallState::Nothing;
        let ids = |index: &[i32]| index.iter().map(|&index| index as u64).collect::<Vec<_>>();
        if let Err(error) = self.engine.finish(&mut pending.answers) {
            // The particle that is to blame rather than the sums that it spoiled.
            self.memory.check_predictions()?;
            return Err(error.with_ids(&ids(&pending.call.index)));
        }
        let (n, answers) = (pending.call.position.len(), &pending.answers);
        let lacks_nearest = asked >= Asked::Nearest && answers.nearest.len() < n;
        let lacks_distance = asked == Asked::Distance && answers.nearest_distance.len() < n;
        if lacks_nearest || lacks_distance {
            self.with_nearest = true;
            self.with_distance |= asked == Asked::Distance;
            let want = Want { nearest: true, ..Want::only(Order::Acceleration) };
            let sinks = sinks(&pending.call.lend(), &pending.identity);
            let (mut found, softening) =
                (Answers::default(), pending.call.softening_squared.sqrt());
            self.engine.evaluate(&sinks, softening, &want, &mut found)?;
            pending.answers.nearest = found.nearest;
            pending.answers.nearest_distance = found.nearest_distance;
        }
        pending.leave_out_twins(self.order, &self.memory)?;
        self.memory.name(&pending.answers.nearest, &mut pending.nearest);
        Ok(())
    }

    /// Waits for what was begun. `n` is the number of i-particles that the client has room for; Whether it
    /// wants to know who is nearest the first half does not tell: the first time they are found by themselves.
    ///
    /// Errors: nothing was begun; another number than then; a device that failed.
    pub fn finish(&mut self, n: usize, asked: Asked) -> Result<&Answers> {
        let place = self.calls.waiting()?;
        let there = self.calls.all[place].call.position.len();
        if n != there {
            let allowed = format!("{there}, as in the first half");
            return Err(Error::value("the number ni of i-particles", n, allowed));
        }
        match std::mem::take(&mut self.calls.all[place].state) {
            CallState::Computed(outcome) => outcome?,
            _ => self.collect(place, asked)?,
        }
        Ok(&self.calls.hand_over(place).answers)
    }

    /// The client's indices of the nearest j-particles of the call that was finished last, -1 where there is none; empty
    /// where nobody asked.
    pub fn nearest_indices(&self) -> &[i32] {
        self.calls.last().map_or(&[], |place| &self.calls.all[place].nearest)
    }

    /// Makes the lists of the last call ready: of this thread's, where several call at the same time. True: some are longer
    /// than memory allows, and cut.
    ///
    /// Errors: there is no finished call; it had no radii, or one that is none.
    pub fn read_lists(&mut self) -> Result<bool> {
        let finished = |place: &usize| matches!(self.calls.all[*place].state, CallState::Finished);
        let Some(place) = self.calls.last().filter(finished) else {
            let text = "there are no forces to list neighbours of: call both halves before";
            return Err(Error::Outside(text.to_owned()));
        };
        self.settle();
        let pending = &mut self.calls.all[place];
        let n = pending.call.position.len();
        let largest = (LIST_ENTRIES / n.max(1)).max(1);
        let radius = radii(&pending.call.radius_squared, n)?;
        let mut capacity = self.capacity.unwrap_or(FIRST_CAPACITY).min(largest);
        let mut lists = std::mem::take(&mut pending.answers.neighbours);
        let mut there = std::mem::take(&mut pending.with_lists);
        if pending.arrangement != self.memory.arrangement() {
            let Pending { call, identity, .. } = pending;
            self.memory.identify(&call.index, identity);
            pending.arrangement = self.memory.arrangement();
            there = false;
        }
        loop {
            if !there {
                let within = Some(Within { radius: &radius, capacity });
                let want = Want { within, ..Want::only(Order::Acceleration) };
                let softening = pending.call.softening_squared.sqrt();
                let sinks = sinks(&pending.call.lend(), &pending.identity);
                let mut answers = Answers::default();
                self.engine.evaluate(&sinks, softening, &want, &mut answers)?;
                lists = answers.neighbours;
                pending.list_without_twins(&self.memory, &mut lists, &radius, capacity)?;
            }
            let longest = (0..lists.len()).map(|i| lists.found(i)).max().unwrap_or(0);
            if longest <= capacity || capacity == largest {
                // The next call of this kind has room for a few more.
                self.capacity = Some((longest + longest / 4).max(FIRST_CAPACITY).min(largest));
                pending.lists = Some(lists);
                return Ok(longest > capacity);
            }
            capacity = longest.min(largest);
            there = false;
        }
    }

    /// The list of i-particle `i` in the client's indices, ascending by address, and how many there are.
    ///
    /// Errors: lists that were not read; no such i-particle.
    pub fn list(&self, i: i32) -> Result<(Vec<i32>, usize)> {
        let pending = self.calls.last().map(|place| &self.calls.all[place]);
        let Some((pending, lists)) = pending.and_then(|all| Some((all, all.lists.as_ref()?)))
        else {
            let text = "no lists were read: call g6_read_neighbour_list before";
            return Err(Error::Outside(text.to_owned()));
        };
        if pending.arrangement != self.memory.arrangement() {
            let text =
                "j-particles have come since lists were read: call g6_read_neighbour_list again";
            return Err(Error::Outside(text.to_owned()));
        }
        let n = pending.call.position.len();
        let place = usize::try_from(i).ok().filter(|place| *place < n).ok_or_else(|| {
            Error::value("the pipeline", i, format!("below {n}, as i-particles, from 0"))
        })?;
        let list = lists.of(place).iter().map(|&source| self.memory.index_of(source)).collect();
        Ok((list, lists.found(place)))
    }
}

/// Radii of neighbours of `n` i-particles, from h^2.
fn radii(squares: &[f64], n: usize) -> Result<Vec<f64>> {
    if squares.len() != n {
        return Err(Error::value("the pointer h2", "NULL", "an array, for lists of neighbours"));
    }
    match squares.iter().position(|square| !(square.is_finite() && *square >= 0.0)) {
        Some(i) => {
            let what = format!("h2 of i-particle {i}");
            Err(Error::value(what, squares[i], "finite and at least 0"))
        }
        None => Ok(squares.iter().map(|square| square.sqrt()).collect()),
    }
}

/// Refuses i-particles that are none.
fn check(call: &Lent) -> Result<()> {
    let arrays = [
        ("position", call.position),
        ("velocity", call.velocity),
        ("acceleration", call.acceleration),
    ];
    for (name, vectors) in arrays {
        if all_vectors_finite(vectors) {
            continue;
        }
        if let Some(i) = vectors.iter().position(|vector| !vector.is_finite()) {
            let index =
                call.index.get(i).map_or(String::new(), |index| format!(" (index {index})"));
            let what = format!("the {name} of i-particle {i}{index}");
            return Err(Error::value(what, vectors[i], "finite"));
        }
    }
    if !(call.softening_squared.is_finite() && call.softening_squared >= 0.0) {
        return Err(Error::value("eps2", call.softening_squared, "finite and at least 0"));
    }
    Ok(())
}

/// The i-particles as an engine takes them.
fn sinks<'a>(call: &Lent<'a>, identity: &'a [u32]) -> Sinks<'a> {
    Sinks {
        position: call.position,
        velocity: call.velocity,
        acceleration: call.acceleration,
        identity: if identity.is_empty() { Identity::Foreign } else { Identity::Each(identity) },
    }
}

#[cfg(test)]
mod tests;
