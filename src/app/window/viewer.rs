//! Who looks: from where, and how it is to be painted.

use std::sync::Arc;

use super::diagram::Over;
use super::load::Session;
use super::memory::Memory;
use super::steer::Steering;
use crate::app::panel::ViewChoice;
use crate::error::Result;
use crate::render::{Camera, Look, Style};
use crate::settings::ViewRequest;

pub struct Viewer {
    pub choice: ViewChoice,
    pub steering: Steering,
    /// What the choice comes to for the bodies.
    pub look: Option<Look>,
    /// The choice that it was made for; none where it must be made anew.
    pub look_of: Option<ViewChoice>,
    /// What is drawn over the picture.
    pub diagram: Over,
}

impl Viewer {
    /// As it is asked for; where nothing is said of the looks, as they were remembered.
    pub fn new(request: &ViewRequest, memory: &Memory) -> Result<Self> {
        let mut choice = ViewChoice { style: request.look.style()?, ..ViewChoice::default() };
        if choice.style == Style::default() {
            memory.give_view(&mut choice);
        }
        let steering = Steering::new(Camera::default());
        Ok(Self { choice, steering, look: None, look_of: None, diagram: Over::default() })
    }

    /// Makes the looks anew where the choice or the bodies have changed, and says whether they had.
    pub fn refresh(&mut self, session: Option<&Session>) -> Result<bool> {
        let Some(session) = session else { return Ok(false) };
        if self.look.is_some() && self.look_of.as_ref() == Some(&self.choice) {
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
        let look = Look::new(&self.choice.style, &session.bodies, Some(acceleration))?;
        self.look = Some(look.with_ages(Arc::clone(&session.ages)));
        self.look_of = Some(self.choice.clone());
        Ok(true)
    }
}
