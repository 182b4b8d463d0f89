//! This process as one of the MPI ranks started by `mpirun` or `srun`: all ranks execute the same
//! command line, and rank 0 alone prints and writes files.
//!
//! Rank 0 also chooses the engine (`cli/together.rs`). All ranks check at the same points whether
//! to stop. The devices of the ranks form one group (`sim/group/`); host engines share the sinks
//! (`forces/spread.rs`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gravitile::error::{Error, Result};
use gravitile::exchange::Ranks;

/// Variables in which launchers pass the number of ranks.
const SIZE_VARIABLES: [&str; 4] =
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "PMIX_SIZE"];
/// Variables in which launchers pass a process's rank, even if they do not pass the number of
/// ranks.
const PMI_RANK_VARIABLES: [&str; 3] = ["PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"];
/// The number of processes that `srun` started, set whether or not it connects them through PMI.
#[cfg(feature = "mpi")]
const SLURM_TASKS: &str = "SLURM_STEP_NUM_TASKS";
/// Variables with the rank of a process, from 0.
const RANK_VARIABLES: [&str; 5] = [
    "OMPI_COMM_WORLD_RANK",
    PMI_RANK_VARIABLES[0],
    PMI_RANK_VARIABLES[1],
    PMI_RANK_VARIABLES[2],
    "SLURM_PROCID",
];

static RANKS: OnceLock<Ranks> = OnceLock::new();

/// Whether all ranks take part in the command; otherwise rank 0 executes it alone.
static COLLECTIVE: AtomicBool = AtomicBool::new(false);

/// Initialises MPI if a launcher started this process. Call once, on the main thread, before
/// anything else.
///
/// # Errors
/// MPI cannot be initialised, or is not the launcher's implementation; the program was built
/// without MPI but started as several ranks.
pub fn begin() -> Result<()> {
    let count =
        SIZE_VARIABLES.iter().find_map(variable).and_then(|text| text.parse::<usize>().ok());
    let is_launched =
        count.is_some() || PMI_RANK_VARIABLES.iter().any(|name| variable(name).is_some());
    if !is_launched {
        return Ok(());
    }
    #[cfg(feature = "mpi")]
    {
        let ranks = gravitile::exchange::mpi::begin()?;
        if let Some(count @ 2..) = count
            && ranks.size() == 1
        {
            gravitile::exchange::mpi::end();
            let words = format!(
                "{count} processes were started, and MPI shows none of them the others: this program was built with another MPI than the launcher's; take that one's mpirun, or build it with this one's mpicc (docs/clusters.md)"
            );
            return Err(Error::Outside(words));
        }
        let _ = RANKS.set(ranks);
        Ok(())
    }
    #[cfg(not(feature = "mpi"))]
    match count {
        Some(2..) => {
            let words = "this program was built without MPI, so its ranks would not know of each other; build it with: cargo build --release --features mpi (docs/clusters.md)";
            Err(Error::Outside(words.to_owned()))
        }
        _ => Ok(()),
    }
}

fn variable(name: &&str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether the launcher's variables name this process as rank 0, or it was started alone. Works
/// before MPI is initialised.
pub fn is_first_started() -> bool {
    RANK_VARIABLES.iter().find_map(variable).is_none_or(|number| number == "0")
}

/// The warning for several processes that `srun` started without connecting them, which may be
/// intended.
#[cfg(feature = "mpi")]
pub fn unconnected_warning() -> Option<String> {
    let count = variable(&SLURM_TASKS).filter(|_| all().is_none())?.parse::<usize>().ok()?;
    (count > 1).then(|| {
        format!(
            "srun has started {count} processes without a way between them, so each works alone; to share a run they need one: 'srun --mpi=pmix', or another that 'srun --mpi=list' names"
        )
    })
}

/// Makes all ranks take part in the command from now on.
pub fn work_together() {
    COLLECTIVE.store(true, Ordering::SeqCst);
}

/// The ranks, if a launcher started this process and all ranks take part in the command.
pub fn ranks() -> Option<&'static Ranks> {
    RANKS.get().filter(|_| COLLECTIVE.load(Ordering::SeqCst))
}

/// All ranks that a launcher started, whether or not they take part in the command.
pub fn all() -> Option<&'static Ranks> {
    RANKS.get()
}

/// The `text` of rank 0, on every rank; this process's own where it is alone.
///
/// # Errors
/// Those of [`gravitile::exchange::Exchange`].
pub fn broadcast(text: String) -> Result<String> {
    let Some(ranks) = ranks() else { return Ok(text) };
    let texts = ranks.gather_messages(if ranks.rank() == 0 { text.as_bytes() } else { &[] })?;
    Ok(String::from_utf8_lossy(&texts[0]).into_owned())
}

/// Whether this process prints and writes files: it is alone, or rank 0.
pub fn is_root() -> bool {
    all().is_none_or(|ranks| ranks.rank() == 0)
}

/// Whether `yes` is true on any rank; `yes` itself where this process is alone. A failed exchange
/// counts as true.
pub fn any(yes: bool) -> bool {
    match ranks() {
        // If the other ranks cannot be reached, the caller should stop.
        Some(ranks) => ranks.any(yes).unwrap_or(true),
        None => yes,
    }
}

/// The first problem of any rank; this process's `own` where it is alone.
pub fn first_problem(own: Option<String>) -> Option<String> {
    let Some(ranks) = ranks() else { return own };
    let all = match ranks.gather_messages(own.unwrap_or_default().as_bytes()) {
        Ok(all) => all,
        Err(error) => return Some(error.to_string()),
    };
    let first = all.into_iter().find(|problem| !problem.is_empty())?;
    Some(String::from_utf8_lossy(&first).into_owned())
}

/// Checks that all ranks work on the same input: compares checksums, each named in plain words,
/// with those of rank 0. Does not compute them where this process is alone.
///
/// # Errors
/// The first rank that differs, and in what.
pub fn must_agree<const N: usize>(what: impl FnOnce() -> [(&'static str, u32); N]) -> Result<()> {
    let Some(ranks) = ranks().filter(|ranks| ranks.size() > 1) else { return Ok(()) };
    let what = what();
    let mine: Vec<u8> = what.iter().flat_map(|(_, sum)| sum.to_le_bytes()).collect();
    let sums = ranks.gather_messages(&mine)?;
    match first_difference(&what, &sums) {
        None => Ok(()),
        Some((rank, what)) => Err(Error::Outside(format!(
            "rank {rank} has another {what} than rank 0: all ranks must run the same program on the same input with the same options"
        ))),
    }
}

/// The first rank that differs from rank 0, and in what.
fn first_difference<'a>(what: &[(&'a str, u32)], sums: &[Vec<u8>]) -> Option<(usize, &'a str)> {
    let (first, others) = sums.split_first()?;
    let (rank, other) = (1..).zip(others).find(|(_, other)| *other != first)?;
    let differs = |k: &usize| first.chunks(4).nth(*k) != other.chunks(4).nth(*k);
    let k = (0..what.len()).find(differs);
    Some((rank, k.map_or("version of the program", |k| what[k].0)))
}

/// Refuses ranks that were started with different commands, which would wait for each other
/// forever. Collective: all ranks get the same result.
///
/// # Errors
/// The first rank whose command differs from that of rank 0; those of
/// [`gravitile::exchange::Exchange`].
pub fn must_have_same_command(what: impl FnOnce() -> String) -> Result<()> {
    let Some(ranks) = all().filter(|ranks| ranks.size() > 1) else { return Ok(()) };
    let commands = ranks.gather_messages(what().as_bytes())?;
    let other = (1..).zip(&commands[1..]).find(|(_, other)| **other != commands[0]);
    let Some((rank, other)) = other else { return Ok(()) };
    let [other, first] = [other, &commands[0]].map(|bytes| String::from_utf8_lossy(bytes));
    Err(Error::Outside(format!(
        "rank 0 was told {first}; rank {rank} was told {other}: all ranks must run the same program on the same input with the same options"
    )))
}

/// A checksum of the executable: ranks on different machines may run different builds.
pub fn program_sum() -> u32 {
    let own = std::env::current_exe().and_then(std::fs::read);
    own.map_or(0, |bytes| crc32fast::hash(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_differing_rank_and_quantity_are_reported() {
        let what = [("program", 1), ("settings", 2)];
        let of =
            |sums: [u32; 2]| sums.iter().flat_map(|sum| sum.to_le_bytes()).collect::<Vec<u8>>();
        let same = of([1, 2]);
        assert_eq!(first_difference(&what, &[same.clone(), same.clone()]), None);
        let sums = [same.clone(), same.clone(), of([1, 3])];
        assert_eq!(first_difference(&what, &sums), Some((2, "settings")));
        let sums = [same.clone(), of([0, 3])];
        assert_eq!(first_difference(&what, &sums), Some((1, "program")));
        // A version of the program that sends more checksums.
        let sums = [same.clone(), [same, vec![0; 4]].concat()];
        assert_eq!(first_difference(&what, &sums), Some((1, "version of the program")));
    }
}
