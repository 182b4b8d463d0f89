//! Captions on pictures and films saved from a window; a page has no font for them.

use super::super::load::Session;
use super::super::viewer::Viewer;
use gravitile::bodies::Component;
use gravitile::render::captions::Captions;
use gravitile::render::writing::Said;
use gravitile::render::{Camera, Image, Look};

/// Captions for a picture: their content `said`, the camera, the look, the components and the time.
pub struct Caption {
    pub said: Said,
    pub camera: Camera,
    pub look: Look,
    pub components: Vec<Component>,
    pub time: f64,
}

impl Caption {
    /// Captions of the current view; `None` if none are requested. The time has enough digits to
    /// distinguish pictures that are `interval` of simulated time apart.
    pub fn of(viewer: &Viewer, session: &Session, interval: f64) -> Option<Self> {
        let captions = viewer.choice.captions;
        let look = viewer.look.as_ref().filter(|_| captions != Captions::default())?;
        let (title, units) =
            (session.title.clone(), viewer.choice.units(&session.template.units).clone());
        Some(Self {
            said: Said { captions, title, units, interval },
            camera: viewer.steering.camera(),
            look: look.clone(),
            components: session.bodies.components.clone(),
            time: session.live.status().time,
        })
    }

    /// Sets the picture's time.
    pub fn is_of(&mut self, time: f64) {
        self.time = time;
    }

    /// Draws the captions on the picture.
    pub fn write(&self, image: &mut Image) {
        self.said.draw(image, (&self.camera, &self.look, &self.components), self.time);
    }
}
