//! Self-test of a tier on an adapter: measured, not guessed from its name.
//!
//! WGSL promises nothing about the order of floating-point operations, and drivers differ in what
//! they make of it (see `shaders/direct/arithmetic.wgsl`). So double-single is tested: sums,
//! differences and products against their exact values, then the actual force kernel against f64,
//! on bodies where broken arithmetic shows. f64 is tested likewise.

use std::sync::{Arc, Mutex};

use glam::DVec3;

use super::{GpuTiers, Pairs, TierShape};
use crate::error::Result;
use crate::forces::direct::Reference;
use crate::forces::test_bodies::Random;
use crate::forces::{ForceEngine, Forces, Identity, Order, Outputs, Precision, TestBodies};
use crate::gpu::layout::DirectParams;
use crate::gpu::{Binding, Checks, Gpu, Params, blocking, compile, read, storage, template};

/// Number of sums, differences and products to test.
const TRIALS: usize = 4096;
/// Vectors that the shader returns for each trial.
const ANSWERS: usize = 5;

/// Largest relative error of forces and jerks, and of snaps, by `sources` sources of the test
/// problems. For double-single the error of one f32 interaction remains, some units in the last
/// place; a lost low part costs at least 6e-6. Where it is refined, the rounding of positions
/// remains, and a lost low part costs 6e-8. f64 allows for a square root that is accurate to some
/// units in the last place.
fn limits(precision: Precision, sources: usize) -> [f64; 2] {
    match precision {
        Precision::Double => [1e-12; 2],
        _ if precision.refines(sources) => [1e-8, 1e-7],
        _ => [2e-6; 2],
    }
}

/// Result of a self-test: how pairs are computed, or the reason why the tier does not hold.
type Verdict = std::result::Result<Pairs, String>;
static KNOWN: Mutex<Vec<(String, Precision, Verdict)>> = Mutex::new(Vec::new());

/// Tests `precision` on `gpu`, once per adapter and process, and returns how its pairs are
/// computed.
///
/// # Errors
/// The tier does not hold, with the reason; the device failed.
pub async fn tier_async(gpu: &Arc<Gpu>, precision: Precision) -> Result<Pairs> {
    verdict_async(gpu, precision).await?.map_err(|reason| gpu.refuse(reason))
}

/// `tier_async`, waiting for the device.
pub fn tier(gpu: &Arc<Gpu>, precision: Precision) -> Result<Pairs> {
    blocking(tier_async(gpu, precision))
}

/// `verdict_async`, waiting for the device.
pub fn verdict(gpu: &Arc<Gpu>, precision: Precision) -> Result<Verdict> {
    blocking(verdict_async(gpu, precision))
}

/// [`tier_async`], but returns a tier that does not hold as `Ok(Err(reason))`.
pub async fn verdict_async(gpu: &Arc<Gpu>, precision: Precision) -> Result<Verdict> {
    let adapter = &gpu.adapter;
    let name = format!("{} {} {} {:?}", adapter.name, adapter.driver, adapter.backend, gpu.tier);
    let lock = || KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let is_it =
        |(known, tier, _): &&(String, Precision, Verdict)| *known == name && *tier == precision;
    if let Some((_, _, verdict)) = lock().iter().find(is_it) {
        return Ok(verdict.clone());
    }
    let found = match precision {
        Precision::Single => Ok(Pairs::NONE),
        Precision::DoubleSingle => double_single_async(gpu, true).await?,
        Precision::Double if !gpu.tier.f64 => {
            Err("has no f64 in shaders (only Vulkan drivers offer it); \
             the CPU engine computes in f64 ('--engine cpu')"
                .to_owned())
        }
        Precision::Double => prove(gpu, precision, Pairs::NONE)
            .await?
            .map(|()| Pairs::NONE)
            .map_err(|wrong| format!("does not compute as f64 should: {wrong}")),
    };
    lock().push((name, precision, found.clone()));
    Ok(found)
}

/// Whether double-single arithmetic holds, fenced or not, and whether its products may use fma.
/// Blocks until the device is done.
pub fn double_single(gpu: &Arc<Gpu>, fence: bool) -> Result<Verdict> {
    blocking(double_single_async(gpu, fence))
}

async fn double_single_async(gpu: &Arc<Gpu>, fence: bool) -> Result<Verdict> {
    let wrong = match arithmetic(gpu, fence).await? {
        Ok(fma) => {
            let variants: &[bool] = if fma == Fma::Fused { &[true, false] } else { &[false] };
            let mut reasons = Vec::new();
            for &fused in variants {
                let pairs = Pairs { fence, fused };
                match prove(gpu, Precision::DoubleSingle, pairs).await? {
                    Ok(()) => return Ok(Ok(pairs)),
                    Err(reason) => reasons.push(format!("with {} {reason}", pairs.name())),
                }
            }
            reasons.join("; ")
        }
        Err(reason) => reason,
    };
    Ok(Err(format!(
        "does not compute in double-single: {wrong}; \
         the CPU engine computes in f64 ('--engine cpu')"
    )))
}

/// Measured behaviour of fma.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fma {
    /// Rounded once.
    Fused,
    /// A product and a sum.
    Split,
}

/// Tests sums and differences of pairs against exact ones, and products.
async fn arithmetic(gpu: &Gpu, fence: bool) -> Result<std::result::Result<Fma, String>> {
    let name = "direct/self_test.wgsl";
    let values = minijinja::context! {
        tier => Precision::DoubleSingle.name(), pairs => true, fused => false, fence,
    };
    let text = template::assemble(name, values)?;
    let params_size = size_of::<DirectParams>() as u64;
    let bindings = [Binding::Read, Binding::Write, Binding::Params(params_size)];
    let kernel = compile(gpu, name, &text, &bindings, Checks::default()).await?;

    let mut random = Random(0x5eed);
    // Values of very different magnitude, without a pattern in their last bits.
    let mut number = |spread: i32| {
        let mantissa = (1.0 + random.unit()) as f32;
        let exponent = (random.unit() * f64::from(spread)) as i32 - spread / 2;
        let sign = if random.unit() < 0.5 { -1.0 } else { 1.0 };
        sign * mantissa * 2f32.powi(exponent)
    };
    let mut numbers: Vec<[f32; 4]> = Vec::with_capacity(4 * TRIALS);
    for _ in 0..TRIALS {
        numbers.push(std::array::from_fn(|_| number(24)));
        numbers.push(std::array::from_fn(|_| number(24)));
        // A sink and a source some units in the last place apart, with significant low parts.
        let place: [f32; 2] = std::array::from_fn(|_| number(2));
        let apart = |x: f32, n: f32| f32::from_bits(x.to_bits() + 8 + (n.abs() * 8.0) as u32);
        let low = |x: f32, n: f32| x.abs() * 2f32.powi(-26) * n;
        let lows: [f32; 4] = std::array::from_fn(|_| number(2));
        let near = [apart(place[0], lows[0]), apart(place[1], lows[1])];
        numbers.push([place[0], place[1], low(place[0], lows[0]), low(place[1], lows[1])]);
        numbers.push([near[0], near[1], low(place[0], lows[2]), low(place[1], lows[3])]);
    }

    let questions = storage(gpu, "self-test", numbers.len());
    let answers = storage(gpu, "self-test", ANSWERS * TRIALS);
    gpu.queue.write_buffer(&questions, 0, bytemuck::cast_slice(&numbers));
    let mut params = Params::new(gpu, "self-test", 1);
    let offset = params.offset_of(DirectParams { sink_end: TRIALS as u32, ..Default::default() });
    params.upload(gpu);
    let resources = [questions.as_entire_binding(), answers.as_entire_binding(), params.binding()];
    let kernel = kernel.bind(gpu, "self-test", &resources);
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        kernel.set(&mut pass, &[offset]);
        pass.dispatch_workgroups(TRIALS.div_ceil(64) as u32, 1, 1);
    }
    gpu.queue.submit([encoder.finish()]);
    let found = read::<[f32; 4]>(gpu, &[&answers], ANSWERS * TRIALS).await?.remove(0);
    let Wrong { sums, differences, products } = wrong_answers(&numbers, &found);
    if sums + differences == 0 {
        return Ok(Ok(if products == 0 { Fma::Fused } else { Fma::Split }));
    }
    Ok(Err(format!(
        "{sums} of {} sums lose their low part and {differences} of {} differences theirs",
        4 * TRIALS,
        3 * TRIALS
    )))
}

/// Numbers of wrong results.
#[derive(Debug, Default, PartialEq)]
struct Wrong {
    sums: usize,
    differences: usize,
    products: usize,
}

fn wrong_answers(numbers: &[[f32; 4]], found: &[[f32; 4]]) -> Wrong {
    let Wrong { mut sums, mut differences, mut products } = Wrong::default();
    for (i, (given, got)) in numbers.chunks(4).zip(found.chunks(ANSWERS)).enumerate() {
        let turns = (i % 4 + 1) as f64;
        for axis in 0..4 {
            let (a, b) = (f64::from(given[0][axis]), f64::from(given[1][axis]));
            let sum = f64::from(got[0][axis]) + f64::from(got[1][axis]);
            let good = 2f64.powi(-44) * (a.abs() + turns * b.abs());
            sums += usize::from(!((sum - (a + turns * b)).abs() <= good));
            // Both sides are exact in f64.
            products += usize::from(f64::from(got[3][axis]) + f64::from(got[4][axis]) != a * b);
        }
        // The shader's .xxy and .zzw.
        for (axis, (high, low)) in [(0, 2), (0, 2), (1, 3)].into_iter().enumerate() {
            let value = |k: usize| f64::from(given[k][high]) + f64::from(given[k][low]);
            let (exact, got) = ((value(3) - value(2)).abs(), f64::from(got[2][axis]));
            differences += usize::from(!((got - exact).abs() <= 2f64.powi(-21) * exact));
        }
    }
    Wrong { sums, differences, products }
}

/// Tests the force kernel against f64.
async fn prove(
    gpu: &Arc<Gpu>,
    precision: Precision,
    pairs: Pairs,
) -> Result<std::result::Result<(), String>> {
    let shape = TierShape { p: 8, q: 8, r: 1, u: 8, l: 1, slices: 1 };
    for (what, problem) in [("near bodies", near()), ("sums of many bodies", uneven())] {
        let (sources, sinks) = problem;
        let mut engine = GpuTiers::unproven(Arc::clone(gpu), precision, pairs)
            .with_shape(shape, Checks::default())?;
        let (mut found, mut right) = (Forces::default(), Forces::default());
        let mut reference = Reference::default();
        engine.set_sources(&sources.sources(sources.len()))?;
        reference.set_sources(&sources.sources(sources.len()))?;
        let (given, outputs) =
            (sinks.sinks(0..sinks.len(), Identity::Foreign), Outputs::only(Order::Snap));
        // NaN counts as an error below.
        engine.begin_async(&given, 0.0, &outputs).await?;
        engine.collect_async(&mut found).await?;
        reference.begin(&given, 0.0, &outputs)?;
        reference.collect(&mut right)?;
        let [limit, of_snaps] = limits(precision, sources.len());
        let pairs = [
            ("accelerations", &found.acceleration, &right.acceleration, limit),
            ("jerks", &found.jerk, &right.jerk, limit),
            ("snaps", &found.snap, &right.snap, of_snaps),
        ];
        for (name, found, right, limit) in pairs {
            let errors = found.iter().zip(right).map(|(a, b)| (*a - *b).length() / b.length());
            let worst = errors.fold(0.0, |worst: f64, e| if e <= worst { worst } else { e });
            if !(worst <= limit) {
                return Ok(Err(format!(
                    "{name} of {what} are off by {worst:.0e}, above {limit:.0e}"
                )));
            }
        }
    }
    Ok(Ok(()))
}

/// Sinks a hundred-thousandth of the extent from a source, with as small a relative velocity: the
/// differences of the high parts alone are off by a hundredth.
fn near() -> (TestBodies, TestBodies) {
    let mut random = Random(0xbed);
    let (mut sources, mut sinks) = (TestBodies::default(), TestBodies::default());
    for k in 0..128 {
        let (position, velocity) = (random.vector(), random.vector());
        sources.push(position, velocity, DVec3::ZERO, 1.0);
        if k % 16 == 0 {
            let near = position + 1e-5 * (random.vector() + DVec3::splat(1.0));
            let passing = velocity + 1e-5 * (random.vector() + DVec3::splat(1.0));
            sinks.push(near, passing, random.vector(), 0.0);
        }
    }
    (sources, sinks)
}

/// Each row of threads meets a heavy body first and then many light ones, of which 8 together are
/// less than half of the last place of its sum: in a single f32 all of them would be lost.
fn uneven() -> (TestBodies, TestBodies) {
    let mut random = Random(0xcafe);
    let (mut sources, mut sinks) = (TestBodies::default(), TestBodies::default());
    let away = DVec3::new(1.0, 0.5, -0.75);
    for k in 0..16_384 {
        let mass = if k < 8 { 1.0 } else { 6e-9 };
        let position = away + 1e-3 * random.vector();
        sources.push(position, -away + 1e-3 * random.vector(), away, mass);
    }
    for _ in 0..8 {
        sinks.push(1e-2 * random.vector(), DVec3::ZERO, DVec3::ZERO, 0.0);
    }
    (sources, sinks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_test_detects_lost_low_parts() {
        let given = [[1.0, 2.0, 3.0, 4.0], [1e-9; 4], [1.0, 1.0, 0.0, 1e-9], [1.0, 2.0, 1e-9, 0.0]];
        // Exact products of f32 in f64, in two parts.
        let products = given[0].map(|a| a * given[1][0]);
        let lost: [f32; 4] = std::array::from_fn(|axis| {
            (f64::from(given[0][axis]) * f64::from(given[1][0]) - f64::from(products[axis])) as f32
        });
        let right = [[1.0, 2.0, 3.0, 4.0], [1e-9; 4], [1e-9, 1e-9, 1.0, 0.0], products, lost];
        let wrongs = |sums, differences, products| Wrong { sums, differences, products };
        assert_eq!(wrong_answers(&given, &right), wrongs(0, 0, 0));
        let mut unfused = right;
        unfused[4] = [0.0; 4];
        // Only three times the f32 next to 1e-9 is no f32.
        assert_eq!(wrong_answers(&given, &unfused), wrongs(0, 0, 1));
        let mut wrong = right;
        wrong[1] = [0.0; 4];
        assert_eq!(wrong_answers(&given, &wrong), wrongs(4, 0, 0));
        wrong[2] = [0.0, 0.0, f32::NAN, 0.0];
        assert_eq!(wrong_answers(&given, &wrong), wrongs(4, 3, 0));
    }
}
