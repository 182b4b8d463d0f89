//! The device's pictures compared with the CPU's. Both use the same formulas; differences come from
//! half floats in the HDR picture (11 bits: 1 part in 2048 a step, adding up over overlapping
//! sprites), the hardware's filtering weights (8 bits) and roots and logarithms of a few ulp. After
//! the tone curve and 8-bit rounding that moves a channel by at most a few steps of 255.

use std::sync::OnceLock;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::gpu::Timeline;
use gravitile::render::{
    Camera, ColourBy, DevicePoints, Exposure, GpuCanvas, Handles, Image, Look, PARTS, Painter,
    PictureSize, Points, Scale, Style,
};

use crate::render::two_galaxies;

pub type Device = (wgpu::Device, wgpu::Queue);

/// Two devices shared by all tests, as drivers do not cope with many: one with WebGPU's baseline,
/// which accumulates light in half floats, and one that blends 32-bit floats, if the adapter can.
pub fn devices() -> &'static (Device, Option<Device>) {
    static DEVICES: OnceLock<(Device, Option<Device>)> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter = pollster::block_on(instance.request_adapter(&Default::default()))
            .expect("render tests need an adapter; Debian: apt install mesa-vulkan-drivers");
        let open = |required_features| {
            let wanted = wgpu::DeviceDescriptor { required_features, ..Default::default() };
            pollster::block_on(adapter.request_device(&wanted)).expect("a device")
        };
        let float = wgpu::Features::FLOAT32_BLENDABLE;
        let stamps = adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
        let driver = adapter.get_info().driver;
        if !adapter.features().contains(float) {
            crate::common::skip::lacking(&driver, "blending of 32-bit floats");
        }
        if stamps.is_empty() {
            crate::common::skip::lacking(&driver, "timestamps");
        }
        let float = adapter.features().contains(float).then(|| open(float | stamps));
        (open(wgpu::Features::empty()), float)
    })
}

/// The device with WebGPU's baseline.
pub fn device() -> &'static Device {
    &devices().0
}

pub fn painter_on((device, queue): &Device, size: PictureSize) -> Painter {
    Painter::gpu(device, queue, size).unwrap()
}

pub fn gpu_painter(size: PictureSize) -> Painter {
    painter_on(device(), size)
}

/// Mean and largest difference of two pictures' channels, in steps of 255.
pub fn difference(a: &Image, b: &Image) -> (f64, u8) {
    assert_eq!(a.size(), b.size());
    let steps = a.rgba().iter().zip(b.rgba()).map(|(a, b)| a.abs_diff(*b));
    let sum: u64 = steps.clone().map(u64::from).sum();
    (sum as f64 / a.rgba().len() as f64, steps.max().unwrap_or(0))
}

/// Checks equality up to rounding. Observed on lavapipe: mean up to 1.14 and largest 8 in half
/// floats, where sums of many faint streaks lose digits; mean up to 0.6 otherwise.
pub fn compare_pictures(a: &Image, b: &Image) -> Result<(), String> {
    let (mean, largest) = difference(a, b);
    if mean < 1.3 && largest <= 8 {
        return Ok(());
    }
    Err(format!("mean difference {mean:.3}, largest {largest}"))
}

/// Films by the CPU, by the baseline device and, if available, with 32-bit floats.
fn paint_all(bodies: &Bodies, style: &Style, size: PictureSize, frames: usize) -> Vec<Vec<Image>> {
    let camera = Camera::default().framing(bodies, style, 0.95, size);
    let acceleration = bodies.velocity.clone();
    let look = Look::new(style, bodies, Some(&acceleration)).unwrap();
    let mut painters = vec![Painter::cpu(size), gpu_painter(size)];
    painters.extend(devices().1.as_ref().map(|device| painter_on(device, size)));
    let film = |mut painter: Painter| {
        (0..frames)
            .map(|frame| {
                let camera = camera.orbited(0.1 * frame as f64).zoomed(1.0 + 0.5 * frame as f64);
                let points = Points::Host { bodies, acceleration: Some(&acceleration) };
                painter.paint(points, &camera, &look, 0.2 * frame as f64).unwrap()
            })
            .collect()
    };
    painters.into_iter().map(film).collect()
}

#[test]
fn device_and_cpu_pictures_agree() {
    let plain = Style::default();
    let fixed = Exposure::Fixed { white: 200.0, mid: 0.5 };
    for (n, width, height, style) in [
        (1, 64, 64, plain.clone()),
        (2, 33, 70, plain.clone()),
        (100, 641, 359, plain.clone()),
        // Without glow single sprites determine the meter's percentiles, and rounding can move them
        // by a bin.
        (5000, 320, 180, Style { bloom: 0.0, exposure: fixed, ..plain.clone() }),
        (5000, 180, 320, Style { colour_by: ColourBy::Speed, ..plain.clone() }),
        (5000, 321, 181, Style { colour_by: ColourBy::Acceleration, ..plain.clone() }),
        (5000, 320, 180, Style { show_halo: true, stops: 1.0, exposure: fixed, ..plain.clone() }),
        (40_000, 320, 180, Style { dither: true, ..plain.clone() }),
        (100, 17, 300, plain.clone()),
        // With so few pixels rounding can move the meter's percentile by a bin: the exposure is
        // fixed.
        (100, 7, 300, Style { exposure: fixed, ..plain.clone() }),
        (100, 1, 1, Style { exposure: fixed, ..plain.clone() }),
        (3000, 3000, 40, plain.clone()),
        (5000, 320, 180, Style { colour_by: ColourBy::Age, ..plain.clone() }),
        (1000, 320, 180, Style { trail_secs: 3.0, ..plain.clone() }),
        // So many that software also accumulates in 32-bit floats.
        (120_000, 160, 90, Style { trail_secs: 3.0, ..plain }),
    ] {
        let size = PictureSize::new(width, height).unwrap();
        let films = paint_all(&two_galaxies(n), &style, size, 3);
        for (which, film) in films[1..].iter().enumerate() {
            // The next test covers the loss of half floats in such a dense picture.
            if which == 0 && n > 20_000 {
                continue;
            }
            for (frame, (cpu, gpu)) in films[0].iter().zip(film).enumerate() {
                compare_pictures(cpu, gpu).unwrap_or_else(|e| {
                    panic!("{n} bodies, {width}x{height}, device {which}, frame {frame}: {e}")
                });
            }
        }
    }
}

#[test]
fn float_blending_is_accurate_for_a_million_bodies() {
    let Some(float) = &devices().1 else { return };
    let size = PictureSize::new(160, 90).unwrap();
    // The exposure is fixed, so that only the sums differ; bright cores are far below white.
    let exposure = Exposure::Fixed { white: 2000.0, mid: 5.0 };
    let (bodies, style) = (two_galaxies(1_000_000), Style { exposure, ..Style::default() });
    let camera = Camera::default().framing(&bodies, &style, 0.95, size);
    let look = Look::new(&style, &bodies, None).unwrap();
    let paint = |mut painter: Painter| painter.paint(&bodies, &camera, &look, 0.0).unwrap();
    let cpu = paint(Painter::cpu(size));
    let (_, with_floats) = difference(&cpu, &paint(painter_on(float, size)));
    let (_, with_halves) = difference(&cpu, &paint(gpu_painter(size)));
    assert!(with_floats <= 2, "32-bit floats: {with_floats}");
    assert!(with_halves > with_floats, "nothing to be won here: {with_halves}");
}

#[test]
fn trails_fade_and_bodies_at_rest_have_none() {
    let size = PictureSize::new(320, 180).unwrap();
    let exposure = Exposure::Fixed { white: 200.0, mid: 0.5 };
    let style = Style { exposure, trail_secs: 1.0, bloom: 0.0, ..Style::default() };
    let bodies = two_galaxies(200);
    let camera = Camera::default().framing(&bodies, &style, 0.95, size);
    let look = Look::new(&style, &bodies, None).unwrap();
    let without = Look::new(&Style { trail_secs: 0.0, ..style }, &bodies, None).unwrap();
    let mut moved = bodies.clone();
    moved.shift(DVec3::new(0.0, 0.0, 0.5), DVec3::ZERO);
    for mut painter in [gpu_painter(size), Painter::cpu(size)] {
        let plain = painter.paint(&bodies, &camera, &without, 0.0).unwrap();
        let plain_moved = painter.paint(&moved, &camera, &without, 0.0).unwrap();
        for secs in [1.0, 1.5, 2.5] {
            let trail = painter.paint(&bodies, &camera, &look, secs).unwrap();
            compare_pictures(&plain, &trail).unwrap_or_else(|e| panic!("at rest, {secs} s: {e}"));
        }
        // The old position is still visible; after ten trail lengths it is gone.
        let behind = painter.paint(&moved, &camera, &look, 2.6).unwrap();
        let far = difference(&plain_moved, &behind);
        assert!(far.1 > 40, "{far:?}");
        let later = painter.paint(&moved, &camera, &look, 12.6).unwrap();
        compare_pictures(&plain_moved, &later).unwrap_or_else(|e| panic!("faded: {e}"));
        // A turned camera leaves no smear.
        let turned = painter.paint(&moved, &camera.orbited(1.0), &look, 12.7).unwrap();
        let plain_turned = painter.paint(&moved, &camera.orbited(1.0), &without, 0.0).unwrap();
        compare_pictures(&plain_turned, &turned).unwrap_or_else(|e| panic!("turned: {e}"));
    }
}

#[test]
fn ages_come_from_the_look_and_must_be_complete() {
    let size = PictureSize::new(64, 36).unwrap();
    let style = Style { colour_by: ColourBy::Age, ..Style::default() };
    let bodies = two_galaxies(300);
    let camera = Camera::default().framing(&bodies, &style, 0.95, size);
    let look = Look::new(&style, &bodies, None).unwrap();
    let formed: Vec<f64> = (0..300).map(|i| f64::from(i % 10)).collect();
    let formed = look.clone().with_ages(gravitile::render::ages(&bodies, Some(&formed)));
    let none = Look { ages: None, ..look.clone() };
    let short = look.clone().with_ages([0.0; 3].into());
    for mut painter in [gpu_painter(size), Painter::cpu(size)] {
        let mut paint = |look: &Look| painter.paint(&bodies, &camera, look, 0.0);
        assert!(paint(&look).unwrap() != paint(&formed).unwrap());
        assert!(paint(&none).unwrap_err().to_string().contains("age"));
        assert!(paint(&short).unwrap_err().to_string().contains('3'));
    }
}

#[test]
fn picture_comparison_detects_differences() {
    let size = PictureSize::new(320, 180).unwrap();
    // With automatic exposure every change would affect all pixels.
    let exposure = Exposure::Fixed { white: 200.0, mid: 0.5 };
    let style = Style { exposure, ..Style::default() };
    let bodies = two_galaxies(500);
    let camera = Camera::default().framing(&bodies, &style, 0.95, size);
    let look = Look::new(&style, &bodies, None).unwrap();
    let right = Painter::cpu(size).paint(&bodies, &camera, &look, 0.0).unwrap();
    let wrong = |bodies: &Bodies, camera: &Camera, look: &Look, what: &str| {
        let picture = gpu_painter(size).paint(bodies, camera, look, 0.0).unwrap();
        assert!(compare_pictures(&right, &picture).is_err(), "{what} went unnoticed");
    };
    assert!(
        compare_pictures(&right, &gpu_painter(size).paint(&bodies, &camera, &look, 0.0).unwrap())
            .is_ok()
    );
    let mut shifted = camera;
    shifted.target += 2.0 / camera.focal_px(size) * camera.distance * camera.axes_in_world()[0];
    wrong(&bodies, &shifted, &look, "a shift by two pixels");
    let mut fewer = bodies.clone();
    fewer.position[7].x = f64::NAN;
    wrong(&fewer, &camera, &look, "a missing sprite");
    let brighter = Style { stops: 0.3, ..style.clone() };
    let brighter = Look::new(&brighter, &bodies, None).unwrap();
    wrong(&bodies, &camera, &brighter, "a brighter exposure");
}

#[test]
fn engine_buffers_are_painted_directly() {
    let (device, queue) = device();
    let size = PictureSize::new(200, 100).unwrap();
    let (bodies, style) = (two_galaxies(1000), Style::default());
    let buffer = |bytes: &[u8]| {
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes.len() as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        queue.write_buffer(&buffer, 0, bytes);
        buffer
    };
    let rows = |w: &dyn Fn(usize) -> f32, of: &[glam::DVec3]| {
        let rows: Vec<_> = of.iter().enumerate().map(|(i, v)| v.as_vec3().extend(w(i))).collect();
        buffer(bytemuck::cast_slice(&rows))
    };
    let pos_mass = rows(&|i| bodies.mass[i] as f32, &bodies.position);
    let velocity = rows(&|i| bodies.tag(i) as f32, &bodies.velocity);
    let mut points = DevicePoints {
        pos_mass: &pos_mass,
        velocity: &velocity,
        acceleration: None,
        count: 1000,
        scale: Scale::PLAIN,
    };
    let camera = Camera::default().framing(&bodies, &style, 0.95, size);
    let look = Look::new(&style, &bodies, None).unwrap();
    let from_host = gpu_painter(size).paint(&bodies, &camera, &look, 0.0).unwrap();
    let mut painter = gpu_painter(size);
    for time in [0.0, 0.1] {
        let from_device = painter.paint(Points::Device(points), &camera, &look, time).unwrap();
        compare_pictures(&from_host, &from_device).unwrap_or_else(|e| panic!("at {time} s: {e}"));
    }

    // Invalid points are refused with the reason.
    let refusal = |painter: &mut Painter, points, look: &Look| {
        painter.paint(Points::Device(points), &camera, look, 0.2).unwrap_err().to_string()
    };
    assert!(refusal(&mut Painter::cpu(size), points, &look).contains("the host"));
    points.count = 1001;
    assert!(refusal(&mut painter, points, &look).contains("1001 bodies"));
    points.count = 1000;
    let by_acceleration = Style { colour_by: ColourBy::Acceleration, ..style };
    let look = Look::new(&by_acceleration, &bodies, None).unwrap();
    assert!(refusal(&mut painter, points, &look).contains("acceleration"));
    let error = painter.paint(&bodies, &camera, &look, 0.3).unwrap_err().to_string();
    assert!(error.contains("acceleration"), "{error}");
}

/// The picture is invariant if bodies and camera are shifted together by up to 1e8 radii, set in
/// motion, or converted to other units; colours by speed are relative to the mean motion.
#[test]
fn picture_is_invariant_under_shift_motion_and_units() {
    let size = PictureSize::new(320, 180).unwrap();
    let original = two_galaxies(1000);
    for colour_by in [ColourBy::Component, ColourBy::Speed, ColourBy::Acceleration] {
        let style = Style { colour_by, ..Style::default() };
        let camera = Camera::default().framing(&original, &style, 0.95, size);
        let paint = |painter: &mut Painter, bodies: &Bodies, camera: &Camera| {
            let look = Look::new(&style, bodies, Some(&bodies.velocity)).unwrap();
            let points = Points::Host { bodies, acceleration: Some(&bodies.velocity) };
            painter.paint(points, camera, &look, 0.0).unwrap()
        };
        let painters = || [Painter::cpu(size), gpu_painter(size)];
        let right = painters().map(|mut painter| paint(&mut painter, &original, &camera));
        for (shift, drift, length) in
            [(1e8, 0.0, 1.0), (0.0, 0.0, 3e21), (1e6, 0.0, 3e-21), (1e5, 1e7, 3e19)]
        {
            // Velocities stand in for accelerations here: a drift would change those.
            let drift = if colour_by == ColourBy::Speed { drift } else { 0.0 };
            let mut moved = original.clone();
            moved.shift(DVec3::new(1.0, -0.5, 0.3) * shift, DVec3::new(-0.3, 1.0, 0.1) * drift);
            moved.position.iter_mut().for_each(|x| *x *= length);
            moved.velocity.iter_mut().for_each(|v| *v *= length);
            moved.mass.iter_mut().for_each(|m| *m *= length);
            let target = (camera.target + DVec3::new(1.0, -0.5, 0.3) * shift) * length;
            let moved_camera = Camera { target, distance: camera.distance * length, ..camera };
            for (mut painter, right) in painters().into_iter().zip(&right) {
                let found = paint(&mut painter, &moved, &moved_camera);
                let what = format!("{colour_by:?}, {shift:e} {drift:e} {length:e}");
                compare_pictures(right, &found).unwrap_or_else(|e| panic!("{what}: {e}"));
            }
        }
    }
}

#[test]
fn timestamps_of_render_passes_are_plausible() {
    let (device, queue) = device();
    assert!(!Timeline::new(device, queue).is_supported(), "the baseline has no timestamps");
    let Some((device, queue)) = &devices().1 else { return };
    let gpu = Handles { device, queue };
    let mut times = Timeline::new(device, queue);
    if !device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
        return;
    }
    assert!(times.is_supported());
    let size = PictureSize::new(640, 360).unwrap();
    let mut canvas = GpuCanvas::new(gpu, size, wgpu::TextureFormat::Bgra8Unorm).unwrap();
    let target = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: 640, height: 360, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Bgra8Unorm,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
        view_formats: &[],
    });
    let view = target.create_view(&Default::default());
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 16 * 1000,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    let points = DevicePoints {
        pos_mass: &buffer,
        velocity: &buffer,
        acceleration: None,
        count: 1000,
        scale: Scale::PLAIN,
    };
    let camera = Camera::default();
    for trail_secs in [0.0, 1.0] {
        let style = Style { trail_secs, ..Style::default() };
        let look = Look::new(&style, &two_galaxies(1000), None).unwrap();
        let mut received = 0;
        for picture in 0..8_u64 {
            let start = std::time::Instant::now();
            let mut encoder = device.create_command_encoder(&Default::default());
            let (what, secs) = ((&camera, &look), picture as f64);
            times.begin(&mut encoder, picture);
            canvas
                .paint_in_parts(
                    gpu,
                    &mut encoder,
                    &view,
                    points,
                    what,
                    secs,
                    &mut |encoder, part| {
                        times.end_part(encoder, part);
                    },
                )
                .unwrap();
            times.end(device, &mut encoder);
            // A dropped encoder must not occupy a slot for ever.
            if picture % 2 == 1 {
                continue;
            }
            let done = queue.submit([encoder.finish()]);
            times.submitted();
            device
                .poll(wgpu::PollType::Wait { submission_index: Some(done), timeout: None })
                .unwrap();
            let Some(parts) = times.take() else { continue };
            received += 1;
            assert!(PARTS.iter().all(|part| parts.secs(part).unwrap() > 0.0), "{parts:?}");
            assert!(parts.total_secs() < start.elapsed().as_secs_f64(), "{parts:?}");
        }
        assert_eq!(received, 4);
        assert!(times.take().is_none());
    }
}

#[test]
fn sizes_beyond_the_device_limit_are_refused() {
    let (device, queue) = device();
    let most = device.limits().max_texture_dimension_2d;
    if most < 8192 {
        let size = PictureSize::new(most + 1, 1).unwrap();
        let error = Painter::gpu(device, queue, size).err().unwrap().to_string();
        assert!(error.contains(&most.to_string()), "{error}");
    }
    assert!(Painter::gpu(device, queue, PictureSize::new(most.min(8192), 1).unwrap()).is_ok());
}

/// The PNG file of a picture, seen over black: red, green and blue in steps of 65535.
fn over_black(image: &Image) -> Vec<f64> {
    let mut bytes = Vec::new();
    image.write_png(&mut bytes).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    assert_eq!(info.bit_depth, png::BitDepth::Sixteen);
    assert_eq!(info.color_type, png::ColorType::Rgba);
    let words = data.chunks_exact(2).map(|c| f64::from(u16::from_be_bytes([c[0], c[1]])));
    let words: Vec<f64> = words.collect();
    words.chunks_exact(4).flat_map(|p| [0, 1, 2].map(|k| p[k] * p[3] / 65535.0)).collect()
}

#[test]
fn deep_transparent_pictures_have_the_light_of_plain_ones_and_finer_steps() {
    let bodies = two_galaxies(5000);
    let size = PictureSize::new(160, 90).unwrap();
    let dark = Style { transparent: true, ..Style::default() };
    let camera = Camera::default().framing(&bodies, &dark, 0.95, size);
    let paint = |painter: &mut Painter, style: &Style| {
        let look = Look::new(style, &bodies, None).unwrap();
        painter.paint(&bodies, &camera, &look, 0.0).unwrap()
    };
    let mut deep = Vec::new();
    for mut painter in [Painter::cpu(size), gpu_painter(size)] {
        let plain = paint(&mut painter, &Style { dither: false, ..dark.clone() });
        let found = over_black(&paint(&mut painter, &Style { deep: true, ..dark.clone() }));
        let bytes = plain.rgba().chunks_exact(4).flat_map(|p| &p[..3]);
        for (&byte, &word) in bytes.zip(&found) {
            // Half a step of 255, and what the tables of the 8-bit encoding are off by.
            assert!((f64::from(byte) * 257.0 - word).abs() < 0.8 * 257.0, "{byte} {word}");
        }
        assert!(found.iter().filter(|word| (**word % 257.0) > 2.0).count() > found.len() / 2);
        // Back to 8 bits, on the same painter.
        assert_eq!(paint(&mut painter, &Style { dither: false, ..dark.clone() }), plain);
        deep.push(found);
    }
    let largest = deep[0].iter().zip(&deep[1]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    // As compare_pictures() allows for half floats in the light.
    assert!(largest < 8.0 * 257.0, "{largest}");
}
