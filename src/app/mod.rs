//! The program: the only place that prints, exits and asks the environment.

pub mod cli;
