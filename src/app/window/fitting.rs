//! The first camera, fitted to the area of the window that the panel leaves free.

use super::frame::Frames;
use super::load::Session;
use gravitile::error::Result;
use gravitile::render::{Camera, CameraMotion, PictureSize};

impl Frames {
    /// Size of the area that the panel leaves free.
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

    /// The camera that shows in the free area of the window what `camera` shows in a picture of
    /// [`Self::free_size`].
    pub(super) fn within_free(&self, camera: Camera) -> Camera {
        within(camera, self.free_size(), self.output.screen.picture_size())
    }

    /// The first camera, as for a film: by the command line, else the scene's hints, else the
    /// bodies.
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

    /// Fits the first view again after a change of the window's size or the panel, unless the user
    /// has zoomed or panned.
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

/// The camera that shows in an area `free` of a picture `whole` what `camera` shows in a picture of
/// size `free`.
fn within(camera: Camera, free: PictureSize, whole: PictureSize) -> Camera {
    camera.zoomed(zoom_to_free(free, whole))
}

/// The zoom factor that fits a camera to the shorter side of an area instead of the whole
/// picture's.
pub(super) fn zoom_to_free(free: PictureSize, whole: PictureSize) -> f64 {
    f64::from(free.shorter_side()) / f64::from(whole.shorter_side())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::steer::Steering;

    #[test]
    fn fitted_camera_fills_the_area_next_to_the_panel() {
        let [free, whole] = [270, 600].map(|width| PictureSize::new(width, 640).unwrap());
        let camera = Camera::default();
        let steering = Steering::new(within(camera, free, whole));
        let shown = steering.shown(330.0, whole);
        let [right, ..] = camera.axes_in_world();
        let half = camera.distance * (0.5 * camera.fov_rad).tan();
        for (side, edge) in [(-0.999, 0.0), (0.999, 270.0)] {
            let (pixel, _) = camera.pixel_of(camera.target + right * (side * half), free).unwrap();
            assert!((pixel.x - edge).abs() < 1.0, "{pixel}");
            let (pixel, _) = shown.pixel_of(camera.target + right * (side * half), whole).unwrap();
            assert!((pixel.x - edge).abs() < 2.0, "{pixel}");
        }
    }
}
