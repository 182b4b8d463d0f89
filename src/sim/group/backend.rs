//! [`Backend`] for a group of devices.

use std::sync::Arc;

use glam::DVec3;

use super::{DeviceGroup, LocalDevice};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::Method;
use crate::gpu::{Gpu, Share};
use crate::integrate::blocks::Restart;
use crate::sim::backend::advanced;
use crate::sim::{
    Backend, BackendEntry, BodyParts, BoxFuture, Capabilities, DevicePart, Observed, Settings,
    Varying, Watch,
};

/// Several devices, if several are chosen, by all pairs, and all bodies share one step.
pub const BACKEND: BackendEntry = BackendEntry {
    suits: |choice, settings, _| {
        let are_several = !choice.others.is_empty() || choice.is_shared();
        choice.gpu.is_some()
            && are_several
            && choice.method == Method::Direct
            && !choice.is_mixed
            && !settings.steps_on_host()
    },
    open: |choice, bodies, settings, restart| {
        Box::pin(async move {
            let devices: Vec<Arc<Gpu>> = choice.devices().cloned().collect();
            let group =
                DeviceGroup::open(&devices, choice.ranks.as_ref(), bodies, restart, settings)
                    .await?;
            Ok(Box::new(group) as Box<dyn Backend>)
        })
    },
};

impl Backend for DeviceGroup {
    fn describe(&self) -> String {
        let mut text = self.first().describe();
        for local in &self.local_devices[1..] {
            text += &format!(" + {}", local.state.gpu().adapter.name);
        }
        if let Some(ranks) = &self.ranks {
            text += &format!(", on each of {} ranks", ranks.size());
        }
        text
    }

    fn interactions(&self) -> u64 {
        // All devices take the same steps, so interactions scale with the number of sinks.
        let first = self.first();
        let (n, own) = (u64::from(first.buffers().count), first.sinks().len().max(1) as u64);
        self.interactions_before
            + (u128::from(first.interactions()) * u128::from(n) / u128::from(own)) as u64
    }

    fn advance<'a>(
        &'a mut self,
        dt: f64,
        steps: u64,
        watch: &'a mut Watch<'a>,
    ) -> BoxFuture<'a, (u64, Result<()>)> {
        Box::pin(async move {
            let mut ended = false;
            let mut watch = |done| {
                let continues = watch(done);
                ended |= !continues;
                continues
            };
            let done = DeviceGroup::advance(self, dt, steps, &mut watch);
            advanced(done, steps, ended)
        })
    }

    fn read<'a>(
        &'a mut self,
        bodies: &'a mut Bodies,
        time: f64,
    ) -> BoxFuture<'a, Result<Vec<DVec3>>> {
        Box::pin(self.read_all(bodies, time))
    }

    fn potential(&mut self) -> BoxFuture<'_, Result<Vec<f64>>> {
        Box::pin(async move { self.potentials() })
    }

    fn replace<'a>(
        &'a mut self,
        bodies: &'a Bodies,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let devices: Vec<_> =
                self.local_devices.iter().map(|local| Arc::clone(local.state.gpu())).collect();
            let ranks = self.ranks.clone();
            let mut other =
                DeviceGroup::open(&devices, ranks.as_ref(), bodies, None, settings).await?;
            other.interactions_before = self.interactions();
            *self = other;
            Ok(())
        })
    }

    fn set_softening(&mut self, softening: f64) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            // All devices have the same frame and masses, so they agree.
            let takes = self.first().kernel_takes(softening);
            if takes {
                for local in &mut self.local_devices {
                    local.state.set_softening(softening);
                }
                self.advance_all(((0.0, 0), true), &mut |_| true)?;
            }
            Ok(takes)
        })
    }

    fn restart(&self) -> Restart {
        self.first().restart()
    }

    fn capabilities(&self, time: f64) -> Capabilities<'_> {
        self.first().capabilities(time)
    }

    fn take_observed(&mut self) -> Observed {
        let part = |local: &mut LocalDevice| DevicePart {
            device: local.state.gpu().adapter.in_words(),
            share: Share::Bodies(local.exchange.own()),
            exchanging: local.spent.take(),
        };
        Observed { parts: self.local_devices.iter_mut().map(part).collect(), passage: None }
    }

    fn varying(&mut self) -> Option<&mut dyn Varying> {
        Some(self)
    }

    fn parts(&mut self) -> Option<&mut dyn BodyParts> {
        None
    }
}

/// The first device has the accelerations of all bodies after each advance; on other ranks, their
/// first devices have the same.
impl Varying for DeviceGroup {
    fn largest_acceleration(&mut self) -> BoxFuture<'_, Result<f64>> {
        Box::pin(self.local_devices[0].state.largest_acceleration())
    }

    fn save(&mut self) -> Result<()> {
        self.local_devices.iter_mut().for_each(|local| local.state.save_motion());
        Ok(())
    }

    fn restore(&mut self) {
        self.local_devices.iter_mut().for_each(|local| local.state.restore_motion());
    }
}
