//! How times are taken.

/// How a time was taken. Part of every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The device's own clock at the begin of a first and the end of a last compute pass.
    GpuTimestamps,
    /// The host's clock, from submission to the end of the wait, with nothing else in the queue.
    WallClock,
}

impl Method {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::GpuTimestamps => "GPU timestamps",
            Self::WallClock => "wall clock",
        }
    }
}
