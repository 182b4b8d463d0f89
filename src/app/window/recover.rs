//! After trouble with the device: a new one, and the last state that had come back.

use super::frame::Frames;
use super::load::Loading;
use crate::error::{Error, Result};

impl Frames {
    /// After trouble with the device: a new one is asked for.
    pub(super) fn recover(&mut self, error: &Error) -> Result<()> {
        log::error!("{error}");
        if self.simulated.session.is_none() {
            return Err(Error::Device(error.to_string()));
        }
        self.output.replace_device(error, &self.simulated.wanted.settings.adapter)?;
        self.go_on_elsewhere()
    }

    /// With the new device, once it is there, the last state that came back goes on.
    pub(super) fn go_on_elsewhere(&mut self) -> Result<()> {
        let Some(error) = self.output.take_device()? else { return Ok(()) };
        let Some(session) = self.simulated.session.take() else { return Ok(()) };
        self.undo.forget();
        self.input.renew(&self.output.screen);
        (self.viewer.look, self.viewer.look_of) = (None, None);
        let settings = session.live.settings().clone();
        match &session.last {
            Some(moment) => {
                let text = format!(
                    "{error}. Going on from t = {:.4}, the last state that had come back",
                    moment.time
                );
                let change = Loading::change(&self.output.screen.gpu, &session, moment, settings)?;
                self.simulated.loading = Some(change);
                self.output.say(text, true);
            }
            None => {
                let input = session.input.clone();
                let again = Loading::input(
                    &self.output.screen.gpu,
                    input,
                    self.simulated.wanted.clone(),
                    true,
                )?;
                self.simulated.loading = Some(again);
                self.output.say(format!("{error}. No state had come back yet: begun again"), true);
            }
        }
        Ok(())
    }
}
