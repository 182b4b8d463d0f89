//! Conversion of units for formats that cannot store them.

use gravitile::diagnostics::relative_change;
use gravitile::snapshot::Snapshot;
use gravitile::units::Units;

use super::{six, spec, through};

/// Kinetic energy, and the potential energy with G, in the snapshot's units.
fn energies(snapshot: &Snapshot) -> [f64; 2] {
    let bodies = &snapshot.bodies;
    let g = snapshot.units.gravitational_constant;
    let n = bodies.len();
    let kinetic = (0..n).map(|i| 0.5 * bodies.mass[i] * bodies.velocity[i].length_squared()).sum();
    let pair = |i: usize, j: usize| {
        -g * bodies.mass[i] * bodies.mass[j] / (bodies.position[i] - bodies.position[j]).length()
    };
    [kinetic, (0..n).flat_map(|i| (0..i).map(move |j| pair(i, j))).sum()]
}

/// A snapshot with the units of a scene, in which G = 1.
fn galaxy() -> Snapshot {
    let mut snapshot = six();
    snapshot.time = 2.0;
    for (i, x) in snapshot.bodies.position.iter_mut().enumerate() {
        *x = glam::DVec3::new(i as f64, 1.0 + (i * i) as f64, -0.5);
        snapshot.bodies.velocity[i] = glam::DVec3::new(0.1, 0.2 * i as f64, 0.3);
        snapshot.bodies.mass[i] = 0.25 + i as f64;
    }
    snapshot.units = Units {
        length: "3.5 kpc".into(),
        mass: "5.6e10 Msun".into(),
        time: "13.05 Myr".into(),
        gravitational_constant: 1.0,
    };
    snapshot.attributes.insert("box_size".into(), "10".into());
    snapshot.extra.insert("POT".into(), vec![-1.0; 6].into());
    snapshot.extra.insert("WHAT".into(), vec![1.0; 6].into());
    snapshot
}

#[test]
fn gadget_conversion_of_units_preserves_the_motion() {
    let snapshot = galaxy();
    for format in ["gadget1-f64", "gadget2-f64"] {
        let (back, losses) = through(&snapshot, format);
        assert_eq!(back.units, Units::gadget());
        let assert_close =
            |a: f64, b: f64| assert!(relative_change(a, b).abs() < 1e-7, "{format}: {a}, {b}");
        assert_close(back.bodies.position[1].y, 7.0);
        // 3.5 kpc per 13.05 Myr in km/s, with the year of 365.25 days.
        assert_close(back.bodies.velocity[1].x, 0.1 * 262.243_125);
        // 5.6e10 solar masses, to the rounding of the scene's units.
        assert!(relative_change(back.bodies.mass[0], 0.25 * 5.6).abs() < 1e-3);
        assert_close(back.time, 2.0 * 13.05e-3 / 0.977_792_222);
        assert_close(back.attributes["box_size"].parse().unwrap(), 35.0);
        // The ratio of the energies determines the motion.
        let ratio = |snapshot: &Snapshot| energies(snapshot)[0] / energies(snapshot)[1];
        assert_close(ratio(&back), ratio(&snapshot));
        assert!(losses.iter().any(|text| text.contains("converted from 3.5 kpc")), "{losses}");
    }
    let (back, losses) = through(&snapshot, "gadget2");
    assert!((back.extra["POT"].value(0) / -262.243_125_f64.powi(2) - 1.0).abs() < 1e-6);
    assert_eq!(back.extra["WHAT"].value(0), 1.0);
    assert!(losses.iter().any(|text| text.contains("not converted: WHAT")), "{losses}");
    let (raw, losses) = through(&snapshot, "gadget2-raw");
    assert_eq!(
        raw.bodies.velocity,
        snapshot.bodies.velocity.iter().map(|v| v.as_vec3().into()).collect::<Vec<_>>()
    );
    assert!(losses.iter().any(|text| text.contains("the numbers stay in 3.5 kpc")), "{losses}");
}

#[test]
fn tipsy_masses_are_scaled_to_g_of_one() {
    let snapshot = through(&galaxy(), "gadget2").0;
    let (back, losses) = through(&snapshot, "tipsy");
    assert_eq!(back.units, Units::default());
    assert!(relative_change(back.bodies.mass[1], 43007.1 * snapshot.bodies.mass[1]).abs() < 1e-6);
    assert_eq!(back.bodies.position, snapshot.bodies.position);
    let ratio = |snapshot: &Snapshot| energies(snapshot)[0] / energies(snapshot)[1];
    assert!(relative_change(ratio(&back), ratio(&snapshot)).abs() < 1e-6);
    assert!(losses.iter().any(|text| text.contains("232508.5")), "{losses}");
    // Equal units need no conversion.
    let (bytes, _) = snapshot.to_bytes("a", &spec("gadget2")).unwrap();
    assert_eq!(Snapshot::from_bytes(&bytes, "a").unwrap().bodies, snapshot.bodies);
}
