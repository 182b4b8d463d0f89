//! What the threads of a workgroup touch: faults, and how many turns memory takes.

use std::collections::{BTreeSet, HashMap};

/// One access of a thread.
#[derive(Clone, Debug)]
pub struct Access {
    /// The thread within the workgroup.
    pub lane: usize,
    /// The variable's name.
    pub variable: String,
    /// Whether it is in workgroup memory, or in a buffer.
    pub in_workgroup: bool,
    /// Bytes from the variable's beginning, and how many.
    pub offset: u64,
    /// How many bytes.
    pub size: u64,
    /// Whether it is a write.
    pub writes: bool,
    /// Whether it lies within the variable.
    pub inside: bool,
}

/// Threads that execute together; GPUs have 32 or 64.
const SUBGROUP: usize = 32;
/// Banks of workgroup memory, each a word of 4 bytes wide.
const BANKS: u64 = 32;
/// Bytes of a line of a cache.
const LINE: u64 = 128;

/// Turns taken, and the fewest that the same bytes could take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Turns taken.
    pub taken: u64,
    /// The fewest possible.
    pub least: u64,
}

impl Turns {
    /// How many times more than needed.
    pub fn ratio(&self) -> f64 {
        self.taken as f64 / self.least.max(1) as f64
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    writer: Option<usize>,
    reader: Option<usize>,
    /// A reader other than the first.
    other: Option<usize>,
}

/// What was touched since the last barrier, and everything noteworthy so far.
#[derive(Debug, Default)]
pub struct Recorder {
    touched: HashMap<(String, u64), Touched>,
    /// The first conflict of two threads without a barrier between them.
    pub race: Option<String>,
    /// The first barrier that a thread does not reach.
    pub missed: Option<String>,
    /// The first access outside of a buffer or array.
    pub outside: Option<String>,
    /// Banks of workgroup memory, and lines of memory, for each variable, read or written.
    turns: HashMap<(bool, String, bool), Turns>,
}

impl Recorder {
    /// The worst turns of any variable: of banks, or of lines of memory.
    pub fn worst(&self, in_workgroup: bool) -> Turns {
        let turns = self.turns.iter().filter(|((shared, ..), _)| *shared == in_workgroup);
        let turns = turns.map(|(_, turns)| *turns);
        turns.max_by(|a, b| a.ratio().total_cmp(&b.ratio())).unwrap_or_default()
    }

    /// All threads have arrived.
    pub fn barrier(&mut self) {
        self.touched.clear();
    }

    /// A thread does not reach a barrier that others reach.
    pub fn missed_barrier(&mut self, lane: usize) {
        self.missed.get_or_insert_with(|| {
            format!("thread {lane} does not reach a barrier at which the others wait")
        });
    }

    /// Accesses by one instruction, of all threads at work.
    pub fn together(&mut self, accesses: &[Access]) {
        for access in accesses {
            self.look(access);
        }
        for subgroup in accesses.chunk_by(|a, b| a.lane / SUBGROUP == b.lane / SUBGROUP) {
            let unit = if subgroup[0].in_workgroup { 4 } else { LINE };
            let mut words = BTreeSet::new();
            let mut bytes = BTreeSet::new();
            for access in subgroup.iter().filter(|access| access.inside) {
                let last = access.offset + access.size - 1;
                words.extend(access.offset / unit..=last / unit);
                bytes.extend(access.offset / 4..=last / 4);
            }
            if words.is_empty() {
                continue;
            }
            let Access { in_workgroup, variable, writes, .. } = &subgroup[0];
            let turns = self.turns.entry((*in_workgroup, variable.clone(), *writes)).or_default();
            if *in_workgroup {
                let mut banks = [0u64; BANKS as usize];
                words.iter().for_each(|word| banks[(word % BANKS) as usize] += 1);
                turns.taken += banks.into_iter().max().unwrap_or(0);
                turns.least += (words.len() as u64).div_ceil(BANKS);
            } else {
                turns.taken += words.len() as u64;
                turns.least += (bytes.len() as u64 * 4).div_ceil(LINE);
            }
        }
    }

    fn look(&mut self, access: &Access) {
        let Access { lane, variable, offset, writes, .. } = access;
        let (verb, entry) = (if *writes { "writes" } else { "reads" }, offset / 16);
        if !access.inside {
            self.outside.get_or_insert_with(|| {
                format!("thread {lane} {verb} beyond the end of '{variable}', at entry {entry}")
            });
            return;
        }
        if !access.in_workgroup {
            return;
        }
        for word in *offset / 4..(*offset + access.size) / 4 {
            let touched = self.touched.entry((variable.clone(), word)).or_default();
            let other_reader =
                [touched.reader, touched.other].into_iter().flatten().find(|other| other != lane);
            let other_writer = touched.writer.filter(|other| other != lane);
            let conflict = if *writes { other_writer.or(other_reader) } else { other_writer };
            if let (Some(other), None) = (conflict, &self.race) {
                let did = if *writes && other_writer.is_none() { "read" } else { "wrote" };
                self.race = Some(format!(
                    "thread {lane} {verb} entry {entry} of '{variable}', which thread {other} {did} since the last barrier"
                ));
            }
            if *writes {
                touched.writer = Some(*lane);
            } else if touched.reader.is_none() {
                touched.reader = Some(*lane);
            } else if touched.reader != Some(*lane) {
                touched.other = Some(*lane);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(lane: usize, offset: u64, in_workgroup: bool, writes: bool) -> Access {
        Access {
            lane,
            variable: "tile".to_owned(),
            in_workgroup,
            offset,
            size: 16,
            writes,
            inside: true,
        }
    }

    #[test]
    fn conflicts_of_banks_and_lines_are_counted() {
        let turns = |stride: u64, in_workgroup: bool| {
            let mut recorder = Recorder::default();
            let all: Vec<Access> =
                (0..32).map(|k| access(k, k as u64 * stride, in_workgroup, false)).collect();
            recorder.together(&all);
            recorder.worst(in_workgroup)
        };
        // One address serves all; neighbours share lines and use all banks; a stride of 128 bytes uses 4 banks of 32.
        assert_eq!(turns(0, true), Turns { taken: 1, least: 1 });
        assert_eq!(turns(16, true), Turns { taken: 4, least: 4 });
        assert_eq!(turns(128, true), Turns { taken: 32, least: 4 });
        assert_eq!(turns(16, false), Turns { taken: 4, least: 4 });
        assert_eq!(turns(128, false), Turns { taken: 32, least: 4 });
    }

    #[test]
    fn race_needs_two_threads_a_write_and_no_barrier() {
        let race = |first: (usize, bool), barrier: bool, second: (usize, bool)| {
            let mut recorder = Recorder::default();
            recorder.together(&[access(first.0, 0, true, first.1)]);
            if barrier {
                recorder.barrier();
            }
            recorder.together(&[access(second.0, 0, true, second.1)]);
            recorder.race.is_some()
        };
        assert!(race((0, true), false, (1, false)) && race((0, false), false, (1, true)));
        assert!(race((0, true), false, (1, true)));
        assert!(!race((0, true), true, (1, false)) && !race((0, false), false, (1, false)));
        assert!(!race((0, true), false, (0, false)));
    }
}
