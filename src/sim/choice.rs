//! An engine that has been settled on.

use std::sync::Arc;

use super::{EngineKind, Settings, check_tier};
use crate::error::Result;
use crate::forces::Method;
use crate::gpu::Gpu;

/// A chosen engine.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Never [`EngineKind::Auto`].
    pub kind: EngineKind,
    /// How it computes.
    pub method: Method,
    /// Why, in one sentence.
    pub reason: String,
    /// The open device, if the choice is the GPU.
    pub gpu: Option<Arc<Gpu>>,
}

impl Choice {
    /// What the settings say by themselves: nothing is measured, and no device is opened unless the engine is
    /// `gpu`. `auto` is the CPU then; [`crate::measure::choose()`] finds out which is faster.
    ///
    /// Errors: an adapter that is not there; a precision that the engine lacks.
    pub async fn told(settings: &Settings) -> Result<Self> {
        let (kind, method) = settings.engine.by(settings.method)?;
        let (kind, reason) = match kind {
            EngineKind::Auto => (EngineKind::Cpu, "nothing was measured"),
            kind => (kind, "asked for"),
        };
        check_tier(kind, settings)?;
        let gpu = match kind {
            EngineKind::Gpu => Some(Gpu::open(&settings.adapter).await?),
            _ => None,
        };
        Ok(Self { kind, method, reason: reason.to_owned(), gpu })
    }
}
