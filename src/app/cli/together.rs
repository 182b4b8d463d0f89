//! What ranks of MPI settle among themselves before they share a run: which engine, and which device each takes.

use super::print;
use crate::app::{lookup, ranks};
use crate::error::{Error, Result};
use crate::exchange::Ranks;
use crate::forces::Precision;
use crate::gpu::{AdapterName, DeviceCount, adapters};
use crate::sim::{Choice, EngineKind, Method, Settings};

/// The engine for `n` bodies: where there are ranks the first one chooses, and the others take the same.
///
/// Errors: those of [`lookup::choose`]; a rank without the device that it needs.
pub fn choose(n: usize, settings: &mut Settings) -> Result<Choice> {
    let Some(ranks) = ranks::ranks() else { return lookup::choose(n, settings) };
    take_own_adapters(ranks, settings)?;
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

/// The engine that the settings name, on the device of this rank, for `n` bodies.
///
/// # Errors
/// A rank without the device that it needs.
pub fn choose_for_resume(ranks: &Ranks, n: usize, settings: &mut Settings) -> Result<Choice> {
    // The adapters of the run's beginning were those of another number of ranks.
    settings.adapter.names.clear();
    settings.devices = DeviceCount::default();
    take_own_adapters(ranks, settings)?;
    let choice = or_cpu(pollster::block_on(crate::sim::choose(n, settings)), ranks, settings)?;
    of_ranks(choice, ranks, settings)
}

fn of_ranks(choice: Choice, ranks: &Ranks, settings: &Settings) -> Result<Choice> {
    let choice = Choice { ranks: Some(ranks.clone()), ..choice };
    let choice = match needs_all_pairs(&choice, settings.method) {
        true => {
            print::note(
                "ranks share the pairs of an engine on the host and no tree, so forces are by all pairs (--method direct); for so many bodies a tree without mpirun may be faster",
            );
            Choice { method: Method::Direct, method_reason: None, ..choice }
        }
        false => choice,
    };
    choice.check_devices(settings)?;
    Ok(choice)
}

/// Whether a tree was chosen that ranks do not share, where nobody has `asked` for one.
fn needs_all_pairs(choice: &Choice, asked: Option<Method>) -> bool {
    let is_on_hosts = choice.kind != EngineKind::Gpu || choice.is_mixed;
    asked.is_none() && choice.is_shared() && choice.method == Method::Tree && is_on_hosts
}

/// Lets this rank take its own adapters: of those that are named, or of all of the best kind, the ones whose numbers are the
/// rank's among those of its machine. Launchers that hide devices from CUDA do not hide them from Vulkan.
fn take_own_adapters(ranks: &Ranks, settings: &mut Settings) -> Result<()> {
    if settings.engine.by(settings.method)?.0 == EngineKind::Cpu {
        return Ok(());
    }
    let mut all = settings.adapter.names.clone();
    if all.is_empty() {
        let found = pollster::block_on(adapters());
        let Some(best) = found.first() else { return Ok(()) };
        let is_alike =
            |i: &usize| (&found[*i].name, &found[*i].backend) == (&best.name, &best.backend);
        let alike = (0..found.len()).filter(is_alike);
        all = alike.map(|i| AdapterName::Matching(i.to_string())).collect();
    }
    if let Some(own) = own_of(&all, (ranks.local(), ranks.there()), settings.devices) {
        // All that are one's own are tried together; a single one is all that there is.
        if own.len() == 1 {
            settings.devices = DeviceCount::ONE;
        }
        settings.adapter.names = own;
    }
    Ok(())
}

/// Those of `all` adapters that the rank of this number takes, among so many on its machine. `None` where there are fewer than
/// each is to have, or it has them to itself and finds out how many are faster.
fn own_of<T: Clone>(
    all: &[T],
    (local, there): (usize, usize),
    count: DeviceCount,
) -> Option<Vec<T>> {
    match count {
        DeviceCount::These(count) => {
            let count = count as usize;
            let own = (0..count).map(|k| all[(local * count + k) % all.len()].clone());
            (count <= all.len()).then(|| own.collect())
        }
        DeviceCount::Auto => {
            let own = all.iter().skip(local % all.len()).step_by(there.max(1));
            (there > 1).then(|| own.cloned().collect())
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_was_only_faster_is_given_up_where_ranks_do_not_share_it() {
        let members = crate::exchange::team(2, None, std::time::Duration::ZERO);
        let mut ranks = members.into_iter().map(|member| Ranks::new(Box::new(member), 0));
        let of = |kind, method, ranks| {
            let choice = Choice::of(kind, method, "measured", None);
            Choice { ranks, ..choice }
        };
        let shared = of(EngineKind::Cpu, Method::Tree, ranks.next());
        assert!(needs_all_pairs(&shared, None));
        assert!(!needs_all_pairs(&shared, Some(Method::Tree)), "it is refused");
        let on_devices = of(EngineKind::Gpu, Method::Tree, ranks.next());
        assert!(!needs_all_pairs(&on_devices, None));
        assert!(needs_all_pairs(&Choice { is_mixed: true, ..on_devices }, None));
        let alone = of(EngineKind::Cpu, Method::Tree, Some(Ranks::alone()));
        assert!(!needs_all_pairs(&alone, None));
    }

    #[test]
    fn ranks_of_a_machine_share_its_adapters() {
        let of = |all: usize, local, there, count: &str| {
            let all: Vec<usize> = (0..all).collect();
            own_of(&all, (local, there), count.parse().unwrap())
        };
        // One each, from the beginning again where there are more ranks than adapters.
        assert_eq!(
            [0, 1, 3, 5].map(|local| of(4, local, 6, "1")),
            [0, 1, 3, 1].map(|k| Some(vec![k]))
        );
        // Two each.
        assert_eq!(
            [0, 1, 2].map(|local| of(4, local, 3, "2")),
            [[0, 1], [2, 3], [0, 1]].map(|own| Some(own.to_vec()))
        );
        // As many as there are: all of them.
        assert_eq!(of(2, 1, 2, "2"), Some(vec![0, 1]));
        assert_eq!(of(1, 0, 2, "2"), None);
        assert_eq!(of(4, 0, 1, "auto"), None);
        assert_eq!(
            [0, 1].map(|local| of(5, local, 2, "auto")),
            [vec![0, 2, 4], vec![1, 3]].map(Some)
        );
        assert_eq!([0, 2].map(|local| of(2, local, 3, "auto")), [vec![0], vec![0]].map(Some));
    }
}
