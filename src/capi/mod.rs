//! The C library: gravitile behind the calls of GRAPE-6, GRAPE-5 and Sapporo2, for codes that have
//! called them for twenty years. `docs/direct.md` is its manual, `include/gravitile.h` its header.
//!
//! A client puts j-particles (sources) at addresses, asks for forces on i-particles (sinks) in two
//! halves with time for work of its own between them, and reads lists of neighbours. Particles stay on
//! the host in f64; a [`crate::forces::ForceEngine`] computes, and predicts them if it can.
//!
//! | file | what is in it |
//! |---|---|
//! | `g6`, `g5`, `sixth` | the calls, in C's form and in Fortran's by `forms` |
//! | `object` | what `include/sapporo.h` makes Sapporo2's class of |
//! | `looking` | calls that show particles, and write them to files |
//! | `each` | forces on sinks with a softening each |
//! | `slices` | the client's pointers: all `unsafe` but for the wrapping in `forms`, the one call of `fork` and the lock of `inbox` |
//! | `guard` | no panic leaves; error codes, and one line on stderr |
//! | `world`, `fork` | open clusters and boards, a lock for each, the shared device; what must not be used after a fork |
//! | `cluster`, `memory` | one GRAPE: j-particles, each thread's call under way, lists |
//! | `board` | one board of GRAPE-5: sources, sinks, softenings |
//! | `particle` | a j-particle as clients set it |
//! | `inbox` | particles on their way to a memory, behind a lock of its own |
//! | `found` | shapes that `gravitile tune` found |
//! | `options` | engine, precision, adapter: the user's choice |

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
