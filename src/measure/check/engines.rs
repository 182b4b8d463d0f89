//! Checks engines of the registry against f64: every precision and order, for a backend and a
//! method.

use super::derivatives::limits;
use crate::error::Result;
use crate::forces::direct::Reference;
use crate::forces::{
    Answers, ENGINES, ForceEngine, Identity, Method, Order, Place, Precision, TestBodies, Tools,
    Want, make,
};
use crate::measure::{ErrorStats, acceleration_errors, potential_errors};

/// The result of one evaluation by an engine.
#[derive(Clone, Debug)]
pub struct EngineRow {
    /// The engine's description.
    pub engine: String,
    /// The precision it computed in.
    pub precision: Precision,
    /// The highest derivative.
    pub order: Order,
    /// Number of sinks.
    pub sinks: usize,
    /// Number of sources.
    pub sources: usize,
    /// Plummer softening length.
    pub softening: f64,
    /// Errors of accelerations.
    pub acceleration: ErrorStats,
    /// Errors of potentials.
    pub potential: ErrorStats,
    /// Errors of jerks, if there are any.
    pub jerk: Option<ErrorStats>,
    /// Errors of snaps, if there are any.
    pub snap: Option<ErrorStats>,
}

impl EngineRow {
    /// Whether everything is within the limits of the precision.
    pub fn passed(&self) -> bool {
        let limits = limits(self.precision, self.sources);
        let good = |e: ErrorStats, k: usize| e.rms < limits[k].0 && e.worst < limits[k].1;
        good(self.acceleration, 0)
            && good(self.potential, 1)
            && self.jerk.is_none_or(|e| good(e, 2))
            && self.snap.is_none_or(|e| good(e, 3))
    }
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
pub fn check_engines(place: Place, method: Method, tools: &Tools) -> Result<Vec<EngineRow>> {
    let mut rows = Vec::new();
    for entry in ENGINES.iter().filter(|entry| (entry.place, entry.method) == (place, method)) {
        let (least, most) = entry.orders;
        for order in [Order::Acceleration, Order::Jerk, Order::Snap] {
            if !(least..=most).contains(&order) {
                continue;
            }
            let mut engine = make(place, method, Some(entry.precision), order, tools)?;
            for (k, (sinks, sources)) in SIZES.into_iter().enumerate() {
                let softening = if k % 2 == 0 { 0.0 } else { 0.02 };
                rows.push(evaluate(engine.as_mut(), order, (sinks, sources), softening)?);
            }
        }
    }
    Ok(rows)
}

fn evaluate(
    engine: &mut dyn ForceEngine,
    order: Order,
    (n, m): (usize, usize),
    softening: f64,
) -> Result<EngineRow> {
    let bodies = TestBodies::new(n.max(m), 0xd1ce);
    let sources = bodies.sources(m);
    let sinks = match n <= m {
        true => bodies.sinks(m - n..m, Identity::Offset(m - n)),
        false => bodies.sinks(0..n, Identity::Foreign),
    };
    let want = Want { order, ..Want::POTENTIAL };
    let ask = |engine: &mut dyn ForceEngine| -> Result<Answers> {
        let mut found = Answers::default();
        engine.set_sources(&sources)?;
        engine.evaluate(&sinks, softening, &want, &mut found)?;
        Ok(found)
    };
    let right = ask(&mut Reference::default())?;
    let found = ask(engine)?;
    let with = |least: Order| order >= least;
    Ok(EngineRow {
        engine: engine.describe(),
        precision: engine.precision(),
        order,
        sinks: n,
        sources: m,
        softening,
        acceleration: acceleration_errors(&found.acceleration, &right.acceleration),
        potential: potential_errors(&found.potential, &right.potential),
        jerk: with(Order::Jerk).then(|| acceleration_errors(&found.jerk, &right.jerk)),
        snap: with(Order::Snap).then(|| acceleration_errors(&found.snap, &right.snap)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_engines_agree_with_f64_and_faults_are_detected() {
        let rows = check_engines(Place::Cpu, Method::Direct, &Tools::default()).unwrap();
        assert_eq!(rows.len(), 4 * SIZES.len(), "single, and double up to three orders");
        for row in &rows {
            assert!(row.passed(), "{row:?}");
            let bad = ErrorStats { worst: f64::NAN, rms: f64::NAN };
            assert!(!EngineRow { acceleration: bad, ..row.clone() }.passed());
            assert!(!EngineRow { potential: bad, ..row.clone() }.passed());
            assert!(!EngineRow { snap: Some(bad), ..row.clone() }.passed());
        }
        // Single's errors are too large for double.
        let single = rows.iter().find(|row| row.precision == Precision::Single && row.sources > 60);
        let precision = Precision::Double;
        assert!(!EngineRow { precision, ..single.unwrap().clone() }.passed());
    }

    #[test]
    fn an_engine_without_its_device_is_an_error() {
        let made = check_engines(Place::Gpu, Method::Direct, &Tools::default());
        assert!(made.unwrap_err().to_string().contains("no device is open"));
    }
}
