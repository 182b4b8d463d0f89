//! The current session, the one being loaded, and the requests of the user.

use std::path::PathBuf;
use std::sync::Arc;

use super::FIRST_SCENE;
use super::encounter::Meeting;
use super::loading::{Loading, RunChanges};
use super::past::Past;
use super::session::Session;
use super::sharing::Sharing;
use super::steer::PointerRequest;
use crate::panel::History;
use gravitile::error::{Error, Result};
use gravitile::gpu::{DeviceClass, Gpu};
use gravitile::live::Background;
use gravitile::scene::Scene;
use gravitile::settings::{InputRequest, Throw, ViewRequest};
use gravitile::sim::{Settings, State};

pub struct Simulated {
    pub session: Option<Session>,
    pub loading: Option<Loading>,
    /// What the next state that is read back is for.
    pub pending: Vec<Purpose>,
    pub requested: RunChanges,
    /// The request that the window was opened with, until the first bodies are loaded.
    pub request: Option<ViewRequest>,
    /// The view requested with these bodies, if any.
    pub first_view: Option<ViewRequest>,
    /// An error in the request that ends the window.
    pub refused: Option<Error>,
    pub history: History,
    /// Stored states of the run.
    pub past: Past,
    /// Two snapshots being read for an encounter, and those that have been read.
    pub meeting: Option<Background<Meeting>>,
    pub met: Option<Meeting>,
    pub sharing: Sharing,
}

/// What a state of the bodies was requested for.
pub enum Purpose {
    /// To save it.
    Save(PathBuf),
    /// To find the body at a pixel.
    Pick(PointerRequest),
    /// To throw something into it.
    Throw(Box<Throw>),
    /// To continue with other settings.
    Change(Box<Settings>),
    /// To store it before the stored state `to` is shown, before a moment if one is given;
    /// and whether the run was paused.
    GoTo { to: Arc<State>, paused: bool, moment: Option<usize> },
}

impl Simulated {
    /// Starts to load what is requested.
    pub fn new(gpu: &Arc<Gpu>, request: ViewRequest) -> Result<Self> {
        let input = suited(request.input.clone(), gpu.adapter.class);
        let (steps, settings) = (request.steps.clone(), request.engine.settings()?);
        let sharing = Sharing::begin(gpu, &settings.adapter);
        let (throws, compare) = (in_order(request.thrown.throw.clone()), request.compare.clone());
        let requested = RunChanges { steps, settings, field: None, throws, compare };
        let loading = Loading::input(gpu, input, requested.clone(), false)?;
        Ok(Self {
            session: None,
            loading: Some(loading),
            pending: Vec::new(),
            requested,
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

    /// The current settings of the simulation.
    pub fn settings(&self) -> Option<Settings> {
        self.session.as_ref().map(|session| session.live.settings().clone())
    }

    /// Uses the devices of these `settings` for bodies that are loaded later as well.
    pub fn request_devices_of(&mut self, settings: &Settings) {
        let requested = &mut self.requested.settings;
        (requested.devices, requested.adapter) = (settings.devices, settings.adapter.clone());
    }
}

/// In order of their times.
fn in_order(mut throws: Vec<Throw>) -> Vec<Throw> {
    throws.sort_by(|a, b| a.time.total_cmp(&b.time));
    throws
}

/// Sets a number of bodies that runs smoothly on this class of device, if none is requested. A
/// scene file's own number stays.
pub fn suited(input: InputRequest, class: DeviceClass) -> InputRequest {
    if input.n.is_some() || !Scene::names().any(|name| name == input.input) {
        return input;
    }
    let Ok(Some(scene)) = input.scene() else { return input };
    let Some(n) = scene.n() else { return input };
    let suitable = match class {
        DeviceClass::Discrete if input.input == FIRST_SCENE => 48_000,
        DeviceClass::Discrete => n,
        DeviceClass::Integrated | DeviceClass::Virtual | DeviceClass::Unknown => n.min(16_000),
        // A software adapter also draws the picture, and in a page it computes the forces as well.
        DeviceClass::Software if cfg!(target_arch = "wasm32") => n.min(3_000),
        DeviceClass::Software => n.min(12_000),
    };
    InputRequest { n: (suitable != n).then_some(suitable), ..input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_number_of_bodies_suits_the_device() {
        let of = |name: &str, class| suited(InputRequest::named(name), class).n;
        assert_eq!(of("galaxy-collision", DeviceClass::Software), Some(12_000));
        assert_eq!(of("galaxy-collision", DeviceClass::Integrated), Some(16_000));
        assert_eq!(of("galaxy-collision", DeviceClass::Discrete), Some(48_000));
        assert_eq!(of("figure-eight", DeviceClass::Software), None, "three bodies are three");
        assert_eq!(of("a/snapshot.gvt", DeviceClass::Software), None);
        let explicit = InputRequest { n: Some(100_000), ..InputRequest::named("galaxy-collision") };
        assert_eq!(suited(explicit.clone(), DeviceClass::Software), explicit);
        for name in Scene::names() {
            let input = suited(InputRequest::named(name), DeviceClass::Software);
            let scene = input.scene().unwrap().unwrap();
            assert!(scene.n().is_none_or(|n| n <= 12_000), "{name}");
        }
    }
}
