//! Small numerical helpers that know nothing of gravity.

pub(crate) mod arithmetic;
mod sum;

pub use sum::{CompensatedSum, sum, sum_of, sum_vec, sum_vec_of};
