//! Computes how many subgroups of a kernel fit on a SIMD unit, and which resource limits them.

use serde::{Deserialize, Serialize};

/// The resources of a processor that a kernel's threads share. A register holds 32 bits of one
/// thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Its name.
    pub name: &'static str,
    /// Possible subgroup sizes in threads, the default first.
    pub subgroup_sizes: &'static [u32],
    /// Registers of a SIMD unit, for all threads on it.
    pub registers: u32,
    /// Granularity in which registers are allocated to a subgroup.
    pub register_unit: u32,
    /// The most registers of a thread.
    pub most_registers: u32,
    /// Slots of a SIMD unit: the most subgroups resident on it.
    pub slots: u32,
    /// Number of SIMD units that share a workgroup and its memory: those of a [`unit`](Self::unit).
    pub simds: u32,
    /// What these units are together: a compute unit, a pair of them (RDNA), a multiprocessor
    /// (CUDA).
    pub unit: &'static str,
    /// Bytes of workgroup memory for all workgroups on these units.
    pub memory: u32,
    /// Granularity of memory allocation, in bytes.
    pub memory_unit: u32,
    /// Bytes that each workgroup takes in addition to its own.
    pub memory_reserved: u32,
    /// The most workgroups resident on these units.
    pub workgroups: u32,
    /// Whether workgroups of a single subgroup, which need no barriers, do not count among them.
    pub lone_is_free: bool,
    /// The most threads of a workgroup.
    pub most_threads: u32,
    /// Whether registers are allocated to a workgroup as a whole, its subgroups rounded up to an
    /// even number, in place of each subgroup.
    pub by_workgroup: bool,
    /// Where these numbers are published.
    pub source: &'static str,
}

/// NVIDIA's tables.
const CUDA: &str =
    "NVIDIA, CUDA C++ Programming Guide, technical specifications per compute capability";

/// GCN and its descendants: Radeon HD 7000 to RX Vega, Ryzen's graphics up to 5000, the MI series.
pub const GCN: Processor = Processor {
    name: "GCN",
    subgroup_sizes: &[64],
    registers: 256 * 64,
    register_unit: 4 * 64,
    most_registers: 256,
    slots: 10,
    simds: 4,
    unit: "compute unit",
    memory: 64 << 10,
    memory_unit: 512,
    memory_reserved: 0,
    workgroups: 16,
    lone_is_free: true,
    most_threads: 1024,
    by_workgroup: false,
    source: "AMD, instruction set reference guides of GCN and RDNA; allocation units as in Mesa's RADV",
};

/// Polaris, for which Mesa has fewer slots: Radeon RX 460 to 590.
pub const POLARIS: Processor = Processor { name: "GCN, Polaris", slots: 8, ..GCN };

/// RDNA: Radeon RX 5000. Two compute units work as a pair.
pub const RDNA: Processor = Processor {
    name: "RDNA",
    subgroup_sizes: &[64, 32],
    registers: 1024 * 32,
    register_unit: 8 * 32,
    slots: 20,
    unit: "pair of compute units",
    memory: 128 << 10,
    workgroups: 32,
    ..GCN
};

/// RDNA 2: Radeon RX 6000, Steam Deck, Ryzen 6000 and 7000.
pub const RDNA_2: Processor =
    Processor { name: "RDNA 2", register_unit: 16 * 32, slots: 16, memory_unit: 1024, ..RDNA };

/// RDNA 3 with half as many registers again: Radeon RX 7700 to 7900.
pub const RDNA_3: Processor =
    Processor { name: "RDNA 3", registers: 1536 * 32, register_unit: 24 * 32, ..RDNA_2 };

/// RDNA 3 without the additional registers: Radeon RX 7600, Ryzen 7040 and 8040.
pub const RDNA_3_SMALL: Processor = Processor { name: "RDNA 3, small", ..RDNA_2 };

/// NVIDIA's H100 and H200 (compute capability 9.0).
pub const CUDA_9_0: Processor = Processor {
    name: "CUDA 9.0 (H100, H200)",
    subgroup_sizes: &[32],
    registers: 16_384,
    register_unit: 8 * 32,
    most_registers: 255,
    slots: 16,
    simds: 4,
    unit: "multiprocessor",
    memory: 228 << 10,
    memory_unit: 128,
    memory_reserved: 1024,
    workgroups: 32,
    lone_is_free: false,
    most_threads: 1024,
    by_workgroup: false,
    source: CUDA,
};

/// NVIDIA's A100 (compute capability 8.0).
pub const CUDA_8_0: Processor =
    Processor { name: "CUDA 8.0 (A100)", memory: 164 << 10, ..CUDA_9_0 };

/// NVIDIA's RTX 30 and 40 (compute capability 8.6 and 8.9).
pub const CUDA_8_6: Processor = Processor {
    name: "CUDA 8.6, 8.9 (RTX 30, 40)",
    slots: 12,
    memory: 100 << 10,
    workgroups: 16,
    ..CUDA_9_0
};

/// The chapter's GeForce 8800 GTX (compute capability 1.0). Its eight lanes are one unit that takes
/// four clocks for an instruction of a subgroup.
pub const CUDA_1_0: Processor = Processor {
    name: "CUDA 1.0 (GeForce 8800 GTX)",
    registers: 8192,
    register_unit: 256,
    most_registers: 124,
    slots: 24,
    simds: 1,
    memory: 16 << 10,
    memory_unit: 512,
    memory_reserved: 16,
    workgroups: 8,
    most_threads: 512,
    by_workgroup: true,
    source: "NVIDIA, CUDA Programming Guide 1.1, appendix A, and CUDA Occupancy Calculator",
    ..CUDA_9_0
};

impl Processor {
    /// All known processors.
    pub const ALL: [Self; 10] =
        [GCN, POLARIS, RDNA, RDNA_2, RDNA_3, RDNA_3_SMALL, CUDA_9_0, CUDA_8_0, CUDA_8_6, CUDA_1_0];

    /// The processor of a device, from the name that its driver gives it.
    pub fn of_device(name: &str) -> Option<Self> {
        let name = name.to_uppercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let known: [(&[&str], Self); 10] = [
            (&["NAVI31", "NAVI32", "GFX1100", "GFX1101"], RDNA_3),
            (&["NAVI33", "GFX1102", "GFX1103", "PHOENIX"], RDNA_3_SMALL),
            (&["NAVI2", "GFX103", "VANGOGH", "REMBRANDT", "RAPHAEL"], RDNA_2),
            (&["NAVI1", "GFX101"], RDNA),
            (&["POLARIS", "VEGAM"], POLARIS),
            (&["VEGA", "RAVEN", "RENOIR", "TONGA", "FIJI", "TAHITI", "HAWAII"], GCN),
            (&["H100", "H200", "GH200"], CUDA_9_0),
            (&["A100"], CUDA_8_0),
            (&["8800 GT", "8800 ULTRA"], CUDA_1_0),
            (&["RTX 30", "RTX 40", "RTX A", "L40", "L4"], CUDA_8_6),
        ];
        known.into_iter().find(|(words, _)| has(words)).map(|(_, processor)| processor)
    }

    /// The occupancy of a kernel with `registers` per thread, `memory` bytes and `threads` per
    /// workgroup, in subgroups of `subgroup` threads. `None` if not even one workgroup fits.
    pub fn room(
        &self,
        registers: u32,
        memory: u32,
        threads: u32,
        subgroup: u32,
    ) -> Option<Occupancy> {
        let subgroup = subgroup.max(1);
        let of_workgroup = threads.max(1).div_ceil(subgroup);
        let of_subgroups =
            |count: u32| (registers.max(1) * subgroup * count).next_multiple_of(self.register_unit);
        let (by_registers, workgroups_by_registers) = if self.by_workgroup {
            let workgroups = self.registers / of_subgroups(of_workgroup.next_multiple_of(2));
            (workgroups * of_workgroup, workgroups)
        } else {
            let subgroups = self.registers / of_subgroups(1);
            (subgroups, subgroups * self.simds / of_workgroup)
        };
        let own = (memory + self.memory_reserved).next_multiple_of(self.memory_unit);
        let workgroups_by_memory = if memory == 0 { u32::MAX } else { self.memory / own };
        let free = self.lone_is_free && of_workgroup == 1;
        let workgroups_by_number = if free { u32::MAX } else { self.workgroups };
        let workgroups_by = [
            (RoomLimit::Slots, self.slots * self.simds / of_workgroup),
            (RoomLimit::Registers, workgroups_by_registers),
            (RoomLimit::Memory, workgroups_by_memory),
            (RoomLimit::Workgroups, workgroups_by_number),
        ];
        let fits = registers <= self.most_registers && threads <= self.most_threads;
        let (limit, workgroups) = workgroups_by.into_iter().min_by_key(|(_, count)| *count)?;
        if workgroups == 0 || !fits {
            return None;
        }
        let per_simd = |workgroups: u32| {
            let subgroups = u64::from(workgroups) * u64::from(of_workgroup);
            // Clamped to a number that can be displayed.
            (subgroups.div_ceil(u64::from(self.simds)).min(9999)) as u32
        };
        let parts = workgroups_by.map(|(limit, workgroups)| {
            let subgroups = match limit {
                RoomLimit::Slots => self.slots,
                RoomLimit::Registers => by_registers,
                _ => per_simd(workgroups),
            };
            (limit, subgroups)
        });
        let subgroups = per_simd(workgroups);
        Some(Occupancy { subgroups, workgroups, limit, parts, workgroups_by, slots: self.slots })
    }
}

/// The part of a workgroup's lanes that has no thread, 0 to 1.
pub fn lanes_idle(threads: u32, subgroup_size: u32) -> f64 {
    let lanes = threads.max(1).next_multiple_of(subgroup_size.max(1));
    1.0 - f64::from(threads.max(1)) / f64::from(lanes)
}

/// A resource that limits the occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoomLimit {
    /// Slots for subgroups.
    Slots,
    /// Registers.
    Registers,
    /// Workgroup memory.
    Memory,
    /// Number of resident workgroups.
    Workgroups,
}

impl RoomLimit {
    /// Its name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Registers => "registers",
            Self::Memory => "workgroup memory",
            Self::Workgroups => "number of workgroups",
        }
    }
}

/// The occupancy of a processor by a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Subgroups per SIMD unit: the occupancy.
    pub subgroups: u32,
    /// Workgroups on the SIMD units that share them.
    pub workgroups: u32,
    /// The limiting resource.
    pub limit: RoomLimit,
    /// Subgroups per SIMD unit that each resource alone would allow.
    pub parts: [(RoomLimit, u32); 4],
    /// Workgroups that each would allow; [`u32::MAX`] if it does not limit them.
    pub workgroups_by: [(RoomLimit, u32); 4],
    /// Slots of a SIMD unit.
    pub slots: u32,
}

impl Occupancy {
    /// Formats it as `10 of 16, limited by registers`.
    pub fn in_words(&self) -> String {
        format!("{} of {}, limited by {}", self.subgroups, self.slots, self.limit.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// r = 1, 1, 2, 4, 8 on a Radeon RX 6800: as its manual counts, in subgroups of 64.
    #[test]
    fn registers_decide_on_rdna_2() {
        for (registers, subgroups, limit) in [
            (16, 16, RoomLimit::Slots),
            (32, 16, RoomLimit::Slots),
            (48, 10, RoomLimit::Registers),
            (64, 8, RoomLimit::Registers),
            (128, 4, RoomLimit::Registers),
        ] {
            let room = RDNA_2.room(registers, 4096, 256, 64).unwrap();
            assert_eq!((room.subgroups, room.limit), (subgroups, limit), "{registers}");
        }
        // Twice as many subgroups of 32, each half the size.
        assert_eq!(RDNA_2.room(128, 4096, 256, 32).unwrap().subgroups, 8);
    }

    #[test]
    fn each_resource_can_limit_occupancy() {
        let limit = |registers, memory, threads| {
            let room = GCN.room(registers, memory, threads, 64).unwrap();
            (room.subgroups, room.limit.name())
        };
        assert_eq!(limit(24, 0, 64), (10, "slots"));
        assert_eq!(limit(84, 0, 64), (3, "registers"));
        assert_eq!(limit(24, 16 << 10, 256), (4, "workgroup memory"));
        assert_eq!(limit(24, 0, 128), (8, "number of workgroups"));
        assert_eq!(GCN.room(24, 65 << 10, 64, 64), None);
        assert_eq!(GCN.room(257, 0, 64, 64), None);
        // NVIDIA's own calculator: 63 registers, 256 threads, 4 KiB on 9.0 give 4 workgroups.
        let room = CUDA_9_0.room(63, 4096, 256, 32).unwrap();
        assert_eq!((room.workgroups, room.subgroups, room.limit), (4, 8, RoomLimit::Registers));
    }

    /// Kirk and Hwu, Programming Massively Parallel Processors, on the same GPU: with 256 threads
    /// and 10 registers there are three workgroups, and with one register more only two.
    #[test]
    fn one_register_more_costs_a_workgroup_on_the_chapters_gpu() {
        let room = |registers, memory, threads| CUDA_1_0.room(registers, memory, threads, 32);
        let found = room(10, 4096, 256).unwrap();
        assert_eq!((found.workgroups, found.subgroups, found.limit), (3, 24, RoomLimit::Slots));
        let found = room(11, 4096, 256).unwrap();
        assert_eq!((found.workgroups, found.subgroups, found.limit), (2, 16, RoomLimit::Registers));
        // 4,096 bytes and what each workgroup takes besides: 3 of 4,608 fit in 16 KiB.
        assert_eq!(room(8, 4096, 128).unwrap().limit, RoomLimit::Memory);
        assert_eq!(room(8, 512, 32).unwrap().workgroups, 8);
        assert_eq!(room(10, 4096, 513), None);
        assert_eq!(room(125, 0, 64), None);
    }

    #[test]
    fn lanes_without_a_thread_are_counted() {
        assert_eq!(lanes_idle(256, 32), 0.0);
        assert_eq!(lanes_idle(16, 32), 0.5);
        assert_eq!(lanes_idle(16, 64), 0.75);
        assert!((lanes_idle(96, 64) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn devices_are_known_by_name() {
        let of = |name| Processor::of_device(name).map(|processor| processor.name);
        assert_eq!(of("AMD RADV NAVI21"), Some("RDNA 2"));
        assert_eq!(of("AMD Radeon RX 6800 (RADV NAVI21)"), Some("RDNA 2"));
        assert_eq!(of("AMD RADV GFX1100"), Some("RDNA 3"));
        assert_eq!(of("NVIDIA H200"), Some("CUDA 9.0 (H100, H200)"));
        assert_eq!(of("NVIDIA GeForce 8800 GTX"), Some("CUDA 1.0 (GeForce 8800 GTX)"));
        assert_eq!(of("llvmpipe (LLVM 15.0.6, 256 bits)"), None);
    }
}
