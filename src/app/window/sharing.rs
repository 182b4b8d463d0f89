//! The devices that can share the bodies.

use crate::panel::DeviceSharing;
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
    measured: Option<MeasuredSharing>,
}

/// The result of measuring several devices, for these bodies.
struct MeasuredSharing {
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
            self.measured = Some(MeasuredSharing { bodies, method, found: found.clone() });
        }
    }

    /// The information for the panel.
    pub fn summary<'a>(&'a self, live: &'a Live) -> DeviceSharing<'a> {
        let is_of_these = |measured: &&MeasuredSharing| {
            (measured.bodies, measured.method) == (live.len(), live.choice().method)
        };
        let measured = self.measured.as_ref().filter(is_of_these);
        DeviceSharing {
            adapters: &self.adapters,
            parts: live.parts(),
            measured: measured.map(|measured| measured.found.as_str()),
            only_one: live.choice().only_one(live.settings()),
        }
    }

    /// The request for `count` devices; `now` is the current one.
    pub fn request(&self, count: DeviceCount, now: &AdapterRequest) -> AdapterRequest {
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
