//! What the threads of a user's own kernel touch, found by running its text on the host: races, accesses outside of a buffer,
//! barriers that not all threads reach, conflicts of banks, and lines of memory. Software adapters show none of these.

mod lanes;
mod memory;

use std::collections::HashMap;

use naga::{AddressSpace, Binding, BuiltIn, TypeInner};

use crate::error::{Error, Result};
use crate::forces::direct::gpu::own;
pub use memory::Turns;

use lanes::{Value, Workgroup};

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
    // Three tiles, the last of them not full, in each slice; two workgroups of sinks, the last not full.
    let tile = config.tile();
    let sources = (2 * tile + 3) * config.s;
    let sinks = config.sinks_per_workgroup() + config.sinks_per_workgroup().div_ceil(2);
    let length = config.slice_length(sources);
    let words = [
        0,
        sinks,
        sinks,
        sources,
        length,
        0,
        length,
        u32::MAX,
        0.0025f32.to_bits(),
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
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
            Ok(match scalar.kind {
                naga::ScalarKind::Float => Value::F(f32::from_bits(word)),
                naga::ScalarKind::Sint => Value::I(word as i32),
                _ => Value::U(word),
            })
        }
        TypeInner::Vector { size, scalar } => (0..*size as u32)
            .map(|k| {
                let word = words.get((offset / 4 + k) as usize).copied().unwrap_or(0);
                Ok(match scalar.kind {
                    naga::ScalarKind::Float => Value::F(f32::from_bits(word)),
                    _ => Value::U(word),
                })
            })
            .collect::<std::result::Result<Vec<_>, _>>()
            .map(Value::Many),
        TypeInner::Struct { members, .. } => members
            .iter()
            .map(|member| of_words(module, member.ty, words, offset + member.offset))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map(Value::Many),
        _ => Err("has parameters of a type that is not known here".to_owned()),
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
