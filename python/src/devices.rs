//! Graphics adapters: their list, and the devices that are open in this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use gravitile::error::Result;
use gravitile::gpu::{self, AdapterRequest, Gpu, blocking};
use gravitile::sim::{Choice, EngineKind, Settings, choose_on};
use pyo3::prelude::*;

use crate::attend::attend;

/// With fewer bodies `auto` takes the CPU without looking for an adapter
/// ([`gravitile::sim::choose()`]).
const FEWEST_ON_GPU: usize = 512;

/// Devices by the name of their request: opening a driver takes 0.1 s. `None`: no adapter was
/// found.
static OPEN: Mutex<BTreeMap<String, Option<Arc<Gpu>>>> = Mutex::new(BTreeMap::new());

/// The engine, method and devices for `n` bodies.
///
/// # Errors
/// Those of [`choose_on`].
pub fn choice(n: usize, settings: &mut Settings) -> Result<Choice> {
    let is_auto = settings.engine == EngineKind::Auto;
    let is_certain = settings.adapter.is_certain();
    let needed = match settings.engine {
        EngineKind::Gpu => true,
        EngineKind::Auto => is_certain || n >= FEWEST_ON_GPU,
        _ => false,
    };
    let found = match needed {
        true => open(&settings.adapter, is_auto && !is_certain)?,
        false => None,
    };
    if needed && found.is_none() {
        settings.engine = EngineKind::Cpu;
    }
    blocking(choose_on(found.as_ref(), n, settings))
}

/// The device for a request, opened once; `None` if there is none and it `may_lack`.
pub fn open(request: &AdapterRequest, may_lack: bool) -> Result<Option<Arc<Gpu>>> {
    let name = format!("{:?}", request.first());
    let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(&name)
        && known.as_ref().map_or(may_lack, |gpu| !gpu.is_lost())
    {
        return Ok(known.clone());
    }
    let found = match Gpu::open_blocking(&request.first()) {
        Ok(gpu) => Some(gpu),
        Err(_) if may_lack => None,
        Err(error) => return Err(error),
    };
    all.insert(name, found.clone());
    Ok(found)
}

/// Name, backend, driver, kind of device and place of an adapter.
type Row = (String, String, String, String, Option<String>);

/// All adapters, best first.
#[pyfunction]
pub fn adapters(py: Python<'_>) -> PyResult<Vec<Row>> {
    let list = || blocking(async { Ok(gpu::adapters().await) });
    let found = attend(py, list, &mut |_| Ok(()))?;
    let row = |info: gpu::AdapterInfo| {
        (info.name, info.backend, info.driver, info.class.name().to_owned(), info.place)
    };
    Ok(found.into_iter().map(row).collect())
}
