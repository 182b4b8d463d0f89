//! Kernel variants: tier, order, neighbour output and shape.

use minijinja::{Value, context};

use super::{Pairs, TierFrame, TierShape};
use crate::error::Result;
use crate::forces::{Order, Precision};
use crate::gpu::layout::{DirectParams, VEC4};
use crate::gpu::{Binding, template};

/// What kernels return about the sources around a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NeighbourOutput {
    /// Nothing.
    Nothing,
    /// The nearest source.
    Nearest,
    /// Also the number within the sink's radius, for neighbour lists.
    Listed,
}

/// One set of kernels: forces, lists and their sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectVariant {
    /// Workgroup shape.
    pub shape: TierShape,
    /// The tier.
    pub precision: Precision,
    /// The highest derivative.
    pub order: Order,
    /// Neighbour output.
    pub near: NeighbourOutput,
    /// Whether eps is so large that no pair has the distance 0, which would make sums infinite.
    /// Relevant only if `refined`.
    pub softened: bool,
    /// Arithmetic of double-single.
    pub pairs: Pairs,
    /// Whether records of sources and sinks end with the velocity.
    pub brief: bool,
    /// For double-single: accelerations and jerks in pairs of f32 throughout, see
    /// [`Precision::refines`].
    pub refined: bool,
}

impl DirectVariant {
    /// Path of the force kernel below `shaders/`.
    pub const FORCES: &'static str = "direct/forces.wgsl";
    /// Path of the summation kernel.
    pub const SUM: &'static str = "direct/sum.wgsl";

    /// Bindings of the kernels in `direct/forces.wgsl`.
    pub const BINDINGS: [Binding; 7] = [
        Binding::Read,
        Binding::Read,
        Binding::Read,
        Binding::Write,
        Binding::Write,
        Binding::Write,
        Binding::Params(size_of::<DirectParams>() as u64),
    ];

    /// Bindings of the kernel in `direct/sum.wgsl`.
    pub const SUM_BINDINGS: [Binding; 4] = [
        Binding::Read,
        Binding::Write,
        Binding::Write,
        Binding::Params(size_of::<DirectParams>() as u64),
    ];

    /// Source text of the force kernel.
    pub fn forces(&self) -> Result<String> {
        template::assemble(Self::FORCES, self.values(false))
    }

    /// Source text of the kernel that writes neighbour lists. Needs their lengths from the force
    /// kernel.
    pub fn lists(&self) -> Result<String> {
        let plain = Self { order: Order::Acceleration, refined: false, ..*self };
        template::assemble(Self::FORCES, plain.values(true))
    }

    /// Source text of the summation kernel.
    pub fn sum(&self) -> Result<String> {
        template::assemble(Self::SUM, self.values(false))
    }

    /// These kernels with one slice: the same for all numbers of slices.
    pub(super) fn unsliced(&self) -> Self {
        Self { shape: TierShape { slices: 1, ..self.shape }, ..*self }
    }

    fn values(&self, fill: bool) -> Value {
        let TierShape { p, q, r, u, l, .. } = self.shape;
        let pairs = self.precision == Precision::DoubleSingle;
        let order = self.order as u32;
        // Whether neighbour distances need more precise positions than the forces do.
        let close =
            self.precision == Precision::Single && (self.near > NeighbourOutput::Nothing || fill);
        context! {
            p, q, r, u, l, order, pairs, fill, close,
            parts => self.parts(fill),
            words => self.words() as u64 * VEC4 / self.vector_bytes(),
            tier => self.precision.name(),
            fence => self.pairs.fence,
            fused => self.pairs.fused,
            refined => self.refined,
            neighbours => self.near > NeighbourOutput::Nothing && !fill,
            listed => self.near == NeighbourOutput::Listed,
            meets => self.meets() && !fill,
            // From here on rows are added in pairs.
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

    /// The fields of a record that the kernel reads, and their total number of words.
    fn parts(&self, fill: bool) -> Vec<(&'static str, u32)> {
        let order = if fill { Order::Acceleration } else { self.order };
        let near = self.near > NeighbourOutput::Nothing || fill;
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

    /// Whether the rows of a slice are summed in the workgroup before they are written. Lists are
    /// made row by row.
    pub fn meets(&self) -> bool {
        self.shape.q > 1 && self.near < NeighbourOutput::Listed
    }

    /// Segments of the sources, each with its own partial sums.
    pub fn segments(&self) -> u32 {
        self.shape.slices * if self.meets() { 1 } else { self.shape.q }
    }

    /// Partial sums per sink to allocate: [`DirectVariant::segments`] and, where rows are summed in
    /// the workgroup, one for each row as well, since that summation may have to stop early.
    pub fn segments_with_rows(&self) -> u32 {
        self.segments() + if self.meets() { self.shape.slices * self.shape.q } else { 0 }
    }

    /// `vec4` results per sink: its sums, and its nearest source.
    pub fn results(&self) -> usize {
        self.sums() + usize::from(self.near > NeighbourOutput::Nothing)
    }

    /// `vec4` sums per segment and sink.
    pub fn sums(&self) -> usize {
        (self.order as usize + 1) * if self.precision == Precision::DoubleSingle { 2 } else { 1 }
    }

    /// Bytes of one `vec4` of the tier.
    pub fn vector_bytes(&self) -> u64 {
        if self.precision == Precision::Double { 32 } else { 16 }
    }

    /// Bytes of workgroup memory of the force kernel.
    pub fn workgroup_memory(&self) -> u64 {
        let parts = self.parts(false).len() as u64;
        let near = self.meets() && self.near > NeighbourOutput::Nothing;
        let meeting = if near { u64::from(self.shape.threads()) } else { 0 };
        (u64::from(self.shape.tile()) * parts + meeting) * self.vector_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Checks, Language, translate};

    /// All kernels that the engine can request, for every back end that supports them.
    #[test]
    fn every_variant_validates_and_translates() {
        let mut checked = 0;
        for (precision, _) in Precision::ALL {
            for order in [Order::Acceleration, Order::Jerk, Order::Snap] {
                for near in
                    [NeighbourOutput::Nothing, NeighbourOutput::Nearest, NeighbourOutput::Listed]
                {
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
                            let shape = TierShape { p, q, r, u, l, slices: 1 };
                            shape.validate().unwrap();
                            let variant = DirectVariant {
                                shape,
                                precision,
                                order,
                                near,
                                softened: near == NeighbourOutput::Nearest,
                                pairs: Pairs { fence, fused },
                                brief: order < Order::Snap && r == 1,
                                refined,
                            };
                            let mut texts = vec![variant.forces().unwrap(), variant.sum().unwrap()];
                            if near == NeighbourOutput::Listed && order == Order::Acceleration {
                                texts.push(variant.lists().unwrap());
                            }
                            let languages: &[_] = match precision {
                                Precision::Double => &[Language::SpirV],
                                _ => &[Language::SpirV, Language::Msl, Language::Hlsl],
                            };
                            for text in &texts {
                                for &language in languages {
                                    for checks in [Checks::On, Checks::Off] {
                                        // The back ends receive the same structure for every shape.
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
        let shape = TierShape { p: 8, q: 8, r: 1, u: 16, l: 2, slices: 1 };
        let variant = DirectVariant {
            shape,
            precision: Precision::Double,
            order: Order::Jerk,
            near: NeighbourOutput::Nothing,
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
