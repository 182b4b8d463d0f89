//! The points of a figure: what is timed, on how many bodies.

use std::sync::Arc;

use crate::error::Result;
use crate::forces::direct::gpu::{KernelConfig, KernelRequest};
use crate::forces::direct::{CpuSingle, GpuSingle};
use crate::forces::{ForceEngine, Order, Outputs, Precision};
use crate::gpu::Gpu;
use crate::sim::{EngineKind, direct_engine};

/// What to time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Candidate {
    /// A kernel on the device's own bodies.
    Kernel(KernelConfig),
    /// The GPU through the host's interface: bodies are sent and forces returned.
    GpuFromHost,
    /// The CPU engine.
    Cpu,
    /// Forces with derivatives through the host's interface.
    Derivatives(DerivativesCase),
}

/// Forces with derivatives by one engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DerivativesCase {
    /// The engine to time.
    pub tier: EngineTier,
    /// The highest derivative.
    pub order: Order,
    /// Whether to compute potentials too, as a GRAPE does.
    pub potential: bool,
    /// Whether the sources are resent for each evaluation.
    pub resend: bool,
}

/// An engine with a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineTier {
    /// `Gpu` or `Cpu`.
    pub kind: EngineKind,
    /// The precision.
    pub precision: Precision,
}

impl EngineTier {
    /// Its name, such as `gpu double-single`.
    pub fn name(self) -> String {
        format!("{} {}", self.kind.name(), self.precision.name())
    }

    /// Makes the engine; `gpu` is used by the engine on a GPU.
    ///
    /// # Errors
    ///
    /// A precision that does not hold there.
    pub fn engine(self, gpu: Option<&Arc<Gpu>>) -> Result<Box<dyn ForceEngine>> {
        direct_engine(self.kind, self.kind.method(), gpu, None, Some(self.precision))
    }
}

impl From<KernelConfig> for Candidate {
    fn from(config: KernelConfig) -> Self {
        Self::Kernel(config)
    }
}

impl From<DerivativesCase> for Candidate {
    fn from(forces: DerivativesCase) -> Self {
        Self::Derivatives(forces)
    }
}

impl Candidate {
    /// Whether the CPU computes.
    pub(super) fn is_on_cpu(&self) -> bool {
        match self {
            Self::Kernel(_) | Self::GpuFromHost => false,
            Self::Cpu => true,
            Self::Derivatives(forces) => forces.tier.kind != EngineKind::Gpu,
        }
    }

    /// Its forces with derivatives, if they are.
    pub(super) fn derivatives(&self) -> Option<&DerivativesCase> {
        if let Self::Derivatives(forces) = self { Some(forces) } else { None }
    }

    /// The highest derivative.
    pub(super) fn order(&self) -> Order {
        self.derivatives().map_or(Order::Acceleration, |forces| forces.order)
    }

    /// The engine that is called from the host.
    pub(super) fn engine(&self, gpu: Option<&Arc<Gpu>>) -> Result<Box<dyn ForceEngine>> {
        Ok(match (self, gpu) {
            (Self::Derivatives(forces), _) => forces.tier.engine(gpu)?,
            (Self::GpuFromHost, Some(gpu)) => {
                Box::new(GpuSingle::new(Arc::clone(gpu), KernelRequest::default()))
            }
            _ => Box::new(CpuSingle::new()),
        })
    }

    /// Whether both use the same engine.
    pub(super) fn shares_engine(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Derivatives(a), Self::Derivatives(b)) => a.tier == b.tier,
            _ => self == other,
        }
    }

    /// The requested outputs.
    pub(super) fn outputs(&self) -> Outputs<'static> {
        let potential = self.derivatives().is_some_and(|forces| forces.potential);
        Outputs { potential, ..Outputs::only(self.order()) }
    }

    /// The largest rms error of accelerations of a correct engine. With derivatives: at least ten
    /// times what is observed at the largest numbers of bodies. Otherwise f32 pairs of positions
    /// that are exact in f32, and sums of at least two levels.
    pub(super) fn rms_limit(&self) -> f64 {
        match self.derivatives().map(|forces| forces.tier.precision) {
            Some(Precision::Single) => 1e-4,
            Some(Precision::Double) => 1e-12,
            Some(Precision::DoubleSingle) | None => 1e-5,
        }
    }
}

/// One point of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct FigurePoint {
    /// The curve.
    pub series: String,
    /// Value on the x axis.
    pub x: f64,
    /// Number of sinks, the first of the sources.
    pub sinks: usize,
    /// Number of sources.
    pub sources: usize,
    /// What to time.
    pub candidate: Candidate,
}

impl FigurePoint {
    /// A point over the number of sinks.
    pub fn new(
        series: impl Into<String>,
        sinks: usize,
        sources: usize,
        candidate: impl Into<Candidate>,
    ) -> Self {
        let (series, candidate) = (series.into(), candidate.into());
        Self { series, x: sinks as f64, sinks, sources, candidate }
    }

    /// The forces of `n` bodies on each other.
    pub fn all_on_all(
        series: impl Into<String>,
        n: usize,
        candidate: impl Into<Candidate>,
    ) -> Self {
        Self::new(series, n, n, candidate)
    }

    /// The same at another x.
    #[must_use]
    pub fn at(self, x: f64) -> Self {
        Self { x, ..self }
    }
}
