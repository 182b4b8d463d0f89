//! Small numerical helpers that know nothing of gravity.

mod ahead;
pub(crate) mod arithmetic;
mod sum;

pub(crate) use ahead::fetch_ahead;
pub use sum::{CompensatedSum, sum, sum_of, sum_vec, sum_vec_of};
