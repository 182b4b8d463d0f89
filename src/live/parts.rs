//! What a worker tells of the devices that share its bodies.

use web_time::{Duration, Instant};

use super::mailbox::{Shared, lock};
use crate::gpu::DevicePart;
use crate::sim::Residence;

/// So often: shares of the time mean something then.
const EVERY: Duration = Duration::from_millis(500);

/// Keeps when it was told last.
pub(super) struct PartWatch(Instant);

impl PartWatch {
    /// Tells of devices that have just been given the bodies.
    pub fn begin(residence: &mut dyn Residence, shared: &Shared) -> Self {
        let parts = residence.take_parts().into_iter();
        // Of the time until now nothing is to be learnt.
        let parts = parts.map(|part| DevicePart { exchanging: None, ..part });
        lock(&shared.outbox).parts = Some(parts.collect());
        Self(Instant::now())
    }

    /// Tells it after steps, if that was long enough ago.
    pub fn look(&mut self, residence: &mut dyn Residence, shared: &Shared) {
        if self.0.elapsed() > EVERY {
            lock(&shared.outbox).parts = Some(residence.take_parts());
            self.0 = Instant::now();
        }
    }
}
