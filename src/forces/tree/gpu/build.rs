//! From bodies to cells with moments, stage by stage.

use minijinja::context;

use super::buffers::TALLY;
use super::walk::parameter;
use super::{TreeBuffers, TreeResources, TreeShape};
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
    kernels: BuildKernels,
    sort: Sort,
    scan: Scan,
    level_sort: Sort,
    base: TreeParams,
    pub(super) leaf_sizes: u32,
    has_strengths: bool,
    most_workgroups: u32,
}

#[derive(Debug)]
struct BuildKernels {
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
    /// For leaves, and for the inner cells of one level.
    moments: [BoundKernel; 2],
    /// The same for the common cells, in a part of a tree.
    top_moments: Option<[BoundKernel; 2]>,
    /// Subtracts an external field from the accelerations of the last step.
    own: Option<BoundKernel>,
    /// With the accelerations of the last step, and with those left by a walk.
    strengths: [BoundKernel; 2],
    groups: [BoundKernel; 2],
    /// Likewise for the groups of a part that bodies of other ranks make scattered.
    scatter: Option<[BoundKernel; 2]>,
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
        bound: &TreeResources<'_>,
        bodies: &wgpu::Buffer,
        accelerations: &wgpu::Buffer,
        field: Option<&DeviceField>,
    ) -> Result<Self> {
        let TreeResources { gpu, shape, buffers, partial_sums, params } = *bound;
        use Binding::{Read, Write};
        let row = Binding::Params(size_of::<TreeParams>() as u64);
        let TreeBuffers { state, tally, keys, order, sources, groups, offsets, .. } = buffers;
        let [sorted_keys, sorted_order] = buffers.sorted();
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
        let moments_of = async |state: &wgpu::Buffer| {
            let records = [write(cell_open), write(cell_force), write(cell_box), (Read, state)];
            let leaves = bind("leaves", &[&records[..], &[read(sources)]].concat(), true).await?;
            Ok::<_, crate::error::Error>([leaves, bind("inner", &records, true).await?])
        };
        let strengths_of = async |accelerations: &wgpu::Buffer| {
            let bound = [(Read, accelerations), read(order), read(state), write(tally)];
            bind("strength", &bound, true).await
        };
        let groups_of = async |accelerations: &wgpu::Buffer| {
            let from = [read(sources), read(order), read(keys), (Read, accelerations), read(state)];
            bind("groups", &[&from[..], &[write(tally), write(groups)]].concat(), true).await
        };
        let scatter_of = async |accelerations: &wgpu::Buffer, list: &wgpu::Buffer| {
            let from = [read(sources), read(order), (Read, accelerations), read(state)];
            let to = [write(tally), write(groups), (Read, list)];
            bind("domains/scatter", &[&from[..], &to].concat(), true).await
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
                let bound = [read(bodies), read(accelerations), read(order), write(own)];
                Some(bind("own", &bound, true).await?)
            }
            None => None,
        };
        let accelerations = own.as_ref().unwrap_or(accelerations);
        let kernels = BuildKernels {
            clear: bind("clear", &[write(tally)], false).await?,
            spread: bind("spread", &[read(bodies), write(tally)], true).await?,
            edge: bind("edge", &[read(tally), write(state)], true).await?,
            keys: {
                let to = [write(sorted_keys), write(sorted_order)];
                bind("keys", &[&[read(bodies), read(state)][..], &to].concat(), true).await?
            },
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
            moments: moments_of(state).await?,
            top_moments: match &buffers.part {
                Some(part) => Some(moments_of(&part.top_state).await?),
                None => None,
            },
            strengths: [strengths_of(accelerations).await?, strengths_of(partial_sums).await?],
            groups: [groups_of(accelerations).await?, groups_of(partial_sums).await?],
            scatter: match &buffers.part {
                Some(part) => Some([
                    scatter_of(accelerations, &part.scattered).await?,
                    scatter_of(partial_sums, &part.scattered).await?,
                ]),
                None => None,
            },
            own: subtract,
            scattered: bind("scattered", &[write(tally), write(state)], true).await?,
        };
        let checks = shape.checks;
        let (count, reserve) = (buffers.count, buffers.reserve);
        let sorted = SortedBuffers {
            keys: sorted_keys,
            width: KeyWidth::Bits64,
            payloads: sorted_order,
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
        let (singles, room) = buffers.singles;
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
        let row = Some(params.offset_of(self.base));
        let most = self.most_workgroups;
        dispatch(pass, &self.kernels.clear, None, (TALLY, THREADS), most);
        dispatch(pass, gather, row, (self.base.count, THREADS), most);
    }

    /// Records a stage.
    pub fn record(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        stage: Stage,
        strengths: Strengths,
    ) {
        match stage {
            Stage::Keys => {
                self.record_distances(pass, params);
                self.run(pass, params, |kernels| &kernels.edge, (1, 1));
                self.record_keys(pass, params);
            }
            Stage::Sort => self.record_sort(pass),
            Stage::Cells => {
                self.record_gather(pass, params);
                for level in 0..self.leaf_sizes {
                    self.record_count(pass, params, level);
                }
                self.record_choice(pass, params);
                self.record_cells(pass);
            }
            Stage::Moments => self.record_moments(pass, params, LEVELS),
            Stage::Groups => {
                self.record_own(pass, params, strengths);
                self.record_strengths(pass, params, strengths);
                self.record_groups(pass, params, strengths);
                self.run(pass, params, |kernels| &kernels.scattered, (1, 1));
            }
        }
    }

    /// Whether the opening rule uses accelerations.
    pub(super) fn uses_strengths(&self) -> bool {
        self.has_strengths
    }

    /// Sets the numbers of bodies, and of cells that there may be, of a part of a tree.
    pub(super) fn set_sizes(&mut self, bodies: u32, cells: u32) {
        (self.base.count, self.base.reserve) = (bodies, cells);
    }

    /// Dispatches a kernel with a row of parameters, for `work` items of which a workgroup takes
    /// `each`.
    fn run(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        which: impl Fn(&BuildKernels) -> &BoundKernel,
        work: (u32, u32),
    ) {
        let row = Some(params.offset_of(self.base));
        dispatch(pass, which(&self.kernels), row, work, self.most_workgroups);
    }

    /// Records the counts of bodies by distance.
    pub(super) fn record_distances(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
    ) {
        dispatch(pass, &self.kernels.clear, None, (TALLY, THREADS), self.most_workgroups);
        self.run(pass, params, |kernels| &kernels.spread, (self.base.count, THREADS * ROWS));
    }

    /// Records the keys in the cube.
    pub(super) fn record_keys(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
    ) {
        self.run(pass, params, |kernels| &kernels.keys, (self.base.count, THREADS));
    }

    /// Records the sort.
    pub(super) fn record_sort(&mut self, pass: &mut wgpu::ComputePass<'_>) {
        self.sort.record(pass, self.base.count, KeyWidth::Bits64.bits());
    }

    /// Records copying the bodies to the order of the curve.
    pub(super) fn record_gather(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
    ) {
        self.run(pass, params, |kernels| &kernels.gather, (self.base.count, THREADS));
    }

    /// Records the numbers of cells with leaves of the size `level`.
    pub(super) fn record_count(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        level: u32,
    ) {
        let row = Some(params.offset_of(TreeParams { level, ..self.base }));
        let work = (self.base.count, THREADS);
        dispatch(pass, &self.kernels.count, row, work, self.most_workgroups);
    }

    /// Records the cells, once their number and the size of leaves are in the state.
    pub(super) fn record_cells(&mut self, pass: &mut wgpu::ComputePass<'_>) {
        let (TreeParams { count, reserve, .. }, most) = (self.base, self.most_workgroups);
        self.scan.record(pass, count);
        dispatch(pass, &self.kernels.write, None, (count, THREADS), most);
        // 22 levels need 5 bits.
        self.level_sort.record(pass, reserve, 5);
        dispatch(pass, &self.kernels.rank, None, (reserve, THREADS), most);
        dispatch(pass, &self.kernels.link, None, (reserve, THREADS), most);
    }

    /// Records the moments of all cells, of which those above `levels` have children. An idle level
    /// takes 6 to 10 microseconds on an H200.
    pub(super) fn record_moments(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        levels: u32,
    ) {
        self.moments((pass, params), &self.kernels.moments, self.base.reserve, levels);
    }

    /// Records the moments of the `cells` common cells, from those that are complete; those above
    /// `levels` have children.
    pub(super) fn record_top_moments(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        cells: u32,
        levels: u32,
    ) {
        if let Some(kernels) = &self.kernels.top_moments {
            self.moments((pass, params), kernels, cells, levels);
        }
    }

    fn moments(
        &self,
        (pass, params): (&mut wgpu::ComputePass<'_>, &mut Params<TreeParams>),
        [leaves, inner]: &[BoundKernel; 2],
        cells: u32,
        levels: u32,
    ) {
        let most = self.most_workgroups;
        dispatch(pass, leaves, Some(params.offset_of(self.base)), (cells, LEAVES), most);
        for level in (0..levels).rev() {
            let row = Some(params.offset_of(TreeParams { level, ..self.base }));
            // No level has more than eight times the cells of the one above.
            let cells = 8u32.checked_pow(level).map_or(cells, |most| most.min(cells));
            dispatch(pass, inner, row, (cells, INNER), most);
        }
    }

    /// Records the accelerations of the last step without those of the external field, if the rule
    /// uses them and there is one.
    pub(super) fn record_own(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        strengths: Strengths,
    ) {
        if let Some(own) = self.kernels.own.as_ref().filter(|_| strengths == Strengths::Last) {
            let row = Some(params.offset_of(self.base));
            dispatch(pass, own, row, (self.base.count, THREADS), self.most_workgroups);
        }
    }

    /// Records the sum of the logarithms of the sinks' accelerations, if the rule uses them. Those
    /// of the last step are those of [`Build::record_own`].
    pub(super) fn record_strengths(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        strengths: Strengths,
    ) {
        let which = usize::from(strengths != Strengths::Last);
        if self.has_strengths && strengths != Strengths::Unknown {
            let work = (self.base.count, THREADS);
            self.run(pass, params, |kernels| &kernels.strengths[which], work);
        }
    }

    /// Records the choice of the size of leaves, and their number in the state.
    pub(super) fn record_choice(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
    ) {
        self.run(pass, params, |kernels| &kernels.choose, (1, 1));
    }

    /// Records which sinks walk together.
    pub(super) fn record_groups(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        strengths: Strengths,
    ) {
        let which = usize::from(strengths != Strengths::Last);
        self.run(pass, params, |kernels| &kernels.groups[which], (self.base.singles, 1));
    }
}

impl Build {
    /// Records the sinks of `count` groups that bodies of other ranks make scattered.
    pub(super) fn record_scattered(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        strengths: Strengths,
        count: u32,
    ) {
        let which = usize::from(strengths != Strengths::Last);
        if let Some(kernels) = self.kernels.scatter.as_ref().filter(|_| count > 0) {
            let row = Some(params.offset_of(TreeParams { count, ..self.base }));
            dispatch(pass, &kernels[which], row, (count, 1), self.most_workgroups);
        }
    }
}

/// Dispatches a kernel for `work` items of which a workgroup takes `each`.
pub(super) fn dispatch(
    pass: &mut wgpu::ComputePass<'_>,
    kernel: &BoundKernel,
    row: Option<u32>,
    (work, each): (u32, u32),
    most: u32,
) {
    kernel.set(pass, row.as_slice());
    let [x, y] = rows_of_workgroups(work.div_ceil(each), most);
    pass.dispatch_workgroups(x, y, 1);
}

/// Number of rows of parameters that the build needs.
pub(super) const PARAMS_ROWS: usize = 1 + LEVELS as usize;

#[cfg(test)]
mod tests;
