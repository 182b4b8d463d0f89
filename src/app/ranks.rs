//! This process among the ranks that `mpirun` or `srun` has started: all of them do what the command line says, and
//! the first one alone speaks and writes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::exchange::Ranks;

/// Variables by which a launcher tells a process that it is one of several, and of how many.
const LAUNCHERS: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "PMIX_SIZE"];
/// The same where the number of ranks is elsewhere: which of them a process is.
const LAUNCHED: [&str; 3] = ["PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"];
/// What `srun` says of how many processes it has started, whether it leads them to each other or not.
#[cfg(feature = "mpi")]
const OF_SLURM: &str = "SLURM_STEP_NUM_TASKS";
/// Variables with a process's number among those of a launcher, from 0.
const NUMBERS: [&str; 5] =
    ["OMPI_COMM_WORLD_RANK", LAUNCHED[0], LAUNCHED[1], LAUNCHED[2], "SLURM_PROCID"];

static RANKS: OnceLock<Ranks> = OnceLock::new();

/// Whether all ranks do the same; else the first one works alone.
static TOGETHER: AtomicBool = AtomicBool::new(false);

/// Finds the other ranks, if a launcher of MPI has started this process. Once, by the main thread, first of all.
///
/// Errors: MPI cannot begin, or is another than the launcher's; a program without MPI in it that was started more than once.
pub fn begin() -> Result<()> {
    let count = LAUNCHERS.iter().find_map(variable).and_then(|text| text.parse::<usize>().ok());
    let is_launched = count.is_some() || LAUNCHED.iter().any(|name| variable(name).is_some());
    if !is_launched {
        return Ok(());
    }
    #[cfg(feature = "mpi")]
    {
        let ranks = crate::exchange::mpi::begin()?;
        if let Some(count @ 2..) = count
            && ranks.size() == 1
        {
            crate::exchange::mpi::end();
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

/// Whether this process is the first of those that a launcher has started, or alone, by what the launcher says: where MPI has
/// not begun.
pub fn is_first_started() -> bool {
    NUMBERS.iter().find_map(variable).is_none_or(|number| number == "0")
}

/// What is to be said where `srun` has started several processes that cannot find each other, which may be meant so.
#[cfg(feature = "mpi")]
pub fn alone_among_several() -> Option<String> {
    let count = variable(&OF_SLURM).filter(|_| all().is_none())?.parse::<usize>().ok()?;
    (count > 1).then(|| {
        format!(
            "srun has started {count} processes without a way between them, so each works alone; to share a run they need one: 'srun --mpi=pmix', or another that 'srun --mpi=list' names"
        )
    })
}

/// From now on all ranks do the same.
pub fn work_together() {
    TOGETHER.store(true, Ordering::SeqCst);
}

/// The ranks, where a launcher has started this process and they work together.
pub fn ranks() -> Option<&'static Ranks> {
    RANKS.get().filter(|_| TOGETHER.load(Ordering::SeqCst))
}

/// All ranks that a launcher has started, whether they work together or not.
pub fn all() -> Option<&'static Ranks> {
    RANKS.get()
}

/// What rank 0 tells, or this process where it is alone: all have the same then.
///
/// Errors: as of [`crate::exchange::Exchange`].
pub fn from_first(text: String) -> Result<String> {
    let Some(ranks) = ranks() else { return Ok(text) };
    let told = ranks.tell(if ranks.rank() == 0 { text.as_bytes() } else { &[] })?;
    Ok(String::from_utf8_lossy(&told[0]).into_owned())
}

/// Whether this process speaks and writes: it is alone, or the first rank.
pub fn speaks() -> bool {
    all().is_none_or(|ranks| ranks.rank() == 0)
}

/// Whether any rank says yes; this one's word where it is alone.
pub fn any(yes: bool) -> bool {
    match ranks() {
        // Ranks that cannot be heard are no reason to go on.
        Some(ranks) => ranks.any(yes).unwrap_or(true),
        None => yes,
    }
}

/// Refuses ranks that do not do the same: each tells a checksum of each of these, named in plain words, and all must have
/// the first one's. A process that is alone makes none.
///
/// Errors: a rank that differs, with in what.
pub fn must_agree<const N: usize>(what: impl FnOnce() -> [(&'static str, u32); N]) -> Result<()> {
    let Some(ranks) = ranks().filter(|ranks| ranks.size() > 1) else { return Ok(()) };
    let what = what();
    let mine: Vec<u8> = what.iter().flat_map(|(_, sum)| sum.to_le_bytes()).collect();
    let told = ranks.tell(&mine)?;
    match first_difference(&what, &told) {
        None => Ok(()),
        Some((rank, what)) => Err(Error::Outside(format!(
            "rank {rank} has another {what} than rank 0: all ranks must run the same program on the same input with the same options"
        ))),
    }
}

/// The first rank that differs from rank 0, and in what.
fn first_difference<'a>(what: &[(&'a str, u32)], told: &[Vec<u8>]) -> Option<(usize, &'a str)> {
    let (first, others) = told.split_first()?;
    let (rank, other) = (1..).zip(others).find(|(_, other)| *other != first)?;
    let differs = |k: &usize| first.chunks(4).nth(*k) != other.chunks(4).nth(*k);
    let k = (0..what.len()).find(differs);
    Some((rank, k.map_or("version of the program", |k| what[k].0)))
}

/// Refuses ranks that were not told to do the same, which would wait for each other for ever: all hear of it.
///
/// Errors: the first rank that was told something else, with what; as of [`crate::exchange::Exchange`].
pub fn must_be_told_alike(what: impl FnOnce() -> String) -> Result<()> {
    let Some(ranks) = all().filter(|ranks| ranks.size() > 1) else { return Ok(()) };
    let told = ranks.tell(what().as_bytes())?;
    let other = (1..).zip(&told[1..]).find(|(_, other)| **other != told[0]);
    let Some((rank, other)) = other else { return Ok(()) };
    let [other, first] = [other, &told[0]].map(|bytes| String::from_utf8_lossy(bytes));
    Err(Error::Outside(format!(
        "rank 0 was told {first}; rank {rank} was told {other}: all ranks must run the same program on the same input with the same options"
    )))
}

/// A checksum of this program's own file: ranks may have been built apart.
pub fn program_sum() -> u32 {
    let own = std::env::current_exe().and_then(std::fs::read);
    own.map_or(0, |bytes| crc32fast::hash(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let what = [("program", 1), ("settings", 2)];
        let of =
            |sums: [u32; 2]| sums.iter().flat_map(|sum| sum.to_le_bytes()).collect::<Vec<u8>>();
        let same = of([1, 2]);
        assert_eq!(first_difference(&what, &[same.clone(), same.clone()]), None);
        let told = [same.clone(), same.clone(), of([1, 3])];
        assert_eq!(first_difference(&what, &told), Some((2, "settings")));
        let told = [same.clone(), of([0, 3])];
        assert_eq!(first_difference(&what, &told), Some((1, "program")));
        // Of a version that told more.
        let told = [same.clone(), [same, vec![0; 4]].concat()];
        assert_eq!(first_difference(&what, &told), Some((1, "version of the program")));
    }
}
