//! What moves the bodies: the window's device, or a worker.

use std::ops::{Deref, DerefMut};

use super::moves::Moves;
use super::on_device::LiveOnDevice;
use super::on_worker::OnWorker;

/// What moves the bodies; what only one of the two can do is called on it.
pub(super) enum Mover {
    Device(Box<LiveOnDevice>),
    Worker(Box<OnWorker>),
}

impl Mover {
    pub fn device(&self) -> Option<&LiveOnDevice> {
        match self {
            Self::Device(device) => Some(device),
            Self::Worker(_) => None,
        }
    }

    pub fn device_mut(&mut self) -> Option<&mut LiveOnDevice> {
        match self {
            Self::Device(device) => Some(device),
            Self::Worker(_) => None,
        }
    }

    pub fn worker(&self) -> Option<&OnWorker> {
        match self {
            Self::Device(_) => None,
            Self::Worker(worker) => Some(worker),
        }
    }

    /// Whether a change is not in effect yet; meanwhile nothing moves.
    pub fn is_changing(&self) -> bool {
        self.device().is_some_and(LiveOnDevice::is_changing)
    }

    /// Whether it has ended for good after an error.
    pub fn has_ended(&self) -> bool {
        self.worker().is_some_and(OnWorker::has_ended)
    }
}

impl Deref for Mover {
    type Target = dyn Moves;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Device(device) => device.as_ref(),
            Self::Worker(worker) => worker.as_ref(),
        }
    }
}

impl DerefMut for Mover {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Device(device) => device.as_mut(),
            Self::Worker(worker) => worker.as_mut(),
        }
    }
}
