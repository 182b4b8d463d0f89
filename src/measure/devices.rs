//! The number of devices to use, if it is left to a measurement: all of one kind if they are faster
//! than one.

use std::sync::Arc;

use crate::error::Result;
use crate::forces::Method;
use crate::gpu::{DeviceClass, DeviceCount, Gpu};
use crate::scene::{Spread, test_bodies};
use crate::sim::{Choice, Settings};

/// Adds the devices that share `n` bodies with the `first` one, if their number is `auto` and they
/// are faster.
pub(super) async fn choose_devices(
    first: &Arc<Gpu>,
    choice: Choice,
    n: usize,
    settings: &Settings,
) -> Result<Choice> {
    if settings.devices != DeviceCount::Auto {
        return Ok(choice);
    }
    if let Some(why) = choice.only_one(settings) {
        let devices_reason = Some(format!("one device {why}"));
        return Ok(Choice { devices_reason, ..choice });
    }
    if settings.steps_on_host() {
        let why = "block steps take one device unless --devices N is given: how many bodies a step has is not known before";
        return Ok(Choice { devices_reason: Some(why.to_owned()), ..choice });
    }
    several(first, choice, n, settings).await
}

/// Several devices are used if their time is at most this fraction of one's.
const WORTH_IT: f64 = 0.97;

/// The largest number of bodies that is tried: beyond it exchanges are negligible compared with all
/// pairs. With a tree, steps are short, and exchanges grow in proportion to them.
fn largest_trial(choice: &Choice) -> usize {
    let is_software =
        choice.gpu.as_ref().is_some_and(|gpu| gpu.adapter.class == DeviceClass::Software);
    match choice.method {
        Method::Tree if !is_software => 1 << 22,
        Method::Tree => 1 << 16,
        _ => 1 << 18,
    }
}

/// All devices of the same kind as the first, if steps are faster on them.
async fn several(first: &Gpu, choice: Choice, n: usize, settings: &Settings) -> Result<Choice> {
    let others = first.open_others(&settings.adapter, DeviceCount::Auto).await?;
    if others.is_empty() {
        let devices_reason = Some("there is one device of that kind".to_owned());
        return Ok(Choice { devices_reason, ..choice });
    }
    let bodies = test_bodies(n.clamp(1, largest_trial(&choice)), Spread::Even);
    // A step so short that the bodies hardly move.
    let settings = Settings {
        softening: 0.01,
        dt: 1e-6,
        gravitational_constant: 1.0,
        method: Some(choice.method),
        frame: None,
        start: 0.0,
        steps_before: 0,
        ..settings.clone()
    };
    let together = Choice { others, ..choice.clone() };
    let [one, all] = [
        secs_per_step(&choice, &bodies, &settings)?,
        secs_per_step(&together, &bodies, &settings)?,
    ];
    let (n, devices) = (bodies.len(), together.devices().count());
    let (one_ms, all_ms) = (one * 1e3, all * 1e3);
    let (faster, chosen) = match all < one * WORTH_IT {
        true => ("faster", together),
        false => ("no faster, so one takes all", choice),
    };
    let reason = format!(
        "{devices} devices are {faster}: a step of {n} bodies takes {all_ms:.3} ms on them, {one_ms:.3} ms on one"
    );
    Ok(Choice { devices_reason: Some(reason), ..chosen })
}

/// Seconds per step with the devices of `choice`.
fn secs_per_step(
    choice: &Choice,
    bodies: &crate::bodies::Bodies,
    settings: &Settings,
) -> Result<f64> {
    let mut sim = crate::sim::Simulation::builder(bodies.clone(), settings.clone())
        .choice(choice.clone())
        .build()?;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        const STEPS: u64 = 4;
        let begun = crate::wall_clock::Instant::now();
        sim.step(STEPS)?;
        best = best.min(begun.elapsed().as_secs_f64() / STEPS as f64);
    }
    Ok(best)
}
