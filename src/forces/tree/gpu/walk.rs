//! The walk of groups of sinks through the cells: binding and recording.

use minijinja::context;

use super::{TreeResources, TreeShape, WalkShape};
use crate::error::Result;
use crate::forces::tree::far::{EXPANDED, FEWEST, POINT};
use crate::forces::tree::opening::NEAR_SQUARED;
use crate::forces::tree::{MultipoleOrder, Opening};
use crate::gpu::layout::TreeParams;
use crate::gpu::{Binding, BoundKernel, Params, compile, rows_of_workgroups, template};

/// The parameter of an opening rule as the kernels use it.
pub(super) fn parameter(opening: &Opening) -> f32 {
    match *opening {
        Opening::Acceleration { alpha } => alpha.log2() as f32,
        opening => opening.parameter() as f32,
    }
}

/// Output of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WalkOutput {
    /// The forces of all sinks.
    Forces,
    /// The interaction list of each group: up to this many cells and bodies.
    Lists([u32; 2]),
    /// The length of each group's interaction list, along the curve: [`super::WalkProbe`].
    Counts {
        /// Bodies per tile that are computed: all as in a run, or one turn of the loop, to time the
        /// rest.
        bodies: u32,
        /// The same for cells.
        cells: u32,
    },
}

/// Number of bodies, and of cells, in a tile.
pub const TILES: [u32; 2] = [64, 32];

/// Words of a group's list of far cells: their number, and up to one less of them. A group of a
/// million bodies has 720 (Plummer, alpha 0.003).
pub(super) const FAR_LENGTH: u32 = 1536;

/// One variant of the walk's source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WalkVariant {
    /// When a cell may act as a whole: [`Opening::name`].
    pub rule: &'static str,
    /// The highest multipole of cells.
    pub order: MultipoleOrder,
    /// Shape of the kernel.
    pub shape: WalkShape,
    /// Whether it includes the guard that softening 0 needs.
    pub guarded: bool,
    /// Whether it computes the potential.
    pub potential: bool,
    /// Its output.
    pub output: WalkOutput,
    /// Whether far cells are expanded: [`crate::forces::tree::TreeConfig::expands`].
    pub expands: bool,
}

impl WalkVariant {
    /// The variant of a tree for accelerations, or for inspection.
    pub fn new(shape: &TreeShape, guarded: bool, output: WalkOutput) -> Self {
        let (rule, order) = (shape.opening.name(), shape.order);
        let expands = shape.config().expands();
        Self { rule, order, shape: shape.walk, guarded, potential: false, output, expands }
    }

    /// The WGSL of the walk.
    pub fn wgsl(&self) -> Result<String> {
        self.text("tree/walk.wgsl")
    }

    /// The WGSL of the kernel that expands far cells.
    pub fn far_wgsl(&self) -> Result<String> {
        self.text("tree/far.wgsl")
    }

    fn text(&self, file: &str) -> Result<String> {
        let Self { guarded, potential, output, .. } = *self;
        let (output, [most_cells, most_bodies]) = match output {
            WalkOutput::Forces => ("forces", [0; 2]),
            WalkOutput::Lists(most) => ("lists", most),
            WalkOutput::Counts { .. } => ("counts", [0; 2]),
        };
        let [bodies_taken, cells_taken] = match self.output {
            WalkOutput::Counts { bodies, cells } => [bodies, cells],
            _ => TILES,
        };
        let u = self.shape.unroll;
        let quadrupole = self.order == MultipoleOrder::Quadrupole;
        let expands = self.expands;
        // Potentials have errors of a few 10^-5, which omitted quadrupoles would exceed.
        let points = quadrupole && self.rule == "acceleration" && !potential;
        let rule = self.rule;
        let near_squared = NEAR_SQUARED.to_string();
        let values = context! {
            points, point => POINT.to_string(), expands, expanded => EXPANDED.to_string(),
            far_length => FAR_LENGTH, fewest => FEWEST, rule, quadrupole, guarded, potential, u, near_squared,
            output, most_cells, most_bodies, bodies_taken, cells_taken, one_mass => false,
        };
        template::assemble(file, values)
    }
}

/// A walk bound to the buffers of a tree.
#[derive(Debug)]
pub struct Walk {
    kernel: BoundKernel,
    /// The kernel that expands far cells, if the variant has any.
    far: Option<BoundKernel>,
    base: TreeParams,
    most_workgroups: u32,
}

impl Walk {
    /// Compiles and binds the walk; accelerations, and potentials if the variant has them, go into
    /// the partial sums.
    pub async fn new(
        bound: &TreeResources<'_>,
        variant: WalkVariant,
        opening: &Opening,
        softening: f32,
    ) -> Result<Self> {
        let TreeResources { gpu, shape, buffers, partial_sums, params } = *bound;
        use Binding::{Read, Write};
        let mut bound = vec![
            (Read, &buffers.sources),
            (Read, &buffers.order),
            (Read, &buffers.cell_open),
            (Read, &buffers.cell_force),
            (Read, &buffers.state),
            (Write, partial_sums),
            (Read, &buffers.groups),
        ];
        if opening.is_between_boxes() {
            bound.push((Read, &buffers.cell_box));
        }
        let has_far = variant.expands && !matches!(variant.output, WalkOutput::Lists(_));
        if has_far {
            bound.push((Write, &buffers.far_cells));
        }
        let row = Binding::Params(size_of::<TreeParams>() as u64);
        let bind = async |file: &str, text: &str, bound: &[(Binding, &wgpu::Buffer)]| {
            let bindings: Vec<_> = bound.iter().map(|(binding, _)| *binding).chain([row]).collect();
            let resources = bound.iter().map(|(_, buffer)| buffer.as_entire_binding());
            let resources: Vec<_> = resources.chain([params.binding()]).collect();
            let kernel = compile(gpu, file, text, &bindings, shape.checks).await?;
            Ok::<_, crate::error::Error>(kernel.bind(gpu, "walk", &resources))
        };
        let kernel = bind("tree/walk.wgsl", &variant.wgsl()?, &bound).await?;
        let far = if has_far {
            let bound = [
                (Read, &buffers.sources),
                (Read, &buffers.order),
                (Read, &buffers.cell_force),
                (Read, &buffers.state),
                (Write, partial_sums),
                (Read, &buffers.groups),
                (Read, &buffers.far_cells),
            ];
            Some(bind("tree/far.wgsl", &variant.far_wgsl()?, &bound).await?)
        } else {
            None
        };
        let (singles, room) = buffers.singles;
        let base = TreeParams {
            count: buffers.count,
            reserve: buffers.reserve,
            opening: parameter(opening),
            softening_squared: softening * softening,
            singles,
            room,
            ..Default::default()
        };
        Ok(Self { kernel, far, base, most_workgroups: gpu.limits.workgroups })
    }

    /// Uses another softening from now on.
    pub fn set_softening(&mut self, softening: f32) {
        self.base.softening_squared = softening * softening;
    }

    /// Records the groups from `begin` to `end`.
    pub fn record(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        begin: u32,
        end: u32,
    ) {
        self.dispatch(&self.kernel, pass, params, begin, end);
    }

    /// Whether far cells remain to be expanded after the walk of some groups.
    pub fn leaves_far_cells(&self) -> bool {
        self.far.is_some()
    }

    /// Records the expansions of the far cells of the groups that have walked last.
    pub fn record_far(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        begin: u32,
        end: u32,
    ) {
        if let Some(far) = &self.far {
            self.dispatch(far, pass, params, begin, end);
        }
    }

    fn dispatch(
        &self,
        kernel: &BoundKernel,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        begin: u32,
        end: u32,
    ) {
        let row = TreeParams { group_begin: begin, group_end: end, ..self.base };
        kernel.set(pass, &[params.offset_of(row)]);
        let [x, y] = rows_of_workgroups(end - begin, self.most_workgroups);
        pass.dispatch_workgroups(x, y, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Checks, Language, translate};

    #[test]
    fn every_variant_validates_and_translates() {
        for rule in ["acceleration", "radius", "bonsai", "octgrav"] {
            for order in [MultipoleOrder::Monopole, MultipoleOrder::Quadrupole] {
                for (guarded, potential) in
                    [(false, false), (false, true), (true, false), (true, true)]
                {
                    for unroll in [4, 8, 32] {
                        let shape = WalkShape { unroll };
                        let output = WalkOutput::Forces;
                        let expands = rule == "acceleration" && order == MultipoleOrder::Quadrupole;
                        let variant =
                            WalkVariant { rule, order, shape, guarded, potential, output, expands };
                        let text = variant.wgsl().unwrap();
                        if expands {
                            let far = variant.far_wgsl().unwrap();
                            translate("other", &far, Language::SpirV, Checks::On).unwrap();
                            let off = WalkVariant { expands: false, ..variant }.wgsl().unwrap();
                            translate("other", &off, Language::SpirV, Checks::On).unwrap();
                        }
                        let counts = WalkOutput::Counts { bodies: unroll, cells: 32 };
                        for output in [WalkOutput::Lists([100, 1000]), counts] {
                            let text = WalkVariant { output, ..variant }.wgsl().unwrap();
                            translate("other", &text, Language::SpirV, Checks::On).unwrap();
                        }
                        for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                            let out = translate("tree/walk.wgsl", &text, language, Checks::Off);
                            assert!(out.unwrap_or_else(|e| panic!("{e}\n{text}")).len() > 500);
                        }
                    }
                }
            }
        }
    }
}
