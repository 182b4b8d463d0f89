//! Exchange between MPI ranks. Only the thread that initialized MPI calls it, which every MPI
//! library allows (MPI_THREAD_FUNNELED).

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use mpi::datatype::PartitionMut;
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
    /// Received bytes. The buffer is reused, since writing to new pages is slow: 1.6 GB/s on an AMD
    /// EPYC, 11 GB/s to pages in use.
    gathered: Vec<u8>,
    received: Vec<Vec<u8>>,
}

/// Tags of stop messages and of messages from rank to rank; all other communication is collective.
const STOP: Tag = 1;
const MESSAGE: Tag = 2;

/// The MPI environment, until [`end`] drops it, which finalizes MPI.
static ENVIRONMENT: OnceLock<std::sync::Mutex<Option<Universe>>> = OnceLock::new();

struct Universe {
    _until_dropped: mpi::environment::Universe,
}

// SAFETY: it is dropped by the thread that initialized MPI (see `end`) and not used otherwise.
unsafe impl Send for Universe {}

/// The most bytes of a message, and of those of all ranks in an all-gather: MPI counts in 32 bits.
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
    let (gathered, received) = (Vec::new(), vec![Vec::new(); size]);
    let world = World { rank, size, is_stopping: false, gathered, received };
    let ranks = Ranks::new(Box::new(world), local);
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

impl World {
    /// Sends `mine[k]` to rank k, and receives `lengths[k]` bytes from it.
    fn send(&mut self, mine: &[&[u8]], lengths: &[usize], receive: &mut Reader<'_>) {
        let world = SimpleCommunicator::world();
        let own = self.rank;
        let bytes = lengths.iter().sum::<usize>() + mine.iter().map(|all| all.len()).sum::<usize>();
        for (rank, (received, length)) in self.received.iter_mut().zip(lengths).enumerate() {
            received.resize(if rank == own { 0 } else { *length }, 0);
        }
        mpi::request::scope(|scope| {
            let mut pending = Vec::new();
            for (rank, received) in self.received.iter_mut().enumerate() {
                let from = world.process_at_rank(rank as i32);
                let pieces = received.chunks_mut(MAX_BYTES).filter(|_| rank != own);
                pending.extend(
                    pieces.map(|piece| from.immediate_receive_into_with_tag(scope, piece, MESSAGE)),
                );
            }
            let mut sent = Vec::new();
            for (rank, message) in mine.iter().enumerate().filter(|(rank, _)| *rank != own) {
                let to = world.process_at_rank(rank as i32);
                let pieces = message.chunks(MAX_BYTES);
                sent.extend(pieces.map(|piece| to.immediate_send_with_tag(scope, piece, MESSAGE)));
            }
            pending.into_iter().for_each(|request| wait(request, bytes));
            sent.into_iter().for_each(|request| wait(request, bytes));
        });
        for (rank, received) in self.received.iter().enumerate() {
            receive(rank, if rank == own { mine[own] } else { received });
        }
        self.received.iter_mut().for_each(release_if_large);
    }
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
            self.gathered.resize(total, 0);
            gather(&world, mine, bytes, &mut self.gathered);
            let mut at = 0;
            for (rank, length) in bytes.iter().enumerate() {
                receive(rank, &self.gathered[at..at + length]);
                at += length;
            }
            release_if_large(&mut self.gathered);
            return Ok(());
        }
        let mine = vec![mine; self.size];
        self.send(&mine, bytes, receive);
        Ok(())
    }

    fn deliver(
        &mut self,
        mine: &[&[u8]],
        table: &[Vec<usize>],
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        let lengths: Vec<usize> = table.iter().map(|row| row[self.rank]).collect();
        self.send(mine, &lengths, receive);
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

/// How long an operation is polled without a pause, and the addition per byte: MPI libraries make
/// progress only while they are polled.
const SPIN: Duration = Duration::from_millis(1);
const SPIN_PER_BYTE: Duration = Duration::from_nanos(1);

/// The pause between later polls.
const PAUSE: Duration = Duration::from_micros(50);

/// Waits for an operation, yielding the core between polls. The libraries' own waits do not yield:
/// four ranks on two cores took 15 times as long as two.
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

/// Buffers larger than this are freed after use: messages of that size are rare.
const LARGE: usize = 1 << 28;

fn release_if_large(memory: &mut Vec<u8>) {
    if memory.capacity() > LARGE {
        *memory = Vec::new();
    }
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

/// MPI's counts and displacements for concatenated messages of these lengths.
fn counts(bytes: &[usize]) -> (Vec<i32>, Vec<i32>) {
    let counts: Vec<i32> = bytes.iter().map(|n| *n as i32).collect();
    let begins = counts.iter().scan(0, |at, n| {
        *at += n;
        Some(*at - n)
    });
    let begins = begins.collect();
    (counts, begins)
}
