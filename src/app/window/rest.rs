//! The picture of a window in which nothing moves: drawn once with all requested effects, even
//! those that a slow adapter leaves out in motion, and then reused.

use super::frame::Frames;
use super::seen;
use gravitile::render::{Camera, PictureSize};

/// Everything that a picture depends on, except its look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    pub camera: Camera,
    pub size: PictureSize,
    /// Steps and simulated time of the bodies.
    pub state: (u64, f64),
}

/// How a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// Without the effects that are left out.
    Reduced,
    /// With all effects.
    Full,
    /// The last picture with all effects, shown again.
    Cached,
}

/// The history of the last frames.
#[derive(Debug, Default)]
pub struct Rest {
    view: Option<View>,
    moved: bool,
    /// How the current frame's picture was drawn; `None` without a picture.
    last: Option<Drawing>,
    /// How the picture before was drawn.
    before: Option<Drawing>,
    /// When the light of the last reduced picture was measured; pictures at rest use that exposure.
    measured_at: f64,
    /// The last frame that was drawn with all effects.
    full: Option<u64>,
}

impl Rest {
    /// How to draw frame `number` at the time `now` in seconds, and the time to which the exposure
    /// adapts. `rests`: nothing moves, but effects are left out in motion. `is_cached`: the last
    /// picture can still be shown again.
    pub fn next(
        &mut self,
        view: View,
        (rests, is_cached): (bool, bool),
        (number, now): (u64, f64),
    ) -> (Drawing, f64) {
        let before = self.view.replace(view);
        if before.is_some_and(|before| before.camera != view.camera) {
            seen::moved();
        }
        let stays = before == Some(view);
        self.moved = !stays;
        let drawing = match self.before {
            Some(Drawing::Full | Drawing::Cached) if rests && stays && is_cached => Drawing::Cached,
            _ if rests && stays => Drawing::Full,
            _ => Drawing::Reduced,
        };
        let had_all = self.before.is_some_and(|before| before != Drawing::Reduced);
        if had_all != (drawing != Drawing::Reduced) {
            seen::drawn(drawing != Drawing::Reduced);
        }
        match drawing {
            Drawing::Reduced => self.measured_at = now,
            Drawing::Full => self.full = Some(number),
            Drawing::Cached => {}
        }
        self.last = Some(drawing);
        // At rest the time stays, or the added effects would change the exposure.
        (drawing, self.measured_at)
    }

    /// Begins a frame, which may end without a picture.
    pub fn begin(&mut self) {
        (self.before, self.last) = (self.last.or(self.before), None);
    }

    /// How the last frame's picture was drawn; `None` without a picture.
    pub fn last(&self) -> Option<Drawing> {
        self.last
    }

    /// Whether the last picture showed another view than the one before.
    pub fn has_moved(&self) -> bool {
        self.moved
    }

    /// Whether that frame was drawn with all effects, so that its time is not representative of
    /// pictures in motion.
    pub fn is_full(&self, number: u64) -> bool {
        self.full == Some(number)
    }
}

impl Frames {
    /// Whether nothing visible moves, and effects are left out in motion.
    pub(super) fn rests(&self) -> bool {
        let session = self.simulated.session.as_ref();
        let camera = self.viewer.steering.camera();
        self.viewer.spared_look.is_some()
            && self.measuring.is_none()
            && session.is_some_and(|session| !session.live.is_moving())
            && self.still.holds(&self.viewer.choice.style, camera)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Drawing::{Cached, Full, Reduced};

    #[test]
    fn full_picture_is_drawn_once_at_rest_and_reduced_when_something_moves() {
        let size = PictureSize::new(640, 360).unwrap();
        let view = View { camera: Camera::default(), size, state: (3, 0.5) };
        let mut rest = Rest::default();
        let mut number = 0;
        let mut next = |view, rests, is_cached| {
            number += 1;
            rest.begin();
            (rest.next(view, (rests, is_cached), (number, number as f64)), rest.is_full(number))
        };
        assert_eq!(next(view, true, true), ((Reduced, 1.0), false), "what was before is not known");
        assert_eq!(next(view, false, true), ((Reduced, 2.0), false));
        // The exposure is that of the last reduced picture.
        assert_eq!(next(view, true, true), ((Full, 2.0), true));
        assert_eq!(next(view, true, true), ((Cached, 2.0), false));
        assert_eq!(next(view, true, false), ((Full, 2.0), true), "another canvas");
        for moved in [
            View { camera: Camera { distance: 9.0, ..view.camera }, ..view },
            View { size: PictureSize::new(320, 180).unwrap(), ..view },
            View { state: (4, 0.6), ..view },
        ] {
            assert_eq!(next(moved, true, true).0.0, Reduced, "{moved:?}");
            assert_eq!(next(moved, true, true).0.0, Full);
            assert_eq!(next(moved, false, true).0.0, Reduced);
            assert_eq!(next(view, false, true).0.0, Reduced);
            assert_eq!(next(view, true, true).0.0, Full);
        }
    }
}
