//! Output: the window and its device, films, and messages to the user.

use std::path::PathBuf;
use std::sync::Arc;

use web_time::{Duration, Instant};
use winit::event_loop::OwnedDisplayHandle;
use winit::window::{Fullscreen, Window};

use super::machine::Deferred;
use super::pictures::Recording;
use super::screen::{Screen, open_device};
use super::trace::TRACE;
use gravitile::error::{Error, Result};
use gravitile::gpu::FrameTimes;
use gravitile::messages;
use gravitile::render::Image;
use gravitile::settings::AdapterRequest;

/// How long a notice and an error are shown.
const MESSAGE: [Duration; 2] = [Duration::from_secs(6), Duration::from_secs(30)];
/// Margin for the end of a message, so that it has expired when the next frame begins.
const EXPIRY_MARGIN: Duration = Duration::from_millis(5);
/// A device that is lost within this time is not replaced again.
const TOO_SOON: Duration = Duration::from_secs(3);

/// What a picture is drawn for.
pub enum DrawnFor {
    /// A file.
    File(PathBuf),
    /// The bookmark of the state at this time.
    Bookmark(f64),
}

pub struct WindowOutput {
    pub window: Arc<Window>,
    pub screen: Screen,
    pub recording: Option<Recording>,
    /// Pictures being drawn, and what for.
    pub drawn: Vec<(Deferred<Result<Image>>, DrawnFor)>,
    /// Device times of the latest frame for which they are known.
    pub times: Option<FrameTimes>,
    /// CPU time that the panel takes per frame, in seconds.
    pub panel_secs: f64,
    /// The text, and whether it is an error.
    pub message: Option<(String, bool)>,
    message_at: Instant,
    /// Whether the message differs from the one drawn last.
    pub message_changed: bool,
    /// Whether the last picture could not be shown.
    pub missed: bool,
    display: OwnedDisplayHandle,
    /// When the last new device was made.
    recovered: Option<Instant>,
    /// Another device that is being opened, and the error of the last one.
    replacing: Option<(Deferred<Result<Screen>>, String)>,
}

fn no_other(error: impl std::fmt::Display, again: &Error) -> Error {
    Error::Device(format!("{error}; and no new device: {again}"))
}

impl WindowOutput {
    pub fn new(window: Arc<Window>, display: OwnedDisplayHandle, screen: Screen) -> Self {
        Self {
            window,
            screen,
            recording: None,
            drawn: Vec::new(),
            times: None,
            panel_secs: 0.0,
            message: None,
            message_at: Instant::now(),
            message_changed: false,
            missed: false,
            display,
            recovered: None,
            replacing: None,
        }
    }

    /// Starts to open another device after `error`; nothing is drawn until it is open.
    ///
    /// # Errors
    ///
    /// The last device was replaced less than 3 s ago, or the window cannot be drawn on.
    pub fn replace_device(&mut self, error: &Error, adapter: &AdapterRequest) -> Result<()> {
        if self.recovered.replace(Instant::now()).is_some_and(|last| last.elapsed() < TOO_SOON) {
            return Err(Error::Device(format!("{error}; and so did the device that replaced it")));
        }
        self.screen.release();
        let opening = open_device(&self.window, Box::new(self.display.clone()), adapter);
        let opening = opening.map_err(|again| no_other(error, &again))?;
        let opening = async move { Screen::open(opening.await?).await };
        self.replacing = Some((Deferred::of(opening), error.to_string()));
        self.recording = None;
        self.drawn.clear();
        Ok(())
    }

    /// Whether another device is being opened.
    pub fn is_replacing(&self) -> bool {
        self.replacing.is_some()
    }

    /// Switches to the other device if it is open, and then returns the error of the last one.
    ///
    /// # Errors
    ///
    /// The device could not be opened.
    pub fn take_device(&mut self) -> Result<Option<String>> {
        let made = self.replacing.as_ref().and_then(|(opening, _)| opening.take());
        let Some(made) = made else { return Ok(None) };
        let Some((_, error)) = self.replacing.take() else { return Ok(None) };
        self.screen = made.map_err(|again| no_other(&error, &again))?;
        self.recovered = Some(Instant::now());
        Ok(Some(error))
    }

    pub fn resized(&mut self, width: u32, height: u32) {
        let resized = self.screen.resize(width, height);
        self.report(resized);
    }

    /// Enters or leaves full screen.
    pub fn toggle_fullscreen(&self) {
        let full = match self.window.fullscreen() {
            Some(_) => None,
            None => Some(Fullscreen::Borderless(None)),
        };
        self.window.set_fullscreen(full);
    }

    /// Shows a notice.
    pub fn notify(&mut self, text: impl AsRef<str>) {
        self.show(text.as_ref(), false);
    }

    /// Shows a warning, for longer than a notice.
    pub fn warn(&mut self, text: impl AsRef<str>) {
        self.show(text.as_ref(), true);
    }

    /// Shows an error.
    pub fn show_error(&mut self, error: &Error) {
        log::warn!("{error}");
        self.warn(error.to_string());
    }

    /// Shows the error of something that has failed.
    pub fn report(&mut self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.show_error(&error);
        }
    }

    fn show(&mut self, text: &str, is_error: bool) {
        let text = messages::line(text);
        log::trace!(target: TRACE, "says {text}");
        (self.message, self.message_at) = (Some((text, is_error)), Instant::now());
        self.message_changed = true;
    }

    pub fn dismiss_message(&mut self) {
        self.message = None;
        self.message_changed = true;
    }

    /// The time until the message expires.
    pub fn message_ends(&self) -> Option<Duration> {
        let (_, is_error) = self.message.as_ref()?;
        Some(
            MESSAGE[usize::from(*is_error)].saturating_sub(self.message_at.elapsed())
                + EXPIRY_MARGIN,
        )
    }

    /// Removes an expired message; returns whether the message differs from the one drawn last.
    pub fn pass(&mut self) -> bool {
        let elapsed = self.message_at.elapsed();
        let is_over =
            |(_, is_error): &mut (String, bool)| elapsed > MESSAGE[usize::from(*is_error)];
        let is_gone = self.message.take_if(is_over).is_some();
        std::mem::take(&mut self.message_changed) | is_gone
    }
}
