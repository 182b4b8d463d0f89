//! Properties of every picture, tested with the CPU renderer.

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::render::hdr_image::HdrImage;
use gravitile::render::splat::{Point, Splatter};
use gravitile::render::{Camera, ColourBy, Image, Look, Painter, PictureSize, Points, Style};

use crate::render::two_galaxies;

fn size(width: u32, height: u32) -> PictureSize {
    PictureSize::new(width, height).unwrap()
}

fn picture(bodies: &Bodies, style: &Style, size: PictureSize) -> Image {
    // Without sky and dither only the bodies contribute.
    let style = &Style { sky: 0.0, dither: false, ..style.clone() };
    let camera = Camera::default().framing(bodies, style, 0.95, size);
    let look = Look::new(style, bodies, None).unwrap();
    Painter::cpu(size).paint(bodies, &camera, &look, 0.0).unwrap()
}

/// Fractions of the pixels that are lit, and that are burnt out to white.
fn lit_and_burnt(image: &Image) -> (f64, f64) {
    let dark = picture(&two_galaxies(0), &Style::default(), size(1, 1)).pixel(0, 0).unwrap();
    let fraction = |test: &dyn Fn(&[u8]) -> bool| {
        image.rgba().chunks(4).filter(|p| test(p)).count() as f64 / image.size().pixels() as f64
    };
    (fraction(&|p| p[..3] != dark[..3]), fraction(&|p| p[..3].iter().all(|&c| c == 255)))
}

#[test]
fn exposure_suits_any_number_of_bodies() {
    for n in [1, 2, 100, 1000, 20_000, 1_000_000] {
        let bodies = two_galaxies(n);
        for (width, height) in [(320, 180), (180, 320), (320, 40), (7, 300), (3000, 40)] {
            let image = picture(&bodies, &Style::default(), size(width, height));
            let (lit, burnt) = lit_and_burnt(&image);
            assert!(lit > 0.001, "{n} bodies at {width}x{height}: {lit} lit");
            assert!(burnt < 0.01, "{n} bodies at {width}x{height}: {burnt} burnt out");
            let brightest = image.rgba().chunks(4).map(|p| p[0].max(p[1]).max(p[2])).max();
            assert!(brightest > Some(200), "{n} bodies at {width}x{height}: {brightest:?}");
        }
    }
}

#[test]
fn empty_scene_is_a_uniform_sky() {
    let image = picture(&two_galaxies(0), &Style::default(), size(20, 10));
    let first = image.pixel(0, 0);
    assert!((0..20).all(|x| (0..10).all(|y| image.pixel(x, y) == first)));
    assert_eq!(image.pixel(0, 0).unwrap()[3], 255);
}

#[test]
fn halo_is_hidden_unless_requested() {
    let (bodies, style) = (two_galaxies(700), Style::default());
    let frame = size(160, 90);
    let mut moved = bodies.clone();
    for i in (6..700).step_by(7) {
        assert_eq!(moved.component[i], 3);
        moved.position[i] *= 0.5;
    }
    assert_eq!(picture(&bodies, &style, frame), picture(&moved, &style, frame));
    let shown = Style { show_halo: true, ..style };
    assert_ne!(picture(&bodies, &shown, frame), picture(&moved, &shown, frame));
}

/// Sum of the light of all pixels.
fn total_light(hdr: &HdrImage) -> f64 {
    hdr.pixels().iter().map(|p| f64::from(p[0] + p[1] + p[2])).sum()
}

fn splat(look: &Look, camera: &Camera, bodies: &Bodies, size: PictureSize) -> HdrImage {
    let mut hdr = HdrImage::new(size);
    let view = camera.view(size).unwrap();
    let limits = look.radius_limits_px(size);
    let point = |i: usize| Point {
        position: bodies.position[i].as_vec3().to_array(),
        mass: 1.0,
        vector: [0.0; 3],
        tag: 0,
        ..Point::default()
    };
    Splatter::default().draw(&mut hdr, &view, &look.uniform, limits, bodies.len(), point);
    hdr
}

#[test]
fn light_falls_with_distance_squared_at_any_subpixel_offset() {
    // A body count at which sprites have the least radius, the worst case.
    let mut bodies = Bodies::with_capacity(1);
    bodies.push(1.0, DVec3::ZERO, DVec3::ZERO, 0);
    let style = Style { variety: 0.0, ..Style::default() };
    let mut look = Look::new(&style, &bodies, None).unwrap();
    look.drawn = 100_000;
    let frame = size(64, 64);
    let camera = |target: DVec3, distance: f64| Camera { target, distance, ..Camera::default() };
    let light_at =
        |target, distance| total_light(&splat(&look, &camera(target, distance), &bodies, frame));
    for distance in [10.0, 100.0] {
        let pixel = distance / camera(DVec3::ZERO, distance).focal_px(frame);
        let lights: Vec<f64> = (0..10)
            .map(|i| DVec3::new(0.1, 0.063, 0.0) * pixel * f64::from(i))
            .map(|offset| light_at(offset, distance))
            .collect();
        let (least, most) = lights.iter().fold((f64::MAX, 0f64), |(a, b), &l| (a.min(l), b.max(l)));
        // The profile's Fourier transform at one cycle a pixel is 2^5 5! J5(4 pi) / (4 pi)^5 or up
        // to 0.25 % of its light; four such frequencies meet in a square grid, each with both
        // signs.
        assert!(most / least < 1.02, "at {distance}: {least} to {most}");
        let falls = light_at(DVec3::ZERO, distance) / light_at(DVec3::ZERO, 2.0 * distance);
        assert!((falls - 4.0).abs() < 0.09, "at {distance}: {falls}");
    }
}

#[test]
fn picture_is_independent_of_the_thread_count() {
    let (bodies, style) = (two_galaxies(30_000), Style::default());
    let paint = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| picture(&bodies, &style, size(320, 180)))
    };
    assert_eq!(paint(1), paint(3));
}

#[test]
fn moving_camera_does_not_flicker() {
    let (bodies, style) = (two_galaxies(3000), Style::default());
    let frame = size(320, 180);
    let camera = Camera::default().framing(&bodies, &style, 0.95, frame);
    let look = Look::new(&style, &bodies, None).unwrap();
    let mut painter = Painter::cpu(frame);
    let levels: Vec<f64> = (0..60)
        .map(|i| {
            let camera = camera.orbited(0.01 * f64::from(i));
            let image = painter.paint(&bodies, &camera, &look, f64::from(i) / 30.0).unwrap();
            let sum: u64 = image.rgba().iter().map(|&c| u64::from(c)).sum();
            sum as f64 / image.rgba().len() as f64 - 63.75
        })
        .collect();
    for pair in levels.windows(2) {
        assert!((pair[1] / pair[0] - 1.0).abs() < 0.02, "mean levels {pair:?}");
    }
}

#[test]
fn non_finite_bodies_do_not_break_the_picture() {
    let (mut bodies, style) = (two_galaxies(100), Style::default());
    let frame = size(64, 64);
    let camera = Camera::default().framing(&bodies, &style, 0.95, frame);
    let look = Look::new(&style, &bodies, None).unwrap();
    for (i, far) in [f64::NAN, f64::INFINITY, -1e300, 1e30].into_iter().enumerate() {
        bodies.position[i] = DVec3::splat(far);
        bodies.velocity[i] = DVec3::splat(far);
    }
    bodies.mass[5] = -1.0;
    for (colour_by, _) in ColourBy::ALL {
        let style = Style { colour_by, ..style.clone() };
        assert!(Look::new(&style, &bodies, None).is_ok());
        let image = Painter::cpu(frame).paint(&bodies, &camera, &look, 0.0).unwrap();
        assert!(lit_and_burnt(&image).0 > 0.01);
    }
    bodies.velocity.pop();
    let points = Points::Host { bodies: &bodies, acceleration: None };
    let error = Painter::cpu(frame).paint(points, &camera, &look, 0.0).unwrap_err().to_string();
    assert!(error.contains("99") && error.contains("100"), "{error}");
}
