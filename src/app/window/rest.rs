//! The picture of a window in which nothing moves: once with all that is asked for, whatever a slow adapter leaves out in
//! motion, and from then on only shown again.

use super::frame::Frames;
use super::seen;
use crate::render::{Camera, PictureSize};

/// What a picture depends on besides its look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    pub camera: Camera,
    pub size: PictureSize,
    /// Steps and simulated time of the bodies.
    pub state: (u64, f64),
}

/// How a picture comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// Without what is left out.
    Usual,
    /// With everything.
    Whole,
    /// It is there already, with everything.
    Again,
}

/// What the last frame showed.
#[derive(Debug, Default)]
pub struct Rest {
    view: Option<View>,
    moved: bool,
    /// Of the frame that is drawn; none where it has no picture.
    last: Option<Drawing>,
    /// The picture before.
    before: Option<Drawing>,
    /// When the light of the last usual picture was measured, by which all that follow at rest are exposed.
    measured_at: f64,
    /// The last frame that had everything.
    whole: Option<u64>,
}

impl Rest {
    /// How frame `number` is drawn at a time in seconds: `rests` says that nothing moves though something is left out,
    /// `is_kept` that the last picture is still there to be shown again. With it the time by which the light is followed.
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
        // Else what is left out would be seen in the exposure, before and after.
        (drawing, self.measured_at)
    }

    /// A frame begins: it may come to no picture.
    pub fn begin(&mut self) {
        (self.before, self.last) = (self.last.or(self.before), None);
    }

    /// How the picture of the last frame came about; none where it had none.
    pub fn last(&self) -> Option<Drawing> {
        self.last
    }

    /// Whether the last picture was of another view than the one before.
    pub fn has_moved(&self) -> bool {
        self.moved
    }

    /// Whether that frame had everything, which says nothing about those that follow.
    pub fn is_whole(&self, number: u64) -> bool {
        self.whole == Some(number)
    }
}

impl Frames {
    /// Whether nothing moves that a picture shows, though something is left out of it in motion.
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
