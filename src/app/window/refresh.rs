//! When the panel is laid out: after input, when egui or a message requires it, and 2 to 10 times a
//! second for its numbers. Other frames spend no time on it.

use egui::epaint::ClippedShape;
use egui_wgpu::ScreenDescriptor;
use web_time::{Duration, Instant};

use super::frame::Frames;
use super::machine;
use crate::panel::overlay::Marks;

/// Interval of layouts for changing numbers, which nobody reads faster. On a slow adapter it is
/// longer, so that drawing them takes at most a tenth of the time, but at most half a second.
const NUMBERS: Duration = Duration::from_millis(100);
const SELDOM: f64 = 10.0;
const LEAST: Duration = Duration::from_millis(500);
/// A frame with less device time for the panel has not drawn it.
const DRAWN_SECS: f64 = 5e-4;

/// The panel to draw: its shapes, whether textures have changed, and its left edge in points.
pub type Shapes = (Vec<ClippedShape>, bool, f32);

/// When the panel was last laid out, and what makes the next layout due.
#[derive(Debug, Default)]
pub struct Refresh {
    is_stale: bool,
    last: Option<Instant>,
    /// Device time of its last drawing, in seconds.
    took: f64,
    /// When egui requests the next layout.
    wanted: Option<Instant>,
    /// The last drawn marks, which move with the camera.
    marks: Option<Marks>,
}

impl Refresh {
    /// Records a possible change: the next frame lays the panel out.
    pub fn disturb(&mut self) {
        self.is_stale = true;
    }

    fn due(&self) -> Option<Instant> {
        let pause = Duration::from_secs_f64(SELDOM * self.took).clamp(NUMBERS, LEAST);
        let numbers = self.last? + pause;
        Some(self.wanted.map_or(numbers, |wanted| wanted.min(numbers)))
    }

    fn is_due(&self, now: Instant) -> bool {
        self.is_stale || self.due().is_none_or(|due| due <= now)
    }

    fn done(&mut self, now: Instant, wanted: Duration) {
        (self.is_stale, self.last, self.wanted) = (false, Some(now), now.checked_add(wanted));
    }

    /// The time from `now`, the beginning of a frame, to the next layout if no event comes: when
    /// egui requests it, and after a frame without layout also when numbers are due, so that the
    /// last ones are shown. Never while `hidden`, as an event starts the first visible frame.
    pub fn delay(&self, now: Instant, hidden: bool) -> Duration {
        if hidden {
            return Duration::MAX;
        }
        if self.is_stale {
            return Duration::ZERO;
        }
        let due = if self.last == Some(now) { self.wanted } else { self.due() };
        due.map_or(Duration::MAX, |due| due.saturating_duration_since(now))
    }
}

impl Frames {
    /// Lays the panel out if it is due in the frame that begins `now`.
    pub(super) fn show_panel_if_due(&mut self, now: Instant) -> Option<egui::FullOutput> {
        let marks = self.marks();
        let refresh = &mut self.refresh;
        let took = self.output.times.as_ref().and_then(|times| times.secs("panel"));
        refresh.took = took.filter(|secs| *secs > DRAWN_SECS).unwrap_or(refresh.took);
        refresh.is_stale |= self.output.pass() || refresh.marks != marks;
        if !refresh.is_due(now) {
            return None;
        }
        refresh.marks = marks;
        // Before the layout, as changes by the layout itself need another one.
        refresh.done(now, Duration::MAX);
        let output = self.show_panel();
        let root = output.viewport_output.get(&egui::ViewportId::ROOT);
        let wanted = root.map_or(Duration::MAX, |viewport| viewport.repaint_delay);
        self.refresh.wanted = now.checked_add(wanted);
        Some(output)
    }

    /// The marks over the picture, which move with the camera or the bodies.
    fn marks(&self) -> Option<Marks> {
        let session = self.simulated.session.as_ref()?;
        let size = self.output.screen.picture_size();
        let camera = self.viewer.steering.shown(self.covered_px(), size);
        let time = self.viewer.has_paths().then(|| session.live.status().time);
        let view = &self.viewer.choice;
        let unit = &view.units(&session.template.units).length;
        let pixels_per_point = self.input.context.pixels_per_point();
        Some(Marks::of(view, (&camera, size, pixels_per_point), unit, time))
    }

    /// Handles egui's output; returns what to draw, and the textures to free after the submission.
    pub(super) fn take_panel(
        &mut self,
        output: egui::FullOutput,
    ) -> ((Shapes, ScreenDescriptor), Vec<egui::TextureId>) {
        let egui::FullOutput {
            platform_output, mut textures_delta, shapes, pixels_per_point, ..
        } = output;
        let has_textures = !textures_delta.set.is_empty();
        let freed = self.output.screen.take_textures(&mut textures_delta);
        machine::take_output(&platform_output);
        self.input.egui_state.handle_platform_output(&self.output.window, platform_output);
        let screen =
            ScreenDescriptor { size_in_pixels: self.output.screen.size(), pixels_per_point };
        let free = f64::from(screen.size_in_pixels[0]) - self.covered_px();
        // The clip rectangles of scroll areas extend a little beyond the panel.
        let left = free as f32 / pixels_per_point - 4.0;
        (((shapes, has_textures, left), screen), freed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_follows_input_egui_and_a_tenth_of_a_second() {
        let ms = Duration::from_millis;
        let begun = Instant::now();
        let mut refresh = Refresh::default();
        assert!(refresh.is_due(begun), "it was never shown");
        refresh.done(begun, Duration::MAX);
        assert_eq!(refresh.delay(begun, false), Duration::MAX, "at rest nothing follows");
        assert!(!refresh.is_due(begun + ms(50)));
        assert_eq!(refresh.delay(begun + ms(50), false), ms(50), "the last numbers are shown");
        assert!(refresh.is_due(begun + ms(100)));
        refresh.disturb();
        assert!(refresh.is_due(begun + ms(50)), "after input");
        assert_eq!(refresh.delay(begun + ms(50), false), Duration::ZERO);
        refresh.done(begun + ms(50), ms(10));
        assert!(!refresh.is_due(begun + ms(55)) && refresh.is_due(begun + ms(60)), "for egui");
        assert_eq!(refresh.delay(begun + ms(99), true), Duration::MAX, "hidden");
    }
}
