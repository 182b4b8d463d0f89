//! What the threads of a user's own kernel touch, found by running its text on the host: races,
//! accesses outside of a buffer, barriers that not all threads reach, conflicts of banks, and lines
//! of memory. Software adapters show none of these.

mod lanes;

use std::collections::{BTreeSet, HashMap};

use lanes::{Value, Workgroup, many, of_word};
use naga::{AddressSpace, Binding, BuiltIn, TypeInner};

use crate::error::{Error, Result};
use crate::forces::direct::gpu::own;

/// More turns than this many times the fewest count as a fault.
const MOST_TURNS: f64 = 1.5;

/// More threads a workgroup than WebGPU promises are not followed.
const MOST_THREADS: u32 = 256;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Whether it is as it should be.
    pub is_fine: bool,
    /// Whether the sums may be wrong if it is not; otherwise they are only slow.
    pub is_about_sums: bool,
    /// What was found.
    pub words: String,
}

/// What was found, for the first workgroup of sinks and the last one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accesses {
    /// A loop that does not end: then the rest is what was found up to there.
    pub endless: Option<String>,
    /// Two threads that touch a word of workgroup memory without a barrier between them.
    pub race: Option<String>,
    /// A barrier that a thread does not reach.
    pub missed: Option<String>,
    /// An access outside of a buffer or array.
    pub outside: Option<String>,
    /// Turns of the 32 banks of workgroup memory, for subgroups of 32 threads.
    pub banks: Turns,
    /// Lines of 128 bytes of memory, for subgroups of 32 threads.
    pub lines: Turns,
}

impl Accesses {
    /// What was looked at, in words.
    pub fn findings(&self) -> Vec<Finding> {
        let fault = |fault: &Option<String>, fine: &str| Finding {
            is_fine: fault.is_none(),
            is_about_sums: true,
            words: fault.clone().unwrap_or_else(|| fine.to_owned()),
        };
        let turns = |turns: &Turns, what: &str, fine: &str| {
            let ratio = turns.ratio();
            let is_fine = ratio <= MOST_TURNS;
            let words = match is_fine {
                true => fine.to_owned(),
                false => format!("{what}, {ratio:.1} times as many as needed"),
            };
            Finding { is_fine, is_about_sums: false, words }
        };
        if self.endless.is_some() {
            return vec![fault(&self.endless, "")];
        }
        vec![
            fault(&self.race, "between two barriers no thread touches what another one writes"),
            fault(&self.missed, "all threads reach every barrier"),
            fault(&self.outside, "nothing is read or written beyond the end"),
            turns(
                &self.banks,
                "workgroup memory takes turns for its banks",
                "threads of a subgroup read workgroup memory without waiting for each other",
            ),
            turns(
                &self.lines,
                "neighbouring threads fetch distant addresses: lines of memory",
                "neighbouring threads fetch neighbouring addresses",
            ),
        ]
    }
}

/// Follows the threads of a kernel (see docs/lesson.md for its form).
///
/// # Errors
///
/// [`Error::Shader`]: a text that is no such kernel, or that uses what is not known here.
pub fn accesses(name: &str, text: &str) -> Result<Accesses> {
    let config = own::shape_of(name, text)?;
    let failed = |problem: String| Error::Shader { name: name.to_owned(), problem };
    if config.threads() > MOST_THREADS {
        let threads = config.threads();
        let problem =
            format!("has {threads} threads a workgroup; up to {MOST_THREADS} can be followed");
        return Err(failed(problem));
    }
    let module = naga::front::wgsl::parse_str(text).map_err(|error| failed(error.to_string()))?;
    let entry = module.entry_points.iter().find(|entry| entry.name == "main");
    let entry = entry.ok_or_else(|| failed("has no entry point 'main'".to_owned()))?;
    // Three tiles, the last of them not full, in each slice; two workgroups of sinks, the last not
    // full.
    let tile = config.tile();
    let sources = (2 * tile + 3) * config.s;
    let sinks = config.sinks_per_workgroup() + config.sinks_per_workgroup().div_ceil(2);
    let length = config.slice_length(sources);
    let words = [
        [0, sinks, sinks, sources],
        [length, 0, length, u32::MAX],
        [0.0025f32.to_bits(), 0, 0, 0],
        [0; 4],
    ]
    .concat();
    let mut found = Accesses::default();
    let groups = [[0, 0, 0], [1, config.s - 1, 0]];
    for group in groups {
        let mut buffers = HashMap::new();
        for (handle, variable) in module.global_variables.iter() {
            let body = |k: u32| {
                let at = |seed: u32| Value::F((k.wrapping_mul(seed) % 1009) as f32 / 1009.0);
                Value::Many(vec![at(31), at(57), at(83), Value::F(1.0)])
            };
            let count = match variable.binding.as_ref().map(|binding| binding.binding) {
                Some(0) => sources,
                Some(1) => sinks,
                Some(2) => sinks * config.s,
                _ => 0,
            };
            if matches!(variable.space, AddressSpace::Storage { .. }) {
                buffers.insert(handle, Value::Many((0..count).map(body).collect()));
            } else if variable.space == AddressSpace::Uniform {
                let value = of_words(&module, variable.ty, &words, 0).map_err(failed)?;
                buffers.insert(handle, value);
            }
        }
        let lanes = config.threads();
        let pairs = config.sinks_per_workgroup() as usize * length as usize;
        let size = (lanes as usize, pairs);
        let mut workgroup = Workgroup::new(&module, size, buffers).map_err(failed)?;
        let mut arguments = Vec::new();
        for argument in &entry.function.arguments {
            let Some(Binding::BuiltIn(builtin)) = &argument.binding else {
                return Err(failed("has an argument that is not known here".to_owned()));
            };
            let of = |lane: u32| -> Option<Value> {
                let local = [lane % config.p, lane / config.p, 0];
                let vector = |v: [u32; 3]| Value::Many(v.map(Value::U).to_vec());
                Some(match builtin {
                    BuiltIn::WorkGroupId => vector(group),
                    BuiltIn::LocalInvocationId => vector(local),
                    BuiltIn::LocalInvocationIndex => Value::U(lane),
                    BuiltIn::GlobalInvocationId => {
                        vector([group[0] * config.p + local[0], group[1] * config.q + local[1], 0])
                    }
                    BuiltIn::NumWorkGroups => vector([2, config.s, 1]),
                    _ => return None,
                })
            };
            let values: Option<Vec<Value>> = (0..lanes).map(of).collect();
            let values = values
                .ok_or_else(|| failed("has an argument that is not known here".to_owned()))?;
            arguments.push(values);
        }
        let ended = workgroup.run(&entry.function, arguments);
        let recorder = std::mem::take(&mut workgroup.recorder);
        let worse = |a: Turns, b: Turns| if b.ratio() > a.ratio() { b } else { a };
        found.banks = worse(found.banks, recorder.worst(true));
        found.lines = worse(found.lines, recorder.worst(false));
        found.race = found.race.or(recorder.race);
        found.missed = found.missed.or(recorder.missed);
        found.outside = found.outside.or(recorder.outside);
        match ended {
            Err(why) if why == lanes::ENDLESS => {
                return Ok(Accesses { endless: Some(why), ..found });
            }
            ended => {
                ended.map_err(|why| failed(format!("cannot be followed to its end: {why}")))?
            }
        }
    }
    Ok(found)
}

/// A value of this type at `offset` bytes of these words.
fn of_words(
    module: &naga::Module,
    ty: naga::Handle<naga::Type>,
    words: &[u32],
    offset: u32,
) -> std::result::Result<Value, String> {
    match &module.types[ty].inner {
        TypeInner::Scalar(scalar) => {
            let word = words.get(offset as usize / 4).copied().unwrap_or(0);
            Ok(of_word(scalar.kind, word))
        }
        TypeInner::Vector { size, scalar } => {
            let word = |k: u32| words.get((offset / 4 + k) as usize).copied().unwrap_or(0);
            many((0..*size as u32).map(|k| Ok(of_word(scalar.kind, word(k)))))
        }
        TypeInner::Struct { members, .. } => {
            let value = |member: &naga::StructMember| {
                of_words(module, member.ty, words, offset + member.offset)
            };
            many(members.iter().map(value))
        }
        _ => Err("has parameters of a type that is not known here".to_owned()),
    }
}

// What the threads of a workgroup touch: faults, and how many turns memory takes.

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

    const PLAIN: &str = include_str!("../../../../docs/lesson/plain.wgsl");
    const BARRIER: &str = include_str!("../../../../docs/lesson/mend-barrier.wgsl");
    const TAIL: &str = include_str!("../../../../docs/lesson/mend-tail.wgsl");
    const BANKS: &str = include_str!("../../../../docs/lesson/mend-banks.wgsl");
    const ORDER: &str = include_str!("../../../../docs/lesson/mend-order.wgsl");

    fn faults(text: &str) -> Vec<String> {
        let found = accesses("mine.wgsl", text).unwrap();
        let faults = found.findings().into_iter().filter(|one| !one.is_fine);
        faults.map(|one| one.words).collect()
    }

    #[test]
    fn plain_kernel_has_no_fault_and_each_kernel_to_mend_has_its_own() {
        assert_eq!(faults(PLAIN), Vec::<String>::new());
        for (text, words) in [
            (BARRIER, "since the last barrier"),
            (TAIL, "beyond the end of 'sources'"),
            (BANKS, "banks"),
            (ORDER, "fetch distant addresses"),
        ] {
            let found = faults(text);
            assert!(found.iter().any(|fault| fault.contains(words)), "{words}: {found:?}");
        }
    }

    #[test]
    fn other_wrong_kernels_are_found_and_endless_ones_refused() {
        let first = PLAIN.find("workgroupBarrier();").unwrap();
        let without_first =
            format!("{}{}", &PLAIN[..first], &PLAIN[first + "workgroupBarrier();".len()..]);
        assert!(faults(&without_first)[0].contains("since the last barrier"));
        let leaving =
            PLAIN.replace("var total", "if i >= params.sink_end { return; }\n    var total");
        // The compiler refuses some of these already.
        let found = match accesses("mine.wgsl", &leaving) {
            Ok(_) => faults(&leaving).join("; "),
            Err(error) => error.to_string(),
        };
        assert!(found.contains("does not reach") || found.contains("niform"), "{found}");
        let endless = PLAIN.replace("k += 1u", "k += 0u");
        assert!(faults(&endless)[0].contains("does not end"));
    }
}

#[cfg(test)]
mod memory_tests {
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
        // One address serves all; neighbours share lines and use all banks; a stride of 128 bytes
        // uses 4 banks of 32.
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
