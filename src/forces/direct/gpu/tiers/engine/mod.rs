//! The engine: uploads bodies, runs kernels asynchronously to the host, and reads results back.

use std::collections::HashMap;
use std::sync::Arc;

use super::fitted::FittedShapes;
use super::kernels::{EvaluationBuffers, VariantKernels};
use super::motions::MovingStore;
use super::sources::DeviceSources;
use super::store::SourceStore;
use super::{DirectVariant, NeighbourOutput, Pairs, TierShape, self_test};
use crate::error::Result;
use crate::forces::request::check_below;
use crate::forces::{
    Arrivals, BoxFuture, DeviceEngine, EngineCapabilities, ForceEngine, Forces, Interfaces,
    MovingSources, Order, Outputs, Precision, SharedTable, Sinks, Sources, Throughput,
    check_update,
};
use crate::gpu::layout::{DirectParams, FOREIGN};
use crate::gpu::{Batch, Checks, Gpu, Readback, blocking};

mod answer;
mod evaluation;
mod narrow;
mod range;

use evaluation::Evaluation;
#[cfg(not(target_arch = "wasm32"))]
pub(super) use range::with_index_offset;

/// Extra list entries for sources that the host may reject after an exact test.
const SPARE_ENTRIES: usize = 4;

/// Forces with derivatives on a GPU.
///
/// [`ForceEngine::begin`] sends and submits, [`ForceEngine::finish`] waits: for headless programs.
/// Sinks are computed in dispatches of at most 50 ms; work beyond one submission of 250 ms is
/// submitted in `finish`. Results depend on the numbers of sinks and sources by rounding (the order
/// of sums), and on nothing else.
pub struct GpuTiers {
    gpu: Arc<Gpu>,
    /// Further devices that share block steps of bodies resident on this one.
    other_devices: Vec<Arc<Gpu>>,
    precision: Precision,
    pairs: Pairs,
    checks: Checks,
    shape: Option<TierShape>,
    fitted: FittedShapes,
    /// Total number of sinks if the requested ones are a range: it determines the shape and so the
    /// order of sums.
    range_of: Option<usize>,
    sources: DeviceSources,
    /// Time to which moving sources are predicted.
    time: Option<f64>,
    kernels: HashMap<DirectVariant, VariantKernels>,
    buffers: EvaluationBuffers,
    throughput: [Throughput; 3],
    batch: Batch,
    readback: Readback,
    begun: Option<Evaluation>,
    /// Variant, sinks and capacity of the last evaluation.
    last: Option<(DirectVariant, usize, usize)>,
}

impl GpuTiers {
    /// An engine of tier `precision` on `gpu`.
    ///
    /// # Errors
    /// A tier that does not hold on this adapter, with the reason; see [`super::tier`].
    pub async fn open(gpu: Arc<Gpu>, precision: Precision) -> Result<Self> {
        let pairs = self_test::tier_async(&gpu, precision).await?;
        Ok(Self::unproven(gpu, precision, pairs))
    }

    /// Blocking version of [`GpuTiers::open`].
    pub fn new(gpu: Arc<Gpu>, precision: Precision) -> Result<Self> {
        blocking(Self::open(gpu, precision))
    }

    /// An engine whose arithmetic has not been tested, for the self-test.
    pub fn unproven(gpu: Arc<Gpu>, precision: Precision, pairs: Pairs) -> Self {
        let pairs = if precision == Precision::DoubleSingle { pairs } else { Pairs::NONE };
        Self {
            throughput: [Throughput::guess(gpu.adapter.class); 3],
            buffers: EvaluationBuffers::default(),
            sources: DeviceSources::Still(Box::new(SourceStore::new(precision))),
            time: None,
            kernels: HashMap::new(),
            batch: Batch::default(),
            readback: Readback::default(),
            begun: None,
            shape: None,
            fitted: FittedShapes::default(),
            range_of: None,
            last: None,
            checks: Checks::default(),
            other_devices: Vec::new(),
            gpu,
            precision,
            pairs,
        }
    }

    /// Fixes the shape for every evaluation, and whether there are run-time checks.
    ///
    /// # Errors
    /// A shape out of range.
    pub fn with_shape(mut self, shape: TierShape, checks: Checks) -> Result<Self> {
        shape.validate()?;
        (self.shape, self.checks) = (Some(shape), checks);
        Ok(self)
    }

    /// Fixes the rate instead of measuring it: a low one cuts every evaluation into many chunks.
    #[must_use]
    pub fn with_rate(mut self, interactions_per_sec: f64) -> Self {
        self.throughput = [Throughput::fixed(interactions_per_sec); 3];
        self
    }

    /// The shape of the last evaluation, if there was one.
    pub fn last_shape(&self) -> Option<TierShape> {
        self.last.map(|(variant, ..)| variant.shape)
    }

    /// Uses the shapes found by tuning on its device instead of its own rule, from the next
    /// evaluation on. Sums then have another order, so the last bits of forces change.
    pub fn use_shapes(&mut self, found: &FittedShapes) {
        self.fitted = found.clone();
    }

    /// Adds devices that share the block steps of bodies resident on its own.
    pub fn add_devices(&mut self, devices: &[Arc<Gpu>]) {
        self.other_devices.extend_from_slice(devices);
    }

    /// For checks: adds guard bytes at the end of every output, which no kernel may write.
    #[must_use]
    pub fn with_guard(mut self) -> Self {
        self.buffers.guard = 1024;
        self
    }

    /// For checks: fills all outputs with NaN, which shows what a later evaluation leaves
    /// unwritten.
    pub fn poison(&mut self) {
        self.buffers.poison(&self.gpu);
    }

    /// For checks: whether the last evaluation left the guard bytes as [`GpuTiers::poison`] set
    /// them.
    pub fn is_in_bounds(&self) -> Result<bool> {
        let Some((variant, sinks, capacity)) = self.last else { return Ok(true) };
        self.buffers.untouched(&self.gpu, &variant, sinks, capacity)
    }

    fn plan(&self, sinks: usize, outputs: &Outputs) -> Result<(DirectVariant, DirectParams)> {
        let gpu = &self.gpu;
        let count = self.sources.count() as u32;
        if sinks >= FOREIGN as usize {
            return Err(gpu.refuse(format!("{sinks} sinks are more than 32 bits count")));
        }
        let mut variant = DirectVariant {
            shape: TierShape { p: 8, q: 8, r: 1, u: 1, l: 1, slices: 1 },
            precision: self.precision,
            order: outputs.order,
            near: match (outputs.within, outputs.nearest) {
                (Some(_), _) => NeighbourOutput::Listed,
                (None, true) => NeighbourOutput::Nearest,
                (None, false) => NeighbourOutput::Nothing,
            },
            softened: false,
            pairs: self.pairs,
            brief: self.sources.is_brief(outputs.order),
            refined: self.precision.refines(count as usize),
        };
        let sum_bytes = variant.sums() as u64 * variant.vector_bytes();
        let largest = gpu.limits.storage_buffer;
        variant.shape = self.shape.unwrap_or_else(|| {
            let (class, refined) = (gpu.adapter.class, variant.refined);
            let all = self.range_of.unwrap_or(sinks);
            let found = self.fitted.find(self.precision, outputs.order, all, count as usize);
            let holds = |shape: &TierShape| {
                let segments = u64::from(shape.slices) * u64::from(shape.q + 1);
                let fits = sum_bytes * segments * all as u64 <= largest;
                shape.holds_on(gpu) && fits
            };
            found.filter(holds).unwrap_or_else(|| {
                let tier = (self.precision, refined);
                TierShape::for_sinks(class, tier, all as u32, count, sum_bytes, largest)
            })
        });
        let bytes = sum_bytes * u64::from(variant.segments_with_rows()) * sinks as u64;
        if bytes > largest {
            let each = sum_bytes * u64::from(variant.segments_with_rows());
            return Err(gpu.refuse(format!(
                "{sinks} sinks at once need {bytes} bytes of partial sums in one buffer, but it allows {largest} (at most {} sinks)",
                largest / each
            )));
        }
        let room = (largest / 4) as usize / sinks.max(1);
        let capacity = outputs.within.map_or(0, |within| {
            let requested = within.capacity.min(self.sources.count()).max(1);
            (requested + SPARE_ENTRIES).min(room.max(requested))
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
            segments: variant.segments(),
            ..Default::default()
        };
        Ok((variant, whole))
    }

    /// Copies the positions of fixed sources before some are replaced: the pending evaluation
    /// computes distances of neighbours from them.
    fn retain_positions(&mut self) {
        if let Some(Evaluation { replaced, nearest, capacity, .. }) = &mut self.begun
            && (*nearest || capacity.is_some())
            && let DeviceSources::Still(store) = &self.sources
        {
            replaced.get_or_insert_with(|| store.position.clone());
        }
    }
}

impl ForceEngine for GpuTiers {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn describe(&self) -> String {
        let adapter = &self.gpu.adapter;
        let shape = match &self.last {
            None => String::new(),
            Some((variant, _, _)) => format!(", {}", variant.shape),
        };
        let tier = match self.precision {
            Precision::DoubleSingle => {
                let is_refined = self.precision.refines(self.sources.count());
                let products = format!(", refined ({})", self.pairs.name());
                format!("double-single{}", if is_refined { &products } else { "" })
            }
            precision => precision.name().to_owned(),
        };
        format!("{} ({}), {tier}{shape}", adapter.name, adapter.backend)
    }

    fn precision(&self) -> Precision {
        self.precision
    }

    fn highest_order(&self) -> Order {
        Order::Snap
    }

    fn source_count(&self) -> usize {
        self.sources.count()
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities { ranges: true, device: Some(self), ..EngineCapabilities::default() }
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces { moving: Some(self), ..Interfaces::default() }
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        sources.check()?;
        self.retain_positions();
        if let DeviceSources::Moving(_) = self.sources {
            self.sources = DeviceSources::Still(Box::new(SourceStore::new(self.precision)));
        }
        match &mut self.sources {
            DeviceSources::Still(store) => store.set(&self.gpu, sources),
            DeviceSources::Moving(_) => Ok(()),
        }
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        check_update(index, sources, self.source_count())?;
        self.retain_positions();
        match &mut self.sources {
            DeviceSources::Still(store) => store.update(index, sources),
            DeviceSources::Moving(_) => Err(self
                .gpu
                .refuse("it holds sources that it predicts: update_moving replaces them")),
        }
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        match sinks.only {
            Some((begin, end)) => self.begin_part(sinks, begin..end, softening, outputs),
            None => blocking(self.begin_async(sinks, softening, outputs)),
        }
    }

    fn collect(&mut self, out: &mut Forces) -> Result<()> {
        blocking(self.collect_async(out))
    }

    fn answer<'a>(
        &'a mut self,
        sinks: &'a Sinks<'a>,
        softening: f64,
        outputs: &'a Outputs<'a>,
        out: &'a mut Forces,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.begin_async(sinks, softening, outputs).await?;
            self.collect_async(out).await
        })
    }
}

impl DeviceEngine for GpuTiers {
    fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    fn other_devices(&self) -> &[Arc<Gpu>] {
        &self.other_devices
    }

    fn pairs(&self) -> Pairs {
        self.pairs
    }

    fn block_shape(&self, order: Order, sinks: usize, sources: usize) -> TierShape {
        // Shapes are tuned for at most as many sinks as there are bodies.
        let most = 1 << (sources.max(1).ilog2() & !1);
        let found = self.fitted.find(self.precision, order, sinks.min(most), sources);
        let found = found.filter(|shape| shape.holds_on(&self.gpu));
        let refined = self.precision.refines(sources);
        let by_rule = || TierShape::of_block(self.gpu.adapter.class, refined, sinks as u32);
        found.map_or_else(by_rule, |shape| TierShape { slices: 1, ..shape })
    }
}

impl MovingSources for GpuTiers {
    fn share(&mut self, table: &SharedTable) -> Result<()> {
        self.retain_positions();
        if let DeviceSources::Still(_) = self.sources {
            self.sources =
                DeviceSources::Moving(Box::new(MovingStore::new(self.precision, self.pairs)));
        }
        let DeviceSources::Moving(motions) = &mut self.sources else { return Ok(()) };
        motions.time = self.time;
        motions.set(&self.gpu, table)
    }

    fn announce(&mut self, sources: &Arrivals) -> Result<()> {
        check_below(sources.places.iter().map(|place| place.at), self.sources.count())?;
        match &mut self.sources {
            DeviceSources::Moving(motions) => motions.announce(&self.gpu, sources),
            DeviceSources::Still(_) => Err(self
                .gpu
                .refuse("it holds sources that it does not predict: update_sources replaces them")),
        }
    }

    fn predict_to(&mut self, time: Option<f64>) {
        self.time = time;
        if let DeviceSources::Moving(motions) = &mut self.sources {
            motions.time = time;
        }
    }

    fn table(&self) -> Option<SharedTable> {
        match &self.sources {
            DeviceSources::Moving(motions) => Some(motions.table.clone()),
            DeviceSources::Still(_) => None,
        }
    }
}
