//! Which text of the force kernel is needed: the shape, and what the numbers at hand ask of it.

use minijinja::context;

use super::KernelConfig;
use super::packing::{Masses, Packing, WINDOW};
use crate::error::Result;
use crate::gpu::template;

/// One compiled kernel: its shape and its two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelVariant {
    /// p, q, r, u, s and the rest.
    pub config: KernelConfig,
    /// With the guard that softening 0 needs.
    pub guarded: bool,
    /// With the potential.
    pub potential: bool,
    /// The potential alone, without the acceleration: of a pair little more than half the work of both.
    pub alone: bool,
    /// For blocks of sources of one mass, which their sum is multiplied by: 12 instructions a pair instead of 13.
    pub one_mass: bool,
}

/// From so many sources on they are sorted by mass: below, the copy costs as much as is won.
pub(super) const MANY_SOURCES: usize = 1 << 15;

impl KernelVariant {
    /// The variant for a softening length and the largest gravitating mass.
    ///
    /// The fast kernel forms m / r^3 with r^2 >= eps^2. The guard comes in where that could leave the
    /// range of f32: eps = 0, or m / eps^3 or 1 / eps^3 above 1e36.
    pub fn new(config: KernelConfig, softening: f64, largest_mass: f64, potential: bool) -> Self {
        let largest = largest_mass.max(1.0) / (softening * softening * softening);
        Self { config, guarded: !(largest < 1e36), potential, alone: false, one_mass: false }
    }

    /// The variant that makes use of blocks of one mass, where sources of these masses have such and it pays.
    pub fn for_masses(self, mass: &[f32]) -> Self {
        let one_mass = self.can_sort()
            && self.config.sorts_by_mass(mass.len())
            && Masses::of(mass, self.config.tile()) == Masses::InBlocks;
        Self { one_mass, ..self }
    }

    /// The kernel of potentials beside this one: asked now and then, it is to compile fast. The order of the sums is
    /// the same, and their bits are those of a kernel with both.
    pub fn of_potentials(self) -> Self {
        let KernelConfig { r, u, untiled, uniform, .. } = self.config;
        let config = KernelConfig {
            r: r.min(4),
            u: if u.is_multiple_of(4) { 4 } else { u.min(4) },
            untiled: untiled && !uniform,
            uniform: false,
            ..self.config
        };
        Self { config, potential: true, alone: true, one_mass: false, ..self }
    }

    /// The kernel with forces and potentials in one, which takes the place of this one in a step: the same sums in the same
    /// order. `None` for a kernel of the user's own, and for sources in windows, whose sums have an order of their own.
    pub fn with_potential(self) -> Option<Self> {
        let KernelConfig { r, u, uniform, own, .. } = self.config;
        if uniform || own || self.potential {
            return None;
        }
        // Registers for twice as many sums; and it is to compile fast.
        let u = if u.is_multiple_of(4) { 4 } else { u.min(4) };
        let config = KernelConfig { r: r.min(8), u, ..self.config };
        Some(Self { config, potential: true, alone: false, ..self })
    }

    /// Whether the kernel finds its way among sources in another order: a potential asks for their numbers.
    pub fn can_sort(&self) -> bool {
        !self.guarded && !self.potential && !self.config.own && self.config.q == 1
    }

    /// Whether it reads a copy of the sources.
    pub fn packs(&self) -> bool {
        self.one_mass || self.config.uniform
    }

    /// How sources of these masses are to stand in the copy that the kernel reads, if it reads one.
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
        // Potentials always come from the program's kernel.
        if let (true, false, Some(text)) = (self.config.own, self.potential, super::own::text()) {
            return Ok(text);
        }
        let KernelConfig { p, q, r, u, s: slices, uniform, .. } = self.config;
        let Self { guarded, potential, alone, one_mass, .. } = *self;
        let window = WINDOW;
        let loaded = self.config.tiles_at_once();
        template::assemble(
            self.file(),
            context! {
                p, q, r, u, slices, loaded, guarded, potential, alone, one_mass, uniform, window,
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

    /// Every shape the program can ask for, up to repetition of equal text structure.
    #[test]
    fn every_variant_validates_and_translates() {
        let mut checked = 0;
        for (p, q) in [(1, 1), (8, 1), (64, 1), (256, 1), (64, 4), (16, 16), (1024, 1)] {
            for r in [1, 2, 4, 8] {
                for u in [1, 2, 4, 8, 32] {
                    for (untiled, uniform) in [(false, false), (true, false), (true, true)] {
                        let config =
                            KernelConfig { q, r, u, untiled, uniform, ..KernelConfig::tiled(p) };
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
                            // The back ends see the same structure for every p: once is enough.
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
