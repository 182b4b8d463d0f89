//! The clock used for timing.

/// How a time was measured; recorded with every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The device's clock, from the beginning of the first to the end of the last compute pass.
    GpuTimestamps,
    /// The host's clock, from submission to the end of the wait, with nothing else in the queue.
    WallClock,
}

impl Method {
    /// Its name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::GpuTimestamps => "GPU timestamps",
            Self::WallClock => "wall clock",
        }
    }
}
