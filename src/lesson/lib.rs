//! The live figures of the lesson, for a worker of its page (`web/lesson-worker.js`): measurements
//! of kernels on the reader's device, by [`gravitile::measure`], and the editor of kernels. Answers
//! are JSON.
//!
//! A worker has a thread of its own, so that nothing here holds up the page.

#![warn(missing_docs)]

mod editor;
mod figures;
mod occupancy;
#[cfg(target_arch = "wasm32")]
mod page;
mod score;
mod tree;

pub use editor::{attempt, diagnose, judge};
pub use figures::{LessonShape, MeasuredDevice, recorded, slow_motion};
pub use occupancy::{KernelResources, occupancy, processors};
pub use score::{compare, qr};
pub use tree::{LessonCluster, errors, times};
