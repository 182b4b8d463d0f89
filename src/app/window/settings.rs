//! Changes of how the bodies are computed: commands to the run, engine, method, integrator,
//! external field, devices. Except for commands, a change takes effect once the current state has
//! been read back.

use std::sync::Arc;

use super::measuring::Measuring;
use super::sharing::with_engine;
use super::simulated::Purpose;
use super::state::WindowState;
use crate::panel::Integration;
use gravitile::error::{Error, Result};
use gravitile::field::Field;
use gravitile::forces::Method;
use gravitile::forces::tree::TreeConfig;
use gravitile::gpu::Gpu;
use gravitile::live::Command;
use gravitile::settings::{DeviceCount, StepRequest};
use gravitile::sim::{EngineKind, Settings};

impl WindowState {
    /// Applies a command to the run.
    pub(super) fn apply(&mut self, command: Command) -> Result<()> {
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let kernel = match &command {
            Command::Kernel(kernel) => Some(*kernel),
            _ => None,
        };
        if matches!(command, Command::Dt(dt) if dt != session.live.settings().dt) {
            self.simulated.history.change_step(session.live.status().steps);
        }
        session.apply(command)?;
        let requested = &mut self.simulated.requested.settings.kernel;
        *requested = kernel.unwrap_or(*requested);
        Ok(())
    }

    /// Continues with these settings once the current state has been read back.
    pub(super) fn request_change(&mut self, settings: Settings) {
        self.request_state(Purpose::Change(Box::new(settings)));
    }

    pub(super) fn change_engine(&mut self, engine: EngineKind) {
        let Some(now) = self.simulated.settings() else { return };
        // Another engine may lack this method: then auto chooses.
        let requested = self.simulated.requested.settings.method;
        let method = requested.filter(|method| engine.selectable_methods().contains(method));
        let settings = Settings { method, ..with_engine(engine, now) };
        self.simulated.request_devices_of(&settings);
        let requested = &mut self.simulated.requested.settings;
        (requested.engine, requested.method) = (engine, method);
        self.request_change(settings);
    }

    pub(super) fn change_method(&mut self, method: Method) -> Result<()> {
        let Some(now) = self.simulated.settings() else { return Ok(()) };
        let settings = Settings { method: Some(method), ..now };
        settings.validate()?;
        self.simulated.requested.settings.method = settings.method;
        self.request_change(settings);
        Ok(())
    }

    pub(super) fn change_tree(&mut self, tree: TreeConfig) -> Result<()> {
        let Some(now) = self.simulated.settings() else { return Ok(()) };
        let settings = Settings { tree, ..now };
        settings.validate()?;
        self.simulated.requested.settings.tree = tree;
        self.request_change(settings);
        Ok(())
    }

    pub(super) fn change_integration(&mut self, integration: Integration) -> Result<()> {
        let Some(now) = self.simulated.settings() else { return Ok(()) };
        let Integration { integrator, blocks, precision } = integration;
        // The tree lacks the forces for some integrators: then auto chooses.
        let method = self.simulated.requested.settings.method;
        let settings = Settings { integrator, blocks, precision, method, ..now };
        settings.validate()?;
        let StepRequest { integrator, blocks, .. } = StepRequest::from(&settings);
        let requested = &mut self.simulated.requested.steps;
        (requested.integrator, requested.blocks) = (integrator, blocks);
        self.request_change(settings);
        Ok(())
    }

    pub(super) fn change_field(&mut self, field: Field) -> Result<()> {
        let Some(now) = self.simulated.settings() else { return Ok(()) };
        let settings = Settings { field, ..now };
        settings.validate()?;
        self.request_change(settings);
        Ok(())
    }

    /// Continues on this number of devices. Engine and method stay those in use.
    pub(super) fn change_devices(&mut self, devices: DeviceCount) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        let (live, now) = (&session.live, session.live.settings().clone());
        let adapter = self.simulated.sharing.request(devices, &now.adapter);
        let settings = Settings { engine: live.choice().kind, devices, adapter, ..now };
        live.choice().check_devices(&settings)?;
        self.simulated.request_devices_of(&settings);
        let requested = &mut self.simulated.requested.settings;
        (requested.engine, requested.method) = (settings.engine, settings.method);
        self.request_change(settings);
        Ok(())
    }

    /// Recompiles the kernels and passes in use from the current sources.
    pub(super) fn recompile(&mut self) {
        let mut outcome = self.output.screen.renew_canvas();
        if let Some(session) = &mut self.simulated.session {
            match session.apply(Command::Recompile) {
                // The panel must show the source of the new kernel.
                Ok(()) => session.wgsl = None,
                Err(error) => outcome = Err(error),
            }
        }
        match outcome {
            Ok(()) => self.output.notify("shaders were recompiled"),
            Err(error) => self.output.show_error(&error),
        }
    }

    /// Starts a measurement, unless another one is running; the simulation stops meanwhile.
    pub(super) fn measure(
        &mut self,
        start: impl FnOnce(&Arc<Gpu>) -> Result<Measuring>,
    ) -> Result<()> {
        if self.measuring.is_some() {
            return Err(Error::Outside("a measurement is already running".to_owned()));
        }
        self.measuring = Some(start(&self.output.screen.gpu)?);
        if let Some(session) = &mut self.simulated.session {
            session.rest();
        }
        Ok(())
    }

    pub(super) fn check_kernel(&mut self) -> Result<()> {
        let session = self.simulated.session.as_ref();
        let Some(config) = session.and_then(|session| session.live.config()) else { return Ok(()) };
        self.measure(|gpu| Measuring::check(gpu, config))
    }

    pub(super) fn tune_kernel(&mut self) -> Result<()> {
        let Some(session) = &self.simulated.session else { return Ok(()) };
        let n = session.live.len();
        self.measure(|gpu| Measuring::race(gpu, n))
    }
}
