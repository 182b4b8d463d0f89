//! What ranks of MPI settle among themselves before they share a run: which engine, and which device each takes.

use super::print;
use crate::app::{lookup, ranks};
use crate::error::{Error, Result};
use crate::exchange::Ranks;
use crate::forces::Precision;
use crate::gpu::{AdapterName, AdapterRequest, DeviceCount, adapters};
use crate::sim::{Choice, EngineKind, Method, Settings};

/// The engine for `n` bodies: where there are ranks the first one chooses, and the others take the same.
///
/// Errors: those of [`lookup::choose`]; a rank without the device that it needs.
pub fn choose(n: usize, settings: &mut Settings) -> Result<Choice> {
    let Some(ranks) = ranks::ranks() else { return lookup::choose(n, settings) };
    settings.adapter = own_adapter(ranks, settings)?;
    let mine = match ranks.rank() {
        0 => Some(lookup::choose(n, settings)),
        _ => None,
    };
    let told = match &mine {
        Some(Ok(choice)) => format!("{} {}", choice.kind.name(), choice.method.name()),
        // Others may have what this one lacks.
        Some(Err(error)) if lacks_gpu(error) => {
            let method = settings.engine.by(settings.method)?.1;
            format!("{} {}", EngineKind::Gpu.name(), method.name())
        }
        _ => String::new(),
    };
    let (told, mine) = match mine {
        Some(Err(error)) if told.is_empty() => return Err(error),
        mine => (ranks::from_first(told)?, mine),
    };
    let mine = mine.unwrap_or_else(|| {
        let (engine, method) = told.split_once(' ').unwrap_or((&told, ""));
        let method = Method::from_name(method)?;
        let mut named =
            Settings { engine: EngineKind::from_name(engine)?, method, ..settings.clone() };
        let choice = lookup::choose(n, &mut named)?;
        Ok(Choice { reason: "as on rank 0".to_owned(), ..choice })
    });
    let choice = or_cpu(mine, ranks, settings)?;
    of_ranks(choice, ranks, settings)
}

/// Whether it was a GPU that was missing.
fn lacks_gpu(error: &Error) -> bool {
    matches!(error, Error::NoAdapter { .. })
}

/// This rank's engine: the CPU where a GPU was chosen and this rank has none, but others do. All hear of it then, since
/// the host of each calls its engine.
///
/// Errors: what was wrong otherwise; no rank with a GPU; a method that the CPU's ranks cannot share.
fn or_cpu(mine: Result<Choice>, ranks: &Ranks, settings: &mut Settings) -> Result<Choice> {
    let missing = match &mine {
        Err(error) if lacks_gpu(error) => error.to_string(),
        _ => String::new(),
    };
    let told = ranks.tell(missing.as_bytes())?;
    let (have, lack): (Vec<usize>, Vec<usize>) =
        (0..told.len()).partition(|rank| told[*rank].is_empty());
    if lack.is_empty() || have.is_empty() {
        return mine;
    }
    let why = String::from_utf8_lossy(&told[lack[0]]).into_owned();
    let names: Vec<String> = lack.iter().map(usize::to_string).collect();
    let who = if lack.len() == 1 { "rank" } else { "ranks" };
    print::note(&format!(
        "{who} {} without a GPU ({why}): the CPU computes there, and steps are taken on the hosts; the bits depend on the ranks' shares",
        names.join(", ")
    ));
    let choice = match mine {
        Ok(choice) => choice,
        Err(_) => {
            // A tier that a CPU lacks is one that f64 has room for.
            settings.precision = match settings.precision {
                Some(Precision::DoubleSingle) => Some(Precision::Double),
                precision => precision,
            };
            let method = settings.engine.by(settings.method)?.1;
            Choice::of(EngineKind::Cpu, method, "this rank has no GPU", None)
        }
    };
    Ok(Choice { is_mixed: true, ..choice })
}

/// The engine that the settings name, on the device of this rank.
///
/// Errors: a rank without the device that it needs.
pub fn told(settings: &mut Settings) -> Result<Choice> {
    let Some(ranks) = ranks::ranks() else {
        return pollster::block_on(Choice::told(settings));
    };
    // The adapters of the run's beginning were those of another number of ranks.
    settings.adapter.names.clear();
    settings.devices = DeviceCount::default();
    settings.adapter = own_adapter(ranks, settings)?;
    let choice = or_cpu(pollster::block_on(Choice::told(settings)), ranks, settings)?;
    of_ranks(choice, ranks, settings)
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

/// Whether another rank on this machine has said why all end: whoever is told to, then, knows.
pub fn is_ended_by_another() -> bool {
    #[cfg(all(unix, feature = "mpi"))]
    return super::watchdog::is_ended_by_another();
    #[cfg(not(all(unix, feature = "mpi")))]
    false
}

/// MPICH's launcher ends all ranks once one has failed, and with them what it has not read yet of what rank 0 said.
#[cfg(feature = "mpi")]
pub fn let_the_launcher_read() {
    if ranks::all().is_some() {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// Says which of several ranks failed and how, and ends all of them at once: the others wait for it in vain.
#[cfg(feature = "mpi")]
pub fn end_ranks(ranks: &Ranks, error: &anyhow::Error, code: u8) -> ! {
    use std::time::Duration;
    let words = format!("rank {} on {}: {error:#}", ranks.rank(), crate::exchange::mpi::machine());
    let (is_device, is_member) = match error.downcast_ref() {
        Some(Error::Device(_)) => (true, false),
        Some(Error::Member(_)) => (false, true),
        _ => (false, false),
    };
    match ranks.rank() {
        // Who has heard that another gave up leaves the word to that one.
        _ if is_member => std::thread::sleep(Duration::from_secs(2)),
        // What all ranks have to say rank 0 says for all.
        0 if !(is_device || is_under_way()) => print::note(&format!("{error:#}")),
        0 => print::note(&words),
        _ => {
            std::thread::sleep(Duration::from_millis(500));
            print::from_any_rank(&words);
        }
    }
    #[cfg(unix)]
    super::watchdog::leave();
    let_the_launcher_read();
    crate::exchange::mpi::abort(code.into())
}

/// Whether steps are taken: what goes wrong then is of one rank alone.
#[cfg(feature = "mpi")]
fn is_under_way() -> bool {
    #[cfg(unix)]
    return super::watchdog::has_begun();
    #[cfg(not(unix))]
    false
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
