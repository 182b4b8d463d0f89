use super::*;

/// One potential of each kind, off the centre of coordinates.
pub(crate) const SAMPLES: [&str; 9] = [
    "point:mass=2,x=0.3,y=-0.1",
    "point:mass=2,softening=0.4,z=0.2",
    "plummer:mass=1.5,scale=0.7,x=-0.2",
    "hernquist:mass=3,scale=1.3,y=0.4",
    "nfw:mass=2.5,scale=0.9,z=-0.3",
    "isothermal:speed=1.2,core=0.5,x=0.1,y=0.2,z=0.3",
    "logarithmic:speed=0.9,core=0.3,flattening=0.8,x=0.5",
    "miyamoto-nagai:mass=1.7,scale=1.1,height=0.25,z=0.1",
    "tidal:xx=1,yy=-0.5,zz=-0.5,xy=0.2,xz=-0.1,yz=0.3,x=1",
];

fn sample(text: &str) -> Field {
    Field(vec![text.parse().unwrap()])
}

fn places() -> impl Iterator<Item = DVec3> {
    let steps = (0..60).map(|k| DVec3::new(k as f64 * 0.618, k as f64 * 0.414, k as f64 * 0.732));
    steps.enumerate().map(|(k, at)| (at.fract() - 0.5) * 10f64.powf(k as f64 / 15.0 - 2.0))
}

#[test]
fn acceleration_is_the_gradient_of_the_potential() {
    for text in SAMPLES {
        let field = sample(text);
        for at in places() {
            let (found, h) = (field.acceleration(at), 1e-4 * (at.length() + 0.01));
            let slope = |axis: DVec3| {
                let of = |k: f64| field.potential(at + axis * (k * h));
                -(8.0 * (of(1.0) - of(-1.0)) - (of(2.0) - of(-2.0))) / (12.0 * h)
            };
            let numeric = DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z));
            let error = (numeric - found).length() / found.length();
            assert!(error < 2e-7, "{text} at {at}: {found}, by differences {numeric}");
        }
    }
}

#[test]
fn jerk_and_snap_are_those_along_a_motion() {
    let (v, a) = (DVec3::new(0.4, -0.7, 0.2), DVec3::new(-0.3, 0.5, 0.8));
    for text in SAMPLES {
        let field = sample(text);
        for at in places().filter(|at| at.length() > 0.1) {
            let [acceleration, jerk, snap] = field.derivatives(at, v, a);
            assert!(
                (acceleration - field.acceleration(at)).length() <= 1e-15 * acceleration.length()
            );
            let h = 1e-3 * (at - DVec3::from(field.0[0].centre)).length();
            let along = |k: f64| {
                let t = k * h;
                field.acceleration(at + v * t + a * (0.5 * t * t))
            };
            let first =
                (8.0 * (along(1.0) - along(-1.0)) - (along(2.0) - along(-2.0))) / (12.0 * h);
            let second = (16.0 * (along(1.0) + along(-1.0))
                - (along(2.0) + along(-2.0))
                - 30.0 * along(0.0))
                / (12.0 * h * h);
            let scale = acceleration.length() / h * 1e-3;
            assert!((first - jerk).length() < 1e-5 * scale, "{text} at {at}: {jerk} {first}");
            assert!((second - snap).length() < 1e-4 * scale / h, "{text} at {at}: {snap} {second}");
        }
    }
}

/// Squared circular speeds in the plane z = 0, as published.
#[test]
fn circular_speeds_are_those_of_the_literature() {
    let r: f64 = 1.7;
    let cases = [
        ("point:mass=2", 2.0 / r),
        // Binney and Tremaine 2008, equations 2.44a, 2.67 and 2.69a.
        ("plummer:mass=2,scale=0.5", 2.0 * r * r / (r * r + 0.25f64).powf(1.5)),
        ("hernquist:mass=2,scale=0.5", 2.0 * r / (r + 0.5f64).powi(2)),
        ("nfw:mass=2,scale=0.5", 2.0 * ((1.0 + 3.4f64).ln() / r - 1.0 / (0.5 + r))),
        ("isothermal:speed=2,core=0.5", 4.0 * (1.0 - 0.5 / r * (r / 0.5).atan())),
        ("logarithmic:speed=2,core=0.5,flattening=0.8", 4.0 * r * r / (r * r + 0.25)),
        (
            "miyamoto-nagai:mass=2,scale=0.5,height=0.2",
            2.0 * r * r / (r * r + 0.7f64.powi(2)).powf(1.5),
        ),
        ("tidal:xx=-4,yy=-4", 4.0 * r * r),
    ];
    assert!(cases.len() == KINDS.len());
    for (text, exact) in cases {
        let found = -sample(text).acceleration(DVec3::Y * r).y * r;
        assert!((found / exact - 1.0).abs() < 1e-14, "{text}: {found} for {exact}");
    }
}

/// Leading terms of the expansions at the centre, and the law far away.
#[test]
fn forces_hold_their_digits_near_the_centre_and_far_away() {
    let strength = |text: &str, r: f64| -sample(text).acceleration(DVec3::Z * r).z;
    for exponent in -100..100 {
        let r = 10f64.powi(exponent);
        let nfw = strength("nfw:mass=2,scale=1", r);
        let isothermal = strength("isothermal:speed=1,core=1", r);
        if exponent < -9 {
            // m(x) = x^2/2 - 2x^3/3 + ..
            assert!((nfw - (1.0 - 4.0 / 3.0 * r)).abs() < 1e-15, "{r}: {nfw}");
            assert!((isothermal / (r / 3.0) - 1.0).abs() < 1e-15, "{r}: {isothermal}");
        }
        if exponent > 17 {
            assert!((nfw / (2.0 * (r.ln() - 1.0) / (r * r)) - 1.0).abs() < 1e-14, "{r}: {nfw}");
            assert!((isothermal * r - 1.0).abs() < 1e-14, "{r}: {isothermal}");
        }
    }
    // Where the series meet the formulas.
    for (text, r) in [("nfw:mass=1,scale=1", 0.1f64), ("isothermal:speed=1,core=1", 0.5f64.sqrt())]
    {
        let step = |by: f64| strength(text, r * (1.0 + by));
        let jump = step(1e-14) / step(-1e-14) - 1.0;
        assert!(jump.abs() < 1e-13, "{text}: {jump:e}");
    }
}

#[test]
fn nothing_is_undefined_at_a_centre_or_at_the_ends_of_the_range() {
    for text in SAMPLES {
        let field = sample(text);
        let centre = DVec3::from(field.0[0].centre);
        for at in [centre, centre + DVec3::X * 1e-200, DVec3::splat(1e150), DVec3::X * -1e300] {
            let far = at.length() > 1.0;
            let found = field.derivatives(at, DVec3::Y, DVec3::Z);
            let is_tidal = field.0[0].law == PotentialLaw::Tidal;
            let is_singular = text == SAMPLES[0];
            assert!(found[0].is_finite() || is_tidal || is_singular, "{text} at {at}: {found:?}");
            assert!(far || is_singular || found.iter().all(|f| f.is_finite()), "{text} at {at}");
            assert!(!field.potential(at).is_nan() || is_tidal, "{text} at {at}");
        }
    }
}

#[test]
fn texts_come_back_and_wrong_ones_are_refused_in_a_line() {
    for text in SAMPLES {
        let potential: Potential = text.parse().unwrap();
        assert_eq!(potential.to_string(), text);
        assert_eq!(String::from(potential).parse::<Potential>().unwrap(), potential);
    }
    let odd: Potential = " plummer : scale = 1e-3 , mass=0.1".trim().parse().unwrap();
    assert_eq!(odd.to_string(), "plummer:mass=0.1,scale=0.001");
    let both: Field = SAMPLES[2..4].join(" ").parse().unwrap();
    assert_eq!((both.0.len(), both.to_string()), (2, SAMPLES[2..4].join(" ")));
    for (wrong, problem) in [
        ("", "no potential named ''"),
        ("dehnen:mass=1", "those known are: point, plummer"),
        (
            "plummer:mass=1",
            "'scale' of the potential 'plummer' is missing, but must be a number above 0",
        ),
        ("plummer:mass=1,scale=0", "'scale' of the potential 'plummer' is 0"),
        ("plummer:mass=nan,scale=1", "'mass' of the potential 'plummer' is NaN"),
        ("plummer:mass=inf,scale=1", "'mass' of the potential 'plummer' is inf"),
        ("plummer:mass=-1,scale=1", "is -1, but must be a number above 0 (mass)"),
        ("plummer:mass=1,scale=1,core=2", "parameter of this potential named 'core'"),
        ("plummer:mass=1,mass=2,scale=1", "given once"),
        ("plummer:mass", "NAME=VALUE"),
        ("plummer:mass=1,scale=1,x=inf", "'x' of the potential"),
        ("logarithmic:speed=1,core=1,flattening=0.7", "above 0.7072"),
    ] {
        let error = wrong.parse::<Potential>().unwrap_err().to_string();
        assert!(error.contains(problem), "{wrong}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

/// Forces in other units are the same forces.
#[test]
fn rescaled_potentials_give_the_same_forces() {
    let (length, time, g) = (3.5, 0.25, 4.3);
    for text in SAMPLES {
        let field = sample(text).gravitating(g);
        // With G = 1 in both units, masses are length^3 / time^2.
        let mass = length * length * length / (time * time);
        let other = Field(vec![field.0[0].rescaled([length, time, mass])]);
        for at in places() {
            let same = other.acceleration(at * length) * (time * time / length);
            let error = (same - field.acceleration(at)).length() / same.length();
            assert!(error < 1e-13, "{text} at {at}: {error:e}");
        }
    }
}

#[test]
fn numbers_are_changed_one_by_one() {
    let halo: Potential = "logarithmic:speed=2,core=1,y=3".parse().unwrap();
    let numbers: Vec<_> = halo.numbers().map(|(number, value)| (number.name, value)).collect();
    let own = [("speed", 2.0), ("core", 1.0), ("flattening", 1.0)];
    assert_eq!(numbers, [&own[..], &[("x", 0.0), ("y", 3.0), ("z", 0.0)]].concat());
    let changed = halo.with("flattening", 0.8).unwrap().with("y", 0.0).unwrap();
    assert_eq!(changed.to_string(), "logarithmic:speed=2,core=1,flattening=0.8");
    for (name, value, problem) in [
        ("core", 0.0, "'core' of the potential 'logarithmic' is 0"),
        ("z", f64::NAN, "'z' of the potential 'logarithmic' is NaN"),
        ("mass", 1.0, "parameter of this potential named 'mass'"),
    ] {
        let error = halo.with(name, value).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
