//! Whether kernels are right: everything that a device computes, against f64.

mod derivatives;
mod engines;
mod kernels;
mod steps;
mod tree;

pub use derivatives::{DirectCase, DirectRow, check_direct, direct_cases};
pub use engines::{EngineRow, check_engines};
pub use kernels::{Case, Row, Skipped, cases, cases_of, check};
pub use steps::{StepsRow, check_steps, steps_cases};
pub use tree::{
    BuiltTree, Cloud, Compared, TreeCase, TreeLimits, TreeRow, check_tree, tree_cases,
    upload_places,
};
