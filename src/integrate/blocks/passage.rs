//! The closest passage in an interval of a run: without softening, errors arise mostly there.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::PREFIX;
use super::arrays::Arrays;

/// When the shortest step in an interval of a run was taken, and which body was nearest then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Time since the beginning of the run.
    pub time: f64,
    /// The body's id.
    pub id: u64,
    /// The id of the body nearest to it.
    pub other: u64,
    /// Their distance at the end of that step.
    pub distance: f64,
}

impl fmt::Display for Passage {
    /// Formats it as text with the four numbers, from which the same passage can be parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.time, self.id, self.other, self.distance)
    }
}

impl FromStr for Passage {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split(' ');
        let mut word = || words.next().ok_or(());
        let (time, id, other, distance) = (word()?, word()?, word()?, word()?);
        Ok(Self {
            time: time.parse().map_err(|_| ())?,
            id: id.parse().map_err(|_| ())?,
            other: other.parse().map_err(|_| ())?,
            distance: distance.parse().map_err(|_| ())?,
        })
    }
}

/// Name of the fact with the shortest step since the last row of the log, and the passage of that
/// time.
const SHORTEST: &str = "shortest";

/// Records the shortest step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PassageRecord {
    step: u64,
    closest: Option<Passage>,
}

impl Default for PassageRecord {
    fn default() -> Self {
        Self { step: u64::MAX, closest: None }
    }
}

impl PassageRecord {
    /// Whether a step is shorter than all before.
    pub fn is_shorter(&self, step: u64) -> bool {
        step < self.step
    }

    /// Records that body `i` has a shorter `step` than all before; `at` has the positions of all
    /// bodies.
    pub fn note(&mut self, i: usize, step: u64, time: f64, at: &Arrays, id: &[u64]) {
        let here = at.get(i).position;
        let others = at.positions().iter().enumerate().filter(|(k, _)| *k != i);
        let squares = others.map(|(k, position)| (position.distance_squared(here), k));
        let nearest = squares.min_by(|a, b| a.0.total_cmp(&b.0));
        let passage = |(square, k): (f64, usize)| Passage {
            time,
            id: id[i],
            other: id[k],
            distance: square.sqrt(),
        };
        *self = Self { step, closest: nearest.map(passage) };
    }

    /// The record as a fact of a snapshot; `None` if it is empty.
    pub fn fact(&self) -> Option<(String, String)> {
        let passage = self.closest?;
        Some((format!("{PREFIX}{SHORTEST}"), format!("{} {passage}", self.step)))
    }

    /// The record that [`PassageRecord::fact`] stored in `facts`, if any.
    pub fn find(facts: &BTreeMap<String, String>) -> Self {
        let fact = facts.get(&format!("{PREFIX}{SHORTEST}"));
        let found = fact.and_then(|text| {
            let (step, passage) = text.split_once(' ')?;
            Some(Self { step: step.parse().ok()?, closest: Some(passage.parse().ok()?) })
        });
        found.unwrap_or_default()
    }

    /// Returns and resets the record.
    pub fn take(&mut self) -> Option<Passage> {
        std::mem::take(self).closest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passage_text_round_trips() {
        let passage = Passage { time: 0.1 + 0.2, id: u64::MAX, other: 0, distance: 1e-9 / 3.0 };
        assert_eq!(passage.to_string().parse(), Ok(passage));
        let record = PassageRecord { step: 77, closest: Some(passage) };
        assert_eq!(PassageRecord::find(&record.fact().into_iter().collect()), record);
        assert_eq!(PassageRecord::find(&BTreeMap::new()), PassageRecord::default());
        assert_eq!(PassageRecord::default().fact(), None);
        for text in ["", "1 2 3", "1 2 x 4", "1 -2 3 4"] {
            assert_eq!(text.parse::<Passage>(), Err(()), "{text}");
        }
    }
}
