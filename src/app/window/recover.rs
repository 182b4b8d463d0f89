//! Recovery from device errors: opens a new device, and continues from the last checkpoint.

use super::frame::Frames;
use super::load::Loading;
use gravitile::error::{Error, Result};
use gravitile::settings::DeviceCount;
use gravitile::sim::Settings;

impl Frames {
    /// Requests a new device after the error of the window's.
    pub(super) fn recover(&mut self, error: &Error) -> Result<()> {
        log::error!("{error}");
        if self.simulated.session.is_none() {
            return Err(Error::Device(error.to_string()));
        }
        self.output.replace_device(error, &self.simulated.requested.settings.adapter)?;
        self.continue_on_new_device()
    }

    /// Handles an error of the simulation. If one of several devices is lost, it continues on the
    /// window's device alone.
    pub(super) fn failed(&mut self, error: &Error) {
        if self.output.screen.gpu.is_lost() {
            // The next frame detects the lost device, and replaces it.
            return;
        }
        let session = self.simulated.session.as_ref();
        let several = session.filter(|session| !session.live.choice().beside.is_empty());
        let (Error::Device(_), Some(session)) = (error, several) else {
            self.output.show_error(error);
            return;
        };
        let settings = Settings {
            devices: DeviceCount::ONE,
            adapter: session.live.settings().adapter.first(),
            ..session.live.settings().clone()
        };
        self.simulated.requested.settings.devices = settings.devices;
        self.simulated.requested.settings.adapter = settings.adapter.clone();
        let gpu = &self.output.screen.gpu;
        let (loading, text) = match &session.last {
            Some(moment) => (
                Loading::change(gpu, session, moment, settings),
                format!(
                    "{error}. Going on with one device from {}",
                    session.time(moment.time, &self.viewer.choice)
                ),
            ),
            None => (
                Loading::input(gpu, session.input.clone(), self.simulated.requested.clone(), true),
                format!(
                    "{error}. No earlier state had come back: restarted from the beginning on one device"
                ),
            ),
        };
        match loading {
            Ok(loading) => {
                self.simulated.loading = Some(loading);
                self.output.show_message(text, true);
            }
            Err(again) => self.output.show_error(&again),
        }
    }

    /// Once the new device is open, continues there from the last checkpoint.
    pub(super) fn continue_on_new_device(&mut self) -> Result<()> {
        let Some(error) = self.output.take_device()? else { return Ok(()) };
        let Some(session) = self.simulated.session.take() else { return Ok(()) };
        self.undo.forget();
        self.input.renew(&self.output.screen);
        (self.viewer.look, self.viewer.look_of) = (None, None);
        self.viewer.sparing.forget();
        let settings = session.live.settings().clone();
        match &session.last {
            Some(moment) => {
                let time = session.time(moment.time, &self.viewer.choice);
                let text =
                    format!("{error}. Going on from {time}, the last state that had come back");
                let change = Loading::change(&self.output.screen.gpu, &session, moment, settings)?;
                self.simulated.loading = Some(change);
                self.output.show_message(text, true);
            }
            None => {
                let input = session.input.clone();
                let restarted = Loading::input(
                    &self.output.screen.gpu,
                    input,
                    self.simulated.requested.clone(),
                    true,
                )?;
                self.simulated.loading = Some(restarted);
                self.output.show_message(
                    format!(
                        "{error}. No earlier state had come back: restarted from the beginning"
                    ),
                    true,
                );
            }
        }
        Ok(())
    }
}
