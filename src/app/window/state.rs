//! The state of the window, and what all parts of it ask for.

use web_time::Instant;

use super::command_line::Start;
use super::input::WindowInput;
use super::measuring::Measuring;
use super::output::WindowOutput;
use super::preferences::Preferences;
use super::refresh::Refresh;
use super::simulated::{Purpose, Simulated};
use super::stillness::Stillness;
use super::undo::Undo;
use super::viewer::Viewer;
use crate::panel::Panel;
use gravitile::live::{Background, Command};
use gravitile::render::PictureSize;

/// The state of the window: viewer, simulation, input and output.
pub struct WindowState {
    pub(super) viewer: Viewer,
    pub(super) simulated: Simulated,
    pub(super) input: WindowInput,
    pub(super) output: WindowOutput,
    pub(super) panel: Panel,
    pub(super) start: Start,
    pub(super) preferences: Preferences,
    pub(super) quit: bool,
    pub(super) still: Stillness,
    pub(super) refresh: Refresh,
    pub(super) warned: Warned,
    pub(super) undo: Undo,
    pub(super) measuring: Option<Measuring>,
    /// The text of an edited kernel whose threads are being followed.
    pub(super) edited_kernel: Option<Background<String>>,
    /// Whether the last frame became a picture of the film.
    pub(super) filmed: bool,
    /// Whether no frame followed the last one because nothing moved.
    pub(super) rested: bool,
    pub(super) last: Instant,
    pub(super) begun: Instant,
}

/// Which warnings about a slow machine were shown. Each is shown once; later the status line shows
/// signs.
#[derive(Default)]
pub struct Warned {
    pub behind_secs: f64,
    pub behind: bool,
    pub left_out: bool,
}

impl WindowState {
    /// Requests the bodies for `purpose`.
    pub(super) fn request_state(&mut self, purpose: Purpose) {
        let Some(session) = &mut self.simulated.session else { return };
        self.simulated.pending.push(purpose);
        let requested = session.live.apply(Command::State);
        self.output.report(requested);
    }

    /// Size of the area that the panel leaves free.
    pub(super) fn free_size(&self) -> PictureSize {
        let size = self.output.screen.picture_size();
        let [right, below] = self.covered_px();
        let [wide, high] = [f64::from(size.width()) - right, f64::from(size.height()) - below];
        PictureSize::new((wide as u32).max(16), (high as u32).max(16)).unwrap_or(size)
    }

    /// Pixels at the right, and below, that the first run's picture leaves to the panel or the
    /// welcome sheet, and to the second run's picture.
    pub(super) fn covered_px(&self) -> [f64; 2] {
        let [right, below] = self.panel_px();
        let width = f64::from(self.output.screen.picture_size().width());
        [self.halves_px().map_or(right, |[half, _]| width - half), below]
    }

    /// Pixels that the panel or the welcome sheet covers at the right, or below in a narrow window.
    pub(super) fn panel_px(&self) -> [f64; 2] {
        let context = &self.input.context;
        let covered = self.panel.covers(context) * context.pixels_per_point();
        [covered.x, covered.y].map(f64::from)
    }

    /// Whether nothing visible moves, and effects are left out in motion.
    pub(super) fn rests(&self) -> bool {
        let session = self.simulated.session.as_ref();
        let camera = self.viewer.steering.camera();
        self.viewer.lacks()
            && self.measuring.is_none()
            && session.is_some_and(|session| !session.is_moving())
            && self.still.holds(&self.viewer.choice.style, camera)
    }

    /// Stores the window's size in the settings.
    pub fn remember_size(&mut self) {
        let size =
            self.output.window.inner_size().to_logical::<f64>(self.output.window.scale_factor());
        if self.output.window.fullscreen().is_none() && size.width >= 320.0 && size.height >= 240.0
        {
            self.preferences.window_size = [size.width.round(), size.height.round()];
        }
    }

    /// Saves the settings for the next start.
    pub fn remember(&mut self) {
        if self.panel.is_hidden {
            return;
        }
        self.preferences.text_size = self.input.context.zoom_factor();
        (self.preferences.panel_open, self.preferences.tab) = (self.panel.open, self.panel.tab);
        self.preferences.light = self.panel.light;
        self.preferences.welcomed = true;
        self.preferences.take_view(&self.viewer.choice);
        self.preferences.save();
    }
}
