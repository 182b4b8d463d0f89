//! Collective communication between the members of a group: devices of this process, MPI ranks, or
//! both.
//!
//! Each member owns a range of the bodies (`shares`) and steps it. All members perform the same
//! operations in the same order; where one needs data of the others it calls an [`Exchange`], which
//! returns once all members have called it. Numerical code is thus independent of threads and
//! networks, and all sums are taken in the order of members.
//!
//! Members may be threads of this process (`threads`), MPI ranks (`mpi`, feature `mpi`), or both:
//! then the first device of a rank communicates for the other devices of its rank.

mod barrier;
#[cfg(feature = "mpi")]
pub mod mpi;
mod ranks;
mod shares;
mod threads;

use std::ops::AddAssign;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use bytemuck::Pod;

use crate::error::{Error, Result};

pub use ranks::Ranks;
pub use shares::{equal_shares, shares};
pub use threads::{Member, SharedBuffer, team};

/// Receives a member's message: its number and its bytes.
pub type Reader<'a> = dyn FnMut(usize, &[u8]) + 'a;

/// A member's endpoint for communication with its group. Every call is collective: all members make
/// the same calls in the same order.
///
/// # Errors
/// Every call fails if another member has aborted or is gone.
pub trait Exchange: Send {
    /// Number of members.
    fn members(&self) -> usize;

    /// Number of this member, from 0.
    fn member(&self) -> usize;

    /// All-gather: every member sends `mine`, of `bytes[member]` bytes, and `receive` is called
    /// with the message of each member, including its own, in the order of members.
    fn all_gather(&mut self, mine: &[u8], bytes: &[usize], receive: &mut Reader<'_>) -> Result<()>;

    /// All-to-all: sends `mine[k]` to member k, and `receive` is called with the message of each
    /// member for this one, in the order of members. Members need not know the lengths.
    fn all_to_all(&mut self, mine: &[&[u8]], receive: &mut Reader<'_>) -> Result<()> {
        let members = self.members();
        let lengths: Vec<u64> = mine.iter().map(|message| message.len() as u64).collect();
        let mut table = Vec::with_capacity(members);
        let bytes = vec![size_of_val(&lengths[..]); members];
        self.all_gather(bytemuck::cast_slice(&lengths), &bytes, &mut |_, row| {
            let row: Vec<u64> = bytemuck::pod_collect_to_vec(row);
            table.push(row.into_iter().map(|length| length as usize).collect());
        })?;
        self.deliver(mine, &table, receive)
    }

    /// [`Exchange::all_to_all`] of messages whose lengths are known: `table[k][l]` is that of the
    /// message from member k to member l.
    fn deliver(
        &mut self,
        mine: &[&[u8]],
        table: &[Vec<usize>],
        receive: &mut Reader<'_>,
    ) -> Result<()>;

    /// All-gather of messages of any length, in the order of members.
    fn gather_messages(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        gather_by_lengths(self, mine)
    }

    /// All-gather of messages of any length, each of which is sent in pieces: `receive` is called
    /// with that of each member, in the order of members.
    fn gather_pieces(&mut self, mine: &[&[u8]], receive: &mut Reader<'_>) -> Result<()> {
        gather_joined(self, mine, receive)
    }

    /// Aborts the group with a reason: pending and later calls of the other members fail.
    fn abort(&self, why: &str);

    /// If work is to stop ([`crate::stop`]), notifies the other processes; if one of them has sent
    /// such a notice, stops the work of this one. Does not block. Called periodically during long
    /// work.
    fn poll_stop(&mut self);

    /// The maximum of `mine` over all members.
    fn greatest(&mut self, mine: u8) -> Result<u8> {
        let mut greatest = 0;
        let bytes = vec![1; self.members()];
        self.all_gather(&[mine], &bytes, &mut |_, received| {
            greatest = received.iter().copied().fold(greatest, u8::max);
        })?;
        Ok(greatest)
    }

    /// Whether `yes` is true for all members.
    fn all_agree(&mut self, yes: bool) -> Result<bool> {
        Ok(self.greatest(u8::from(!yes))? == 0)
    }

    /// Outcome of a collective operation that any member can cancel: if one was stopped, all return
    /// [`Error::Stopped`].
    ///
    /// # Errors
    /// [`Error::Stopped`]; this member's own error, after which it has to call [`Exchange::abort`].
    fn unless_stopped<T>(&mut self, done: Result<T>) -> Result<T>
    where
        Self: Sized,
    {
        let stopped = matches!(done, Err(Error::Stopped));
        match done {
            Err(error) if !stopped => Err(error),
            done => match self.all_agree(!stopped)? {
                true => done,
                false => Err(Error::Stopped),
            },
        }
    }

    /// Returns once all members have called it.
    fn barrier(&mut self) -> Result<()> {
        self.all_gather(&[], &vec![0; self.members()], &mut |_, _| ())
    }

    /// Sums the `values` of all members elementwise, in the order of members: all get the same
    /// bits.
    fn sum(&mut self, values: &mut [f64]) -> Result<()> {
        let mine = values.to_vec();
        let bytes = vec![size_of_val(values); self.members()];
        values.fill(0.0);
        self.all_gather(bytemuck::cast_slice(&mine), &bytes, &mut |_, received| {
            for (value, one) in values.iter_mut().zip(received.chunks_exact(size_of::<f64>())) {
                *value += bytemuck::pod_read_unaligned::<f64>(one);
            }
        })
    }
}

/// [`Exchange::gather_messages`] by two all-gathers, the first of which is of their lengths.
fn gather_by_lengths<E: Exchange + ?Sized>(exchange: &mut E, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
    let members = exchange.members();
    let mut lengths = vec![None; members];
    let length = (mine.len() as u64).to_le_bytes();
    exchange.all_gather(&length, &vec![length.len(); members], &mut |member, received| {
        lengths[member] = received.try_into().ok().map(|bytes| u64::from_le_bytes(bytes) as usize);
    })?;
    let Some(lengths) = lengths.into_iter().collect::<Option<Vec<usize>>>() else {
        let what =
            "the members of a group are not at the same exchange: do all run the same program?";
        return Err(Error::Outside(what.to_owned()));
    };
    let mut all = Vec::with_capacity(members);
    exchange.all_gather(mine, &lengths, &mut |_, received| all.push(received.to_vec()))?;
    Ok(all)
}

/// [`Exchange::gather_pieces`] by messages that are joined first.
fn gather_joined<E: Exchange + ?Sized>(
    exchange: &mut E,
    mine: &[&[u8]],
    receive: &mut Reader<'_>,
) -> Result<()> {
    let all = exchange.gather_messages(&mine.concat())?;
    all.iter().enumerate().for_each(|(from, message)| receive(from, message));
    Ok(())
}

/// All-gather of values, in the order of members.
///
/// # Errors
/// As of [`Exchange`].
pub fn gather<T: Pod>(exchange: &mut dyn Exchange, mine: &[T]) -> Result<Vec<Vec<T>>> {
    let messages = exchange.gather_messages(bytemuck::cast_slice(mine))?;
    Ok(messages.iter().map(|message| bytemuck::pod_collect_to_vec(message)).collect())
}

/// Sends `mine[k]` to member k and returns what the members have sent to this one, in their order.
///
/// # Errors
/// As of [`Exchange`].
pub fn send_each<T: Pod>(exchange: &mut dyn Exchange, mine: &[Vec<T>]) -> Result<Vec<Vec<T>>> {
    let mine: Vec<&[u8]> = mine.iter().map(|values| bytemuck::cast_slice(values)).collect();
    let mut all = Vec::with_capacity(exchange.members());
    exchange.all_to_all(&mine, &mut |_, received| {
        all.push(bytemuck::pod_collect_to_vec(received));
    })?;
    Ok(all)
}

/// Sums the `values` of all members elementwise. Integers, so that the order does not matter.
///
/// # Errors
/// As of [`Exchange`].
pub fn sum_integers<T: Pod + AddAssign>(
    exchange: &mut dyn Exchange,
    values: &mut [T],
) -> Result<()> {
    let (own, bytes) = (exchange.member(), vec![size_of_val(values); exchange.members()]);
    let mine = values.to_vec();
    exchange.all_gather(bytemuck::cast_slice(&mine), &bytes, &mut |member, received| {
        if member != own {
            let others = received.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned);
            values.iter_mut().zip(others).for_each(|(value, other): (&mut T, T)| *value += other);
        }
    })
}

/// Interval of checks for a stop during long work.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `work`, which takes long, on another thread, while this one checks whether it is to stop.
pub fn polling_stop<T: Send>(exchange: &mut dyn Exchange, work: impl FnOnce() -> T + Send) -> T {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let result = work();
            // Fails only if the receiver is gone after a panic.
            let _ = done.send(());
            result
        });
        while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(STOP_INTERVAL) {
            exchange.poll_stop();
        }
        // If the work was stopped here, the other processes must be notified.
        exchange.poll_stop();
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The error of a member after another has aborted: that one's own error has the cause, this one
/// only the reason given.
pub(crate) fn aborted(why: &str) -> Error {
    Error::Member(why.to_owned())
}
