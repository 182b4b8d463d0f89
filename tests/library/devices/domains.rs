//! Devices that each have a part of the curve: the bits of one device, which has all of it.

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::forces::Method;
use gravitile::sim::{Settings, Simulation};

use super::{chosen, fingerprint, open, plummer, settings};
use gravitile::forces::direct::gpu::KernelRequest;
use gravitile::forces::tree::{Opening, Rebuild, TreeConfig};

fn by_tree() -> Settings {
    Settings { method: Some(Method::Tree), ..settings(KernelRequest::default()) }
}

/// Runs on one device, then on several in domains.
fn compare(bodies: &Bodies, settings: &Settings, counts: &[usize], steps: u64) {
    let run = |count: usize| {
        let mut sim = open(count, bodies, settings);
        let mut states = vec![fingerprint(&mut sim)];
        sim.step(steps).unwrap();
        states.push(fingerprint(&mut sim));
        states
    };
    let one = run(1);
    for &count in counts {
        let found = run(count);
        for (k, (found, one)) in found.iter().zip(&one).enumerate() {
            let differs = found.bytes().zip(one.bytes()).position(|(a, b)| a != b);
            let at = differs.unwrap_or(found.len().min(one.len()));
            let begin = at.saturating_sub(200);
            let part = |text: &str| text[begin..(at + 60).min(text.len())].to_owned();
            let (found_part, one_part) = (part(found), part(one));
            assert!(
                found == one,
                "{count} devices, state {k}, byte {at} of {}:\n{found_part}\n{one_part}",
                one.len()
            );
        }
    }
}

fn with_tree(tree: TreeConfig) -> Settings {
    Settings { tree, ..by_tree() }
}

#[test]
fn domains_with_other_rules_give_the_bits_of_one_device() {
    let radius = TreeConfig { opening: Opening::Radius { theta: 0.5 }, ..TreeConfig::default() };
    compare(&plummer(2500), &with_tree(radius), &[3], 3);
    let strict = Opening::Acceleration { alpha: 1e-5 };
    compare(
        &plummer(2500),
        &with_tree(TreeConfig { opening: strict, ..TreeConfig::default() }),
        &[2],
        3,
    );
    let coarse = Opening::Acceleration { alpha: 0.1 };
    compare(
        &plummer(2500),
        &with_tree(TreeConfig { opening: coarse, ..TreeConfig::default() }),
        &[4],
        3,
    );
}

/// Bodies in one place, far outside the cube, without mass, and a sparse shell about a dense core.
#[test]
fn domains_of_unusual_bodies_give_the_bits_of_one_device() {
    let mut bodies = plummer(22_000);
    for i in 0..300 {
        bodies.position[2 * i + 5] = DVec3::new(0.25, -0.5, 0.125);
    }
    bodies.position[17] = DVec3::new(1e7, 2e6, -3e5);
    bodies.position[4711] = DVec3::new(-1e9, 0.0, 1.0);
    bodies.mass[33] = 0.0;
    for i in 0..64 {
        let (z, turn) = ((f64::from(i) + 0.5) / 32.0 - 1.0, f64::from(i) * 2.4);
        let side = (1.0 - z * z).sqrt();
        bodies.position[300 * i as usize + 9] =
            60.0 * DVec3::new(side * turn.cos(), side * turn.sin(), z);
    }
    compare(&bodies, &by_tree(), &[2, 4], 2);
    for few in [70, 2] {
        compare(&plummer(few), &by_tree(), &[2, 3], 3);
    }
}

#[test]
fn domains_give_the_bits_of_one_device() {
    compare(&plummer(3000), &by_tree(), &[2, 3], 5);
}

/// The largest acceleration is that of the bodies of all devices, and of no place that a body has
/// left; the bodies cross from part to part.
#[test]
fn steps_that_vary_have_the_bits_of_one_device() {
    let mut bodies = plummer(3000);
    for velocity in &mut bodies.velocity {
        *velocity *= 4.0;
    }
    compare(&bodies, &Settings { auto_dt: Some(0.03), dt: 0.125, ..by_tree() }, &[2, 3], 3);
}

#[test]
fn run_resumed_on_another_number_of_domains_has_the_bits_of_an_unbroken_one() {
    let (bodies, settings) = (plummer(2500), by_tree());
    let mut whole = open(1, &bodies, &settings);
    whole.step(5).unwrap();
    let mut first = open(2, &bodies, &settings);
    first.step(3).unwrap();
    let state = first.state().unwrap();
    let (frame, restart) = (first.settings().frame, first.restart());
    let rest = Settings { frame, ..settings.going_on_from(&state) };
    for count in [3, 1] {
        let opening = Simulation::builder(state.bodies.clone(), rest.clone())
            .choice(chosen(count, &rest))
            .restart(Some(&restart))
            .open();
        let mut resumed = pollster::block_on(opening).unwrap();
        resumed.step(2).unwrap();
        assert_eq!(resumed.steps(), 5);
        let (resumed, whole) = (resumed.state().unwrap(), whole.state().unwrap());
        assert!(format!("{resumed:?}") == format!("{whole:?}"), "{count} devices");
    }
}

#[test]
fn what_domains_cannot_do_is_refused() {
    let refused = |settings: &Settings, says: &str| {
        let error = chosen(2, settings).check_devices(settings).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    let octgrav = TreeConfig { opening: Opening::Octgrav { theta: 0.7 }, ..TreeConfig::default() };
    refused(&with_tree(octgrav), "acceleration, radius or bonsai");
    let seldom = TreeConfig { rebuild: Rebuild::Every(4), ..TreeConfig::default() };
    refused(&with_tree(seldom), "1 if several devices share the tree");
}
