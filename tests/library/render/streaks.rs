//! Streaks: total light, position, and agreement of device and CPU.

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::render::cpu_canvas::CpuCanvas;
use gravitile::render::hdr_image::HdrImage;
use gravitile::render::splat::Point;
use gravitile::render::{
    Adding, Camera, ColourBy, DevicePoints, Exposure, Image, Look, Painter, PictureSize, Points,
    Scale, Style, tags,
};

use crate::render::gpu::{Device, compare_pictures, device, devices, gpu_painter, painter_on};
use crate::render::two_galaxies;

/// Accelerations that rotate the velocities around z at `rate` radians per unit of time.
fn turning(bodies: &Bodies, rate: f64) -> Vec<DVec3> {
    bodies.velocity.iter().map(|&v| rate * DVec3::Z.cross(v)).collect()
}

/// The HDR light, without glow, sky or tone mapping.
fn light_of(
    bodies: &Bodies,
    acceleration: &[DVec3],
    camera: &Camera,
    size: PictureSize,
    streak_time: f64,
) -> HdrImage {
    let style = Style { streak_time, variety: 0.0, ..Style::default() };
    let look = Look::new(&style, bodies, None).unwrap();
    let tags = tags(bodies);
    let point = |i: usize| Point {
        position: bodies.position[i].as_vec3().to_array(),
        mass: bodies.mass[i] as f32,
        motion: [bodies.velocity[i], acceleration[i]].map(|v| v.as_vec3().to_array()),
        tag: tags[i],
        ..Point::default()
    };
    let mut canvas = CpuCanvas::new(size);
    canvas.paint(bodies.len(), point, &Scale::PLAIN, (camera, &look), 0.0).unwrap();
    canvas.hdr().clone()
}

fn sum(light: &HdrImage) -> f64 {
    light.pixels().iter().map(|p| f64::from(p[0] + p[1] + p[2])).sum()
}

/// Identical bodies.
fn stars(places: &[(DVec3, DVec3)]) -> Bodies {
    let components = vec![Component::new("stars", Role::Star)];
    let mut bodies = Bodies { components, ..Bodies::default() };
    places.iter().for_each(|&(x, v)| bodies.push(1.0, x, v, 0));
    bodies
}

/// The pixel coordinates of a position.
fn to_pixel(place: DVec3, camera: &Camera, size: PictureSize) -> [f64; 2] {
    let [right, up, backward] = camera.axes_in_world();
    let offset = place - camera.eye_in_world();
    let scale = camera.focal_px(size) / -offset.dot(backward);
    let middle = [size.width(), size.height()].map(|side| 0.5 * f64::from(side));
    [middle[0] + offset.dot(right) * scale, middle[1] - offset.dot(up) * scale]
}

/// Centres and light of the pixels brighter than the fraction `part` of the brightest one.
fn lit(light: &HdrImage, part: f32) -> Vec<([f64; 2], f64)> {
    let width = light.size().width() as usize;
    let most = light.pixels().iter().map(|p| p[1]).fold(0.0, f32::max);
    let place = |at: usize| [(at % width) as f64 + 0.5, (at / width) as f64 + 0.5];
    let pixels = light.pixels().iter().enumerate();
    pixels.filter(|(_, p)| p[1] > part * most).map(|(at, p)| (place(at), f64::from(p[1]))).collect()
}

#[test]
fn streaks_conserve_total_light() {
    let size = PictureSize::new(400, 300).unwrap();
    for n in [1, 40, 2000, 20_000, 60_000] {
        let bodies = two_galaxies(n);
        // From far away, so that all streaks are in the picture.
        let camera = Camera { distance: 60.0, ..Camera::default() };
        let rest = sum(&light_of(&bodies, &turning(&bodies, 0.0), &camera, size, 0.0));
        for (time, rate) in [(1e-9, 0.0), (0.02, 0.0), (0.5, 0.7), (3.0, 0.4), (3.0, 5.0)] {
            let all = turning(&bodies, rate);
            let found = sum(&light_of(&bodies, &all, &camera, size, time)) / rest;
            // A streak that turns within its own width overlaps itself.
            let allowed = if rate > 1.0 { 0.06 } else { 0.03 };
            assert!(
                (found - 1.0).abs() < allowed,
                "{n} bodies, {time}, turning by {rate}: {found}"
            );
        }
    }
}

#[test]
fn body_at_rest_has_no_streak() {
    let size = PictureSize::new(200, 200).unwrap();
    let bodies = stars(&[(DVec3::ZERO, DVec3::ZERO), (DVec3::X, DVec3::ZERO)]);
    let camera = Camera::default();
    let pull = vec![DVec3::Y; 2];
    let [rest, shown] = [0.0, 5.0].map(|time| light_of(&bodies, &pull, &camera, size, time));
    let most = rest.pixels().iter().map(|p| p[0]).fold(0.0, f32::max);
    for (a, b) in rest.pixels().iter().zip(shown.pixels()) {
        assert!((a[0] - b[0]).abs() < 1e-5 * most, "{a:?} {b:?}");
    }
}

/// Extent and centroid of the light behind a body.
#[test]
fn streak_runs_from_head_to_tail_from_any_direction() {
    let size = PictureSize::new(640, 400).unwrap();
    let (time, velocity) = (2.0, DVec3::new(1.0, 0.0, 0.0));
    let bodies = stars(&[(DVec3::new(1.0, 0.0, 0.0), velocity)]);
    let still = turning(&bodies, 0.0);
    let (head, tail) = (bodies.position[0], bodies.position[0] - velocity * time);
    for (azimuth, elevation, distance) in
        [(-90.0, 89.0, 10.0), (90.0, 30.0, 10.0), (-60.0, 10.0, 7.0), (200.0, -50.0, 20.0)]
    {
        let camera = Camera {
            azimuth_rad: f64::to_radians(azimuth),
            elevation_rad: f64::to_radians(elevation),
            distance,
            ..Camera::default()
        };
        let [from, to] = [head, tail].map(|place| to_pixel(place, &camera, size));
        let way = [to[0] - from[0], to[1] - from[1]];
        let length = way[0].hypot(way[1]);
        let own = way.map(|x| x / length);
        let along_and_across = |[x, y]: [f64; 2]| {
            let d = [x - from[0], y - from[1]];
            [d[0] * own[0] + d[1] * own[1], d[1] * own[0] - d[0] * own[1]]
        };
        let radius = f64::from(
            Look::new(&Style::default(), &bodies, None).unwrap().radius_limits_px(size)[1],
        );
        let picture = light_of(&bodies, &still, &camera, size, time);
        let mut reaches = 0.0_f64;
        for (place, _) in lit(&picture, 1e-4) {
            let [along, across] = along_and_across(place);
            assert!(along > -radius && along < length + radius, "{along} of {length} px");
            assert!(across.abs() < radius, "{across}");
            reaches = reaches.max(along);
        }
        assert!(reaches > 0.8 * length, "the tail is seen to {reaches} of {length} px");
        // The streak's light is concentrated towards the head.
        let of_head = light_of(&bodies, &still, &camera, size, 1e-9);
        let (mut light, mut moment) = (0.0, 0.0);
        for ((place, with), (_, without)) in
            lit(&picture, -1.0).into_iter().zip(lit(&of_head, -1.0))
        {
            let of_streak = with - 0.4 * without;
            light += of_streak;
            moment += of_streak * along_and_across(place)[0];
        }
        let middle = moment / light / length;
        assert!((0.1..0.4).contains(&middle), "the middle of its light: {middle}");
    }
    // Seen from above a body moving right has its streak at the left.
    let camera = Camera { elevation_rad: 1.57, ..Camera::default() };
    let [from, to] = [head, tail].map(|place| to_pixel(place, &camera, size));
    assert!(to[0] < from[0] - 50.0 && (to[1] - from[1]).abs() < 1.0);
}

#[test]
fn circular_orbit_has_a_circular_streak() {
    let size = PictureSize::new(400, 400).unwrap();
    let camera = Camera { elevation_rad: 1.57, ..Camera::default() };
    let bodies = stars(&[(DVec3::new(2.0, 0.0, 0.0), DVec3::new(0.0, 2.0, 0.0))]);
    let inward = vec![DVec3::new(-2.0, 0.0, 0.0)];
    let [middle, edge] = [DVec3::ZERO, DVec3::X * 2.0].map(|place| to_pixel(place, &camera, size));
    let radius = edge[0] - middle[0];
    for (time, angle) in [(1.0, 1.0), (3.0, 3.0), (50.0, 4.7)] {
        let picture = light_of(&bodies, &inward, &camera, size, time);
        let mut reaches = 0.0_f64;
        for ([x, y], _) in lit(&picture, 1e-4) {
            let (right, up) = (x - middle[0], middle[1] - y);
            let off = right.hypot(up) - radius;
            assert!(off.abs() < 0.2 * radius, "{off} of {radius}");
            // The body moves from +x towards +y, so the streak extends to negative y.
            let back = (-up.atan2(right)).rem_euclid(std::f64::consts::TAU);
            if back < 6.0 {
                reaches = reaches.max(back);
            }
        }
        assert!((0.75 * angle..angle + 0.2).contains(&reaches), "{reaches} of {angle} radians");
    }
}

/// Pictures at several zooms, up to a camera among the bodies.
fn film(mut painter: Painter, bodies: &Bodies, style: &Style, has_pull: bool) -> Vec<Image> {
    let camera = Camera::default().framing(bodies, style, 0.95, painter.size());
    let pull = turning(bodies, 0.8);
    let look = Look::new(style, bodies, Some(&pull)).unwrap();
    let acceleration = has_pull.then_some(&pull[..]);
    let paint = |(frame, zoom): (i32, f64)| {
        let camera = camera.orbited(0.1 * f64::from(frame)).zoomed(zoom);
        let points = Points::Host { bodies, acceleration };
        painter.paint(points, &camera, &look, 0.2 * f64::from(frame)).unwrap()
    };
    (0..).zip([1.0, 0.6, 2.0, 9.0]).map(paint).collect()
}

#[test]
fn device_and_cpu_streaks_agree() {
    let plain = Style { streak_time: 0.6, ..Style::default() };
    let fixed = Exposure::Fixed { white: 200.0, mid: 0.5 };
    for (n, width, height, style, has_pull) in [
        (1, 64, 64, plain.clone(), true),
        (3, 320, 180, plain.clone(), true),
        (100, 641, 359, Style { exposure: fixed, ..plain.clone() }, true),
        (100, 180, 320, plain.clone(), false),
        (1000, 320, 180, Style { streak_time: 20.0, exposure: fixed, ..plain.clone() }, true),
        (3000, 320, 180, Style { colour_by: ColourBy::Speed, ..plain.clone() }, true),
        (3000, 320, 180, Style { colour_by: ColourBy::Acceleration, ..plain.clone() }, true),
        (3000, 321, 181, Style { colour_by: ColourBy::Age, ..plain.clone() }, true),
        (4000, 320, 180, Style { trail_secs: 2.0, bloom: 0.0, ..plain.clone() }, true),
        (120_000, 160, 90, plain.clone(), true),
    ] {
        let size = PictureSize::new(width, height).unwrap();
        let bodies = two_galaxies(n);
        let many = n > 100_000;
        let expected = film(Painter::cpu(size), &bodies, &style, has_pull);
        let (narrow, wide) = devices();
        for (which, device) in [Some(narrow), wide.as_ref()].into_iter().flatten().enumerate() {
            for adding in [Adding::Raster, Adding::Compute] {
                if adding == Adding::Raster && which == 0 && many {
                    continue;
                }
                let mut painter = painter_on(device, size);
                painter.add_by(Some(adding));
                let painted = film(painter, &bodies, &style, has_pull);
                for (frame, (cpu, gpu)) in expected.iter().zip(&painted).enumerate() {
                    compare_pictures(cpu, gpu).unwrap_or_else(|e| {
                        let by = style.colour_by;
                        panic!("{n} bodies by {by:?}, {adding:?} on {which}, frame {frame}: {e}")
                    });
                }
            }
        }
        // Streaks are visible, except for the common motion of all bodies.
        if n == 1 {
            continue;
        }
        let without = Style { streak_time: 0.0, ..style.clone() };
        let without = film(Painter::cpu(size), &bodies, &without, has_pull);
        assert!(compare_pictures(&expected[0], &without[0]).is_err(), "{n} bodies: no streaks");
    }
    let size = PictureSize::new(320, 180).unwrap();
    let bodies = two_galaxies(100);
    let [bent, straight] =
        [true, false].map(|has_pull| film(gpu_painter(size), &bodies, &plain, has_pull));
    assert!(compare_pictures(&bent[0], &straight[0]).is_err(), "accelerations bend streaks");
}

/// A buffer of rows with the layout of an engine's.
fn upload((device, queue): &Device, rows: &[[f32; 4]]) -> wgpu::Buffer {
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 16 * rows.len() as u64,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    queue.write_buffer(&buffer, 0, bytemuck::cast_slice(rows));
    buffer
}

#[test]
fn streaks_of_engine_buffers_match_the_host() {
    let size = PictureSize::new(240, 140).unwrap();
    let bodies = two_galaxies(700);
    let pull = turning(&bodies, 0.8);
    // The buffers have units of their own.
    let scale = Scale { length: 2.0, speed: 0.25, acceleration: 0.5, ..Scale::PLAIN };
    // An engine's velocities are relative to the bodies' common motion.
    let drift = Look::new(&Style::default(), &bodies, None).unwrap().drift;
    let relative_velocity: Vec<DVec3> = bodies.velocity.iter().map(|&v| v - drift).collect();
    let rows = |of: &[DVec3], unit: f64, w: &dyn Fn(usize) -> f32| {
        let row = |(i, x): (usize, &DVec3)| (*x / unit).as_vec3().extend(w(i)).to_array();
        upload(device(), &of.iter().enumerate().map(row).collect::<Vec<_>>())
    };
    let pos_mass = rows(&bodies.position, scale.length, &|i| bodies.mass[i] as f32);
    let velocity = rows(&relative_velocity, scale.speed, &|i| bodies.tag(i) as f32);
    let acceleration = rows(&pull, scale.acceleration, &|_| f32::NAN);
    let points = DevicePoints {
        pos_mass: &pos_mass,
        velocity: &velocity,
        acceleration: Some(&acceleration),
        count: 700,
        scale,
    };
    for colour_by in [ColourBy::Component, ColourBy::Speed, ColourBy::Acceleration] {
        let style = Style { streak_time: 0.7, colour_by, ..Style::default() };
        let camera = Camera::default().framing(&bodies, &style, 0.95, size);
        let look = Look::new(&style, &bodies, Some(&pull)).unwrap();
        let from_host = Points::Host { bodies: &bodies, acceleration: Some(&pull) };
        let expected = Painter::cpu(size).paint(from_host, &camera, &look, 0.0).unwrap();
        let mut painter = gpu_painter(size);
        for (which, points) in [from_host, Points::Device(points), from_host].iter().enumerate() {
            painter.reset_exposure();
            let found = painter.paint(*points, &camera, &look, 0.0).unwrap();
            compare_pictures(&expected, &found)
                .unwrap_or_else(|e| panic!("{colour_by:?}, picture {which}: {e}"));
        }
        let short = DevicePoints { count: 701, ..points };
        let error = painter.paint(Points::Device(short), &camera, &look, 0.0).unwrap_err();
        assert!(error.to_string().contains("701 bodies"), "{error}");
    }
}

#[test]
fn streaks_are_invariant_under_shift_motion_and_units() {
    let size = PictureSize::new(320, 180).unwrap();
    let original = two_galaxies(600);
    let style = Style { streak_time: 0.7, ..Style::default() };
    let camera = Camera::default().framing(&original, &style, 0.95, size);
    let paint = |painter: &mut Painter, bodies: &Bodies, pull: &[DVec3], camera: &Camera, time| {
        let style = Style { streak_time: time, ..style.clone() };
        let look = Look::new(&style, bodies, None).unwrap();
        let points = Points::Host { bodies, acceleration: Some(pull) };
        painter.paint(points, camera, &look, 0.0).unwrap()
    };
    let painters = || [Painter::cpu(size), gpu_painter(size)];
    let pull = turning(&original, 0.8);
    let right = painters().map(|mut painter| paint(&mut painter, &original, &pull, &camera, 0.7));
    for (shift, drift, length, time) in [
        (1e8, 0.0, 1.0, 1.0),
        (0.0, 0.0, 3e21, 1e15),
        (1e5, 1e7, 3e19, 1e-9),
        (0.0, 1e7, 1e-12, 1e12),
    ] {
        let mut moved = original.clone();
        moved.shift(DVec3::new(1.0, -0.5, 0.3) * shift, DVec3::new(-0.3, 1.0, 0.1) * drift);
        moved.position.iter_mut().for_each(|x| *x *= length);
        moved.velocity.iter_mut().for_each(|v| *v *= length / time);
        let pull: Vec<DVec3> = pull.iter().map(|a| *a * (length / time / time)).collect();
        let target = (camera.target + DVec3::new(1.0, -0.5, 0.3) * shift) * length;
        let moved_camera = Camera { target, distance: camera.distance * length, ..camera };
        for (mut painter, right) in painters().into_iter().zip(&right) {
            let found = paint(&mut painter, &moved, &pull, &moved_camera, 0.7 * time);
            let what = format!("{shift:e} {drift:e} {length:e} {time:e}");
            compare_pictures(right, &found).unwrap_or_else(|e| panic!("{what}: {e}"));
        }
    }
}

#[test]
fn non_finite_velocities_and_accelerations_add_no_streak() {
    let size = PictureSize::new(120, 80).unwrap();
    let exposure = Exposure::Fixed { white: 200.0, mid: 0.5 };
    let style = Style { exposure, streak_time: 0.5, sky: 0.0, dither: false, ..Style::default() };
    let bodies = two_galaxies(300);
    let pull = turning(&bodies, 0.8);
    let camera = Camera::default().framing(&bodies, &style, 0.95, size);
    // Streaks show velocities relative to the drift: without it, bodies of no velocity are at rest.
    let look = Look { drift: DVec3::ZERO, ..Look::new(&style, &bodies, None).unwrap() };
    let mut at_rest = (bodies.clone(), pull.clone());
    let mut invalid = at_rest.clone();
    for (i, invalid_value) in [(0, f64::NAN), (7, f64::INFINITY), (9, 1e-300)] {
        at_rest.0.velocity[i] = DVec3::ZERO;
        invalid.0.velocity[i] = DVec3::splat(invalid_value);
    }
    for (i, invalid_value) in [(20, f64::NAN), (27, f64::INFINITY), (29, 1e-300)] {
        at_rest.1[i] = DVec3::ZERO;
        invalid.1[i] = DVec3::splat(invalid_value);
    }
    for adding in [None, Some(Adding::Raster), Some(Adding::Compute)] {
        let mut painter = match adding {
            None => Painter::cpu(size),
            Some(_) => gpu_painter(size),
        };
        painter.add_by(adding);
        let mut paint = |(bodies, pull): &(Bodies, Vec<DVec3>)| {
            let points = Points::Host { bodies, acceleration: Some(pull) };
            painter.paint(points, &camera, &look, 0.0).unwrap()
        };
        let [expected, found] = [paint(&at_rest), paint(&invalid)];
        compare_pictures(&expected, &found).unwrap_or_else(|e| panic!("{adding:?}: {e}"));
    }
}
