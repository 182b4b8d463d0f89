//! What the engine holds: sources that stay where they were set, or sources that it predicts.

use glam::DVec3;

use super::frame::TierFrame;
use super::motions::Motions;
use super::store::Store;
use crate::error::Result;
use crate::forces::Order;
use crate::gpu::{Batch, Gpu};

/// The sources of an engine.
#[derive(Debug)]
pub(super) enum Held {
    /// Set by [`crate::forces::ForceEngine::set_sources`].
    Still(Box<Store>),
    /// Set by [`crate::forces::MovingSources::set_moving`].
    Moving(Box<Motions>),
}

impl Held {
    pub fn count(&self) -> usize {
        match self {
            Self::Still(store) => store.count(),
            Self::Moving(motions) => motions.count(),
        }
    }

    pub fn frame(&self) -> &TierFrame {
        match self {
            Self::Still(store) => &store.frame,
            Self::Moving(motions) => &motions.frame,
        }
    }

    /// Whether there are velocities, and accelerations.
    pub fn derivatives(&self) -> (bool, bool) {
        match self {
            Self::Still(store) => (store.has_velocity, store.has_acceleration),
            Self::Moving(_) => (true, true),
        }
    }

    /// Whether records end with the velocity in evaluations of this order: what is predicted is made anew for each.
    pub fn is_brief(&self, order: Order) -> bool {
        matches!(self, Self::Moving(_)) && order < Order::Snap
    }

    /// To when sources are predicted.
    pub fn time(&self) -> Option<f64> {
        match self {
            Self::Still(_) => None,
            Self::Moving(motions) => motions.time,
        }
    }

    /// Where source `j` is at `time`, in the caller's units.
    pub fn position(&self, j: usize, time: Option<f64>) -> Option<DVec3> {
        match self {
            Self::Still(store) => store.position.get(j).copied(),
            Self::Moving(motions) => motions.position(j, time),
        }
    }

    /// Chooses another frame where sources have left the one they had; before sinks are narrowed to it.
    pub fn settle(&mut self) {
        if let Self::Moving(motions) = self {
            motions.settle();
        }
    }

    /// Bytes that the next [`Held::send`] sends, and those of them that go along with its batch; where all are sent for
    /// the first time, they go by themselves.
    pub fn bytes_to_send(&self) -> (u64, u64) {
        let changes = match self {
            Self::Still(store) => store.changes(),
            Self::Moving(motions) => motions.changes(),
        };
        (changes.bytes(), if changes.is_whole() { 0 } else { changes.bytes() })
    }

    /// After the submission of what was recorded by [`Held::send`].
    pub fn submitted(&mut self) {
        match self {
            Self::Still(store) => store.submitted(),
            Self::Moving(motions) => motions.submitted(),
        }
    }

    /// What was recorded by [`Held::send`] is not submitted: all are sent the next time.
    pub fn send_again(&mut self) {
        match self {
            Self::Still(store) => store.send_again(),
            Self::Moving(motions) => motions.send_again(),
        }
    }

    /// The device's buffer, brought up to date by what is done in `batch`. There must be sources.
    ///
    /// Errors: a body or time out of the tier's range; a kernel that does not compile.
    pub async fn send(
        &mut self,
        gpu: &Gpu,
        order: Order,
        batch: &mut Batch,
    ) -> Result<wgpu::Buffer> {
        match self {
            Self::Still(store) => store.send(gpu, batch).await,
            Self::Moving(motions) => motions.send(gpu, order, batch).await,
        }
    }
}
