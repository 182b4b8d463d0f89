//! The picture of a window in which nothing moves: drawn once with everything asked for, even what a slow adapter leaves
//! out in motion, and then only shown again.

use super::frame::Frames;
use super::seen;
use crate::render::{Camera, PictureSize};

/// What a picture depends on, besides its look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    pub camera: Camera,
    pub size: PictureSize,
    /// Steps and simulated time of the bodies.
    pub state: (u64, f64),
}

/// How a picture is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// Drawn without what is left out.
    Usual,
    /// Drawn with everything.
    Whole,
    /// Shown again, with everything.
    Again,
}

/// What the last frame showed.
#[derive(Debug, Default)]
pub struct Rest {
    view: Option<View>,
    moved: bool,
    /// That of the current frame; none if it has no picture.
    last: Option<Drawing>,
    /// That of the picture before.
    before: Option<Drawing>,
    /// When the light of the last usual picture was measured; pictures at rest keep that exposure.
    measured_at: f64,
    /// The last frame that was drawn with everything.
    whole: Option<u64>,
}

impl Rest {
    /// How frame `number` is drawn at a time in seconds, and the time for which the exposure adapts: `rests` says that
    /// nothing moves though something is left out, `is_kept` that the last picture can still be shown again.
    pub fn next(
        &mut self,
        view: View,
        (rests, is_kept): (bool, bool),
        (number, now): (u64, f64),
    ) -> (Drawing, f64) {
        let before = self.view.replace(view);
        if before.is_some_and(|before| before.camera != view.camera) {
            seen::moved();
        }
        let stays = before == Some(view);
        self.moved = !stays;
        let drawing = match self.before {
            Some(Drawing::Whole | Drawing::Again) if rests && stays && is_kept => Drawing::Again,
            _ if rests && stays => Drawing::Whole,
            _ => Drawing::Usual,
        };
        let had_all = self.before.is_some_and(|before| before != Drawing::Usual);
        if had_all != (drawing != Drawing::Usual) {
            seen::drawn(drawing != Drawing::Usual);
        }
        match drawing {
            Drawing::Usual => self.measured_at = now,
            Drawing::Whole => self.whole = Some(number),
            Drawing::Again => {}
        }
        self.last = Some(drawing);
        // Otherwise what is left out would change the exposure.
        (drawing, self.measured_at)
    }

    /// A frame begins, which may end without a picture.
    pub fn begin(&mut self) {
        (self.before, self.last) = (self.last.or(self.before), None);
    }

    /// How the last frame's picture was made; none if it had none.
    pub fn last(&self) -> Option<Drawing> {
        self.last
    }

    /// Whether the last picture showed another view than the one before.
    pub fn has_moved(&self) -> bool {
        self.moved
    }

    /// Whether that frame was drawn with everything, so that its time says nothing about usual ones.
    pub fn is_whole(&self, number: u64) -> bool {
        self.whole == Some(number)
    }
}

impl Frames {
    /// Whether nothing visible moves, though something is left out in motion.
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
    use Drawing::{Again, Usual, Whole};

    #[test]
    fn everything_is_drawn_once_and_gone_as_soon_as_something_moves() {
        let size = PictureSize::new(640, 360).unwrap();
        let view = View { camera: Camera::default(), size, state: (3, 0.5) };
        let mut rest = Rest::default();
        let mut number = 0;
        let mut next = |view, rests, is_kept| {
            number += 1;
            rest.begin();
            (rest.next(view, (rests, is_kept), (number, number as f64)), rest.is_whole(number))
        };
        assert_eq!(next(view, true, true), ((Usual, 1.0), false), "what was before is not known");
        assert_eq!(next(view, false, true), ((Usual, 2.0), false));
        // The light is that of the last usual one, and such a frame does not count.
        assert_eq!(next(view, true, true), ((Whole, 2.0), true));
        assert_eq!(next(view, true, true), ((Again, 2.0), false));
        assert_eq!(next(view, true, false), ((Whole, 2.0), true), "another canvas");
        for moved in [
            View { camera: Camera { distance: 9.0, ..view.camera }, ..view },
            View { size: PictureSize::new(320, 180).unwrap(), ..view },
            View { state: (4, 0.6), ..view },
        ] {
            assert_eq!(next(moved, true, true).0.0, Usual, "{moved:?}");
            assert_eq!(next(moved, true, true).0.0, Whole);
            assert_eq!(next(moved, false, true).0.0, Usual);
            assert_eq!(next(view, false, true).0.0, Usual);
            assert_eq!(next(view, true, true).0.0, Whole);
        }
    }
}
