//! From bodies to cells with moments, stage by stage.

use minijinja::context;

use super::buffers::TALLY;
use super::walk::parameter;
use super::{Bound, TreeBuffers, TreeShape};
use crate::error::Result;
use crate::forces::DeviceField;
use crate::forces::tree::opening::NEAR_SQUARED;
use crate::forces::tree::{CROWD, Cube, LEVELS};
use crate::gpu::layout::TreeParams;
use crate::gpu::{
    Binding, BoundKernel, Gpu, KeyWidth, Params, Scan, Sort, SortedBuffers, compile,
    rows_of_workgroups, storage, template,
};

/// Bodies per thread in the statistics.
const ROWS: u32 = 16;
/// Threads of a workgroup.
const THREADS: u32 = 256;
/// Cells per workgroup: leaves, and cells with children.
const LEAVES: u32 = 64;
const INNER: u32 = 64;

/// A stage of the build that is recorded at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Finds the cube, and a key and an index for each body.
    Keys,
    /// Sorts keys and indices along the curve.
    Sort,
    /// Copies positions and masses in that order, and finds the cells of all levels with their
    /// bodies and children.
    Cells,
    /// Computes the moments of the cells.
    Moments,
    /// Finds which sinks walk together, and their last accelerations.
    Groups,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 5] = [Self::Keys, Self::Sort, Self::Cells, Self::Moments, Self::Groups];

    /// Its cost in interactions per body. (On an H200 a million bodies take 0.35 ms to sort.)
    pub(super) fn interactions(self) -> u64 {
        match self {
            Self::Keys | Self::Groups => 20,
            Self::Sort => 200,
            Self::Cells | Self::Moments => 60,
        }
    }
}

/// The source of the sinks' accelerations for [`Stage::Groups`], which some rules need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strengths {
    /// From the bodies' accelerations.
    Last,
    /// From a walk that has just ended.
    Walked,
    /// They are not known yet.
    Unknown,
}

/// The kernels of the build, bound to the buffers of a tree and to the bodies.
#[derive(Debug)]
pub struct Build {
    kernels: Kernels,
    sort: Sort,
    scan: Scan,
    level_sort: Sort,
    base: TreeParams,
    leaf_sizes: u32,
    has_strengths: bool,
    most_workgroups: u32,
}

#[derive(Debug)]
struct Kernels {
    clear: BoundKernel,
    spread: BoundKernel,
    edge: BoundKernel,
    keys: BoundKernel,
    gather: BoundKernel,
    /// The kernel for bodies that have moved since the tree was built, if it serves several steps.
    gather_moved: Option<BoundKernel>,
    count: BoundKernel,
    choose: BoundKernel,
    write: BoundKernel,
    rank: BoundKernel,
    link: BoundKernel,
    leaves: BoundKernel,
    inner: BoundKernel,
    /// Subtracts an external field from the accelerations of the last step.
    own: Option<BoundKernel>,
    /// With the accelerations of the last step, and with those left by a walk.
    strengths: [BoundKernel; 2],
    groups: [BoundKernel; 2],
    scattered: BoundKernel,
}

/// The source text of a kernel of the build; `moved` is for bodies that have moved since the tree
/// was built, and `field` the external field.
fn text(name: &str, shape: &TreeShape, moved: bool, field: Option<&DeviceField>) -> Result<String> {
    let rule = shape.opening.name();
    let quadrupole = shape.order == crate::forces::tree::MultipoleOrder::Quadrupole;
    let (leaf, sizes) = (shape.leaf, shape.leaf_sizes());
    let keeps = shape.rebuild.keeps() && !moved;
    let values = context! {
        rows => ROWS, leaf, sizes, rule, quadrupole, crowd => CROWD, keeps, again => moved,
        near_squared => NEAR_SQUARED.to_string(), potentials => field.map(DeviceField::potentials),
    };
    template::assemble(&file(name), values)
}

fn file(name: &str) -> String {
    format!("tree/{name}.wgsl")
}

impl Build {
    /// Compiles the kernels and binds them: `bodies` and `accelerations` are those of
    /// [`crate::gpu::BodyBuffers`], and `field` is the external field in these accelerations.
    ///
    /// # Errors
    /// Buffers larger than the adapter allows.
    pub async fn new(
        bound: &Bound<'_>,
        bodies: &wgpu::Buffer,
        accelerations: &wgpu::Buffer,
        field: Option<&DeviceField>,
    ) -> Result<Self> {
        let Bound { gpu, shape, buffers, partial_sums, params } = *bound;
        use Binding::{Read, Write};
        let row = Binding::Params(size_of::<TreeParams>() as u64);
        let TreeBuffers { state, tally, keys, order, sources, groups, offsets, .. } = buffers;
        let TreeBuffers { levels, numbers, starts, ranks, cell_open, cell_force, cell_box, .. } =
            buffers;
        let bind_as = async |name: &str,
                             bound: &[(Binding, &wgpu::Buffer)],
                             has_params: bool,
                             moved: bool| {
            let mut bindings: Vec<_> = bound.iter().map(|(binding, _)| *binding).collect();
            let mut resources: Vec<_> =
                bound.iter().map(|(_, buffer)| buffer.as_entire_binding()).collect();
            // The kernels of the moments share a file that has the parameters as binding 4.
            let at = if name == "leaves" { 4 } else { bindings.len() };
            if has_params {
                bindings.insert(at, row);
                resources.insert(at, params.binding());
            }
            let text = text(name, shape, moved, field)?;
            let compiled = compile(gpu, &file(name), &text, &bindings, shape.checks).await?;
            Ok::<_, crate::error::Error>(compiled.bind(gpu, name, &resources))
        };
        let bind = async |name: &str, bound: &[(Binding, &wgpu::Buffer)], has_params: bool| {
            bind_as(name, bound, has_params, false).await
        };
        let (read, write) = (|buffer| (Read, buffer), |buffer| (Write, buffer));
        let records = [write(cell_open), write(cell_force), write(cell_box), read(state)];
        let strengths_of = async |accelerations: &wgpu::Buffer| {
            let bound = [(Read, accelerations), read(order), read(state), write(tally)];
            bind("strength", &bound, true).await
        };
        let groups_of = async |accelerations: &wgpu::Buffer| {
            let from = [read(sources), read(order), read(keys), (Read, accelerations), read(state)];
            bind("groups", &[&from[..], &[write(tally), write(groups)]].concat(), true).await
        };
        let from = [read(bodies), read(order), read(state)];
        let mut gathered = [&from[..], &[write(sources), write(partial_sums)]].concat();
        let keeps = shape.rebuild.keeps();
        let gather_moved = match keeps {
            true => Some(bind_as("gather", &gathered, true, true).await?),
            false => None,
        };
        if keeps {
            gathered.push(write(&buffers.built_at));
        }
        let has_strengths = shape.opening.needs_accelerations();
        let has_field = has_strengths && field.is_some();
        let own = has_field.then(|| storage(gpu, "own accelerations", buffers.count as usize));
        let subtract = match &own {
            Some(own) => {
                let bound = [read(bodies), read(accelerations), write(own)];
                Some(bind("own", &bound, true).await?)
            }
            None => None,
        };
        let accelerations = own.as_ref().unwrap_or(accelerations);
        let kernels = Kernels {
            clear: bind("clear", &[write(tally)], false).await?,
            spread: bind("spread", &[read(bodies), write(tally)], true).await?,
            edge: bind("edge", &[read(tally), write(state)], true).await?,
            keys: bind("keys", &[read(bodies), read(state), write(keys), write(order)], true)
                .await?,
            gather: bind("gather", &gathered, true).await?,
            gather_moved,
            count: bind("count", &[read(keys), write(offsets), write(tally), read(state)], true)
                .await?,
            choose: bind("choose", &[read(tally), write(state)], true).await?,
            write: {
                let from = [read(keys), read(offsets), read(state)];
                let to = [write(levels), write(numbers), write(starts)];
                bind("write", &[from, to].concat(), false).await?
            },
            rank: bind("rank", &[read(numbers), read(state), write(ranks)], false).await?,
            link: {
                let from = [read(keys), read(levels), read(numbers), read(starts), read(ranks)];
                let to = [write(state), write(cell_open), write(cell_box)];
                bind("link", &[&from[..], &to].concat(), false).await?
            },
            leaves: bind("leaves", &[&records[..], &[read(sources)]].concat(), true).await?,
            inner: bind("inner", &records, true).await?,
            strengths: [strengths_of(accelerations).await?, strengths_of(partial_sums).await?],
            groups: [groups_of(accelerations).await?, groups_of(partial_sums).await?],
            own: subtract,
            scattered: bind("scattered", &[write(tally), write(state)], true).await?,
        };
        let checks = shape.checks;
        let (count, reserve) = (buffers.count, buffers.reserve);
        let sorted = SortedBuffers {
            keys,
            width: KeyWidth::Bits64,
            payloads: order,
            capacity: count,
            count: None,
        };
        let sort = Sort::new(gpu, sorted, checks).await?;
        let scan = Scan::new(gpu, offsets, Some(state), count, checks).await?;
        let sorted = SortedBuffers {
            keys: levels,
            width: KeyWidth::Bits32,
            payloads: numbers,
            capacity: reserve,
            count: Some(scan.total()),
        };
        let level_sort = Sort::new(gpu, sorted, checks).await?;
        let (singles, room) = buffers.singles();
        let base = TreeParams {
            count,
            reserve,
            spare: Cube::spare(count as usize) as u32,
            opening: parameter(&shape.opening),
            not_a_number: f32::NAN.to_bits(),
            singles,
            room,
            ..Default::default()
        };
        let (leaf_sizes, most_workgroups) = (shape.leaf_sizes(), gpu.limits.workgroups);
        Ok(Self {
            kernels,
            sort,
            scan,
            level_sort,
            base,
            leaf_sizes,
            has_strengths,
            most_workgroups,
        })
    }

    /// Begins a submission.
    pub fn begin_submission(&mut self) {
        self.sort.begin_submission();
        self.scan.begin_submission();
        self.level_sort.begin_submission();
    }

    /// Sends the parameters of everything recorded. Call before submitting.
    pub fn end_submission(&mut self, gpu: &Gpu) {
        self.sort.end_submission(gpu);
        self.scan.end_submission(gpu);
        self.level_sort.end_submission(gpu);
    }

    /// Records what precedes [`Stage::Moments`] if the cells of an earlier step are reused: copying
    /// the bodies' current positions. Nothing if the shape rebuilds at each step.
    pub(super) fn record_refit(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
    ) {
        let Some(gather) = &self.kernels.gather_moved else { return };
        let offset = params.offset_of(self.base);
        for (kernel, offset, work) in
            [(&self.kernels.clear, None, TALLY), (gather, Some(offset), self.base.count)]
        {
            kernel.set(pass, offset.as_slice());
            let [x, y] = rows_of_workgroups(work.div_ceil(THREADS), self.most_workgroups);
            pass.dispatch_workgroups(x, y, 1);
        }
    }

    /// Records a stage.
    pub fn record(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        stage: Stage,
        strengths: Strengths,
    ) {
        let base = self.base;
        let (count, reserve) = (base.count, base.reserve);
        let Self {
            kernels,
            sort,
            scan,
            level_sort,
            leaf_sizes,
            most_workgroups,
            has_strengths,
            ..
        } = self;
        let most = *most_workgroups;
        let run = |pass: &mut wgpu::ComputePass<'_>,
                   kernel: &BoundKernel,
                   offset: Option<u32>,
                   (work, each): (u32, u32),
                   z: u32| {
            kernel.set(pass, offset.as_slice());
            let [x, y] = rows_of_workgroups(work.div_ceil(each), most);
            pass.dispatch_workgroups(x, y, z);
        };
        let row = Some(params.offset_of(base));
        match stage {
            Stage::Keys => {
                run(pass, &kernels.clear, None, (TALLY, THREADS), 1);
                run(pass, &kernels.spread, row, (count, THREADS * ROWS), 1);
                run(pass, &kernels.edge, row, (1, 1), 1);
                run(pass, &kernels.keys, row, (count, THREADS), 1);
            }
            Stage::Sort => sort.record(pass, count, KeyWidth::Bits64.bits()),
            Stage::Cells => {
                run(pass, &kernels.gather, row, (count, THREADS), 1);
                for level in 0..*leaf_sizes {
                    let row = Some(params.offset_of(TreeParams { level, ..base }));
                    run(pass, &kernels.count, row, (count, THREADS), 1);
                }
                run(pass, &kernels.choose, row, (1, 1), 1);
                scan.record(pass, count);
                run(pass, &kernels.write, None, (count, THREADS), 1);
                // 22 levels need 5 bits.
                level_sort.record(pass, reserve, 5);
                run(pass, &kernels.rank, None, (reserve, THREADS), 1);
                run(pass, &kernels.link, None, (reserve, THREADS), 1);
            }
            Stage::Moments => {
                run(pass, &kernels.leaves, row, (reserve, LEAVES), 1);
                for level in (0..LEVELS).rev() {
                    let row = Some(params.offset_of(TreeParams { level, ..base }));
                    // No level has more than eight times the cells of the one above.
                    let cells = 8u32.checked_pow(level).map_or(reserve, |most| most.min(reserve));
                    run(pass, &kernels.inner, row, (cells, INNER), 1);
                }
            }
            Stage::Groups => {
                let which = usize::from(strengths != Strengths::Last);
                if let Some(own) = kernels.own.as_ref().filter(|_| strengths == Strengths::Last) {
                    run(pass, own, row, (count, THREADS), 1);
                }
                if *has_strengths && strengths != Strengths::Unknown {
                    run(pass, &kernels.strengths[which], row, (count, THREADS), 1);
                }
                run(pass, &kernels.groups[which], row, (base.singles, 1), 1);
                run(pass, &kernels.scattered, row, (1, 1), 1);
            }
        }
    }
}

/// Number of rows of parameters that the build needs.
pub(super) const PARAMS_ROWS: usize = 1 + LEVELS as usize;

#[cfg(test)]
mod tests;
