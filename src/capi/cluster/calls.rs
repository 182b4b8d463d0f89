//! Pending calls. Each thread has its own, so that the last half of one thread is never paired with
//! the first half of another.
//!
//! GRAPE codes call from one thread, or from several in turn, where one thread may begin a call and
//! another fetch it; then there is one call at a time, and any thread can fetch it. If threads call
//! concurrently, each fetches its own call. No thread waits for another one's fetch: a call that
//! occupies the engine is computed to its end and its result stored.

use std::sync::{Arc, Weak};

use super::{BoardForces, Call};
use gravitile::error::{Error, Result};
use gravitile::forces::Lists;

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
pub(super) enum CallState {
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
pub(super) struct Pending {
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
    pub lists: Option<Lists>,
    /// Increases with each call that is begun, cancelled or finished.
    stamp: u64,
}

/// The calls of all threads on a cluster.
#[derive(Default)]
pub(super) struct Calls {
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
