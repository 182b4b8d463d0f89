//! Recovery from device errors: opens a new device, and continues from the latest state that was
//! read back.

use std::sync::Arc;

use super::loading::Loading;
use super::quality::AdaptiveQuality;
use super::session::Session;
use super::state::WindowState;
use super::undo::Undo;
use gravitile::error::{Error, Result};
use gravitile::settings::DeviceCount;
use gravitile::sim::Settings;

impl WindowState {
    /// Requests a new device after the error of the window's.
    pub(super) fn recover(&mut self, error: &Error) -> Result<()> {
        log::error!("{error}");
        if self.simulated.session.is_none() {
            return Err(Error::Device(error.to_string()));
        }
        self.output.replace_device(error, &self.simulated.requested.settings.adapter)?;
        self.continue_on_new_device()
    }

    /// Once the new device is open, continues there.
    pub(super) fn continue_on_new_device(&mut self) -> Result<()> {
        let Some(error) = self.output.take_device()? else { return Ok(()) };
        let Some(session) = self.simulated.session.take() else { return Ok(()) };
        self.undo = Undo::default();
        self.simulated.past.forget_pictures();
        self.input.renew(&self.output.screen);
        (self.viewer.look, self.viewer.look_of) = (None, None);
        let class = self.output.screen.gpu.adapter.class;
        self.viewer.quality = AdaptiveQuality::new(class);
        let settings = session.live.settings().clone();
        let (loading, time) = self.load_latest_state(&session, settings)?;
        self.simulated.loading = Some(loading);
        self.output.warn(match time {
            Some(time) => {
                format!("{error}. Going on from {time}, the last state that had come back")
            }
            None => {
                format!("{error}. No earlier state had come back: restarted from the beginning")
            }
        });
        Ok(())
    }

    /// Handles an error of the simulation. If one of several devices is lost, it continues on the
    /// window's device alone.
    pub(super) fn failed(&mut self, error: &Error) {
        if self.output.screen.gpu.is_lost() {
            // The next frame detects the lost device, and replaces it.
            return;
        }
        let session = self.simulated.session.as_ref();
        let several = session.filter(|session| !session.live.choice().others.is_empty());
        let (Error::Device(_), Some(session)) = (error, several) else {
            self.output.show_error(error);
            return;
        };
        let now = session.live.settings();
        let (devices, adapter) = (DeviceCount::ONE, now.adapter.first());
        let settings = Settings { devices, adapter, ..now.clone() };
        let requested = &mut self.simulated.requested.settings;
        (requested.devices, requested.adapter) = (devices, settings.adapter.clone());
        match self.load_latest_state(session, settings) {
            Ok((loading, time)) => {
                self.simulated.loading = Some(loading);
                self.output.warn(match time {
                    Some(time) => format!("{error}. Going on with one device from {time}"),
                    None => format!(
                        "{error}. No earlier state had come back: restarted from the beginning on one device"
                    ),
                });
            }
            Err(again) => self.output.show_error(&again),
        }
    }

    /// Starts to continue from the latest state, whose time is returned, or from the beginning if
    /// no state has been read back.
    fn load_latest_state(
        &self,
        session: &Session,
        settings: Settings,
    ) -> Result<(Loading, Option<String>)> {
        let gpu = &self.output.screen.gpu;
        if let Some(state) = self.simulated.past.latest() {
            let time = session.time(state.time, &self.viewer.choice);
            let from = (Arc::clone(&session.initial), state);
            let compare = self.simulated.requested.compare.clone();
            return Ok((Loading::change(gpu, session, from, (settings, compare))?, Some(time)));
        }
        let (input, request) = (session.initial.input.clone(), self.simulated.requested.clone());
        Ok((Loading::input(gpu, input, request, true)?, None))
    }
}
