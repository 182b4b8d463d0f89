//! The engine chosen for a simulation, and the reasons.

use std::borrow::Cow;
use std::sync::Arc;

use super::{EngineKind, Settings};
use crate::bodies::Rows;
use crate::error::{Error, Result};
use crate::forces::Method;
use crate::forces::tree::TreeConfig;
use crate::gpu::{DeviceCount, Gpu};

/// The reason given for an engine that was named explicitly.
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
    /// Why this method, unless it was requested.
    pub method_reason: Option<String>,
    /// Why one device or several, if that was left to a measurement.
    pub devices_reason: Option<String>,
    /// The open device, if the choice is the GPU.
    pub gpu: Option<Arc<Gpu>>,
    /// Further devices that share the bodies with it.
    pub others: Vec<Arc<Gpu>>,
    /// The ranks that share the bodies, if there are several.
    pub ranks: Option<crate::exchange::Ranks>,
    /// The bodies that this rank has, if each has some of them: see [`super::divides`].
    pub rows: Option<Rows>,
    /// Whether the ranks have different kinds of engines, so that each rank's host calls its own.
    pub is_mixed: bool,
}

impl Choice {
    /// A choice of an engine and a method with nothing else set.
    pub fn of(
        kind: EngineKind,
        method: Method,
        reason: impl Into<String>,
        gpu: Option<Arc<Gpu>>,
    ) -> Self {
        let (reason, others) = (reason.into(), Vec::new());
        Self {
            kind,
            method,
            reason,
            method_reason: None,
            devices_reason: None,
            gpu,
            others,
            ranks: None,
            rows: None,
            is_mixed: false,
        }
    }

    /// Whether other processes share the bodies.
    pub fn is_shared(&self) -> bool {
        self.ranks.as_ref().is_some_and(|ranks| ranks.size() > 1)
    }

    /// Checks that the bodies can be shared if several devices are requested.
    ///
    /// # Errors
    /// An engine other than the GPU; a method or an integrator that runs on one device only.
    pub fn check_devices(&self, settings: &Settings) -> Result<()> {
        let several = matches!(settings.devices, DeviceCount::These(2..));
        if self.is_shared() && self.method == Method::Tree {
            if self.is_mixed {
                let allowed = "direct if some ranks have a GPU and others do not";
                return Err(Error::value("the method", "tree", allowed));
            }
            if self.kind == EngineKind::Cpu && settings.tree.rebuild.keeps() {
                let allowed = "1 if ranks share the tree on their CPUs";
                return Err(Error::value("rebuild", settings.tree.rebuild, allowed));
            }
        }
        self.check_parts(settings)?;
        match self.only_one(settings).filter(|_| several) {
            Some(why) => Err(Error::value("--devices", settings.devices, format!("1 {why}"))),
            None => Ok(()),
        }
    }

    /// Checks that devices can have parts of a tree, if several are requested or chosen.
    ///
    /// # Errors
    /// A tree that a device must have as a whole.
    pub(super) fn check_parts(&self, settings: &Settings) -> Result<()> {
        let are_requested = matches!(settings.devices, DeviceCount::These(2..));
        let are_several = are_requested || !self.others.is_empty() || self.is_shared();
        if !are_several || !self.has_whole_tree(settings) {
            return Ok(());
        }
        let TreeConfig { rebuild, opening, .. } = settings.tree;
        if rebuild.keeps() {
            return Err(Error::value("rebuild", rebuild, "1 if several devices share the tree"));
        }
        let allowed = "acceleration, radius or bonsai if several devices share the tree";
        Err(Error::value("the opening rule", opening.name(), allowed))
    }

    /// Whether the method is a tree that a device must have as a whole.
    fn has_whole_tree(&self, settings: &Settings) -> bool {
        let TreeConfig { rebuild, opening, .. } = settings.tree;
        (self.kind, self.method) == (EngineKind::Gpu, Method::Tree)
            && (rebuild.keeps() || opening.is_between_boxes())
    }

    /// Why the bodies cannot be shared among several devices, if so; worded to follow "one device".
    pub fn only_one(&self, settings: &Settings) -> Option<String> {
        match self.kind {
            EngineKind::Gpu if settings.steps_on_host() && !settings.blocks_may_be_shared() => {
                let integrator = settings.integrator.name;
                Some(format!(
                    "with {integrator} here: several devices share only block steps that live on them, in double-single or double"
                ))
            }
            EngineKind::Gpu if self.has_whole_tree(settings) => {
                let TreeConfig { rebuild, opening, .. } = settings.tree;
                Some(match opening.is_between_boxes() {
                    true => format!("with the opening rule {}", opening.name()),
                    false => format!("with --rebuild {rebuild}"),
                })
            }
            EngineKind::Gpu => None,
            other => Some(format!("with the engine {}: only gpu takes several", other.name())),
        }
    }

    /// All open devices, the first one first.
    pub fn devices(&self) -> impl Iterator<Item = &Arc<Gpu>> {
        self.gpu.iter().chain(&self.others)
    }

    /// Why this engine, this method and this number of devices. "Asked for" is left out if there
    /// are other reasons.
    pub fn because(&self) -> Cow<'_, str> {
        let engine_reason = Some(&self.reason).filter(|reason| *reason != ASKED_FOR);
        let reasons = [engine_reason, self.method_reason.as_ref(), self.devices_reason.as_ref()];
        let reasons: Vec<&str> = reasons.into_iter().flatten().map(String::as_str).collect();
        match reasons[..] {
            [] => Cow::Borrowed(&self.reason),
            [why] => Cow::Borrowed(why),
            _ => Cow::Owned(reasons.join("; ")),
        }
    }
}
