//! One interface for painting on the device or the CPU. Headless: pictures are returned as
//! [`Image`].

use std::sync::Arc;

use glam::DVec3;

use super::adding::Adding;
use super::ages::missing_ages;
use super::camera::Camera;
use super::cpu_canvas::CpuCanvas;
use super::diagram::Diagram;
use super::gpu_canvas::GpuCanvas;
use super::image::{Image, PictureSize};
use super::look::{Look, tags};
use super::offscreen::{self, Offscreen};
use super::scale::Scale;
use super::splat::Point;
use super::sprites::DevicePoints;
use super::style::{ColourBy, Style};
#[cfg(not(target_arch = "wasm32"))]
use super::together::Together;
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::frame::narrow;
use crate::gpu::{Handles, new_buffer};

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
    /// Whether both are for 16 bits a channel.
    is_deep: bool,
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

/// A picture of bodies with the default style, looking down on the xy plane from where 98 % of them
/// are in sight; painted on the CPU, so it needs no graphics driver.
///
/// # Errors
///
/// Bodies with arrays of unequal lengths; positions out of a camera's range.
///
/// # Examples
///
/// ```
/// use gravitile::render::{PictureSize, picture};
/// use gravitile::scene::Scene;
///
/// let bodies = Scene::builtin("pythagorean")?.build()?;
/// let image = picture(&bodies, PictureSize::new(64, 36)?)?;
/// assert!(image.rgba().chunks(4).any(|pixel| pixel[0] > 100));
/// # Ok::<(), gravitile::error::Error>(())
/// ```
pub fn picture(bodies: &Bodies, size: PictureSize) -> Result<Image> {
    let style = Style::default();
    let camera = Camera::default().framing(bodies, &style, 0.98, size);
    Painter::cpu(size).paint(bodies, &camera, &Look::new(&style, bodies, None)?, 0.0)
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
            offscreen: Offscreen::new(gpu, size, offscreen::FORMAT)?,
            is_deep: false,
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
    pub fn add_by(&mut self, requested: Option<Adding>) {
        if let Canvas::Gpu(part) = &mut self.canvas {
            part.canvas.add_by(requested);
        }
    }

    /// See [`GpuCanvas::enlarge_pixels`]; no effect on the CPU.
    ///
    /// # Errors
    ///
    /// The device lacks memory.
    pub fn enlarge_pixels(&mut self, side: f64) -> Result<()> {
        match &mut self.canvas {
            Canvas::Gpu(part) => {
                let gpu = Handles { device: &part.device, queue: &part.queue };
                part.canvas.enlarge_pixels(gpu, side)
            }
            Canvas::Cpu(_) => Ok(()),
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
    pub fn scale_by(&mut self, scale: Option<Scale>) {
        self.scale = scale;
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
        let (bodies, acceleration) = match points.into() {
            Points::Host { bodies, acceleration } => (bodies, acceleration),
            Points::Device(points) => {
                return self.on_device()?.paint(points, camera, look, time_secs);
            }
        };
        check(bodies, acceleration, look)?;
        self.remember_tags(bodies);
        let tags = self.tags.as_ref().map_or(&[][..], |(_, _, words)| words);
        let scale = self.scale.unwrap_or_else(|| look.scale(camera));
        let host = HostPoints { bodies, acceleration, tags, look, scale };
        match &mut self.canvas {
            Canvas::Cpu(canvas) => {
                let point = |i: usize| host.point(i);
                let image = canvas.paint(bodies.len(), point, &scale, (camera, look), time_secs)?;
                Ok(image.transparent(look.style.transparent))
            }
            Canvas::Gpu(part) => {
                let uploads = part.upload(&host)?;
                let colours = Some(&uploads.vectors).filter(|_| !host.has_streaks());
                let points = DevicePoints {
                    pos_mass: &uploads.pos_mass,
                    velocity: &uploads.vectors,
                    acceleration: uploads.accelerations.as_ref().or(colours),
                    count: bodies.len() as u32,
                    scale,
                };
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
        self.on_device()?.begin(points, camera, look, time_secs)
    }

    /// Paints one picture of the bodies of several devices, of which `points` are those of this
    /// one; the painter of the first returns it. Light is added up by [`Adding::Compute`], whatever
    /// [`Painter::add_by`] says. All devices make the same call, with the same camera and look.
    ///
    /// # Errors
    ///
    /// Those of [`Painter::begin`]; a device that cannot add up integers; streaks that some bodies
    /// draw on behalf of others; a lost device; another device has failed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn paint_together(
        &mut self,
        points: DevicePoints<'_>,
        camera: &Camera,
        look: &Look,
        time_secs: f64,
        together: &mut Together<'_>,
    ) -> Result<Option<Image>> {
        self.on_device()?.paint_together(points, (camera, look), time_secs, together)
    }

    fn on_device(&mut self) -> Result<&mut GpuPart> {
        match &mut self.canvas {
            Canvas::Gpu(part) => Ok(part),
            Canvas::Cpu(_) => {
                let allowed = "the host, for a painter on the CPU";
                Err(Error::value("the place of the bodies", "a graphics device", allowed))
            }
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

/// Bodies on the host, as the sprite passes read them.
struct HostPoints<'a> {
    bodies: &'a Bodies,
    acceleration: Option<&'a [DVec3]>,
    tags: &'a [u32],
    look: &'a Look,
    scale: Scale,
}

impl HostPoints<'_> {
    fn has_streaks(&self) -> bool {
        self.look.style.streak_time > 0.0
    }

    fn mass(&self, i: usize) -> f32 {
        self.scale.mass_of(self.bodies.mass[i]) as f32
    }

    /// Velocity and acceleration of one body in units of the scale, or as the colours need them if
    /// they show either.
    fn motion(&self, i: usize) -> [[f32; 3]; 2] {
        let acceleration = self.acceleration.map_or(DVec3::ZERO, |all| all[i]);
        let velocity = self.bodies.velocity[i] - self.look.drift;
        [narrow(velocity / self.scale.speed), narrow(acceleration / self.scale.acceleration)]
    }

    /// The vector by which a body is coloured.
    fn vector(&self, i: usize) -> [f32; 3] {
        let colour_by = self.look.style.colour_by;
        let vector = match (colour_by, self.acceleration) {
            (ColourBy::Acceleration, Some(acceleration)) => acceleration[i],
            _ => self.bodies.velocity[i],
        };
        let drift = if colour_by.shows_velocities() { self.look.drift } else { DVec3::ZERO };
        narrow((vector - drift) / self.scale.value(colour_by))
    }

    fn point(&self, i: usize) -> Point {
        let ages = self.look.ages.as_deref().filter(|_| self.look.shows_ages());
        Point {
            position: self.scale.position(self.bodies.position[i]),
            mass: self.mass(i),
            vector: ages.map_or_else(|| self.vector(i), |ages| [ages[i], 0.0, 0.0]),
            motion: if self.has_streaks() { self.motion(i) } else { [[0.0; 3]; 2] },
            tag: self.tags[i],
            surroundings: [0.0; 2],
        }
    }
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
        self.suit(look)?;
        let gpu = Handles { device: &self.device, queue: &self.queue };
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let target = self.offscreen.view();
        self.canvas.paint(gpu, &mut encoder, target, points, (camera, look), time_secs)?;
        let coming = self.offscreen.begin(gpu, encoder);
        let is_transparent = look.style.transparent;
        Ok(async move { Ok(coming.await?.transparent(is_transparent)) })
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn paint_together(
        &mut self,
        points: DevicePoints,
        (camera, look): (&Camera, &Look),
        time_secs: f64,
        together: &mut Together<'_>,
    ) -> Result<Option<Image>> {
        self.suit(look)?;
        let gpu = Handles { device: &self.device, queue: &self.queue };
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let target = self.offscreen.view();
        let on = (gpu, &mut encoder);
        let setup = (camera, look);
        if !self.canvas.paint_together(on, target, points, setup, time_secs, together)? {
            return Ok(None);
        }
        let image = pollster::block_on(self.offscreen.begin(gpu, encoder))?;
        Ok(Some(image.transparent(look.style.transparent)))
    }

    /// Makes a canvas with as many bits a channel as the look has.
    fn suit(&mut self, look: &Look) -> Result<()> {
        if look.style.deep != self.is_deep {
            let gpu = Handles { device: &self.device, queue: &self.queue };
            let format = if look.style.deep { offscreen::DEEP_FORMAT } else { offscreen::FORMAT };
            self.canvas = self.canvas.in_format(gpu, format)?;
            self.offscreen = Offscreen::new(gpu, self.canvas.size(), format)?;
            self.is_deep = look.style.deep;
        }
        Ok(())
    }

    /// Uploads host bodies to the device, in the engine's own layout.
    fn upload(&mut self, host: &HostPoints) -> Result<Uploads> {
        let n = host.bodies.len();
        let limits = self.device.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) / 16;
        if n as u64 > most {
            let allowed = format!("at most {most} to be painted on this device");
            return Err(Error::value("the number of bodies", n, allowed));
        }
        let buffer = |label, capacity: usize| {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
            new_buffer(&self.device, label, 16 * capacity as u64, usage)
        };
        let known = self.uploads.take().filter(|uploads| uploads.capacity >= n);
        let mut uploads = known.unwrap_or_else(|| Uploads {
            pos_mass: buffer("painted positions", n.max(1)),
            vectors: buffer("painted vectors", n.max(1)),
            accelerations: None,
            capacity: n.max(1),
        });
        let write = |buffer: &wgpu::Buffer, row: &dyn Fn(usize) -> ([f32; 3], f32)| {
            let row = |i| {
                let ([x, y, z], w) = row(i);
                [x, y, z, w]
            };
            let rows: Vec<[f32; 4]> = (0..n).map(row).collect();
            self.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&rows));
        };
        let position = |i: usize| host.scale.position(host.bodies.position[i]);
        write(&uploads.pos_mass, &|i| (position(i), host.mass(i)));
        if host.has_streaks() {
            write(&uploads.vectors, &|i| (host.motion(i)[0], host.tags[i] as f32));
        } else {
            write(&uploads.vectors, &|i| (host.vector(i), host.tags[i] as f32));
        }
        let accelerations = uploads.accelerations.take();
        if host.has_streaks() && host.acceleration.is_some() {
            let new = || buffer("painted accelerations", uploads.capacity);
            let buffer = accelerations.unwrap_or_else(new);
            write(&buffer, &|i| (host.motion(i)[1], 0.0));
            uploads.accelerations = Some(buffer);
        }
        Ok(self.uploads.insert(uploads).clone())
    }
}
