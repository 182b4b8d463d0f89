//! What a worker reports of the devices that share its bodies.

use web_time::{Duration, Instant};

use super::mailbox::{Shared, lock};
use crate::gpu::DevicePart;
use crate::sim::Residence;

/// It reports this often: long enough for parts of the time to mean something.
const EVERY: Duration = Duration::from_millis(500);

/// Keeps when it last reported.
pub(super) struct PartWatch(Instant);

impl PartWatch {
    /// Reports devices that have just been given the bodies.
    pub fn begin(residence: &mut dyn Residence, shared: &Shared) -> Self {
        let parts = residence.take_parts().into_iter();
        // The time until now says nothing.
        let parts = parts.map(|part| DevicePart { exchanging: None, ..part });
        lock(&shared.outbox).parts = Some(parts.collect());
        Self(Instant::now())
    }

    /// Reports after steps, if the last time was long enough ago.
    pub fn look(&mut self, residence: &mut dyn Residence, shared: &Shared) {
        if self.0.elapsed() > EVERY {
            lock(&shared.outbox).parts = Some(residence.take_parts());
            self.0 = Instant::now();
        }
    }
}
