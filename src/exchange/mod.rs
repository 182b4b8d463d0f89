//! What members of a group say to each other: devices of this process, ranks of MPI, or both.
//!
//! Each member owns a range of the bodies (`shares`) and steps it. All do the same things in the same order; where
//! one needs what the others have made, it calls an [`Exchange`], which returns once all of them have called it. So
//! whoever computes knows nothing of threads or networks, and the order of every sum is the order of members.

mod barrier;
#[cfg(feature = "mpi")]
pub mod mpi;
mod ranks;
mod shares;
mod threads;

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use crate::error::{Error, Result};

pub use ranks::Ranks;
pub use shares::{equal_shares, shares};
pub use threads::{Lent, Member, team};

/// Takes in what a member sent: its number and its bytes.
pub type Hear<'a> = dyn FnMut(usize, &[u8]) + 'a;

/// A member's way to the others of its group. Every call is collective: all members make the same ones in the same order.
///
/// Errors of every call: another member has given up, or is gone.
pub trait Exchange: Send {
    /// How many members there are.
    fn members(&self) -> usize;

    /// Which of them this is, from 0.
    fn member(&self) -> usize;

    /// An all-gather: every member tells `mine`, of `bytes[member]` bytes, and `hear` is called with what each has
    /// told, its own too, in the order of members.
    fn all_gather(&mut self, mine: &[u8], bytes: &[usize], hear: &mut Hear<'_>) -> Result<()>;

    /// Tells the others that this member gives up, and why: what they wait for, or call next, is an error.
    fn abort(&self, why: &str);

    /// Says to other processes that work is to be broken off ([`crate::stop`]), if it is, and hears whether they say so:
    /// it is to be broken off here then, too. Nothing is waited for. Called between pieces of long work.
    fn look_for_stop(&mut self) {}

    /// The greatest of what all members say.
    fn greatest(&mut self, mine: u8) -> Result<u8> {
        let mut greatest = 0;
        let bytes = vec![1; self.members()];
        self.all_gather(&[mine], &bytes, &mut |_, told| {
            greatest = told.iter().copied().fold(greatest, u8::max);
        })?;
        Ok(greatest)
    }

    /// Whether all members say yes.
    fn all_agree(&mut self, yes: bool) -> Result<bool> {
        Ok(self.greatest(u8::from(!yes))? == 0)
    }

    /// What has come of something that all members do and that may be broken off: if it was anywhere, it was for all.
    ///
    /// Errors: [`Error::Stopped`]; this member's own error, of which the others are to be told ([`Exchange::abort`]).
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

    /// Adds up the `values` of all members, entry by entry, in the order of members: all have the same bits then.
    fn sum(&mut self, values: &mut [f64]) -> Result<()> {
        let mine = values.to_vec();
        let bytes = vec![size_of_val(values); self.members()];
        values.fill(0.0);
        self.all_gather(bytemuck::cast_slice(&mine), &bytes, &mut |_, told| {
            for (value, one) in values.iter_mut().zip(told.chunks_exact(size_of::<f64>())) {
                *value += bytemuck::pod_read_unaligned::<f64>(one);
            }
        })
    }
}

/// How often it is looked whether long work is to be broken off.
const LOOKS: Duration = Duration::from_millis(50);

/// Does `work`, which takes long, on another thread, while this one looks whether it is to be broken off elsewhere.
pub fn while_looking<T: Send>(way: &mut dyn Exchange, work: impl FnOnce() -> T + Send) -> T {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let result = work();
            // Nobody waits for it after a panic here.
            let _ = done.send(());
            result
        });
        while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(LOOKS) {
            way.look_for_stop();
        }
        // Where it was broken off here, the others have to hear of it.
        way.look_for_stop();
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What a member is told when another has given up: its own error says what was wrong, this one only that it ended.
pub(crate) fn given_up(why: &str) -> Error {
    Error::Member(why.to_owned())
}
