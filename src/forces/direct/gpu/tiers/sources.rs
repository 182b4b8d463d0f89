//! The sources of an engine on its device: fixed where they were set, or predicted.

use super::changes::Changes;
use super::frame::TierFrame;
use super::motions::MovingStore;
use super::store::SourceStore;
use crate::error::Result;
use crate::forces::Order;
use crate::gpu::{Batch, Gpu};

/// The sources of an engine.
#[derive(Debug)]
pub(super) enum DeviceSources {
    /// Set by [`crate::forces::ForceEngine::set_sources`].
    Still(Box<SourceStore>),
    /// Set by [`crate::forces::MovingSources::share`].
    Moving(Box<MovingStore>),
}

impl DeviceSources {
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

    /// Whether velocities and accelerations are set.
    pub fn derivatives(&self) -> (bool, bool) {
        match self {
            Self::Still(store) => (store.has_velocity, store.has_acceleration),
            Self::Moving(_) => (true, true),
        }
    }

    /// Whether records end with the velocity in evaluations of this order. Predicted records are
    /// rewritten for each evaluation, so their length may change.
    pub fn is_brief(&self, order: Order) -> bool {
        matches!(self, Self::Moving(_)) && order < Order::Snap
    }

    /// Time of prediction.
    pub fn time(&self) -> Option<f64> {
        match self {
            Self::Still(_) => None,
            Self::Moving(motions) => motions.time,
        }
    }

    /// Chooses a new frame if sources have left the current one; call before sinks are converted to
    /// it.
    pub fn settle(&mut self) {
        if let Self::Moving(motions) = self {
            motions.settle();
        }
    }

    fn changes(&self) -> &Changes {
        match self {
            Self::Still(store) => &store.changes,
            Self::Moving(motions) => &motions.changes,
        }
    }

    /// Bytes that the next [`DeviceSources::send`] uploads, and those of them that are part of its
    /// batch; the first complete upload is a separate transfer.
    pub fn bytes_to_send(&self) -> (u64, u64) {
        let changes = self.changes();
        (changes.bytes(), if changes.is_whole() { 0 } else { changes.bytes() })
    }

    /// Call after the submission of what [`DeviceSources::send`] recorded.
    pub fn submitted(&mut self) {
        match self {
            Self::Still(store) => store.changes.submitted(),
            Self::Moving(motions) => motions.changes.submitted(),
        }
    }

    /// What [`DeviceSources::send`] recorded was not submitted: everything is sent next time.
    pub fn resend_all(&mut self) {
        match self {
            Self::Still(store) => store.changes.all = true,
            Self::Moving(motions) => motions.resend_all(),
        }
    }

    /// The device's buffer, updated by `batch`. Needs at least one source.
    ///
    /// # Errors
    /// A body or time out of the tier's range; a kernel that does not compile.
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
