//! Kept states of the run, to go back to: as many as a given memory holds, evenly over time.
//!
//! Going back loses nothing: later states stay until new steps from there reach their times, and bookmarks stay even
//! then.

use std::sync::Arc;

use crate::app::panel::{PAST_BYTES, PastMark};
use crate::sim::Moment;

/// At most this many: enough for the bar.
const MOST: usize = 240;
/// This many can be bookmarked, however large they are.
const LEAST_MARKS: usize = 4;

/// A kept state.
#[derive(Clone)]
struct Kept {
    moment: Arc<Moment>,
    marked: bool,
}

/// Kept states, in the order of their times.
#[derive(Default)]
pub struct Past {
    kept: Vec<Kept>,
    marks: Vec<PastMark>,
    /// Whether the next state is to be bookmarked.
    wants_mark: bool,
    /// The run's time, as far as states have come back.
    now: Option<f64>,
}

impl Past {
    /// Takes in a state that has come back. Kept states that the run passed on its way to it are outdated and dropped.
    pub fn take(&mut self, moment: &Arc<Moment>, forwards: bool) {
        let (time, from) = (moment.time, self.now.replace(moment.time));
        let is_same = |kept: &Kept| is_same(kept.moment.time, time);
        let is_replaced = |kept: &Kept| {
            let past = from.is_some_and(|from| kept.moment.time > from && kept.moment.time < time);
            is_same(kept) || forwards && past && !kept.marked
        };
        let was_marked = self.kept.iter().any(|kept| kept.marked && is_same(kept));
        self.kept.retain(|kept| !is_replaced(kept));
        let marked = std::mem::take(&mut self.wants_mark) || was_marked;
        let at = self.kept.partition_point(|kept| kept.moment.time < moment.time);
        self.kept.insert(at, Kept { moment: Arc::clone(moment), marked });
        self.thin();
        self.tell();
    }

    /// The run goes on from the state at this time: all kept states stay.
    pub fn go_to(&mut self, time: f64) {
        self.now = Some(time);
    }

    /// Bookmarks the next state that comes: it stays. False if bookmarks leave no room for it.
    pub fn mark_next(&mut self) -> bool {
        let marked = self.kept.iter().filter(|kept| kept.marked).count();
        let has_room = marked < self.most().max(LEAST_MARKS);
        self.wants_mark |= has_room;
        has_room
    }

    fn most(&self) -> usize {
        self.kept.first().map_or(MOST, |kept| (PAST_BYTES / bytes(&kept.moment)).clamp(2, MOST))
    }

    /// What the bar shows.
    pub fn marks(&self) -> &[PastMark] {
        &self.marks
    }

    /// A state by its index in [`Past::marks`].
    pub fn moment(&self, at: usize) -> Option<&Arc<Moment>> {
        self.kept.get(at).map(|kept| &kept.moment)
    }

    /// Drops states while there are too many, each time the one whose neighbours are closest to each other; the first,
    /// the last and bookmarks stay.
    fn thin(&mut self) {
        let most = self.most();
        while self.kept.len() > most {
            let time = |at: usize| self.kept[at].moment.time;
            let inner = 1..self.kept.len() - 1;
            let gap = |at: &usize| time(at + 1) - time(at - 1);
            let free = inner.clone().filter(|&at| !self.kept[at].marked);
            let least = free.min_by(|a, b| gap(a).total_cmp(&gap(b)));
            let Some(least) = least else { break };
            self.kept.remove(least);
        }
    }

    fn tell(&mut self) {
        let mark = |kept: &Kept| PastMark { time: kept.moment.time, marked: kept.marked };
        self.marks = self.kept.iter().map(mark).collect();
    }
}

/// Whether two times are equal up to rounding.
fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// Roughly the memory that a state takes.
fn bytes(moment: &Moment) -> usize {
    // Position, velocity and acceleration, mass, id and component.
    moment.bodies.len().max(1) * (3 * 24 + 8 + 8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::Bodies;

    fn moment(time: f64) -> Arc<Moment> {
        let (bodies, acceleration) = (Bodies::default(), Vec::new());
        Arc::new(Moment { time, steps: 0, bodies, acceleration, softening: 0.0 })
    }

    #[test]
    fn states_stay_even_over_time_and_marked_ones_stay() {
        let mut past = Past::default();
        for k in 0..1000 {
            if k == 333 {
                past.mark_next();
            }
            past.take(&moment(f64::from(k)), true);
        }
        let times: Vec<f64> = past.marks().iter().map(|mark| mark.time).collect();
        assert_eq!((times.len(), times[0], times[times.len() - 1]), (MOST, 0.0, 999.0));
        let widest = times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        assert!(widest < 12.0, "{widest}");
        assert!(past.marks().iter().any(|mark| mark.marked && mark.time == 333.0));
    }

    #[test]
    fn who_goes_back_can_go_forward_again_until_steps_are_taken_and_keeps_the_bookmarks() {
        let mut past = Past::default();
        for k in 0..10 {
            if k == 7 {
                assert!(past.mark_next());
            }
            past.take(&moment(f64::from(k)), true);
        }
        let times = |past: &Past| past.marks().iter().map(|m| m.time).collect::<Vec<f64>>();
        // A slip on the bar: the state of there is the first that comes back.
        past.go_to(3.0);
        past.take(&moment(3.0), true);
        assert_eq!(times(&past), (0..10).map(f64::from).collect::<Vec<f64>>());
        // Forward again over what was kept.
        past.go_to(9.0);
        past.take(&moment(9.0), true);
        assert_eq!(times(&past).len(), 10);
        // Steps from an earlier state come in the place of those that they pass, and of no others.
        past.go_to(3.0);
        past.take(&moment(5.5), true);
        assert_eq!(times(&past), [0.0, 1.0, 2.0, 3.0, 5.5, 6.0, 7.0, 8.0, 9.0]);
        past.take(&moment(8.5), true);
        assert_eq!(times(&past), [0.0, 1.0, 2.0, 3.0, 5.5, 7.0, 8.5, 9.0]);
        assert!(past.marks()[5].marked, "the bookmark is lost");
    }

    #[test]
    fn a_bookmark_for_which_there_is_no_room_is_refused_and_none_is_let_go() {
        let mut past = Past::default();
        let mut set = 0;
        for k in 0..2 * MOST {
            set += usize::from(past.mark_next());
            past.take(&moment(k as f64), true);
        }
        assert_eq!(set, MOST);
        assert_eq!(past.marks().iter().filter(|mark| mark.marked).count(), MOST);
    }
}
