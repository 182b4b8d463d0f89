//! Both methods of accumulating light on the device, compared with each other and with the CPU,
//! within the tolerances of `gpu.rs`.

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::render::adding::light_unit;
use gravitile::render::offscreen::{FORMAT, Offscreen};
use gravitile::render::splat::{Point, project};
use gravitile::render::{
    Adding, Camera, ColourBy, DevicePoints, Exposure, GpuCanvas, Handles, Image, Look, Painter,
    PictureSize, Points, Scale, Style,
};

use crate::render::gpu::{Device, compare_pictures, device, devices, difference, painter_on};
use crate::render::two_galaxies;

fn painter(device: &Device, size: PictureSize, adding: Adding) -> Painter {
    let mut painter = painter_on(device, size);
    painter.add_by(Some(adding));
    painter
}

/// Pictures at several zooms, up to a camera among the bodies: sprites of every size.
fn film(mut painter: Painter, bodies: &Bodies, style: &Style, zooms: &[f64]) -> Vec<Image> {
    let camera = Camera::default().framing(bodies, style, 0.95, painter.size());
    let acceleration = bodies.velocity.clone();
    let look = Look::new(style, bodies, Some(&acceleration)).unwrap();
    let mut secs = 0.0;
    let mut paint = |&zoom: &f64| {
        secs += 0.2;
        let points = Points::Host { bodies, acceleration: Some(&acceleration) };
        let image =
            painter.paint(points, &camera.orbited(0.3 * secs).zoomed(zoom), &look, secs).unwrap();
        // From this far away half floats overflow; the next picture must not depend on that.
        if zoom < 0.1 {
            painter.reset_exposure();
        }
        image
    };
    zooms.iter().map(&mut paint).collect()
}

#[test]
fn both_accumulation_methods_match_the_cpu() {
    let plain = Style::default();
    let fixed = Exposure::Fixed { white: 200.0, mid: 0.5 };
    for (n, width, height, style) in [
        (1, 64, 64, plain.clone()),
        (100, 641, 359, plain.clone()),
        (3000, 320, 180, Style { exposure: fixed, ..plain.clone() }),
        (3000, 180, 321, Style { colour_by: ColourBy::Speed, ..plain.clone() }),
        (3000, 320, 180, Style { colour_by: ColourBy::Acceleration, ..plain.clone() }),
        (3000, 320, 180, Style { colour_by: ColourBy::Age, bloom: 0.0, ..plain.clone() }),
        (3000, 320, 180, Style { show_halo: true, ..plain.clone() }),
        (1000, 320, 180, Style { trail_secs: 3.0, ..plain.clone() }),
        (100, 1, 1, Style { exposure: fixed, ..plain.clone() }),
        // So many that software accumulates in 32-bit floats, and that workgroups need several
        // rows.
        (120_000, 160, 90, plain),
    ] {
        let size = PictureSize::new(width, height).unwrap();
        let (bodies, zooms) = (two_galaxies(n), [1.0, 0.02, 1.5, 12.0]);
        let many = n > 100_000;
        let expected = film(Painter::cpu(size), &bodies, &style, &zooms);
        let (narrow, wide) = devices();
        for (which, device) in [Some(narrow), wide.as_ref()].into_iter().flatten().enumerate() {
            for adding in [Adding::Raster, Adding::Compute] {
                let halves = which == 0 || !many;
                let painted = film(painter(device, size, adding), &bodies, &style, &zooms);
                for (zoom, (cpu, gpu)) in zooms.iter().zip(expected.iter().zip(&painted)) {
                    // Blending very many sprites in half floats exceeds the tolerances.
                    if adding == Adding::Raster && halves && (many || *zoom < 0.1) {
                        continue;
                    }
                    compare_pictures(cpu, gpu).unwrap_or_else(|e| {
                        panic!(
                            "{n} bodies, {width}x{height}, {:?}, device {which}, {adding:?}, \
                             zoom {zoom}: {e}",
                            style.colour_by
                        )
                    });
                }
            }
        }
    }
}

#[test]
fn light_sums_are_independent_of_body_order() {
    let size = PictureSize::new(200, 120).unwrap();
    let (bodies, style) = (two_galaxies(3000), Style::default());
    let zooms = [1.0, 6.0, 1.0];
    let paint =
        |bodies: &Bodies| film(painter(device(), size, Adding::Compute), bodies, &style, &zooms);
    let first = paint(&bodies);
    assert!(first == paint(&bodies));
    // Reversed bodies change the order of each sum. A body's tag does not depend on its index.
    let camera = Camera::default().framing(&bodies, &style, 0.95, size).zoomed(6.0);
    let look = Look::new(&style, &bodies, None).unwrap();
    let mut reversed = bodies.clone();
    reversed.position.reverse();
    reversed.velocity.reverse();
    reversed.mass.reverse();
    reversed.id.reverse();
    reversed.component.reverse();
    let picture = |bodies: &Bodies| {
        let mut painter = painter(device(), size, Adding::Compute);
        let look = look.clone().with_ages(gravitile::render::ages(bodies, None));
        painter.paint(bodies, &camera, &look, 0.0).unwrap()
    };
    assert!(picture(&bodies) == picture(&reversed));
}

/// Buffers of bodies with the layout of an engine's.
fn upload((device, queue): &Device, bodies: &Bodies) -> [wgpu::Buffer; 2] {
    let rows = |of: &[DVec3], w: &dyn Fn(usize) -> f32| {
        let rows: Vec<_> = of.iter().enumerate().map(|(i, v)| v.as_vec3().extend(w(i))).collect();
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 16 * rows.len() as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&rows));
        buffer
    };
    [
        rows(&bodies.position, &|i| bodies.mass[i] as f32),
        rows(&bodies.velocity, &|i| bodies.tag(i) as f32),
    ]
}

#[test]
fn canvas_adapts_to_size_body_count_and_method() {
    let (device, queue) = device();
    let gpu = Handles { device, queue };
    let size = |width, height| PictureSize::new(width, height).unwrap();
    let mut canvas = GpuCanvas::new(gpu, size(64, 36), FORMAT).unwrap();
    for (n, size, requested, expected_method) in [
        (500, size(64, 36), Some(Adding::Compute), Adding::Compute),
        (500, size(201, 99), Some(Adding::Compute), Adding::Compute),
        (3000, size(201, 99), Some(Adding::Compute), Adding::Compute),
        (200, size(40, 80), Some(Adding::Compute), Adding::Compute),
        (200, size(40, 80), Some(Adding::Raster), Adding::Raster),
        (200, size(40, 80), Some(Adding::Compute), Adding::Compute),
        // Few bodies.
        (200, size(40, 80), None, Adding::Raster),
    ] {
        let bodies = two_galaxies(n);
        let style = Style { bloom: 0.0, ..Style::default() };
        let camera = Camera::default().framing(&bodies, &style, 0.95, size).zoomed(3.0);
        let look = Look::new(&style, &bodies, None).unwrap();
        let [pos_mass, velocity] = upload(&(device.clone(), queue.clone()), &bodies);
        let points = DevicePoints {
            pos_mass: &pos_mass,
            velocity: &velocity,
            acceleration: None,
            count: n as u32,
            scale: Scale::PLAIN,
        };
        canvas.add_by(requested);
        canvas.resize(gpu, size).unwrap();
        canvas.reset_exposure();
        let offscreen = Offscreen::new(gpu, size, FORMAT).unwrap();
        let mut encoder = device.create_command_encoder(&Default::default());
        canvas.paint(gpu, &mut encoder, offscreen.view(), points, (&camera, &look), 0.0).unwrap();
        let picture = pollster::block_on(offscreen.begin(gpu, encoder)).unwrap();
        let expected = Painter::cpu(size).paint(&bodies, &camera, &look, 0.0).unwrap();
        assert_eq!(canvas.adding(), expected_method);
        compare_pictures(&expected, &picture)
            .unwrap_or_else(|e| panic!("{n} bodies, {expected_method:?}: {e}"));
    }
}

#[test]
fn invisible_and_invalid_bodies_add_no_light() {
    let size = PictureSize::new(120, 80).unwrap();
    let exposure = Exposure::Fixed { white: 200.0, mid: 0.5 };
    let style = Style { exposure, sky: 0.0, dither: false, ..Style::default() };
    let bodies = two_galaxies(300);
    let camera = Camera::default().framing(&bodies, &style, 0.95, size);
    let look = Look::new(&style, &bodies, None).unwrap();
    let mut painter = painter(device(), size, Adding::Compute);
    let mut paint = |bodies: &Bodies| painter.paint(bodies, &camera, &look, 0.0).unwrap();
    let full = paint(&bodies);
    let mut without = bodies.clone();
    // Behind the camera.
    for i in [0, 7, 200] {
        without.position[i] = camera.axes_in_world()[2] * 1e3;
    }
    let expected = paint(&without);
    assert!(difference(&full, &expected).1 > 6);
    let mut invalid = without.clone();
    invalid.position[0] = DVec3::NAN;
    invalid.position[7].x = f64::NAN;
    invalid.position[200] = -camera.axes_in_world()[2] * f64::INFINITY;
    assert!(paint(&invalid) == expected);
    let none = paint(&Bodies { components: bodies.components.clone(), ..Bodies::default() });
    let sky = none.rgba()[..4].to_vec();
    assert!(none.rgba().chunks(4).all(|pixel| pixel == sky), "no bodies, no light");
    assert!(paint(&bodies) == full, "nothing is left of the pictures before");
}

#[test]
fn compute_accumulation_is_chosen_and_refused_by_limits() {
    let (device, queue) = device();
    let size = |width, height| PictureSize::new(width, height).unwrap();
    if device.adapter_info().device_type == wgpu::DeviceType::Cpu {
        assert_eq!(Adding::choose(device, 1_000_000, size(64, 36)), Adding::Raster);
    } else {
        assert_eq!(Adding::choose(device, 1_000_000, size(64, 36)), Adding::Compute);
    }
    assert_eq!(Adding::choose(device, 10, size(64, 36)), Adding::Raster);
    // The baseline limits buffers to 128 MiB, or 5.6 million pixels.
    let large = size(8192, 700);
    assert_eq!(Adding::choose(device, 1_000_000, large), Adding::Raster);
    assert!(Adding::Raster.check(device, 1_000_000, large).is_ok());
    let mut painter = painter(&(device.clone(), queue.clone()), large, Adding::Compute);
    let bodies = two_galaxies(10);
    let look = Look::new(&Style::default(), &bodies, None).unwrap();
    let error = painter.paint(&bodies, &Camera::default(), &look, 0.0).unwrap_err().to_string();
    assert!(error.contains("raster on this device"), "{error}");
    painter.add_by(None);
    assert!(painter.paint(&bodies, &Camera::default(), &look, 0.0).is_ok());
}

#[test]
fn light_units_cannot_overflow_the_sums() {
    let size = PictureSize::new(1280, 720).unwrap();
    let bodies = two_galaxies(20_000);
    for colour_by in [ColourBy::Component, ColourBy::Speed] {
        let style = Style { colour_by, variety: 1.0, ..Style::default() };
        let framing = Camera::default().framing(&bodies, &style, 0.95, size);
        let look = Look::new(&style, &bodies, None).unwrap();
        let mut small = look.clone();
        // A component with much smaller and brighter sprites than the others.
        small.uniform.components[1].radius_in_world *= 1e-3;
        small.uniform.components[1].white_peak *= 1e6;
        small.uniform.components[1].peak = small.uniform.components[1].peak.map(|c| 1e6 * c);
        for (look, zoom) in
            [(&look, 1.0), (&look, 0.01), (&look, 10.0), (&small, 1.0), (&small, 5.0)]
        {
            let camera = framing.zoomed(zoom);
            let (view, limits) = (camera.view(size).unwrap(), look.radius_limits_px(size));
            let unit = light_unit(&view, &look.uniform, limits);
            assert_eq!(unit.log2().fract(), 0.0, "{unit} is a power of two");
            // Bodies at their positions, and moved along the line of sight to the nearest visible
            // distance.
            let nearest = |i: usize| {
                let fraction = 0.02 * (1.0 + 5.0 * i as f64 / bodies.len() as f64);
                camera.eye_in_world() - camera.axes_in_world()[2] * camera.distance * fraction
            };
            let units = |position: DVec3, i: usize| {
                let point = Point {
                    position: position.as_vec3().to_array(),
                    mass: bodies.mass[i] as f32,
                    vector: bodies.velocity[i].as_vec3().to_array(),
                    tag: bodies.tag(i),
                    ..Point::default()
                };
                let sprite = project(&view, &look.uniform, limits, &point)?;
                let most = sprite.peak.into_iter().fold(sprite.star, f32::max);
                Some(f64::from(most / unit))
            };
            let all = |place: &dyn Fn(usize) -> DVec3| {
                let mut all: Vec<f64> =
                    (0..bodies.len()).filter_map(|i| units(place(i), i)).collect();
                all.sort_by(f64::total_cmp);
                all
            };
            let near = all(&nearest);
            let in_place = all(&|i| bodies.position[i]);
            let most = near.iter().chain(&in_place).copied().fold(0.0, f64::max);
            assert!(most <= 2f64.powi(36), "2^{}", most.log2());
            let typical = in_place[in_place.len() / 2];
            assert!(typical > 2f64.powi(16), "{colour_by:?}, {zoom}: 2^{}", typical.log2());
        }
    }
}
