//! Which engine: asked for by name, or chosen by measurement.

use std::sync::Arc;

use web_time::Instant;

use super::{DeviceState, Settings};
use crate::direct::{self, AsForces, DirectEngine, Precision};
use crate::error::{Error, Result};
use crate::force::{self, Cpu, ForceEngine, Forces, Identity, Sinks, Sources, Want};
use crate::gpu::{DeviceClass, Gpu};
use crate::scene::{Spread, test_cloud};

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

/// A chosen engine.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Never [`EngineKind::Auto`].
    pub kind: EngineKind,
    /// Why, in one sentence.
    pub reason: String,
    /// The open device, if the choice is the GPU.
    pub gpu: Option<Arc<Gpu>>,
}

/// Chooses the engine for `n` bodies.
///
/// `auto` takes the CPU where no adapter answers or the adapter is software (which shares the CPU's
/// cores and has none of its SIMD kernels); else both are timed on bodies of this number.
///
/// Errors: an adapter that was asked for by name, or an engine `gpu`, that is not there.
pub async fn choose(n: usize, settings: &Settings) -> Result<Choice> {
    choose_on(None, n, settings).await
}

/// The same where a device is open already, whose adapter is then the one to choose or not.
pub async fn choose_on(open: Option<&Arc<Gpu>>, n: usize, settings: &Settings) -> Result<Choice> {
    let open = async || match open {
        Some(gpu) => Ok(Arc::clone(gpu)),
        None => Gpu::open(&settings.adapter).await,
    };
    let cpu = |reason: String| Ok(Choice { kind: EngineKind::Cpu, reason, gpu: None });
    let integrator = crate::integrate::find(&settings.integrator)?;
    let beyond_single = settings.precision.filter(|precision| *precision != Precision::Single);
    match (integrator.has_block_steps(), beyond_single, settings.engine) {
        (true, _, EngineKind::Auto) => {
            return cpu(format!(
                "{} wants forces in f64, which the CPU has everywhere (gpu: double-single)",
                integrator.name
            ));
        }
        (false, Some(precision), EngineKind::Auto) => {
            return cpu(format!("precision {} is computed on the host", precision.name()));
        }
        (false, Some(precision), EngineKind::Gpu) => {
            let allowed = format!("single with {} on the engine gpu", integrator.name);
            return Err(Error::value("the precision", precision.name(), allowed));
        }
        _ => {}
    }
    match settings.engine {
        EngineKind::Gpu => {
            let gpu = open().await?;
            let reason = "asked for".to_owned();
            Ok(Choice { kind: EngineKind::Gpu, reason, gpu: Some(gpu) })
        }
        kind @ (EngineKind::Cpu | EngineKind::Reference) => {
            Ok(Choice { kind, reason: "asked for".to_owned(), gpu: None })
        }
        EngineKind::Auto => {
            let gpu = match open().await {
                Ok(gpu) => gpu,
                // An adapter asked for by name must be there; any other lack is no obstacle.
                Err(error) if settings.adapter.name.is_some() => return Err(error),
                Err(error) => return cpu(error.to_string()),
            };
            if gpu.adapter.class == DeviceClass::Software {
                return cpu(format!(
                    "the adapter {} is software: it shares the CPU's cores and has none of its SIMD kernels",
                    gpu.adapter.name
                ));
            }
            let (on_cpu, on_gpu) = race(&gpu, n, settings).await?;
            let (cpu_ms, gpu_ms) = (on_cpu * 1e3, on_gpu * 1e3);
            let times = format!(
                "a step of {n} bodies takes {gpu_ms:.3} ms there, {cpu_ms:.3} ms on the CPU"
            );
            if on_gpu < on_cpu {
                let reason = format!("{} is faster: {times}", gpu.adapter.name);
                Ok(Choice { kind: EngineKind::Gpu, reason, gpu: Some(gpu) })
            } else {
                cpu(format!("{} is slower: {times}", gpu.adapter.name))
            }
        }
    }
}

/// The largest number of bodies that is tried; beyond it times grow with n^2 on both.
const LARGEST_TRIAL: usize = 16_384;

/// Seconds per step on the CPU and on the GPU.
async fn race(gpu: &Arc<Gpu>, n: usize, settings: &Settings) -> Result<(f64, f64)> {
    let trial = n.clamp(1, LARGEST_TRIAL);
    let scale = (n as f64 / trial as f64).powi(2);
    let bodies = test_cloud(trial, Spread::Even);

    let mut cpu = Cpu::new();
    let sources = Sources { position: &bodies.position, mass: &bodies.mass };
    let sinks = Sinks { position: &bodies.position, identity: Identity::Offset(0) };
    let mut out = Forces::default();
    let mut on_cpu = f64::INFINITY;
    for _ in 0..3 {
        let begun = Instant::now();
        cpu.evaluate(&sinks, &sources, 0.01, Want::Acceleration, &mut out)?;
        on_cpu = on_cpu.min(begun.elapsed().as_secs_f64());
    }

    let settings =
        Settings { softening: 0.01, dt: 1e-6, gravitational_constant: 1.0, ..settings.clone() };
    let mut device = DeviceState::new(Arc::clone(gpu), &bodies, &settings).await?;
    let mut on_gpu = f64::INFINITY;
    for _ in 0..3 {
        const STEPS: u64 = 8;
        let begun = Instant::now();
        #[cfg(not(target_arch = "wasm32"))]
        device.run(settings.dt, STEPS, &mut |_| true)?;
        on_gpu = on_gpu.min(begun.elapsed().as_secs_f64() / STEPS as f64);
    }
    let _ = &mut device;
    Ok((on_cpu * scale, on_gpu * scale))
}

/// An engine on the host, of the kind that the integrator needs.
pub(super) enum HostEngine {
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
        let blocks = crate::integrate::find(&settings.integrator)?.has_block_steps();
        let reference = kind == EngineKind::Reference;
        let usual = if reference { Precision::Double } else { Precision::Single };
        match (settings.precision.unwrap_or(usual), blocks) {
            (_, true) => Ok(Self::Direct(direct_engine(kind, gpu, settings.precision)?)),
            (Precision::Double, false) if reference => Ok(Self::Plain(Box::new(force::Reference))),
            (Precision::Double, false) => {
                Ok(Self::Plain(Box::new(AsForces(direct_engine(kind, None, None)?))))
            }
            (Precision::Single, false) if !reference => Ok(Self::Plain(Box::new(Cpu::new()))),
            (precision, _) => {
                let allowed = match reference {
                    true => "double on the engine reference",
                    false => "single or double on the engine cpu",
                };
                Err(Error::value("the precision", precision.name(), allowed))
            }
        }
    }
}

/// What the engine `kind` on the host computes with under these settings, in one line.
///
/// Errors: a precision that it does not have.
pub fn describe_host(
    kind: EngineKind,
    gpu: Option<&Arc<Gpu>>,
    settings: &Settings,
) -> Result<String> {
    Ok(match HostEngine::new(kind, gpu, settings)? {
        HostEngine::Plain(engine) => engine.describe(),
        HostEngine::Direct(engine) => engine.describe(),
    })
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
        let precision = precision.unwrap_or(Precision::DoubleSingle);
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
