//! Small numerical helpers that know nothing of gravity.

mod ahead;
pub(crate) mod arithmetic;
mod finite;
mod length;
mod quantiles;
mod sum;

pub use ahead::fetch_ahead;
pub use finite::{all_finite, all_vectors_finite};
pub use length::length;
pub use quantiles::weighted_quantiles;
pub(crate) use sum::sums_of;
pub use sum::{CompensatedSum, sum, sum_of, sum_vec, sum_vec_of};
