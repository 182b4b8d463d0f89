//! When the next frame is due: at the display's rate while something moves, at longer intervals
//! while results are pending, and not at all while nothing changes.
//!
//! "Something moves" means that time passes, the camera moves, exposure still adapts or trails
//! fade. Pending results are polled every 50 ms. If pictures are rendered in software, they leave
//! about half of the processor to step threads.

use web_time::{Duration, Instant};
use winit::window::Window;

use super::session::Session;
use super::state::WindowState;
use gravitile::gpu::DeviceClass;
use gravitile::sim::EngineKind;

/// When the next frame is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At the display's next refresh.
    Moving,
    /// After this time, unless an event comes earlier.
    Waiting(Duration),
    /// At the next event.
    Resting,
}

/// Interval at which pending results are polled.
const POLL: Duration = Duration::from_millis(50);
/// Interval at which watched files are polled, and a measurement, which frames disturb.
const FILES: Duration = Duration::from_millis(500);
/// Longest deliberate delay of the next picture.
const LATEST: Duration = Duration::from_millis(30);
/// Refresh rate of a display that does not report it.
const DEFAULT_RATE_HZ: f64 = 60.0;

impl WindowState {
    /// When the next frame is due; egui requests one after `repaint`.
    pub(super) fn pace(&self, repaint: Duration) -> Pace {
        let session = self.simulated.session.as_ref();
        let is_complete = self.measuring.is_some()
            || self.still.is_complete(&self.viewer.choice.style) && !self.viewer.needs_full();
        if self.output.message_changed
            || session.is_some_and(Session::is_moving)
            || session.is_some() && !is_complete
        {
            return Pace::Moving;
        }
        let mut next = [
            Some(repaint),
            self.measuring.is_some().then_some(FILES),
            (self.simulated.loading.is_some()
                || self.simulated.meeting.is_some()
                || self.simulated.sharing.is_searching()
                || self.output.missed
                || !self.output.drawn.is_empty())
            .then_some(POLL),
            session.filter(|session| session.is_waiting()).map(|_| POLL),
            self.input.shaders.as_ref().map(|_| FILES),
            self.output.message_ends(),
        ];
        next.sort();
        match next.into_iter().flatten().next() {
            Some(Duration::ZERO) => Pace::Moving,
            // egui's value for never.
            Some(Duration::MAX) | None => Pace::Resting,
            Some(after) => Pace::Waiting(after),
        }
    }

    /// The time between pictures; `display` is the display's refresh interval.
    pub(super) fn pause(&self, display: Duration) -> Duration {
        let session = self.simulated.session.as_ref();
        let steps = session.is_some_and(|session| {
            let second = session.second.as_ref().map(|second| &second.live);
            let mut all = [&session.live].into_iter().chain(second);
            session.is_moving() && all.any(|live| live.choice().kind != EngineKind::Gpu)
        });
        let is_software = self.output.screen.gpu.adapter.class == DeviceClass::Software;
        match &self.output.times {
            Some(times) if steps && is_software => shared(display, times.total_secs()),
            _ => display,
        }
    }
}

/// The time between pictures if pictures that take `picture_secs` and steps share the CPU: about
/// half for each, unless the window would respond too late. With slow pictures, steps get the cores
/// that these leave idle, and at least their priority's share.
fn shared(display: Duration, picture_secs: f64) -> Duration {
    display.max(Duration::from_secs_f64((2.0 * picture_secs).clamp(0.0, LATEST.as_secs_f64())))
}

/// The refresh interval of the display that the window is on.
pub fn display_pause(window: &Window) -> Duration {
    // A browser schedules the pictures itself: with a separate clock one in twenty would be late.
    if cfg!(target_arch = "wasm32") {
        return Duration::ZERO;
    }
    let monitor = window.current_monitor();
    let millihertz = monitor.and_then(|monitor| monitor.refresh_rate_millihertz());
    let hertz = millihertz.map_or(DEFAULT_RATE_HZ, |rate| f64::from(rate) / 1000.0);
    // Vertical sync sets the exact time; 5 % less than the interval is never late for it.
    Duration::from_secs_f64(0.95 / hertz.clamp(20.0, 1000.0))
}

/// When the next frame after one that began at `begun` is due.
pub fn due(pace: Pace, begun: Instant, pause: Duration) -> Option<Instant> {
    match pace {
        Pace::Moving => Some(begun + pause),
        Pace::Waiting(after) => Some(begun + after.max(pause)),
        Pace::Resting => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_pictures_leave_cpu_time_to_steps() {
        let ms = Duration::from_millis;
        assert_eq!(shared(ms(16), 0.002), ms(16), "they take next to nothing");
        assert_eq!(shared(ms(16), 0.010), ms(20));
        assert_eq!(shared(ms(16), 0.020), ms(30), "the window answers nevertheless");
        assert_eq!(shared(ms(16), 0.300), ms(30), "however slow they are");
        assert_eq!(shared(ms(16), -1.0), ms(16));
    }

    #[test]
    fn resting_window_has_no_frame_due() {
        let (now, pause) = (Instant::now(), Duration::from_millis(16));
        assert_eq!(due(Pace::Resting, now, pause), None);
        assert_eq!(due(Pace::Moving, now, pause), Some(now + pause));
        assert_eq!(due(Pace::Waiting(Duration::ZERO), now, pause), Some(now + pause));
    }
}
