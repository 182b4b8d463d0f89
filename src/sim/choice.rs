//! An engine that has been settled on.

use std::borrow::Cow;
use std::sync::Arc;

use super::{EngineKind, Settings, check_tier};
use crate::error::Result;
use crate::forces::Method;
use crate::gpu::Gpu;
use crate::tuned::Crossover;

/// The reason of an engine that was named.
pub const ASKED_FOR: &str = "asked for";

/// A chosen engine.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Never [`EngineKind::Auto`].
    pub kind: EngineKind,
    /// How it computes.
    pub method: Method,
    /// Why this engine, in one sentence.
    pub reason: String,
    /// Why this method, where nobody asked for one.
    pub method_reason: Option<String>,
    /// The measurement by which the method was chosen.
    pub crossover: Option<Crossover>,
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
            kind => (kind, ASKED_FOR),
        };
        check_tier(kind, settings)?;
        let gpu = match kind {
            EngineKind::Gpu => Some(Gpu::open(&settings.adapter).await?),
            _ => None,
        };
        Ok(Self::of(kind, method, reason, gpu))
    }

    /// Of an engine and a method that nothing further is said of.
    pub fn of(
        kind: EngineKind,
        method: Method,
        reason: impl Into<String>,
        gpu: Option<Arc<Gpu>>,
    ) -> Self {
        Self { kind, method, reason: reason.into(), method_reason: None, crossover: None, gpu }
    }

    /// Why this engine and this method; what was asked for is not said again beside what was not.
    pub fn because(&self) -> Cow<'_, str> {
        match &self.method_reason {
            None => Cow::Borrowed(&self.reason),
            Some(why) if self.reason == ASKED_FOR => Cow::Borrowed(why),
            Some(why) => Cow::Owned(format!("{}; {why}", self.reason)),
        }
    }
}
