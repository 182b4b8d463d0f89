//! Calls under way. Each thread has one of its own, so that no thread's last half meets another's first.
//!
//! GRAPE codes call from one thread, or from several in turn, where one may begin and another fetch; then there is one
//! call at a time, and whoever asks gets it. Where threads call at the same time each gets its own back. Nobody waits
//! for a thread to fetch: a call that is in the way of another's is computed to its end and kept.

use std::sync::{Arc, Weak};

use super::Call;
use crate::error::{Error, Result};
use crate::forces::{Answers, Lists};

thread_local! {
    /// Lives as long as this thread.
    static LIFE: Arc<()> = Arc::new(());
}

/// A thread.
#[derive(Clone, Default)]
struct Caller(Weak<()>);

impl Caller {
    /// This thread. While it ends: none.
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

/// How far a thread's call has come.
#[derive(Debug, Default)]
pub(super) enum CallState {
    /// A first half failed, or was forgotten: there is nothing to wait for.
    #[default]
    Nothing,
    /// The engine is at it.
    Begun,
    /// The engine was needed for another: the answers are there, or what went wrong.
    Computed(Result<()>),
    /// It was fetched.
    Finished,
}

/// A thread's call, from its first half until lists are read.
#[derive(Default)]
pub(super) struct Pending {
    caller: Caller,
    pub state: CallState,
    pub call: Call,
    /// The source that each i-particle is, as sources were arranged.
    pub identity: Vec<u32>,
    pub arrangement: u64,
    pub answers: Answers,
    /// The client's indices of the nearest.
    pub nearest: Vec<i32>,
    /// Whether `answers` hold lists.
    pub with_lists: bool,
    /// The lists that were read.
    pub lists: Option<Lists>,
    /// Larger for what was begun, forgotten or finished later.
    stamp: u64,
}

/// All threads' calls on a cluster.
#[derive(Default)]
pub(super) struct Calls {
    pub all: Vec<Pending>,
    stamp: u64,
    /// Whether a call was ever begun while another thread's was under way.
    pub overlapped: bool,
}

impl Calls {
    /// This thread's call, with nothing begun.
    pub fn renew(&mut self) -> usize {
        let caller = Caller::this();
        let place = self.place_of(&caller).unwrap_or_else(|| {
            // A thread that is new here: those that have ended will not come back.
            self.all.retain(|pending| !pending.caller.has_ended());
            self.all.push(Pending { caller, ..Pending::default() });
            self.all.len() - 1
        });
        self.stamp += 1;
        let pending = &mut self.all[place];
        (pending.state, pending.lists, pending.stamp) = (CallState::Nothing, None, self.stamp);
        place
    }

    /// The call that the engine is at.
    pub fn at_work(&self) -> Option<usize> {
        self.all.iter().position(|pending| matches!(pending.state, CallState::Begun))
    }

    /// The call that a last half of this thread is for: its own, or the only one where it has begun none.
    ///
    /// Errors: there is none; several threads have begun one, and this thread has not.
    pub fn waiting(&self) -> Result<usize> {
        let nothing = || {
            let text = "nothing was begun, or it failed: call the first half before the last";
            Error::Outside(text.to_owned())
        };
        let waits = |place: &usize| {
            matches!(self.all[*place].state, CallState::Begun | CallState::Computed(_))
        };
        let own = self.place_of(&Caller::this());
        match own.map(|place| (place, &self.all[place].state)) {
            Some((_, CallState::Nothing)) => return Err(nothing()),
            None | Some((_, CallState::Finished)) => {}
            Some((place, _)) => return Ok(place),
        }
        let mut others = (0..self.all.len()).filter(waits);
        match (others.next(), others.count()) {
            (Some(place), 0) => Ok(place),
            (None, _) => Err(nothing()),
            (Some(_), more) => Err(Error::Outside(format!(
                "{} threads have begun calls on this cluster, and this thread has not: call both halves from one thread",
                more + 1
            ))),
        }
    }

    /// The call at `place` is finished, and this thread's from now on.
    pub fn hand_over(&mut self, place: usize) -> &Pending {
        let caller = Caller::this();
        self.stamp += 1;
        let stamp = self.stamp;
        let pending = &mut self.all[place];
        (pending.state, pending.stamp) = (CallState::Finished, stamp);
        if pending.caller.is(&caller) {
            return &self.all[place];
        }
        pending.caller = caller.clone();
        self.all.retain(|other| other.stamp == stamp || !other.caller.is(&caller));
        let last = self.all.iter().position(|pending| pending.stamp == stamp);
        &self.all[last.unwrap_or_default()]
    }

    /// The call whose lists this thread means: the last one; its own where threads call at the same time.
    pub fn last(&self) -> Option<usize> {
        let own = self.place_of(&Caller::this()).filter(|_| self.overlapped);
        own.or_else(|| (0..self.all.len()).max_by_key(|&place| self.all[place].stamp))
    }

    fn place_of(&self, caller: &Caller) -> Option<usize> {
        self.all.iter().position(|pending| pending.caller.is(caller))
    }
}
