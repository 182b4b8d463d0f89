//! Checks forces with derivatives on an adapter against f64, in every precision and order.

use std::sync::Arc;

use glam::DVec3;

use crate::error::Result;
use crate::forces::direct::gpu::tiers::{GpuTiers, TierShape};
use crate::forces::{
    ENGINES, ForceEngine, Forces, Identity, Method, NO_SOURCE, Order, Outputs, Placement,
    Precision, Sinks, Sources, TestBodies, Tools, Within, make,
};
use crate::gpu::{Checks, Gpu};
use crate::measure::{ErrorStats, acceleration_errors, potential_errors, reference};

/// A case to check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectCase {
    /// The precision.
    pub precision: Precision,
    /// The highest derivative. With jerks, neighbours are checked too.
    pub order: Order,
    /// The kernels' shape; `None` lets the engine choose.
    pub shape: Option<TierShape>,
    /// Whether run-time checks remain.
    pub checks: Checks,
    /// Plummer softening length.
    pub softening: f64,
    /// Number of sinks: the last of the sources; if there are more sinks than sources, none is a
    /// source.
    pub sinks: usize,
    /// Number of sources.
    pub sources: usize,
}

impl DirectCase {
    /// Its sources and sinks.
    fn bodies<'b>(&self, bodies: &'b TestBodies) -> (Sources<'b>, Sinks<'b>) {
        let (n, m) = (self.sinks, self.sources);
        let sinks = match n <= m {
            true => bodies.sinks(m - n..m, Identity::Offset(m - n)),
            false => bodies.sinks(0..n, Identity::Foreign),
        };
        (bodies.sources(m), sinks)
    }
}

/// The result of a case.
#[derive(Clone, Debug)]
pub struct DirectRow {
    /// What was checked.
    pub case: DirectCase,
    /// Errors of forces and derivatives.
    pub errors: ForceErrors,
    /// The first wrong nearest neighbour or list, if they were requested.
    pub neighbours: std::result::Result<(), String>,
    /// Whether nothing was written beyond the end of an output.
    pub in_bounds: bool,
    /// Whether recomputing in many small dispatches gives identical bits.
    pub same_in_pieces: bool,
}

/// Errors of what an evaluation gives.
#[derive(Clone, Copy, Debug)]
pub struct ForceErrors {
    /// Errors of accelerations.
    pub acceleration: ErrorStats,
    /// Errors of potentials.
    pub potential: ErrorStats,
    /// Errors of jerks, if there are any.
    pub jerk: Option<ErrorStats>,
    /// Errors of snaps, if there are any.
    pub snap: Option<ErrorStats>,
}

impl ForceErrors {
    /// Errors up to this derivative.
    pub fn of(found: &Forces, right: &Forces, order: Order) -> Self {
        let derivative = |least: Order, found: &[DVec3], right: &[DVec3]| {
            (order >= least).then(|| acceleration_errors(found, right))
        };
        Self {
            acceleration: acceleration_errors(&found.acceleration, &right.acceleration),
            potential: potential_errors(&found.potential, &right.potential),
            jerk: derivative(Order::Jerk, &found.jerk, &right.jerk),
            snap: derivative(Order::Snap, &found.snap, &right.snap),
        }
    }

    /// All quantities by name.
    pub fn quantities(&self) -> [(&'static str, Option<ErrorStats>); 4] {
        [
            ("acceleration", Some(self.acceleration)),
            ("jerk", self.jerk),
            ("snap", self.snap),
            ("potential", Some(self.potential)),
        ]
    }

    /// Whether all are within the largest rms error and the largest single error that pass.
    ///
    /// Single: a position is rounded to 6e-8 of the extent, which is 1e-6 of the distance of the
    /// nearest of a thousand bodies; derivatives weight close pairs more. Double-single: an f32
    /// interaction errs by about 2e-7, and a sum of many by less, but cancellation in derivatives
    /// counts more. If it is refined, accelerations, jerks and snaps are close to f64. Double:
    /// rounding of f64, and a root with an error of a few units.
    pub(super) fn are_within(&self, precision: Precision, sources: usize) -> bool {
        let refined = (1e-12, 1e-10);
        // Accelerations, jerks, snaps, potentials.
        let limits = match precision {
            Precision::Single => [(5e-6, 1e-4), (1e-5, 1e-3), (2e-5, 2e-3), (5e-6, 1e-4)],
            _ if precision.refines(sources) => [refined, refined, (1e-11, 1e-9), (5e-7, 5e-6)],
            Precision::DoubleSingle => [(5e-7, 5e-6), (1e-6, 2e-5), (2e-6, 5e-5), (5e-7, 5e-6)],
            Precision::Double => [(1e-14, 1e-12), (1e-14, 1e-12), (1e-13, 1e-11), (1e-14, 1e-12)],
        };
        let good = |((_, error), (rms, worst)): ((_, Option<ErrorStats>), (f64, f64))| {
            error.is_none_or(|error| error.rms < rms && error.worst < worst)
        };
        self.quantities().into_iter().zip(limits).all(good)
    }
}

impl DirectRow {
    /// Whether everything is within the limits.
    pub fn passed(&self) -> bool {
        self.errors.are_within(self.case.precision, self.case.sources)
            && self.neighbours.is_ok()
            && self.in_bounds
            && self.same_in_pieces
    }
}

/// The cases for an adapter on which `tiers` hold: every precision and order, at sizes around the
/// tile, in every shape; with `quick`, in two shapes each.
pub fn direct_cases(tiers: &[Precision], quick: bool) -> Vec<DirectCase> {
    let mut cases = Vec::new();
    let (off, on) = (Checks::Off, Checks::On);
    let base = TierShape { p: 8, q: 8, r: 1, u: 16, l: 2, slices: 1 };
    for &precision in tiers {
        for order in [Order::Acceleration, Order::Jerk, Order::Snap] {
            let shapes = [
                (None, off),
                (Some(base), off),
                (Some(TierShape { p: 64, q: 1, u: 4, l: 1, slices: 3, ..base }), on),
                (Some(TierShape { p: 16, q: 4, r: 2, u: 2, l: 1, slices: 5 }), off),
            ];
            // One shape in addition to the engine's own, a different one for each precision and
            // order.
            let chosen = 1 + (precision as usize + order as usize) % 3;
            let chosen =
                shapes.into_iter().enumerate().filter(|(k, _)| !quick || [0, chosen].contains(k));
            for (_, (shape, checks)) in chosen {
                let tile = shape.unwrap_or(base).tile() as usize;
                let around =
                    [(tile - 1, tile + 1), (tile, tile), (tile + 1, 5000), (tile + 1, tile + 1)];
                let [less, same, many, more] = around;
                let sizes = [(1, 1), (2, 2), less, same, (7, 4097), many, more, (200, 130)];
                cases.extend((0..).zip(sizes).map(|(k, (sinks, sources))| {
                    let softening = if k % 2 == 0 { 0.0 } else { 0.02 };
                    DirectCase { precision, order, shape, checks, softening, sinks, sources }
                }));
            }
        }
    }
    cases
}

/// Runs one case on `gpu` and compares it with [`Reference`](crate::forces::direct::Reference).
///
/// # Errors
///
/// A precision that does not hold on the adapter; the device failed.
pub fn check_direct(gpu: &Arc<Gpu>, case: DirectCase) -> Result<DirectRow> {
    let cloud = TestBodies::new(case.sources.max(case.sinks), 0xd1ce);
    let m = case.sources;
    let (sources, sinks) = case.bodies(&cloud);
    let radius: Vec<f64> = (0..case.sinks).map(|i| 0.1 * (i % 5) as f64).collect();
    // Too small for some lists if there are many sources, large enough for all otherwise.
    let capacity = if m > 1000 { 20 } else { m };
    let with_neighbours = case.order == Order::Jerk;
    let outputs = Outputs {
        order: case.order,
        potential: true,
        nearest: with_neighbours,
        distance: true,
        within: with_neighbours.then_some(Within { radius: &radius, capacity }),
    };

    let all = Outputs { within: outputs.within.map(|w| Within { capacity: m, ..w }), ..outputs };
    let right = reference(&sources, &sinks, case.softening, &all)?;

    let engine = || -> Result<GpuTiers> {
        let engine = GpuTiers::new(Arc::clone(gpu), case.precision)?.with_guard();
        match case.shape {
            Some(shape) => engine.with_shape(shape, case.checks),
            None => Ok(engine),
        }
    };
    let (mut whole, mut in_chunks) = (engine()?, engine()?.with_rate(4e3));
    let (mut found, mut repeated) = (Forces::default(), Forces::default());
    // Wrong numbers are not an error of the call: the rows report them.
    let evaluate = |engine: &mut GpuTiers, out: &mut Forces| {
        engine.begin(&sinks, case.softening, &outputs)?;
        engine.collect(out)
    };
    whole.set_sources(&sources)?;
    evaluate(&mut whole, &mut repeated)?;
    // Filled with NaN, to reveal any output that a kernel does not write.
    whole.poison();
    evaluate(&mut whole, &mut found)?;
    let in_bounds = whole.is_in_bounds()?;
    let same = repeated == found;
    in_chunks.set_sources(&sources)?;
    evaluate(&mut in_chunks, &mut repeated)?;

    Ok(DirectRow {
        case,
        errors: ForceErrors::of(&found, &right, case.order),
        neighbours: if with_neighbours {
            compare_neighbours(&found, &right, &sinks, &sources, &radius, capacity, case.precision)
        } else {
            Ok(())
        },
        in_bounds,
        same_in_pieces: same && repeated == found,
    })
}

/// Compares nearest sources and lists, up to the rounding of the precision.
fn compare_neighbours(
    found: &Forces,
    right: &Forces,
    sinks: &Sinks,
    sources: &Sources,
    radius: &[f64],
    capacity: usize,
    precision: Precision,
) -> std::result::Result<(), String> {
    let slack = if precision == Precision::Double { 1e-13 } else { 1e-6 };
    for (i, &radius) in radius.iter().enumerate() {
        let (nearest, known) = (found.nearest[i], right.nearest[i]);
        let (distance, least) = (found.nearest_distance[i], right.nearest_distance[i]);
        let is_near = if known == NO_SOURCE {
            nearest == NO_SOURCE && distance == f64::INFINITY
        } else {
            sinks.identity.of(i) != Some(nearest as usize)
                && distance >= least
                && distance <= least + slack
        };
        if !is_near {
            return Err(format!(
                "nearest of sink {i} is {nearest} at {distance}, not {known} at {least}"
            ));
        }
        let (list, all) = (found.neighbours.of(i), right.neighbours.of(i));
        let away = |j: u32| sources.position[j as usize].distance(sinks.position[i]);
        let stray = list
            .iter()
            .find(|&&j| away(j) > radius + slack || sinks.identity.of(i) == Some(j as usize));
        if let Some(j) = stray {
            return Err(format!("list of sink {i} holds {j}, which is {} away", away(*j)));
        }
        if !list.is_sorted_by(|a, b| a < b) {
            return Err(format!("list of sink {i} does not ascend: {list:?}"));
        }
        let at_edge = |j: u32| (away(j) - radius).abs() <= slack;
        let doubtful = (0..sources.position.len() as u32).filter(|j| at_edge(*j)).count();
        let count = found.neighbours.found(i);
        if count.abs_diff(all.len()) > doubtful {
            return Err(format!("{count} sources around sink {i}, not {}", all.len()));
        }
        if list.len() != count.min(capacity) || found.neighbours.overflowed(i) != (count > capacity)
        {
            return Err(format!("sink {i} keeps {} of {count}, capacity {capacity}", list.len()));
        }
        let missing = all.iter().find(|j| count <= capacity && !at_edge(**j) && !list.contains(*j));
        if let Some(j) = missing {
            return Err(format!("list of sink {i} lacks {j}, which is {} away", away(*j)));
        }
    }
    Ok(())
}

// Checks engines of the registry against f64: every precision and order, for a backend and a
// method.

/// The result of one evaluation by an engine.
#[derive(Clone, Debug)]
pub struct EngineRow {
    /// The engine's description.
    pub engine: String,
    /// What it computed, and the errors. Neighbours and bounds are not checked.
    pub row: DirectRow,
}

/// Sinks and sources: sizes around the lanes of SIMD and the blocks of caches. The sinks are the
/// last of the sources; if there are more sinks than sources, none is a source.
const SIZES: [(usize, usize); 7] =
    [(1, 1), (2, 2), (7, 9), (65, 63), (64, 64), (130, 200), (7, 4097)];

/// Checks every engine at `place` by `method`.
///
/// # Errors
///
/// An engine that cannot be made with `tools`, or that fails.
pub fn check_engines(place: Placement, method: Method, tools: &Tools) -> Result<Vec<EngineRow>> {
    let mut rows = Vec::new();
    for entry in ENGINES.iter().filter(|entry| (entry.placement, entry.method) == (place, method)) {
        let (least, most) = entry.orders;
        for order in [Order::Acceleration, Order::Jerk, Order::Snap] {
            if !(least..=most).contains(&order) {
                continue;
            }
            let mut engine = make(place, method, Some(entry.precision), order, tools)?;
            for (k, (sinks, sources)) in SIZES.into_iter().enumerate() {
                let softening = if k % 2 == 0 { 0.0 } else { 0.02 };
                let precision = engine.precision();
                let (shape, checks) = (None, Checks::default());
                let case =
                    DirectCase { precision, order, shape, checks, softening, sinks, sources };
                rows.push(evaluate(engine.as_mut(), case)?);
            }
        }
    }
    Ok(rows)
}

fn evaluate(engine: &mut dyn ForceEngine, case: DirectCase) -> Result<EngineRow> {
    let bodies = TestBodies::new(case.sources.max(case.sinks), 0xd1ce);
    let (sources, sinks) = case.bodies(&bodies);
    let outputs = Outputs { order: case.order, ..Outputs::POTENTIAL };
    let right = reference(&sources, &sinks, case.softening, &outputs)?;
    let mut found = Forces::default();
    engine.evaluate_from(&sources, &sinks, case.softening, &outputs, &mut found)?;
    let errors = ForceErrors::of(&found, &right, case.order);
    let row = DirectRow { case, errors, neighbours: Ok(()), in_bounds: true, same_in_pieces: true };
    Ok(EngineRow { engine: engine.describe(), row })
}

#[cfg(test)]
mod engines_tests {
    use super::*;
    use crate::measure::ErrorStats;

    #[test]
    fn cpu_engines_agree_with_f64_and_faults_are_detected() {
        let rows = check_engines(Placement::Cpu, Method::Direct, &Tools::default()).unwrap();
        assert_eq!(rows.len(), 4 * SIZES.len(), "single, and double up to three orders");
        for row in &rows {
            let row = &row.row;
            assert!(row.passed(), "{row:?}");
            let bad = ErrorStats { worst: f64::NAN, rms: f64::NAN };
            let right = row.errors;
            for errors in [
                ForceErrors { acceleration: bad, ..right },
                ForceErrors { potential: bad, ..right },
                ForceErrors { snap: Some(bad), ..right },
            ] {
                assert!(!DirectRow { errors, ..row.clone() }.passed());
            }
        }
        // Single's errors are too large for double.
        let mut rows = rows.into_iter().map(|row| row.row);
        let is_single =
            |case: &DirectCase| case.precision == Precision::Single && case.sources > 60;
        let mut single = rows.find(|row| is_single(&row.case)).unwrap();
        single.case.precision = Precision::Double;
        assert!(!single.passed());
    }

    #[test]
    fn an_engine_without_its_device_is_an_error() {
        let made = check_engines(Placement::Gpu, Method::Direct, &Tools::default());
        assert!(made.unwrap_err().to_string().contains("no device is open"));
    }
}
