//! On how many devices the bodies are: which ones could share them, and changing that while they move.

use super::frame::Frames;
use super::simulated::Waiting;
use crate::app::panel::Shared;
use crate::error::Result;
use crate::forces::Method;
use crate::gpu::{AdapterInfo, Gpu};
use crate::live::{Beside, Live};
use crate::settings::{AdapterName, AdapterRequest, DeviceCount};
use crate::sim::{EngineKind, Settings};

/// Devices that could share the bodies.
#[derive(Default)]
pub struct Sharing {
    /// Those that were named when the window was opened, of which the first ones are taken.
    names: Vec<AdapterName>,
    looking: Option<Beside<Vec<AdapterInfo>>>,
    /// In words, the window's own first; none before they are known.
    adapters: Vec<String>,
    measured: Option<Measured>,
}

/// What was found of several devices, for these bodies.
struct Measured {
    bodies: usize,
    method: Method,
    found: String,
}

impl Sharing {
    /// Begins to look for them beside the window.
    pub fn begin(gpu: &Gpu, request: &AdapterRequest) -> Self {
        let names = request.names.clone();
        // A browser has one.
        let looking = match cfg!(target_arch = "wasm32") {
            true => None,
            false => {
                let (adapter, names) = (gpu.adapter.clone(), names.clone());
                let look = move || async move { Gpu::may_share(&adapter, &names).await };
                Beside::start("looking for adapters", look).ok()
            }
        };
        Self { names, looking, ..Self::default() }
    }

    /// Whether it is still looked for them.
    pub fn is_looking(&self) -> bool {
        self.looking.is_some()
    }

    /// Takes in what was found.
    pub fn take_found(&mut self) {
        let Some(found) = self.looking.as_ref().and_then(Beside::take) else { return };
        self.looking = None;
        match found {
            Ok(found) => self.adapters = found.iter().map(AdapterInfo::in_words).collect(),
            Err(error) => log::warn!("{error}: one device computes"),
        }
    }

    /// Remembers what was measured for a simulation that begins.
    pub fn note(&mut self, live: &Live) {
        if let (DeviceCount::Auto, Some(found)) =
            (live.settings().devices, &live.choice().devices_reason)
        {
            let (bodies, method) = (live.len(), live.choice().method);
            self.measured = Some(Measured { bodies, method, found: found.clone() });
        }
    }

    /// What the panel shows of it.
    pub fn told<'a>(&'a self, live: &'a Live) -> Shared<'a> {
        let is_of_these = |measured: &&Measured| {
            (measured.bodies, measured.method) == (live.len(), live.choice().method)
        };
        let measured = self.measured.as_ref().filter(is_of_these);
        Shared {
            adapters: &self.adapters,
            parts: live.parts(),
            measured: measured.map(|measured| measured.found.as_str()),
            only_one: live.choice().only_one(live.settings()),
        }
    }

    /// What asks for so many, where `now` was asked for.
    fn request(&self, count: DeviceCount, now: &AdapterRequest) -> AdapterRequest {
        let names = match (count, self.names.len()) {
            (_, 0 | 1) => return now.clone(),
            (DeviceCount::These(count), _) => self.names.iter().take(count as usize),
            (DeviceCount::Auto, _) => self.names.iter().take(usize::MAX),
        };
        AdapterRequest { names: names.cloned().collect(), ..*now }
    }
}

/// `now` with that engine: those of the host compute alone.
pub fn with_engine(engine: EngineKind, now: Settings) -> Settings {
    match engine {
        EngineKind::Auto | EngineKind::Gpu => Settings { engine, ..now },
        _ => {
            let (devices, adapter) = (DeviceCount::ONE, now.adapter.first());
            Settings { engine, devices, adapter, ..now }
        }
    }
}

impl Frames {
    /// Goes on with the bodies on so many devices. Engine and method stay those that compute.
    pub(super) fn share_among(&mut self, devices: DeviceCount) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        let (live, now) = (&session.live, session.live.settings().clone());
        let adapter = self.simulated.sharing.request(devices, &now.adapter);
        let settings = Settings { engine: live.choice().kind, devices, adapter, ..now };
        live.choice().check_devices(&settings)?;
        self.want_devices_of(&settings);
        let wanted = &mut self.simulated.wanted.settings;
        (wanted.engine, wanted.method) = (settings.engine, settings.method);
        self.ask_moment(Waiting::Change(Box::new(settings)));
        Ok(())
    }

    /// Other bodies are to be on the devices that these `settings` name.
    pub(super) fn want_devices_of(&mut self, settings: &Settings) {
        let wanted = &mut self.simulated.wanted.settings;
        (wanted.devices, wanted.adapter) = (settings.devices, settings.adapter.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_asked_for_as_a_command_line_would() {
        let of = |names: &str, count: &str| {
            let asked = AdapterRequest::named(names);
            let sharing = Sharing { names: asked.names.clone(), ..Sharing::default() };
            sharing.request(count.parse().unwrap(), &asked.first())
        };
        let [one, two] = ["4", "4,5"].map(AdapterRequest::named);
        assert_eq!((of("4,5,6", "1"), of("4,5,6", "2")), (one.clone(), two));
        assert_eq!(of("4,5,6", "auto"), AdapterRequest::named("4,5,6"));
        // Further ones of its kind.
        assert_eq!((of("4", "3"), of("", "3")), (one, AdapterRequest::default()));
    }

    #[test]
    fn an_engine_of_the_host_computes_alone() {
        let (adapter, devices) = (AdapterRequest::named("0,1"), DeviceCount::These(2));
        let now = Settings { adapter, devices, ..Settings::default() };
        assert_eq!(with_engine(EngineKind::Gpu, now.clone()).devices, devices);
        let alone = with_engine(EngineKind::Cpu, now);
        assert!(alone.check_one_device().is_ok() && alone.engine == EngineKind::Cpu);
    }
}
