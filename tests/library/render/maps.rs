//! Maps read back from their pictures: each pixel's colour, apart from its brightness, gives its
//! place along the palette.

use std::f64::consts::TAU;

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::film::{Cinema, Renderer, Shot, still};
use gravitile::render::palette::Palette;
use gravitile::render::writing::Caption;
use gravitile::render::{
    Camera, CameraMotion, ColourBy, Film, FilmOptions, Image, Look, Painter, PictureSize, Style,
};
use gravitile::sim::{EngineKind, Settings, Simulation};

use crate::render::gpu::{devices, difference, painter_on};
use crate::render::medium::random_numbers;
use crate::render::two_galaxies;

/// A disk with an exponential profile of scale length 1 in the xy plane, in which everything turns
/// with speed `speed`; every other body is three times as heavy.
fn disk(n: usize, speed: f64) -> Bodies {
    let mut bodies = Bodies::with_capacity(n);
    bodies.components = vec![Component::new("disk", Role::Disk)];
    for i in 0..n {
        // Even in mass: the cumulative profile 1 - (1 + r) exp(-r) is inverted by bisection.
        let part = (i as f64 + 0.5) / n as f64;
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..60 {
            let r: f64 = 0.5 * (low + high);
            if 1.0 - (1.0 + r) * libm::exp(-r) < part { low = r } else { high = r }
        }
        // Golden angles, which leave no arms.
        let (sin, cos) = libm::sincos(TAU * (0.618_033_988_749_895 * i as f64).fract());
        let mass = if i % 2 == 0 { 1.0 } else { 3.0 };
        let velocity = DVec3::new(-sin, cos, 0.0) * speed;
        bodies.push(mass, DVec3::new(cos, sin, 0.0) * low, velocity, 0);
    }
    bodies
}

/// Places along the palette of all pixels, `None` where nothing is drawn.
fn places(
    painter: &mut Painter,
    bodies: &Bodies,
    style: &Style,
    camera: &Camera,
) -> Vec<Option<f64>> {
    let look = Look::new(style, bodies, None).unwrap();
    places_in(&painter.paint(bodies, camera, &look, 0.0).unwrap(), style)
}

fn places_in(image: &Image, style: &Style) -> Vec<Option<f64>> {
    let mut bytes = Vec::new();
    image.write_png(&mut bytes).unwrap();
    places_of(&bytes, image.size(), style)
}

fn places_of(png: &[u8], size: PictureSize, style: &Style) -> Vec<Option<f64>> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut data).unwrap();
    let words: Vec<f64> = data
        .chunks_exact(2)
        .map(|c| f64::from(u16::from_be_bytes([c[0], c[1]])) / 65535.0)
        .collect();
    let linear =
        |x: f64| if x <= 0.04045 { x / 12.92 } else { libm::pow((x + 0.055) / 1.055, 2.4) };
    let hue = |rgb: [f64; 3]| rgb.map(|c| c / (rgb[0] + rgb[1] + rgb[2]));
    const STEPS: usize = 1000;
    // As the passes interpolate their table.
    let table = style.palette.table();
    let hues: Vec<[f64; 3]> = (0..=STEPS)
        .map(|k| {
            let along = k as f64 / STEPS as f64 * (table.len() - 1) as f64;
            let first = (along as usize).min(table.len() - 2);
            let at = |c: usize| {
                let [from, to] = [table[first][c], table[first + 1][c]].map(f64::from);
                from + (to - from) * (along - first as f64)
            };
            hue([at(0), at(1), at(2)])
        })
        .collect();
    let place = |pixel: &[f64]| {
        let rgb = [linear(pixel[0]), linear(pixel[1]), linear(pixel[2])];
        let seen = hue(rgb);
        let apart = |k: &usize| -> f64 { (0..3).map(|c| (hues[*k][c] - seen[c]).powi(2)).sum() };
        let nearest = (0..=STEPS).min_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap();
        (rgb[0] + rgb[1] + rgb[2] > 2e-3).then_some(nearest as f64 / STEPS as f64)
    };
    words.chunks_exact(words.len() / size.pixels()).map(place).collect()
}

/// On the CPU, on a device that blends only half floats, and on one that blends 32-bit floats if
/// there is one.
fn painters(size: PictureSize) -> [Painter; 3] {
    let (narrow, wide) = devices();
    let wide = wide.as_ref().unwrap_or(narrow);
    [Painter::cpu(size), painter_on(narrow, size), painter_on(wide, size)]
}

/// The camera and a style for maps that can be read back: 16 bits, over black.
fn view(colour_by: ColourBy, range: [f64; 2]) -> (Camera, Style) {
    let camera = Camera {
        distance: 40.0,
        fov_rad: 0.2,
        azimuth_rad: -0.5 * std::f64::consts::PI,
        elevation_rad: 30f64.to_radians(),
        ..Camera::default()
    };
    let style = Style {
        colour_by,
        value_range: Some(range),
        palette: Palette::from_name("viridis").unwrap(),
        deep: true,
        background: [0.0; 3],
        ..Style::default()
    };
    (camera, style)
}

#[test]
fn mass_in_a_surface_density_map_is_the_mass_in_sight() {
    let size = PictureSize::new(240, 180).unwrap();
    let bodies = disk(40_000, 0.0);
    let (camera, style) = view(ColourBy::SurfaceDensity, [1.0, 1e6]);
    let camera = Camera { distance: 25.0, ..camera };
    let (sin, cos) = libm::sincos(camera.elevation_rad);
    let eye = DVec3::new(0.0, -cos, sin) * camera.distance;
    let focal_px = camera.focal_px(size);
    // Mass per solid angle is surface density at any distance: (target / depth)^2 of the mass
    // counts.
    let mut expected = 0.0;
    for (x, mass) in bodies.position.iter().zip(&bodies.mass) {
        let away = *x - eye;
        let depth = away.dot(-eye / camera.distance);
        let up = away.dot(DVec3::new(0.0, sin, cos));
        let [right_px, up_px] = [away.x, up].map(|side| side * focal_px / depth);
        if right_px.abs() < 120.0 && up_px.abs() < 90.0 {
            expected += mass * (camera.distance / depth).powi(2);
        }
    }
    assert!(expected < 0.97 * bodies.total_mass(), "some of it should be out of the picture");
    let area = (camera.distance / focal_px).powi(2);
    for mut painter in painters(size) {
        let found: f64 = places(&mut painter, &bodies, &style, &camera)
            .into_iter()
            .flatten()
            .map(|place| libm::pow(10.0, 6.0 * place) * area)
            .sum();
        // Some crosses the border.
        assert!((found / expected - 1.0).abs() < 0.02, "{found} of {expected}");
    }
}

/// Bodies with the cumulative mass profile `part_within` in radius up to `most`, in the xy plane or
/// evenly in all directions.
fn spread(n: usize, most: f64, is_flat: bool, part_within: impl Fn(f64) -> f64) -> Bodies {
    let mut bodies = Bodies::with_capacity(n);
    bodies.components = vec![Component::new("stars", Role::Disk)];
    let mut chance = random_numbers();
    for _ in 0..n {
        let (part, turn, height) = (chance(), TAU * chance(), 2.0 * chance() - 1.0);
        let (mut low, mut high) = (0.0, most);
        for _ in 0..60 {
            let r: f64 = 0.5 * (low + high);
            if part_within(r) < part * part_within(most) { low = r } else { high = r }
        }
        let z = if is_flat { 0.0 } else { height };
        let across = (1.0 - z * z).sqrt();
        let (sin, cos) = libm::sincos(turn);
        let place = DVec3::new(across * cos, across * sin, z) * low;
        bodies.push(1.0, place, DVec3::ZERO, 0);
    }
    bodies
}

/// The mean surface density between radii around the middle of a map seen along the z axis, and the
/// least and largest in it.
fn ring(
    map: &[Option<f64>],
    (width, length_per_px): (usize, f64),
    [from, to]: [f64; 2],
) -> [f64; 3] {
    let height = map.len() / width;
    let (mut sum, mut count, mut least, mut most) = (0.0, 0, f64::INFINITY, 0f64);
    for (at, place) in map.iter().enumerate() {
        let x = (at % width) as f64 + 0.5 - 0.5 * width as f64;
        let y = (at / width) as f64 + 0.5 - 0.5 * height as f64;
        let density = place.map_or(0.0, |place| libm::pow(10.0, 6.0 * place));
        if (from..to).contains(&(x.hypot(y) * length_per_px)) {
            (sum, count) = (sum + density, count + 1);
            (least, most) = (least.min(density), most.max(density));
        }
    }
    [sum / f64::from(count), least, most]
}

#[test]
fn map_of_an_even_disk_ends_within_one_and_a_half_kernels_of_its_edge() {
    let (size, n) = (PictureSize::new(320, 240).unwrap(), 20_000);
    // 64 bodies a unit of area, in a disk of radius 10.
    let bodies = spread(n, 10.0, true, |r| r * r);
    let (camera, style) = view(ColourBy::SurfaceDensity, [1e-2, 1e4]);
    let camera = Camera { elevation_rad: 0.5 * std::f64::consts::PI, distance: 150.0, ..camera };
    let scale = (320, camera.distance / camera.focal_px(size));
    let even = n as f64 / (100.0 * std::f64::consts::PI);
    // The radius of 128 bodies; cubes at the edge, of which a part is empty, make it larger.
    let kernel = 1.5 * (128.0 / even / std::f64::consts::PI).sqrt();
    for mut painter in painters(size) {
        let map = places(&mut painter, &bodies, &style, &camera);
        let parts = [[0.0, 10.0 - kernel], [10.0 - kernel, 10.0], [10.0 + kernel, 15.0]]
            .map(|ends| ring(&map, scale, ends).map(|density| 1e-2 * density / even));
        println!("within, in the edge, outside: mean, least, most {parts:.4?}");
        let [within, edge, outside] = parts;
        assert!((within[0] - 1.0).abs() < 0.02 && within[1] > 0.4 && within[2] < 2.0);
        assert!((0.7..1.0).contains(&edge[0]));
        assert!(outside[2] < 0.01);
    }
}

#[test]
fn map_of_a_plummer_sphere_has_its_profile() {
    let (size, n) = (PictureSize::new(320, 240).unwrap(), 40_000);
    let bodies = spread(n, 30.0, false, |r| libm::pow(1.0 + 1.0 / (r * r).max(1e-12), -1.5));
    let (camera, style) = view(ColourBy::SurfaceDensity, [1e-1, 1e5]);
    let camera = Camera { elevation_rad: 0.5 * std::f64::consts::PI, distance: 60.0, ..camera };
    let scale = (320, camera.distance / camera.focal_px(size));
    let errors = painters(size).map(|mut painter| {
        let map = places(&mut painter, &bodies, &style, &camera);
        [[0.0, 0.3], [0.3, 0.6], [0.6, 1.0], [1.0, 1.5], [1.5, 2.2], [2.2, 3.2], [3.2, 4.5]].map(
            |[from, to]| {
                let [mean, ..] = ring(&map, scale, [from, to]);
                // Of the mass, R^2 / (1 + R^2) is within R.
                let within = |r: f64| r * r / (1.0 + r * r);
                let area = std::f64::consts::PI * (to * to - from * from);
                0.1 * mean / (n as f64 * (within(to) - within(from)) / area) - 1.0
            },
        )
    });
    println!("errors of the profile: {errors:.4?}");
    // In the core kernels have a fifth of its radius; outside there are few bodies.
    assert!(errors.as_flattened().iter().all(|error| error.abs() < 0.04), "{errors:?}");
}

/// Bodies on a device carry G m as mass.
#[test]
fn maps_of_bodies_on_a_device_do_not_depend_on_the_gravitational_constant() {
    let size = PictureSize::new(240, 180).unwrap();
    let bodies = disk(20_000, 0.0);
    let picture = |gravitational_constant: f64, style: &Style, start: &Camera| {
        let settings = Settings {
            engine: EngineKind::Gpu,
            gravitational_constant,
            softening: 0.1,
            dt: 1e-6,
            ..Settings::default()
        };
        let mut sim = Simulation::new(bodies.clone(), settings).unwrap();
        let mut cinema = Cinema::new(&mut sim, style, size, Renderer::Gpu).unwrap();
        let motion = CameraMotion { start: *start, ..CameraMotion::default() };
        cinema.picture(&mut sim, &motion, 0.0).unwrap()
    };
    let (camera, style) = view(ColourBy::SurfaceDensity, [1.0, 1e6]);
    let area = (camera.distance / camera.focal_px(size)).powi(2);
    for g in [1.0, 43007.1, 0.0043] {
        let found: f64 = places_in(&picture(g, &style, &camera), &style)
            .into_iter()
            .flatten()
            .map(|place| libm::pow(10.0, 6.0 * place) * area)
            .sum();
        let expected = bodies.total_mass();
        assert!((found / expected - 1.0).abs() < 0.01, "G = {g}: {found} of {expected}");
    }
    let folder = tempfile::tempdir().unwrap();
    // A film of one picture, without a simulation, of the same bodies.
    let alone = |gravitational_constant: f64| {
        let out = folder.path().join(format!("{gravitational_constant}.png"));
        let settings = Settings {
            engine: EngineKind::Gpu,
            gravitational_constant,
            softening: 0.1,
            ..Settings::default()
        };
        let shot = Shot {
            frames: 1,
            frames_per_sec: 30,
            steps_before: 0,
            steps_per_frame: 1,
            size,
            motion: CameraMotion { start: camera, ..CameraMotion::default() },
            style: style.clone(),
            renderer: Renderer::Gpu,
            caption: Caption::default(),
            paths_fade_in: 0.0,
        };
        let film = Film::open(&out, FilmOptions { size, frames_per_sec: 30 }).unwrap();
        still(&bodies, &settings, &shot, film).unwrap();
        std::fs::read(out).unwrap()
    };
    for g in [1.0, 43007.1, 0.0043] {
        let found: f64 = places_of(&alone(g), size, &style)
            .into_iter()
            .flatten()
            .map(|place| libm::pow(10.0, 6.0 * place) * area)
            .sum();
        let expected = bodies.total_mass();
        assert!((found / expected - 1.0).abs() < 0.01, "still, G = {g}: {found} of {expected}");
    }
    for colour_by in [ColourBy::Component, ColourBy::Density] {
        let style = Style { colour_by, ..Style::default() };
        let [one, other] = [1.0, 43007.1].map(|g| picture(g, &style, &camera));
        let (mean, _) = difference(&one, &other);
        assert!(mean < 0.1, "{colour_by:?}: {mean}");
    }
}

#[test]
fn velocity_map_is_that_of_a_rotating_disk() {
    let size = PictureSize::new(240, 180).unwrap();
    let (bodies, speed) = (disk(40_000, 200.0), 200.0);
    let (camera, style) = view(ColourBy::Velocity, [-250.0, 250.0]);
    let scale = camera.distance / camera.focal_px(size);
    for mut painter in painters(size) {
        let (mut sum, mut count, mut most) = (0.0, 0, 0f64);
        let found = places(&mut painter, &bodies, &style, &camera);
        for (at, place) in found.into_iter().enumerate() {
            let (column, row) = ((at % 240) as f64 + 0.5, (at / 240) as f64 + 0.5);
            // The disk is seen 60 degrees from its axis, with the y axis pointing away.
            let (x, y) =
                ((column - 120.0) * scale, (90.0 - row) * scale / 30f64.to_radians().sin());
            let r = x.hypot(y);
            let Some(place) = place.filter(|_| (0.8..2.5).contains(&r)) else { continue };
            let expected = speed * 30f64.to_radians().cos() * x / r;
            let error = (-250.0 + 500.0 * place - expected).abs();
            (sum, count, most) = (sum + error, count + 1, most.max(error));
        }
        assert!(count > 4000, "{count} pixels");
        // Neighbours within the kernel have other directions, most near the minor axis; the
        // perspective moves the disk by up to 5 % of its radius.
        assert!(
            sum / f64::from(count) < 5.0 && most < 40.0,
            "mean {}, most {most}",
            sum / f64::from(count)
        );
    }
}

#[test]
fn device_and_cpu_maps_agree() {
    let bodies = two_galaxies(5000);
    for (colour_by, width, height, bloom) in [
        (ColourBy::SurfaceDensity, 320, 180, 1.0),
        (ColourBy::SurfaceBrightness, 321, 181, 0.5),
        (ColourBy::Velocity, 180, 320, 1.0),
        (ColourBy::SurfaceDensity, 90, 70, 0.0),
        (ColourBy::Velocity, 1280, 900, 1.0),
    ] {
        let size = PictureSize::new(width, height).unwrap();
        let style = Style { colour_by, bloom, ..Style::default() };
        let camera = Camera::default().framing(&bodies, &style, 0.95, size);
        let look = Look::new(&style, &bodies, None).unwrap();
        let [cpu, _, gpu] =
            painters(size).map(|mut p| p.paint(&bodies, &camera, &look, 0.0).unwrap());
        let (mean, _) = difference(&cpu, &gpu);
        let steps = cpu.rgba().iter().zip(gpu.rgba()).map(|(a, b)| a.abs_diff(*b));
        let off = steps.filter(|step| *step > 8).count() as f64 / cpu.rgba().len() as f64;
        // Where a map is flat, the last bits of half floats move its lines by pixels.
        assert!(mean < 1.3 && off < 0.03, "{colour_by:?}: mean {mean}, {off} of the channels");
        // Control: another map differs.
        let other = Style { colour_by: ColourBy::Speed, ..style };
        let look = Look::new(&other, &bodies, None).unwrap();
        let other = Painter::cpu(size).paint(&bodies, &camera, &look, 0.0).unwrap();
        assert!(difference(&cpu, &other).0 > 2.0);
    }
}
