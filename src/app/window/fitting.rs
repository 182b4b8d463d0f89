//! The first camera, for the part of the window that the panel leaves free.

use super::frame::Frames;
use super::load::Session;
use crate::error::Result;
use crate::render::{Camera, CameraMotion, PictureSize};

impl Frames {
    /// Size of the part of the picture that the panel leaves free.
    pub(super) fn free_size(&self) -> PictureSize {
        let size = self.output.screen.picture_size();
        let wide = f64::from(size.width()) - self.covered_px();
        let high = f64::from(size.height()) - self.covered_below_px();
        PictureSize::new((wide as u32).max(16), (high as u32).max(16)).unwrap_or(size)
    }

    /// Pixels at the right that the panel covers.
    pub(super) fn covered_px(&self) -> f64 {
        let context = &self.input.context;
        f64::from(self.panel.covers(context).x * context.pixels_per_point())
    }

    /// Pixels below that the panel of a narrow window covers.
    pub(super) fn covered_below_px(&self) -> f64 {
        let context = &self.input.context;
        f64::from(self.panel.covers(context).y * context.pixels_per_point())
    }

    /// The camera that shows in the free part of the window what `camera` shows in a picture of [`Self::free_size`].
    pub(super) fn within_free(&self, camera: Camera) -> Camera {
        within(camera, self.free_size(), self.output.screen.picture_size())
    }

    /// The first camera, as for a film: by the command line, else the scene's hints, else the bodies.
    pub(super) fn first_camera(&self, session: &Session) -> Result<CameraMotion> {
        let request = self.simulated.first_view.as_ref();
        let look = request.map(|request| request.look.clone()).unwrap_or_default();
        let (bodies, hints) = (&session.bodies, session.view.as_ref());
        let lasts = session.hints.until;
        let mut motion =
            look.motion(bodies, hints, &self.viewer.choice.style, self.free_size(), lasts)?;
        if look.extent.is_none() {
            motion.start = self.within_free(motion.start);
        }
        if let Some(target) = request.and_then(|request| request.target) {
            motion.start.target = target.0.into();
        }
        Ok(motion)
    }

    /// Keeps the first view in sight unless somebody has zoomed or moved aside: the window may have another size now, or
    /// the panel be unfolded.
    pub(super) fn keep_in_sight(&mut self) {
        let size = self.free_size();
        let Some(session) = &self.simulated.session else { return };
        if self.viewer.steering.is_fit_for(size) {
            return;
        }
        if let Ok(motion) = self.first_camera(session) {
            self.viewer.steering.fit(motion.start, size);
        }
    }
}

/// What `camera` shows in a picture of size `free`, in that part of one of size `whole`.
fn within(camera: Camera, free: PictureSize, whole: PictureSize) -> Camera {
    camera.zoomed(part_of(free, whole))
}

/// The zoom that makes a camera, which fits the shorter side of the whole picture, fit that of a part.
pub(super) fn part_of(free: PictureSize, whole: PictureSize) -> f64 {
    f64::from(free.shorter_side()) / f64::from(whole.shorter_side())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::window::steer::Steering;

    #[test]
    fn what_fits_a_narrow_picture_fits_beside_the_panel() {
        let [free, whole] = [270, 600].map(|width| PictureSize::new(width, 640).unwrap());
        let camera = Camera::default();
        let steering = Steering::new(within(camera, free, whole));
        let shown = steering.shown(330.0, whole);
        let [right, ..] = camera.axes_in_world();
        let half = camera.distance * (0.5 * camera.fov_rad).tan();
        for (side, edge) in [(-0.999, 0.0), (0.999, 270.0)] {
            let (there, _) = camera.pixel_of(camera.target + right * (side * half), free).unwrap();
            assert!((there.x - edge).abs() < 1.0, "{there}");
            let (there, _) = shown.pixel_of(camera.target + right * (side * half), whole).unwrap();
            assert!((there.x - edge).abs() < 2.0, "{there}");
        }
    }
}
