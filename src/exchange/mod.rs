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

use crate::error::{Error, Result};

pub use ranks::Ranks;
pub use shares::{equal_shares, shares};
pub use threads::{Member, team};

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

/// What a member is told when another has given up: its own error says what was wrong, this one only that it ended.
pub(crate) fn given_up(why: &str) -> Error {
    Error::Member(why.to_owned())
}
