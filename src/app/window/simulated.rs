//! What is simulated, what is in the making, and what was asked of it.

use std::path::PathBuf;
use std::sync::Arc;

use super::FIRST_SCENE;
use super::load::{Loading, Session, Wanted};
use super::steer::PointerRequest;
use crate::app::panel::History;
use crate::error::Result;
use crate::gpu::{DeviceClass, Gpu};
use crate::live::Command;
use crate::settings::{InputRequest, ViewRequest};
use crate::sim::Settings;

pub struct Simulated {
    pub session: Option<Session>,
    pub loading: Option<Loading>,
    /// What moments that were asked for are for.
    pub waiting: Vec<Waiting>,
    pub wanted: Wanted,
    /// What the window was opened with, until the first bodies are there.
    pub request: Option<ViewRequest>,
    pub history: History,
}

/// Why a moment was asked for.
pub enum Waiting {
    /// To be saved.
    Save(PathBuf),
    /// To find the body at a place.
    Pick(PointerRequest),
    /// To go on with other settings.
    Change(Box<Settings>),
}

impl Simulated {
    /// Begins to make what is asked for.
    pub fn new(gpu: &Arc<Gpu>, request: ViewRequest) -> Result<Self> {
        let mut input = request.input.clone();
        if input == InputRequest::named(FIRST_SCENE) {
            input.n = Some(first_count(gpu.adapter.class));
        }
        let (steps, settings) = (request.steps.clone(), request.engine.settings()?);
        let wanted = Wanted { steps, settings };
        let loading = Loading::input(gpu, input, wanted.clone(), false)?;
        Ok(Self {
            session: None,
            loading: Some(loading),
            waiting: Vec::new(),
            wanted,
            request: Some(request),
            history: History::default(),
        })
    }

    /// Asks for the bodies; what for is remembered until they come.
    pub fn ask_moment(&mut self, purpose: Waiting) -> Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        self.waiting.push(purpose);
        session.live.apply(Command::Moment)
    }
}

/// Bodies of the first scene that run smoothly on a class of device.
fn first_count(class: DeviceClass) -> usize {
    match class {
        DeviceClass::Discrete => 48_000,
        DeviceClass::Integrated | DeviceClass::Virtual | DeviceClass::Unknown => 16_000,
        DeviceClass::Software => 6_000,
    }
}
