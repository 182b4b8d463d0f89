//! Which text of the kernels is needed: the tier, the order, what else is wanted, the shape.

use minijinja::{Value, context};

use super::Shape;
use crate::direct::{Order, Precision};
use crate::error::Result;
use crate::gpu::layout::DirectParams;
use crate::gpu::{Binding, template};

/// Which results of pair arithmetic are hidden from the compiler's algebra. Meaningful for
/// [`Precision::DoubleSingle`]; see `shaders/direct/arithmetic.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fence {
    /// None: what a compiler that takes no liberties needs.
    None,
    /// The sum and the first two differences: Mesa.
    Light,
    /// Every result: compilers that reorder sums (fast math).
    Full,
    /// Also the differences of positions and velocities.
    Differences,
}

impl Fence {
    /// All, the cheapest first.
    pub const ALL: [Self; 4] = [Self::None, Self::Light, Self::Full, Self::Differences];

    /// In words.
    pub fn name(self) -> &'static str {
        ["none", "light", "full", "full, with differences"][self as usize]
    }
}

/// One set of kernels: forces, lists and their sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectVariant {
    /// How the work is cut up.
    pub shape: Shape,
    /// The tier.
    pub precision: Precision,
    /// Up to which derivative.
    pub order: Order,
    /// With the nearest source and the number of sources within each sink's radius.
    pub neighbours: bool,
    /// For double-single.
    pub fence: Fence,
    /// For double-single: accelerations and jerks in pairs of f32 throughout, see [`Precision::refines`].
    pub refined: bool,
}

impl DirectVariant {
    /// Path of the forces' kernel below `shaders/`.
    pub const FORCES: &'static str = "direct/forces.wgsl";
    /// Path of the second pass.
    pub const SUM: &'static str = "direct/sum.wgsl";

    /// What the kernels of `direct/forces.wgsl` bind.
    pub const BINDINGS: [Binding; 7] = [
        Binding::Read,
        Binding::Read,
        Binding::Read,
        Binding::Write,
        Binding::Write,
        Binding::Write,
        Binding::Params(size_of::<DirectParams>() as u64),
    ];

    /// What the kernel of `direct/sum.wgsl` binds.
    pub const SUM_BINDINGS: [Binding; 5] = [
        Binding::Read,
        Binding::Write,
        Binding::Write,
        Binding::Write,
        Binding::Params(size_of::<DirectParams>() as u64),
    ];

    /// The forces' kernel.
    pub fn forces(&self) -> Result<String> {
        template::assemble(Self::FORCES, self.values(false))
    }

    /// The kernel that writes lists of sources. The counts must be there.
    pub fn lists(&self) -> Result<String> {
        let plain = Self { order: Order::Acceleration, refined: false, ..*self };
        template::assemble(Self::FORCES, plain.values(true))
    }

    /// The second pass.
    pub fn sum(&self) -> Result<String> {
        template::assemble(Self::SUM, self.values(false))
    }

    /// The same kernels for any number of slices.
    pub(super) fn unsliced(&self) -> Self {
        Self { shape: Shape { slices: 1, ..self.shape }, ..*self }
    }

    fn values(&self, fill: bool) -> Value {
        let Shape { p, q, r, u, l, .. } = self.shape;
        let pairs = self.precision == Precision::DoubleSingle;
        let order = self.order as u32;
        // The first parts of a record, as far as this variant needs them.
        let parts: &[&str] = match (pairs, if fill { 0 } else { order }) {
            (false, 0) => &["position"],
            (false, 1) => &["position", "velocity"],
            (false, _) => &["position", "velocity", "acceleration"],
            (true, 0) => &["position", "position_low"],
            (true, 1) => &["position", "position_low", "velocity", "velocity_low"],
            (true, _) => &["position", "position_low", "velocity", "velocity_low", "acceleration"],
        };
        context! {
            p, q, r, u, l, order, pairs, fill,
            parts => parts.to_vec(),
            tier => self.precision.name(),
            fence => self.fence as u32,
            refined => self.refined,
            neighbours => self.neighbours && !fill,
        }
    }

    /// `vec4` sums per segment and sink.
    pub fn sums(&self) -> usize {
        (self.order as usize + 1) * if self.precision == Precision::DoubleSingle { 2 } else { 1 }
    }

    /// Bytes of one number group (`vec4`) of the tier.
    pub fn vector_bytes(&self) -> u64 {
        if self.precision == Precision::Double { 32 } else { 16 }
    }

    /// Bytes of workgroup memory of the forces' kernel.
    pub fn workgroup_memory(&self) -> u64 {
        let pairs = self.precision == Precision::DoubleSingle;
        let parts = match (pairs, self.order) {
            (false, order) => order as u64 + 1,
            (true, Order::Acceleration) => 2,
            (true, Order::Jerk) => 4,
            (true, Order::Snap) => 5,
        };
        u64::from(self.shape.tile()) * parts * self.vector_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Checks, Language, translate};

    /// Every text that the engine can ask for, for every back end that can have it.
    #[test]
    fn every_variant_validates_and_translates() {
        let mut checked = 0;
        for (precision, _) in Precision::ALL {
            for order in [Order::Acceleration, Order::Jerk, Order::Snap] {
                for neighbours in [false, true] {
                    for fence in Fence::ALL {
                        if precision != Precision::DoubleSingle && fence != Fence::None {
                            continue;
                        }
                        for (p, q, r, u, l, refined) in [
                            (8, 8, 1, 16, 2, false),
                            (64, 1, 1, 16, 1, false),
                            (64, 1, 2, 8, 1, false),
                            (16, 4, 2, 1, 1, false),
                            (64, 1, 1, 4, 1, true),
                        ] {
                            if refined && precision != Precision::DoubleSingle {
                                continue;
                            }
                            let shape = Shape { p, q, r, u, l, slices: 1 };
                            shape.validate().unwrap();
                            let variant = DirectVariant {
                                shape,
                                precision,
                                order,
                                neighbours,
                                fence,
                                refined,
                            };
                            let mut texts = vec![variant.forces().unwrap(), variant.sum().unwrap()];
                            if neighbours && order == Order::Acceleration {
                                texts.push(variant.lists().unwrap());
                            }
                            let languages: &[_] = match precision {
                                Precision::Double => &[Language::SpirV],
                                _ => &[Language::SpirV, Language::Msl, Language::Hlsl],
                            };
                            for text in &texts {
                                for &language in languages {
                                    for checks in [Checks::On, Checks::Off] {
                                        // The back ends see the same structure for every shape.
                                        let is_main = language == Language::SpirV;
                                        if !is_main && (r == 2 || checks == Checks::On) {
                                            continue;
                                        }
                                        let name = DirectVariant::FORCES;
                                        let out = translate(name, text, language, checks);
                                        let out = out.unwrap_or_else(|e| panic!("{e}\n{text}"));
                                        assert!(out.len() > 500);
                                        checked += 1;
                                    }
                                }
                            }
                            assert!(variant.workgroup_memory() <= 16384, "{variant:?}");
                        }
                    }
                }
            }
        }
        println!("{checked} translations of forces with derivatives");
        assert!(checked > 500);
    }

    #[test]
    fn the_small_kernels_translate() {
        let mut texts = vec![template::assemble("direct/scatter.wgsl", context! {}).unwrap()];
        for fence in 0..4 {
            let values = context! { tier => "double-single", pairs => true, fence };
            texts.push(template::assemble("direct/self_test.wgsl", values).unwrap());
        }
        for text in &texts {
            for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                assert!(translate("small", text, language, Checks::Off).unwrap().len() > 500);
            }
        }
        // Each level hides more, and the first nothing.
        let hidden = |k: usize| texts[k].matches("^ vec3(params.zero)").count();
        assert_eq!([1, 2, 3, 4].map(hidden), [0, 1, 2, 3]);
    }

    #[test]
    fn f64_is_refused_where_no_driver_takes_it() {
        let shape = Shape { p: 8, q: 8, r: 1, u: 16, l: 2, slices: 1 };
        let variant = DirectVariant {
            shape,
            precision: Precision::Double,
            order: Order::Jerk,
            neighbours: false,
            fence: Fence::None,
            refined: false,
        };
        let text = variant.forces().unwrap();
        for language in [Language::Msl, Language::Hlsl] {
            assert!(translate("f64", &text, language, Checks::Off).is_err());
        }
    }
}
