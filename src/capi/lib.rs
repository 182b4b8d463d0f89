//! The C library: gravitile behind the C and Fortran interfaces of GRAPE-6, GRAPE-5 and Sapporo2,
//! so that existing N-body codes link without changes. `docs/direct.md` is its manual,
//! `include/gravitile.h` its header.
//!
//! A client writes j-particles (sources) to addresses, starts the forces on i-particles (sinks) in
//! a first half, does its own work, waits in a last half, and reads neighbour lists. Particles are
//! stored on the host in f64; a [`gravitile::forces::ForceEngine`] computes the forces and, if it can,
//! predicts the particles.
//!
//! | file | contents |
//! |---|---|
//! | `g6`, `g5`, `sixth` | the exported functions; `forms` defines the C and Fortran variants |
//! | `object` | functions behind the C++ class `sapporo` of `include/sapporo.h` |
//! | `looking` | functions that read particles back or dump them to files |
//! | `each` | forces with one softening per sink |
//! | `slices` | C pointers as slices: all `unsafe` except in `forms`, `fork` and `inbox` |
//! | `guard` | panics and errors become return codes and one line on stderr |
//! | `world`, `fork` | open clusters and boards, locks, shared devices; detection of fork() |
//! | `cluster`, `memory` | one GRAPE: j-particles, pending calls by thread, neighbour lists |
//! | `board` | one GRAPE-5 board: sources, sinks, softenings |
//! | `particle` | a j-particle as clients set it |
//! | `inbox` | queue of particles to be stored in a memory, with its own lock |
//! | `found` | kernel shapes that `gravitile tune` measured |
//! | `options` | user options: engine, precision, adapter |

#[cfg(test)]
#[macro_use]
mod inner;

mod board;
mod cluster;
mod each;
mod fork;
mod found;
#[macro_use]
mod forms;
mod g5;
mod g6;
mod guard;
mod inbox;
mod looking;
#[cfg(test)]
mod lost;
mod memory;
mod object;
mod options;
mod particle;
mod sixth;
mod slices;
mod world;
