//! What ranks of MPI settle among themselves before they share a run: which engine, and which device each takes.

use crate::app::{lookup, ranks};
use crate::error::{Error, Result};
use crate::exchange::Ranks;
use crate::gpu::{AdapterName, AdapterRequest, DeviceCount, adapters};
use crate::sim::{Choice, EngineKind, Method, Settings};

/// The engine for `n` bodies: where there are ranks the first one chooses, and the others take the same.
///
/// Errors: those of [`lookup::choose`]; a rank without the device that it needs.
pub fn choose(n: usize, settings: &mut Settings) -> Result<Choice> {
    let Some(ranks) = ranks::ranks() else { return lookup::choose(n, settings) };
    settings.adapter = own_adapter(ranks, settings)?;
    let mut chosen = None;
    let told = match ranks.rank() {
        0 => {
            let choice = lookup::choose(n, settings)?;
            let told = format!("{} {}", choice.kind.name(), choice.method.name());
            chosen = Some(choice);
            told
        }
        _ => String::new(),
    };
    let told = ranks::from_first(told)?;
    let choice = match chosen {
        Some(choice) => choice,
        None => {
            let (engine, method) = told.split_once(' ').unwrap_or((&told, ""));
            let method = Method::from_name(method)?;
            let named =
                Settings { engine: EngineKind::from_name(engine)?, method, ..settings.clone() };
            Choice { reason: "as on rank 0".to_owned(), ..lookup::choose(n, &mut named.clone())? }
        }
    };
    of_ranks(choice, ranks, settings)
}

/// The engine that the settings name, on the device of this rank.
///
/// Errors: a rank without the device that it needs.
pub fn told(mut settings: Settings) -> Result<Choice> {
    let Some(ranks) = ranks::ranks() else {
        return pollster::block_on(Choice::told(&settings));
    };
    // The adapters of the run's beginning were those of another number of ranks.
    settings.adapter.names.clear();
    settings.devices = DeviceCount::default();
    settings.adapter = own_adapter(ranks, &settings)?;
    let choice = pollster::block_on(Choice::told(&settings))?;
    of_ranks(choice, ranks, &settings)
}

fn of_ranks(choice: Choice, ranks: &Ranks, settings: &Settings) -> Result<Choice> {
    let choice = Choice { ranks: Some(ranks.clone()), ..choice };
    choice.check_devices(settings)?;
    Ok(choice)
}

/// The adapter of this rank: of those that are named, or of all of the best kind, the one whose number is the rank's
/// among those of its machine. Launchers that hide devices from CUDA do not hide them from Vulkan.
fn own_adapter(ranks: &Ranks, settings: &Settings) -> Result<AdapterRequest> {
    let request = settings.adapter.clone();
    if settings.engine.by(settings.method)?.0 == EngineKind::Cpu || !settings.devices.is_one() {
        return Ok(request);
    }
    let names = match request.names.len() {
        0 => {
            let found = pollster::block_on(adapters());
            let Some(best) = found.first() else { return Ok(request) };
            let alike =
                |i: &usize| (&found[*i].name, &found[*i].backend) == (&best.name, &best.backend);
            let alike: Vec<usize> = (0..found.len()).filter(alike).collect();
            vec![AdapterName::Matching(alike[ranks.local() % alike.len()].to_string())]
        }
        named => vec![request.names[ranks.local() % named].clone()],
    };
    Ok(AdapterRequest { names, ..request })
}

/// From now on it is noticed if a rank on this machine is killed.
///
/// Errors: ranks that cannot be heard.
pub fn watch_ranks() -> Result<(), Error> {
    #[cfg(all(unix, feature = "mpi"))]
    if let Some(ranks) = ranks::ranks().filter(|ranks| ranks.size() > 1) {
        super::watchdog::begin(ranks, &crate::exchange::mpi::machine())?;
    }
    Ok(())
}

/// Ranks end by themselves from now on.
pub fn end_watch() {
    #[cfg(all(unix, feature = "mpi"))]
    {
        super::watchdog::end();
        // Nobody ends before all have heard that.
        ranks::any(false);
    }
}
