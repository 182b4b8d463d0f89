//! f32 on the device far from the origin, in a moving frame, and in any units, compared with f64.

use crate::common;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::forces::direct::gpu::KernelRequest;
use gravitile::forces::direct::{CpuSingle, GpuSingle, Reference};
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use gravitile::gpu::DeviceClass;
use gravitile::scene::{Spread, test_bodies};
use gravitile::sim::{EngineKind, Settings, Simulation};

const SPREADS: [Spread; 2] = [Spread::Even, Spread::Uneven];

/// Distances from the origin, in radii of the system.
const SHIFTS: [f64; 4] = [0.0, 1.0, 1e3, 1e6];

/// Units of length, mass and time as multiples of the bodies' own, with the matching G: metres,
/// kilograms and seconds for a galaxy; centimetres and grams; far smaller and far larger ones.
fn units() -> Vec<(&'static str, [f64; 3], f64)> {
    let g = |[l, m, t]: [f64; 3]| l / m * (l / t) * (l / t);
    let all = [
        ("as they are", [1.0, 1.0, 1.0]),
        ("SI", [3.0857e19, 2.2e41, 4.4e13]),
        ("cgs", [3.0857e21, 2.2e44, 4.4e13]),
        ("tiny", [1e-30, 1e-40, 1e-20]),
        ("huge", [1e60, 1e50, 1e70]),
    ];
    all.into_iter().map(|(name, units)| (name, units, g(units))).collect()
}

fn in_units(bodies: &Bodies, [length, mass, time]: [f64; 3]) -> Bodies {
    let mut bodies = bodies.clone();
    bodies.position.iter_mut().for_each(|x| *x *= length);
    bodies.velocity.iter_mut().for_each(|v| *v *= length / time);
    bodies.mass.iter_mut().for_each(|m| *m *= mass);
    bodies
}

/// Bodies whose coordinates are not exact in f32, as in real snapshots.
fn cloud(n: usize, spread: Spread) -> Bodies {
    let mut bodies = test_bodies(n, spread);
    bodies.position.iter_mut().for_each(|x| *x *= 1.0 / 3.0);
    bodies.recentre();
    bodies
}

fn forces(
    engine: &mut dyn ForceEngine,
    bodies: &Bodies,
    g: f64,
    softening: f64,
    outputs: Outputs,
) -> Forces {
    let mass = bodies.gravitating_mass(g);
    let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
    let sources = Sources::new(&bodies.position, &mass);
    let mut out = Forces::default();
    engine.evaluate_from(&sources, &sinks, softening, &outputs, &mut out).unwrap();
    out
}

/// Root mean square of |a - right| / |right| over bodies with a force.
fn rms(found: &[DVec3], right: &[DVec3]) -> f64 {
    let error = |(a, b): (&DVec3, &DVec3)| {
        // Scaled, since squares of tiny accelerations underflow.
        let unit = b.abs().max_element();
        let off = ((*a - *b) / unit).length() / (*b / unit).length();
        if unit > 0.0 { off * off } else { 0.0 }
    };
    let sum: f64 = found.iter().zip(right).map(error).sum();
    (sum / found.len() as f64).sqrt()
}

/// Error bound of the engine for the bodies as given: that of f32 near the origin.
fn allowed(spread: Spread) -> f64 {
    match spread {
        Spread::Even => 3e-7,
        // In the dense centre, neighbours are so close that f32 coordinates resolve them poorly.
        Spread::Uneven => 6e-7,
    }
}

#[test]
fn forces_do_not_depend_on_position_or_units() {
    for spread in SPREADS {
        let bodies = cloud(3000, spread);
        for (name, unit, g) in units() {
            for shift in SHIFTS {
                let mut moved = bodies.clone();
                moved.shift(DVec3::new(0.7, -1.0, 0.4) * shift, DVec3::ZERO);
                let moved = in_units(&moved, unit);
                let eps = 0.01 * unit[0];
                for outputs in [Outputs::ACCELERATION, Outputs::POTENTIAL] {
                    let right = forces(&mut Reference::default(), &moved, g, eps, outputs);
                    let gpu = GpuSingle::new(common::gpu(), KernelRequest::default());
                    for engine in [&mut CpuSingle::new() as &mut dyn ForceEngine, &mut { gpu }] {
                        let found = forces(engine, &moved, g, eps, outputs);
                        let error = rms(&found.acceleration, &right.acceleration);
                        let what = format!("{spread:?}, {name}, {shift} away, {}", engine.name());
                        assert!(error < allowed(spread), "{what}: {error:e}");
                        for (a, b) in found.potential.iter().zip(&right.potential) {
                            assert!((a / b - 1.0).abs() < 1e-5, "{what}: potential {a}, not {b}");
                        }
                    }
                }
            }
        }
    }
}

/// Without softening and at small scales, 1 / r^3 in the bodies' own units leaves the range of f32.
#[test]
fn unsoftened_forces_are_finite_in_any_units() {
    let bodies = cloud(2000, Spread::Even);
    for (name, unit, g) in units() {
        let scaled = in_units(&bodies, unit);
        let right = forces(&mut Reference::default(), &scaled, g, 0.0, Outputs::ACCELERATION);
        let mut gpu = GpuSingle::new(common::gpu(), KernelRequest::default());
        let found = forces(&mut gpu, &scaled, g, 0.0, Outputs::ACCELERATION);
        assert!(found.acceleration.iter().all(|a| a.is_finite()), "{name}");
        let error = rms(&found.acceleration, &right.acceleration);
        assert!(error < 3e-6, "{name}: {error:e}");
    }
}

fn settings(unit: [f64; 3], g: f64) -> Settings {
    Settings {
        softening: 0.02 * unit[0],
        dt: 0.002 * unit[2],
        gravitational_constant: g,
        engine: EngineKind::Gpu,
        adapter: common::adapter_request(),
        ..Settings::default()
    }
}

/// Runs the bodies and compares the last accelerations with those of f64 at the positions that the
/// device computes forces at: f32, without the five further bits of a position. (With 20,000 bodies
/// these change accelerations by 2.5e-6, rms.)
fn error_after(bodies: &Bodies, unit: [f64; 3], g: f64, steps: u64) -> (f64, Bodies) {
    let settings = settings(unit, g);
    let softening = settings.softening;
    let mut sim = Simulation::new(bodies.clone(), settings).unwrap();
    sim.step(steps).unwrap();
    let state = sim.state().unwrap();
    let frame = sim.settings().frame.expect("on a device").at(state.time);
    let mut rounded = state.bodies.clone();
    for x in &mut rounded.position {
        *x = frame.wide_position(frame.position(*x));
    }
    let right = forces(&mut Reference::default(), &rounded, g, softening, Outputs::ACCELERATION);
    (rms(&state.acceleration, &right.acceleration), state.bodies)
}

#[test]
fn run_accuracy_does_not_depend_on_frame_or_units() {
    const STEPS: u64 = 100;
    let bodies = cloud(1000, Spread::Even);
    let dispersion = 0.3;
    let (_, at_origin) = error_after(&bodies, [1.0; 3], 1.0, STEPS);
    for (name, unit, g) in units() {
        for (shift, speed) in [(0.0, 0.0), (1e6, 0.0), (0.0, 1e6 * dispersion), (1e6, -1e4)] {
            let (place, drift) = (DVec3::new(-0.6, 1.0, 0.3) * shift, DVec3::new(1.0, 0.5, -0.2));
            let mut moved = bodies.clone();
            moved.shift(place, drift * speed);
            let (error, end) = error_after(&in_units(&moved, unit), unit, g, STEPS);
            let what = format!("{name}, {shift} away with {speed}");
            assert!(error < 3e-7, "{what}: {error:e}");
            // Final positions relative to the moving origin. Far from the origin f64 positions are
            // themselves rounded, initially as well.
            let time = STEPS as f64 * 0.002;
            let place = place + drift * speed * time;
            let rounding = 1e-15 * (place.length() + speed.abs());
            for (x, right) in end.position.iter().zip(&at_origin.position) {
                let off = (*x / unit[0] - place - *right).length();
                assert!(off < 1e-5 + 4.0 * rounding, "{what}: {off:e}");
            }
        }
    }
}

/// The origin moves, and the last bits of positions are below the f64 spacing there. A resumed run
/// must nevertheless end with the same bits.
#[test]
fn restart_far_from_origin_gives_same_bits() {
    let mut bodies = cloud(500, Spread::Even);
    bodies.shift(DVec3::splat(4e7), DVec3::new(3e5, -2e5, 1e5));
    let settings = settings([1.0; 3], 1.0);
    let mut whole = Simulation::new(bodies.clone(), settings.clone()).unwrap();
    let mut first = Simulation::new(bodies, settings.clone()).unwrap();
    whole.step(40).unwrap();
    first.step(15).unwrap();
    let state = first.state().unwrap();
    let restart = first.restart();
    assert!(!restart.columns.is_empty(), "far out f64 should lack something");
    let settings = Settings { steps_before: 15, frame: first.settings().frame, ..settings };
    let resume = |restart| {
        let mut second = Simulation::builder(state.bodies.clone(), settings.clone())
            .restart(restart)
            .build()
            .unwrap();
        second.step(25).unwrap();
        (second.bodies().unwrap(), second.restart())
    };
    let end = (whole.bodies().unwrap(), whole.restart());
    assert!(resume(Some(&restart)) == end);
    assert!(resume(None) != end, "what f64 lacks should matter");
}

#[test]
fn run_energies_do_not_depend_on_units() {
    let bodies = cloud(800, Spread::Even);
    let diagnose = |unit: [f64; 3], g: f64| {
        let mut sim = Simulation::new(in_units(&bodies, unit), settings(unit, g)).unwrap();
        sim.step(10).unwrap();
        sim.diagnostics().unwrap()
    };
    let plain = diagnose([1.0; 3], 1.0);
    for (name, unit, g) in units() {
        let converted = diagnose(unit, g);
        let energy = unit[1] * (unit[0] / unit[2]).powi(2);
        for (a, b) in [(converted.kinetic, plain.kinetic), (converted.potential, plain.potential)] {
            assert!((a / energy / b - 1.0).abs() < 1e-5, "{name}: {a:e} {b:e}");
        }
        assert!((converted.virial_ratio() / plain.virial_ratio() - 1.0).abs() < 1e-5, "{name}");
    }
}

/// Upper bound of all errors in the tables below: relative rms against f64.
const GOAL: f64 = 3e-7;

/// The table for 20,000 bodies on every engine, printed: part of `script/test --long`.
#[test]
#[ignore = "takes minutes: script/test --long"]
fn force_errors_for_all_units_and_shifts() {
    const N: usize = 20_000;
    println!("forces: shape, units, shift: cpu, gpu");
    for spread in SPREADS {
        let bodies = cloud(N, spread);
        // The error at the origin in the original units. llvmpipe adds all sources of a sink in one
        // row, which alone costs about 4e-7 at this N; the test requires only that nothing makes it
        // worse.
        let mut at_origin = None;
        for (name, unit, g) in units() {
            for shift in SHIFTS {
                let mut moved = bodies.clone();
                moved.shift(DVec3::new(0.7, -1.0, 0.4) * shift, DVec3::ZERO);
                let moved = in_units(&moved, unit);
                let mut gpu = GpuSingle::new(common::gpu(), KernelRequest::default());
                let outputs = Outputs::ACCELERATION;
                let right = forces(&mut Reference::default(), &moved, g, 0.01 * unit[0], outputs);
                let error = |engine: &mut dyn ForceEngine| {
                    let found = forces(engine, &moved, g, 0.01 * unit[0], outputs);
                    rms(&found.acceleration, &right.acceleration)
                };
                let (on_cpu, on_gpu) = (error(&mut CpuSingle::new()), error(&mut gpu));
                println!("{spread:?}, {name}, {shift:e}: {on_cpu:.2e} {on_gpu:.2e}");
                let goal = match common::gpu().adapter.class {
                    DeviceClass::Software => {
                        GOAL.max(1.25 * *at_origin.get_or_insert(on_gpu)).min(1e-6)
                    }
                    _ => GOAL,
                };
                assert!(on_cpu < GOAL && on_gpu < goal, "{spread:?}, {name}, {shift:e}");
            }
        }
    }
}

/// Runs of 1,000 steps on the device, printed: part of `script/test --long`. 20,000 bodies; fewer
/// on a software device.
#[test]
#[ignore = "takes minutes: script/test --long"]
fn run_errors_for_all_units_and_shifts() {
    let is_software = common::gpu().adapter.class == DeviceClass::Software;
    println!("runs of 1,000 steps: units, shift, speed: error of the last accelerations");
    let bodies = cloud(if is_software { 2_000 } else { 20_000 }, Spread::Even);
    for (name, unit, g) in units() {
        for (shift, speed) in
            [(0.0, 0.0), (1e3, 0.0), (1e6, 0.0), (0.0, 3e2), (0.0, 3e5), (1e6, 3e5)]
        {
            let mut moved = bodies.clone();
            moved.shift(DVec3::new(-0.6, 1.0, 0.3) * shift, DVec3::new(1.0, 0.5, -0.2) * speed);
            let (error, _) = error_after(&in_units(&moved, unit), unit, g, 1000);
            println!("{name}, {shift:e}, {speed:e}: {error:.2e}");
            assert!(error < GOAL, "{name}, {shift:e}, {speed:e}");
        }
    }
}
