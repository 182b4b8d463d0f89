//! The C library: gravitile behind the C and Fortran interfaces of GRAPE-6, GRAPE-5 and Sapporo2,
//! so that existing N-body codes link without changes. `docs/direct.md` is its manual,
//! `include/gravitile.h` its header.
//!
//! A client writes j-particles (sources) to addresses, starts the forces on i-particles (sinks) in
//! a first half, does its own work, waits in a last half, and reads neighbour lists. Particles are
//! stored on the host in f64; a [`gravitile::forces::ForceEngine`] computes the forces and, if it
//! can, predicts the particles.
//!
//! | file | contents |
//! |---|---|
//! | `g6`, `g5`, `sixth` | the exported functions; `forms` defines the C and Fortran variants |
//! | `object` | functions behind the C++ class `sapporo` of `include/sapporo.h` |
//! | `slices` | C pointers as slices: all `unsafe` except in `forms`, `guard` and `queue` |
//! | `guard` | panics and errors become return codes and one line on stderr; detection of fork() |
//! | `registry` | open clusters and boards, locks, shared devices |
//! | `cluster`, `memory` | one GRAPE: j-particles, pending calls by thread, neighbour lists |
//! | `board` | one GRAPE-5 board: sources, sinks, softenings |
//! | `queue` | a j-particle as clients set it; those not yet stored in a memory |
//! | `results` | forces with one softening per sink; the client's arrays for results |
//! | `options` | user options: engine, precision, adapter, tuned kernels |
//!
//! From a client's j-particle to a sum: `g6` makes a `Particle`, `registry` finds the
//! cluster's `queue`, whose entries `cluster` has `memory` announce to the engine
//! ([`gravitile::forces::MovingSources`]) in the first half, and store in the table that the engine
//! reads. An engine on a device makes records of them (`forces/direct/gpu/tiers/motions.rs`), which
//! kernels predict and sum.

#[cfg(test)]
#[macro_use]
mod tests;

mod board;
mod cluster;
#[macro_use]
mod forms;
mod g5;
mod g6;
mod guard;
mod memory;
mod object;
mod options;
mod queue;
mod registry;
mod results;
mod sixth;
mod slices;
