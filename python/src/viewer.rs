//! Pictures one after the other, with a camera that a mouse moves: what a widget in a notebook
//! shows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use gravitile::bodies::Bodies;
use gravitile::error::Result;
use gravitile::film::Cinema;
use gravitile::glam::DVec2;
use gravitile::render::{
    Camera, CameraMotion, Director, Image, Look as Looks, Painter, PictureSize, Style,
};
use gravitile::sim::Simulation;
use gravitile::units::Units;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::attend::attend;
use crate::fields::Given;
use crate::pictures::{Look, suited_painter};
use crate::simulation::Engine;

/// What a mouse did since the last picture, in pixels of the picture.
#[derive(Clone, Copy, Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Moves {
    /// Back to the first camera, before the rest.
    reset: bool,
    /// A drag that turns the camera around its target.
    turn: (f64, f64),
    /// A drag that moves it sideways.
    pan: (f64, f64),
    /// How many times nearer, above 0, and the pixel that stays in its place.
    zoom: f64,
    at: (f64, f64),
}

/// What is painted.
enum Subject {
    /// A simulation, with a painter that is made again when its number of bodies changes.
    Running(Option<Box<(usize, Cinema)>>),
    /// Bodies that are in no simulation.
    Still(Box<(Painter, Looks, Bodies)>),
}

/// The camera and the painter.
struct Eye {
    subject: Subject,
    look: Look,
    size: PictureSize,
    style: Style,
    motion: CameraMotion,
    first: Camera,
    since: Instant,
}

impl Eye {
    fn new(look: Look, bodies: &Bodies, subject: Subject) -> Result<Self> {
        let (style, size) = (look.style()?, look.size()?);
        let motion = look.motion(bodies, &style)?;
        let first = motion.start;
        Ok(Self { subject, look, size, style, motion, first, since: Instant::now() })
    }

    fn moved(&mut self, moves: Moves) -> Result<()> {
        let pixels = |(x, y): (f64, f64)| DVec2::new(x, y);
        let start = if moves.reset { self.first } else { self.motion.start };
        let camera = start
            .dragged(pixels(moves.turn), self.size)
            .panned(pixels(moves.pan), self.size)
            .zoomed_to(moves.zoom, pixels(moves.at), self.size);
        camera.validate()?;
        self.motion.start = camera;
        Ok(())
    }

    fn picture(&mut self, simulation: Option<&mut Simulation>) -> Result<Image> {
        let secs = self.since.elapsed().as_secs_f64();
        match (&mut self.subject, simulation) {
            (Subject::Running(cinema), Some(simulation)) => {
                let n = simulation.len();
                let made = match cinema.take().filter(|made| made.0 == n) {
                    Some(made) => made,
                    None => {
                        let (look, style) = (&self.look, &self.style);
                        let mut made = Cinema::new(simulation, style, self.size, look.renderer()?)?;
                        made.set_captions(look.caption(0.0, Units::default())?);
                        Box::new((n, made))
                    }
                };
                cinema.insert(made).1.picture(simulation, &self.motion, secs)
            }
            (Subject::Still(still), _) => {
                let (painter, looks, bodies) = &mut **still;
                let times = (secs, 0.0);
                let camera = Director::default().camera(
                    &self.motion,
                    times,
                    bodies,
                    &self.style,
                    self.size,
                )?;
                let mut image = painter.paint(&*bodies, &camera, looks, secs)?;
                let shown = (&camera, &*looks, &bodies.components[..]);
                self.look.caption(0.0, Units::default())?.draw(&mut image, shown, 0.0);
                Ok(image)
            }
            (Subject::Running(_), None) => Ok(Image::new(self.size)),
        }
    }
}

/// A camera on a simulation or on bodies, which paints picture after picture.
#[pyclass(frozen, module = "gravitile._gravitile")]
pub struct Viewer {
    eye: Arc<Mutex<Eye>>,
}

#[pymethods]
impl Viewer {
    /// A view of a simulation, whose pictures must then be of the same one, or of bodies.
    #[new]
    fn new(
        py: Python<'_>,
        engine: Option<&Engine>,
        bodies: Option<Given<'_>>,
        look: Look,
    ) -> PyResult<Self> {
        let eye = match (engine, bodies) {
            (Some(engine), _) => engine.with(py, move |simulation| {
                Eye::new(look, &simulation.bodies()?, Subject::Running(None))
            })?,
            (None, bodies) => {
                let bodies = bodies.map(|bodies| bodies.snapshot()).transpose()?;
                let bodies = bodies.map(|snapshot| snapshot.bodies).unwrap_or_default();
                let open = move || {
                    let looks = Looks::new(&look.style()?, &bodies, None)?;
                    let painter = suited_painter(look.renderer()?, look.size()?)?;
                    let mut eye = Eye::new(look, &bodies, Subject::Running(None))?;
                    eye.subject = Subject::Still(Box::new((painter, looks, bodies)));
                    Ok(eye)
                };
                attend(py, open, &mut |_| Ok(()))?
            }
        };
        Ok(Self { eye: Arc::new(Mutex::new(eye)) })
    }

    /// Moves the camera and paints: a WebP file.
    fn frame<'py>(
        &self,
        py: Python<'py>,
        engine: Option<&Engine>,
        moves: Moves,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let eye = Arc::clone(&self.eye);
        let paint = move |simulation: Option<&mut Simulation>| {
            let mut eye = eye.lock().unwrap_or_else(PoisonError::into_inner);
            eye.moved(moves)?;
            eye.picture(simulation)?.webp()
        };
        let file = match engine {
            Some(engine) => engine.with(py, move |simulation| paint(Some(simulation)))?,
            None => attend(py, move || paint(None), &mut |_| Ok(()))?,
        };
        Ok(PyBytes::new(py, &file))
    }
}
