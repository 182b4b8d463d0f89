//! Checks the tree against direct sums in f64, and the stages of its build on a device against the
//! host's functions.

mod stages;

use std::f64::consts::TAU;

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::Reference;
use crate::forces::direct::gpu::{KernelConfig, KernelVariant};
use crate::forces::tree::gpu::{Field, TreeForces, TreeShape, WalkShape};
use crate::forces::tree::{CpuTree, LEAST_REST, MultipoleOrder, Opening, PointMass, TreeConfig};
use crate::forces::{
    DeviceForces, ForceEngine, Forces, Identity, Outputs, Sinks, Sources, Throughput,
    evaluate_blocking,
};
use crate::gpu::{Checks, DeviceClass, Gpu, read_blocking};
use crate::measure::{ErrorDistribution, ErrorStats, SampledForces, potential_errors};
pub use stages::{BuiltTree, StageResult, upload_places};

/// A case to check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeCase {
    /// The distribution of the bodies.
    pub cloud: Cloud,
    /// Number of bodies.
    pub n: usize,
    /// Number of bodies whose forces are compared.
    pub sinks: usize,
    /// Plummer softening length; 0 uses the guarded kernels.
    pub softening: f64,
    /// Whether to compute potentials.
    pub potential: bool,
    /// Opening rule, multipoles and other parameters; an engine on the processor uses only the
    /// first two.
    pub shape: TreeShape,
}

/// The result of a case.
#[derive(Clone, Debug)]
pub struct TreeRow {
    /// What was checked.
    pub case: TreeCase,
    /// Errors of the accelerations.
    pub acceleration: ErrorDistribution,
    /// Errors of the potentials, if requested.
    pub potential: Option<ErrorStats>,
    /// |sum m a| / sum m |a| over all bodies.
    pub momentum: f64,
    /// The first wrong key, cell, moment or expansion on a device, if any.
    pub stages: StageResult,
    /// Whether recomputing in many small chunks gives identical bits.
    pub same_in_pieces: bool,
}

/// The largest errors allowed in the accelerations of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeLimits {
    /// Root of the mean square.
    pub rms: f64,
    /// Median error.
    pub median: f64,
    /// Error of all but one in a hundred.
    pub most: f64,
    /// Largest error.
    pub worst: f64,
    /// |sum m a| / sum m |a|.
    pub momentum: f64,
}

impl TreeCase {
    /// The limits for this case.
    ///
    /// The rms limit is twice the error of a Plummer sphere or a disk of a million bodies with the
    /// rule, whichever is larger, as counted in f64 (`acceleration` 0.003: 4.4e-4, with monopoles
    /// 1.3e-3; `radius` 0.6: 6.4e-4 and 3.8e-3; `bonsai` 0.75: 7.9e-4 and 4.3e-3; `octgrav` 0.75:
    /// 2.5e-4 and, at 4,097 bodies, 1e-3); the other clouds have similar errors. Errors of trees
    /// have tails: one sink in a hundred is off by up to four times the rms, and if forces nearly
    /// cancel one may be off by fifty times. The remaining total momentum is corrected, up to
    /// rounding.
    pub fn limits(&self) -> TreeLimits {
        let quadrupole = self.shape.order == MultipoleOrder::Quadrupole;
        let known = match self.shape.opening {
            Opening::Acceleration { .. } => [1.3e-3, 4.4e-4],
            Opening::Radius { .. } => [3.8e-3, 6.4e-4],
            Opening::Bonsai { .. } => [4.3e-3, 7.9e-4],
            Opening::Octgrav { .. } => [1e-3, 2.5e-4],
        };
        let rms = match self.cloud {
            // Only pairs at zero distance.
            Cloud::OnePlace => 1e-6,
            _ => 2.0 * known[usize::from(quadrupole)],
        };
        let momentum = 2.0 * LEAST_REST;
        TreeLimits { rms, median: rms, most: 4.0 * rms, worst: 50.0 * rms, momentum }
    }
}

impl TreeRow {
    /// Whether everything is within the limits.
    pub fn passed(&self) -> bool {
        let (errors, most) = (&self.acceleration, self.case.limits());
        // The potential's error falls off faster with distance by one power, and nothing cancels: a
        // tenth is default.
        let good = |e: ErrorStats| e.rms < most.rms / 4.0 && e.worst < 4.0 * most.rms;
        errors.rms() < most.rms
            && errors.median() < most.median
            && errors.quantile(0.99) < most.most
            && errors.worst() < most.worst
            && self.momentum < most.momentum
            && self.potential.is_none_or(good)
            && self.stages.is_ok()
            && self.same_in_pieces
    }
}

/// The cases for an adapter, or for the processor if there is none: the default rule on every
/// cloud, with and without softening and potentials; every rule with both multipoles, in every
/// shape of the kernels.
pub fn tree_cases(gpu: Option<&Gpu>) -> Vec<TreeCase> {
    let is_small = gpu.is_some_and(|gpu| gpu.adapter.class == DeviceClass::Software);
    // Direct sums are computed on the host.
    let (n, sinks) = if is_small { (4_097, 1_024) } else { (65_536, 4_096) };
    let default = TreeConfig::default();
    let shape = TreeShape::of(&default, Checks::Off);
    let base =
        TreeCase { cloud: Cloud::Plummer, n, sinks, softening: 0.01, potential: false, shape };
    let mut cases = Vec::new();
    for &(cloud, _) in Cloud::ALL {
        for (softening, potential) in [(0.01, false), (0.0, false), (0.01, true), (0.0, true)] {
            let is_infinite = cloud == Cloud::OnePlace && potential && softening == 0.0;
            // Bodies at one position form one leaf: all pairs.
            let n = if cloud == Cloud::OnePlace { n.min(4_097) } else { n };
            if !is_infinite {
                cases.push(TreeCase { cloud, n, softening, potential, ..base });
            }
        }
    }
    for opening in Opening::ALL {
        for order in [MultipoleOrder::Monopole, MultipoleOrder::Quadrupole] {
            cases.push(TreeCase { shape: TreeShape { opening, order, ..shape }, ..base });
        }
    }
    if gpu.is_some() {
        for shape in [
            TreeShape { walk: WalkShape { unroll: 4 }, ..shape },
            TreeShape { leaf: 16, ..shape },
            TreeShape { leaf: 64, ..shape },
            TreeShape { checks: Checks::On, ..shape },
        ] {
            cases.push(TreeCase { shape, ..base });
        }
    }
    for few in [1, 2, 63, 64, 65] {
        cases.push(TreeCase { n: few, sinks: few, softening: 0.0, ..base });
    }
    cases
}

/// The result of an evaluation: accelerations and potentials of all bodies.
type EvaluatedForces = (Vec<DVec3>, Vec<f64>);

/// Runs a case on `gpu`, or on the processor.
///
/// # Errors
///
/// Too many bodies for the memory; the device failed; [`crate::error::Error::Stopped`].
pub fn check_tree(gpu: Option<&Gpu>, case: TreeCase) -> Result<TreeRow> {
    let places = case.cloud.places(case.n);
    let ((acceleration, potential), stages, same_in_pieces) = match gpu {
        Some(gpu) => on_device(gpu, &case, &places)?,
        None => (on_processor(&case, &places)?, Ok(()), true),
    };
    let (position, mass) = wide(&places);
    let (mut engine, sources) = (Reference::default(), Sources::new(&position, &mass));
    let right =
        SampledForces::new(&mut engine, &sources, case.sinks, case.softening, &Outputs::POTENTIAL)?;
    let errors = || potential_errors(&right.of(&potential), &right.forces.potential);
    let potential = case.potential.then(errors);
    Ok(TreeRow {
        case,
        acceleration: ErrorDistribution::of(&right.of(&acceleration), &right.forces.acceleration),
        potential,
        momentum: residual(&acceleration, &mass),
        stages,
        same_in_pieces,
    })
}

/// The bodies in f64.
fn wide(places: &[PointMass]) -> (Vec<DVec3>, Vec<f64>) {
    let position = |&[x, y, z, _]: &PointMass| DVec3::new(x.into(), y.into(), z.into());
    (places.iter().map(position).collect(), places.iter().map(|place| place[3].into()).collect())
}

/// |sum m a| / sum m |a|; 0 if there are no forces.
fn residual(acceleration: &[DVec3], mass: &[f64]) -> f64 {
    let forces = || acceleration.iter().zip(mass).map(|(a, m)| *a * *m);
    let (sum, sizes) = (forces().sum::<DVec3>().length(), forces().map(DVec3::length).sum::<f64>());
    if sum == 0.0 { 0.0 } else { sum / sizes }
}

fn on_processor(case: &TreeCase, places: &[PointMass]) -> Result<EvaluatedForces> {
    let (position, mass) = wide(places);
    let config = case.shape.config();
    let outputs = Outputs { potential: case.potential, ..Outputs::ACCELERATION };
    let mut out = Forces::default();
    CpuTree::new(config).evaluate_from(
        &Sources::new(&position, &mass),
        &Sinks::new(&position, Identity::Offset(0)),
        case.softening,
        &outputs,
        &mut out,
    )?;
    Ok((out.acceleration, out.potential))
}

/// Forces, the first difference in the stages before them, and whether chunks give identical bits.
fn on_device(
    gpu: &Gpu,
    case: &TreeCase,
    places: &[PointMass],
) -> Result<(EvaluatedForces, StageResult, bool)> {
    let bodies = upload_places(gpu, places);
    let variant = KernelVariant::new(KernelConfig::tiled(64), case.softening, 1.0, case.potential);
    let field = Field::closed(case.softening as f32, variant.guarded, case.potential);
    let evaluate = |throughput: &mut Throughput| -> Result<(TreeForces, Vec<[f32; 4]>)> {
        let new = TreeForces::new(gpu, case.shape, &bodies, field.clone());
        let mut forces = pollster::block_on(new)?;
        // Filled with NaN, to reveal any output that the walk does not write.
        let poison = vec![[f32::NAN; 4]; case.n];
        gpu.queue.write_buffer(forces.partial_sums(), 0, bytemuck::cast_slice(&poison));
        evaluate_blocking(&mut forces, gpu, throughput)?;
        let sums = read_blocking(gpu, &[forces.partial_sums()], case.n)?.remove(0);
        Ok((forces, sums))
    };
    let (forces, whole) = evaluate(&mut Throughput::guess(gpu.adapter.class))?;
    let tree = BuiltTree::read(gpu, &forces)?;
    let mut stages = tree.compare(places, &case.shape);
    if let Some(far) = pollster::block_on(forces.far_forces(gpu))? {
        stages = stages.and_then(|()| tree.compare_far(&far, case.softening));
    }
    drop(forces);
    // An assumed low rate gives the smallest possible chunks.
    let (_, in_chunks) = evaluate(&mut Throughput::fixed(4e3))?;
    let bits = |sums: &[[f32; 4]]| -> Vec<[u32; 4]> {
        sums.iter().map(|sum| sum.map(f32::to_bits)).collect()
    };
    let same = bits(&whole) == bits(&in_chunks);
    let (acceleration, potential) = whole
        .into_iter()
        .map(|sum| {
            let [x, y, z, potential] = sum.map(f64::from);
            (DVec3::new(x, y, z), potential)
        })
        .unzip();
    Ok(((acceleration, potential), stages, same))
}

// Bodies for checking trees: typical ones, and ones that trees have failed on.

/// A distribution of bodies. Masses add up to 1; numbers are f32 values, the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// A Plummer sphere of scale length 1 out to radius 20.
    Plummer,
    /// A thin exponential disk of scale length 1 with a tenth of its mass in a small bulge.
    Disk,
    /// A Plummer sphere of scale length 1, a hundred lengths from the origin.
    FarAway,
    /// Two Plummer spheres of scale length 1, a thousand lengths apart.
    TwoClusters,
    /// All bodies at one position.
    OnePlace,
}

impl Cloud {
    /// All clouds with their names.
    pub const ALL: &[(Self, &'static str)] = &[
        (Self::Plummer, "Plummer sphere"),
        (Self::Disk, "disk"),
        (Self::FarAway, "far from the origin"),
        (Self::TwoClusters, "two clusters"),
        (Self::OnePlace, "one place"),
    ];

    /// Its name for display.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(cloud, _)| *cloud == self).map_or("", |(_, name)| name)
    }

    /// `n` bodies, with masses that differ by up to a factor of three.
    pub fn places(self, n: usize) -> Vec<PointMass> {
        let of = |i: usize| {
            let [x, y, z] = self.position(i, n).map(|x| x as f32);
            let heavy = 0.5 + part(i, std::f64::consts::SQRT_2);
            [x, y, z, (heavy / n as f64) as f32]
        };
        (0..n).map(of).collect()
    }

    /// The same bodies, at rest.
    pub fn bodies(self, n: usize) -> Bodies {
        let mut bodies = Bodies::with_capacity(n);
        for [x, y, z, mass] in self.places(n) {
            bodies.push(mass.into(), DVec3::new(x.into(), y.into(), z.into()), DVec3::ZERO, 0);
        }
        bodies
    }

    fn position(self, i: usize, n: usize) -> [f64; 3] {
        match self {
            Self::Plummer => plummer(i),
            Self::Disk if i.is_multiple_of(10) => plummer(i).map(|x| 0.1 * x),
            Self::Disk => disk(i),
            Self::FarAway => {
                let [x, y, z] = plummer(i);
                [x + 80.0, y - 60.0, z + 10.0]
            }
            Self::TwoClusters => {
                let [x, y, z] = plummer(i);
                [if i < n / 2 { x } else { x + 1000.0 }, y, z]
            }
            Self::OnePlace => [0.3, 0.2, 0.1],
        }
    }
}

/// Evenly distributed numbers between 0 and 1 that never repeat (M. Roberts 2018).
fn part(i: usize, step: f64) -> f64 {
    ((i + 1) as f64 * step).fract()
}

/// Three numbers between 0 and 1 that fill the unit cube evenly.
fn even(i: usize) -> [f64; 3] {
    [0.819_172_513_4, 0.671_043_606_7, 0.549_700_477_9].map(|step| part(i, step))
}

fn plummer(i: usize) -> [f64; 3] {
    let [mass, height, turn] = even(i);
    let mass = mass.clamp(1e-7, 0.996);
    let radius = 1.0 / (1.0 / libm::cbrt(mass * mass) - 1.0).sqrt();
    let z = 2.0 * height - 1.0;
    let (sin, cos) = libm::sincos(TAU * turn);
    let across = (1.0 - z * z).sqrt();
    [radius * across * cos, radius * across * sin, radius * z]
}

fn disk(i: usize) -> [f64; 3] {
    let [mass, height, turn] = even(i);
    let radius = -libm::log(1.0 - mass.min(0.9999));
    let (sin, cos) = libm::sincos(TAU * turn);
    // Vertical profile sech^2, with a thickness of a twentieth of the scale length.
    let z = 0.025 * libm::log(height.max(1e-9) / (1.0 - height).max(1e-9));
    [radius * cos, radius * sin, z]
}
