//! States of the run so far that are kept, to go back to: as many as a stated memory holds, evenly over time.

use std::sync::Arc;

use crate::app::panel::PastMark;
use crate::sim::Moment;

/// What they may take, in bytes.
pub const MEMORY: usize = 256 << 20;
/// So many are enough for a bar.
const MOST: usize = 240;

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
    /// The next state is to be marked.
    wants_mark: bool,
}

impl Past {
    /// Takes in a state that has come back. States of a run that was left here, after it, are let go.
    pub fn take(&mut self, moment: &Arc<Moment>, forwards: bool) {
        let is_later = |kept: &Kept| match forwards {
            true => kept.moment.time >= moment.time,
            false => kept.moment.time == moment.time,
        };
        let was_marked =
            self.kept.iter().any(|kept| kept.marked && kept.moment.time == moment.time);
        self.kept.retain(|kept| !is_later(kept));
        let marked = std::mem::take(&mut self.wants_mark) || was_marked;
        let at = self.kept.partition_point(|kept| kept.moment.time < moment.time);
        self.kept.insert(at, Kept { moment: Arc::clone(moment), marked });
        self.thin();
        self.tell();
    }

    /// The next state that comes is marked: it stays.
    pub fn mark_next(&mut self) {
        self.wants_mark = true;
    }

    /// What the bar shows.
    pub fn marks(&self) -> &[PastMark] {
        &self.marks
    }

    /// A state by its place in [`Past::marks`].
    pub fn moment(&self, at: usize) -> Option<&Arc<Moment>> {
        self.kept.get(at).map(|kept| &kept.moment)
    }

    /// Lets go, one after the other, of the state whose neighbours are nearest to each other; the first, the last and
    /// marked ones stay as long as there are others.
    fn thin(&mut self) {
        let most =
            self.kept.first().map_or(MOST, |kept| (MEMORY / bytes(&kept.moment)).clamp(2, MOST));
        while self.kept.len() > most {
            let time = |at: usize| self.kept[at].moment.time;
            let inner = 1..self.kept.len() - 1;
            let gap = |at: &usize| time(at + 1) - time(at - 1);
            let free = inner.clone().filter(|&at| !self.kept[at].marked);
            let least = free.min_by(|a, b| gap(a).total_cmp(&gap(b)));
            self.kept.remove(least.unwrap_or(1));
        }
    }

    fn tell(&mut self) {
        let mark = |kept: &Kept| PastMark { time: kept.moment.time, marked: kept.marked };
        self.marks = self.kept.iter().map(mark).collect();
    }
}

/// What a state takes, nearly.
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
        // A run that goes on from an earlier state has no later ones.
        past.take(&moment(500.5), true);
        assert_eq!(past.marks().last().unwrap().time, 500.5);
    }
}
