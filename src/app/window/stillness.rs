//! The picture of a window in which nothing moves: drawn once with all requested effects, even
//! those that a slow adapter leaves out in motion, and then reused.

use log::trace;

use super::trace::TRACE;
use gravitile::render::{Camera, PictureSize, Style};

/// Exposure and trails settle after this many time constants: later no grey level changes.
const FADED: f64 = 6.0;
/// Seconds after the last change in which egui, the window system or a worker may still have
/// something to show.
const AFTERMATH_SECS: f64 = 0.5;

/// Everything that a picture depends on, except its look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureInputs {
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

/// How the last pictures were drawn, which decides how the next one is.
#[derive(Debug, Default)]
pub struct Drawings {
    view: Option<PictureInputs>,
    moved: bool,
    /// How the current frame's picture was drawn; `None` without a picture.
    last: Option<Drawing>,
    /// How the picture before was drawn.
    before: Option<Drawing>,
    /// The last frame that was drawn with all effects.
    full: Option<u64>,
}

impl Drawings {
    /// How to draw frame `number`. `rests`: nothing moves, but effects are left out in motion.
    /// `is_cached`: the last picture can still be shown again.
    pub fn next(
        &mut self,
        view: PictureInputs,
        (rests, is_cached): (bool, bool),
        number: u64,
    ) -> Drawing {
        let before = self.view.replace(view);
        if before.is_some_and(|before| before.camera != view.camera) {
            trace!(target: TRACE, "draws from elsewhere");
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
            let effects = if had_all { "as in motion" } else { "everything" };
            trace!(target: TRACE, "draws {effects}");
        }
        if drawing == Drawing::Full {
            self.full = Some(number);
        }
        self.last = Some(drawing);
        drawing
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

/// Measures how long nothing has moved.
#[derive(Debug, Default)]
pub struct Stillness {
    secs: f64,
    camera: Option<Camera>,
}

impl Stillness {
    /// Records a change, after which the picture takes a while to settle.
    pub fn disturb(&mut self) {
        self.secs = 0.0;
    }

    /// Records a frame of `secs` drawn from `camera`, and whether something `moves`.
    pub fn pass(&mut self, secs: f64, camera: Camera, moves: bool) {
        if moves || self.camera.replace(camera) != Some(camera) {
            self.secs = 0.0;
        } else {
            self.secs += secs;
        }
    }

    /// Whether the picture has settled and would be the same with this style and camera.
    pub fn holds(&self, style: &Style, camera: Camera) -> bool {
        self.camera == Some(camera) && self.is_complete(style)
    }

    /// Whether a picture of this style has settled.
    pub fn is_complete(&self, style: &Style) -> bool {
        let followed = style.exposure.adapt_secs().unwrap_or(0.0);
        self.secs > AFTERMATH_SECS.max(FADED * followed.max(style.trail_secs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Drawing::{Cached, Full, Reduced};
    use gravitile::render::Exposure;

    #[test]
    fn full_picture_is_drawn_once_at_rest_and_reduced_when_something_moves() {
        let size = PictureSize::new(640, 360).unwrap();
        let view = PictureInputs { camera: Camera::default(), size, state: (3, 0.5) };
        let mut drawings = Drawings::default();
        let mut number = 0;
        let mut next = |view, rests, is_cached| {
            number += 1;
            drawings.begin();
            (drawings.next(view, (rests, is_cached), number), drawings.is_full(number))
        };
        assert_eq!(next(view, true, true), (Reduced, false), "what was before is not known");
        assert_eq!(next(view, false, true), (Reduced, false));
        assert_eq!(next(view, true, true), (Full, true));
        assert_eq!(next(view, true, true), (Cached, false));
        assert_eq!(next(view, true, false), (Full, true), "another canvas");
        for moved in [
            PictureInputs { camera: Camera { distance: 9.0, ..view.camera }, ..view },
            PictureInputs { size: PictureSize::new(320, 180).unwrap(), ..view },
            PictureInputs { state: (4, 0.6), ..view },
        ] {
            assert_eq!(next(moved, true, true).0, Reduced, "{moved:?}");
            assert_eq!(next(moved, true, true).0, Full);
            assert_eq!(next(moved, false, true).0, Reduced);
            assert_eq!(next(view, false, true).0, Reduced);
            assert_eq!(next(view, true, true).0, Full);
        }
    }

    #[test]
    fn picture_is_complete_when_exposure_and_trails_have_settled() {
        let (style, camera) = (Style::default(), Camera::default());
        let mut still = Stillness::default();
        let seconds = |still: &mut Stillness, secs: u32| {
            (0..secs * 60).for_each(|_| still.pass(1.0 / 60.0, camera, false));
        };
        seconds(&mut still, 1);
        assert!(!still.is_complete(&style), "the exposure still follows");
        seconds(&mut still, 4);
        assert!(still.is_complete(&style) && still.holds(&style, camera));
        assert!(!still.holds(&style, Camera { distance: 3.0, ..camera }), "it moves just now");
        let trails = Style { trail_secs: 2.0, ..style.clone() };
        assert!(!still.is_complete(&trails), "trails still fade");
        still.pass(0.1, Camera { distance: 3.0, ..camera }, false);
        assert!(!still.is_complete(&style), "the camera has moved");
        let frozen = Style { exposure: Exposure::Auto { adapt_secs: f64::INFINITY }, ..style };
        seconds(&mut still, 2);
        assert!(still.is_complete(&frozen));
    }
}
