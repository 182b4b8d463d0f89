//! After trouble with the device: a new one, and the last state that had come back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::frame::Frames;
use super::load::Loading;
use super::stage::Stage;
use crate::app::panel;
use crate::error::{Error, Result};

/// A device that breaks again so soon is not replaced once more.
const TOO_SOON: Duration = Duration::from_secs(3);

impl Frames {
    /// After trouble with the device: a new one, and the last state that came back.
    pub(super) fn recover(&mut self, error: &Error) -> Result<()> {
        log::error!("{error}");
        if self.recovered.replace(Instant::now()).is_some_and(|last| last.elapsed() < TOO_SOON) {
            return Err(Error::Device(format!("{error}; and so did the device that replaced it")));
        }
        let wish = self.wanted.settings.adapter.clone();
        let display = Box::new(self.display.clone());
        let Some(session) = self.session.take() else {
            return Err(Error::Device(error.to_string()));
        };
        self.stage.release();
        self.stage = Stage::new(Arc::clone(&self.window), display, &wish)
            .map_err(|again| Error::Device(format!("{error}; and no new device: {again}")))?;
        // egui has to send its textures again: begin with a new memory of its own.
        self.context = egui::Context::default();
        panel::style(&self.context);
        self.egui_state = self.stage.egui_state(&self.context);
        (self.look, self.look_of, self.recording) = (None, None, None);
        let settings = session.live.settings().clone();
        match &session.last {
            Some(moment) => {
                let text = format!(
                    "{error}. Going on from t = {:.4}, the last state that had come back",
                    moment.time
                );
                let change = Loading::change(&self.stage.gpu, &session, moment, settings)?;
                self.loading = Some(change);
                self.say(text, true);
            }
            None => {
                let input = session.input.clone();
                let again = Loading::input(&self.stage.gpu, input, self.wanted.clone(), true)?;
                self.loading = Some(again);
                self.say(format!("{error}. No state had come back yet: begun again"), true);
            }
        }
        Ok(())
    }
}
