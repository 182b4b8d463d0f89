//! In a page the first showing of anything is slow: a browser compiles each function when it is first called, and letters
//! are made then, too. A frame that has already taken a while leaves new parts of the panel to the next one, and the first
//! frame with bodies leaves all of them: the picture comes first.

use std::collections::HashSet;
use std::hash::Hash;

use egui::{Context, Id};
use web_time::{Duration, Instant};

/// For this long a frame goes on adding new parts.
const ENOUGH: Duration = Duration::from_millis(6);

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
        let has_time = self.begun.is_none_or(|begun| now - begun < ENOUGH);
        // At least one, or it would never end.
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

/// Tells that a frame began at `begun`.
pub fn begin(context: &Context, begun: Instant) {
    if cfg!(target_arch = "wasm32") {
        with(context, |growth| growth.begin(begun));
    }
}

/// Whether to show this part in this frame; if not, another frame follows. A native window shows everything at once.
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
    fn new_parts_wait_for_a_frame_with_time_and_one_comes_with_each() {
        let mut growth = Growth::default();
        let begun = Instant::now();
        let [a, b, c] = ["a", "b", "c"].map(Id::unique);
        growth.begin(begun);
        assert!(!growth.is_due(a, begun), "the picture is first");
        growth.begin(begun);
        let late = begun + 2 * ENOUGH;
        assert!(growth.is_due(a, late) && !growth.is_due(b, late));
        growth.begin(begun);
        assert!(growth.is_due(a, late), "what is there stays");
        assert!(growth.is_due(b, begun) && growth.is_due(c, begun), "there is time");
    }
}
