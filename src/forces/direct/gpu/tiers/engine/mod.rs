//! The engine: bodies go up, kernels run while the host does other things, answers come back.

use std::collections::HashMap;
use std::sync::Arc;

use super::frame::{Entry, TierFrame, Word};
use super::kernels::{Buffers, Kernels};
use super::store::Store;
use super::{DirectVariant, Pairs, Shape, self_test};
use crate::error::{Error, Result};
use crate::forces::Throughput;
use crate::forces::{Answers, ForceEngine, Order, Precision, Sinks, Sources, Want, check_update};
use crate::gpu::layout::{DirectParams, FOREIGN};
use crate::gpu::{Checks, Gpu, Params, Progress, Readback};

mod evaluation;

use evaluation::{Evaluation, Next, Replaced};

/// Entries of lists that the host may strike out again.
const DOUBTFUL: usize = 4;

/// Different dispatches of one submission.
const PARAMS_ROWS: usize = 256;

/// Forces with derivatives on a GPU.
///
/// [`ForceEngine::begin`] sends and submits, [`ForceEngine::finish`] waits: for headless programs.
/// Sinks are computed in dispatches of at most 50 ms; what exceeds one submission of 250 ms is submitted
/// in `finish`. Answers depend on the number of sinks and sources by rounding (the order of sums), and on
/// nothing else.
pub struct GpuTiers {
    gpu: Arc<Gpu>,
    precision: Precision,
    pairs: Pairs,
    checks: Checks,
    shape: Option<Shape>,
    store: Store,
    kernels: HashMap<DirectVariant, Kernels>,
    buffers: Buffers,
    params: Params<DirectParams>,
    throughput: [Throughput; 3],
    readback: Readback,
    sink_records: Vec<Word>,
    itself: Vec<u32>,
    begun: Option<Evaluation>,
    /// Variant, sinks and capacity of the last evaluation.
    last: Option<(DirectVariant, usize, usize)>,
}

impl GpuTiers {
    /// An engine of tier `precision` on `gpu`.
    ///
    /// Errors: a tier that does not hold on this adapter, with the reason; see [`super::tier_soon`].
    pub async fn open(gpu: Arc<Gpu>, precision: Precision) -> Result<Self> {
        let pairs = self_test::tier_soon(&gpu, precision).await?;
        Ok(Self::unproven(gpu, precision, pairs))
    }

    /// [`GpuTiers::open`], waiting for the device.
    pub fn new(gpu: Arc<Gpu>, precision: Precision) -> Result<Self> {
        pollster::block_on(Self::open(gpu, precision))
    }

    /// An engine whose arithmetic nobody has tested, for the tests themselves.
    pub fn unproven(gpu: Arc<Gpu>, precision: Precision, pairs: Pairs) -> Self {
        let pairs = if precision == Precision::DoubleSingle { pairs } else { Pairs::NONE };
        Self {
            params: Params::new(&gpu, "direct params", PARAMS_ROWS),
            throughput: [Throughput::guess(gpu.adapter.class); 3],
            buffers: Buffers::default(),
            store: Store::new(precision),
            kernels: HashMap::new(),
            readback: Readback::default(),
            sink_records: Vec::new(),
            itself: Vec::new(),
            begun: None,
            shape: None,
            last: None,
            checks: Checks::default(),
            gpu,
            precision,
            pairs,
        }
    }

    /// Fixes the shape for every evaluation, and whether there are run-time checks.
    ///
    /// Errors: a shape out of range.
    pub fn with_shape(mut self, shape: Shape, checks: Checks) -> Result<Self> {
        shape.validate()?;
        (self.shape, self.checks) = (Some(shape), checks);
        Ok(self)
    }

    /// Fixes the rate, which is taken for granted: a low one cuts every evaluation into many pieces.
    #[must_use]
    pub fn with_rate(mut self, interactions_per_sec: f64) -> Self {
        self.throughput = [Throughput::fixed(interactions_per_sec); 3];
        self
    }

    /// The device it runs on.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// How its double-single arithmetic is done.
    pub fn pairs(&self) -> Pairs {
        self.pairs
    }

    /// For checks: the same with bytes behind every output that no kernel may touch.
    #[must_use]
    pub fn with_guard(mut self) -> Self {
        self.buffers.guard = 1024;
        self
    }

    /// For checks: fills all outputs with what is no number. What a later evaluation does not write is seen.
    pub fn poison(&mut self) {
        self.buffers.poison(&self.gpu);
    }

    /// For checks: whether the last evaluation wrote nothing behind its end since [`GpuTiers::poison`].
    pub fn kept_bounds(&self) -> Result<bool> {
        let Some((variant, sinks, capacity)) = self.last else { return Ok(true) };
        self.buffers.untouched(&self.gpu, &variant, sinks, capacity)
    }

    fn plan(&self, sinks: usize, want: &Want) -> Result<(DirectVariant, DirectParams)> {
        let gpu = &self.gpu;
        let count = self.store.count() as u32;
        if sinks >= FOREIGN as usize {
            return Err(gpu.refuse(format!("{sinks} sinks are more than 32 bits count")));
        }
        let mut variant = DirectVariant {
            shape: Shape { p: 8, q: 8, r: 1, u: 1, l: 1, slices: 1 },
            precision: self.precision,
            order: want.order,
            neighbours: want.nearest || want.within.is_some(),
            pairs: self.pairs,
            refined: self.precision.refines(count as usize),
        };
        let sum_bytes = variant.sums() as u64 * variant.vector_bytes();
        let largest = gpu.limits.storage_buffer;
        variant.shape = self.shape.unwrap_or_else(|| {
            let (class, refined) = (gpu.adapter.class, variant.refined);
            Shape::for_sinks(class, refined, sinks as u32, count, sum_bytes, largest)
        });
        let bytes = sum_bytes * u64::from(variant.shape.segments()) * sinks as u64;
        if bytes > largest {
            let each = sum_bytes * u64::from(variant.shape.segments());
            return Err(gpu.refuse(format!(
                "{sinks} sinks at once need {bytes} bytes of partial sums in one buffer, but it allows {largest} (at most {} sinks)",
                largest / each
            )));
        }
        let room = (largest / 4) as usize / sinks.max(1);
        let capacity = want.within.map_or(0, |within| {
            let asked = within.capacity.min(self.store.count()).max(1);
            (asked + DOUBTFUL).min(room.max(asked))
        });
        let list_bytes = capacity as u64 * 4 * sinks as u64;
        if list_bytes > largest {
            return Err(gpu.refuse(format!(
                "lists of {capacity} neighbours for {sinks} sinks need {list_bytes} bytes in one buffer, but it allows {largest}"
            )));
        }
        let slice_length = variant.shape.slice_length(count);
        let whole = DirectParams {
            sink_end: sinks as u32,
            sink_count: sinks as u32,
            source_count: count,
            slice_length,
            chunk_end: slice_length,
            capacity: capacity as u32,
            segments: variant.shape.segments(),
            ..Default::default()
        };
        Ok((variant, whole))
    }
}

impl ForceEngine for GpuTiers {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn describe(&self) -> String {
        let adapter = &self.gpu.adapter;
        let shape = match &self.last {
            None => "not yet run".to_owned(),
            Some((variant, _, _)) => variant.shape.to_string(),
        };
        let tier = match self.precision {
            Precision::DoubleSingle => {
                let is_refined = self.precision.refines(self.store.count());
                let products = format!(", refined ({})", self.pairs.name());
                format!("double-single{}", if is_refined { &products } else { "" })
            }
            precision => precision.name().to_owned(),
        };
        format!("{} ({}), {tier}, {shape}", adapter.name, adapter.backend)
    }

    fn precision(&self) -> Precision {
        self.precision
    }

    fn highest_order(&self) -> Order {
        Order::Snap
    }

    fn source_count(&self) -> usize {
        self.store.count()
    }

    fn on_device(&self) -> Option<&GpuTiers> {
        Some(self)
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        sources.check()?;
        if let Some(evaluation) = &mut self.begun {
            evaluation.replaced.all.get_or_insert_with(|| std::mem::take(&mut self.store.position));
        }
        self.store.set(&self.gpu, sources)
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        check_update(index, sources, self.source_count())?;
        if let Some(Evaluation { replaced, nearest, capacity, .. }) = &mut self.begun
            && (*nearest || capacity.is_some())
            && replaced.all.is_none()
        {
            for &j in index {
                replaced.some.entry(j).or_insert(self.store.position[j as usize]);
            }
        }
        self.store.update(index, sources)
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, want: &Want) -> Result<()> {
        pollster::block_on(self.begin_soon(sinks, softening, want))
    }

    fn collect(&mut self, out: &mut Answers) -> Result<()> {
        pollster::block_on(self.collect_soon(out))
    }
}

impl GpuTiers {
    /// [`ForceEngine::begin`], awaiting kernels that are not compiled yet.
    pub async fn begin_soon(
        &mut self,
        sinks: &Sinks<'_>,
        softening: f64,
        want: &Want<'_>,
    ) -> Result<()> {
        if let Some(mut before) = self.begun.take() {
            // Nobody asked for its answers.
            self.complete(&mut before).await?;
        }
        // Left in a copy by an error.
        if !self.readback.is_idle() {
            self.readback = Readback::default();
        }
        sinks.check(softening, want)?;
        let (has_velocity, has_acceleration) =
            (self.store.has_velocity, self.store.has_acceleration);
        let (n, count) = (sinks.position.len(), self.store.count());
        want.order.check_sources(count, has_velocity, has_acceleration)?;
        let (variant, mut whole) = self.plan(n, want)?;
        let mut evaluation = Evaluation {
            sinks: sinks.position.to_vec(),
            units: self.store.frame.units(),
            replaced: Replaced::default(),
            variant,
            potential: want.potential,
            nearest: want.nearest,
            capacity: want.within.map(|within| within.capacity),
            radius: want.within.map(|within| within.radius.to_vec()).unwrap_or_default(),
            whole,
            next: Next::Copied,
            interactions: 0,
            dispatches: 0,
            submitted: None,
        };
        if n == 0 || count == 0 {
            self.begun = Some(evaluation);
            return Ok(());
        }
        [whole.softening_squared, whole.softening_low, whole.softening_lowest] =
            self.store.frame.softening_squared(softening);
        evaluation.whole = whole;
        evaluation.next = Next::Forces(Some(Progress::default()));

        self.narrow(sinks, want)?;
        let gpu = Arc::clone(&self.gpu);
        let key = variant.unsliced();
        let lists = want.within.is_some();
        if self.kernels.get(&key).is_none_or(|kernels| lists && kernels.lists.is_none()) {
            let kernels = Kernels::new(&gpu, &key, lists, self.checks).await?;
            self.kernels.insert(key, kernels);
        }
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let sources = self.store.send(&gpu, &mut encoder).await?;
        self.buffers.fit(&gpu, sources, &variant, n, whole.capacity as usize);
        self.buffers.write_sinks(&gpu, &self.sink_records, &self.itself);
        self.advance(&mut evaluation, encoder)?;
        self.last = Some((variant, n, whole.capacity as usize));
        self.begun = Some(evaluation);
        Ok(())
    }

    /// [`ForceEngine::collect`], awaiting the device.
    pub async fn collect_soon(&mut self, out: &mut Answers) -> Result<()> {
        let nothing = Want::only(Order::Acceleration);
        let Some(mut evaluation) = self.begun.take() else {
            out.resize(0, &nothing);
            return Ok(());
        };
        let n = evaluation.sinks.len();
        let want = Want {
            order: evaluation.variant.order,
            potential: evaluation.potential,
            nearest: evaluation.nearest,
            within: None,
        };
        // What stays of older answers would be taken for new ones where there are no sources.
        *out = Answers::default();
        out.resize(n, &want);
        if n == 0 || evaluation.whole.source_count == 0 {
            for _ in (0..n).filter(|_| evaluation.capacity.is_some()) {
                out.neighbours.push(&[], 0);
            }
            return Ok(());
        }
        let copied = self.complete(&mut evaluation).await?;
        super::widen::answers(&copied, &evaluation.variant, &evaluation.units, out);
        let Replaced { some, all } = &evaluation.replaced;
        let all = all.as_ref().unwrap_or(&self.store.position);
        let position = |j: u32| some.get(&j).or_else(|| all.get(j as usize));
        if want.nearest {
            for (i, nearest) in out.nearest.iter().enumerate() {
                if let Some(position) = position(*nearest) {
                    out.nearest_distance[i] = (*position - evaluation.sinks[i]).length();
                }
            }
        }
        if let Some(asked) = evaluation.capacity {
            let each = evaluation.whole.capacity as usize;
            let is_within = |i: usize, j: u32| {
                let radius = evaluation.radius[i];
                let squared = |p: &glam::DVec3| (*p - evaluation.sinks[i]).length_squared();
                position(j).is_some_and(|position| squared(position) <= radius * radius)
            };
            let (variant, room) = (&evaluation.variant, (each, asked));
            super::widen::lists(&copied, variant, n, room, is_within, &mut out.neighbours);
        }
        Ok(())
    }

    /// The sinks as the device has them.
    fn narrow(&mut self, sinks: &Sinks, want: &Want) -> Result<()> {
        self.sink_records.clear();
        self.itself.clear();
        let or_zero = |of: &[glam::DVec3], i: usize| of.get(i).copied().unwrap_or_default();
        for (i, &position) in sinks.position.iter().enumerate() {
            let entry = Entry {
                position,
                velocity: or_zero(sinks.velocity, i),
                acceleration: or_zero(sinks.acceleration, i),
                last: want.within.map_or(-1.0, |within| within.radius[i]),
            };
            let frame: &TierFrame = &self.store.frame;
            if !frame.sink(&entry, &mut self.sink_records) {
                return Err(Error::Body {
                    index: i,
                    id: i as u64,
                    problem: format!(
                        "as a sink, its position {position}, velocity, acceleration or neighbour radius leaves the range of the tier '{}'",
                        self.precision.name()
                    ),
                });
            }
            self.itself.push(sinks.identity.of(i).map_or(FOREIGN, |j| j as u32));
        }
        Ok(())
    }
}
