//! The tree on a device, compared with the host stage by stage: each host stage takes the output of
//! the device's previous stage.

use crate::common;

mod balance;
mod bodies;
mod forces;
mod lists;
mod rebuilds;
mod stages;
mod steps;
