//! Reused trees: boxes and moments follow the bodies, the cells are those of the last build.

use gravitile::bodies::Bodies;
use gravitile::error::Result;
use gravitile::forces::tree::gpu::{Field, TreeForces, TreeShape};
use gravitile::forces::tree::{MultipoleOrder, Opening, PointMass, Rebuild, TreeConfig};
use gravitile::forces::{DeviceForces, Method, StepForces, Throughput, evaluate_blocking};
use gravitile::gpu::{Checks, read_blocking};
use gravitile::measure::{BuiltTree, upload_places};
use gravitile::sim::{EngineKind, Settings, Simulation};

use super::bodies::plummer;
use super::common;
use super::steps::{bits, plummer as plummer_bodies};

/// With known accelerations.
const FIELD: Field = Field {
    softening: 0.01,
    guarded: false,
    potential: false,
    has_accelerations: true,
    is_closed: true,
    external: None,
};

const RULES: [Opening; 2] =
    [Opening::Acceleration { alpha: 0.003 }, Opening::Radius { theta: 0.6 }];

fn settings(engine: EngineKind, opening: Opening, rebuild: Rebuild) -> Settings {
    Settings {
        softening: 0.05,
        dt: 0.02,
        engine,
        method: Some(Method::Tree),
        adapter: common::adapter_request(),
        tree: TreeConfig { opening, rebuild, ..TreeConfig::default() },
        ..Settings::default()
    }
}

fn simulation(bodies: &Bodies, settings: &Settings) -> Simulation {
    Simulation::new(bodies.clone(), settings.clone()).unwrap()
}

/// Resumes from the current state. Also returns whether the restart columns contain the positions
/// of the last tree build.
fn resume_from(first: &mut Simulation, settings: &Settings) -> Result<(Simulation, bool)> {
    let state = first.state()?;
    let restart = first.restart();
    let stores_build_positions = restart.columns.keys().any(|name| name.starts_with("built."));
    let resumed = Settings { frame: first.settings().frame, ..settings.clone() };
    let resumed = resumed.going_on_from(&state);
    Ok((
        Simulation::builder(state.bodies, resumed).restart(Some(&restart)).build()?,
        stores_build_positions,
    ))
}

#[test]
fn resume_between_rebuilds_gives_same_bits() {
    let bodies = plummer_bodies(1200);
    for (engine, opening) in [
        (EngineKind::Gpu, RULES[0]),
        (EngineKind::Gpu, RULES[1]),
        (EngineKind::Cpu, RULES[0]),
        (EngineKind::Cpu, RULES[1]),
    ] {
        let settings = settings(engine, opening, Rebuild::Every(4));
        let mut whole = simulation(&bodies, &settings);
        whole.step(10).unwrap();
        let expected = bits(&whole.bodies().unwrap());
        let mut first = simulation(&bodies, &settings);
        for step in 1..=8 {
            first.step(1).unwrap();
            // Diagnostics between steps, as for the energy log, do not change the tree.
            first.diagnostics().unwrap();
            let (mut second, stores_build_positions) = resume_from(&mut first, &settings).unwrap();
            assert_eq!(stores_build_positions, step % 4 != 0, "{engine:?}: step {step}");
            second.diagnostics().unwrap();
            second.step(10 - step).unwrap();
            assert!(bits(&second.bodies().unwrap()) == expected, "{engine:?}, {opening:?}: {step}");
        }
        // A tree built at each step gives other bits.
        let mut each = simulation(
            &bodies,
            &Settings {
                tree: TreeConfig { rebuild: Rebuild::EACH_STEP, ..settings.tree },
                ..settings.clone()
            },
        );
        each.step(10).unwrap();
        assert!(bits(&each.bodies().unwrap()) != expected, "{engine:?}");
    }
}

#[test]
fn replaced_bodies_trigger_a_rebuild() {
    let bodies = plummer_bodies(800);
    for engine in [EngineKind::Gpu, EngineKind::Cpu] {
        let settings = settings(engine, RULES[1], Rebuild::Every(100));
        let mut edited = simulation(&bodies, &settings);
        edited.step(3).unwrap();
        assert!(!edited.bodies().unwrap().is_empty());
        assert!(!edited.restart().columns.is_empty());
        // Permuted positions: the old cells would contain bodies from everywhere.
        let mut other = bodies.clone();
        other.position.rotate_left(400);
        pollster::block_on(edited.replace(other.clone())).unwrap();
        let mut fresh = simulation(&other, &settings);
        assert_eq!(edited.state().unwrap().acceleration, fresh.state().unwrap().acceleration);
        assert!(edited.restart().columns.keys().all(|name| !name.starts_with("built.")));
    }
}

/// Twenty crossing times of the core at a large step: the reused cells add little to the drift that
/// the step causes.
#[test]
fn reused_trees_conserve_energy() {
    let bodies = plummer_bodies(1500);
    for engine in [EngineKind::Gpu, EngineKind::Cpu] {
        let drift = |every| {
            let mut simulation =
                simulation(&bodies, &settings(engine, RULES[0], Rebuild::Every(every)));
            let energy = |simulation: &mut Simulation| {
                let diagnostics = simulation.diagnostics().unwrap();
                diagnostics.kinetic + diagnostics.potential
            };
            let before = energy(&mut simulation);
            simulation.step(60).unwrap();
            (energy(&mut simulation) / before - 1.0).abs()
        };
        let (each, every_fourth) = (drift(1), drift(4));
        assert!(
            every_fourth < each + 1e-4,
            "{engine:?}: {every_fourth:.1e}, at each step {each:.1e}"
        );
    }
}

/// The automatic interval, as in the window: the first trial reuses trees for two steps, whatever
/// the times. The capacity is that of any reused tree.
#[test]
fn automatic_rebuild_interval_tries_other_intervals() {
    let gpu = common::gpu();
    let bodies = upload_places(&gpu, &plummer(500, 3));
    let shape = TreeShape { rebuild: Rebuild::Auto, ..shape() };
    let mut forces = pollster::block_on(TreeForces::new(&gpu, shape, &bodies, FIELD)).unwrap();
    assert!(forces.describe().ends_with("built as often as pays (at each step now)"));
    let mut throughput = Throughput::guess(gpu.adapter.class);
    let mut is_reused_after = |forces: &mut TreeForces| {
        evaluate_blocking(forces, &gpu, &mut throughput).unwrap();
        forces.built_at().is_some()
    };
    forces.begin_step(0);
    assert!([(); 3].iter().all(|()| !is_reused_after(&mut forces)), "each has a tree of its own");
    forces.learn_steps(4, 1.0);
    assert!(forces.describe().ends_with("(every 2 steps now)"), "{}", forces.describe());
    forces.begin_step(4);
    assert_eq!([(); 4].map(|()| is_reused_after(&mut forces)), [false, true, false, true]);
    // Slower: back to a build at each step.
    forces.learn_steps(8, 4.0);
    assert!(forces.describe().ends_with("(at each step now)"), "{}", forces.describe());
}

fn shape() -> TreeShape {
    let shape = TreeShape::new(RULES[0], MultipoleOrder::Quadrupole);
    TreeShape { checks: Checks::On, rebuild: Rebuild::Every(4), ..shape }
}

/// Forces and tree of one evaluation per entry of `steps`, with the bodies at its positions.
fn evaluations(steps: &[&[PointMass]]) -> Vec<(Vec<[u32; 4]>, BuiltTree)> {
    let gpu = common::gpu();
    let bodies = upload_places(&gpu, steps[0]);
    let mut forces = pollster::block_on(TreeForces::new(&gpu, shape(), &bodies, FIELD)).unwrap();
    forces.begin_step(0);
    let evaluated = steps.iter().map(|places| {
        gpu.queue.write_buffer(&bodies.position_mass, 0, bytemuck::cast_slice(places));
        evaluate_blocking(&mut forces, &gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
        let sums = read_blocking(&gpu, &[forces.partial_sums()], places.len()).unwrap().remove(0);
        (sums, BuiltTree::read(&gpu, &forces).unwrap())
    });
    evaluated.collect()
}

#[test]
fn reused_tree_updates_boxes_and_moments_only() {
    let first = plummer(5000, 21);
    // Displacements of a tenth of the radius; one body far outside of the cube.
    let mut moved: Vec<PointMass> = first
        .iter()
        .enumerate()
        .map(|(i, &[x, y, z, mass])| {
            [x + 0.1 * (i as f32).sin(), y, z - 0.1 * (i as f32).cos(), mass]
        })
        .collect();
    moved[17] = [3e4, -2e5, 1.0, moved[17][3]];
    let steps = evaluations(&[&first, &first, &moved, &moved, &moved]);
    assert!(steps[0].0 == steps[1].0, "bodies at rest have the forces of the tree that was built");
    steps[2].1.compare_moved(&first, &moved, &shape()).unwrap();
    assert!(steps[2].1.compare(&moved, &shape()).is_err(), "these are the cells of before");
    assert!(steps[2].0 == steps[3].0, "the same step twice");
    // The fourth step after the build rebuilds the tree.
    steps[4].1.compare(&moved, &shape()).unwrap();

    // A body with NaN position makes no other force NaN.
    let mut lost = first.clone();
    lost[33][0] = f32::NAN;
    let steps = evaluations(&[&first, &lost]);
    let finite = |sum: &&[u32; 4]| sum.iter().all(|bits| f32::from_bits(*bits).is_finite());
    assert_eq!(steps[1].0.iter().filter(finite).count(), first.len());
}
