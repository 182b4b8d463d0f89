//! The ladder of kernels: each rung adds one idea to the one before.

use crate::forces::direct::gpu::{KernelConfig, KernelVariant};

/// A rung.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// Its name.
    pub name: &'static str,
    /// Why it may be faster than the one before.
    pub why: &'static str,
    /// p, q, r, u, s and whether it is untiled.
    shape: (u32, u32, u32, u32, u32, bool),
}

/// All rungs, from the bottom.
pub const RUNGS: [Rung; 7] = [
    Rung {
        name: "naive",
        why: "One thread per sink reads every source from the storage buffer, one per iteration of its loop. \
              Only the caches notice that all threads read the same.",
        shape: (256, 1, 1, 1, 1, true),
    },
    Rung {
        name: "untiled, unrolled",
        why: "The same, with four interactions unrolled per iteration: counting and branching are paid once per four.",
        shape: (256, 1, 1, 4, 1, true),
    },
    Rung {
        name: "tiled",
        why: "The threads of a workgroup fetch a tile of sources together, wait at a barrier, and read it \
              from workgroup memory: each source comes from device memory once per workgroup.",
        shape: (256, 1, 1, 1, 1, false),
    },
    Rung {
        name: "tiled, unrolled",
        why: "Four interactions per iteration of the inner loop share the loop's overhead.",
        shape: (256, 1, 1, 4, 1, false),
    },
    Rung {
        name: "register-blocked",
        why: "Each thread keeps four sinks in registers: each read from the tile serves four interactions. The \
              price: more registers, and only a quarter of the threads.",
        shape: (256, 1, 4, 4, 1, false),
    },
    Rung {
        name: "row-split",
        why: "Four threads share a sink, each with a quarter of the tile: four times as many threads when bodies \
              are few.",
        shape: (64, 4, 1, 4, 1, false),
    },
    Rung {
        name: "sliced",
        why: "The sources are cut into eight slices, each with its own workgroups, whose sums are added \
              afterwards: workgroups for every compute unit when bodies are few.",
        shape: (64, 1, 1, 4, 8, false),
    },
];

impl Rung {
    /// The kernel of this rung.
    pub fn config(&self) -> KernelConfig {
        let (p, q, r, u, s, untiled) = self.shape;
        KernelConfig { q, r, u, s, untiled, ..KernelConfig::tiled(p) }
    }

    /// The entry point of its WGSL, the part that differs from rung to rung.
    pub fn text(&self) -> String {
        // At softening 1 no guard is needed.
        match KernelVariant::new(self.config(), 1.0, 1.0, false).wgsl() {
            Ok(text) => main_of(&text).to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

/// The text from `@compute` on; all of it without one.
fn main_of(text: &str) -> &str {
    text.find("@compute").map_or(text, |at| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_are_valid_and_distinct_kernels() {
        for (i, rung) in RUNGS.iter().enumerate() {
            rung.config().validate(None).unwrap();
            assert!(rung.config().threads() <= 256, "WebGPU promises no more");
            assert!(rung.text().starts_with("@compute"), "{}", rung.text());
            assert!(rung.why.len() > 60);
            let others = &RUNGS[..i];
            assert!(others.iter().all(|o| o.config() != rung.config() && o.name != rung.name));
        }
        assert!(!RUNGS[0].text().contains("workgroupBarrier"));
        assert!(RUNGS[2].text().contains("workgroupBarrier"));
        assert!(RUNGS[4].text().contains("sum_3"));
    }
}
