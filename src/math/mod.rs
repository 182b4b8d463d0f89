//! Small numerical helpers that know nothing of gravity.

mod sum;

pub use sum::{CompensatedSum, sum, sum_vec};
