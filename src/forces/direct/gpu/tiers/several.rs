//! Forces with derivatives on several devices: each has all sources and computes a range of the
//! sinks, with the workgroup shape for all of them. So the bits are those of one device, if all are
//! of one kind.

use std::ops::Range;
use std::sync::Arc;

use super::engine::with_index_offset;
use super::{FittedShapes, GpuTiers};
use crate::error::{Error, Result};
use crate::exchange::equal_shares;
use crate::forces::{
    Arrivals, DeviceEngine, EngineCapabilities, ForceEngine, Forces, Interfaces, MovingSources,
    Order, Outputs, Precision, SharedTable, Sinks, Sources,
};
use crate::gpu::{DeviceClass, Gpu};

/// An engine of several devices.
pub struct SeveralTiers {
    engines: Vec<GpuTiers>,
    /// The range of sinks of each device, in the evaluation begun last.
    ranges: Vec<Range<usize>>,
    /// Whether lists were requested.
    lists: bool,
    found: Vec<Forces>,
}

/// An evaluation of more interactions is distributed. Below, starting a second device and waiting
/// for it takes as long as the evaluation itself.
fn sharing_threshold(class: DeviceClass) -> u64 {
    match class {
        DeviceClass::Discrete => 1 << 27,
        // Too few for any gain, but enough that small programs exercise both paths.
        DeviceClass::Software => 1 << 14,
        _ => 1 << 25,
    }
}

impl SeveralTiers {
    /// An engine of tier `precision` on these devices, at least one.
    ///
    /// # Errors
    /// Those of [`GpuTiers::new`]; no device.
    pub fn new(devices: &[Arc<Gpu>], precision: Precision) -> Result<Self> {
        if devices.is_empty() {
            return Err(Error::value("the number of devices", 0, "at least one"));
        }
        let make = |gpu: &Arc<Gpu>| GpuTiers::new(Arc::clone(gpu), precision);
        let engines = devices.iter().map(make).collect::<Result<Vec<_>>>()?;
        let found = engines.iter().map(|_| Forces::default()).collect();
        Ok(Self { engines, ranges: Vec::new(), lists: false, found })
    }

    /// [`GpuTiers::use_shapes`] on all devices.
    pub fn use_shapes(&mut self, found: &FittedShapes) {
        self.engines.iter_mut().for_each(|engine| engine.use_shapes(found));
    }

    fn first(&self) -> &GpuTiers {
        &self.engines[0]
    }
}

impl ForceEngine for SeveralTiers {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn describe(&self) -> String {
        let others = self.engines[1..].iter().map(|engine| &engine.gpu().adapter.name);
        others.fold(self.first().describe(), |text, name| format!("{text} + {name}"))
    }

    fn precision(&self) -> Precision {
        self.first().precision()
    }

    fn source_count(&self) -> usize {
        self.first().source_count()
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        self.engines.iter_mut().try_for_each(|engine| engine.set_sources(sources))
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.engines.iter_mut().try_for_each(|engine| engine.update_sources(index, sources))
    }

    fn highest_order(&self) -> Order {
        Order::Snap
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities::default()
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces { moving: Some(self), ..Interfaces::default() }
    }

    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        sinks.check(softening, outputs)?;
        let n = sinks.position.len();
        let is_large = self.interactions(n) > sharing_threshold(self.first().gpu().adapter.class);
        let devices = if is_large { self.engines.len() } else { 1 };
        self.ranges = equal_shares(n, devices, 1);
        self.lists = outputs.within.is_some();
        let mut both = self.engines.iter_mut().zip(&self.ranges);
        both.try_for_each(|(engine, range)| {
            engine.begin_range(sinks, range.clone(), softening, outputs)
        })
    }

    fn collect(&mut self, out: &mut Forces) -> Result<()> {
        let ranges = std::mem::take(&mut self.ranges);
        let Self { engines, found, lists, .. } = self;
        let (Some((first, others)), Some((own, theirs))) =
            (engines.split_first_mut(), found.split_first_mut())
        else {
            return Ok(());
        };
        if ranges.len() < 2 {
            return first.collect(out);
        }
        // Work beyond the first submission is submitted now, on all devices at the same time.
        let done: Vec<Result<()>> = std::thread::scope(|scope| {
            let threads: Vec<_> = others
                .iter_mut()
                .zip(theirs)
                .map(|(engine, found)| scope.spawn(move || engine.collect(found)))
                .collect();
            let mut done = vec![first.collect(own)];
            done.extend(threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }));
            done
        });
        for (range, done) in ranges.iter().zip(done) {
            done.map_err(|error| with_index_offset(range.start, error))?;
        }
        join(found, *lists, out);
        Ok(())
    }
}

impl MovingSources for SeveralTiers {
    fn share(&mut self, table: &SharedTable) -> Result<()> {
        self.engines.iter_mut().try_for_each(|engine| engine.share(table))
    }

    fn announce(&mut self, sources: &Arrivals) -> Result<()> {
        self.engines.iter_mut().try_for_each(|engine| engine.announce(sources))
    }

    fn predict_to(&mut self, time: Option<f64>) {
        self.engines.iter_mut().for_each(|engine| engine.predict_to(time));
    }

    fn table(&self) -> Option<SharedTable> {
        self.first().table()
    }
}

/// Concatenates the results of the devices.
fn join(found: &[Forces], lists: bool, out: &mut Forces) {
    fn all<T: Copy>(out: &mut Vec<T>, found: &[Forces], of: impl Fn(&Forces) -> &Vec<T>) {
        out.clear();
        found.iter().for_each(|found| out.extend_from_slice(of(found)));
    }
    all(&mut out.acceleration, found, |found| &found.acceleration);
    all(&mut out.jerk, found, |found| &found.jerk);
    all(&mut out.snap, found, |found| &found.snap);
    all(&mut out.potential, found, |found| &found.potential);
    all(&mut out.nearest, found, |found| &found.nearest);
    all(&mut out.nearest_distance, found, |found| &found.nearest_distance);
    out.neighbours.clear();
    for of in found.iter().map(|found| &found.neighbours).filter(|_| lists) {
        (0..of.len()).for_each(|i| out.neighbours.push(of.of(i), of.found(i) as u32));
    }
}
