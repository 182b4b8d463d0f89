//! Tests of the program: its commands, its panel and its window.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

mod adapters;
mod analyse;
mod command_line;
mod fields;
mod hdf5;
mod hermite;
mod interrupt;
mod learn;
mod measure;
mod messages;
mod method;
mod mutations;
mod old_runs;
mod panel;
mod ranks;
mod restart;
mod run_folder;
mod scene_files;
mod steps;
mod tune;
mod varying;
mod window;
