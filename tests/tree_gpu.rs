//! The tree on a device, compared with the host stage by stage: each host stage takes the output of
//! the device's previous stage.

mod common;

#[path = "tree_gpu/balance.rs"]
mod balance;
#[path = "tree_gpu/bodies.rs"]
mod bodies;
#[path = "tree_gpu/forces.rs"]
mod forces;
#[path = "tree_gpu/lists.rs"]
mod lists;
#[path = "tree_gpu/rebuilds.rs"]
mod rebuilds;
#[path = "tree_gpu/stages.rs"]
mod stages;
#[path = "tree_gpu/steps.rs"]
mod steps;
