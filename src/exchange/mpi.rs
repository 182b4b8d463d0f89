//! Ranks of MPI. Only the thread that began MPI calls it, which every MPI library allows.

use std::sync::OnceLock;

use mpi::datatype::PartitionMut;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::{CommunicatorCollectives, Destination, Source};
use mpi::{Tag, Threading};

use super::{Exchange, Hear, Ranks};
use crate::error::{Error, Result};
use crate::stop;

/// All ranks. MPI itself is the process's own.
struct World {
    rank: usize,
    size: usize,
    /// Whether this rank knows that work is to be broken off, and so do the others, by this rank or by another.
    is_stopping: bool,
}

/// Messages that work is to be broken off; all else is said to all ranks at once, without a tag.
const STOP: Tag = 1;

/// MPI itself, until [`end`]: dropped, it takes its leave of the other ranks.
static BEGUN: OnceLock<std::sync::Mutex<Option<Universe>>> = OnceLock::new();

struct Universe {
    _until_dropped: mpi::environment::Universe,
}

// SAFETY: it is dropped by the thread that began MPI (see `end`), and nothing else is done with it.
unsafe impl Send for Universe {}

/// Bytes that all ranks together tell in one call: MPI counts in 32 bits.
const MOST_BYTES: usize = 1 << 30;

/// Begins MPI and finds the other ranks. Once in a process, by its main thread.
///
/// Errors: MPI has begun already; a library without threads beside its own.
pub fn begin() -> Result<Ranks> {
    let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)
        .ok_or_else(|| Error::Outside("MPI has begun already".to_owned()))?;
    if threading < Threading::Funneled {
        let words = "this MPI library does not allow threads beside the one that calls it";
        return Err(Error::Outside(words.to_owned()));
    }
    let world = universe.world();
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    let there = world.split_shared(world.rank());
    let (local, there) = (there.rank() as usize, there.size() as usize);
    let _ = BEGUN.set(std::sync::Mutex::new(Some(Universe { _until_dropped: universe })));
    let ranks = Ranks::new(Box::new(World { rank, size, is_stopping: false }), local);
    Ok(ranks.with_neighbours(there))
}

/// Takes leave of the other ranks, after the last exchange; waits for them.
pub fn end() {
    if let Some(begun) = BEGUN.get()
        && let Ok(mut begun) = begun.lock()
    {
        // Where several ranks were to stop, each has told the others, who knew.
        hear_stop(&SimpleCommunicator::world());
        drop(begun.take());
    }
}

/// Ends all ranks at once, with this exit code.
pub fn abort(code: i32) -> ! {
    SimpleCommunicator::world().abort(code)
}

/// The machine's name as MPI knows it.
pub fn machine() -> String {
    mpi::environment::processor_name().unwrap_or_else(|_| "a machine without a name".to_owned())
}

impl Exchange for World {
    fn members(&self) -> usize {
        self.size
    }

    fn member(&self) -> usize {
        self.rank
    }

    fn all_gather(&mut self, mine: &[u8], bytes: &[usize], hear: &mut Hear<'_>) -> Result<()> {
        let world = SimpleCommunicator::world();
        let total: usize = bytes.iter().sum();
        if total == 0 {
            // MPI refuses buffers in the same place, as are all that have no room.
            world.barrier();
            (0..self.size).for_each(|rank| hear(rank, &[]));
            return Ok(());
        }
        if total <= MOST_BYTES {
            let mut all = vec![0; total];
            gather(&world, mine, bytes, &mut all);
            let mut at = 0;
            for (rank, length) in bytes.iter().enumerate() {
                hear(rank, &all[at..at + length]);
                at += length;
            }
            return Ok(());
        }
        // In rounds, in which each rank tells a piece of what it has.
        let piece = (MOST_BYTES / self.size).max(1);
        let mut told: Vec<Vec<u8>> = bytes.iter().map(|n| Vec::with_capacity(*n)).collect();
        let rounds = bytes.iter().map(|n| n.div_ceil(piece)).max().unwrap_or(0);
        for round in 0..rounds {
            let part = |length: usize| {
                let begin = (round * piece).min(length);
                begin..(begin + piece).min(length)
            };
            let lengths: Vec<usize> = bytes.iter().map(|n| part(*n).len()).collect();
            let mut all = vec![0; lengths.iter().sum()];
            gather(&world, &mine[part(mine.len())], &lengths, &mut all);
            let mut at = 0;
            for (told, length) in told.iter_mut().zip(lengths) {
                told.extend_from_slice(&all[at..at + length]);
                at += length;
            }
        }
        told.iter().enumerate().for_each(|(rank, told)| hear(rank, told));
        Ok(())
    }

    fn look_for_stop(&mut self) {
        let world = SimpleCommunicator::world();
        if self.is_stopping {
            return;
        }
        if stop::is_wanted() {
            let others = (0..self.size).filter(|rank| *rank != self.rank);
            others.for_each(|rank| world.process_at_rank(rank as i32).send_with_tag(&[0u8], STOP));
            self.is_stopping = true;
        } else if hear_stop(&world) {
            stop::all_work(true);
            self.is_stopping = true;
        }
    }

    fn abort(&self, _: &str) {
        // The program does that, once it has said what was wrong: see `abort` above.
    }
}

/// Takes in what ranks have said of breaking off; whether any has.
fn hear_stop(world: &SimpleCommunicator) -> bool {
    let mut heard = false;
    while let Some(status) = world.any_process().immediate_probe_with_tag(STOP) {
        let mut told = [0u8];
        world.process_at_rank(status.source_rank()).receive_into_with_tag(&mut told, STOP);
        heard = true;
    }
    heard
}

/// An all-gather of so many bytes of each rank, one after the other.
fn gather(world: &SimpleCommunicator, mine: &[u8], bytes: &[usize], all: &mut [u8]) {
    let counts: Vec<i32> = bytes.iter().map(|n| *n as i32).collect();
    let begins: Vec<i32> = counts
        .iter()
        .scan(0, |at, n| {
            *at += n;
            Some(*at - n)
        })
        .collect();
    let mut parts = PartitionMut::new(all, counts, begins);
    world.all_gather_varcount_into(mine, &mut parts);
}
