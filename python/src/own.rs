//! Accelerations computed in Python, added to those of an engine in each step.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use gravitile::error::{Error, Result};
use gravitile::forces::{
    EngineCapabilities, Evaluator, ForceEngine, Forces, Interfaces, Order, Outputs, Precision,
    Sinks, Sources,
};
use gravitile::glam::DVec3;
use pyo3::prelude::*;

use crate::arrays::{Vectors, from_vectors, vectors};

/// The exception that a function in Python raised; the call that made the steps raises it again.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// The exception that was raised since the last call.
pub fn take(raised: &Raised) -> Option<PyErr> {
    raised.lock().unwrap_or_else(PoisonError::into_inner).take()
}

thread_local! {
    static IN_CALL: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is in a function that adds a force: its simulation waits for it.
pub fn is_in_call() -> bool {
    IN_CALL.get()
}

/// An engine, and the function that takes positions of shape (n, 3) and returns accelerations.
pub struct WithOwn {
    pub engine: Box<dyn ForceEngine>,
    pub force: Py<PyAny>,
    pub raised: Raised,
}

impl WithOwn {
    fn added(&self, position: &[DVec3]) -> PyResult<Vec<DVec3>> {
        Python::attach(|py| {
            let before = IN_CALL.replace(true);
            let found = from_vectors(py, position.to_vec())
                .and_then(|position| self.force.call1(py, (position,)));
            IN_CALL.set(before);
            vectors(&found?.extract::<Vectors<'_>>(py)?)
        })
    }
}

impl Evaluator for WithOwn {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn describe(&self) -> String {
        format!("{}, and a force in Python", self.engine.describe())
    }

    fn precision(&self) -> Precision {
        self.engine.precision()
    }

    fn highest_order(&self) -> Order {
        Order::Acceleration
    }

    async fn evaluate(
        &mut self,
        sources: &Sources<'_>,
        sinks: &Sinks<'_>,
        softening: f64,
        outputs: &Outputs<'_>,
        out: &mut Forces,
    ) -> Result<()> {
        let added = self.added(sinks.position).map_err(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::Outside("the function that adds a force failed".to_owned())
        })?;
        // A method that needs the size of the last accelerations gets those of the bodies alone.
        let own: Vec<DVec3> = match self.engine.capabilities().last_accelerations {
            true => {
                sinks.acceleration.iter().zip(&added).map(|(all, added)| *all - *added).collect()
            }
            false => Vec::new(),
        };
        let acceleration = if own.is_empty() { sinks.acceleration } else { &own };
        let sinks = Sinks { acceleration, ..*sinks };
        self.engine.evaluate_from(sources, &sinks, softening, outputs, out)?;
        out.acceleration.iter_mut().zip(added).for_each(|(to, added)| *to += added);
        Ok(())
    }

    /// The function takes all bodies at once, on the host of one rank.
    fn capabilities(&self) -> EngineCapabilities<'_> {
        let inner = self.engine.capabilities();
        EngineCapabilities { ranges: false, device: None, ranks: None, ..inner }
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces { moving: None, divides: None, ..self.engine.interfaces() }
    }

    fn sources_changed(&mut self) {}
}
