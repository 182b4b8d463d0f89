//! Checks every kernel variant on an adapter against f64.

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::gpu::{AllPairs, KernelConfig, KernelVariant, PairBuffers};
use crate::forces::{Identity, Outputs, Sinks, Sources, Throughput, evaluate};
use crate::gpu::layout::FOREIGN;
use crate::gpu::{Checks, Gpu, read, storage};
use crate::measure::{ErrorStats, acceleration_errors, potential_errors, reference};
use crate::scene::{Spread, test_bodies};

/// Largest rms relative error that passes. Each f32 interaction errs by about 2e-7 at random; sums
/// over a tile and over tiles add rounding of the same size.
const RMS_LIMIT: f64 = 2e-6;

/// Largest single error that passes: for a sink whose forces cancel to a hundredth of their size.
const WORST_LIMIT: f64 = 1e-4;

/// A case to check: a kernel with numbers of sinks and sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelCase {
    /// The kernel.
    pub config: KernelConfig,
    /// Whether to compute the potential.
    pub potential: bool,
    /// Whether to use sources of three masses and the kernel for blocks of equal mass.
    pub one_mass: bool,
    /// Softening length; 0 uses the guarded kernel.
    pub softening: f64,
    /// Number of sinks.
    pub sinks: usize,
    /// Number of sources. The sinks are the last of the sources; if there are more sinks than
    /// sources, none is a source.
    pub sources: usize,
}

/// A configuration that this adapter cannot run.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The configuration.
    pub config: KernelConfig,
    /// The limit that it exceeds.
    pub reason: String,
}

/// The result of a case.
#[derive(Clone, Copy, Debug)]
pub struct CaseResult {
    /// What was checked.
    pub case: KernelCase,
    /// Error of the accelerations.
    pub acceleration: ErrorStats,
    /// Error of the potentials, if requested.
    pub potential: Option<ErrorStats>,
    /// Whether nothing was written beyond the last sink.
    pub in_bounds: bool,
    /// Whether recomputing in many small dispatches gives identical bits.
    pub same_in_pieces: bool,
}

impl CaseResult {
    /// Whether the variant is correct.
    pub fn passed(&self) -> bool {
        let good = |e: ErrorStats| e.rms < RMS_LIMIT && e.worst < WORST_LIMIT;
        good(self.acceleration)
            && self.potential.is_none_or(good)
            && self.in_bounds
            && self.same_in_pieces
    }
}

/// All cases for an adapter: every kind of kernel at sizes around its tile, and the configurations
/// it cannot run.
pub fn cases(gpu: &Gpu) -> (Vec<KernelCase>, Vec<Skipped>) {
    let (mut cases, mut skipped) = (Vec::new(), Vec::new());
    for config in configurations() {
        if let Err(error) = config.validate(Some(gpu)) {
            skipped.push(Skipped { config, reason: error.to_string() });
            continue;
        }
        for case in cases_with(config, &[(false, 0.05), (false, 0.0), (true, 0.05), (true, 0.0)]) {
            cases.push(case);
            if KernelVariant::new(config, case.softening, 1.0, case.potential).can_sort() {
                cases.push(KernelCase { one_mass: true, ..case });
            }
        }
    }
    (cases, skipped)
}

/// The cases for a user's own kernel, which computes only softened accelerations.
///
/// # Errors
///
/// A shape that this adapter cannot run.
pub fn cases_of(gpu: &Gpu, config: KernelConfig) -> Result<Vec<KernelCase>> {
    config.validate(Some(gpu))?;
    Ok(cases_with(config, &[(false, 0.05)]))
}

/// The cases for one kernel: at sizes around its tile, with and without potential and softening.
pub fn cases_around(config: KernelConfig) -> Vec<KernelCase> {
    cases_with(config, &[(false, 0.05), (false, 0.0), (true, 0.05)])
}

/// A kernel with each of these potentials and softenings, at all sizes.
fn cases_with(config: KernelConfig, fields: &[(bool, f64)]) -> Vec<KernelCase> {
    let mut cases = Vec::new();
    for (sinks, sources) in sizes(&config) {
        cases.extend(fields.iter().map(|&(potential, softening)| KernelCase {
            config,
            potential,
            one_mass: false,
            softening,
            sinks,
            sources,
        }));
    }
    cases
}

/// Numbers of sinks and sources around a tile.
fn sizes(config: &KernelConfig) -> Vec<(usize, usize)> {
    let tile = config.tile() as usize;
    let mut sizes = vec![(1, 1), (2, 2), (tile - 1, tile + 1), (tile, tile), (1000, 1000)];
    sizes.extend([(7, 4097), (tile + 1, tile + 1)]);
    sizes.retain(|(sinks, _)| *sinks > 0);
    sizes
}

/// Shapes that together use every path of the shaders.
fn configurations() -> Vec<KernelConfig> {
    let base = KernelConfig::tiled(64);
    let checked = KernelConfig { checks: Checks::On, ..base };
    vec![
        base,
        checked,
        KernelConfig { p: 1, ..base },
        KernelConfig { p: 32, u: 4, ..base },
        KernelConfig { p: 256, u: 4, ..base },
        KernelConfig { p: 256, r: 2, u: 8, ..base },
        KernelConfig { p: 128, r: 4, u: 4, ..base },
        KernelConfig { p: 64, r: 8, u: 2, ..base },
        KernelConfig { q: 2, u: 4, ..base },
        KernelConfig { p: 32, q: 8, r: 2, u: 4, ..base },
        KernelConfig { p: 16, q: 16, s: 3, ..base },
        KernelConfig { s: 7, u: 4, ..base },
        KernelConfig { r: 4, u: 4, s: 4, ..checked },
        KernelConfig { p: 512, u: 4, ..base },
        KernelConfig { p: 1024, r: 4, u: 8, ..base },
        // Shapes as chosen by defaults and tuning: much unrolling, many sinks per thread, many
        // threads per sink.
        KernelConfig { p: 8, q: 32, u: 8, ..base },
        KernelConfig { p: 16, q: 16, u: 16, ..base },
        KernelConfig { p: 256, r: 8, u: 16, s: 2, ..base },
        KernelConfig { p: 256, r: 16, u: 32, ..base },
        KernelConfig { p: 32, r: 16, untiled: true, ..base },
        KernelConfig { untiled: true, ..base },
        KernelConfig { untiled: true, u: 4, ..base },
        KernelConfig { untiled: true, u: 3, r: 4, s: 5, ..base },
        KernelConfig { untiled: true, u: 4, r: 2, ..checked },
        KernelConfig { untiled: true, uniform: true, u: 4, r: 2, ..base },
        KernelConfig { p: 128, untiled: true, uniform: true, u: 16, r: 8, s: 4, ..base },
        KernelConfig { untiled: true, uniform: true, s: 2, ..checked },
        KernelConfig { p: 64, r: 2, u: 4, vec2: true, ..base },
        KernelConfig { p: 128, r: 8, u: 8, s: 3, vec2: true, ..base },
        KernelConfig { untiled: true, r: 4, u: 3, vec2: true, ..base },
        KernelConfig { untiled: true, uniform: true, r: 2, u: 4, vec2: true, ..base },
        KernelConfig { untiled: true, broadcast: true, r: 4, u: 4, s: 2, ..base },
        KernelConfig { p: 256, untiled: true, broadcast: true, r: 2, u: 2, vec2: true, ..checked },
    ]
}

/// Number of NaN entries beyond the last one: in outputs they show stray writes, in inputs they
/// show a kernel that reads too far. If the binding ended there, such a kernel would read zeros.
const GUARD: usize = 96;

/// Runs one case on `gpu` and compares it with [`Reference`](crate::forces::direct::Reference),
/// blocking.
///
/// # Errors
///
/// A lost device; source code that does not compile.
#[cfg(not(target_arch = "wasm32"))]
pub fn check(gpu: &Gpu, case: KernelCase) -> Result<CaseResult> {
    crate::gpu::blocking(check_case(gpu, case))
}

/// [`check`], which a page awaits.
///
/// # Errors
///
/// Those of [`check`].
pub async fn check_case(gpu: &Gpu, case: KernelCase) -> Result<CaseResult> {
    let bodies = test_bodies(case.sources.max(case.sinks), Spread::Uneven);
    let Bodies { position, mut mass, .. } = bodies;
    if case.one_mass {
        let third = |i: usize| [0.5, 1.0, 1.5][i % 3] / case.sources as f64;
        mass.iter_mut().enumerate().for_each(|(i, mass)| *mass = f64::from(third(i) as f32));
    }
    let (sources, masses) = (&position[..case.sources], &mass[..case.sources]);
    // The sinks are the last of the sources, or if there are more of them, no sources.
    let own = case.sinks <= case.sources;
    let sinks = if own {
        &position[case.sources - case.sinks..case.sources]
    } else {
        &position[..case.sinks]
    };
    let identity =
        if own { Identity::Offset(case.sources - case.sinks) } else { Identity::Foreign };

    let right = reference(
        &Sources::new(sources, masses),
        &Sinks::new(sinks, identity),
        case.softening,
        &Outputs { potential: case.potential, ..Outputs::ACCELERATION },
    )?;

    let upload = |points: &[DVec3], masses: Option<&[f64]>| {
        let entry = |(i, p): (usize, &DVec3)| {
            let [x, y, z] = crate::frame::narrow(*p);
            [x, y, z, masses.map_or(0.0, |m| m[i] as f32)]
        };
        let mut data: Vec<[f32; 4]> = points.iter().enumerate().map(entry).collect();
        data.resize(points.len() + GUARD, [f32::NAN; 4]);
        let buffer = storage(gpu, "check", data.len());
        gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&data));
        buffer
    };
    let (source_buffer, sink_buffer) = (upload(sources, Some(masses)), upload(sinks, None));
    let source_mass: Vec<f32> = masses.iter().map(|mass| *mass as f32).collect();
    let field = PairBuffers {
        sources: &source_buffer,
        source_mass: &source_mass,
        sinks: &sink_buffer,
        sink_count: case.sinks as u32,
        first_sink: 0,
        self_offset: match identity {
            Identity::Offset(offset) => offset as u32,
            _ => FOREIGN,
        },
        softening: case.softening as f32,
    };
    let variant = KernelVariant::new(case.config, case.softening, 1.0, case.potential);
    let variant = KernelVariant { one_mass: case.one_mass, ..variant };
    let entries = case.config.s as usize * case.sinks;
    let computed = async |mut throughput: Throughput| -> Result<Vec<[f32; 4]>> {
        // Filled with NaN, to reveal any output that the kernel does not write.
        let sums = storage(gpu, "check", entries + GUARD);
        let poison = vec![[f32::NAN; 4]; entries + GUARD];
        gpu.queue.write_buffer(&sums, 0, bytemuck::cast_slice(&poison));
        let mut kernel = AllPairs::sharing(gpu, variant, field, Some(sums.clone())).await?;
        evaluate(&mut kernel, gpu, &mut throughput).await?;
        Ok(read::<[f32; 4]>(gpu, &[&sums], entries + GUARD).await?.remove(0))
    };
    let whole = computed(Throughput::guess(gpu.adapter.class)).await?;
    // An assumed rate of 4,000 interactions/s gives the smallest possible chunks.
    let in_chunks = computed(Throughput::fixed(4e3)).await?;

    let total = |i: usize, axis: usize| -> f64 {
        (0..case.config.s as usize).map(|k| f64::from(whole[k * case.sinks + i][axis])).sum()
    };
    let found: Vec<DVec3> =
        (0..case.sinks).map(|i| DVec3::new(total(i, 0), total(i, 1), total(i, 2))).collect();
    let potential: Vec<f64> = (0..case.sinks).map(|i| total(i, 3)).collect();
    let bits = |sums: &[[f32; 4]]| -> Vec<[u32; 4]> {
        sums[..entries].iter().map(|v| v.map(f32::to_bits)).collect()
    };
    Ok(CaseResult {
        case,
        acceleration: acceleration_errors(&found, &right.acceleration),
        potential: case.potential.then(|| potential_errors(&potential, &right.potential)),
        in_bounds: whole[entries..].iter().flatten().all(|x| x.is_nan()),
        same_in_pieces: bits(&whole) == bits(&in_chunks),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::DeviceClass;

    #[test]
    fn checked_cases_cover_default_shape_parameters() {
        let tried = configurations();
        for class in [DeviceClass::Discrete, DeviceClass::Integrated, DeviceClass::Software] {
            for n in (0..=24).map(|k| 1usize << k) {
                let default = KernelConfig::for_device(class, n, n);
                let has = |get: fn(&KernelConfig) -> u32| {
                    tried.iter().any(|c| c.untiled == default.untiled && get(c) == get(&default))
                };
                assert!(has(|c| c.p) && has(|c| c.q) && has(|c| c.u), "{default}");
            }
        }
        let has = |get: fn(&KernelConfig) -> u32, value| tried.iter().any(|c| get(c) == value);
        assert!([1, 2, 4, 8, 16].iter().all(|r| has(|c| c.r, *r)));
        assert!([1, 2, 4, 8, 16, 32].iter().all(|u| has(|c| c.u, *u)));
    }
}
