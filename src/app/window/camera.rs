//! The camera: its first place, places the user goes to, and automatic motion.

use super::session::Session;
use super::state::WindowState;
use super::viewer::{Directing, Viewer};
use crate::panel::Viewpoint;
use gravitile::error::Result;
use gravitile::messages::rounded;
use gravitile::render::directing::{keyframe, path_camera, set_keyframe};
use gravitile::render::{Camera, CameraMotion, Follow, PictureSize};
use gravitile::scene::Keyframe;

impl WindowState {
    /// The camera that shows in the free area of the window what `camera` shows in a picture of
    /// [`Self::free_size`].
    fn within_free(&self, camera: Camera) -> Camera {
        within(camera, self.free_size(), self.output.screen.picture_size())
    }

    /// The first camera, as for a film: by the command line, else the scene's hints, else the
    /// bodies.
    pub(super) fn first_camera(&self, session: &Session) -> Result<CameraMotion> {
        let request = self.simulated.first_view.as_ref();
        let look = request.map(|request| request.look.clone()).unwrap_or_default();
        let (bodies, hints) = (&session.initial.bodies, session.initial.view.as_ref());
        let lasts = session.initial.hints.until;
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
    fn fit_first_view(&mut self) {
        let size = self.free_size();
        let Some(session) = &self.simulated.session else { return };
        if self.viewer.steering.is_fit_for(size) {
            return;
        }
        if let Ok(motion) = self.first_camera(session) {
            self.viewer.steering.fit(motion.start, size);
        }
    }

    /// The size of the picture that an automatic camera is computed for, the film's while one is
    /// recorded; and the factor by which the window's camera is nearer.
    fn automatic_picture(&self) -> (PictureSize, f64) {
        match &self.output.recording {
            Some(film) => (film.size(), 1.0),
            None => {
                let size = self.free_size();
                (size, zoom_to_free(size, self.output.screen.picture_size()))
            }
        }
    }

    /// Moves the camera by a frame of `secs`.
    pub(super) fn move_camera(&mut self, secs: f64) {
        self.fit_first_view();
        self.viewer.steering.pass(secs, self.viewer.choice.orbit_degrees_per_sec);
        let picture = self.automatic_picture();
        self.direct(secs, picture);
        if let Some(session) = &self.simulated.session {
            self.viewer.go_along(session.live.status().time, picture);
        }
    }

    /// Moves a directed camera.
    fn direct(&mut self, secs: f64, picture: (PictureSize, f64)) {
        if !self.viewer.choice.directs {
            self.viewer.directing = Directing::default();
            return;
        }
        if let (true, Some(session)) =
            (self.viewer.directing.points.is_empty(), &self.simulated.session)
        {
            // While paused no positions are read back.
            let latest = self.simulated.past.latest();
            let known = latest.map_or(&session.initial.bodies, |state| &state.bodies);
            self.viewer.watch(|i| known.position[i], known);
        }
        let Viewer { directing, steering, .. } = &mut self.viewer;
        if let Some(camera) = directing.camera(steering.camera(), secs, picture) {
            steering.put(camera);
        }
    }

    /// Moves the camera to a preset place.
    pub(super) fn go(&mut self, place: Viewpoint) {
        let Some(session) = &self.simulated.session else { return };
        let now = self.viewer.steering.camera();
        let camera = match place {
            Viewpoint::Start => self.viewer.steering.start,
            Viewpoint::Fit => {
                let latest = self.simulated.past.latest();
                let bodies = latest.map_or(&session.initial.bodies, |state| &state.bodies);
                let style = &self.viewer.choice.style;
                self.within_free(now.framing(bodies, style, 0.99, self.free_size()))
            }
            Viewpoint::From(preset) => now.seen_from(preset),
            Viewpoint::Keyframe(index) => self.camera_at(self.viewer.choice.path.get(index)),
            Viewpoint::Moment(index) => {
                let moment = session.initial.moments().get(index);
                self.camera_at(moment.map(|moment| &moment.camera))
            }
        };
        self.viewer.take_over();
        let camera = match place {
            Viewpoint::Start | Viewpoint::Fit => self.follow_at(place, camera),
            // Its target is a place, not a body.
            Viewpoint::Moment(_) => {
                self.viewer.follow(Follow::Nothing);
                camera
            }
            _ => camera,
        };
        self.viewer.steering.go(camera);
    }

    /// The camera of a keyframe, in the free area of the window; the present one without.
    fn camera_at(&self, key: Option<&Keyframe>) -> Camera {
        let now = self.viewer.steering.camera();
        let (size, nearer) = self.automatic_picture();
        let path = key.map_or(&[][..], std::slice::from_ref);
        path_camera(path, now, 0.0, size).map_or(now, |camera| camera.zoomed(nearer))
    }

    /// Sets what is followed after the camera goes to `place`, and returns the camera there. A
    /// camera that follows the centre of mass still does; at the start, the default is followed
    /// again.
    fn follow_at(&mut self, place: Viewpoint, camera: Camera) -> Camera {
        let Some(session) = &self.simulated.session else { return camera };
        let choice = &mut self.viewer.choice;
        let starts = place == Viewpoint::Start && session.default_follow() == Follow::CentreOfMass;
        if starts || choice.follow == Follow::CentreOfMass {
            choice.follow = Follow::CentreOfMass;
            return Camera { target: session.centre_now(), ..camera };
        }
        self.viewer.follow(Follow::Nothing);
        camera
    }

    /// Adds the current camera as a keyframe at the current time.
    pub(super) fn add_keyframe(&mut self) {
        let Some(session) = &self.simulated.session else { return };
        let time = session.live.status().time;
        let time_text = session.time(time, &self.viewer.choice);
        let (size, nearer) = self.automatic_picture();
        let choice = &mut self.viewer.choice;
        let key = keyframe(&self.viewer.steering.camera().zoomed(1.0 / nearer), time, size);
        // More digits have no visible effect.
        let [extent, inclination, azimuth] =
            [key.extent, key.inclination, key.azimuth].map(|value| rounded(value, 7));
        set_keyframe(&mut choice.path, Keyframe { extent, inclination, azimuth, ..key });
        let count = choice.path.len();
        self.output.notify(format!("place {count} of the camera's path, at {time_text}"));
    }
}

/// The camera that shows in an area `free` of a picture `whole` what `camera` shows in a picture of
/// size `free`.
fn within(camera: Camera, free: PictureSize, whole: PictureSize) -> Camera {
    camera.zoomed(zoom_to_free(free, whole))
}

/// The zoom factor that fits a camera to the shorter side of an area instead of the whole
/// picture's.
fn zoom_to_free(free: PictureSize, whole: PictureSize) -> f64 {
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
