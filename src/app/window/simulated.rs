//! What is simulated, what is being made, and what was asked for.

use std::path::PathBuf;
use std::sync::Arc;

use super::FIRST_SCENE;
use super::encounter::Meeting;
use super::load::{Loading, Session, Wanted};
use super::past::Past;
use super::sharing::Sharing;
use super::steer::PointerRequest;
use crate::app::panel::History;
use crate::error::{Error, Result};
use crate::gpu::{DeviceClass, Gpu};
use crate::live::{Beside, Command};
use crate::scene::Scene;
use crate::settings::{InputRequest, ViewRequest};
use crate::sim::{Moment, Settings};

pub struct Simulated {
    pub session: Option<Session>,
    pub loading: Option<Loading>,
    /// The purposes of moments that were asked for.
    pub waiting: Vec<Waiting>,
    pub wanted: Wanted,
    /// What the window was opened with, until the first bodies come.
    pub request: Option<ViewRequest>,
    /// The view that was asked for with these bodies, if any.
    pub first_view: Option<ViewRequest>,
    /// Why the request cannot be met here: nothing is shown then.
    pub refused: Option<Error>,
    pub history: History,
    /// States of the run so far.
    pub past: Past,
    /// Two snapshots being read for an encounter, and those that were read.
    pub meeting: Option<Beside<Meeting>>,
    pub met: Option<Meeting>,
    pub sharing: Sharing,
}

/// Why a moment was asked for.
pub enum Waiting {
    /// To be saved.
    Save(PathBuf),
    /// To find the body at a place.
    Pick(PointerRequest),
    /// To go on with other settings.
    Change(Box<Settings>),
    /// To keep it before another kept state is shown; and whether the run was paused.
    GoTo(Arc<Moment>, bool),
}

impl Simulated {
    /// Begins to make what is asked for.
    pub fn new(gpu: &Arc<Gpu>, request: ViewRequest) -> Result<Self> {
        let input = suited(request.input.clone(), gpu.adapter.class);
        let (steps, settings) = (request.steps.clone(), request.engine.settings()?);
        let sharing = Sharing::begin(gpu, &settings.adapter);
        let wanted = Wanted { steps, settings };
        let loading = Loading::input(gpu, input, wanted.clone(), false)?;
        Ok(Self {
            session: None,
            loading: Some(loading),
            waiting: Vec::new(),
            wanted,
            request: Some(request),
            first_view: None,
            refused: None,
            history: History::default(),
            past: Past::default(),
            meeting: None,
            met: None,
            sharing,
        })
    }

    /// Asks for the bodies; their purpose is remembered until they come.
    pub fn ask_moment(&mut self, purpose: Waiting) -> Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        self.waiting.push(purpose);
        session.live.apply(Command::Moment)
    }
}

/// The same with a number of bodies that runs smoothly on this class of device, if none was asked for. A scene file's
/// own number stays.
pub fn suited(input: InputRequest, class: DeviceClass) -> InputRequest {
    if input.n.is_some() || !Scene::names().any(|name| name == input.input) {
        return input;
    }
    let Ok(Some(scene)) = input.scene() else { return input };
    let Some(n) = scene.n() else { return input };
    let wanted = match class {
        DeviceClass::Discrete if input.input == FIRST_SCENE => 48_000,
        DeviceClass::Discrete => n,
        DeviceClass::Integrated | DeviceClass::Virtual | DeviceClass::Unknown => n.min(16_000),
        // It also draws the picture, and in a page there is no engine on the processor beside it.
        DeviceClass::Software if cfg!(target_arch = "wasm32") => n.min(3_000),
        DeviceClass::Software => n.min(6_000),
    };
    InputRequest { n: (wanted != n).then_some(wanted), ..input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_a_scene_is_opened_its_number_suits_the_device() {
        let of = |name: &str, class| suited(InputRequest::named(name), class).n;
        assert_eq!(of("galaxy-collision", DeviceClass::Software), Some(6_000));
        assert_eq!(of("galaxy-collision", DeviceClass::Integrated), Some(16_000));
        assert_eq!(of("galaxy-collision", DeviceClass::Discrete), Some(48_000));
        assert_eq!(of("figure-eight", DeviceClass::Software), None, "three bodies are three");
        assert_eq!(of("a/snapshot.gvt", DeviceClass::Software), None);
        let asked = InputRequest { n: Some(100_000), ..InputRequest::named("galaxy-collision") };
        assert_eq!(suited(asked.clone(), DeviceClass::Software), asked);
        for name in Scene::names() {
            let input = suited(InputRequest::named(name), DeviceClass::Software);
            let scene = input.scene().unwrap().unwrap();
            assert!(scene.n().is_none_or(|n| n <= 6_000), "{name}");
        }
    }
}
