//! Balancing: the device removes the net force of a closed system as the host does.

use glam::DVec3;
use gravitile::forces::tree::gpu::{Field, TreeForces, TreeShape};
use gravitile::forces::tree::{MultipoleOrder, Opening, PointMass, balance};
use gravitile::forces::{DeviceForces, Throughput, evaluate_blocking};
use gravitile::gpu::{Checks, read_blocking};
use gravitile::measure::upload_places;

use super::bodies::plummer;
use super::common;

fn forces(places: &[PointMass], softening: f32, is_closed: bool) -> Vec<DVec3> {
    let gpu = common::gpu();
    let opening = Opening::Acceleration { alpha: 0.01 };
    let shape =
        TreeShape { checks: Checks::On, ..TreeShape::new(opening, MultipoleOrder::Quadrupole) };
    let field = Field {
        softening,
        guarded: true,
        potential: false,
        has_accelerations: false,
        is_closed,
        external: None,
    };
    let bodies = upload_places(&gpu, places);
    let mut forces = pollster::block_on(TreeForces::new(&gpu, shape, &bodies, field)).unwrap();
    evaluate_blocking(&mut forces, &gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
    let sums = read_blocking::<[f32; 4]>(&gpu, &[forces.partial_sums()], places.len());
    let wide = |[x, y, z, _]: [f32; 4]| DVec3::new(x.into(), y.into(), z.into());
    sums.unwrap().remove(0).into_iter().map(wide).collect()
}

/// |sum m a| / sum m |a| over the bodies with finite accelerations.
fn residual(acceleration: &[DVec3], places: &[PointMass]) -> f64 {
    let forces = acceleration.iter().zip(places).map(|(a, place)| f64::from(place[3]) * *a);
    let forces: Vec<DVec3> = forces.filter(|force| force.is_finite()).collect();
    let sizes: f64 = forces.iter().map(|force| force.length()).sum();
    forces.iter().sum::<DVec3>().length() / sizes
}

/// A sphere whose bodies have five masses.
fn sphere(n: usize) -> Vec<PointMass> {
    let with_mass = |(i, [x, y, z, mass]): (usize, PointMass)| [x, y, z, mass * (1 + i % 5) as f32];
    plummer(n, 31).into_iter().enumerate().map(with_mass).collect()
}

#[test]
fn device_balances_forces_like_the_host() {
    for is_one_lost in [false, true] {
        let mut places = sphere(5000);
        if is_one_lost {
            places[77][1] = f32::NAN;
        }
        let (open, closed) = (forces(&places, 0.01, false), forces(&places, 0.01, true));
        let mass: Vec<f64> = places.iter().map(|place| place[3].into()).collect();
        let mut right = open.clone();
        balance(&mut right, &mass);
        let (before, after) = (residual(&open, &places), residual(&closed, &places));
        println!("left over {before:.1e}, {after:.1e}");
        assert!(before > 1e-5 && after < 1e-6, "{before:.1e} {after:.1e}");
        assert_eq!(closed[77].is_nan(), is_one_lost);
        for (i, (found, right)) in closed.iter().zip(&right).enumerate() {
            let off = (*found - *right).length() / right.length();
            assert!(off < 1e-6 || right.is_nan(), "body {i}: {found}, not {right}");
        }
    }
}

#[test]
fn balancing_leaves_forces_of_a_close_pair_alone() {
    let mut places = sphere(5000);
    // Their mutual attraction is some 10^8 times that of other bodies, and their masses are
    // unequal.
    let [x, y, z, mass] = places[0];
    places.extend([[x + 3.0, y, z, mass], [x + 3.0, y + 1e-6, z, 1.7 * mass]]);
    let (open, closed) = (forces(&places, 0.0, false), forces(&places, 0.0, true));
    assert!(open[5000].length() > 1e6, "{}", open[5000]);
    assert_eq!(open, closed);
}
