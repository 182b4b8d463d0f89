//! Stored states of the run, to go back to: as many as fit a given memory, evenly spaced in time.
//!
//! Going back deletes nothing: later states stay until new steps from there reach their times, and
//! bookmarks stay even then.
//!
//! States come back every few seconds, less often if steps take long (`live/cadence.rs`); they
//! take up to 256 MB. The latest one is also the checkpoint from which a simulation continues on a
//! new device if its own is lost (`recover`).

use std::sync::Arc;

use egui::TextureHandle;

use super::session::Initial;
use crate::panel::{Bookmark, PAST_BYTES, StoredState};
use gravitile::bodies::Bodies;
use gravitile::sim::State;

/// Largest number of stored states: enough for the time bar.
const MOST: usize = 240;
/// Number of states that can be bookmarked regardless of their size.
const LEAST_MARKS: usize = 4;

/// Stored states, ordered by time.
#[derive(Default)]
pub struct Past {
    stored: Vec<StoredState>,
    /// Whether the next state will be bookmarked.
    wants_mark: bool,
    /// The time of the latest state taken in, or gone to.
    now: Option<f64>,
    latest: Option<Arc<State>>,
    /// What the states belong to: the bodies as loaded, and those with more that were thrown in.
    initials: Vec<Arc<Initial>>,
}

impl Past {
    /// Stores a state; returns whether it was bookmarked now. Outdated states, which the run has
    /// passed since the last one, are dropped.
    pub fn take(&mut self, state: &Arc<State>, forwards: bool) -> bool {
        let (time, from) = (state.time, self.now.replace(state.time));
        self.latest = Some(Arc::clone(state));
        let is_same = |stored: &StoredState| is_same(stored.state.time, time);
        let is_replaced = |stored: &StoredState| {
            let past =
                from.is_some_and(|from| stored.state.time > from && stored.state.time < time);
            is_same(stored) || forwards && past && stored.bookmark.is_none()
        };
        let before = self.stored.iter().find(|stored| is_same(stored));
        let before = before.and_then(|stored| stored.bookmark.clone());
        self.stored.retain(|stored| !is_replaced(stored));
        let is_new = std::mem::take(&mut self.wants_mark) && before.is_none();
        let bookmark = before.or(is_new.then(Bookmark::default));
        let at = self.stored.partition_point(|stored| stored.state.time < state.time);
        self.stored.insert(at, StoredState { state: Arc::clone(state), bookmark });
        self.thin();
        is_new
    }

    /// Records what the states to come belong to.
    pub fn note_initial(&mut self, initial: &Arc<Initial>) {
        if !self.initials.iter().any(|known| Arc::ptr_eq(known, initial)) {
            self.initials.push(Arc::clone(initial));
        }
    }

    /// What a state belongs to: ids of bodies that were thrown in are not used again in a run.
    pub fn initial_of(&self, state: &State) -> Option<&Arc<Initial>> {
        let of = |bodies: &Bodies| (bodies.len(), bodies.id.last().copied());
        self.initials.iter().find(|initial| of(&initial.bodies) == of(&state.bodies))
    }

    /// An id above all that bodies of this run have had.
    pub fn next_id(&self, now: &Initial) -> u64 {
        let all = self.initials.iter().map(|initial| &initial.bodies).chain([&now.bodies]);
        let largest = all.flat_map(|bodies| bodies.id.iter().copied()).max();
        largest.map_or(0, |id| id.saturating_add(1))
    }

    /// Records that the run continues from the state at this time; all stored states stay.
    pub fn go_to(&mut self, time: f64) {
        (self.now, self.latest) = (Some(time), None);
    }

    /// The latest state that was read back since the run began or continued from another state.
    pub fn latest(&self) -> Option<&Arc<State>> {
        self.latest.as_ref()
    }

    /// Bookmarks the next state, which is then never dropped. Returns false if bookmarks fill the
    /// memory.
    pub fn mark_next(&mut self) -> bool {
        let marked = self.stored.iter().filter(|stored| stored.bookmark.is_some()).count();
        let has_room = marked < self.most().max(LEAST_MARKS);
        self.wants_mark |= has_room;
        has_room
    }

    /// Changes the bookmark with that index in [`Past::stored`].
    pub fn change_mark(&mut self, at: usize, change: impl FnOnce(&mut Option<Bookmark>)) {
        if let Some(stored) = self.stored.get_mut(at) {
            change(&mut stored.bookmark);
            self.thin();
        }
    }

    /// Sets the picture of the bookmark at that time.
    pub fn set_picture(&mut self, time: f64, picture: TextureHandle) {
        let at = self.stored.iter().position(|stored| is_same(stored.state.time, time));
        let Some(at) = at else { return };
        self.change_mark(at, |mark| {
            mark.iter_mut().for_each(|bookmark| bookmark.picture = Some(picture.clone()));
        });
    }

    /// Forgets all pictures, which belong to a lost device.
    pub fn forget_pictures(&mut self) {
        let marks = self.stored.iter_mut().filter_map(|stored| stored.bookmark.as_mut());
        marks.for_each(|bookmark| bookmark.picture = None);
    }

    fn most(&self) -> usize {
        self.stored
            .first()
            .map_or(MOST, |stored| (PAST_BYTES / bytes(&stored.state)).clamp(2, MOST))
    }

    /// The stored states.
    pub fn stored(&self) -> &[StoredState] {
        &self.stored
    }

    /// The last state before `time`: its index in [`Past::stored`], and its time.
    pub fn last_before(&self, time: f64) -> Option<(usize, f64)> {
        let at = self.stored.partition_point(|stored| stored.state.time < time).checked_sub(1)?;
        Some((at, self.stored[at].state.time))
    }

    /// While there are too many states, drops the one whose neighbours are closest to each other;
    /// the first, the last and bookmarks stay.
    fn thin(&mut self) {
        let most = self.most();
        while self.stored.len() > most {
            let time = |at: usize| self.stored[at].state.time;
            let inner = 1..self.stored.len() - 1;
            let gap = |at: &usize| time(at + 1) - time(at - 1);
            let free = inner.clone().filter(|&at| self.stored[at].bookmark.is_none());
            let least = free.min_by(|a, b| gap(a).total_cmp(&gap(b)));
            let Some(least) = least else { break };
            self.stored.remove(least);
        }
    }
}

/// Whether two times are equal up to rounding.
fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// Approximate size of a state in memory.
fn bytes(state: &State) -> usize {
    // Position, velocity and acceleration, mass, id and component.
    state.bodies.len().max(1) * (3 * 24 + 8 + 8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(time: f64) -> Arc<State> {
        let (bodies, acceleration) = (Bodies::default(), Vec::new());
        Arc::new(State { time, steps: 0, bodies, acceleration, softening: 0.0 })
    }

    #[test]
    fn stored_states_are_evenly_spaced_and_bookmarks_stay() {
        let mut past = Past::default();
        for k in 0..1000 {
            if k == 333 {
                past.mark_next();
            }
            past.take(&state(f64::from(k)), true);
        }
        let times: Vec<f64> = past.stored().iter().map(|stored| stored.state.time).collect();
        assert_eq!((times.len(), times[0], times[times.len() - 1]), (MOST, 0.0, 999.0));
        let widest = times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        assert!(widest < 12.0, "{widest}");
        assert!(past.stored().iter().any(|of| of.bookmark.is_some() && of.state.time == 333.0));
    }

    #[test]
    fn later_states_stay_after_going_back_until_new_steps_pass_them_and_bookmarks_always() {
        let mut past = Past::default();
        for k in 0..10 {
            if k == 7 {
                assert!(past.mark_next());
            }
            past.take(&state(f64::from(k)), true);
        }
        let times = |past: &Past| {
            past.stored().iter().map(|stored| stored.state.time).collect::<Vec<f64>>()
        };
        // After going back, the first state that is read back is the one gone to.
        past.go_to(3.0);
        assert!(past.latest().is_none());
        past.take(&state(3.0), true);
        assert_eq!(past.latest().unwrap().time, 3.0);
        assert_eq!(times(&past), (0..10).map(f64::from).collect::<Vec<f64>>());
        // Forward again over the stored states.
        past.go_to(9.0);
        past.take(&state(9.0), true);
        assert_eq!(times(&past).len(), 10);
        // Steps from an earlier state replace exactly the states whose times they pass.
        past.go_to(3.0);
        past.take(&state(5.5), true);
        assert_eq!(times(&past), [0.0, 1.0, 2.0, 3.0, 5.5, 6.0, 7.0, 8.0, 9.0]);
        past.take(&state(8.5), true);
        assert_eq!(times(&past), [0.0, 1.0, 2.0, 3.0, 5.5, 7.0, 8.5, 9.0]);
        assert!(past.stored()[5].bookmark.is_some(), "the bookmark is lost");
        assert_eq!(
            [0.0, 5.0, 99.0].map(|time| past.last_before(time)),
            [None, Some((3, 3.0)), Some((7, 9.0))]
        );
    }

    #[test]
    fn bookmark_is_refused_when_full_and_none_is_dropped() {
        let mut past = Past::default();
        let mut set = 0;
        for k in 0..2 * MOST {
            set += usize::from(past.mark_next());
            past.take(&state(k as f64), true);
        }
        assert_eq!(set, MOST);
        assert_eq!(past.stored().iter().filter(|mark| mark.bookmark.is_some()).count(), MOST);
        // A name stays when the state comes again; without a bookmark a state may be dropped.
        past.change_mark(7, |mark| mark.as_mut().unwrap().name = "seven".to_owned());
        assert!(!past.mark_next() && !past.take(&state(7.0), true));
        assert_eq!(past.stored()[7].bookmark.as_ref().unwrap().name, "seven");
        past.change_mark(7, |mark| *mark = None);
        assert!(past.stored().iter().all(|stored| stored.state.time != 7.0));
    }
}
