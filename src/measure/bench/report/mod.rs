//! Reports made from records: tables, and one self-contained HTML page.

mod compare;
mod direct_tables;
mod html;
mod tables;
mod template;

pub use compare::{Compared, compare};
pub use direct_tables::{derivatives_table, runs_table};
pub use html::page;
pub use tables::{ceilings_table, compiled_table, duration, rates_table, times_table};
