//! What MPI ranks agree on before they share a run: the engine, and the device of each rank.

use super::print;
use crate::{lookup, ranks};
use gravitile::error::{Error, Result};
use gravitile::exchange::Ranks;
use gravitile::forces::Precision;
use gravitile::gpu::{AdapterName, DeviceCount, adapters};
use gravitile::sim::{Choice, EngineKind, Method, Settings};

/// The engine for `n` bodies. If there are several ranks, rank 0 chooses and the others follow.
///
/// # Errors
/// Those of [`lookup::choose`]; a rank without the device that it needs.
pub fn choose(n: usize, settings: &mut Settings) -> Result<Choice> {
    let Some(ranks) = ranks::ranks() else { return lookup::choose(n, settings) };
    assign_adapters(ranks, settings)?;
    let mine = match ranks.rank() {
        0 => Some(lookup::choose(n, settings)),
        _ => None,
    };
    let named = match &mine {
        Some(Ok(choice)) => format!("{} {}", choice.kind.name(), choice.method.name()),
        // Other ranks may have a GPU though this one has none.
        Some(Err(error)) if lacks_gpu(error) => {
            let method = settings.engine.by(settings.method)?.1;
            format!("{} {}", EngineKind::Gpu.name(), method.name())
        }
        _ => String::new(),
    };
    let (named, mine) = match mine {
        Some(Err(error)) if named.is_empty() => return Err(error),
        mine => (ranks::broadcast(named)?, mine),
    };
    let mine = mine.unwrap_or_else(|| {
        let (engine, method) = named.split_once(' ').unwrap_or((&named, ""));
        let method = Method::from_name(method)?;
        let mut request =
            Settings { engine: EngineKind::from_name(engine)?, method, ..settings.clone() };
        let choice = lookup::choose(n, &mut request)?;
        Ok(Choice { reason: "as on rank 0".to_owned(), ..choice })
    });
    let choice = fall_back_to_cpu(mine, ranks, settings)?;
    of_ranks(choice, ranks, settings)
}

/// Whether the error is a missing GPU.
fn lacks_gpu(error: &Error) -> bool {
    matches!(error, Error::NoAdapter { .. })
}

/// This rank's engine: the CPU if a GPU was chosen and other ranks have one but this one does not.
/// Such a choice is marked as mixed on all ranks, since then the host of each calls its engine.
///
/// # Errors
/// That of `mine`, if no rank has a GPU; a method that the CPU's ranks cannot share.
fn fall_back_to_cpu(
    mine: Result<Choice>,
    ranks: &Ranks,
    settings: &mut Settings,
) -> Result<Choice> {
    let missing = match &mine {
        Err(error) if lacks_gpu(error) => error.to_string(),
        _ => String::new(),
    };
    let problems = ranks.gather_messages(missing.as_bytes())?;
    let (have, lack): (Vec<usize>, Vec<usize>) =
        (0..problems.len()).partition(|rank| problems[*rank].is_empty());
    if lack.is_empty() || have.is_empty() {
        return mine;
    }
    let why = String::from_utf8_lossy(&problems[lack[0]]).into_owned();
    let names: Vec<String> = lack.iter().map(usize::to_string).collect();
    let who = if lack.len() == 1 { "rank" } else { "ranks" };
    print::note(&format!(
        "{who} {} without a GPU ({why}): the CPU computes there, and steps are taken on the hosts; the bits depend on the ranks' shares",
        names.join(", ")
    ));
    let choice = match mine {
        Ok(choice) => choice,
        Err(_) => {
            // The CPU has no double-single; f64 is at least as precise.
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
    assign_adapters(ranks, settings)?;
    let choice =
        fall_back_to_cpu(pollster::block_on(gravitile::sim::choose(n, settings)), ranks, settings)?;
    of_ranks(choice, ranks, settings)
}

fn of_ranks(choice: Choice, ranks: &Ranks, settings: &Settings) -> Result<Choice> {
    let choice = Choice { ranks: Some(ranks.clone()), ..choice };
    let choice = match needs_all_pairs(&choice, settings.method) {
        true => {
            print::note(
                "ranks of which only some have a GPU do not share a tree, so forces are by all pairs (--method direct); --engine cpu shares it among all",
            );
            Choice { method: Method::Direct, method_reason: None, ..choice }
        }
        false => choice,
    };
    choice.check_devices(settings)?;
    Ok(choice)
}

/// Whether an automatically chosen tree, which ranks cannot share, must be replaced by all pairs.
/// False if a method was requested.
fn needs_all_pairs(choice: &Choice, requested: Option<Method>) -> bool {
    requested.is_none() && choice.is_shared() && choice.method == Method::Tree && choice.is_mixed
}

/// Assigns adapters to this rank by its number among the ranks of its machine: some of those that
/// are named, or of all that equal the best one. Launchers that hide devices from CUDA do not hide
/// them from Vulkan.
fn assign_adapters(ranks: &Ranks, settings: &mut Settings) -> Result<()> {
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
    if let Some(own) = adapters_of_rank(&all, (ranks.local(), ranks.on_machine()), settings.devices)
    {
        // `Auto` would try all adapters of this rank; with a single one there is nothing to
        // compare.
        if own.len() == 1 {
            settings.devices = DeviceCount::ONE;
        }
        settings.adapter.names = own;
    }
    Ok(())
}

/// The adapters, out of `all`, of the rank `local` among `ranks` ranks on its machine. `None` if
/// there are fewer than `count`, or if `count` is `Auto` and the rank has the machine to itself: it
/// then measures how many are fastest.
fn adapters_of_rank<T: Clone>(
    all: &[T],
    (local, ranks): (usize, usize),
    count: DeviceCount,
) -> Option<Vec<T>> {
    match count {
        DeviceCount::These(count) => {
            let count = count as usize;
            let own = (0..count).map(|k| all[(local * count + k) % all.len()].clone());
            (count <= all.len()).then(|| own.collect())
        }
        DeviceCount::Auto => {
            let own = all.iter().skip(local % all.len()).step_by(ranks.max(1));
            (ranks > 1).then(|| own.cloned().collect())
        }
    }
}

/// Starts to detect killed ranks on this machine.
///
/// # Errors
/// Ranks that cannot be reached.
pub fn watch_ranks() -> Result<(), Error> {
    #[cfg(all(unix, feature = "mpi"))]
    if let Some(ranks) = ranks::ranks().filter(|ranks| ranks.size() > 1) {
        super::watchdog::begin(ranks, &gravitile::exchange::mpi::machine())?;
    }
    Ok(())
}

/// Whether another rank on this machine has already printed why the run ends.
pub fn is_ended_by_another() -> bool {
    #[cfg(all(unix, feature = "mpi"))]
    return super::watchdog::is_ended_by_another();
    #[cfg(not(all(unix, feature = "mpi")))]
    false
}

/// Waits until the launcher has forwarded the output of rank 0: MPICH's kills all ranks once one
/// has failed, and drops output that it has not read yet.
#[cfg(feature = "mpi")]
pub fn wait_for_launcher() {
    if ranks::all().is_some() {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// Prints which rank failed and how, and ends all ranks at once: the others would wait for this one
/// forever.
#[cfg(feature = "mpi")]
pub fn end_ranks(ranks: &Ranks, error: &anyhow::Error, code: u8) -> ! {
    use std::time::Duration;
    let words =
        format!("rank {} on {}: {error:#}", ranks.rank(), gravitile::exchange::mpi::machine());
    let (is_device, is_member) = match error.downcast_ref() {
        Some(Error::Device(_)) => (true, false),
        Some(Error::Member(_)) => (false, true),
        _ => (false, false),
    };
    match ranks.rank() {
        // This rank only learned that another one gave up, and leaves the message to that one.
        _ if is_member => std::thread::sleep(Duration::from_secs(2)),
        // All ranks have this error: rank 0 prints it without naming a rank.
        0 if !(is_device || steps_have_begun()) => print::note(&format!("{error:#}")),
        0 => print::note(&words),
        _ => {
            std::thread::sleep(Duration::from_millis(500));
            print::from_any_rank(&words);
        }
    }
    #[cfg(unix)]
    super::watchdog::announce_exit();
    wait_for_launcher();
    gravitile::exchange::mpi::abort(code.into())
}

/// Errors before the first step occur on all ranks alike, later ones on a single rank.
#[cfg(feature = "mpi")]
fn steps_have_begun() -> bool {
    #[cfg(unix)]
    return super::watchdog::has_begun();
    #[cfg(not(unix))]
    false
}

/// Stops detecting killed ranks: from now on ranks end normally.
pub fn end_watch() {
    #[cfg(all(unix, feature = "mpi"))]
    {
        super::watchdog::end();
        // Barrier: no rank ends before all have stopped detecting.
        ranks::any(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_chosen_automatically_becomes_direct_if_ranks_cannot_share_it() {
        let members = gravitile::exchange::team(2, None, std::time::Duration::ZERO);
        let mut ranks = members.into_iter().map(|member| Ranks::new(Box::new(member), 0));
        let of = |kind, method, ranks| {
            let choice = Choice::of(kind, method, "measured", None);
            Choice { ranks, ..choice }
        };
        let shared = of(EngineKind::Cpu, Method::Tree, ranks.next());
        assert!(!needs_all_pairs(&shared, None));
        let mixed = Choice { is_mixed: true, ..shared };
        assert!(needs_all_pairs(&mixed, None));
        assert!(
            !needs_all_pairs(&mixed, Some(Method::Tree)),
            "a requested tree is an error, not replaced"
        );
        let on_devices = of(EngineKind::Gpu, Method::Tree, ranks.next());
        assert!(!needs_all_pairs(&on_devices, None));
        assert!(needs_all_pairs(&Choice { is_mixed: true, ..on_devices }, None));
        let alone = of(EngineKind::Cpu, Method::Tree, Some(Ranks::alone()));
        assert!(!needs_all_pairs(&alone, None));
    }

    #[test]
    fn adapters_of_a_machine_are_divided_among_its_ranks() {
        let of = |all: usize, local, ranks, count: &str| {
            let all: Vec<usize> = (0..all).collect();
            adapters_of_rank(&all, (local, ranks), count.parse().unwrap())
        };
        // One each; with more ranks than adapters, the first adapters are used again.
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
