//! Exchange between MPI ranks. Only the thread that initialized MPI calls it, which every MPI
//! library allows (MPI_THREAD_FUNNELED).

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use mpi::datatype::{Partition, PartitionMut};
use mpi::request::{Request, Scope};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::{CommunicatorCollectives, Destination, Source};
use mpi::{Tag, Threading};

use super::{Exchange, Ranks, Reader};
use crate::error::{Error, Result};
use crate::stop;

/// The ranks of the world communicator. MPI itself belongs to the process.
struct World {
    rank: usize,
    size: usize,
    /// Whether all ranks have been notified that work is to stop, by this rank or another.
    is_stopping: bool,
}

/// Tag of stop messages; all other communication is collective.
const STOP: Tag = 1;

/// The MPI environment, until [`end`] drops it, which finalizes MPI.
static ENVIRONMENT: OnceLock<std::sync::Mutex<Option<Universe>>> = OnceLock::new();

struct Universe {
    _until_dropped: mpi::environment::Universe,
}

// SAFETY: it is dropped by the thread that initialized MPI (see `end`) and not used otherwise.
unsafe impl Send for Universe {}

/// Maximum number of bytes of all ranks in one call: MPI counts in 32 bits.
const MAX_BYTES: usize = 1 << 30;

/// Initializes MPI. Called once per process, by its main thread.
///
/// # Errors
/// MPI is already initialized; the library supports no threads besides its own.
pub fn begin() -> Result<Ranks> {
    let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)
        .ok_or_else(|| Error::Outside("MPI has begun already".to_owned()))?;
    if threading < Threading::Funneled {
        let words = "this MPI library does not allow threads besides the one that calls it";
        return Err(Error::Outside(words.to_owned()));
    }
    let world = universe.world();
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    let same_host = world.split_shared(world.rank());
    let (local, local_size) = (same_host.rank() as usize, same_host.size() as usize);
    let _ = ENVIRONMENT.set(std::sync::Mutex::new(Some(Universe { _until_dropped: universe })));
    let ranks = Ranks::new(Box::new(World { rank, size, is_stopping: false }), local);
    Ok(ranks.with_neighbours(local_size))
}

/// Finalizes MPI after the last exchange; waits for the other ranks.
pub fn end() {
    if let Some(environment) = ENVIRONMENT.get()
        && let Ok(mut environment) = environment.lock()
    {
        // If several ranks stopped at once, stop messages to this one are still pending.
        poll_stop(&SimpleCommunicator::world());
        drop(environment.take());
    }
}

/// Terminates all ranks with this exit code.
pub fn abort(code: i32) -> ! {
    SimpleCommunicator::world().abort(code)
}

/// The machine's name as reported by MPI.
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

    fn all_gather(&mut self, mine: &[u8], bytes: &[usize], receive: &mut Reader<'_>) -> Result<()> {
        let world = SimpleCommunicator::world();
        let total: usize = bytes.iter().sum();
        if total == 0 {
            // MPI rejects aliased buffers, and all empty buffers have the same address.
            wait(world.immediate_barrier(), 0);
            (0..self.size).for_each(|rank| receive(rank, &[]));
            return Ok(());
        }
        if total <= MAX_BYTES {
            let mut all = vec![0; total];
            gather(&world, mine, bytes, &mut all);
            let mut at = 0;
            for (rank, length) in bytes.iter().enumerate() {
                receive(rank, &all[at..at + length]);
                at += length;
            }
            return Ok(());
        }
        // In rounds of one chunk per rank.
        let chunk = (MAX_BYTES / self.size).max(1);
        let mut messages: Vec<Vec<u8>> = bytes.iter().map(|n| Vec::with_capacity(*n)).collect();
        let rounds = bytes.iter().map(|n| n.div_ceil(chunk)).max().unwrap_or(0);
        for round in 0..rounds {
            let range = |length: usize| {
                let begin = (round * chunk).min(length);
                begin..(begin + chunk).min(length)
            };
            let lengths: Vec<usize> = bytes.iter().map(|n| range(*n).len()).collect();
            let mut all = vec![0; lengths.iter().sum()];
            gather(&world, &mine[range(mine.len())], &lengths, &mut all);
            let mut at = 0;
            for (message, length) in messages.iter_mut().zip(lengths) {
                message.extend_from_slice(&all[at..at + length]);
                at += length;
            }
        }
        messages.iter().enumerate().for_each(|(rank, message)| receive(rank, message));
        Ok(())
    }

    fn deliver(
        &mut self,
        mine: &[Vec<u8>],
        table: &[Vec<usize>],
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        let world = SimpleCommunicator::world();
        let lengths: Vec<usize> = table.iter().map(|row| row[self.rank]).collect();
        // In rounds, so that neither what a rank sends nor what it receives exceeds what MPI counts.
        let chunk = (MAX_BYTES / self.size).max(1);
        let longest = table.iter().flatten().copied().max().unwrap_or(0);
        let mut messages: Vec<Vec<u8>> = lengths.iter().map(|n| Vec::with_capacity(*n)).collect();
        for begin in (0..longest).step_by(chunk) {
            let range = |length: usize| begin.min(length)..(begin + chunk).min(length);
            let parts: Vec<&[u8]> = mine.iter().map(|all| &all[range(all.len())]).collect();
            // One byte more, since MPI rejects aliased buffers, and all empty buffers have the same
            // address.
            let sent = [&parts.concat()[..], &[0]].concat();
            let to: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            let from: Vec<usize> = lengths.iter().map(|n| range(*n).len()).collect();
            let mut received = vec![0; from.iter().sum::<usize>() + 1];
            let bytes = sent.len() + received.len();
            let [(to, sent_at), (from, at)] = [to, from].map(|lengths| counts(&lengths));
            let mut places = PartitionMut::new(&mut received[..], &from[..], &at[..]);
            let sent = Partition::new(&sent[..], to, sent_at);
            mpi::request::scope(|scope| {
                let exchanged = world.immediate_all_to_all_varcount_into(scope, &sent, &mut places);
                wait(exchanged, bytes);
            });
            for (message, (count, at)) in messages.iter_mut().zip(from.into_iter().zip(at)) {
                message.extend_from_slice(&received[at as usize..][..count as usize]);
            }
        }
        messages.iter().enumerate().for_each(|(rank, message)| receive(rank, message));
        Ok(())
    }

    fn poll_stop(&mut self) {
        let world = SimpleCommunicator::world();
        if self.is_stopping {
            return;
        }
        if stop::is_wanted() {
            let others = (0..self.size).filter(|rank| *rank != self.rank);
            others.for_each(|rank| world.process_at_rank(rank as i32).send_with_tag(&[0u8], STOP));
            self.is_stopping = true;
        } else if poll_stop(&world) {
            stop::all_work(true);
            self.is_stopping = true;
        }
    }

    fn abort(&self, _: &str) {
        // The program calls `abort` above after it has printed the error.
    }
}

/// How long a collective operation is polled for without a pause, and that much longer for each
/// byte: MPI libraries move data only while they are polled, a piece each time.
const SPIN: Duration = Duration::from_millis(1);
const SPIN_PER_BYTE: Duration = Duration::from_nanos(1);

/// The pause between later polls.
const PAUSE: Duration = Duration::from_micros(50);

/// Waits for a collective operation. MPI libraries wait in a loop that leaves its core to nobody: four
/// ranks on two cores took 15 times as long as two.
fn wait<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>, bytes: usize) {
    let spin = SPIN + SPIN_PER_BYTE * u32::try_from(bytes).unwrap_or(u32::MAX);
    let begun = Instant::now();
    while let Err(pending) = request.test() {
        request = pending;
        match begun.elapsed() < spin {
            true => std::thread::yield_now(),
            false => std::thread::sleep(PAUSE),
        }
    }
}

/// Receives all pending stop messages; returns whether there were any.
fn poll_stop(world: &SimpleCommunicator) -> bool {
    let mut received = false;
    while let Some(status) = world.any_process().immediate_probe_with_tag(STOP) {
        let mut message = [0u8];
        world.process_at_rank(status.source_rank()).receive_into_with_tag(&mut message, STOP);
        received = true;
    }
    received
}

/// All-gather of `bytes[rank]` bytes of each rank, concatenated.
fn gather(world: &SimpleCommunicator, mine: &[u8], bytes: &[usize], all: &mut [u8]) {
    let (counts, begins) = counts(bytes);
    let mut partition = PartitionMut::new(all, counts, begins);
    mpi::request::scope(|scope| {
        let total = bytes.iter().sum();
        wait(world.immediate_all_gather_varcount_into(scope, mine, &mut partition), total);
    });
}

/// These lengths as MPI's counts, and where each begins after the ones before.
fn counts(bytes: &[usize]) -> (Vec<i32>, Vec<i32>) {
    let counts: Vec<i32> = bytes.iter().map(|n| *n as i32).collect();
    let begins = counts.iter().scan(0, |at, n| {
        *at += n;
        Some(*at - n)
    });
    let begins = begins.collect();
    (counts, begins)
}
