//! Individual steps in a snapshot: columns and attributes from which a run resumes to the same
//! bits.

use std::collections::BTreeMap;

use super::schedule::{PERIOD, Schedule};
use super::{LEVELS, Track};
use crate::error::{Error, Result};
use crate::forces::{last, rebuilds};
use crate::frame::{self, Rests};

/// Prefix of all names that belong to a restart.
pub const PREFIX: &str = "blocks.";

const PERIODS: &str = "blocks.periods";
const LEAST: &str = "blocks.least_acceleration";

/// Restart data of a snapshot besides the synchronised bodies. Columns, one value per body:
/// `blocks.time` and `blocks.step` in units of dt-max / 2^44 (whole numbers, exact in f64); the
/// body's Taylor series at its own time, `blocks.x` ... `blocks.cz` (position x, velocity v,
/// acceleration a, jerk j, snap s, crackle c); and the low parts of position and velocity,
/// `blocks.lx` ... `blocks.lvz`, which are left out if all are 0. The fact `blocks.periods` is the
/// number of completed dt-max, `blocks.least_acceleration` that of [`super::Accuracy`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restart {
    /// Columns by name.
    pub columns: BTreeMap<String, Vec<f64>>,
    /// Facts by name.
    pub facts: BTreeMap<String, String>,
}

/// The vectors of a track with their letters, the low parts last.
fn rows(track: &mut Track) -> [(&'static str, &mut glam::DVec3); LOW + 2] {
    let Track { position, velocity, position_low, velocity_low, acceleration, jerk, snap, crackle } =
        track;
    [
        ("", position),
        ("v", velocity),
        ("a", acceleration),
        ("j", jerk),
        ("s", snap),
        ("c", crackle),
        ("l", position_low),
        ("lv", velocity_low),
    ]
}

/// The index in [`rows`] of the first row that may be missing: snapshots of earlier versions do not
/// have the low parts, nor do those of bodies on a device.
const LOW: usize = 6;

const AXES: [&str; 3] = ["x", "y", "z"];

impl Restart {
    /// The columns and attributes of a snapshot that belong to a restart; `None` if there are none.
    pub fn find(
        columns: &BTreeMap<String, Vec<f64>>,
        facts: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let is_without_steps = |name: &str| {
            let prefixes = [frame::PREFIX, last::PREFIX, rebuilds::PREFIX];
            prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        let is_ours = |name: &str| name.starts_with(PREFIX) || is_without_steps(name);
        if !facts.contains_key(PERIODS) && !columns.keys().any(|name| is_without_steps(name)) {
            return None;
        }
        let columns = columns.iter().filter(|(name, _)| is_ours(name));
        let facts = facts.iter().filter(|(name, _)| name.starts_with(PREFIX));
        Some(Self {
            columns: columns.map(|(name, column)| (name.clone(), column.clone())).collect(),
            facts: facts.map(|(name, fact)| (name.clone(), fact.clone())).collect(),
        })
    }

    /// The columns of [`Rests`], for bodies on a device; none if all rests are 0.
    pub fn of_rests(rests: &Rests) -> Self {
        let columns = if rests.are_zero() { BTreeMap::new() } else { rests.columns() };
        Self { columns, ..Self::default() }
    }

    /// The columns of the accelerations of the last step, for methods whose forces depend on them.
    pub fn of_last(acceleration: &[glam::DVec3]) -> Self {
        Self { columns: last::columns(acceleration), ..Self::default() }
    }

    /// Whether it contains individual steps.
    pub fn has_steps(&self) -> bool {
        self.facts.contains_key(PERIODS)
    }

    pub(super) fn of(schedule: &Schedule, least_acceleration: f64, tracks: &[Track]) -> Self {
        let Schedule { period, time, step } = schedule;
        let mut columns = BTreeMap::new();
        let whole = |of: &[u64]| of.iter().map(|&value| value as f64).collect::<Vec<_>>();
        columns.insert(format!("{PREFIX}time"), whole(time));
        columns.insert(format!("{PREFIX}step"), whole(step));
        let is_low = |track: &Track| {
            let low = [track.position_low, track.velocity_low];
            low.iter().any(|low| low.to_array().iter().any(|part| part.to_bits() != 0))
        };
        let count = if tracks.iter().any(is_low) { LOW + 2 } else { LOW };
        let letters = rows(&mut Track::default()).map(|(letter, _)| letter);
        for (row, letter) in letters.into_iter().enumerate().take(count) {
            for (axis, name) in AXES.into_iter().enumerate() {
                let value = |track: &Track| rows(&mut track.clone())[row].1[axis];
                columns
                    .insert(format!("{PREFIX}{letter}{name}"), tracks.iter().map(value).collect());
            }
        }
        let facts = [
            (PERIODS.to_owned(), period.to_string()),
            // The shortest text that parses to the same bits.
            (LEAST.to_owned(), least_acceleration.to_string()),
        ];
        let facts = facts.into();
        Self { columns, facts }
    }

    /// Reads the bodies' times and steps, the least acceleration and the tracks.
    pub(super) fn read(&self) -> Result<(Schedule, f64, Vec<Track>)> {
        let bad = |name: &str| {
            Error::value(
                format!("the fact {name}"),
                "missing or not a number",
                "present to resume a run",
            )
        };
        let fact = |name: &str| self.facts.get(name).map(String::as_str).unwrap_or_default();
        let period = fact(PERIODS).parse().map_err(|_| bad(PERIODS))?;
        let least: f64 = fact(LEAST).parse().map_err(|_| bad(LEAST))?;
        let column = |name: &str| {
            let name = format!("{PREFIX}{name}");
            self.columns.get(&name).ok_or_else(|| {
                Error::value(format!("the column {name}"), "missing", "present to resume a run")
            })
        };
        let (time, step) = (column("time")?, column("step")?);
        let mut schedule = Schedule::new(Vec::with_capacity(step.len()));
        schedule.period = period;
        schedule.time.clear();
        for (&time, &step) in time.iter().zip(step) {
            let whole = |value: f64| (0.0..=PERIOD as f64).contains(&value) && value.fract() == 0.0;
            let fits = |time: u64, step: u64| {
                step.is_power_of_two() && time.is_multiple_of(step) && time + step <= PERIOD
            };
            if !(whole(time) && whole(step) && fits(time as u64, step as u64)) {
                let value = format!("time {time}, step {step}");
                let allowed = format!(
                    "a step that is a power of two and a time that is a multiple of it below 2^{LEVELS}"
                );
                return Err(Error::value("a body's own time in the snapshot", value, allowed));
            }
            schedule.time.push(time as u64);
            schedule.step.push(step as u64);
        }
        let mut tracks = vec![Track::default(); schedule.step.len()];
        let letters = rows(&mut Track::default()).map(|(letter, _)| letter);
        let is_there =
            |letter: &str| AXES.iter().any(|axis| column(&format!("{letter}{axis}")).is_ok());
        let has_low = letters[LOW..].iter().any(|letter| is_there(letter));
        let count = if has_low { LOW + 2 } else { LOW };
        for (row, letter) in letters.into_iter().enumerate().take(count) {
            for (axis, name) in AXES.into_iter().enumerate() {
                let values = column(&format!("{letter}{name}"))?;
                for (track, &value) in tracks.iter_mut().zip(values) {
                    rows(track)[row].1[axis] = value;
                }
            }
        }
        Ok((schedule, least, tracks))
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    #[test]
    fn restart_round_trips_and_damage_is_detected() {
        let tracks: Vec<Track> = (0..3)
            .map(|k| {
                let v = |m: f64| DVec3::new(m, m + 0.1, -m) / (f64::from(k) + 3.0);
                Track {
                    position: v(1.0),
                    velocity: v(2.0),
                    acceleration: v(3.0),
                    jerk: v(4.0),
                    snap: v(5.0),
                    crackle: v(6.0),
                    position_low: v(1e-17),
                    velocity_low: v(-2e-17),
                }
            })
            .collect();
        let mut schedule = Schedule::new(vec![1, 8, PERIOD]);
        schedule.period = 77;
        schedule.time = vec![PERIOD - 1, 16, 0];
        let restart = Restart::of(&schedule, 0.1 / 3.0, &tracks);
        assert_eq!(restart.columns.len(), 26);
        let found = Restart::find(&restart.columns, &restart.facts).unwrap();
        assert_eq!(found.read().unwrap(), (schedule.clone(), 0.1 / 3.0, tracks.clone()));
        assert!(Restart::find(&restart.columns, &BTreeMap::new()).is_none());

        let mut odd = restart.clone();
        odd.columns.get_mut("blocks.step").unwrap()[1] = 3.0;
        assert!(odd.read().unwrap_err().to_string().contains("step 3"));
        for name in ["blocks.jy", "blocks.lvx"] {
            let mut torn = restart.clone();
            torn.columns.remove(name);
            assert!(torn.read().unwrap_err().to_string().contains(name));
        }

        // As versions before the low parts wrote them.
        let mut old = restart;
        old.columns.retain(|name, _| !name.starts_with("blocks.l"));
        let zero = DVec3::ZERO;
        let rough = tracks.into_iter().map(|track| Track {
            position_low: zero,
            velocity_low: zero,
            ..track
        });
        let rough: Vec<Track> = rough.collect();
        assert_eq!(old.read().unwrap().2, rough);
        assert_eq!(Restart::of(&schedule, 0.1 / 3.0, &rough), old);
    }
}
