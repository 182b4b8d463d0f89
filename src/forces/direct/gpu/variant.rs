//! Which text of the force kernel is needed: the shape, and what the numbers at hand ask of it.

use minijinja::context;

use super::KernelConfig;
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
}

impl KernelVariant {
    /// The variant for a softening length and the largest gravitating mass.
    ///
    /// The fast kernel forms m / r^3 with r^2 >= eps^2. The guard comes in where that could leave the
    /// range of f32: eps = 0, or m / eps^3 or 1 / eps^3 above 1e36.
    pub fn new(config: KernelConfig, softening: f64, largest_mass: f64, potential: bool) -> Self {
        let largest = largest_mass.max(1.0) / (softening * softening * softening);
        Self { config, guarded: !(largest < 1e36), potential }
    }

    /// The kernel's file below `shaders/`.
    pub fn file(&self) -> &'static str {
        if self.config.untiled { "force/untiled.wgsl" } else { "force/all_pairs.wgsl" }
    }

    /// The WGSL that runs.
    pub fn wgsl(&self) -> Result<String> {
        let KernelConfig { p, q, r, u, .. } = self.config;
        let (guarded, potential) = (self.guarded, self.potential);
        let loaded = self.config.tiles_at_once();
        template::assemble(
            self.file(),
            context! { p, q, r, u, loaded, guarded, potential, then_step => false },
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
                    for untiled in [false, true] {
                        let config = KernelConfig { q, r, u, untiled, ..KernelConfig::tiled(p) };
                        if config.validate(None).is_err() {
                            continue;
                        }
                        for (guarded, potential) in
                            [(false, false), (false, true), (true, false), (true, true)]
                        {
                            let variant = KernelVariant { config, guarded, potential };
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
                            let fused = crate::integrate::fused_wgsl(&variant, 1000).unwrap();
                            translate(variant.file(), &fused, Language::SpirV, Checks::On).unwrap();
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
