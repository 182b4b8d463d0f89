//! Variants of the force kernel, given its shape and the number of bodies.

use minijinja::context;

use super::KernelConfig;
use super::config::WINDOW;
use super::packing::{Masses, Packing};
use crate::error::Result;
use crate::gpu::template;

/// One compiled kernel: its shape and switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelVariant {
    /// p, q, r, u, s and the rest.
    pub config: KernelConfig,
    /// Includes the guard that softening 0 needs.
    pub guarded: bool,
    /// With the potential.
    pub potential: bool,
    /// The potential only, without the acceleration: little more than half the work per pair.
    pub alone: bool,
    /// For blocks of sources of equal mass, which multiplies their sum: 12 instructions per pair
    /// instead of 13.
    pub one_mass: bool,
}

impl KernelVariant {
    /// The variant for a softening length and the largest gravitating mass.
    ///
    /// The fast kernel forms m / r^3 with r^2 >= eps^2. The guard is used if that could leave the
    /// range of f32: eps = 0, or m / eps^3 or 1 / eps^3 above 1e36.
    pub fn new(config: KernelConfig, softening: f64, largest_mass: f64, potential: bool) -> Self {
        let guarded = Self::is_guarded(softening, largest_mass);
        Self { config, guarded, potential, alone: false, one_mass: false }
    }

    /// Whether this softening length with this largest gravitating mass needs the guard.
    pub fn is_guarded(softening: f64, largest_mass: f64) -> bool {
        let largest = largest_mass.max(1.0) / (softening * softening * softening);
        !(largest < 1e36)
    }

    /// The variant that uses blocks of equal mass, if sources of these masses have them and it
    /// pays.
    pub fn for_masses(self, mass: &[f32]) -> Self {
        let one_mass = self.can_sort()
            && self.config.sorts_by_mass(mass.len())
            && Masses::of(mass, self.config.tile()) == Masses::InBlocks;
        Self { one_mass, ..self }
    }

    /// The kernel of potentials for this one. It runs rarely, so it should compile fast. The order
    /// of the sums, and so their bits, are those of a kernel with both.
    pub fn of_potentials(self) -> Self {
        let KernelConfig { r, u, untiled, uniform, .. } = self.config;
        let config = KernelConfig {
            vec2: false,
            r: r.min(4),
            u: if u.is_multiple_of(4) { 4 } else { u.min(4) },
            untiled: untiled && !uniform,
            uniform: false,
            ..self.config
        };
        Self { config, potential: true, alone: true, one_mass: false, ..self }
    }

    /// The kernel with forces and potentials in one, which replaces this one within a step: the
    /// same sums in the same order. `None` for a user's own kernel and for sources in windows,
    /// whose sums have another order.
    pub fn with_potential(self) -> Option<Self> {
        let KernelConfig { r, u, uniform, own, .. } = self.config;
        if uniform || own || self.potential {
            return None;
        }
        // Twice as many sums need more registers, and it should compile fast.
        let u = if u.is_multiple_of(4) { 4 } else { u.min(4) };
        let config = KernelConfig { r: r.min(8), u, vec2: false, ..self.config };
        Some(Self { config, potential: true, alone: false, ..self })
    }

    /// Whether the kernel works with reordered sources: one with potentials needs their indices.
    pub fn can_sort(&self) -> bool {
        !self.guarded && !self.potential && !self.config.own && self.config.q == 1
    }

    /// Whether two sinks share each operation.
    pub fn is_vec2(&self) -> bool {
        self.config.vec2 && !self.guarded && !self.potential
    }

    /// Whether threads read each other's registers: not with potentials, whose loops diverge.
    pub fn is_broadcast(&self) -> bool {
        self.config.broadcast && !self.potential
    }

    /// Whether it reads a copy of the sources.
    pub fn packs(&self) -> bool {
        self.one_mass || self.config.uniform
    }

    /// The order that sources of these masses have in the copy that the kernel reads, if it reads
    /// one.
    pub fn packing(&self, mass: &[f32]) -> Option<Packing> {
        let block = self.config.tile();
        if self.one_mass {
            Some(Packing::by_mass(mass, block))
        } else {
            self.config.uniform.then(|| Packing::in_order(mass.len() as u32, block))
        }
    }

    /// The kernel's file below `shaders/`.
    pub fn file(&self) -> &'static str {
        if self.config.untiled { "force/untiled.wgsl" } else { "force/all_pairs.wgsl" }
    }

    /// The WGSL that runs.
    pub fn wgsl(&self) -> Result<String> {
        // Potentials always come from the program's own kernel.
        if let (true, false, Some(text)) = (self.config.own, self.potential, super::own::text()) {
            return Ok(text);
        }
        let KernelConfig { p, q, r, u, s: slices, uniform, .. } = self.config;
        let (vec2, broadcast) = (self.is_vec2(), self.is_broadcast());
        let Self { guarded, potential, alone, one_mass, .. } = *self;
        let window = WINDOW;
        let loaded = self.config.tiles_at_once();
        template::assemble(
            self.file(),
            context! {
                p, q, r, u, slices, loaded, guarded, potential, alone, one_mass, uniform, window, broadcast, vec2,
                then_step => false,
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Checks, Language, translate};

    #[test]
    fn tiny_softening_and_huge_masses_are_guarded() {
        let config = KernelConfig::tiled(64);
        let guarded = |eps, mass| KernelVariant::new(config, eps, mass, false).guarded;
        assert!(guarded(0.0, 1.0) && guarded(1e-13, 1.0) && guarded(1e-3, 1e30));
        assert!(!guarded(1e-10, 1.0) && !guarded(0.01, 1e9) && !guarded(1e3, 0.0));
    }

    /// Every shape that the program can request, except repetitions of an equal text structure.
    #[test]
    fn every_variant_validates_and_translates() {
        let mut checked = 0;
        for (p, q) in [(1, 1), (8, 1), (64, 1), (256, 1), (64, 4), (16, 16), (1024, 1)] {
            for r in [1, 2, 4, 8] {
                for u in [1, 2, 4, 8, 32] {
                    for (untiled, uniform, broadcast, vec2) in [
                        (false, false, false, false),
                        (true, false, false, false),
                        (true, true, false, false),
                        (true, false, true, true),
                        (false, false, false, true),
                        (true, false, false, true),
                    ] {
                        let shape =
                            KernelConfig { untiled, uniform, broadcast, ..KernelConfig::tiled(p) };
                        let config = KernelConfig { q, r, u, vec2, ..shape };
                        if config.validate(None).is_err() {
                            continue;
                        }
                        for (guarded, potential, alone, one_mass) in [
                            (false, false, false, false),
                            (false, true, false, false),
                            (false, true, true, false),
                            (true, false, false, false),
                            (true, true, false, false),
                            (true, true, true, false),
                            (false, false, false, true),
                            (false, true, false, true),
                        ] {
                            let variant =
                                KernelVariant { config, guarded, potential, alone, one_mass };
                            let forces = KernelVariant { potential: false, ..variant };
                            if one_mass && !(forces.can_sort() && (!potential || !uniform)) {
                                continue;
                            }
                            let text = variant.wgsl().unwrap();
                            // The back ends see the same structure for every p, so one is enough.
                            let languages: &[_] = if p == 64 && u <= 4 {
                                &[Language::SpirV, Language::Msl, Language::Hlsl]
                            } else {
                                &[Language::SpirV]
                            };
                            for &language in languages {
                                let name = variant.file();
                                translate(name, &text, language, Checks::On).unwrap();
                                let out = translate(name, &text, language, Checks::Off).unwrap();
                                assert!(out.len() > 500);
                            }
                            if !variant.packs() {
                                let fused = crate::integrate::fused_wgsl(&variant, 1000).unwrap();
                                let name = variant.file();
                                translate(name, &fused, Language::SpirV, Checks::On).unwrap();
                            }
                            checked += 1;
                        }
                    }
                }
            }
        }
        println!("{checked} variants of the force kernel checked");
        assert!(checked > 300);
    }
}
