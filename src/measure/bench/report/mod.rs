//! Reports made from records: tables, and one self-contained HTML page.

mod compare;
mod html;
mod tables;

pub use compare::{RunComparison, compare};
pub use html::page;
pub use tables::tables;
