//! The fastest kernel shape for an adapter, found by measurement, and the results of earlier
//! searches.

use std::sync::{Mutex, PoisonError};

use etcetera::BaseStrategy;
use gravitile::error::{Error, Result};
use gravitile::forces::direct::gpu::KernelConfig;
use gravitile::gpu::{AdapterRequest, blocking};
use gravitile::stop;
use gravitile::tune::{KnownCeilings, timed, tune_steps};
use gravitile::tuned::{KnownResults, TunedStore};
use pyo3::prelude::*;

use crate::attend::attend;
use crate::devices;

/// The results of this machine, read at the first use.
static KNOWN: Mutex<Option<KnownResults>> = Mutex::new(None);

/// The program's file.
fn store() -> Option<TunedStore> {
    let caches = || Some(etcetera::base_strategy::choose_native_strategy().ok()?.cache_dir());
    TunedStore::of_user(std::env::var_os(TunedStore::FOLDER), caches)
}

/// The results of this machine; none if the file is missing or damaged.
pub fn known() -> KnownResults {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let read = || store().map(|store| store.load().into()).unwrap_or_default();
    known.get_or_insert_with(read).clone()
}

/// A shape: its text, p, q, r, u, s, and seconds per step.
type Row = (String, (u32, u32, u32, u32, u32), f64);

fn row(shape: &KernelConfig, secs: f64) -> Row {
    (shape.to_string(), (shape.p, shape.q, shape.r, shape.u, shape.s), secs)
}

/// What [`tune`] returns.
#[derive(IntoPyObject)]
pub struct Found {
    adapter: String,
    timed: usize,
    method: &'static str,
    default: Option<Row>,
    ranking: Vec<Row>,
    refused: Vec<(String, String)>,
}

/// Finds the fastest all-pairs kernel for steps of `n` bodies within about `secs` seconds;
/// `remember` stores it for later simulations here and in the program.
#[pyfunction]
pub fn tune(
    py: Python<'_>,
    n: usize,
    adapter: Option<String>,
    secs: f64,
    remember: bool,
) -> PyResult<Found> {
    let work = move || -> Result<Found> {
        let request = AdapterRequest::named(adapter.as_deref().unwrap_or_default());
        let gpu = devices::open(&request, false)?
            .ok_or_else(|| Error::Outside("there is no graphics adapter".to_owned()))?;
        let go_on = || !stop::is_wanted();
        let mut ceilings = KnownCeilings::new(&gpu);
        let mut within = |secs| ceilings.within(secs, &mut || !stop::is_wanted());
        let tuned = blocking(tune_steps(&gpu, n, secs, &mut within, &go_on))?;
        stop::check()?;
        if let (true, Some(store), Some(choice)) = (remember, store(), tuned.choice(&gpu)) {
            store.keep(choice)?;
            *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        let outcome = &tuned.outcome;
        let refused = outcome.refused.iter();
        Ok(Found {
            adapter: gpu.adapter.name.clone(),
            timed: timed(n),
            method: tuned.method.name(),
            default: outcome.of(&tuned.default).map(|of| row(&of.config, of.secs())),
            ranking: outcome.ranking.iter().map(|of| row(&of.config, of.secs())).collect(),
            refused: refused.map(|(shape, why)| (shape.to_string(), why.clone())).collect(),
        })
    };
    attend(py, work, &mut |_| Ok(()))
}
