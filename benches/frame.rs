//! Cost of a picture on a graphics adapter, offscreen, in total and by stage.
//!
//! `cargo bench --bench frame` measures the galaxy collision with 1k to 1M bodies at 1280x720 and
//! 1920x1080. Options after `--`:
//!
//! - `--adapter NAME`: another adapter.
//! - `--baseline`: no device features beyond WebGPU's baseline.
//! - `--bodies N`: only this number of bodies.
//! - `--size WIDTHxHEIGHT`: only this size.
//! - `--no-glow`: without glow and local exposure.
//! - `--streaks`: with streaks.
//! - `--adding raster|compute`: how light is accumulated, by default as the program chooses. The
//!   column `adding` names the method.
//! - `--pictures FOLDER`: writes the pictures.
//! - `--effects`: a million bodies (or `--bodies`) with gas at 1920x1080 (or `--size`) instead,
//!   with all effects, without each of them, without any, and coloured by density and by speed.
//! - `--shaders FOLDER`: shaders from a copy of `shaders/`.
//!
//! Times of stages come from GPU timestamps where the adapter has them. The whole is wall time
//! until the queue is drained. Both are medians over half a second of pictures, at least 5. The
//! last column is the same picture on the CPU, without a graphics driver.

use std::path::PathBuf;
use std::time::Instant;

use gravitile::gpu::{AdapterRequest, FrameTimes, Gpu, Timeline};
use gravitile::render::{
    Adding, Camera, ColourBy, DevicePoints, GpuCanvas, Look, PARTS, Painter, PictureSize, Points,
    Style, tags,
};
use gravitile::scene::Scene;

const SIZES: [(u32, u32); 2] = [(1280, 720), (1920, 1080)];
const BODIES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// An effect's name, and the change of style that disables it.
type Effect = (&'static str, fn(&mut Style));

/// Effects that a picture may have.
const EFFECTS: [Effect; 9] = [
    ("glow", |style| style.bloom = 0.0),
    ("local exposure", |style| style.local_exposure = 0.0),
    ("gas", |style| style.gas = 0.0),
    ("dust", |style| style.dust = 0.0),
    ("trails", |style| style.trail_secs = 0.0),
    ("streaks", |style| style.streak_time = 0.0),
    ("far sky", |style| style.sky = 0.0),
    ("depth cue", |style| style.depth_cue = 0.0),
    ("vignette", |style| style.vignette = 0.0),
];

/// Time span of streaks, about that of the examples in docs/pictures.md.
const STREAK_TIME: f64 = 0.5;

struct Options {
    effects: bool,
    request: AdapterRequest,
    bodies: Vec<usize>,
    sizes: Vec<(u32, u32)>,
    pictures: Option<PathBuf>,
    style: Style,
    adding: Option<Adding>,
}

fn parse_options() -> Options {
    let mut options = Options {
        effects: false,
        request: AdapterRequest::default(),
        bodies: BODIES.to_vec(),
        sizes: SIZES.to_vec(),
        pictures: None,
        style: Style::default(),
        adding: None,
    };
    // `cargo test --benches` runs one small case.
    if !std::env::args().any(|word| word == "--bench") && std::env::args().len() == 1 {
        options.bodies = vec![1_000];
    }
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--adapter" => {
                options.request.names =
                    AdapterRequest::named(&words.next().unwrap_or_default()).names
            }
            "--baseline" => options.request.baseline = true,
            "--bodies" => {
                let n = words.next().and_then(|n| n.parse().ok()).expect("--bodies N");
                options.bodies = vec![n];
            }
            "--size" => {
                let word = words.next().unwrap_or_default();
                let size =
                    word.split_once('x').and_then(|(w, h)| w.parse().ok().zip(h.parse().ok()));
                options.sizes = vec![size.expect("--size WIDTHxHEIGHT")];
            }
            "--shaders" => {
                let folder = words.next().expect("--shaders FOLDER");
                gravitile::gpu::template::reload(folder.as_ref()).expect("shaders");
            }
            "--adding" => {
                let name = words.next().unwrap_or_default();
                let methods = [Adding::Raster, Adding::Compute];
                let method = methods.into_iter().find(|method| method.name() == name);
                options.adding = Some(method.expect("--adding raster or --adding compute"));
            }
            "--effects" => options.effects = true,
            "--streaks" => options.style.streak_time = STREAK_TIME,
            "--no-glow" => (options.style.bloom, options.style.local_exposure) = (0.0, 0.0),
            "--pictures" => options.pictures = words.next().map(PathBuf::from),
            // Passed by cargo.
            "--bench" => {}
            other => {
                panic!(
                    "{other} is unknown; known are --adapter NAME, --baseline, --bodies N, --size WIDTHxHEIGHT, --no-glow, --streaks, --effects, --adding raster|compute, --pictures FOLDER, --shaders FOLDER"
                )
            }
        }
    }
    options
}

fn main() {
    let options = parse_options();
    let gpu = Gpu::open_blocking(&options.request).expect("an adapter");
    println!("{} ({}), {}", gpu.adapter.name, gpu.adapter.backend, gpu.adapter.driver);
    println!(
        "medians in ms; parts by {}",
        match gpu.tier.timestamps {
            true => "GPU timestamps, whole by the wall clock around a drained queue",
            false => "nothing: the adapter has no timestamps; whole by the wall clock",
        }
    );
    println!("light added up by {}", options.adding.map_or("the program's choice", Adding::name));
    print!("{:>9} {:>10} {:>8}", "bodies", "size", "adding");
    PARTS.iter().for_each(|name| print!(" {name:>9}"));
    println!(" {:>9} {:>9} {:>9}", "sum", "whole", "cpu");
    if options.effects {
        effects(&gpu, &options);
        return;
    }
    for &n in &options.bodies {
        let scene = SceneBodies::new(&gpu, n, 0.0);
        for &(width, height) in &options.sizes {
            let size = PictureSize::new(width, height).expect("a size");
            scene.measure(&gpu, size, &options, "");
        }
    }
}

/// Measures all effects, all but each one, none, and two colourings.
fn effects(gpu: &Gpu, options: &Options) {
    let n = if options.bodies.len() == 1 { options.bodies[0] } else { 1_000_000 };
    let scene = SceneBodies::new(gpu, n, 0.3);
    let (width, height) = if options.sizes.len() == 1 { options.sizes[0] } else { SIZES[1] };
    let size = PictureSize::new(width, height).expect("a size");
    let all = Style {
        trail_secs: 0.5,
        streak_time: STREAK_TIME,
        depth_cue: 0.3,
        ..options.style.clone()
    };
    let row = |about: &str, change: &dyn Fn(&mut Style)| {
        let mut style = all.clone();
        change(&mut style);
        let options = Options {
            effects: true,
            request: options.request.clone(),
            bodies: Vec::new(),
            sizes: Vec::new(),
            pictures: None,
            style,
            adding: options.adding,
        };
        scene.measure(gpu, size, &options, about);
    };
    row("all on", &|_| ());
    for (name, disable) in EFFECTS {
        row(&format!("without {name}"), &disable);
    }
    row("all off", &|style| EFFECTS.iter().for_each(|(_, disable)| disable(style)));
    row("by density", &|style| style.colour_by = ColourBy::Density);
    row("by speed", &|style| style.colour_by = ColourBy::Speed);
}

/// The galaxy collision's initial state on the host, and in device buffers laid out as the
/// engine's.
struct SceneBodies {
    host: gravitile::bodies::Bodies,
    pos_mass: wgpu::Buffer,
    velocity: wgpu::Buffer,
    acceleration: wgpu::Buffer,
}

impl SceneBodies {
    fn new(gpu: &Gpu, n: usize, gas: f64) -> Self {
        let mut scene = Scene::builtin("galaxy-collision").expect("a scene of that name");
        scene.set_n(n).expect("a number of bodies");
        scene.set("gas", gas).expect("a part of the disk");
        let host = scene.build().expect("bodies");
        let rows = |of: &[glam::DVec3], w: &dyn Fn(usize) -> f32| -> Vec<glam::Vec4> {
            of.iter().enumerate().map(|(i, v)| v.as_vec3().extend(w(i))).collect()
        };
        let buffer = |rows: Vec<glam::Vec4>| {
            let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 16 * rows.len() as u64,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&rows));
            buffer
        };
        let tags = tags(&host);
        Self {
            pos_mass: buffer(rows(&host.position, &|i| host.mass[i] as f32)),
            velocity: buffer(rows(&host.velocity, &|i| tags[i] as f32)),
            // Read only by streaks: those of circular orbits.
            acceleration: buffer(rows(&circular_accelerations(&host.velocity), &|_| 0.0)),
            host,
        }
    }

    fn measure(&self, gpu: &Gpu, size: PictureSize, options: &Options, about: &str) {
        let style = &options.style;
        let look = Look::new(style, &self.host, None).expect("a look");
        let camera = Camera::default().framing(&self.host, style, 0.95, size);
        let handles = gpu.handles();
        let format = gravitile::render::offscreen::FORMAT;
        let mut canvas = GpuCanvas::new(handles, size, format).expect("a canvas");
        canvas.add_by(options.adding);
        let mut times = Timeline::new(handles.device, handles.queue);
        let offscreen =
            gravitile::render::offscreen::Offscreen::new(handles, size, format).expect("a target");
        let points = DevicePoints {
            pos_mass: &self.pos_mass,
            velocity: &self.velocity,
            acceleration: Some(&self.acceleration),
            count: self.host.len() as u32,
            scale: gravitile::render::Scale::PLAIN,
        };
        let (mut parts, mut whole) = (Vec::<FrameTimes>::new(), Vec::new());
        gpu.wait().expect("a device");
        let begun = Instant::now();
        for frame in 0_u64.. {
            let from = Instant::now();
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            times.begin(&mut encoder, frame);
            let camera = camera.orbited(0.01 * frame as f64);
            let secs = frame as f64 / 60.0;
            canvas
                .paint_in_parts(
                    handles,
                    &mut encoder,
                    offscreen.view(),
                    points,
                    (&camera, &look),
                    secs,
                    &mut |encoder, part| times.end_part(encoder, part),
                )
                .expect("a picture");
            times.end(handles.device, &mut encoder);
            gpu.queue.submit([encoder.finish()]);
            times.submitted();
            gpu.wait().expect("a device");
            // The first two pictures compile pipelines and touch fresh memory.
            if frame >= 2 {
                whole.push(from.elapsed().as_secs_f64());
            }
            let taken = times.take();
            parts.extend(taken.filter(|_| frame >= 2));
            if whole.len() >= 5 && begun.elapsed().as_secs_f64() > 0.5 {
                break;
            }
        }
        let shape = format!("{}x{}", size.width(), size.height());
        print!("{:>9} {shape:>10} {:>8}", self.host.len(), canvas.adding().name());
        for part in PARTS {
            print!(
                " {:>9.3}",
                1e3 * median(parts.iter().map(|times| times.secs(part).unwrap_or(f64::NAN)))
            );
        }
        let sum = median(parts.iter().map(FrameTimes::total_secs));
        // `--effects` compares times of the device only.
        let cpu_ms = match about.is_empty() {
            true => 1e3 * self.paint_on_cpu(size, &look, camera),
            false => f64::NAN,
        };
        println!(
            " {:>9.3} {:>9.3} {cpu_ms:>9.3} {about}",
            1e3 * sum,
            1e3 * median(whole.into_iter())
        );
        if let Some(folder) = &options.pictures {
            // From the camera's first position, with its own exposure: the same picture on every
            // run.
            canvas.reset_exposure();
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            canvas
                .paint(handles, &mut encoder, offscreen.view(), points, (&camera, &look), 0.0)
                .expect("a picture");
            let picture = pollster::block_on(offscreen.begin(handles, encoder)).expect("a picture");
            let name = format!("{}_{shape}.png", self.host.len());
            picture.save_png(&folder.join(name)).expect("a file");
        }
    }
}

impl SceneBodies {
    /// Seconds of the same picture on the CPU.
    fn paint_on_cpu(&self, size: PictureSize, look: &Look, camera: Camera) -> f64 {
        let mut painter = Painter::cpu(size);
        let acceleration = circular_accelerations(&self.host.velocity);
        let (mut whole, begun) = (Vec::new(), Instant::now());
        for frame in 0_u64.. {
            let camera = camera.orbited(0.01 * frame as f64);
            let from = Instant::now();
            let points = Points::Host { bodies: &self.host, acceleration: Some(&acceleration) };
            painter.paint(points, &camera, look, frame as f64 / 60.0).expect("a picture");
            whole.push(from.elapsed().as_secs_f64());
            if whole.len() >= 5 && begun.elapsed().as_secs_f64() > 0.5 {
                break;
            }
        }
        median(whole.into_iter().skip(2))
    }
}

/// Accelerations that turn these velocities around z by one radian per unit of time.
fn circular_accelerations(velocity: &[glam::DVec3]) -> Vec<glam::DVec3> {
    velocity.iter().map(|&v| glam::DVec3::Z.cross(v)).collect()
}

/// The median; NaN without values.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
