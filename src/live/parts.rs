//! Periodic reports about the devices that share a worker's bodies.

use web_time::{Duration, Instant};

use super::mailbox::{Shared, lock};
use crate::gpu::DevicePart;
use crate::sim::Residence;

/// Interval of the reports: long enough for meaningful fractions of the time.
const EVERY: Duration = Duration::from_millis(500);

/// The time of the last report.
pub(super) struct PartWatch(Instant);

impl PartWatch {
    /// Reports devices that have just been given the bodies.
    pub fn begin(residence: &mut dyn Residence, shared: &Shared) -> Self {
        let parts = residence.take_parts().into_iter();
        // The time before the first step is not representative.
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
