//! Correctness of kernels: checks everything a device computes against f64.

mod accesses;
#[cfg(not(target_arch = "wasm32"))]
mod derivatives;
mod kernels;
#[cfg(not(target_arch = "wasm32"))]
mod steps;
#[cfg(not(target_arch = "wasm32"))]
mod tree;

pub use accesses::{Accesses, Finding, Turns, accesses};
#[cfg(not(target_arch = "wasm32"))]
pub use derivatives::{
    DirectCase, DirectRow, EngineRow, ForceErrors, check_direct, check_engines, direct_cases,
};
#[cfg(not(target_arch = "wasm32"))]
pub use kernels::check;
pub use kernels::{CaseResult, KernelCase, Skipped, cases, cases_around, cases_of, check_case};
#[cfg(not(target_arch = "wasm32"))]
pub use steps::{StepsRow, check_steps, steps_cases};
#[cfg(not(target_arch = "wasm32"))]
pub use tree::{
    BuiltTree, Cloud, StageResult, TreeCase, TreeLimits, TreeRow, check_tree, tree_cases,
    upload_places,
};
