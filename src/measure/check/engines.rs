//! Checks engines of the registry against f64: every precision and order, for a backend and a
//! method.

use super::derivatives::ForceErrors;
use crate::error::Result;
use crate::forces::{
    ENGINES, ForceEngine, Forces, Identity, Method, Order, Outputs, Placement, Precision,
    TestBodies, Tools, make,
};
use crate::measure::reference;

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
    /// Errors of forces and derivatives.
    pub errors: ForceErrors,
}

impl EngineRow {
    /// Whether everything is within the limits of the precision.
    pub fn passed(&self) -> bool {
        self.errors.are_within(self.precision, self.sources)
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
    let outputs = Outputs { order, ..Outputs::POTENTIAL };
    let right = reference(&sources, &sinks, softening, &outputs)?;
    let mut found = Forces::default();
    engine.evaluate_from(&sources, &sinks, softening, &outputs, &mut found)?;
    Ok(EngineRow {
        engine: engine.describe(),
        precision: engine.precision(),
        order,
        sinks: n,
        sources: m,
        softening,
        errors: ForceErrors::of(&found, &right, order),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::ErrorStats;

    #[test]
    fn cpu_engines_agree_with_f64_and_faults_are_detected() {
        let rows = check_engines(Placement::Cpu, Method::Direct, &Tools::default()).unwrap();
        assert_eq!(rows.len(), 4 * SIZES.len(), "single, and double up to three orders");
        for row in &rows {
            assert!(row.passed(), "{row:?}");
            let bad = ErrorStats { worst: f64::NAN, rms: f64::NAN };
            let right = row.errors;
            for errors in [
                ForceErrors { acceleration: bad, ..right },
                ForceErrors { potential: bad, ..right },
                ForceErrors { snap: Some(bad), ..right },
            ] {
                assert!(!EngineRow { errors, ..row.clone() }.passed());
            }
        }
        // Single's errors are too large for double.
        let single = rows.iter().find(|row| row.precision == Precision::Single && row.sources > 60);
        let precision = Precision::Double;
        assert!(!EngineRow { precision, ..single.unwrap().clone() }.passed());
    }

    #[test]
    fn an_engine_without_its_device_is_an_error() {
        let made = check_engines(Placement::Gpu, Method::Direct, &Tools::default());
        assert!(made.unwrap_err().to_string().contains("no device is open"));
    }
}
