//! Opening a group of devices: distributes the bodies over them.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::LocalDevice;
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member, Ranks, shares};
use crate::forces::direct::gpu::{DEFAULT_BLOCK, Dispatch, KernelConfig, Masses};
use crate::frame::Rests;
use crate::gpu::{Gpu, Spent};
use crate::integrate::blocks::Restart;
use crate::sim::Settings;
use crate::sim::device::{DeviceState, RangeExchange};

/// Devices whose rates differ from the mean by at most this fraction get equal ranges.
const UNEVEN: f64 = 0.05;

/// Bodies on several devices, which step in lockstep.
pub struct DeviceGroup {
    /// The devices of this process.
    pub(super) local_devices: Vec<LocalDevice>,
    /// The ranges of all members.
    pub(super) shares: Vec<Range<usize>>,
    /// See [`Gpu::patience`].
    pub(super) patience: Duration,
    /// The ranks that own the other devices.
    pub(super) ranks: Option<Ranks>,
    /// Interactions of the groups that this one replaced.
    pub(super) interactions_before: u64,
}

impl DeviceGroup {
    /// Uploads `bodies` to each of the `devices`, continuing after `restart` if given, and computes
    /// their accelerations. The number of bodies that a device moves is proportional to its rate,
    /// as measured by the first forces.
    ///
    /// # Errors
    /// Those of [`DeviceState::begin_sinks`]; steps in one workgroup, which cannot be shared.
    pub async fn open(
        devices: &[Arc<Gpu>],
        ranks: Option<&Ranks>,
        bodies: &Bodies,
        restart: Option<&Restart>,
        settings: &Settings,
    ) -> Result<Self> {
        let settings = Self::common_settings(devices, ranks, bodies, settings)?;
        let devices_per_rank = devices_per_rank(devices, ranks)?;
        let topology = Topology { devices, ranks, devices_per_rank: &devices_per_rank };
        let even = vec![1.0; devices_per_rank.iter().sum()];
        let rests = restart.and_then(|restart| Rests::find(&restart.columns, bodies.len()));
        let rests = rests.as_ref();
        let mut group = Self::with_weights(topology, bodies, rests, &settings, &even).await?;
        // Devices of one kind get equal ranges, even if other load disturbed the measured rates.
        let measured = group.names_and_rates()?;
        let is_one_kind = measured.iter().all(|(name, _)| *name == measured[0].0);
        let rates: Vec<f64> = measured.iter().map(|(_, rate)| *rate).collect();
        if !is_one_kind && are_uneven(&rates) {
            group = Self::with_weights(topology, bodies, rests, &settings, &rates).await?;
        }
        Ok(group)
    }

    /// Fills in the settings that all devices must have in common: the frame, and the kernel shape
    /// that the first device has for all bodies.
    fn common_settings(
        devices: &[Arc<Gpu>],
        ranks: Option<&Ranks>,
        bodies: &Bodies,
        settings: &Settings,
    ) -> Result<Settings> {
        let first = devices
            .first()
            .ok_or_else(|| Error::value("the number of devices", 0, "at least one that is open"))?;
        let (g, now) = (settings.gravitational_constant, settings.begins_at());
        let frame = settings.frame_of(bodies, now)?;
        // As uploaded to the device: in units of the frame, in f32.
        let narrow = |mass: &f64| (mass * g / frame.mass) as f32;
        let mass: Vec<f32> = bodies.mass.iter().map(narrow).collect();
        let masses = Masses::of(&mass, DEFAULT_BLOCK);
        let config = settings.known.resolve(&settings.kernel, first, bodies.len(), masses)?;
        // Other ranks may have other tuning results or other devices: all use that of rank 0.
        let config = match ranks {
            Some(ranks) => kernel_of_rank_0(ranks, config)?,
            None => config,
        };
        if config.dispatch == Dispatch::OneWorkgroup {
            let allowed = "1 where one workgroup takes all steps (--one-workgroup)";
            return Err(Error::value("--devices", devices.len(), allowed));
        }
        let kernel = config.into();
        Ok(Settings { frame: Some(frame), kernel, ..settings.clone() })
    }

    async fn with_weights(
        topology: Topology<'_>,
        bodies: &Bodies,
        rests: Option<&Rests>,
        settings: &Settings,
        weights: &[f64],
    ) -> Result<Self> {
        let Topology { devices, ranks, .. } = topology;
        let unit = unit_of(settings, bodies.len(), weights.len());
        let shares = shares(bodies.len(), weights, unit);
        let patience = patience(devices);
        let members = topology.members(patience);
        let mut local_devices = Vec::with_capacity(devices.len());
        for (gpu, member) in devices.iter().zip(members) {
            let share = &shares[member.member()];
            let sinks = share.start as u32..share.end as u32;
            let gpu = Arc::clone(gpu);
            let state = DeviceState::begin_sinks(gpu, bodies, sinks, rests, settings).await?;
            let sizes = [bodies.len(), share.len()];
            let exchange = RangeExchange::new(state.gpu(), member, shares.clone(), sizes);
            local_devices.push(LocalDevice { state, exchange, spent: Spent::default() });
        }
        let ranks = ranks.cloned();
        let mut group = Self { local_devices, shares, patience, ranks, interactions_before: 0 };
        group.advance(settings.dt, 0, &mut |_| true)?;
        Ok(group)
    }
}

/// How long a waiting member polls before it sleeps: the shortest time of these devices.
pub(super) fn patience(devices: &[Arc<Gpu>]) -> Duration {
    devices.iter().map(|gpu| gpu.patience()).min().unwrap_or_default()
}

/// The devices of all processes.
#[derive(Clone, Copy)]
pub(super) struct Topology<'a> {
    /// The devices of this process.
    pub devices: &'a [Arc<Gpu>],
    pub ranks: Option<&'a Ranks>,
    /// The number of devices of each rank.
    pub devices_per_rank: &'a [usize],
}

impl Topology<'_> {
    /// The exchange members of this process's devices.
    pub fn members(&self, patience: Duration) -> Vec<Member> {
        let outer = self.ranks.map(|ranks| {
            (Box::new(ranks.clone()) as Box<dyn Exchange>, self.devices_per_rank.to_vec())
        });
        exchange::team(self.devices.len(), outer, patience)
    }
}

impl DeviceGroup {
    /// Names and measured rates of all devices, in the order of members.
    fn names_and_rates(&self) -> Result<Vec<(String, f64)>> {
        let mut own = String::new();
        for LocalDevice { state, .. } in &self.local_devices {
            let name = state.gpu().adapter.name.replace('\n', " ");
            own += &format!("{} {name}\n", state.throughput().rate().to_bits());
        }
        let received = match &self.ranks {
            Some(ranks) => ranks.gather_messages(own.as_bytes())?,
            None => vec![own.into_bytes()],
        };
        let parse = |line: &str| {
            let (rate, name) = line.split_once(' ')?;
            Some((name.to_owned(), f64::from_bits(rate.parse().ok()?)))
        };
        let lines = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        Ok(received
            .iter()
            .map(lines)
            .flat_map(|text| text.lines().filter_map(parse).collect::<Vec<_>>())
            .collect())
    }
}

/// The number of devices of each rank, sent to all.
pub(super) fn devices_per_rank(devices: &[Arc<Gpu>], ranks: Option<&Ranks>) -> Result<Vec<usize>> {
    let own = devices.len();
    let Some(ranks) = ranks else { return Ok(vec![own]) };
    let received = ranks.gather_messages(own.to_string().as_bytes())?;
    let count = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).parse().unwrap_or(0);
    Ok(received.iter().map(count).collect())
}

/// The kernel shape of rank 0, sent to all.
fn kernel_of_rank_0(ranks: &Ranks, config: KernelConfig) -> Result<KernelConfig> {
    let text = toml::to_string(&config).expect("a kernel should be expressible in TOML");
    let received = ranks.gather_messages(text.as_bytes())?;
    let first = String::from_utf8_lossy(&received[0]);
    toml::from_str(&first).map_err(|error| {
        Error::Outside(format!("rank 0 sent a kernel that is not known here: {error}"))
    })
}

/// Shares begin at multiples of this: whole workgroups if each member has at least 8 of them, else
/// 1.
fn unit_of(settings: &Settings, n: usize, members: usize) -> usize {
    let request = &settings.kernel;
    let rows = request.p.unwrap_or(1) as usize * request.r.unwrap_or(1) as usize;
    if n / members.max(1) >= 8 * rows { rows } else { 1 }
}

/// Whether a rate differs from the mean by more than [`UNEVEN`].
fn are_uneven(rates: &[f64]) -> bool {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    rates.iter().any(|rate| (rate / mean - 1.0).abs() > UNEVEN)
}
