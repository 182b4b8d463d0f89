//! Filming a simulation: a picture, some steps, the next picture.
//!
//! Bodies that live on a device are painted there, from the engine's own buffers; others by the
//! CPU, or by a graphics adapter if that is hardware. A single picture needs neither engine nor
//! forces ([`still`]).

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use glam::DVec3;

use crate::bodies::{Bodies, Component};
use crate::error::{Error, Result, by_name};
use crate::forces::direct::gpu::Masses;
use crate::frame::Frame;
use crate::gpu::{AdapterRequest, BodyBuffers, DeviceClass, Gpu, fine};
use crate::render::paths::{self, Paths};
use crate::render::writing::Caption;
use crate::render::{
    Adding, Camera, CameraMotion, ColourBy, DevicePoints, Director, Film, Follow, Image, Look,
    Painter, PictureSize, Points, Scale, Style, Together,
};
use crate::sim::{BodyPart, EngineKind, Settings, Simulation, State, choose, host_engine};

/// The renderer of the pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Renderer {
    /// The device that holds the bodies, else a hardware graphics adapter, else the CPU.
    #[default]
    Auto,
    /// A graphics adapter, even a software one.
    Gpu,
    /// The CPU.
    Cpu,
}

impl Renderer {
    /// All variants with their names on the command line.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Auto, "auto"), (Self::Gpu, "gpu"), (Self::Cpu, "cpu")];

    /// The variant of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        by_name("renderer", name, &Self::ALL)
    }
}

/// Path lines of a few bodies use at least this many states per picture, and about this many for
/// the whole film.
const STATES_PER_PICTURE: u64 = 8;
const STATES_OF_FILM: u64 = 2048;

/// The parameters of a film.
#[derive(Clone, Debug)]
pub struct Shot {
    /// Number of pictures, at least 1. The first shows the initial bodies, unless steps come before
    /// it.
    pub frames: u64,
    /// Pictures per second of the film.
    pub frames_per_sec: u32,
    /// Steps of the simulation before the first picture.
    pub steps_before: u64,
    /// Steps of the simulation from one picture to the next.
    pub steps_per_frame: u64,
    /// Size of each picture.
    pub size: PictureSize,
    /// The camera and its motion.
    pub motion: CameraMotion,
    /// The style.
    pub style: Style,
    /// The renderer of the pictures.
    pub renderer: Renderer,
    /// The captions on the pictures.
    pub caption: Caption,
    /// The simulated time in which path lines of a few bodies fade, if the style has them; 0 for
    /// none.
    pub paths_fade_in: f64,
}

impl Shot {
    /// `frames` pictures, 30 per second, with one step from each to the next, by a still camera that
    /// has 98 % of `bodies` in sight; in the default style and without captions.
    pub fn of(bodies: &Bodies, size: PictureSize, frames: u64) -> Self {
        let style = Style::default();
        let start = Camera::default().framing(bodies, &style, 0.98, size);
        Self {
            frames,
            frames_per_sec: 30,
            steps_before: 0,
            steps_per_frame: 1,
            size,
            motion: CameraMotion { start, ..CameraMotion::default() },
            style,
            renderer: Renderer::Auto,
            caption: Caption::default(),
            paths_fade_in: 0.0,
        }
    }

    /// Whether it needs no forces: no step is taken, no colour shows an acceleration, and no streak
    /// is bent by one.
    pub fn is_still(&self) -> bool {
        let has_streaks = self.style.streak_time > 0.0;
        let takes_steps = self.frames > 1 || self.steps_before > 0;
        !takes_steps && self.style.colour_by != ColourBy::Acceleration && !has_streaks
    }
}

/// Paints the present state of a simulation, picture by picture.
pub struct Cinema {
    painter: Painter,
    look: Look,
    director: Director,
    captions: Caption,
    /// The bodies' paths and colours, if there are few bodies.
    paths: Option<(Paths, Vec<[u8; 3]>)>,
    components: Vec<Component>,
    last_secs: Option<f64>,
    place: Place,
    described: String,
}

/// Where the bodies are when they are painted.
enum Place {
    /// In host memory.
    Host,
    /// On the painter's device.
    Device,
    /// On several devices, which add up their light on the first, that of the painter: the painters
    /// of the others.
    Parts(Vec<Painter>),
}

impl Cinema {
    /// Creates a painter that suits `sim`, and fits the look to its current bodies.
    pub fn new(
        sim: &mut Simulation,
        style: &Style,
        size: PictureSize,
        renderer: Renderer,
    ) -> Result<Self> {
        let state = sim.state()?;
        let look = Look::new(style, &state.bodies, Some(&state.acceleration))?;
        // Of several devices that have parts of the bodies, the first one makes the picture.
        let has_parts = sim.choice().devices().count() > 1;
        let first = sim.choice().gpu.as_ref().filter(|_| has_parts);
        let device = sim.device().map(|(gpu, _)| gpu).or(first);
        let (painter, described) = painter(device, &sim.settings().adapter, size, renderer)?;
        let place = match sim.device() {
            _ if renderer == Renderer::Cpu => Place::Host,
            Some(_) => Place::Device,
            None if can_add_up(sim, size) && !look.shares_streaks() => others_painters(sim, size)?,
            None => Place::Host,
        };
        Ok(Self {
            painter,
            look,
            director: Director::default(),
            captions: Caption::default(),
            paths: None,
            components: state.bodies.components,
            last_secs: None,
            place,
            described,
        })
    }

    /// A description of the renderer in use.
    pub fn describe(&self) -> &str {
        &self.described
    }

    /// The picture of the present state of `sim`, at `time_secs` of the film.
    pub fn picture(
        &mut self,
        sim: &mut Simulation,
        motion: &CameraMotion,
        time_secs: f64,
    ) -> Result<Image> {
        let times = (time_secs, sim.time());
        let (mut image, camera) = match &self.place {
            Place::Host => match sim.host() {
                Some((bodies, acceleration)) => {
                    self.paint_host(bodies, acceleration, motion, times)?
                }
                None => {
                    let state = sim.state()?;
                    self.paint_host(&state.bodies, &state.acceleration, motion, times)?
                }
            },
            Place::Device | Place::Parts(_) => {
                let camera = self.camera_of_devices(sim, motion, times)?;
                (self.paint_on_devices(sim, &camera, time_secs)?, camera)
            }
        };
        if let Some((paths, colours)) = &self.paths {
            paths.draw(&mut image, &camera, colours);
        }
        self.captions.draw(&mut image, (&camera, &self.look, &self.components), sim.time());
        Ok(image)
    }

    /// The camera for bodies on devices, which are read back only for a camera that follows or
    /// directs, and for colours that adapt.
    fn camera_of_devices(
        &mut self,
        sim: &mut Simulation,
        motion: &CameraMotion,
        times: (f64, f64),
    ) -> Result<Camera> {
        if self.look.follows_values() {
            let State { bodies, acceleration, .. } = sim.state()?;
            self.follow_values(&bodies, &acceleration, times.0);
            return self.camera(motion, times, &bodies);
        }
        let stays = motion.follow == Follow::Nothing && !motion.directs;
        let bodies = if stays { Bodies::default() } else { sim.bodies()? };
        self.camera(motion, times, &bodies)
    }

    fn paint_on_devices(
        &mut self,
        sim: &mut Simulation,
        camera: &Camera,
        time_secs: f64,
    ) -> Result<Image> {
        let g = sim.settings().gravitational_constant;
        let Place::Parts(others) = &mut self.place else {
            let frame = sim.frame().expect("made with the bodies on a device");
            let (_, buffers) = sim.device().expect("made with the bodies on it");
            let points = points_of(buffers, buffers.count, Scale::on_device(&frame, g));
            return self.painter.paint(Points::Device(points), camera, &self.look, time_secs);
        };
        let (frame, parts) = sim.parts().expect("made with the bodies on several devices");
        let scale = Scale::on_device(&frame, g);
        let all_painters = std::iter::once(&mut self.painter).chain(others);
        let painters: Vec<Mutex<&mut Painter>> = all_painters.map(Mutex::new).collect();
        let (look, image) = (&self.look, Mutex::new(None));
        let locked = "no painter panics";
        parts.on_each(&|part| {
            let BodyPart { device, buffers, numbers, count, all, exchange } = part;
            let points = points_of(buffers, count, scale);
            let mut together = Together { exchange, all, numbers };
            let mut painter = painters[device].lock().expect(locked);
            let painted = painter.paint_together(points, camera, look, time_secs, &mut together);
            if let Some(painted) = painted? {
                *image.lock().expect(locked) = Some(painted);
            }
            Ok(())
        })?;
        let image = image.into_inner().expect(locked);
        image.ok_or_else(|| Error::Device("no device has painted the picture".to_owned()))
    }

    /// Sets the captions of later pictures. Lines of maps have round numbers in their units.
    pub fn set_captions(&mut self, captions: Caption) {
        self.look.units = captions.units.clone();
        self.captions = captions;
    }

    /// Draws the paths of `sim`'s bodies in later pictures, if they are few, fading within this
    /// simulated time.
    pub fn draw_paths(&mut self, sim: &mut Simulation, fades_in: f64) -> Result<()> {
        if Paths::suit(sim.len()) && fades_in > 0.0 {
            self.paths = Some((Paths::new(fades_in), paths::colours(&sim.bodies()?)));
        }
        self.record_positions(sim)
    }

    /// Records the positions of the bodies, if they are few.
    fn record_positions(&mut self, sim: &mut Simulation) -> Result<()> {
        if let Some((paths, _)) = &mut self.paths {
            paths.take(sim.time(), &sim.bodies()?.position);
        }
        Ok(())
    }

    fn paint_host(
        &mut self,
        bodies: &Bodies,
        acceleration: &[DVec3],
        motion: &CameraMotion,
        times: (f64, f64),
    ) -> Result<(Image, Camera)> {
        self.follow_values(bodies, acceleration, times.0);
        let camera = self.camera(motion, times, bodies)?;
        let points = Points::Host { bodies, acceleration: Some(acceleration) };
        Ok((self.painter.paint(points, &camera, &self.look, times.0)?, camera))
    }

    fn follow_values(&mut self, bodies: &Bodies, acceleration: &[DVec3], secs: f64) {
        let elapsed = secs - self.last_secs.replace(secs).unwrap_or(secs);
        self.look.follow_values(bodies, Some(acceleration), elapsed);
    }

    fn camera(
        &mut self,
        motion: &CameraMotion,
        times: (f64, f64),
        bodies: &Bodies,
    ) -> Result<Camera> {
        self.director.camera(motion, times, bodies, &self.look.style, self.painter.size())
    }
}

/// Whether several devices add up the light of their bodies as one device would; otherwise the
/// first one paints all, which the host reads. A device has up to 1.3 times its share of the
/// bodies.
fn can_add_up(sim: &Simulation, size: PictureSize) -> bool {
    let devices = sim.choice().devices();
    let share = 1.3 * sim.len() as f64 / devices.count().max(1) as f64;
    let adds = |gpu: &Arc<Gpu>| Adding::choose(&gpu.device, share as u32, size) == Adding::Compute;
    sim.choice().gpu.as_ref().is_some_and(adds)
}

fn others_painters(sim: &mut Simulation, size: PictureSize) -> Result<Place> {
    let Some((_, parts)) = sim.parts() else { return Ok(Place::Host) };
    let painter = |gpu: &Arc<Gpu>| Painter::gpu(&gpu.device, &gpu.queue, size);
    Ok(Place::Parts(parts.devices().iter().skip(1).map(painter).collect::<Result<_>>()?))
}

/// The first `count` bodies of a device.
fn points_of(buffers: &BodyBuffers, count: u32, scale: Scale) -> DevicePoints<'_> {
    DevicePoints {
        pos_mass: &buffers.position_mass,
        velocity: &buffers.velocity,
        acceleration: Some(&buffers.acceleration),
        count,
        scale,
    }
}

/// The painter for bodies that live on `device`, or else on the host; and its name.
fn painter(
    device: Option<&Arc<Gpu>>,
    request: &AdapterRequest,
    size: PictureSize,
    renderer: Renderer,
) -> Result<(Painter, String)> {
    let on = |gpu: &Gpu| -> Result<_> {
        Ok((Painter::gpu(&gpu.device, &gpu.queue, size)?, gpu.adapter.name.clone()))
    };
    let on_cpu = || Ok((Painter::cpu(size), "CPU".to_owned()));
    match (device, renderer) {
        (_, Renderer::Cpu) => on_cpu(),
        (Some(gpu), _) => on(gpu),
        (None, Renderer::Gpu) => on(&*Gpu::open_blocking(request)?),
        (None, Renderer::Auto) => match Gpu::open_blocking(request) {
            // The CPU painter is faster than a software adapter.
            Ok(gpu) if gpu.adapter.class != DeviceClass::Software => on(&gpu),
            Err(error) if request.is_certain() => Err(error),
            _ => on_cpu(),
        },
    }
}

/// Paints the only picture of a [still](Shot::is_still) shot: the same as [`shoot`] makes of a
/// simulation with these `settings`, but without one, so that a million bodies take no longer than
/// their sprites. Returns the description of the renderer.
///
/// # Errors
///
/// Those of [`Simulation::new`] that can be found without forces, and those of painting.
pub fn still(bodies: &Bodies, settings: &Settings, shot: &Shot, mut film: Film) -> Result<String> {
    bodies.validate()?;
    settings.validate()?;
    let device = device_of(bodies.len(), settings)?;
    let now = settings.begins_at();
    let frame = device.as_ref().map(|_| settings.frame_of(bodies, now)).transpose()?;
    let frame = frame.map(|frame| frame.at(now));
    let painted = match &frame {
        Some(frame) => Cow::Owned(as_on_device(bodies, frame)),
        None => Cow::Borrowed(bodies),
    };
    let times = (0.0, settings.begins_at());
    let camera =
        Director::default().camera(&shot.motion, times, &painted, &shot.style, shot.size)?;
    let device = device.filter(|_| shot.renderer != Renderer::Cpu);
    let (mut painter, described) =
        painter(device.as_ref(), &settings.adapter, shot.size, shot.renderer)?;
    let look = Look::new(&shot.style, &painted, None)?.in_units(&shot.caption.units);
    let frame = frame.as_ref().filter(|_| device.is_some());
    painter.scale_by(frame.map(|f| Scale::on_device(f, settings.gravitational_constant)));
    let mut image = painter.paint(&*painted, &camera, &look, 0.0)?;
    shot.caption.draw(&mut image, (&camera, &look, &painted.components), times.1);
    film.write(image)?;
    film.finish()?;
    Ok(described)
}

/// The device on which a simulation of `n` bodies would run.
///
/// # Errors
///
/// An engine, a method, a precision, an adapter or a kernel that is not available.
fn device_of(n: usize, settings: &Settings) -> Result<Option<Arc<Gpu>>> {
    let choice = pollster::block_on(choose(n, settings))?;
    if choice.kind != EngineKind::Gpu {
        crate::gpu::blocking(host_engine(choice.kind, None, &[], settings))?;
    }
    let gpu = choice.gpu.filter(|_| !settings.steps_on_host());
    if let Some(gpu) = &gpu {
        settings.known.resolve(&settings.kernel, gpu, n, Masses::InBlocks)?;
    }
    Ok(gpu)
}

/// The bodies as a device would give them back.
fn as_on_device(bodies: &Bodies, frame: &Frame) -> Bodies {
    let mut bodies = bodies.clone();
    for (x, v) in bodies.position.iter_mut().zip(&mut bodies.velocity) {
        let (near, slow, word) = fine::split(frame.scaled_position(*x), frame.scaled_velocity(*v));
        let (near, slow) = fine::join(near, slow, word);
        (*x, *v) = (frame.exact_position(near).0, frame.exact_velocity(slow).0);
    }
    bodies
}

/// Films `sim` into `film`, which has been opened for pictures of the shot's size, so that problems
/// with the output file are found before any long computation. `watch` is called with the number of
/// pictures so far, also after each step, and ends the film early by returning false; pictures so
/// far remain. Returns the number of pictures.
///
/// # Errors
///
/// Those of steps and pictures; [`Error::Stopped`] if there is no picture yet.
pub fn shoot(
    sim: &mut Simulation,
    shot: &Shot,
    mut film: Film,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<u64> {
    if shot.frames == 0 {
        return Err(Error::value("the number of pictures", 0, "at least 1"));
    }
    let mut cinema = Cinema::new(sim, &shot.style, shot.size, shot.renderer)?;
    cinema.set_captions(shot.caption.clone());
    if shot.style.paths {
        cinema.draw_paths(sim, shot.paths_fade_in)?;
    }
    let mut filmed = 0;
    // Path lines also need states between the pictures.
    let states = (STATES_OF_FILM / shot.frames).max(STATES_PER_PICTURE);
    while filmed < shot.frames {
        let mut left = if filmed == 0 { shot.steps_before } else { shot.steps_per_frame };
        let most = if cinema.paths.is_some() { left.div_ceil(states) } else { left };
        while left > 0 {
            let steps = left.min(most);
            match sim.step_watched(steps, &mut |_| watch(filmed)) {
                Ok(done) if done == steps => left -= steps,
                Ok(_) | Err(Error::Stopped) => break,
                Err(error) => return Err(error),
            }
            cinema.record_positions(sim)?;
        }
        if left > 0 {
            break;
        }
        let time_secs = filmed as f64 / f64::from(shot.frames_per_sec);
        film.write(cinema.picture(sim, &shot.motion, time_secs)?)?;
        filmed += 1;
        if !watch(filmed) {
            break;
        }
    }
    if filmed == 0 {
        return Err(Error::Stopped);
    }
    film.finish()?;
    Ok(filmed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::Method;
    use crate::scene::Scene;
    use crate::sim::{ASKED_FOR, Choice};

    /// Pictures of bodies on one device and on three that each have a part of them, with densities,
    /// dust, streaks and trails: the same bits.
    #[test]
    fn pictures_added_up_by_several_devices_have_the_bits_of_one() {
        let gpu = Gpu::open_blocking(&AdapterRequest::default()).expect("an adapter");
        let mut scene = Scene::builtin("gas-collision").unwrap();
        scene.set_n(3000).unwrap();
        let bodies = scene.build().unwrap();
        let settings = Settings {
            softening: 0.05,
            dt: 0.01,
            engine: EngineKind::Gpu,
            method: Some(Method::Tree),
            ..Settings::default()
        };
        let size = PictureSize::new(200, 120).unwrap();
        let plain = Style::default();
        let styles = [
            Style { streak_time: 0.3, trail_secs: 2.0, ..plain.clone() },
            Style { colour_by: ColourBy::SurfaceDensity, ..plain.clone() },
            Style { colour_by: ColourBy::Speed, gas: 0.0, dust: 0.0, ..plain },
        ];
        for style in styles {
            let film = |devices: usize| -> Vec<Image> {
                let mut choice =
                    Choice::of(EngineKind::Gpu, Method::Tree, ASKED_FOR, Some(Arc::clone(&gpu)));
                choice.others = vec![Arc::clone(&gpu); devices - 1];
                let mut sim = Simulation::builder(bodies.clone(), settings.clone())
                    .choice(choice)
                    .build()
                    .unwrap();
                let mut cinema = Cinema::new(&mut sim, &style, size, Renderer::Auto).unwrap();
                if devices > 1 {
                    cinema.place = others_painters(&mut sim, size).unwrap();
                    assert!(matches!(&cinema.place, Place::Parts(others) if others.len() == 2));
                } else {
                    cinema.painter.add_by(Some(Adding::Compute));
                }
                let mut pictures = Vec::new();
                for k in 0..3 {
                    let secs = 0.2 * f64::from(k);
                    let motion = CameraMotion::default();
                    pictures.push(cinema.picture(&mut sim, &motion, secs).unwrap());
                    sim.step(1).unwrap();
                }
                pictures
            };
            let (one, several) = (film(1), film(3));
            assert!(one == several, "{:?}", style.colour_by);
            assert!(one[0] != one[1], "the bodies have moved");
        }
    }

    /// Which bodies draw the streaks of others depends on their numbers on one device.
    #[test]
    fn streaks_of_very_many_bodies_are_not_added_up_by_several_devices() {
        let style = Style { streak_time: 1.0, ..Style::default() };
        let size = PictureSize::new(64, 36).unwrap();
        let look = |n: usize| {
            let mut scene = Scene::builtin("plummer").unwrap();
            scene.set_n(n).unwrap();
            Look::new(&style, &scene.build().unwrap(), None).unwrap()
        };
        let (few, many) = (look(20_000), look(20_100));
        assert!(!few.shares_streaks() && many.shares_streaks());
        let gpu = Gpu::open_blocking(&AdapterRequest::default()).expect("an adapter");
        let mut painter = Painter::gpu(&gpu.device, &gpu.queue, size).unwrap();
        let buffer = crate::gpu::storage(&gpu, "bodies", 1);
        let points = DevicePoints {
            pos_mass: &buffer,
            velocity: &buffer,
            acceleration: Some(&buffer),
            count: 1,
            scale: Scale::PLAIN,
        };
        let mut alone = crate::exchange::team(1, None, std::time::Duration::from_secs(9)).remove(0);
        let mut paint = |look: &Look| {
            let mut together = Together { exchange: &mut alone, all: 1, numbers: &buffer };
            painter.paint_together(points, &Camera::default(), look, 0.0, &mut together)
        };
        assert!(paint(&few).unwrap().is_some());
        let refused = paint(&many).unwrap_err().to_string();
        assert!(refused.contains("streaks") && refused.contains("20000"), "{refused}");
    }
}
