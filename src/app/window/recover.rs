//! After trouble with the device: a new one, and the last state that had come back.

use super::frame::Frames;
use super::load::Loading;
use crate::error::{Error, Result};

impl Frames {
    /// After trouble with the device: a new one, and the last state that came back.
    pub(super) fn recover(&mut self, error: &Error) -> Result<()> {
        log::error!("{error}");
        let Some(session) = self.simulated.session.take() else {
            return Err(Error::Device(error.to_string()));
        };
        self.output.recover(error, &self.simulated.wanted.settings.adapter)?;
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
