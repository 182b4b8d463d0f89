//! [`Backend`] for a single device.

use std::sync::Arc;

use glam::DVec3;

use super::DeviceState;
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::{last, rebuilds};
use crate::frame::Rests;
use crate::gpu::Gpu;
use crate::integrate::blocks::Restart;
use crate::sim::backend::advanced;
use crate::sim::{
    Backend, BackendEntry, BodyParts, BoxFuture, Capabilities, EngineKind, Observed, OnDevice,
    Settings, Varying, Watch,
};

/// A device, if a GPU is chosen and all bodies share one step.
pub const BACKEND: BackendEntry = BackendEntry {
    suits: |choice, settings, _| {
        let is_open = choice.kind == EngineKind::Gpu && choice.gpu.is_some();
        is_open && !choice.is_mixed && !settings.steps_on_host()
    },
    open: |choice, bodies, settings, restart| {
        Box::pin(async move {
            let no_device = || Error::value("the engine", "gpu", "a device that is open");
            let gpu = Arc::clone(choice.gpu.as_ref().ok_or_else(no_device)?);
            let mut state = DeviceState::begin_restarted(gpu, bodies, restart, settings).await?;
            state.settle_combined().await?;
            Ok(Box::new(state) as Box<dyn Backend>)
        })
    },
};

impl DeviceState {
    /// [`DeviceState::begin`], continuing after `restart` if given.
    pub(in crate::sim) async fn begin_restarted(
        gpu: Arc<Gpu>,
        bodies: &Bodies,
        restart: Option<&Restart>,
        settings: &Settings,
    ) -> Result<Self> {
        let columns = restart.map(|restart| &restart.columns);
        let rests = columns.and_then(|columns| Rests::find(columns, bodies.len()));
        let mut state = Self::begin(gpu, bodies, rests.as_ref(), settings).await?;
        if let Some(last) = columns.and_then(|columns| last::find(columns, bodies.len())) {
            let built_at = columns.and_then(|c| rebuilds::find_in_frame(c, bodies.len()));
            state.restore_last(&last, built_at.as_deref());
        }
        Ok(state)
    }
}

impl Backend for DeviceState {
    fn describe(&self) -> String {
        DeviceState::describe(self)
    }

    fn interactions(&self) -> u64 {
        DeviceState::interactions(self)
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
            let done = self.advance_to_output(dt, steps, &mut watch).await;
            advanced(done, steps, ended)
        })
    }

    fn read<'a>(
        &'a mut self,
        bodies: &'a mut Bodies,
        time: f64,
    ) -> BoxFuture<'a, Result<Vec<DVec3>>> {
        Box::pin(DeviceState::read(self, bodies, time))
    }

    fn potential(&mut self) -> BoxFuture<'_, Result<Vec<f64>>> {
        Box::pin(DeviceState::potential(self))
    }

    fn replace<'a>(
        &'a mut self,
        bodies: &'a Bodies,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let gpu = Arc::clone(self.gpu());
            let sinks = match self.buffers.moves_all() {
                true => 0..bodies.len() as u32,
                false => self.buffers.sinks.clone(),
            };
            let mut other = DeviceState::begin_sinks(gpu, bodies, sinks, None, settings).await?;
            other.settle().await?;
            other.interactions += self.interactions;
            *self = other;
            Ok(())
        })
    }

    fn set_softening(&mut self, softening: f64) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            let takes = self.kernel_takes(softening);
            if takes {
                DeviceState::set_softening(self, softening);
                self.settle().await?;
            }
            Ok(takes)
        })
    }

    fn restart(&self) -> Restart {
        let mut restart = Restart::of_rests(&self.rests);
        if !self.last.is_empty() {
            let (frame, last) = (self.frame, &self.last);
            let wide = |i: usize| frame.wide_acceleration(last[i]);
            restart.columns.extend(last::columns_of(last.len(), wide));
        }
        if !self.built_at.is_empty() {
            restart.columns.extend(rebuilds::in_frame(&self.built_at));
        }
        restart
    }

    fn capabilities(&self, time: f64) -> Capabilities<'_> {
        let device = OnDevice {
            gpu: self.gpu(),
            buffers: self.buffers(),
            frame: self.frame_at(time),
            first_frame: *self.frame(),
            kernel: self.config(),
        };
        Capabilities { device: Some(device), ..Capabilities::default() }
    }

    fn take_observed(&mut self) -> Observed {
        Observed::default()
    }

    fn varying(&mut self) -> Option<&mut dyn Varying> {
        Some(self)
    }

    fn parts(&mut self) -> Option<&mut dyn BodyParts> {
        None
    }
}

impl Varying for DeviceState {
    fn largest_acceleration(&mut self) -> BoxFuture<'_, Result<f64>> {
        Box::pin(DeviceState::largest_acceleration(self))
    }

    fn save(&mut self) -> Result<()> {
        self.save_motion();
        Ok(())
    }

    fn restore(&mut self) {
        self.restore_motion();
    }
}
