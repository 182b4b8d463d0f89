//! Pictures and films.

use std::path::Path;

use gravitile::bodies::Bodies;
use gravitile::error::{Error, Result};
use gravitile::film::{Cinema, Renderer, Shot};
use gravitile::glam::DVec3;
use gravitile::gpu::{AdapterRequest, DeviceClass};
use gravitile::render::captions::Captions;
use gravitile::render::paths::FADES_WITHIN;
use gravitile::render::writing::Caption;
use gravitile::render::{
    Camera, CameraMotion, ColourBy, Director, Film, FilmOptions, Follow, Image, Look as Looks,
    PALETTES, Painter, PictureSize, Style,
};
use gravitile::sim::Simulation;
use gravitile::units::Units;
use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::attend::attend;
use crate::devices;
use crate::errors::{GravitileError, InputError};
use crate::fields::Given;

/// The keyword arguments of pictures.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Look {
    size: (u32, u32),
    colour: String,
    palette: Option<String>,
    halo: bool,
    /// Degrees between the line of sight and the z axis.
    inclination: f64,
    /// Degrees about the z axis.
    azimuth: f64,
    /// Half the height of the picture at the target; `None`: nearly all bodies are in the picture.
    extent: Option<f64>,
    /// The point in the middle.
    centre: Option<(f64, f64, f64)>,
    follow: String,
    /// Degrees per second of a film.
    orbit: f64,
    captions: String,
    title: String,
    renderer: String,
}

impl Look {
    pub fn renderer(&self) -> Result<Renderer> {
        Renderer::from_name(&self.renderer)
    }

    pub fn size(&self) -> Result<PictureSize> {
        PictureSize::new(self.size.0, self.size.1)
    }

    pub fn style(&self) -> Result<Style> {
        let palette = match &self.palette {
            None => &PALETTES[0],
            Some(name) => PALETTES.iter().find(|one| one.name == *name).ok_or_else(|| {
                let known: Vec<&str> = PALETTES.iter().map(|one| one.name).collect();
                Error::Unknown { kind: "palette", name: name.clone(), known: known.join(", ") }
            })?,
        };
        let colour_by = ColourBy::from_name(&self.colour)?;
        let style = Style { colour_by, palette, show_halo: self.halo, ..Style::default() };
        style.validate()?;
        Ok(style)
    }

    pub fn motion(&self, bodies: &Bodies, style: &Style) -> Result<CameraMotion> {
        let mut start = Camera {
            azimuth_rad: self.azimuth.to_radians(),
            elevation_rad: (90.0 - self.inclination).to_radians(),
            ..Camera::default()
        };
        match self.extent {
            None => start = start.framing(bodies, style, 0.95, self.size()?),
            Some(extent) if extent.is_finite() && extent > 0.0 => {
                start.distance = extent / (0.5 * start.fov_rad).tan();
            }
            Some(extent) => {
                return Err(Error::value("extent", extent, "finite and greater than 0"));
            }
        }
        let follow = Follow::from_name(&self.follow, bodies)?;
        if let Some(target) = follow.target(bodies)? {
            start.target = target;
        }
        if let Some((x, y, z)) = self.centre {
            start.target = DVec3::new(x, y, z);
        }
        start.validate()?;
        let orbit_rad_per_sec = self.orbit.to_radians();
        Ok(CameraMotion { start, orbit_rad_per_sec, follow, ..CameraMotion::default() })
    }

    pub fn caption(&self, interval: f64, units: Units) -> Result<Caption> {
        let captions = Captions::from_names(&self.captions)?;
        Ok(Caption { captions, title: self.title.clone(), units, interval })
    }

    /// The picture of a simulation now.
    pub fn still(&self, simulation: &mut Simulation) -> Result<Image> {
        let style = self.style()?;
        let motion = self.motion(&simulation.bodies()?, &style)?;
        let renderer = self.renderer()?;
        let mut cinema = Cinema::new(simulation, &style, self.size()?, renderer)?;
        cinema.set_captions(self.caption(0.0, Units::default())?);
        cinema.picture(simulation, &motion, 0.0)
    }

    /// A film of a simulation, opened: pictures, pictures per second, steps between two.
    pub fn shot(
        &self,
        simulation: &mut Simulation,
        path: &Path,
        (frames, frames_per_sec, steps_per_frame): (u64, u32, u64),
    ) -> Result<(Shot, Film)> {
        let (style, size) = (self.style()?, self.size()?);
        let motion = self.motion(&simulation.bodies()?, &style)?;
        let interval = steps_per_frame as f64 * simulation.dt();
        let shot = Shot {
            frames,
            frames_per_sec,
            steps_before: 0,
            steps_per_frame,
            size,
            motion,
            style,
            renderer: self.renderer()?,
            caption: self.caption(interval, Units::default())?,
            paths_fade_in: FADES_WITHIN * interval * frames as f64,
        };
        let film = Film::open(path, FilmOptions { size, frames_per_sec })?;
        Ok((shot, film))
    }

    /// The picture of bodies that are in no simulation.
    fn of_bodies(&self, bodies: &Bodies) -> Result<Image> {
        let (style, size) = (self.style()?, self.size()?);
        let motion = self.motion(bodies, &style)?;
        let times = (0.0, 0.0);
        let camera = Director::default().camera(&motion, times, bodies, &style, size)?;
        let mut painter = suited_painter(self.renderer()?, size)?;
        let looks = Looks::new(&style, bodies, None)?;
        let mut image = painter.paint(bodies, &camera, &looks, 0.0)?;
        let shown = (&camera, &looks, &bodies.components[..]);
        self.caption(0.0, Units::default())?.draw(&mut image, shown, 0.0);
        Ok(image)
    }
}

/// A painter of bodies that are in no simulation.
///
/// # Errors
/// A GPU is requested, but missing.
pub fn suited_painter(renderer: Renderer, size: PictureSize) -> Result<Painter> {
    let gpu = match renderer {
        Renderer::Cpu => None,
        Renderer::Gpu => devices::open(&AdapterRequest::default(), false)?,
        // The CPU's painter is faster than a software adapter.
        _ => devices::open(&AdapterRequest::default(), true)?
            .filter(|gpu| gpu.adapter.class != DeviceClass::Software),
    };
    match gpu {
        Some(gpu) => Painter::gpu(&gpu.device, &gpu.queue, size),
        None => Ok(Painter::cpu(size)),
    }
}

/// An array of shape (height, width, 4): red, green, blue, 255.
pub fn from_image<'py>(py: Python<'py>, image: &Image) -> PyResult<Bound<'py, PyArray3<u8>>> {
    let (width, height) = (image.size().width() as usize, image.size().height() as usize);
    PyArray1::from_slice(py, image.rgba()).reshape([height, width, 4])
}

/// A picture of bodies.
#[pyfunction]
pub fn picture<'py>(
    py: Python<'py>,
    bodies: Given<'_>,
    look: Look,
) -> PyResult<Bound<'py, PyArray3<u8>>> {
    let bodies = bodies.snapshot()?.bodies;
    let image = attend(py, move || look.of_bodies(&bodies), &mut |_| Ok(()))?;
    from_image(py, &image)
}

/// The PNG file of a picture of shape (height, width, 4).
#[pyfunction]
pub fn png<'py>(
    py: Python<'py>,
    array: PyReadonlyArray3<'py, u8>,
) -> PyResult<Bound<'py, PyBytes>> {
    let wrong = || InputError::new_err("a picture must have the shape (height, width, 4)");
    let &[height, width, 4] = array.shape() else { return Err(wrong()) };
    let side = |of: usize| u32::try_from(of).map_err(|_| wrong());
    let size = PictureSize::new(side(width)?, side(height)?).map_err(crate::errors::raised)?;
    let mut image = Image::new(size);
    let bytes = array.as_array();
    image.rgba_mut().iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
    let mut file = Vec::new();
    image
        .write_png(&mut file)
        .map_err(|problem| GravitileError::new_err(format!("encoding a PNG: {problem}")))?;
    Ok(PyBytes::new(py, &file))
}
