//! The occupancy calculator: how many workgroups of a kernel are resident on a multiprocessor, by
//! the library's table of processors.

use gravitile::error::{Error, Result};
use gravitile::inspect::{Processor, RoomLimit, lanes_idle};
use serde_json::{Value, json};

/// A kernel, as far as it takes room.
#[derive(Clone, Copy, Debug)]
pub struct KernelResources {
    /// p, q, r.
    pub shape: [u32; 3],
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of workgroup memory.
    pub memory: u32,
}

/// Registers that Mesa's compiler takes per thread on a Radeon RX 6800 for r = 1, 2, 4, 8, whatever
/// u is (`benches/results/radv-navi21.jsonl`).
const REGISTERS: [(u32, u32); 4] = [(1, 16), (2, 32), (4, 56), (8, 96)];

/// The known processors, with their limits and where these are published, and the registers for
/// each r, as JSON.
pub fn processors() -> String {
    let known = |processor: &Processor| {
        json!({
            "name": processor.name, "subgroups": processor.subgroup_sizes, "registers": processor.most_registers,
            "memory": processor.memory, "source": processor.source,
        })
    };
    let all: Vec<Value> = Processor::ALL.iter().map(known).collect();
    json!({ "processors": all, "registers": REGISTERS }).to_string()
}

/// What fits on a multiprocessor (or compute unit) of the processor with this number, in subgroups
/// of `subgroup` threads, as JSON.
///
/// # Errors
///
/// An unknown processor, or one without such subgroups; a kernel out of range.
pub fn occupancy(number: usize, subgroup: u32, kernel: KernelResources) -> Result<String> {
    let count = Processor::ALL.len();
    let processor = Processor::ALL
        .get(number)
        .ok_or_else(|| Error::value("processor", number, format!("less than {count}")))?;
    if !processor.subgroup_sizes.contains(&subgroup) {
        let allowed = format!("one of {:?} on {}", processor.subgroup_sizes, processor.name);
        return Err(Error::value("threads of a subgroup", subgroup, allowed));
    }
    let KernelResources { shape: [p, q, r], registers, memory } = kernel;
    for (what, value, most) in [
        ("p", p, 1024),
        ("q", q, 1024),
        ("r", r, 1024),
        ("registers of a thread", registers, 1024),
        ("bytes of workgroup memory", memory, 1 << 20),
    ] {
        if value > most || (value == 0 && most == 1024) {
            return Err(Error::value(what, value, format!("at most {most}, and more than none")));
        }
    }
    let threads = p * q;
    let (unit, simds) = (processor.unit, processor.simds);
    let room = processor.room(registers, memory, threads, subgroup);
    let Some(room) = room else {
        let most = [
            (threads > processor.most_threads, format!("{} threads", processor.most_threads)),
            (
                registers > processor.most_registers,
                format!("{} registers of a thread", processor.most_registers),
            ),
        ];
        let why = most.into_iter().find(|(is_above, _)| *is_above).map_or_else(
            || format!("its {threads} threads need more registers or memory than a {unit} has"),
            |(_, most)| format!("a workgroup may have at most {most}"),
        );
        let words = format!("Not a single workgroup fits: {why}.");
        return Ok(json!({ "words": words, "slots": [], "rows": [] }).to_string());
    };
    let of_workgroup = threads.div_ceil(subgroup);
    let resident = room.workgroups * threads;
    let all_slots = room.slots * simds;
    // Workgroups of a single subgroup are limited by slots alone.
    let used = (room.workgroups * of_workgroup).min(all_slots);
    let plural = |count: u32| if count == 1 { "" } else { "s" };
    let idle = lanes_idle(threads, subgroup);
    let mut words = format!(
        "{} workgroup{} of {threads} threads at once on a {unit}: {resident} threads with {} sinks. {used} of its {all_slots} \
         slots for subgroups are taken ({:.0} %). {}",
        room.workgroups,
        plural(room.workgroups),
        room.workgroups * p * r,
        100.0 * f64::from(used) / f64::from(all_slots),
        reason(room.limit, unit),
    );
    if idle > 0.0 {
        words += &format!(
            " {:.0} % of the lanes idle, since {threads} is not a multiple of {subgroup}.",
            100.0 * idle
        );
    }
    // The number of the workgroup in each slot.
    let slots: Vec<Option<u32>> =
        (0..all_slots).map(|slot| (slot < used).then(|| slot / of_workgroup)).collect();
    let mut rows = vec![["resource", "workgroups that it has room for", ""].map(str::to_owned)];
    rows.extend(room.workgroups_by.iter().map(|(limit, count)| {
        let count = if *count == u32::MAX { "any number".to_owned() } else { count.to_string() };
        let mark = if *limit == room.limit { "the limit" } else { "" };
        [limit.name().to_owned(), count, mark.to_owned()]
    }));
    Ok(json!({ "words": words, "slots": slots, "rows": rows }).to_string())
}

/// Why there is no room for another workgroup.
fn reason(limit: RoomLimit, unit: &str) -> String {
    match limit {
        RoomLimit::Slots => {
            "Every further workgroup would need more slots than are left: no kernel has more threads."
                .to_owned()
        }
        RoomLimit::Registers => {
            "Registers are the limit: fewer per thread would make room for more threads.".to_owned()
        }
        RoomLimit::Memory => {
            "Workgroup memory is the limit: a smaller tile would make room for more workgroups."
                .to_owned()
        }
        RoomLimit::Workgroups => {
            format!("A {unit} has no more workgroups than that: larger ones would fill it.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str) -> usize {
        Processor::ALL.iter().position(|known| known.name.contains(name)).unwrap()
    }

    fn answer(name: &str, subgroup: u32, kernel: KernelResources) -> Value {
        serde_json::from_str(&occupancy(number(name), subgroup, kernel).unwrap()).unwrap()
    }

    #[test]
    fn chapters_gpu_loses_a_workgroup_with_one_register_more() {
        let kernel = KernelResources { shape: [256, 1, 1], registers: 10, memory: 4096 };
        let full = answer("8800", 32, kernel);
        let words = full["words"].as_str().unwrap();
        assert!(words.starts_with(
            "3 workgroups of 256 threads at once on a multiprocessor: 768 threads with 768 sinks"
        ));
        assert!(words.contains("24 of its 24 slots"), "{words}");
        let less = answer("8800", 32, KernelResources { registers: 11, ..kernel });
        assert!(less["words"].as_str().unwrap().contains("Registers are the limit"), "{less}");
        assert_eq!(
            less["slots"].as_array().unwrap().iter().filter(|slot| slot.is_null()).count(),
            8
        );
        let none = answer("8800", 32, KernelResources { shape: [512, 2, 1], ..kernel });
        assert!(none["words"].as_str().unwrap().contains("at most 512 threads"), "{none}");
    }

    #[test]
    fn section_is_counted_as_its_text_says() {
        // docs/tiling.md: 56 registers, 4 KiB, 256 threads in subgroups of 64: 9 of 16 slots of a
        // SIMD unit.
        let kernel = KernelResources { shape: [256, 1, 4], registers: 56, memory: 4096 };
        let found = answer("RDNA 2", 64, kernel);
        let rows = found["rows"].as_array().unwrap();
        let row = |name: &str| rows.iter().find(|row| row[0] == name).unwrap()[1].clone();
        assert_eq!(
            (row("slots"), row("registers"), row("workgroup memory")),
            ("16".into(), "9".into(), "32".into())
        );
        assert!(found["words"].as_str().unwrap().contains("36 of its 64 slots"), "{found}");
        let idle = answer("RDNA 2", 64, KernelResources { shape: [16, 1, 1], ..kernel });
        assert!(idle["words"].as_str().unwrap().contains("75 % of the lanes idle"), "{idle}");
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        let kernel = KernelResources { shape: [64, 1, 1], registers: 32, memory: 0 };
        assert!(occupancy(99, 32, kernel).is_err());
        assert!(occupancy(number("8800"), 64, kernel).is_err());
        assert!(occupancy(number("GCN"), 64, KernelResources { registers: 0, ..kernel }).is_err());
        assert!(
            occupancy(number("GCN"), 64, KernelResources { shape: [u32::MAX, 2, 1], ..kernel })
                .is_err()
        );
    }

    #[test]
    fn registers_are_the_recorded_ones() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/results/radv-navi21.jsonl");
        let records = gravitile::measure::read_json_lines(path.as_ref()).unwrap();
        for (r, registers) in REGISTERS {
            let of_r = records.iter().filter(|record| {
                record.kernel.is_some_and(|k| k.r == r && k.p == 256 && k.q == 1 && !k.untiled)
            });
            let mut found = of_r.filter_map(|record| record.compiled?.registers).peekable();
            assert!(found.peek().is_some(), "r = {r}");
            assert!(found.all(|found| found == u64::from(registers)), "r = {r}");
        }
    }
}
