//! Putting bodies on several devices.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::{Part, Place};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member, Ranks, shares};
use crate::forces::Method;
use crate::forces::direct::gpu::{Dispatch, KernelConfig, Masses, USUAL_BLOCK};
use crate::frame::{Frame, Rests};
use crate::gpu::{Gpu, Spent};
use crate::integrate::blocks::Restart;
use crate::sim::Settings;
use crate::sim::device::{DeviceState, Lockstep, Replica};

/// Shares that differ by less from what was measured stay as they are.
const UNEVEN: f64 = 0.05;

/// Bodies on several devices, which take their steps together.
pub struct DeviceGroup {
    pub(super) parts: Vec<Part>,
    /// Of all members.
    pub(super) shares: Vec<Range<usize>>,
    pub(super) patience: Duration,
    /// The ranks that have the other devices.
    pub(super) ranks: Option<Ranks>,
    /// Interactions of groups that this one has replaced.
    pub(super) before: u64,
}

impl DeviceGroup {
    /// Puts `bodies` on each of the `devices`, to go on after a `restart` if there is one, and computes their
    /// accelerations. Devices move as many bodies as they are fast, as their first forces show.
    ///
    /// Errors: those of [`DeviceState::begin_sinks`]; steps in one workgroup, which cannot be shared; a tree on devices of
    /// several kinds.
    pub async fn open(
        devices: &[Arc<Gpu>],
        ranks: Option<&Ranks>,
        bodies: &Bodies,
        restart: Option<&Restart>,
        settings: &Settings,
    ) -> Result<Self> {
        let settings = Self::alike(devices, ranks, bodies, settings)?;
        let members_of = members_of(devices, ranks)?;
        let place = There { devices, ranks, members_of: &members_of };
        if settings.engine.by(settings.method)?.1 == Method::Tree {
            return Self::of_replicas(place, bodies, restart, &settings).await;
        }
        let even = vec![1.0; members_of.iter().sum()];
        let rests = restart.and_then(|restart| Rests::find(&restart.columns, bodies.len()));
        let rests = rests.as_ref();
        let mut group = Self::with_weights(place, bodies, rests, &settings, &even).await?;
        // Equal devices have equal shares, whatever else their first forces waited for.
        let facts = group.facts()?;
        let are_alike = facts.iter().all(|(name, _)| *name == facts[0].0);
        let rates: Vec<f64> = facts.iter().map(|(_, rate)| *rate).collect();
        if !are_alike && are_uneven(&rates) {
            group = Self::with_weights(place, bodies, rests, &settings, &rates).await?;
        }
        Ok(group)
    }

    /// The settings that all devices take alike: the frame, and the kernel of the first one for all bodies.
    fn alike(
        devices: &[Arc<Gpu>],
        ranks: Option<&Ranks>,
        bodies: &Bodies,
        settings: &Settings,
    ) -> Result<Settings> {
        let first = devices
            .first()
            .ok_or_else(|| Error::value("the number of devices", 0, "at least one that is open"))?;
        let (g, now) = (settings.gravitational_constant, settings.begins_at());
        let frame = settings.frame.unwrap_or_else(|| Frame::of(bodies, g, now));
        // As the device will have them.
        let narrow = |mass: &f64| (mass * g / frame.mass) as f32;
        let mass: Vec<f32> = bodies.mass.iter().map(narrow).collect();
        let masses = Masses::of(&mass, USUAL_BLOCK);
        let config = settings.known.resolve(&settings.kernel, first, bodies.len(), masses)?;
        // Others may have tuned their kernels, or have another kind of device: the first rank's serves for all.
        let config = match ranks {
            Some(ranks) => agreed(ranks, config)?,
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
        place: There<'_>,
        bodies: &Bodies,
        rests: Option<&Rests>,
        settings: &Settings,
        weights: &[f64],
    ) -> Result<Self> {
        let There { devices, ranks, .. } = place;
        let unit = unit_of(settings, bodies.len(), weights.len());
        let shares = shares(bodies.len(), weights, unit);
        let patience = patience(devices);
        let members = place.members(patience);
        let mut parts = Vec::with_capacity(devices.len());
        for (gpu, member) in devices.iter().zip(members) {
            let share = &shares[member.member()];
            let sinks = share.start as u32..share.end as u32;
            let gpu = Arc::clone(gpu);
            let state = DeviceState::begin_sinks(gpu, bodies, sinks, rests, settings).await?;
            let group = Place::Lockstep(Lockstep::new(&state, member, shares.clone()));
            parts.push(Part { state, group, spent: Spent::default() });
        }
        let ranks = ranks.cloned();
        let mut group = Self { parts, shares, patience, ranks, before: 0 };
        group.advance(settings.dt, 0, &mut |_| true)?;
        Ok(group)
    }

    /// Devices that move all bodies each, and share their forces: these must be of one kind.
    async fn of_replicas(
        place: There<'_>,
        bodies: &Bodies,
        restart: Option<&Restart>,
        settings: &Settings,
    ) -> Result<Self> {
        let There { devices, ranks, .. } = place;
        let patience = patience(devices);
        let mut parts = Vec::with_capacity(devices.len());
        for (gpu, member) in devices.iter().zip(place.members(patience)) {
            let mut state =
                DeviceState::begin_again(Arc::clone(gpu), bodies, restart, settings).await?;
            let group = Place::Replica(Replica::new(&mut state, member).await?);
            parts.push(Part { state, group, spent: Spent::default() });
        }
        let ranks = ranks.cloned();
        let all = 0..bodies.len();
        let shares = vec![all; place.members_of.iter().sum()];
        let mut group = Self { parts, shares, patience, ranks, before: 0 };
        let facts = group.facts()?;
        if let Some((other, _)) = facts.iter().find(|(name, _)| *name != facts[0].0) {
            let is = format!("{} and {other}", facts[0].0);
            let allowed = "of one kind with the method tree, whose bodies each of them moves";
            return Err(Error::value("what the devices are", is, allowed));
        }
        group.advance(settings.dt, 0, &mut |_| true)?;
        Ok(group)
    }
}

/// For so long a device of these waits awake.
fn patience(devices: &[Arc<Gpu>]) -> Duration {
    devices.iter().map(|gpu| gpu.patience()).min().unwrap_or_default()
}

/// Where bodies go.
#[derive(Clone, Copy)]
struct There<'a> {
    /// Of this process.
    devices: &'a [Arc<Gpu>],
    ranks: Option<&'a Ranks>,
    /// How many devices each rank has.
    members_of: &'a [usize],
}

impl There<'_> {
    /// The devices' ways to each other.
    fn members(&self, patience: Duration) -> Vec<Member> {
        let outer = self
            .ranks
            .map(|ranks| (Box::new(ranks.clone()) as Box<dyn Exchange>, self.members_of.to_vec()));
        exchange::team(self.devices.len(), outer, patience)
    }
}

impl DeviceGroup {
    /// Names and rates of all devices, in the order of members.
    fn facts(&self) -> Result<Vec<(String, f64)>> {
        let mut own = String::new();
        for Part { state, .. } in &self.parts {
            let name = state.gpu().adapter.name.replace('\n', " ");
            own += &format!("{} {name}\n", state.throughput().rate().to_bits());
        }
        let told = match &self.ranks {
            Some(ranks) => ranks.tell(own.as_bytes())?,
            None => vec![own.into_bytes()],
        };
        let fact = |line: &str| {
            let (rate, name) = line.split_once(' ')?;
            Some((name.to_owned(), f64::from_bits(rate.parse().ok()?)))
        };
        let lines = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        Ok(told
            .iter()
            .map(lines)
            .flat_map(|text| text.lines().filter_map(fact).collect::<Vec<_>>())
            .collect())
    }
}

/// How many devices each rank has.
fn members_of(devices: &[Arc<Gpu>], ranks: Option<&Ranks>) -> Result<Vec<usize>> {
    let own = devices.len();
    let Some(ranks) = ranks else { return Ok(vec![own]) };
    let told = ranks.tell(own.to_string().as_bytes())?;
    let count = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).parse().unwrap_or(0);
    Ok(told.iter().map(count).collect())
}

/// The kernel of the first rank.
fn agreed(ranks: &Ranks, config: KernelConfig) -> Result<KernelConfig> {
    let text = toml::to_string(&config).expect("a kernel should be expressible in TOML");
    let told = ranks.tell(text.as_bytes())?;
    let first = String::from_utf8_lossy(&told[0]);
    toml::from_str(&first).map_err(|error| {
        Error::Outside(format!("rank 0 told no kernel that is known here: {error}"))
    })
}

/// Shares are cut at multiples of this: whole workgroups, where everybody has many of them.
fn unit_of(settings: &Settings, n: usize, members: usize) -> usize {
    let request = &settings.kernel;
    let rows = request.p.unwrap_or(1) as usize * request.r.unwrap_or(1) as usize;
    if n / members.max(1) >= 8 * rows { rows } else { 1 }
}

/// Whether devices with these rates should not have equal shares.
fn are_uneven(rates: &[f64]) -> bool {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    rates.iter().any(|rate| (rate / mean - 1.0).abs() > UNEVEN)
}
