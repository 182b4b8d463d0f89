//! Analysis of snapshots against closed forms, with samples drawn here.

use std::f64::consts::{PI, TAU};

use glam::DVec3;
use gravitile::analysis::{Rings, Shells, groups};
use gravitile::bodies::{Bodies, Component, Role};

/// Numbers from 0 to 1 (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn direction(&mut self) -> DVec3 {
        let (z, angle) = (2.0 * self.next() - 1.0, TAU * self.next());
        let flat = (1.0 - z * z).sqrt();
        DVec3::new(flat * angle.cos(), flat * angle.sin(), z)
    }
}

/// A Plummer sphere of mass `M` and scale `A` with isotropic velocities (Aarseth, Henon and Wielen
/// 1974), radii at equal steps of the mass.
const M: f64 = 2.0;
const A: f64 = 1.5;

fn plummer(n: usize) -> Bodies {
    let mut random = Random(5);
    let mut bodies = Bodies::with_capacity(n);
    for k in 0..n {
        let part = (k as f64 + 0.5) / n as f64;
        let r = A / (part.powf(-2.0 / 3.0) - 1.0).sqrt();
        let q = loop {
            let (q, height) = (random.next(), 0.1 * random.next());
            if height < q * q * (1.0 - q * q).powf(3.5) {
                break q;
            }
        };
        let escape = (2.0 * M / (r * r + A * A).sqrt()).sqrt();
        bodies.push(M / n as f64, random.direction() * r, random.direction() * q * escape, 0);
    }
    bodies
}

fn near(found: f64, right: f64, part: f64) {
    assert!((found / right - 1.0).abs() < part, "{found} is not {right} within {part}");
}

#[test]
fn plummer_sphere_has_its_closed_forms() {
    let bodies = plummer(20_000);
    let all = &groups(&bodies, &[0.1, 0.5, 0.9], None).unwrap()[0];
    assert_eq!((all.component, all.count), (None, 20_000));
    near(all.mass, M, 1e-12);
    // M(r) = M (1 + a^2 / r^2)^(-3/2), so that r_h = 1.305 a.
    for (part, found) in [0.1, 0.5, 0.9_f64].into_iter().zip(&all.radii) {
        near(*found, A / (part.powf(-2.0 / 3.0) - 1.0).sqrt(), 0.02);
    }
    assert_eq!(all.half_mass_radius, all.radii[1]);
    near(all.half_mass_radius, 1.305 * A, 0.02);
    // Of all bodies: <v^2> = 3 pi G M / (32 a), from the virial theorem.
    near(all.motion.sigma().powi(2), PI * M / (32.0 * A), 0.03);
    assert!(all.motion.beta().abs() < 0.05, "{:?}", all.motion);

    let profile = Shells::about(&bodies, all, 24).unwrap().profile(&bodies, None).unwrap();
    let mut compared = 0;
    for shell in &profile {
        let (r, n) = (shell.radius(), shell.count as f64);
        let within = M * (1.0 + (A / shell.outer).powi(2)).powf(-1.5);
        near(shell.mass_within, within, 0.02 + 5.0 / (within / M * 20_000.0).sqrt());
        if n < 300.0 {
            continue;
        }
        compared += 1;
        let density = 3.0 * M / (4.0 * PI * A.powi(3)) * (1.0 + (r / A).powi(2)).powf(-2.5);
        near(shell.density, density, 0.02 + 5.0 / n.sqrt());
        let sigma = (M / (6.0 * (r * r + A * A).sqrt())).sqrt();
        near(shell.motion.sigma_r, sigma, 0.01 + 5.0 / (2.0 * n).sqrt());
        near(shell.motion.sigma_t, sigma, 0.01 + 5.0 / (4.0 * n).sqrt());
        assert!(shell.motion.beta().abs() < 0.02 + 9.0 / n.sqrt(), "{shell:?}");
        assert!(shell.motion.radial.abs() < 5.0 * sigma / n.sqrt(), "{shell:?}");
    }
    assert!(compared > 12, "{compared}");
    let counted: usize = profile.iter().map(|shell| shell.count).sum();
    assert!((19_900..20_000).contains(&counted), "{counted}");
}

#[test]
fn moved_and_boosted_bodies_give_the_same_numbers() {
    let bodies = plummer(3000);
    let mut far = bodies.clone();
    let (position, velocity) = (DVec3::new(1e6, -2e6, 3e5), DVec3::new(300.0, -200.0, 100.0));
    far.shift(position, velocity);
    let potential = vec![-0.3; 3000];
    let [a, b] =
        [&bodies, &far].map(|bodies| groups(bodies, &[0.25], Some(&potential)).unwrap().remove(0));
    assert!((b.centre - position - a.centre).length() < 1e-8);
    assert!((b.velocity - velocity - a.velocity).length() < 1e-11);
    assert!((b.centre_of_mass - position - a.centre_of_mass).length() < 1e-8);
    assert!((b.velocity_of_mass - velocity - a.velocity_of_mass).length() < 1e-11);
    near(b.half_mass_radius, a.half_mass_radius, 1e-8);
    near(b.radii[0], a.radii[0], 1e-8);
    near(b.motion.sigma_r, a.motion.sigma_r, 1e-9);
    near(b.motion.sigma_t, a.motion.sigma_t, 1e-9);
    assert!(a.bound == b.bound && a.bound.unwrap().count > 1000, "{:?}", a.bound);
    let [a, b] = [(&bodies, &a), (&far, &b)].map(|(bodies, all)| {
        let shells = Shells::new((all.centre, all.velocity), (0.5, 5.0), 5).unwrap();
        shells.profile(bodies, None).unwrap()
    });
    for (a, b) in a.iter().zip(&b) {
        assert_eq!((a.count, a.inner), (b.count, b.inner));
        near(b.motion.sigma_r, a.motion.sigma_r, 1e-8);
    }
}

/// A disk of mass 3 and scale length 0.5 in circles of speed 2, with its axis along (1, 2, 2) / 3.
fn disk(n: usize) -> Bodies {
    let (axis, across) = (DVec3::new(1.0, 2.0, 2.0) / 3.0, DVec3::new(2.0, 1.0, -2.0) / 3.0);
    let other = axis.cross(across);
    let mut random = Random(7);
    let mut bodies = Bodies::with_capacity(n);
    for k in 0..n {
        // The mass within x scale lengths is 1 - (1 + x) exp(-x).
        let part = (k as f64 + 0.5) / n as f64;
        let (mut low, mut high) = (0.0, 60.0);
        for _ in 0..60 {
            let x: f64 = 0.5 * (low + high);
            *if 1.0 - (1.0 + x) * (-x).exp() < part { &mut low } else { &mut high } = x;
        }
        let angle = TAU * random.next();
        let outwards = across * angle.cos() + other * angle.sin();
        let z = 0.05 * (2.0 * random.next() - 1.0);
        bodies.push(3.0 / n as f64, outwards * 0.5 * low + axis * z, axis.cross(outwards) * 2.0, 0);
    }
    bodies.components = vec![Component::new("disk", Role::Disk)];
    bodies
}

#[test]
fn exponential_disk_has_its_surface_density() {
    let mut bodies = disk(20_000);
    bodies.shift(DVec3::splat(1000.0), DVec3::splat(-30.0));
    let all = &groups(&bodies, &[], None).unwrap()[0];
    let rings = Rings::about(&bodies, all, Some(2.5), 20).unwrap();
    assert!(rings.axis.dot(DVec3::new(1.0, 2.0, 2.0) / 3.0) > 0.9999, "{}", rings.axis);
    for ring in rings.profile(&bodies, None).unwrap() {
        let (x, n) = (ring.radius() / 0.5, ring.count as f64);
        let right = 3.0 / (TAU * 0.25) * (-x).exp();
        near(ring.surface_density, right, 0.03 + 5.0 / n.sqrt());
        if x > 1.0 {
            near(ring.rotation, 2.0, 0.01);
            assert!(ring.sigma_radial < 0.1 && ring.sigma_azimuthal < 0.1, "{ring:?}");
            assert!(ring.sigma_vertical < 0.05, "{ring:?}");
            near(ring.thickness, 0.05 / 3.0_f64.sqrt(), 0.2);
        }
    }
    // 98 % of the mass are within 5.8 scale lengths.
    let rings = Rings::about(&bodies, all, None, 4).unwrap();
    near(rings.edges[4], 5.834 * 0.5, 0.02);
}

#[test]
fn components_are_measured_apart() {
    let mut bodies = plummer(1000);
    let mut second = disk(500);
    second.shift(DVec3::X * 100.0, DVec3::Y * 7.0);
    bodies.append(&second).unwrap();
    bodies.components.push(Component::new("empty", Role::Gas));
    let found = groups(&bodies, &[0.5], None).unwrap();
    let kinds: Vec<_> = found.iter().map(|group| (group.component, group.count)).collect();
    assert_eq!(kinds, [(None, 1500), (Some(0), 1000), (Some(1), 500)]);
    near(found[0].mass, 5.0, 1e-12);
    near(found[2].mass, 3.0, 1e-12);
    near(found[0].centre_of_mass.x, 60.0, 0.01);
    assert!((found[2].centre - DVec3::X * 100.0).length() < 0.2);
    assert!((found[2].velocity - DVec3::Y * 7.0).length() < 0.5);
    near(found[1].half_mass_radius, 1.305 * A, 0.1);
    // A disk's half-mass radius is 1.678 scale lengths.
    near(found[2].half_mass_radius, 1.678 * 0.5, 0.1);
    let shells = Shells::about(&bodies, &found[1], 8).unwrap();
    let count = |component| -> usize {
        shells.profile(&bodies, component).unwrap().iter().map(|shell| shell.count).sum()
    };
    assert_eq!(count(Some(0)) + count(Some(1)), count(None));
    assert!(count(Some(0)) > 980 && count(Some(1)) <= 500);
}

#[test]
fn runaway_is_unbound_and_a_pair_is_bound() {
    let mut bodies = Bodies::with_capacity(3);
    // A circular pair of unit separation and unit mass in all, and a light body that leaves.
    bodies.push(0.5, DVec3::X * 0.5, DVec3::Y * 0.5, 0);
    bodies.push(0.5, DVec3::X * -0.5, DVec3::Y * -0.5, 0);
    bodies.push(0.0, DVec3::Z * 3.0, DVec3::Z * 2.0, 0);
    let potential: Vec<f64> = (0..3)
        .map(|i| {
            let pair = |j: usize| -bodies.mass[j] / bodies.position[i].distance(bodies.position[j]);
            (0..3).filter(|j| *j != i).map(pair).sum()
        })
        .collect();
    let bound = groups(&bodies, &[], Some(&potential)).unwrap()[0].bound.unwrap();
    assert_eq!((bound.count, bound.mass), (2, 1.0));
}

#[test]
fn one_two_and_massless_bodies_have_numbers() {
    let mut bodies = Bodies::with_capacity(2);
    bodies.push(2.0, DVec3::X, DVec3::Y, 0);
    let one = &groups(&bodies, &[0.5, 1.0], Some(&[0.0])).unwrap()[0];
    assert_eq!((one.centre, one.velocity, one.half_mass_radius), (DVec3::X, DVec3::Y, 0.0));
    assert_eq!((one.motion.sigma(), one.bound.unwrap().count), (0.0, 0));
    assert!(one.motion.beta().is_nan());
    let text = Shells::about(&bodies, one, 5).unwrap_err().to_string();
    assert!(text.contains("not all in one point"), "{text}");
    assert!(Rings::about(&bodies, one, None, 5).is_err());

    bodies.push(2.0, -DVec3::X, -DVec3::Y, 0);
    let two = &groups(&bodies, &[0.5], None).unwrap()[0];
    assert_eq!((two.centre, two.half_mass_radius, two.bound), (DVec3::ZERO, 1.0, None));
    assert_eq!((two.motion.sigma_r, two.motion.radial), (0.0, 0.0));
    near(two.motion.sigma_t, 0.5_f64.sqrt(), 1e-15);
    let shells = Shells::about(&bodies, two, 3).unwrap().profile(&bodies, None).unwrap();
    assert_eq!(shells.iter().map(|shell| shell.count).collect::<Vec<_>>(), [0, 0, 2]);

    let massive = plummer(500);
    let mut massless = massive.clone();
    massless.mass.fill(0.0);
    let [a, b] = [&massive, &massless].map(|all| groups(all, &[0.5], None).unwrap().remove(0));
    assert_eq!(b.mass, 0.0);
    near(b.half_mass_radius, a.half_mass_radius, 1e-9);
    near(b.motion.sigma_r, a.motion.sigma_r, 1e-9);
    let shells = Shells::about(&massless, &b, 3).unwrap().profile(&massless, None).unwrap();
    assert!(shells.iter().all(|shell| shell.density == 0.0 && shell.motion.sigma_r > 0.0));
}

#[test]
fn wrong_input_is_refused() {
    let refused = |bodies: &Bodies, fractions: &[f64], potential: Option<&[f64]>, words: &str| {
        let text = groups(bodies, fractions, potential).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    let good = plummer(10);
    let mut bad = good.clone();
    bad.velocity[3].y = f64::NAN;
    refused(&bad, &[], None, "body 3");
    refused(&Bodies::with_capacity(0), &[], None, "at least 1");
    for part in [0.0, -0.1, 1.1, f64::NAN] {
        refused(&good, &[part], None, "above 0 and at most 1");
    }
    refused(&good, &[], Some(&[0.0]), "potentials is 1, but must be 10");
    refused(&good, &[], Some(&[f64::NAN; 10]), "potential of body 0 is NaN");
    let all = &groups(&good, &[], None).unwrap()[0];
    let about = (all.centre, all.velocity);
    for (range, count) in
        [((0.0, 1.0), 3), ((2.0, 1.0), 3), ((1.0, f64::INFINITY), 3), ((1.0, 2.0), 0)]
    {
        assert!(Shells::new(about, range, count).is_err());
    }
    assert!(Shells::new((DVec3::NAN, DVec3::ZERO), (1.0, 2.0), 3).is_err());
    for (outer, count) in [(Some(0.0), 3), (Some(f64::NAN), 3), (Some(1.0), 0)] {
        assert!(Rings::about(&good, all, outer, count).is_err());
    }
    assert!(Shells::new(about, (1.0, 2.0), 3).unwrap().profile(&bad, None).is_err());
}
