//! Cluster of the GRAPE-6 interface: force calls in two halves and neighbour lists.

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use glam::DVec3;

use super::memory::Memory;
use super::queue::Particle;
use gravitile::error::{Error, Result};
use gravitile::forces::direct::Reference;
use gravitile::forces::{
    ForceEngine, Forces, Identity, NO_SOURCE, NeighbourLists, Order, Outputs, Sinks, Within,
};
use gravitile::math::all_vectors_finite;

/// Maximum number of entries in all lists of one call: 256 MB.
const MAX_LIST_ENTRIES: usize = 1 << 26;

/// Above this number of entries (16 MB) lists are computed when they are read, not with the forces.
const MAX_ENTRIES_WITH_FORCES: usize = 1 << 22;

/// Initial capacity per list; the lists are recomputed if one is longer.
const INITIAL_CAPACITY: usize = 256;

/// The i-particles of a call. The first half borrows the client's arrays, which may be overwritten
/// once it has returned.
#[derive(Clone, Debug, Default)]
pub struct Call<'a> {
    /// j-particles below this address attract.
    pub addresses: usize,
    /// Positions.
    pub position: Cow<'a, [DVec3]>,
    /// Velocities, for jerks.
    pub velocity: Cow<'a, [DVec3]>,
    /// Accelerations, for snaps.
    pub acceleration: Cow<'a, [DVec3]>,
    /// Indices: j-particles of the same index are excluded. If empty, none are excluded.
    pub index: Cow<'a, [i32]>,
    /// eps^2.
    pub softening_squared: f64,
    /// h^2 per i-particle, used when lists are read. Empty without neighbour search.
    pub radius_squared: Cow<'a, [f64]>,
}

impl Call<'_> {
    /// Copies another call, reusing the allocations.
    fn copy(&mut self, other: &Call) {
        fn replace<T: Copy>(all: &mut Cow<'_, [T]>, from: &[T]) {
            let all = all.to_mut();
            all.clear();
            all.extend_from_slice(from);
        }
        (self.addresses, self.softening_squared) = (other.addresses, other.softening_squared);
        replace(&mut self.position, &other.position);
        replace(&mut self.velocity, &other.velocity);
        replace(&mut self.acceleration, &other.acceleration);
        replace(&mut self.index, &other.index);
        replace(&mut self.radius_squared, &other.radius_squared);
    }
}

/// Results of a call, in the order of its sinks.
#[derive(Clone, Debug, Default)]
pub struct BoardForces {
    pub results: Forces,
    /// The client's indices of the nearest j-particles, -1 for none; empty if not requested.
    pub nearest: Vec<i32>,
}

/// Outputs requested by a last half; each includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Requested {
    /// Forces, derivatives, potentials.
    Forces,
    /// Index of the nearest j-particle.
    Nearest,
    /// Distance of the nearest j-particle.
    Distance,
}

/// One GRAPE: its j-particle memory, its engine and its pending calls.
pub struct Cluster {
    engine: Box<dyn ForceEngine>,
    order: Order,
    pub memory: Memory,
    /// Prediction time of the particles; `None` uses them unpredicted.
    pub time: Option<f64>,
    calls: Calls,
    /// Results that were computed in the first half already, because sinks differ in eps.
    pub precomputed: Option<BoardForces>,
    /// List capacity if this client reads neighbour lists: they are then computed with the forces.
    capacity: Option<usize>,
    /// Whether this client has requested the nearest particle and its distance: they are then
    /// computed with the forces.
    with_nearest: bool,
    with_distance: bool,
}

impl Cluster {
    /// Creates a cluster with an empty memory, for forces up to `order`.
    pub fn new(engine: Box<dyn ForceEngine>, order: Order) -> Self {
        Self {
            engine,
            order,
            memory: Memory::new(order),
            time: None,
            calls: Calls::default(),
            precomputed: None,
            capacity: None,
            with_nearest: false,
            with_distance: false,
        }
    }

    /// One line that describes the engine and the number of j-particles.
    pub fn describe(&mut self) -> String {
        format!("{}, {} j-particles", self.engine.describe(), self.memory.len())
    }

    /// The j-particle at `address`, and its predicted position, velocity and acceleration.
    ///
    /// # Errors
    /// No particle was set there.
    pub fn particle(&mut self, address: i32) -> Result<(Particle, [DVec3; 3])> {
        let particle = self.memory.get(address)?;
        Ok((particle, particle.moving.at(self.time)))
    }

    /// Cancels this thread's pending call. The j-particles are unchanged.
    pub fn reset(&mut self) {
        self.precomputed = None;
        self.calls.restart();
    }

    /// Starts the computation of `call`, whose arrays are copied while the device computes. A
    /// previous call of this thread that was not fetched is discarded; one of another thread is
    /// first computed to its end.
    ///
    /// # Errors
    /// Values that are NaN or infinite (the message names the particle); an error of the engine.
    pub fn begin(&mut self, call: &Call) -> Result<()> {
        let slot = self.calls.restart();
        check(call)?;
        self.finish_in_progress();
        self.memory.send(self.engine.as_mut(), call.addresses, self.time)?;
        let pending = &mut self.calls.all[slot];
        self.memory.indices.identify(&call.index, &mut pending.identity);
        pending.arrangement = self.memory.arrangement();
        let n = call.position.len();
        let fits = |capacity: &usize| capacity.saturating_mul(n) <= MAX_ENTRIES_WITH_FORCES;
        let capacity = self.capacity.filter(fits);
        let radius = capacity.and_then(|_| radii(&call.radius_squared, n).ok());
        let within = radius.as_deref().zip(capacity);
        pending.with_lists = within.is_some();
        let outputs = Outputs {
            order: self.order,
            potential: true,
            nearest: self.with_nearest,
            distance: self.with_distance,
            within: within.map(|(radius, capacity)| Within { radius, capacity }),
        };
        let sinks = sinks(call, &pending.identity);
        let begun = self.engine.begin(&sinks, call.softening_squared.sqrt(), &outputs);
        self.memory.settle();
        begun?;
        pending.state = CallState::Begun;
        pending.call.copy(call);
        Ok(())
    }

    /// Frees the engine: a call in progress is computed to its end and its result stored for its
    /// thread.
    fn finish_in_progress(&mut self) {
        let Some(slot) = self.calls.in_progress() else { return };
        self.calls.overlapped = true;
        // The nearest particle must be found now: the sources may change before the call is
        // fetched.
        let near = self.order > Order::Acceleration;
        let outcome =
            self.collect(slot, if near { Requested::Distance } else { Requested::Forces });
        self.calls.all[slot].state = CallState::Computed(outcome);
    }

    /// Waits for the call at `slot`, which is in progress.
    fn collect(&mut self, slot: usize, requested: Requested) -> Result<()> {
        let pending = &mut self.calls.all[slot];
        pending.state = CallState::Nothing;
        let ids = |index: &[i32]| index.iter().map(|&index| index as u64).collect::<Vec<_>>();
        if let Err(error) = self.engine.finish(&mut pending.forces.results) {
            // Reports the particle that caused the error rather than the sums that are not finite.
            self.memory.check_predictions()?;
            return Err(error.with_ids(&ids(&pending.call.index)));
        }
        let (n, results) = (pending.call.position.len(), &pending.forces.results);
        let lacks_nearest = requested >= Requested::Nearest && results.nearest.len() < n;
        let lacks_distance = requested == Requested::Distance && results.nearest_distance.len() < n;
        if lacks_nearest || lacks_distance {
            self.with_nearest = true;
            self.with_distance |= requested == Requested::Distance;
            let outputs = Outputs { nearest: true, ..Outputs::only(Order::Acceleration) };
            let sinks = sinks(&pending.call, &pending.identity);
            let (mut found, softening) = (Forces::default(), pending.call.softening_squared.sqrt());
            self.engine.evaluate(&sinks, softening, &outputs, &mut found)?;
            pending.forces.results.nearest = found.nearest;
            pending.forces.results.nearest_distance = found.nearest_distance;
        }
        pending.exclude_duplicates(self.order, &self.memory)?;
        let BoardForces { results, nearest } = &mut pending.forces;
        self.memory.indices.name(&results.nearest, nearest);
        Ok(())
    }

    /// Waits for the results of the pending call. `n` is the number of i-particles that the
    /// client's arrays hold. The first half does not say whether the nearest particles are needed:
    /// at the first request they take an evaluation of their own.
    ///
    /// # Errors
    /// No pending call; `n` differs from the first half; a device failure.
    pub fn finish(&mut self, n: usize, requested: Requested) -> Result<&BoardForces> {
        let slot = self.calls.to_finish()?;
        let begun = self.calls.all[slot].call.position.len();
        if n != begun {
            let allowed = format!("{begun}, as in the first half");
            return Err(Error::value("the number ni of i-particles", n, allowed));
        }
        match std::mem::take(&mut self.calls.all[slot].state) {
            CallState::Computed(outcome) => outcome?,
            _ => self.collect(slot, requested)?,
        }
        Ok(&self.calls.complete(slot).forces)
    }

    /// Computes the neighbour lists of the last call; if several threads call concurrently, of this
    /// thread's last call. Returns true if lists were truncated for lack of memory.
    ///
    /// # Errors
    /// No finished call; no radii, or one that is negative or not finite.
    pub fn read_lists(&mut self) -> Result<bool> {
        let finished = |slot: &usize| matches!(self.calls.all[*slot].state, CallState::Finished);
        let Some(slot) = self.calls.last().filter(finished) else {
            let text = "there are no forces to list neighbours of: call both halves before";
            return Err(Error::Outside(text.to_owned()));
        };
        self.finish_in_progress();
        let pending = &mut self.calls.all[slot];
        let n = pending.call.position.len();
        let largest = (MAX_LIST_ENTRIES / n.max(1)).max(1);
        let radius = radii(&pending.call.radius_squared, n)?;
        let mut capacity = self.capacity.unwrap_or(INITIAL_CAPACITY).min(largest);
        let mut lists = std::mem::take(&mut pending.forces.results.neighbours);
        let mut is_current = std::mem::take(&mut pending.with_lists);
        if pending.arrangement != self.memory.arrangement() {
            let Pending { call, identity, .. } = pending;
            self.memory.indices.identify(&call.index, identity);
            pending.arrangement = self.memory.arrangement();
            is_current = false;
        }
        loop {
            if !is_current {
                let within = Some(Within { radius: &radius, capacity });
                let outputs = Outputs { within, ..Outputs::only(Order::Acceleration) };
                let softening = pending.call.softening_squared.sqrt();
                let sinks = sinks(&pending.call, &pending.identity);
                let mut results = Forces::default();
                self.engine.evaluate(&sinks, softening, &outputs, &mut results)?;
                lists = results.neighbours;
                pending.list_without_duplicates(&self.memory, &mut lists, &radius, capacity)?;
            }
            let longest = (0..lists.len()).map(|i| lists.found(i)).max().unwrap_or(0);
            if longest <= capacity || capacity == largest {
                // A quarter in reserve for the next call.
                self.capacity = Some((longest + longest / 4).max(INITIAL_CAPACITY).min(largest));
                pending.lists = Some(lists);
                return Ok(longest > capacity);
            }
            capacity = longest.min(largest);
            is_current = false;
        }
    }

    /// The list of i-particle `i` in the client's indices, ascending by address, and the number of
    /// neighbours found, which is larger if the list was truncated.
    ///
    /// # Errors
    /// Lists that were not read; no such i-particle.
    pub fn list(&self, i: i32) -> Result<(Vec<i32>, usize)> {
        let pending = self.calls.last().map(|slot| &self.calls.all[slot]);
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
        let pipeline =
            usize::try_from(i).ok().filter(|pipeline| *pipeline < n).ok_or_else(|| {
                Error::value("the pipeline", i, format!("below {n}, as i-particles, from 0"))
            })?;
        let list =
            lists.of(pipeline).iter().map(|&source| self.memory.indices.index_of(source)).collect();
        Ok((list, lists.found(pipeline)))
    }
}

/// Neighbour radii of `n` i-particles from h^2.
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

/// Rejects i-particles with NaN or infinite values.
fn check(call: &Call) -> Result<()> {
    let arrays = [
        ("position", &call.position),
        ("velocity", &call.velocity),
        ("acceleration", &call.acceleration),
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

/// The i-particles as the engine's sinks.
fn sinks<'a>(call: &'a Call, identity: &'a [u32]) -> Sinks<'a> {
    Sinks {
        position: &call.position,
        velocity: &call.velocity,
        acceleration: &call.acceleration,
        identity: if identity.is_empty() { Identity::Foreign } else { Identity::Each(identity) },
        only: None,
    }
}

// Pending calls. Each thread has its own, so that the last half of one thread is never paired with
// the first half of another.
//
// GRAPE codes call from one thread, or from several in turn, where one thread may begin a call and
// another fetch it; then there is one call at a time, and any thread can fetch it. If threads call
// concurrently, each fetches its own call. No thread waits for another one's fetch: a call that
// occupies the engine is computed to its end and its result stored.

thread_local! {
    /// Dropped when this thread ends.
    static LIFE: Arc<()> = Arc::new(());
}

/// Identity of a thread.
#[derive(Clone, Default)]
struct Caller(Weak<()>);

impl Caller {
    /// The current thread; no identity while its thread-locals are being destroyed.
    fn this() -> Self {
        Self(LIFE.try_with(Arc::downgrade).unwrap_or_default())
    }

    fn is(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }

    fn has_ended(&self) -> bool {
        self.0.strong_count() == 0
    }
}

/// State of a thread's call.
#[derive(Debug, Default)]
enum CallState {
    /// No call: none was begun, the first half failed, or it was cancelled.
    #[default]
    Nothing,
    /// In progress on the engine.
    Begun,
    /// Computed early because the engine was needed for another call; not yet fetched.
    Computed(Result<()>),
    /// Fetched by the client.
    Finished,
}

/// A thread's call, from its first half until lists are read.
#[derive(Default)]
struct Pending {
    caller: Caller,
    pub state: CallState,
    pub call: Call<'static>,
    /// Source number of each i-particle, in the arrangement `arrangement`.
    pub identity: Vec<u32>,
    pub arrangement: u64,
    pub forces: BoardForces,
    /// Whether `forces` holds neighbour lists.
    pub with_lists: bool,
    /// The lists that were read.
    pub lists: Option<NeighbourLists>,
    /// Increases with each call that is begun, cancelled or finished.
    stamp: u64,
}

/// The calls of all threads on a cluster.
#[derive(Default)]
struct Calls {
    pub all: Vec<Pending>,
    stamp: u64,
    /// Whether a call was ever begun while another thread's was pending.
    pub overlapped: bool,
}

impl Calls {
    /// Resets this thread's call and returns its position in `all`.
    pub fn restart(&mut self) -> usize {
        let caller = Caller::this();
        let slot = self.slot_of(&caller).unwrap_or_else(|| {
            // First call of this thread: drops the calls of threads that have ended.
            self.all.retain(|pending| !pending.caller.has_ended());
            self.all.push(Pending { caller, ..Pending::default() });
            self.all.len() - 1
        });
        self.stamp += 1;
        let pending = &mut self.all[slot];
        (pending.state, pending.lists, pending.stamp) = (CallState::Nothing, None, self.stamp);
        slot
    }

    /// The call in progress on the engine.
    pub fn in_progress(&self) -> Option<usize> {
        self.all.iter().position(|pending| matches!(pending.state, CallState::Begun))
    }

    /// The call that a last half of this thread refers to: its own, or the only pending one if it
    /// has begun none.
    ///
    /// # Errors
    /// No pending call; several threads have begun one and this thread has not.
    pub fn to_finish(&self) -> Result<usize> {
        let nothing = || {
            let text = "nothing was begun, or it failed: call the first half before the last";
            Error::Outside(text.to_owned())
        };
        let is_pending = |slot: &usize| {
            matches!(self.all[*slot].state, CallState::Begun | CallState::Computed(_))
        };
        let own = self.slot_of(&Caller::this());
        match own.map(|slot| (slot, &self.all[slot].state)) {
            Some((_, CallState::Nothing)) => return Err(nothing()),
            None | Some((_, CallState::Finished)) => {}
            Some((slot, _)) => return Ok(slot),
        }
        let mut others = (0..self.all.len()).filter(is_pending);
        match (others.next(), others.count()) {
            (Some(slot), 0) => Ok(slot),
            (None, _) => Err(nothing()),
            (Some(_), more) => Err(Error::Outside(format!(
                "{} threads have begun calls on this cluster, and this thread has not: call both halves from one thread",
                more + 1
            ))),
        }
    }

    /// Marks the call at `slot` as finished and assigns it to this thread.
    pub fn complete(&mut self, slot: usize) -> &Pending {
        let caller = Caller::this();
        self.stamp += 1;
        let stamp = self.stamp;
        let pending = &mut self.all[slot];
        (pending.state, pending.stamp) = (CallState::Finished, stamp);
        if pending.caller.is(&caller) {
            return &self.all[slot];
        }
        pending.caller = caller.clone();
        self.all.retain(|other| other.stamp == stamp || !other.caller.is(&caller));
        let last = self.all.iter().position(|pending| pending.stamp == stamp);
        &self.all[last.unwrap_or_default()]
    }

    /// The call whose lists this thread reads: the last one, or its own if threads call
    /// concurrently.
    pub fn last(&self) -> Option<usize> {
        let own = self.slot_of(&Caller::this()).filter(|_| self.overlapped);
        own.or_else(|| (0..self.all.len()).max_by_key(|&slot| self.all[slot].stamp))
    }

    fn slot_of(&self, caller: &Caller) -> Option<usize> {
        self.all.iter().position(|pending| pending.caller.is(caller))
    }
}

// j-particles with duplicate indices. For an i-particle GRAPE-6 excludes all j-particles of its
// index, an engine only one. Such i-particles are rare; they are recomputed on the CPU without all
// j-particles of their index.

impl Pending {
    /// Recomputes the forces on i-particles whose index several j-particles share.
    fn exclude_duplicates(&mut self, order: Order, memory: &Memory) -> Result<()> {
        let Self { call, forces: BoardForces { results, .. }, .. } = self;
        let which = with_duplicates(memory, call);
        if which.is_empty() {
            return Ok(());
        }
        // Forces the lists to be recomputed when they are read.
        self.with_lists = false;
        for i in which {
            let outputs = Outputs {
                potential: true,
                nearest: !results.nearest.is_empty(),
                ..Outputs::only(order)
            };
            let (one, sources) = evaluate_excluding(memory, call, i, &outputs)?;
            results.acceleration[i] = one.acceleration[0];
            results.potential[i] = one.potential[0];
            if order >= Order::Jerk {
                results.jerk[i] = one.jerk[0];
            }
            if order >= Order::Snap {
                results.snap[i] = one.snap[0];
            }
            if outputs.nearest {
                let nearest = one.nearest[0];
                results.nearest[i] = sources.get(nearest as usize).copied().unwrap_or(NO_SOURCE);
                if let Some(distance) = results.nearest_distance.get_mut(i) {
                    *distance = one.nearest_distance[0];
                }
            }
        }
        Ok(())
    }

    /// Recomputes the lists of i-particles whose index several j-particles share.
    fn list_without_duplicates(
        &self,
        memory: &Memory,
        lists: &mut NeighbourLists,
        radius: &[f64],
        capacity: usize,
    ) -> Result<()> {
        let call = &self.call;
        let which = with_duplicates(memory, call);
        if which.is_empty() {
            return Ok(());
        }
        let old = std::mem::take(lists);
        for i in 0..old.len() {
            if which.binary_search(&i).is_err() {
                lists.push(old.of(i), old.found(i) as u32);
                continue;
            }
            let within = Some(Within { radius: &radius[i..=i], capacity });
            let outputs = Outputs { within, ..Outputs::only(Order::Acceleration) };
            let (one, sources) = evaluate_excluding(memory, call, i, &outputs)?;
            let list: Vec<u32> =
                one.neighbours.of(0).iter().map(|&source| sources[source as usize]).collect();
            lists.push(&list, one.neighbours.found(0) as u32);
        }
        Ok(())
    }
}

/// i-particles, ascending, whose index several j-particles share.
fn with_duplicates(memory: &Memory, call: &Call) -> Vec<usize> {
    if !memory.indices.has_duplicates() {
        return Vec::new();
    }
    let has_several = |i: &usize| !memory.indices.duplicates_of(call.index[*i]).is_empty();
    (0..call.index.len()).filter(has_several).collect()
}

/// Evaluates i-particle `i` with the sources that do not have its index; returns the forces and
/// the numbers of those sources.
fn evaluate_excluding(
    memory: &Memory,
    call: &Call,
    i: usize,
    outputs: &Outputs,
) -> Result<(Forces, Vec<u32>)> {
    let excluded = memory.indices.duplicates_of(call.index[i]);
    let count = memory.source_count() as u32;
    let sources: Vec<u32> =
        (0..count).filter(|source| excluded.binary_search(source).is_err()).collect();
    let mut engine = Reference::default();
    engine.set_sources(&memory.predict(&sources)?.sources())?;
    let single = |from: &[DVec3]| from.get(i).copied().into_iter().collect();
    let one = Call {
        position: single(&call.position),
        velocity: single(&call.velocity),
        acceleration: single(&call.acceleration),
        ..Call::default()
    };
    let mut results = Forces::default();
    engine.evaluate(&sinks(&one, &[]), call.softening_squared.sqrt(), outputs, &mut results)?;
    Ok((results, sources))
}

#[cfg(test)]
mod tests;
