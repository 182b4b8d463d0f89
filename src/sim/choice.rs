//! An engine that has been settled on.

use std::borrow::Cow;
use std::sync::Arc;

use super::{EngineKind, Settings, check_tier};
use crate::error::{Error, Result};
use crate::forces::Method;
use crate::gpu::{DeviceCount, Gpu};
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
    /// Why one device or several, where that was left to a measurement.
    pub devices_reason: Option<String>,
    /// The measurement by which the method was chosen.
    pub crossover: Option<Crossover>,
    /// The open device, if the choice is the GPU.
    pub gpu: Option<Arc<Gpu>>,
    /// Further devices that share the bodies with it.
    pub beside: Vec<Arc<Gpu>>,
    /// The ranks that share the bodies, where there may be several.
    #[cfg(not(target_arch = "wasm32"))]
    pub ranks: Option<crate::exchange::Ranks>,
    /// Whether ranks have engines of several kinds, which the host of each calls then.
    pub is_mixed: bool,
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
            EngineKind::Gpu => Some(Gpu::open_first(&settings.adapter).await?),
            _ => None,
        };
        let choice = Self::of(kind, method, reason, gpu);
        choice.check_devices(settings)?;
        let beside = match (&choice.gpu, settings.devices) {
            // How many of them are worth it is measured.
            (Some(gpu), DeviceCount::These(_)) => {
                gpu.open_beside(&settings.adapter, settings.devices).await?
            }
            _ => Vec::new(),
        };
        Ok(Self { beside, ..choice })
    }

    /// Of an engine and a method that nothing further is said of.
    pub fn of(
        kind: EngineKind,
        method: Method,
        reason: impl Into<String>,
        gpu: Option<Arc<Gpu>>,
    ) -> Self {
        let (reason, beside) = (reason.into(), Vec::new());
        Self {
            kind,
            method,
            reason,
            method_reason: None,
            devices_reason: None,
            crossover: None,
            gpu,
            beside,
            #[cfg(not(target_arch = "wasm32"))]
            ranks: None,
            is_mixed: false,
        }
    }

    /// Whether the bodies are shared with other processes.
    pub fn is_shared(&self) -> bool {
        #[cfg(not(target_arch = "wasm32"))]
        return self.ranks.as_ref().is_some_and(|ranks| ranks.size() > 1);
        #[cfg(target_arch = "wasm32")]
        false
    }

    /// Refuses several devices where the bodies cannot be shared among them.
    ///
    /// Errors: another engine than the GPU, a method or an integrator that one device alone has.
    pub fn check_devices(&self, settings: &Settings) -> Result<()> {
        let several = matches!(settings.devices, DeviceCount::These(2..));
        if self.is_shared() && self.method == Method::Tree && self.kind != EngineKind::Gpu {
            let allowed = "direct where ranks share the bodies of an engine on the host";
            return Err(Error::value("the method", "tree", allowed));
        }
        match self.only_one(settings).filter(|_| several) {
            Some(why) => Err(Error::value("--devices", settings.devices, format!("1 {why}"))),
            None => Ok(()),
        }
    }

    /// Why the bodies cannot be shared among several devices, if they cannot, to be said after "one device".
    pub fn only_one(&self, settings: &Settings) -> Option<String> {
        match self.kind {
            EngineKind::Gpu if settings.steps_on_host() && !settings.blocks_may_be_shared() => {
                let integrator = settings.integrator.name;
                Some(format!(
                    "with {integrator} here: several devices share block steps that live on them, in double-single or double"
                ))
            }
            EngineKind::Gpu => None,
            other => Some(format!("with the engine {}: several are for gpu", other.name())),
        }
    }

    /// The open devices: the first one, and those beside it.
    pub fn devices(&self) -> impl Iterator<Item = &Arc<Gpu>> {
        self.gpu.iter().chain(&self.beside)
    }

    /// Why this engine, this method and so many devices; what was asked for is not said again beside what was not.
    pub fn because(&self) -> Cow<'_, str> {
        let asked = Some(&self.reason).filter(|reason| *reason != ASKED_FOR);
        let found = [asked, self.method_reason.as_ref(), self.devices_reason.as_ref()];
        let found: Vec<&str> = found.into_iter().flatten().map(String::as_str).collect();
        match found[..] {
            [] => Cow::Borrowed(&self.reason),
            [why] => Cow::Borrowed(why),
            _ => Cow::Owned(found.join("; ")),
        }
    }
}
