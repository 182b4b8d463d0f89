//! Which engine and which method `auto` means: by the class of the device and the number of bodies.
//! Nothing is timed, so that two runs of one command on one machine have the same bits.
//!
//! Besides, a page must not wait for a measurement. Only the number of devices is measured
//! (`--devices auto`, `measure::choose`): the bits are the same on any number.
//! [`super::Simulation::new`] calls [`choose()`]; the program calls `measure::choose` before each
//! simulation (`app/lookup.rs`).
//!
//! The choice, and the kernel's shape or, for individual steps, the shapes that tuning had found
//! (`sim/shapes.rs`), are written to the `run.toml` of a run, so that `resume` repeats them.

use std::sync::Arc;

use super::{ASKED_FOR, Choice, EngineKind, Settings, check_tier};
use crate::error::Result;
use crate::forces::{self, Method, Precision, on_device};
use crate::gpu::{DeviceClass, DeviceCount, Gpu};

/// Fewer bodies are stepped by the CPU engine, whose steps are then short and whose bodies are f64.
/// From 256 bodies on GPUs are faster: a step takes 0.0026 ms on an NVIDIA H200 and its forces
/// 0.039 ms on 16 AVX-512 cores; with 64, those take 0.001 ms (benches/results/nvidia-h200.jsonl,
/// figures `rule`, `n` and `crossover`).
const FEWEST_ON_GPU: usize = 512;

/// The number of bodies from which steps take the tree, on a GPU of this class or on the CPU
/// (`None`). Fewer are faster by all pairs or nearly so, and exact.
const fn tree_from(class: Option<DeviceClass>) -> usize {
    match class {
        // On two AVX-512 cores both take 60 ms of processor time per step of 16,384 bodies
        // (docs/tree.md); with fewer lanes all pairs lose more than the tree. Integrated graphics
        // have a tenth of a card's pairs per second and half its latency (estimated).
        None | Some(DeviceClass::Integrated | DeviceClass::Unknown) => 16_384,
        // The tree wins from 46,000 bodies on an NVIDIA H200 (docs/figures/tree/nvidia-h200.jsonl,
        // figure `tree-n`: 0.44 times the speed of all pairs with 30,000, 4.3 times with 100,000).
        // All pairs of smaller cards lose more than the tree, whose first half millisecond is
        // latency. llvmpipe: docs/tree.md.
        Some(DeviceClass::Discrete | DeviceClass::Virtual | DeviceClass::Software) => 32_768,
    }
}

/// Chooses the engine, the method and the devices for `n` bodies.
///
/// `auto` takes the CPU if no adapter is available, if the adapter is software (which shares the
/// CPU's cores and has none of its SIMD kernels), or for fewer than 512 bodies. In a browser it
/// takes the adapter if there is one.
///
/// If no method is requested, it is `direct` or `tree`, by the number of bodies and the class of
/// the device. Several devices are taken only if a number is requested;
/// [`crate::measure::choose()`] also measures how many are fastest.
///
/// # Errors
/// An adapter requested by name, the engine `gpu` or the number of devices is not available; a
/// method or a precision that the engine does not have.
pub async fn choose(n: usize, settings: &Settings) -> Result<Choice> {
    choose_on(None, n, settings).await
}

/// [`choose()`] when a device is already `open`, whose adapter is then the only candidate.
///
/// # Errors
/// Those of [`choose()`].
pub async fn choose_on(open: Option<&Arc<Gpu>>, n: usize, settings: &Settings) -> Result<Choice> {
    let choice = choose_engine(open, n, settings).await?;
    let choice = match settings.method {
        Some(_) => choice,
        None => choose_method(choice, n, settings),
    };
    choice.check_devices(settings)?;
    let others = match (&choice.gpu, settings.devices) {
        (Some(first), DeviceCount::These(_)) => {
            first.open_others(&settings.adapter, settings.devices).await?
        }
        _ => Vec::new(),
    };
    Ok(Choice { others, ..choice })
}

/// Whether more than one device is requested by number.
fn requests_several(settings: &Settings) -> bool {
    matches!(settings.devices, DeviceCount::These(2..))
}

/// Chooses the engine, with the requested method or the default.
async fn choose_engine(open: Option<&Arc<Gpu>>, n: usize, settings: &Settings) -> Result<Choice> {
    let open = async || match open {
        Some(gpu) => Ok(Arc::clone(gpu)),
        None => Gpu::open_first(&settings.adapter).await,
    };
    let (engine, method) = settings.engine.by(settings.method)?;
    let cpu = |reason: String| Ok(Choice::of(EngineKind::Cpu, method, reason, None));
    let few = || format!("fewer than {FEWEST_ON_GPU} bodies");
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
        EngineKind::Auto if requests_several(settings) => {
            let reason = "several devices are asked for";
            Ok(Choice::of(EngineKind::Gpu, method, reason, Some(open().await?)))
        }
        // Opening a driver takes 0.1 s.
        EngineKind::Auto
            if n < FEWEST_ON_GPU
                && !settings.adapter.is_certain()
                && !cfg!(target_arch = "wasm32") =>
        {
            cpu(few())
        }
        EngineKind::Auto => {
            let gpu = match open().await {
                Ok(gpu) => gpu,
                // An adapter requested by name must be available; other failures fall back to the
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
            if n < FEWEST_ON_GPU {
                return cpu(few());
            }
            let reason = format!("{FEWEST_ON_GPU} bodies or more: {}", gpu.adapter.name);
            Ok(Choice::of(EngineKind::Gpu, method, reason, Some(gpu)))
        }
    }
}

/// Chooses the method if none was requested: `direct` if few bodies, the integrator, the precision,
/// a fixed kernel shape or the device's memory leave no choice.
fn choose_method(mut choice: Choice, n: usize, settings: &Settings) -> Choice {
    if choice.method != Method::Direct {
        return choice;
    }
    let from = tree_from(choice.gpu.as_ref().map(|gpu| gpu.adapter.class));
    let (method, why) = match only_direct(&choice, n, settings) {
        Some(why) => (Method::Direct, why),
        None if n < from => (Method::Direct, format!("direct for fewer than {from} bodies")),
        None => (Method::Tree, format!("the tree for {from} bodies or more")),
    };
    (choice.method, choice.method_reason) = (method, Some(why));
    choice
}

/// The reason why only `direct` is possible, if so.
fn only_direct(choice: &Choice, n: usize, settings: &Settings) -> Option<String> {
    let (place, integrator) = (choice.kind.placement(), settings.integrator);
    let order = integrator.order_of_forces();
    if forces::find(place, Method::Tree, settings.precision, order).is_err() {
        let why = match settings.precision {
            Some(precision) if integrator.device.is_some() => precision.name(),
            _ => integrator.name,
        };
        return Some(format!("direct, since the tree has no forces for {why}"));
    }
    if choice.kind == EngineKind::Gpu && !settings.kernel.fixes_nothing() {
        return Some("direct, since a shape of its kernel is asked for".to_owned());
    }
    let room = |gpu| on_device(Method::Tree).and_then(|tree| tree.check_room(gpu, n));
    let refused = choice.gpu.as_deref().and_then(|gpu| room(gpu).err());
    refused.map(|error| format!("direct, since there is no room for a tree ({error})"))
}
