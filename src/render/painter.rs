//! One interface for painting on the device or the CPU. Headless: pictures are returned as
//! [`Image`].

use std::sync::Arc;

use glam::DVec3;

use super::adding::Adding;
use super::camera::Camera;
use super::cpu_canvas::CpuCanvas;
use super::diagram::Diagram;
use super::gpu_canvas::GpuCanvas;
use super::image::{Image, PictureSize};
use super::look::{Look, tags};
use super::offscreen::{self, Offscreen};
use super::scale::Scale;
use super::splat::Point;
use super::sprites::{DevicePoints, missing_ages};
use super::style::ColourBy;
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::gpu::Handles;

/// The bodies to paint, on the host or the device.
#[derive(Clone, Copy)]
pub enum Points<'a> {
    /// On the host.
    Host {
        /// The bodies.
        bodies: &'a Bodies,
        /// One per body; needed to colour by it.
        acceleration: Option<&'a [DVec3]>,
    },
    /// In the device's buffers; only a painter on that device can paint them.
    Device(DevicePoints<'a>),
}

impl<'a> From<&'a Bodies> for Points<'a> {
    fn from(bodies: &'a Bodies) -> Self {
        Self::Host { bodies, acceleration: None }
    }
}

/// Paints pictures of one size.
pub struct Painter {
    canvas: Canvas,
    tags: Option<(Vec<u64>, Vec<u8>, Vec<u32>)>,
    /// The scale set by [`Painter::scale_by`].
    scale: Option<Scale>,
}

enum Canvas {
    Cpu(Box<CpuCanvas>),
    Gpu(Box<GpuPart>),
}

struct GpuPart {
    device: wgpu::Device,
    queue: wgpu::Queue,
    canvas: GpuCanvas,
    offscreen: Offscreen,
    uploads: Option<Uploads>,
}

/// Device buffers for bodies that live on the host, sized for the largest set so far.
#[derive(Clone)]
struct Uploads {
    pos_mass: wgpu::Buffer,
    vectors: wgpu::Buffer,
    /// Accelerations in addition to velocities, only while streaks are shown.
    accelerations: Option<wgpu::Buffer>,
    capacity: usize,
}

impl Painter {
    /// Paints on the CPU, with all its cores. Needs no graphics driver.
    pub fn cpu(size: PictureSize) -> Self {
        Self { canvas: Canvas::Cpu(Box::new(CpuCanvas::new(size))), tags: None, scale: None }
    }

    /// Paints on a device (handles are cloned cheaply). A size beyond the device's limits is an
    /// error.
    pub fn gpu(device: &wgpu::Device, queue: &wgpu::Queue, size: PictureSize) -> Result<Self> {
        let gpu = Handles { device, queue };
        let part = GpuPart {
            canvas: GpuCanvas::new(gpu, size, offscreen::FORMAT)?,
            offscreen: Offscreen::new(gpu, size)?,
            uploads: None,
            device: device.clone(),
            queue: queue.clone(),
        };
        Ok(Self { canvas: Canvas::Gpu(Box::new(part)), tags: None, scale: None })
    }

    /// The size of its pictures.
    pub fn size(&self) -> PictureSize {
        match &self.canvas {
            Canvas::Cpu(canvas) => canvas.size(),
            Canvas::Gpu(part) => part.canvas.size(),
        }
    }

    /// Exposes the next picture without regard to earlier ones, after a jump in time or a new
    /// scene.
    pub fn reset_exposure(&mut self) {
        match &mut self.canvas {
            Canvas::Cpu(canvas) => canvas.reset_exposure(),
            Canvas::Gpu(part) => part.canvas.reset_exposure(),
        }
    }

    /// See [`GpuCanvas::add_by`]; no effect on the CPU.
    pub fn add_by(&mut self, wanted: Option<Adding>) {
        if let Canvas::Gpu(part) = &mut self.canvas {
            part.canvas.add_by(wanted);
        }
    }

    /// Sets the diagram drawn over later pictures; `None` draws nothing. No effect on the CPU.
    pub fn draw_over(&mut self, diagram: Option<&Arc<Diagram>>) {
        if let Canvas::Gpu(part) = &mut self.canvas {
            part.canvas.draw_over(diagram);
        }
    }

    /// Sets the scale by which bodies on the host are narrowed to f32 in later pictures, to
    /// reproduce exactly the picture that a device makes of its own bodies; `None` uses the scale
    /// that suits the camera.
    pub fn scale_by(&mut self, wanted: Option<Scale>) {
        self.scale = wanted;
    }

    /// Paints one picture and waits for it. `time_secs` is the film's time, by which an automatic
    /// exposure adapts; it should not run backwards without a reset.
    ///
    /// # Errors
    ///
    /// A camera out of range, bodies with arrays of unequal lengths, a colouring without its
    /// values, device buffers that are too short or given to the CPU, a lost device.
    pub fn paint<'a>(
        &mut self,
        points: impl Into<Points<'a>>,
        camera: &Camera,
        look: &Look,
        time_secs: f64,
    ) -> Result<Image> {
        let points = points.into();
        if let Points::Host { bodies, acceleration } = points {
            check(bodies, acceleration, look)?;
            self.remember_tags(bodies);
        }
        let tags = self.tags.as_ref().map_or(&[][..], |(_, _, words)| words);
        match (&mut self.canvas, points) {
            (Canvas::Cpu(canvas), Points::Host { bodies, acceleration }) => {
                let vectors = vectors_of(bodies, acceleration, look);
                let has_streaks = look.style.streak_time > 0.0;
                let ages = look.ages.as_deref().filter(|_| look.shows_ages());
                let scale = self.scale.unwrap_or_else(|| look.scale(camera));
                let point = |i: usize| Point {
                    position: scale.position(bodies.position[i]),
                    mass: (bodies.mass[i] / scale.mass) as f32,
                    vector: match ages {
                        Some(ages) => [ages[i], 0.0, 0.0],
                        None => narrow_vector(vectors[i], &scale, look),
                    },
                    motion: match has_streaks {
                        true => motion_of(bodies, acceleration, i, &scale, look),
                        false => [[0.0; 3]; 2],
                    },
                    tag: tags[i],
                    surroundings: [0.0; 2],
                };
                canvas.paint(bodies.len(), point, &scale, (camera, look), time_secs)
            }
            (Canvas::Cpu(_), Points::Device(_)) => Err(on_the_host()),
            (Canvas::Gpu(part), Points::Host { bodies, acceleration }) => {
                let scale = self.scale.unwrap_or_else(|| look.scale(camera));
                let uploads = if look.style.streak_time > 0.0 {
                    let motion = |i| motion_of(bodies, acceleration, i, &scale, look);
                    let moves = [0, 1].map(|k| (0..bodies.len()).map(move |i| motion(i)[k]));
                    let [velocities, accelerations] = moves;
                    let accelerations = acceleration.map(|_| accelerations);
                    part.upload(bodies, velocities, accelerations, tags, &scale)?
                } else {
                    let vectors = vectors_of(bodies, acceleration, look).iter();
                    let vectors = vectors.map(|&vector| narrow_vector(vector, &scale, look));
                    part.upload(bodies, vectors, NOTHING, tags, &scale)?
                };
                let colours = Some(&uploads.vectors).filter(|_| look.style.streak_time <= 0.0);
                let points = DevicePoints {
                    pos_mass: &uploads.pos_mass,
                    velocity: &uploads.vectors,
                    acceleration: uploads.accelerations.as_ref().or(colours),
                    count: bodies.len() as u32,
                    scale,
                };
                part.paint(points, camera, look, time_secs)
            }
            (Canvas::Gpu(part), Points::Device(points)) => {
                part.paint(points, camera, look, time_secs)
            }
        }
    }

    /// Starts one picture of bodies on the device, for programs that must not block: the returned
    /// future gives the picture, and must complete before the next one is begun.
    ///
    /// # Errors
    ///
    /// Those of [`Painter::paint`]; a painter on the CPU.
    pub fn begin(
        &mut self,
        points: DevicePoints<'_>,
        camera: &Camera,
        look: &Look,
        time_secs: f64,
    ) -> Result<impl Future<Output = Result<Image>> + use<>> {
        match &mut self.canvas {
            Canvas::Gpu(part) => part.begin(points, camera, look, time_secs),
            Canvas::Cpu(_) => Err(on_the_host()),
        }
    }

    /// Caches the tags, which follow from ids and components and rarely change.
    fn remember_tags(&mut self, bodies: &Bodies) {
        let known = matches!(&self.tags, Some((id, component, _))
            if *id == bodies.id && *component == bodies.component);
        if !known {
            self.tags = Some((bodies.id.clone(), bodies.component.clone(), tags(bodies)));
        }
    }
}

/// No accelerations to upload.
const NOTHING: Option<std::iter::Empty<[f32; 3]>> = None;

fn on_the_host() -> Error {
    let allowed = "the host, for a painter on the CPU";
    Error::value("the place of the bodies", "a graphics device", allowed)
}

fn check(bodies: &Bodies, acceleration: Option<&[DVec3]>, look: &Look) -> Result<()> {
    let n = bodies.len();
    let short =
        [bodies.position.len(), bodies.velocity.len(), bodies.id.len(), bodies.component.len()]
            .into_iter()
            .chain(acceleration.map(<[DVec3]>::len))
            .find(|&length| length != n);
    if let Some(length) = short {
        let allowed = format!("{n}, the number of bodies, in every array to paint");
        return Err(Error::value("the number of entries", length, allowed));
    }
    if look.style.colour_by == ColourBy::Acceleration && acceleration.is_none() {
        let allowed = "component or speed where accelerations are not at hand";
        return Err(Error::value("the colouring", "acceleration", allowed));
    }
    if look.shows_ages() {
        let ages = look.ages.as_ref().ok_or_else(missing_ages)?;
        if ages.len() < n {
            let allowed = format!("at least {n}, one for each body");
            return Err(Error::value("the number of ages", ages.len(), allowed));
        }
    }
    Ok(())
}

fn vectors_of<'a>(
    bodies: &'a Bodies,
    acceleration: Option<&'a [DVec3]>,
    look: &Look,
) -> &'a [DVec3] {
    match (look.style.colour_by, acceleration) {
        (ColourBy::Acceleration, Some(acceleration)) => acceleration,
        _ => &bodies.velocity,
    }
}

/// Velocity and acceleration of one body in units of the scale, or as the colours need them if they
/// show either.
fn motion_of(
    bodies: &Bodies,
    acceleration: Option<&[DVec3]>,
    i: usize,
    scale: &Scale,
    look: &Look,
) -> [[f32; 3]; 2] {
    let acceleration = acceleration.map_or(DVec3::ZERO, |all| all[i]);
    [
        crate::frame::narrow((bodies.velocity[i] - look.drift) / scale.speed),
        crate::frame::narrow(acceleration / scale.acceleration),
    ]
}

/// The vector by which a body is coloured, in f32.
fn narrow_vector(vector: DVec3, scale: &Scale, look: &Look) -> [f32; 3] {
    let colour_by = look.style.colour_by;
    let drift = if colour_by == ColourBy::Speed { look.drift } else { DVec3::ZERO };
    crate::frame::narrow((vector - drift) / scale.value(colour_by))
}

impl GpuPart {
    fn paint(
        &mut self,
        points: DevicePoints,
        camera: &Camera,
        look: &Look,
        time_secs: f64,
    ) -> Result<Image> {
        pollster::block_on(self.begin(points, camera, look, time_secs)?)
    }

    fn begin(
        &mut self,
        points: DevicePoints,
        camera: &Camera,
        look: &Look,
        time_secs: f64,
    ) -> Result<impl Future<Output = Result<Image>> + use<>> {
        let gpu = Handles { device: &self.device, queue: &self.queue };
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let target = self.offscreen.view();
        self.canvas.paint(gpu, &mut encoder, target, points, (camera, look), time_secs)?;
        Ok(self.offscreen.begin(gpu, encoder))
    }

    /// Uploads host bodies to the device, in the engine's own layout.
    fn upload(
        &mut self,
        bodies: &Bodies,
        vectors: impl Iterator<Item = [f32; 3]>,
        accelerations: Option<impl Iterator<Item = [f32; 3]>>,
        tags: &[u32],
        scale: &Scale,
    ) -> Result<Uploads> {
        let n = bodies.len();
        let limits = self.device.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) / 16;
        if n as u64 > most {
            let allowed = format!("at most {most} to be painted on this device");
            return Err(Error::value("the number of bodies", n, allowed));
        }
        let mut uploads = match self.uploads.take().filter(|uploads| uploads.capacity >= n) {
            Some(uploads) => uploads,
            None => Uploads::new(&self.device, n.max(1)),
        };
        uploads.accelerations = accelerations.map(|accelerations| {
            let rows: Vec<_> = accelerations.map(|[x, y, z]| [x, y, z, 0.0]).collect();
            let known = uploads.accelerations.take();
            let buffer = known.unwrap_or_else(|| {
                Uploads::buffer(&self.device, "painted accelerations", uploads.capacity)
            });
            self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&rows));
            buffer
        });
        let with_mass = |(&x, &mass): (&DVec3, &f64)| {
            let [x, y, z] = scale.position(x);
            [x, y, z, (mass / scale.mass) as f32]
        };
        let pos_mass: Vec<_> = bodies.position.iter().zip(&bodies.mass).map(with_mass).collect();
        let with_tag = |([x, y, z], &tag): ([f32; 3], &u32)| [x, y, z, tag as f32];
        let vectors: Vec<_> = vectors.zip(tags).map(with_tag).collect();
        self.queue.write_buffer(&uploads.pos_mass, 0, bytemuck::cast_slice(&pos_mass));
        self.queue.write_buffer(&uploads.vectors, 0, bytemuck::cast_slice(&vectors));
        Ok(self.uploads.insert(uploads).clone())
    }
}

impl Uploads {
    fn new(device: &wgpu::Device, capacity: usize) -> Self {
        Self {
            pos_mass: Self::buffer(device, "painted positions", capacity),
            vectors: Self::buffer(device, "painted vectors", capacity),
            accelerations: None,
            capacity,
        }
    }

    fn buffer(device: &wgpu::Device, label: &str, capacity: usize) -> wgpu::Buffer {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: 16 * capacity as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }
}
