//! Spreads the first layout of the panel over several frames in a browser, which compiles each
//! function when it is first called and rasterises glyphs when they are first drawn. A frame that
//! has already taken `FRAME_BUDGET` leaves new parts of the panel to the next one, and the first
//! frame with bodies leaves all of them, so that the picture comes first.

use std::collections::HashSet;
use std::hash::Hash;

use egui::{Context, Id};
use web_time::{Duration, Instant};

/// How long a frame adds new parts.
const FRAME_BUDGET: Duration = Duration::from_millis(6);

#[derive(Clone, Default)]
struct Growth {
    begun: Option<Instant>,
    frames: u32,
    /// New parts of this frame.
    fresh: u32,
    shown: HashSet<Id>,
}

impl Growth {
    fn begin(&mut self, begun: Instant) {
        (self.begun, self.fresh) = (Some(begun), 0);
        self.frames = self.frames.saturating_add(1);
    }

    fn is_due(&mut self, part: Id, now: Instant) -> bool {
        if self.shown.contains(&part) {
            return true;
        }
        let has_time = self.begun.is_none_or(|begun| now - begun < FRAME_BUDGET);
        // At least one per frame, or a slow device would never show all.
        let is_due = self.frames > 1 && (self.fresh == 0 || has_time);
        if is_due {
            self.fresh += 1;
            self.shown.insert(part);
        }
        is_due
    }
}

fn with<T>(context: &Context, take: impl FnOnce(&mut Growth) -> T) -> T {
    context.data_mut(|data| take(data.get_temp_mut_or_default(Id::unique("growth"))))
}

/// Starts a frame that began at `begun`.
pub fn begin(context: &Context, begun: Instant) {
    if cfg!(target_arch = "wasm32") {
        with(context, |growth| growth.begin(begun));
    }
}

/// Whether to show this part in this frame; if not, a repaint is requested. A native window shows
/// everything at once.
pub(super) fn is_due(context: &Context, part: impl Hash + std::fmt::Debug) -> bool {
    if !cfg!(target_arch = "wasm32") {
        return true;
    }
    let is_due = with(context, |growth| growth.is_due(Id::unique(part), Instant::now()));
    if !is_due {
        context.request_repaint();
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_parts_are_added_while_there_is_time_and_at_least_one_per_frame() {
        let mut growth = Growth::default();
        let begun = Instant::now();
        let [a, b, c] = ["a", "b", "c"].map(Id::unique);
        growth.begin(begun);
        assert!(!growth.is_due(a, begun), "the picture is first");
        growth.begin(begun);
        let late = begun + 2 * FRAME_BUDGET;
        assert!(growth.is_due(a, late) && !growth.is_due(b, late));
        growth.begin(begun);
        assert!(growth.is_due(a, late), "shown parts stay");
        assert!(growth.is_due(b, begun) && growth.is_due(c, begun), "there is time");
    }
}
