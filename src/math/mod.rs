//! Small numerical helpers that know nothing of gravity.

mod ahead;
mod all_reduce;
pub(crate) mod arithmetic;
mod finite;
mod length;
mod quantiles;
mod sum;

pub use ahead::fetch_ahead;
pub(crate) use all_reduce::{AllReduce, Alone, all_largest_of, all_sums_of};
pub use finite::{all_finite, all_vectors_finite};
pub use length::length;
pub(crate) use quantiles::weighted_quantiles;
pub(crate) use sum::exact_sums_of;
pub use sum::{ExactSum, sum, sum_of, sum_vec, sum_vec_of};
