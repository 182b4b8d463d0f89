use glam::DVec3;

use super::*;

/// A few hundred bodies around the origin, unequal in mass, in motion.
fn bodies() -> Bodies {
    let mut bodies = Bodies::with_capacity(300);
    for i in 0..300 {
        let along = f64::from(i + 1);
        let [x, y, z, m] = [0.8191, 0.6710, 0.5497, 0.6180].map(|k| (along * k).fract() - 0.5);
        bodies.push(1.0 + m, DVec3::new(x, y, z), DVec3::new(-y, x, 0.3 * z), 0);
    }
    bodies.recentre();
    bodies
}

fn in_units(length: f64, mass: f64, time: f64) -> Bodies {
    let mut bodies = bodies();
    bodies.position.iter_mut().for_each(|x| *x *= length);
    bodies.velocity.iter_mut().for_each(|v| *v *= length / time);
    bodies.mass.iter_mut().for_each(|m| *m *= mass);
    bodies
}

#[test]
fn centred_bodies_keep_origin_with_units_of_order_one() {
    let bodies = bodies();
    let frame = Frame::of(&bodies, 1.0, 3.0);
    assert!(frame.is_central() && frame.epoch == 3.0, "{frame:?}");
    frame.validate().unwrap();
    let total = bodies.total_mass() / frame.mass;
    assert!((0.5..=2.0).contains(&total), "{total}");
    let largest = bodies.position.iter().map(|x| x.length() / frame.length).fold(0.0, f64::max);
    assert!((1.0..4.0).contains(&largest), "{largest}");
    assert_eq!(frame.length.powi(3), frame.mass * frame.time * frame.time);
    assert_eq!(frame.at(77.0).origin, [0.0; 3]);
}

/// The values in the frame do not depend on the caller's units except for a factor below two.
#[test]
fn units_do_not_matter() {
    let kpc = 3.0857e19;
    let cases = [(1e-60, 1e-30, 1e10), (kpc, 2e40, 1e13), (1e80, 1e90, 1e50), (1e-90, 1.0, 1.0)];
    for (length, mass, time) in cases {
        // G in those units, so that the same bodies move alike.
        let g = length / mass * (length / time) * (length / time);
        let scaled = in_units(length, mass, time);
        let frame = Frame::of(&scaled, g, 0.0);
        frame.validate().unwrap();
        for (i, (x, v)) in scaled.position.iter().zip(&scaled.velocity).enumerate() {
            let (x, v) = (frame.position(*x), frame.velocity(*v));
            let m = scaled.mass[i] * g / frame.mass;
            let good = |value: f32| value.is_finite() && value.abs() < 10.0;
            assert!(x.into_iter().chain(v).all(good) && m > 1e-5 && m < 1.0, "{x:?} {v:?} {m}");
            assert!(x.iter().any(|x| x.abs() > 1e-3));
        }
        let dt = frame.dt(1e-3 * time).unwrap();
        assert!((1e-5..1.0).contains(&dt), "{dt}");
    }
}

#[test]
fn powers_of_two_in_the_units_do_not_change_a_bit() {
    let (length, mass, time) = (f64::powi(2.0, 40), f64::powi(2.0, -31), f64::powi(2.0, 9));
    let (plain, scaled) = (bodies(), in_units(length, mass, time));
    let (a, b) =
        (Frame::of(&plain, 1.0, 0.0), Frame::of(&scaled, length.powi(3) / mass / time / time, 0.0));
    for i in 0..plain.len() {
        assert_eq!(a.position(plain.position[i]), b.position(scaled.position[i]));
        assert_eq!(a.velocity(plain.velocity[i]), b.velocity(scaled.velocity[i]));
    }
}

#[test]
fn origin_follows_bodies_not_outlier() {
    let mut bodies = bodies();
    let (shift, drift) = (DVec3::new(3e5, -1e6, 7e5), DVec3::new(1e6, 2e5, -4e5));
    bodies.shift(shift, drift);
    let frame = Frame::of(&bodies, 1.0, 10.0);
    assert!((DVec3::from(frame.origin) - shift).length() < 1e-8);
    assert!((DVec3::from(frame.velocity) - drift).length() < 1e-8);
    let later = frame.at(11.5);
    assert!((DVec3::from(later.origin) - shift - 1.5 * drift).length() < 1e-8);
    assert_eq!((later.epoch, later.length), (11.5, frame.length));

    bodies.position[7] = DVec3::splat(1e12);
    bodies.velocity[7] = DVec3::splat(1e12);
    let frame = Frame::of(&bodies, 1.0, 0.0);
    assert!((DVec3::from(frame.origin) - shift).length() < 1.0, "{frame:?}");
    assert!((DVec3::from(frame.velocity) - drift).length() < 1.0, "{frame:?}");
    assert!(frame.length <= 1.0);
}

#[test]
fn one_two_and_massless_bodies_have_valid_frame() {
    for n in [1, 2, 3] {
        for mass in [0.0, 5.0] {
            let mut few = Bodies::with_capacity(n);
            for i in 0..n {
                few.push(mass, DVec3::X * (1e9 + i as f64), DVec3::Y * 2.0, 0);
            }
            let frame = Frame::of(&few, 1.0, 0.0);
            frame.validate().unwrap();
            for x in &few.position {
                let [x, ..] = frame.position(*x);
                assert!(x.abs() <= 2.0, "{n} {mass} {x} {frame:?}");
            }
        }
    }
    let at_rest = Frame::of(&Bodies::with_capacity(0), 0.0, 0.0);
    assert_eq!(at_rest, Frame::PLAIN);
}

/// Far from the origin f64 lacks the last bits of what f32 resolves near it: the rests store them.
#[test]
fn f32_values_round_trip_through_f64_with_rests() {
    let mut bodies = bodies();
    bodies.shift(DVec3::splat(123_456_789.0), DVec3::splat(-98_765_432.0));
    let frame = Frame::of(&bodies, 1.0, 0.0);
    let mut rests = Rests::default();
    let mut lacking = 0;
    for k in 0..1000u32 {
        let value = |j: u32| {
            let bits = (k * 7 + j).wrapping_mul(2_654_435_761);
            f32::from_bits(((100 + (bits & 31)) << 23) | (bits >> 9))
                * if k & 1 == 0 { 1.0 } else { -1.0 }
        };
        // Two bits more than f32.
        let more = 1.0 - 2.0f64.powi(-25) * f64::from(k & 3);
        let vector = |j: u32| DVec3::from([0, 1, 2].map(|k| f64::from(value(j + k)) * more));
        let (x, v) = (vector(0), vector(3));
        let (wide, rest) = frame.exact_position(x);
        let (wide_v, rest_v) = frame.exact_velocity(v);
        assert_eq!(frame.scaled_exact_position(wide, rest), x);
        assert_eq!(frame.scaled_exact_velocity(wide_v, rest_v), v);
        lacking += usize::from(frame.scaled_position(wide) != x);
        rests.position.push(rest);
        rests.velocity.push(rest_v);
    }
    assert!(lacking > 500, "{lacking}");
    let columns = rests.columns();
    assert_eq!(Rests::find(&columns, 1000), Some(rests));
    assert_eq!(Rests::find(&columns, 999), None);
    let none = Rests { position: vec![DVec3::ZERO; 3], velocity: vec![DVec3::ZERO; 3] };
    assert!(none.are_zero());
}

#[test]
fn bodies_closer_than_the_spacing_are_counted() {
    let frame = Frame { origin: [5.0, 0.0, 0.0], ..Frame::PLAIN };
    // Between 1 and 2 from the origin the spacing is 2^-23.
    let spacing = f64::powi(2.0, -23);
    let at = |y: f64, z: f64| DVec3::new(6.5, y, z);
    assert_eq!(frame.spacing(at(0.0, 0.0)), spacing);
    let apart = [at(0.0, 0.0), at(1.5 * spacing, 0.0), at(0.0, 3.0 * spacing)];
    assert_eq!(coincident(&frame, &apart), 0);
    for (y, z) in [(0.9, 0.0), (0.3, 0.9), (-0.9, 0.1), (0.0, 0.0), (0.5, -0.9)] {
        for begin in [0.0, 0.49, 0.77, 1.31] {
            let b = begin * spacing;
            let near = [at(b, b), at(0.7, 0.7), at(b + y * spacing, b + z * spacing)];
            assert_eq!(coincident(&frame, &near), 2, "{y} {z} {begin}");
        }
    }
    assert_eq!(coincident(&frame, &vec![at(0.1, 0.1); 1000]), 1000);
}

/// Pairs on either side of where the spacing doubles, and bodies so far out that others coincide
/// there, are divided among ranks in any way.
#[test]
fn ranks_count_what_one_process_does() {
    let frame = Frame::PLAIN;
    let mut position = bodies().position;
    for k in 0..500 {
        let scale = [0.5, 1.0, 2.0, 4096.0][k % 4];
        let at = position[k % 300].normalize() * scale
            / position[k % 300].normalize().abs().max_element();
        let apart = [0.4, 0.8, 1.2, 3.0][k % 3] * frame.spacing(at * (1.0 - 1e-9));
        let towards = [DVec3::X, DVec3::NEG_Y, DVec3::Z][k % 3] * apart;
        position.extend([at, at + towards]);
    }
    position.push(DVec3::splat(1e12));
    let n = position.len();
    let expected = coincident(&frame, &position);
    assert!((300..n).contains(&expected), "{expected} of {n}");
    for ranks in 1..=4 {
        let members = crate::exchange::team(ranks, None, std::time::Duration::ZERO);
        let counts: Vec<usize> = std::thread::scope(|scope| {
            let count = |(k, member)| {
                let ranks_of = crate::exchange::Ranks::new(Box::new(member), 0);
                // The first of several ranks has none, the last one most.
                let begin =
                    |k: usize| if k == ranks { n } else { k.saturating_sub(1) * n / (2 * ranks) };
                let own = &position[begin(k)..begin(k + 1)];
                let frame = &frame;
                scope.spawn(move || coincident_of_all(&ranks_of, frame, own).unwrap())
            };
            let threads: Vec<_> = members.into_iter().enumerate().map(count).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(counts, vec![expected; ranks]);
    }
}

#[test]
fn invalid_frame_is_refused() {
    let refused = |frame: Frame, word: &str| {
        let text = frame.validate().unwrap_err().to_string();
        assert!(text.contains(word), "{text}");
    };
    refused(Frame { length: 3.0, ..Frame::PLAIN }, "unit of length");
    refused(Frame { time: 0.0, ..Frame::PLAIN }, "unit of time");
    refused(Frame { mass: f64::NAN, ..Frame::PLAIN }, "unit of mass");
    refused(Frame { length: 2.0, ..Frame::PLAIN }, "G is 1");
    refused(Frame { origin: [0.0, f64::INFINITY, 0.0], ..Frame::PLAIN }, "origin");
    let frame = Frame::PLAIN;
    assert!(frame.dt(0.01).is_ok() && frame.dt(-0.01).is_ok() && frame.dt(0.0).is_ok());
    for dt in [1e-50, 1e50, f64::NAN] {
        assert!(frame.dt(dt).unwrap_err().to_string().contains("time step"));
    }
}

#[test]
fn extent_of_call_is_in_range() {
    for scale in [1e-100, 1e-6, 0.3, 1.0, 1e6, 1e120] {
        let position = [DVec3::ZERO, DVec3::new(scale, 0.0, 0.0), DVec3::new(0.0, -scale, 0.0)];
        let frame = Frame::of_call(&position, &position, &[3e12, 1.0, 0.0], 0.01 * scale);
        let far = position.iter().flat_map(|&p| frame.position(p)).map(f32::abs);
        let far = far.fold(0.0, f32::max);
        assert!((32768.0..=65536.0).contains(&far), "{far} at scale {scale}");
        for unit in [frame.length, frame.mass] {
            assert_eq!(unit.to_bits() << 12, 0, "{unit} is no power of two");
        }
    }
    assert_eq!(Frame::of_call(&[], &[], &[], 0.0).origin, [0.0; 3]);
}

#[test]
fn outlier_that_makes_others_coincide_is_refused() {
    let check = |far: f64| {
        let mut position: Vec<DVec3> = (0..50).map(|k| DVec3::splat(f64::from(k) / 50.0)).collect();
        position[7].x = far;
        Frame::of_call(&position, &position, &[1.0; 50], 0.1).check_reach(&position)
    };
    assert!(check(1e6).is_ok() && check(-1e16).is_ok());
    for far in [1e19, -1e40, 1e300] {
        let text = check(far).unwrap_err().to_string();
        assert!(text.contains("body 7 (id 7)") && text.contains("2^58"), "{text}");
    }
    let near: Vec<DVec3> = (0..50).map(|k| DVec3::splat(f64::from(k) / 50.0)).collect();
    for (sink, softening) in [(1e20, 0.1), (1.0, 1e20)] {
        let frame = Frame::of_call(&[DVec3::splat(sink)], &near, &[1.0; 50], softening);
        let text = frame.check_reach(&near).unwrap_err().to_string();
        assert!(text.contains("farthest sink") && !text.contains("body"), "{text}");
    }
    let one_place = [DVec3::ONE; 3];
    assert!(Frame::of_call(&one_place, &one_place, &[1.0; 3], 0.0).check_reach(&one_place).is_ok());
    assert!(Frame::of_call(&[], &[], &[], 0.0).check_reach(&[]).is_ok());
}

#[test]
fn escaper_does_not_shift_origin_of_call() {
    let mut position: Vec<DVec3> = (0..99).map(|k| DVec3::splat(f64::from(k) / 99.0)).collect();
    position.push(DVec3::splat(1e6));
    let frame = Frame::of_call(&position, &position, &[1.0; 100], 0.0);
    assert!(DVec3::from(frame.origin).max_element() <= 1.0);
}
