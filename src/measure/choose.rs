//! Which engine is faster here: named by the user, or chosen by measurement.

use std::sync::{Arc, Mutex};

use web_time::Instant;

use super::crossover::choose_method;
#[cfg(not(target_arch = "wasm32"))]
use super::devices::choose_devices;
use crate::error::Result;
use crate::forces::direct::gpu::KernelRequest;
use crate::forces::{
    self, Answers, Identity, Method, Order, Place, Precision, Sinks, Sources, Tools, Want,
};
use crate::gpu::{AdapterIdentity, DeviceClass, DeviceCount, Gpu};
use crate::scene::{Spread, test_bodies};
use crate::sim::{ASKED_FOR, Choice, DeviceState, EngineKind, Settings, check_tier};

/// Chooses the engine for `n` bodies.
///
/// `auto` takes the CPU if no adapter is available or the adapter is software (which shares the
/// CPU's cores and has none of its SIMD kernels); otherwise both are timed on this number of
/// bodies. In a browser it takes the adapter if there is one.
///
/// If no method is asked for, it is `direct` or `tree`, whichever is faster there for this number
/// of bodies. This is measured once per device, unless `settings.known` has it, and is returned
/// with the choice. For few bodies it is `direct` without any measurement.
///
/// Errors: an adapter asked for by name, or the engine `gpu`, is not available; a method that the
/// engine does not have.
pub async fn choose(n: usize, settings: &Settings) -> Result<Choice> {
    choose_on(None, n, settings).await
}

/// Chooses the engine for `n` bodies when a device is already `open`, whose adapter is then the
/// only candidate.
///
/// Errors: those of [`choose`].
pub async fn choose_on(open: Option<&Arc<Gpu>>, n: usize, settings: &Settings) -> Result<Choice> {
    let choice = choose_engine(open, n, settings).await?;
    let choice = match settings.method {
        Some(_) => choice,
        // Several devices are considered only if they are asked for.
        None if asks_for_several(settings) => choice,
        None => choose_method(choice, n, settings).await?,
    };
    choice.check_devices(settings)?;
    // A browser has one device.
    #[cfg(not(target_arch = "wasm32"))]
    let choice = choose_devices(choice, n, settings).await?;
    Ok(choice)
}

/// Whether more than one device is asked for by number.
fn asks_for_several(settings: &Settings) -> bool {
    matches!(settings.devices, DeviceCount::These(2..))
}

/// Chooses the engine, with the method asked for or the default.
async fn choose_engine(open: Option<&Arc<Gpu>>, n: usize, settings: &Settings) -> Result<Choice> {
    let open = async || match open {
        Some(gpu) => Ok(Arc::clone(gpu)),
        None => Gpu::open_first(&settings.adapter).await,
    };
    let (engine, method) = settings.engine.by(settings.method)?;
    let cpu = |reason: String| Ok(Choice::of(EngineKind::Cpu, method, reason, None));
    let integrator = settings.integrator;
    let beyond_single = settings.precision.filter(|precision| *precision != Precision::Single);
    match (integrator.has_block_steps(), beyond_single, engine) {
        (true, _, EngineKind::Auto) => {
            return cpu(format!(
                "{} needs forces in f64, which every CPU has (gpu: double-single)",
                integrator.name
            ));
        }
        (false, Some(precision), EngineKind::Auto) => {
            return cpu(format!("precision {} is computed on the host", precision.name()));
        }
        _ => {}
    }
    match engine {
        EngineKind::Gpu => {
            check_tier(EngineKind::Gpu, settings)?;
            let gpu = open().await?;
            Ok(Choice::of(EngineKind::Gpu, method, ASKED_FOR, Some(gpu)))
        }
        kind @ (EngineKind::Cpu | EngineKind::Reference) => {
            Ok(Choice::of(kind, method, ASKED_FOR, None))
        }
        EngineKind::Auto if asks_for_several(settings) => {
            let reason = "several devices are asked for";
            Ok(Choice::of(EngineKind::Gpu, method, reason, Some(open().await?)))
        }
        EngineKind::Auto => {
            let gpu = match open().await {
                Ok(gpu) => gpu,
                // An adapter asked for by name must be available; other failures fall back to the
                // CPU.
                Err(error) if settings.adapter.is_certain() => return Err(error),
                Err(error) => return cpu(error.to_string()),
            };
            if cfg!(target_arch = "wasm32") {
                let reason = "a page has one processor thread, which must stay responsive";
                return Ok(Choice::of(EngineKind::Gpu, method, reason, Some(gpu)));
            }
            if gpu.adapter.class == DeviceClass::Software {
                return cpu(format!(
                    "the adapter {} is software: it shares the CPU's cores and has none of its SIMD kernels",
                    gpu.adapter.name
                ));
            }
            let trial = n.clamp(1, LARGEST_TRIAL);
            let (on_cpu, on_gpu) = race(&gpu, trial, method, settings).await?;
            let (cpu_ms, gpu_ms) = (on_cpu * 1e3, on_gpu * 1e3);
            let times = format!(
                "a step of {trial} bodies takes {gpu_ms:.3} ms there, {cpu_ms:.3} ms on the CPU"
            );
            if on_gpu < on_cpu {
                let reason = format!("{} is faster: {times}", gpu.adapter.name);
                Ok(Choice::of(EngineKind::Gpu, method, reason, Some(gpu)))
            } else {
                cpu(format!("{} is slower: {times}", gpu.adapter.name))
            }
        }
    }
}

/// The largest number of bodies that is tried; beyond it both are fully used, and their times grow
/// alike.
const LARGEST_TRIAL: usize = 16_384;

/// Races so far: adapter, number of bodies, method and kernel; seconds on the CPU and on the GPU.
type Races = Vec<((AdapterIdentity, usize, Method, KernelRequest), (f64, f64))>;
static RACES: Mutex<Races> = Mutex::new(Vec::new());

/// Seconds per step on the CPU and on the GPU, measured once per process: a window that loads one
/// scene after another does not wait again.
async fn race(
    gpu: &Arc<Gpu>,
    trial: usize,
    method: Method,
    settings: &Settings,
) -> Result<(f64, f64)> {
    let key = (gpu.adapter.identity(), trial, method, settings.kernel);
    let races = || RACES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = races().iter().find(|(other, _)| *other == key).map(|(_, times)| *times);
    if let Some(times) = known {
        return Ok(times);
    }
    let times = time_both(gpu, trial, method, settings).await?;
    races().push((key, times));
    Ok(times)
}

/// These settings for test bodies, with a step so short that they hardly move.
pub(super) fn test_settings(method: Method, settings: &Settings) -> Settings {
    Settings {
        softening: 0.01,
        dt: 1e-6,
        gravitational_constant: 1.0,
        method: Some(method),
        frame: None,
        start: 0.0,
        steps_before: 0,
        ..settings.clone()
    }
}

/// Seconds per step of `trial` bodies on the CPU and on the GPU.
async fn time_both(
    gpu: &Arc<Gpu>,
    trial: usize,
    method: Method,
    settings: &Settings,
) -> Result<(f64, f64)> {
    let bodies = test_bodies(trial, Spread::Even);

    let tools = Tools::default();
    let mut cpu = forces::open(Place::Cpu, method, None, Order::Acceleration, &tools).await?;
    let sources = Sources::new(&bodies.position, &bodies.mass);
    let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
    let mut out = Answers::default();
    let mut on_cpu = f64::INFINITY;
    for _ in 0..3 {
        let begun = Instant::now();
        cpu.evaluate_from(&sources, &sinks, 0.01, &Want::ACCELERATION, &mut out)?;
        on_cpu = on_cpu.min(begun.elapsed().as_secs_f64());
    }

    let settings = test_settings(method, settings);
    let mut device = DeviceState::new(Arc::clone(gpu), &bodies, None, &settings).await?;
    let mut on_gpu = f64::INFINITY;
    for _ in 0..3 {
        const STEPS: u64 = 8;
        let begun = Instant::now();
        device.advance(settings.dt, STEPS, None, &mut |_| true).await?;
        on_gpu = on_gpu.min(begun.elapsed().as_secs_f64() / STEPS as f64);
    }
    Ok((on_cpu, on_gpu))
}
