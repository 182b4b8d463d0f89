//! A tree that serves several steps: boxes and moments follow the bodies, cells stay.

use gravitile::bodies::Bodies;
use gravitile::error::Result;
use gravitile::forces::tree::gpu::{Field, TreeForces, TreeShape};
use gravitile::forces::tree::{MultipoleOrder, Opening, Place, Rebuild, TreeConfig};
use gravitile::forces::{DeviceForces, Method, Throughput, evaluate_blocking};
use gravitile::gpu::{Checks, read_blocking};
use gravitile::measure::{BuiltTree, upload_places};
use gravitile::sim::{EngineKind, Settings, Simulation};

use super::bodies::plummer;
use super::common;
use super::steps::{bits, plummer as plummer_bodies};

/// Of bodies whose accelerations are known.
const FIELD: Field = Field {
    softening: 0.01,
    guarded: false,
    potential: false,
    has_accelerations: true,
    is_closed: true,
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

/// What a snapshot of now holds, and the simulation that goes on from it.
fn interrupted(first: &mut Simulation, settings: &Settings) -> Result<(Simulation, bool)> {
    let moment = first.moment()?;
    let restart = first.restart();
    let says_where = restart.columns.keys().any(|name| name.starts_with("built."));
    let going_on = Settings { frame: first.settings().frame, ..settings.clone() };
    let going_on = going_on.going_on_from(&moment);
    Ok((Simulation::resume(moment.bodies, going_on, Some(&restart))?, says_where))
}

#[test]
fn a_run_that_is_interrupted_between_two_trees_goes_on_to_the_same_bits() {
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
            // Energies of the rows of a run are asked for between steps, and leave the tree as it is.
            first.diagnostics().unwrap();
            let (mut second, says_where) = interrupted(&mut first, &settings).unwrap();
            assert_eq!(says_where, step % 4 != 0, "{engine:?}: step {step}");
            second.diagnostics().unwrap();
            second.step(10 - step).unwrap();
            assert!(bits(&second.bodies().unwrap()) == expected, "{engine:?}, {opening:?}: {step}");
        }
        // Not those of a tree at each step.
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
fn other_bodies_get_a_tree_of_their_own() {
    let bodies = plummer_bodies(800);
    for engine in [EngineKind::Gpu, EngineKind::Cpu] {
        let settings = settings(engine, RULES[1], Rebuild::Every(100));
        let mut edited = simulation(&bodies, &settings);
        edited.step(3).unwrap();
        assert!(!edited.bodies().unwrap().is_empty());
        assert!(!edited.restart().columns.is_empty());
        // Inside out: the cells of before would hold bodies from everywhere.
        let mut other = bodies.clone();
        other.position.rotate_left(400);
        pollster::block_on(edited.replace(other.clone())).unwrap();
        let mut anew = simulation(&other, &settings);
        assert_eq!(edited.moment().unwrap().acceleration, anew.moment().unwrap().acceleration);
        assert!(edited.restart().columns.keys().all(|name| !name.starts_with("built.")));
    }
}

/// Twenty crossing times of the core at a large step: what the kept cells add to the drift is small beside what the step
/// makes.
#[test]
fn energy_is_kept_as_with_a_tree_at_each_step() {
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
        let (each, seldom) = (drift(1), drift(4));
        assert!(seldom < each + 1e-4, "{engine:?}: {seldom:.1e}, at each step {each:.1e}");
    }
}

/// Of the window: the first trial on, trees serve two steps, whatever the clock said; the number of bodies that fit is as
/// of any tree that is kept.
#[test]
fn one_that_is_built_as_often_as_pays_tries_other_intervals() {
    let gpu = common::gpu();
    let bodies = upload_places(&gpu, &plummer(500, 3));
    let shape = TreeShape { rebuild: Rebuild::Auto, ..shape() };
    let mut forces = pollster::block_on(TreeForces::new(&gpu, shape, &bodies, FIELD)).unwrap();
    assert!(forces.describe().ends_with("built as often as pays (at each step now)"));
    let mut throughput = Throughput::guess(gpu.adapter.class);
    let mut kept_after = |forces: &mut TreeForces| {
        evaluate_blocking(forces, &gpu, &mut throughput).unwrap();
        forces.built_at().is_some()
    };
    forces.begin_step(0);
    assert!([(); 3].iter().all(|()| !kept_after(&mut forces)), "each has a tree of its own");
    forces.learn_steps(4, 1.0);
    assert!(forces.describe().ends_with("(every 2 steps now)"), "{}", forces.describe());
    forces.begin_step(4);
    assert_eq!([(); 4].map(|()| kept_after(&mut forces)), [false, true, false, true]);
    // Slower: at each step again.
    forces.learn_steps(8, 4.0);
    assert!(forces.describe().ends_with("(at each step now)"), "{}", forces.describe());
}

fn shape() -> TreeShape {
    let shape = TreeShape::new(RULES[0], MultipoleOrder::Quadrupole);
    TreeShape { checks: Checks::On, rebuild: Rebuild::Every(4), ..shape }
}

/// Evaluates step by step, with the bodies at these places one after the other.
fn evaluations(steps: &[&[Place]]) -> Vec<(Vec<[u32; 4]>, BuiltTree)> {
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
fn cells_stay_and_boxes_and_moments_follow_the_bodies() {
    let first = plummer(5000, 21);
    // A tenth of the radius to and fro; one flies far out of the cube, one out of what f32 can square.
    let mut moved: Vec<Place> = first
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
    // The fourth step has a tree of its own.
    steps[4].1.compare(&moved, &shape()).unwrap();

    // One that is nowhere any more is missed by the others as far as it attracts, and that is all.
    let mut lost = first.clone();
    lost[33][0] = f32::NAN;
    let steps = evaluations(&[&first, &lost]);
    let finite = |sum: &&[u32; 4]| sum.iter().all(|bits| f32::from_bits(*bits).is_finite());
    assert_eq!(steps[1].0.iter().filter(finite).count(), first.len());
}
