//! The engines by name, and in which precision each computes.

use std::sync::Arc;

use super::Settings;
use crate::direct::{self, AsForces, DirectEngine, Precision};
use crate::error::{Error, Result};
use crate::force::{self, Cpu, ForceEngine};
use crate::gpu::Gpu;
use crate::integrate::Integrator;

/// The engines by their names on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// Whichever is faster here for this number of bodies.
    #[default]
    Auto,
    /// The all-pairs kernel on a graphics adapter, f32.
    Gpu,
    /// SIMD on all cores, f32 pairs.
    Cpu,
    /// Scalar f64 on all cores: slow and right.
    Reference,
}

const NAMES: [(EngineKind, &str); 4] = [
    (EngineKind::Auto, "auto"),
    (EngineKind::Gpu, "gpu"),
    (EngineKind::Cpu, "cpu"),
    (EngineKind::Reference, "reference"),
];

/// The names of all engines, `auto` first.
pub fn engine_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(_, name)| *name)
}

impl EngineKind {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The engine of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind).ok_or_else(|| {
            Error::Unknown {
                kind: "engine",
                name: name.to_owned(),
                known: engine_names().collect::<Vec<_>>().join(", "),
            }
        })
    }
}

/// The tiers that an engine has, the usual one first; `derivatives` for those that block steps need. A GPU
/// may lack some of its own, which only a look at the adapter tells.
pub fn tiers(kind: EngineKind, derivatives: bool) -> &'static [Precision] {
    use Precision::{Double, DoubleSingle, Single};
    match (kind, derivatives) {
        (EngineKind::Reference, _) => &[Double],
        (EngineKind::Gpu, true) => &[DoubleSingle, Single, Double],
        (EngineKind::Gpu, false) => &[Single],
        (_, true) => &[Double],
        (_, false) => &[Single, Double],
    }
}

/// The tier that is asked for, or the usual one.
///
/// Errors: one that the engine does not have with this integrator.
pub(super) fn tier_of(
    kind: EngineKind,
    integrator: &Integrator,
    wanted: Option<Precision>,
) -> Result<Precision> {
    let has = tiers(kind, integrator.has_block_steps());
    match wanted {
        None => Ok(has[0]),
        Some(wanted) if has.contains(&wanted) => Ok(wanted),
        Some(wanted) => {
            let names: Vec<_> = has.iter().map(|tier| tier.name()).collect();
            let (names, with) = (names.join(" or "), integrator.name);
            let allowed = format!("{names} with {with} on the engine {}", kind.name());
            Err(Error::value("the precision", wanted.name(), allowed))
        }
    }
}

/// An engine that the host calls, of the kind that the integrator needs.
pub enum HostEngine {
    /// Accelerations and potentials.
    Plain(Box<dyn ForceEngine>),
    /// Derivatives too.
    Direct(Box<dyn DirectEngine>),
}

impl HostEngine {
    /// The engine `kind` for the settings' integrator, in their precision; the GPU only for integrators
    /// with block steps.
    ///
    /// Errors: a precision that this engine does not have.
    pub fn new(kind: EngineKind, gpu: Option<&Arc<Gpu>>, settings: &Settings) -> Result<Self> {
        let integrator = crate::integrate::find(&settings.integrator)?;
        let precision = tier_of(kind, integrator, settings.precision)?;
        Ok(match (precision, kind) {
            _ if integrator.has_block_steps() => {
                Self::Direct(direct_engine(kind, gpu, Some(precision))?)
            }
            (Precision::Double, EngineKind::Reference) => Self::Plain(Box::new(force::Reference)),
            (Precision::Double, _) => {
                Self::Plain(Box::new(AsForces(direct_engine(kind, None, None)?)))
            }
            _ => Self::Plain(Box::new(Cpu::new())),
        })
    }

    /// What it computes with, in one line.
    pub fn describe(&self) -> String {
        match self {
            Self::Plain(engine) => engine.describe(),
            Self::Direct(engine) => engine.describe(),
        }
    }
}

/// An engine for forces with derivatives, by itself; `gpu` is for the engine `gpu` alone. Without a
/// `precision` it is double, on a GPU double-single.
///
/// Errors: a precision that the engine does not have, or that does not hold on this adapter.
pub fn direct_engine(
    kind: EngineKind,
    gpu: Option<&Arc<Gpu>>,
    precision: Option<Precision>,
) -> Result<Box<dyn DirectEngine>> {
    #[cfg(not(target_arch = "wasm32"))]
    if let (EngineKind::Gpu, Some(gpu)) = (kind, gpu) {
        let precision = precision.unwrap_or(tiers(kind, true)[0]);
        return Ok(Box::new(direct::gpu::GpuEngine::new(Arc::clone(gpu), precision)?));
    }
    if kind == EngineKind::Gpu {
        // Also where the GPU's engine is not built in, and `gpu` is of no use.
        let _ = gpu;
        let allowed = "auto, cpu or reference: no device is open for derivatives";
        return Err(Error::value("the engine", kind.name(), allowed));
    }
    if let Some(precision) = precision.filter(|precision| *precision != Precision::Double) {
        let allowed = format!("double for forces with derivatives on the engine {}", kind.name());
        return Err(Error::value("the precision", precision.name(), allowed));
    }
    Ok(match kind {
        EngineKind::Reference => Box::new(direct::Reference::default()),
        _ => Box::new(direct::Cpu::new()),
    })
}
