//! The number of devices: which ones can share the bodies, and changes while the simulation runs.

use super::frame::Frames;
use super::simulated::Purpose;
use crate::panel::Shared;
use gravitile::error::Result;
use gravitile::forces::Method;
use gravitile::gpu::{AdapterInfo, Gpu};
use gravitile::live::{Background, Live};
use gravitile::settings::{AdapterName, AdapterRequest, DeviceCount};
use gravitile::sim::{EngineKind, Settings};

/// Devices that can share the bodies.
#[derive(Default)]
pub struct Sharing {
    /// The adapters named when the window was opened, in the order in which they are used.
    names: Vec<AdapterName>,
    searching: Option<Background<Vec<AdapterInfo>>>,
    /// Descriptions of the adapters, the window's own first; empty until they are known.
    adapters: Vec<String>,
    measured: Option<Measured>,
}

/// The result of measuring several devices, for these bodies.
struct Measured {
    bodies: usize,
    method: Method,
    found: String,
}

impl Sharing {
    /// Starts to search for them in the background.
    pub fn begin(gpu: &Gpu, request: &AdapterRequest) -> Self {
        let names = request.names.clone();
        // A browser has one adapter.
        let searching = match cfg!(target_arch = "wasm32") {
            true => None,
            false => {
                let (adapter, names) = (gpu.adapter.clone(), names.clone());
                let look = move || async move { Gpu::may_share(&adapter, &names).await };
                Background::start("looking for adapters", look).ok()
            }
        };
        Self { names, searching, ..Self::default() }
    }

    /// Whether the search is in progress.
    pub fn is_searching(&self) -> bool {
        self.searching.is_some()
    }

    /// Takes in the result of the search.
    pub fn take_found(&mut self) {
        let Some(found) = self.searching.as_ref().and_then(Background::take) else { return };
        self.searching = None;
        match found {
            Ok(found) => self.adapters = found.iter().map(AdapterInfo::in_words).collect(),
            Err(error) => log::warn!("{error}: one device computes"),
        }
    }

    /// Stores the measurement of a new simulation.
    pub fn note(&mut self, live: &Live) {
        if let (DeviceCount::Auto, Some(found)) =
            (live.settings().devices, &live.choice().devices_reason)
        {
            let (bodies, method) = (live.len(), live.choice().method);
            self.measured = Some(Measured { bodies, method, found: found.clone() });
        }
    }

    /// The information for the panel.
    pub fn summary<'a>(&'a self, live: &'a Live) -> Shared<'a> {
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

    /// The request for `count` devices; `now` is the current one.
    fn request(&self, count: DeviceCount, now: &AdapterRequest) -> AdapterRequest {
        let names = match (count, self.names.len()) {
            (_, 0 | 1) => return now.clone(),
            (DeviceCount::These(count), _) => self.names.iter().take(count as usize),
            (DeviceCount::Auto, _) => self.names.iter().take(usize::MAX),
        };
        AdapterRequest { names: names.cloned().collect(), ..*now }
    }
}

/// `now` with that engine; host engines use one device.
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
    /// Continues on this number of devices. Engine and method stay those in use.
    pub(super) fn share_among(&mut self, devices: DeviceCount) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        let (live, now) = (&session.live, session.live.settings().clone());
        let adapter = self.simulated.sharing.request(devices, &now.adapter);
        let settings = Settings { engine: live.choice().kind, devices, adapter, ..now };
        live.choice().check_devices(&settings)?;
        self.want_devices_of(&settings);
        let requested = &mut self.simulated.requested.settings;
        (requested.engine, requested.method) = (settings.engine, settings.method);
        self.request_moment(Purpose::Change(Box::new(settings)));
        Ok(())
    }

    /// Uses the devices of these `settings` for bodies that are loaded later as well.
    pub(super) fn want_devices_of(&mut self, settings: &Settings) {
        let requested = &mut self.simulated.requested.settings;
        (requested.devices, requested.adapter) = (settings.devices, settings.adapter.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_count_requests_the_first_named_adapters() {
        let of = |names: &str, count: &str| {
            let named = AdapterRequest::named(names);
            let sharing = Sharing { names: named.names.clone(), ..Sharing::default() };
            sharing.request(count.parse().unwrap(), &named.first())
        };
        let [one, two] = ["4", "4,5"].map(AdapterRequest::named);
        assert_eq!((of("4,5,6", "1"), of("4,5,6", "2")), (one.clone(), two));
        assert_eq!(of("4,5,6", "auto"), AdapterRequest::named("4,5,6"));
        // Several devices of the same kind.
        assert_eq!((of("4", "3"), of("", "3")), (one, AdapterRequest::default()));
    }

    #[test]
    fn host_engine_uses_one_device() {
        let (adapter, devices) = (AdapterRequest::named("0,1"), DeviceCount::These(2));
        let now = Settings { adapter, devices, ..Settings::default() };
        assert_eq!(with_engine(EngineKind::Gpu, now.clone()).devices, devices);
        let alone = with_engine(EngineKind::Cpu, now);
        assert!(alone.check_one_device().is_ok() && alone.engine == EngineKind::Cpu);
    }
}
