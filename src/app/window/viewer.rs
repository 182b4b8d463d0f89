//! The viewer: the camera and the look of the bodies.

use super::diagram::Overlay;
use super::directing::Directing;
use super::load::Session;
use super::machine::Caption;
use super::memory::Memory;
use super::pictures::{Lines, OnTop};
use super::rest::{Drawing, Rest};
use super::sparing::Sparing;
use super::steer::Steering;
use crate::panel::ViewChoice;
use gravitile::error::Result;
use gravitile::render::directing::path_camera;
use gravitile::render::paths::{self, Paths};
use gravitile::render::{Camera, Look, PictureSize, Style};
use gravitile::settings::ViewRequest;
use gravitile::sim::Moment;

pub struct Viewer {
    pub choice: ViewChoice,
    pub steering: Steering,
    pub directing: Directing,
    /// The look for the choice and these bodies, with all effects, as in saved films and pictures.
    pub look: Option<Look>,
    /// The choice that the look was made for; `None` if it must be made again.
    pub look_of: Option<ViewChoice>,
    /// The look without the effects that are left out of the window's pictures, if any are.
    pub spared_look: Option<Look>,
    pub sparing: Sparing,
    /// Decides how the picture is drawn when nothing moves.
    pub rest: Rest,
    /// The diagram over the picture.
    pub diagram: Overlay,
    /// The paths of a few bodies, and their colours.
    pub paths: Paths,
    pub path_colours: Vec<[u8; 3]>,
}

impl Viewer {
    /// The requested view; a request without looks uses the stored ones.
    pub fn new(request: &ViewRequest, memory: &Memory) -> Result<Self> {
        let mut choice = ViewChoice { style: request.look.style()?, ..ViewChoice::default() };
        if choice.style == Style::default() {
            memory.apply_to(&mut choice);
        }
        let steering = Steering::new(Camera::default());
        Ok(Self {
            choice,
            steering,
            directing: Directing::default(),
            look: None,
            look_of: None,
            spared_look: None,
            sparing: Sparing::default(),
            rest: Rest::default(),
            diagram: Overlay::default(),
            paths: Paths::default(),
            path_colours: Vec::new(),
        })
    }

    /// Begins path lines for other bodies, if there are few.
    pub fn begin_paths(&mut self, session: &Session) {
        self.paths = Paths::new(paths::FADES_WITHIN * session.hints.until);
        self.path_colours = match Paths::suit(session.bodies.len()) {
            true => paths::colours(&session.bodies),
            false => Vec::new(),
        };
    }

    /// Whether there are path lines to draw.
    pub fn has_paths(&self) -> bool {
        self.choice.style.paths && !self.path_colours.is_empty()
    }

    /// The drawings on a picture saved now, or on a film's pictures, which are `interval` of
    /// simulated time apart.
    pub fn on_top(&self, session: &Session, interval: f64) -> OnTop {
        OnTop { lines: self.lines(), captions: Caption::of(self, session, interval) }
    }

    fn lines(&self) -> Option<Lines> {
        self.has_paths().then(|| Lines {
            paths: self.paths.clone(),
            camera: self.steering.camera(),
            colours: self.path_colours.clone(),
        })
    }

    /// Moves the camera along its path, if it follows one, to its place at a time of the run: for a
    /// picture of `size`, and `nearer` times nearer.
    pub fn go_along(&mut self, time: f64, (size, nearer): (PictureSize, f64)) {
        let camera = path_camera(&self.choice.path, self.steering.camera(), time, size);
        if let (Some(camera), true) = (camera, self.choice.plays) {
            self.steering.put(camera.zoomed(nearer));
        }
    }

    /// Whether the last picture lacks effects that one at rest would have.
    pub fn needs_full(&self) -> bool {
        self.spared_look.is_some() && self.rest.last() == Some(Drawing::Reduced)
    }

    /// Whether the last picture lacks effects and showed another view than the one before.
    pub fn lacks_and_moved(&self) -> bool {
        self.spared_look.is_some() && self.rest.has_moved()
    }

    /// Sets the target of the colour scales, which suits the bodies at `moment`.
    pub fn aim(&mut self, moment: &Moment) {
        for look in [&mut self.look, &mut self.spared_look].into_iter().flatten() {
            look.aim_values(&moment.bodies, Some(&moment.acceleration));
        }
    }

    /// Moves the colour scales towards their target for `secs`; returns whether they moved.
    pub fn approach(&mut self, secs: f64) -> bool {
        let looks = [&mut self.look, &mut self.spared_look].into_iter().flatten();
        looks.fold(false, |moved, look| look.approach_values(secs) | moved)
    }

    /// Rebuilds the looks if the choice or the bodies have changed; returns whether they had.
    pub fn refresh(&mut self, session: Option<&Session>) -> Result<bool> {
        let Some(session) = session else { return Ok(false) };
        let is_known = self.look.is_some() && self.look_of.as_ref() == Some(&self.choice);
        if !self.choice.spares {
            self.sparing.forget();
        }
        let spared = self.sparing.spared(&self.choice.style);
        let drawn = self.spared_look.as_ref().or(self.look.as_ref());
        let every = self.sparing.every();
        let is_drawn = |look: &Look| look.style == spared && look.every == every;
        if is_known && drawn.is_some_and(is_drawn) {
            return Ok(false);
        }
        let zero;
        let acceleration = match &session.last {
            Some(moment) => &moment.acceleration,
            None => {
                zero = vec![glam::DVec3::ZERO; session.bodies.len()];
                &zero
            }
        };
        let made = |style: &Style| -> Result<Look> {
            let mut look =
                Look::surveyed(style, &session.bodies, Some(acceleration), &session.survey)?;
            // After the beginning of a run the scale must suit the current state.
            if let Some(moment) = &session.last {
                look.follow_values(&moment.bodies, Some(&moment.acceleration), f64::INFINITY);
            }
            Ok(look)
        };
        if !is_known {
            self.look = Some(made(&self.choice.style)?);
        }
        self.spared_look = match spared == self.choice.style && every == 1 {
            true => None,
            false => Some(made(&spared)?.thinned(every)),
        };
        self.look_of = Some(self.choice.clone());
        Ok(true)
    }
}
