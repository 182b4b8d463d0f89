//! Which text of the kernels is needed: the tier, the order, what else is wanted, the shape.

use minijinja::{Value, context};

use super::{Shape, TierFrame};
use crate::error::Result;
use crate::forces::{Order, Precision};
use crate::gpu::layout::{DirectParams, VEC4};
use crate::gpu::{Binding, template};

/// How pairs of f32 are computed on an adapter. Meaningful for [`Precision::DoubleSingle`]; found out by
/// [`super::tier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pairs {
    /// Whether sums are hidden from the compiler's algebra; see `shaders/direct/arithmetic.wgsl`. Pairs without it
    /// are for the self-test's own test.
    pub fence: bool,
    /// Whether an fma is rounded once, and so tells what a product lost. WGSL allows a device to round it twice;
    /// there products are split after Dekker, with a third more instructions in the refined kernel.
    pub fused: bool,
}

impl Pairs {
    /// For tiers without pairs.
    pub const NONE: Self = Self { fence: false, fused: false };

    /// In words.
    pub fn name(self) -> &'static str {
        if self.fused { "products by fma" } else { "products split" }
    }
}

/// What kernels find of the sources around a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Near {
    /// Nothing.
    Nothing,
    /// The nearest.
    Nearest,
    /// That, and how many are within the sink's radius: lists are made of them.
    Listed,
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
    /// What else is found of the sources around each sink.
    pub near: Near,
    /// Whether eps is so large that no pair is at the distance 0, with which sums would end. Meaningless where
    /// `refined`.
    pub softened: bool,
    /// For double-single.
    pub pairs: Pairs,
    /// Whether records of sources and sinks end with the velocity.
    pub brief: bool,
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
    pub const SUM_BINDINGS: [Binding; 4] = [
        Binding::Read,
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

    /// These kernels in one slice: what all numbers of slices have in common.
    pub(super) fn unsliced(&self) -> Self {
        Self { shape: Shape { slices: 1, ..self.shape }, ..*self }
    }

    fn values(&self, fill: bool) -> Value {
        let Shape { p, q, r, u, l, .. } = self.shape;
        let pairs = self.precision == Precision::DoubleSingle;
        let order = self.order as u32;
        // Whether who is near is told by more than the forces have of positions.
        let close = self.precision == Precision::Single && (self.near > Near::Nothing || fill);
        context! {
            p, q, r, u, l, order, pairs, fill, close,
            parts => self.parts(fill),
            words => self.words() as u64 * VEC4 / self.vector_bytes(),
            tier => self.precision.name(),
            fence => self.pairs.fence,
            fused => self.pairs.fused,
            refined => self.refined,
            neighbours => self.near > Near::Nothing && !fill,
            listed => self.near == Near::Listed,
            meets => self.meets() && !fill,
            // Rows meet in pairs from here on.
            half => q.next_power_of_two() / 2,
            softened => self.softened,
        }
    }

    /// Words of a record of a source or sink.
    pub(super) fn words(&self) -> usize {
        match self.brief {
            true => TierFrame::words_to_velocity(self.precision),
            false => TierFrame::words(self.precision),
        }
    }

    /// The parts of a record that the kernel needs, and the words that they are.
    fn parts(&self, fill: bool) -> Vec<(&'static str, u32)> {
        let order = if fill { Order::Acceleration } else { self.order };
        let near = self.near > Near::Nothing || fill;
        let parts: &[(&str, u32, bool)] = match self.precision {
            Precision::DoubleSingle => &[
                ("position", 0, true),
                ("position_low", 1, true),
                ("velocity", 2, order >= Order::Jerk),
                ("velocity_low", 3, order >= Order::Jerk && self.refined),
                ("acceleration", 4, order >= Order::Snap),
                ("acceleration_low", 5, order >= Order::Snap && self.refined),
            ],
            precision => &[
                ("position", 0, true),
                ("velocity", 1, order >= Order::Jerk),
                ("acceleration", 2, order >= Order::Snap),
                ("position_low", 3, near && precision == Precision::Single),
            ],
        };
        parts.iter().filter(|part| part.2).map(|part| (part.0, part.1)).collect()
    }

    /// Whether the rows of a slice add up their sums before they write them. Lists are made row by row.
    pub fn meets(&self) -> bool {
        self.shape.q > 1 && self.near < Near::Listed
    }

    /// Parts of the sources whose sums are written.
    pub fn segments(&self) -> u32 {
        self.shape.slices * if self.meets() { 1 } else { self.shape.q }
    }

    /// Parts of the sources for whose sums there is room: where rows meet, they may have to stop before.
    pub fn segments_with_rows(&self) -> u32 {
        self.segments() + if self.meets() { self.shape.slices * self.shape.q } else { 0 }
    }

    /// `vec4` of a sink in what comes of it: its sums, and its nearest source.
    pub fn results(&self) -> usize {
        self.sums() + usize::from(self.near > Near::Nothing)
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
        let parts = self.parts(false).len() as u64;
        let near = self.meets() && self.near > Near::Nothing;
        let meeting = if near { u64::from(self.shape.threads()) } else { 0 };
        (u64::from(self.shape.tile()) * parts + meeting) * self.vector_bytes()
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
                for near in [Near::Nothing, Near::Nearest, Near::Listed] {
                    for fence in [false, true] {
                        if precision != Precision::DoubleSingle && fence {
                            continue;
                        }
                        for (p, q, r, u, l, refined, fused) in [
                            (8, 8, 1, 16, 2, false, false),
                            (64, 1, 1, 16, 1, false, false),
                            (64, 1, 2, 8, 1, false, false),
                            (16, 4, 2, 1, 1, false, false),
                            (64, 1, 1, 4, 1, true, false),
                            (64, 1, 1, 4, 1, true, true),
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
                                near,
                                softened: near == Near::Nearest,
                                pairs: Pairs { fence, fused },
                                brief: order < Order::Snap && r == 1,
                                refined,
                            };
                            let mut texts = vec![variant.forces().unwrap(), variant.sum().unwrap()];
                            if near == Near::Listed && order == Order::Acceleration {
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
        for fence in [false, true] {
            let values = context! { tier => "double-single", pairs => true, fused => false, fence };
            texts.push(template::assemble("direct/self_test.wgsl", values).unwrap());
        }
        for text in &texts {
            for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                assert!(translate("small", text, language, Checks::Off).unwrap().len() > 500);
            }
        }
        let hidden = |k: usize| texts[k].matches("(one())").count();
        assert_eq!([1, 2].map(hidden), [0, 2]);
    }

    #[test]
    fn f64_is_refused_where_no_driver_takes_it() {
        let shape = Shape { p: 8, q: 8, r: 1, u: 16, l: 2, slices: 1 };
        let variant = DirectVariant {
            shape,
            precision: Precision::Double,
            order: Order::Jerk,
            near: Near::Nothing,
            softened: true,
            pairs: Pairs::NONE,
            brief: true,
            refined: false,
        };
        let text = variant.forces().unwrap();
        for language in [Language::Msl, Language::Hlsl] {
            assert!(translate("f64", &text, language, Checks::Off).is_err());
        }
    }
}
