//! The directed camera, as in films. It uses positions that are read back asynchronously, so it
//! lags a few frames behind the bodies. Also the size of the picture that an automatic camera
//! (directed, or on a path) is computed for.

use glam::DVec3;

use super::fitting::zoom_to_free;
use super::frame::Frames;
use super::load::Session;
use super::viewer::Viewer;
use crate::panel::Place;
use gravitile::bodies::{Bodies, Role};
use gravitile::render::request::usual_follow;
use gravitile::render::{Camera, CameraMotion, Director, Follow, PictureSize};
use gravitile::settings::ViewRequest;

/// Largest number of bodies that the camera keeps in sight; of more bodies, a regular sample.
const SAMPLES: usize = 4096;
/// The camera stays if it would move by less than this fraction of its distance per second, which
/// is invisible.
const INVISIBLE: f64 = 1e-4;

/// The state of the directed camera.
#[derive(Default)]
pub struct Directing {
    director: Option<Director>,
    /// Seconds since it began to direct, in film time.
    secs: f64,
    /// Last known positions of drawn bodies.
    points: Vec<DVec3>,
}

impl Viewer {
    /// Takes in the positions of all bodies, by index, if the camera directs.
    pub fn watch(&mut self, place: impl Fn(usize) -> DVec3, bodies: &Bodies) {
        if !self.choice.directs {
            return;
        }
        let shows_halo = self.choice.style.show_halo;
        let is_drawn = |i: usize| {
            let part = bodies.components.get(usize::from(bodies.component[i]));
            shows_halo || part.is_none_or(|part| part.role != Role::Halo)
        };
        let stride = bodies.len().div_ceil(SAMPLES).max(1);
        let sample = || (0..bodies.len()).step_by(stride);
        let place = |i: usize| Some(place(i)).filter(|place| place.is_finite());
        let points = &mut self.directing.points;
        points.clear();
        points.extend(sample().filter(|&i| is_drawn(i)).filter_map(place));
        if points.is_empty() {
            points.extend(sample().filter_map(place));
        }
    }

    /// Ends all automatic control of the camera; returns whether it directed.
    pub fn take_over(&mut self) -> bool {
        self.choice.plays = false;
        std::mem::take(&mut self.choice.directs)
    }

    /// Resolves conflicts between the automatic cameras: the one chosen last is active. `before`
    /// was active until now.
    pub fn lead(&mut self, before: &Led) {
        let Led { follow, plays, directs } = *before;
        let choice = &mut self.choice;
        if choice.directs && !directs {
            (choice.follow, choice.plays) = (Follow::Nothing, false);
        } else if choice.plays && !plays
            || choice.follow != follow && choice.follow != Follow::Nothing
        {
            choice.directs = false;
        }
        if choice.follow != follow {
            self.steering.release();
        }
    }

    /// Switches directing on or off; returns whether it is on.
    pub fn toggle_directing(&mut self) -> bool {
        let led = self.led();
        self.choice.directs = !led.directs;
        self.lead(&led);
        self.choice.directs
    }

    /// What controls the camera now.
    pub fn led(&self) -> Led {
        let choice = &self.choice;
        Led { follow: choice.follow, plays: choice.plays, directs: choice.directs }
    }
}

/// What controls the camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Led {
    follow: Follow,
    plays: bool,
    pub directs: bool,
}

/// Whether a camera set to direct does so from the start. As in films: only if the request does not
/// specify what to show, and the camera follows neither bodies in common motion nor a path.
pub(super) fn may_direct(request: Option<&ViewRequest>, motion: &CameraMotion) -> bool {
    let is_specified = request.is_some_and(|r| r.look.extent.is_some() || r.look.follow.is_some());
    !is_specified && motion.follow == Follow::Nothing && motion.path.is_empty()
}

/// What the camera follows by default with these bodies.
pub(super) fn default_follow(session: &Session) -> Follow {
    usual_follow(&session.bodies, session.view.as_ref(), session.hints.until)
}

impl Frames {
    /// The size of the picture that an automatic camera is computed for, the film's while one is
    /// recorded; and the factor by which the window's camera is nearer.
    pub(super) fn led_picture(&self) -> (PictureSize, f64) {
        match &self.output.recording {
            Some(film) => (film.size(), 1.0),
            None => {
                let size = self.free_size();
                (size, zoom_to_free(size, self.output.screen.picture_size()))
            }
        }
    }

    /// Sets what is followed after the camera goes to `place`, and returns the camera there. A
    /// camera that follows the centre of mass still does; at the start, the default is followed
    /// again.
    pub(super) fn follow_at(&mut self, place: Place, camera: Camera) -> Camera {
        let Some(session) = &self.simulated.session else { return camera };
        let choice = &mut self.viewer.choice;
        let starts = place == Place::Start && default_follow(session) == Follow::CentreOfMass;
        if starts || choice.follow == Follow::CentreOfMass {
            choice.follow = Follow::CentreOfMass;
            return Camera { target: session.centre_now(), ..camera };
        }
        choice.follow = Follow::Nothing;
        self.viewer.steering.release();
        camera
    }

    /// Moves a directed camera by a frame of `secs`.
    pub(super) fn direct(&mut self, secs: f64) {
        if !self.viewer.choice.directs {
            self.viewer.directing = Directing::default();
            return;
        }
        if let (true, Some(session)) =
            (self.viewer.directing.points.is_empty(), &self.simulated.session)
        {
            // While paused no positions are read back.
            let known = session.last.as_ref().map_or(&*session.bodies, |moment| &moment.bodies);
            self.viewer.watch(|i| known.position[i], known);
        }
        let (size, nearer) = self.led_picture();
        let Viewer { directing, steering, .. } = &mut self.viewer;
        if let Some(camera) = directing.camera(steering.camera(), secs, (size, nearer)) {
            steering.put(camera);
        }
    }
}

impl Session {
    /// The current centre of mass, which moves uniformly: internal forces conserve momentum.
    pub(super) fn centre_now(&self) -> DVec3 {
        let [place, velocity] = self.centre;
        place + velocity * (self.live.status().time - self.template.time)
    }
}

impl Directing {
    /// The camera `secs` later, for a picture of `size`, and `nearer` times nearer; `None` if it
    /// stays.
    fn camera(
        &mut self,
        now: Camera,
        secs: f64,
        (size, nearer): (PictureSize, f64),
    ) -> Option<Camera> {
        if self.points.is_empty() {
            return None;
        }
        let from = now.zoomed(1.0 / nearer);
        let begun = self.secs;
        self.secs += secs;
        let director = self.director.get_or_insert_with(|| Director::going_on_from(&from, begun));
        let next = director.frame(from, &self.points, self.secs, size);
        let aside = (next.target - from.target).length() / from.distance;
        let moves = aside > INVISIBLE * secs
            || (next.distance / from.distance - 1.0).abs() > INVISIBLE * secs;
        (moves && next.validate().is_ok()).then(|| next.zoomed(nearer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::memory::Memory;
    use gravitile::bodies::Component;
    use gravitile::render::{Camera, Style};

    fn viewer() -> Viewer {
        let mut viewer = Viewer::new(&ViewRequest::default(), &Memory::default()).unwrap();
        viewer.choice.style = Style::default();
        viewer
    }

    /// A line of stars from -`reach` to `reach`, with dark matter far beyond.
    fn stars_with_halo(reach: f64) -> Bodies {
        let components =
            vec![Component::new("stars", Role::Star), Component::new("dark", Role::Halo)];
        let mut bodies = Bodies { components, ..Bodies::default() };
        for i in 0..10_000 {
            let far = if i % 2 == 0 { reach } else { 100.0 };
            let place = DVec3::X * (far * (0.0002 * f64::from(i) - 1.0));
            bodies.push(1.0, place, DVec3::ZERO, (i % 2) as u8);
        }
        bodies
    }

    #[test]
    fn directed_camera_frames_the_stars_smoothly_and_comes_to_rest() {
        let mut viewer = viewer();
        let picture = (PictureSize::new(950, 720).unwrap(), 0.9);
        let pass = |viewer: &mut Viewer, frames: u32| {
            let mut steps = Vec::new();
            for _ in 0..frames {
                let now = viewer.steering.camera();
                let Some(next) = viewer.directing.camera(now, 1.0 / 60.0, picture) else {
                    steps.push(0.0);
                    continue;
                };
                steps.push((next.distance / now.distance).ln().abs());
                viewer.steering.put(next);
            }
            steps
        };
        let watch = |viewer: &mut Viewer, reach| {
            let bodies = stars_with_halo(reach);
            viewer.watch(|i| bodies.position[i], &bodies);
        };
        watch(&mut viewer, 3.0);
        assert!(viewer.directing.points.is_empty(), "the camera does not direct");
        viewer.choice.directs = true;
        watch(&mut viewer, 3.0);
        assert_eq!(pass(&mut viewer, 900).last(), Some(&0.0), "it comes to rest");
        let near = viewer.steering.camera();
        watch(&mut viewer, 6.0);
        let steps = pass(&mut viewer, 900);
        let far = viewer.steering.camera();
        assert!((far.distance / near.distance / 2.0 - 1.0).abs() < 0.02, "{near:?} {far:?}");
        assert!(steps[20..].windows(2).all(|w| w[1] <= w[0] + 1e-5), "by ever less");
        // The picture frames the stars, without the dark matter.
        let whole = far.zoomed(1.0 / 0.9);
        let inside = |place: &DVec3| {
            let (at, _) = whole.pixel_of(*place, picture.0).unwrap();
            (0.0..=950.0).contains(&at.x)
        };
        let stars = stars_with_halo(6.0).position.into_iter().step_by(2);
        assert!(stars.filter(inside).count() > 4750);
    }

    #[test]
    fn last_chosen_automatic_camera_is_active() {
        let mut viewer = viewer();
        let mut choose = |change: fn(&mut Viewer)| {
            let before = viewer.led();
            change(&mut viewer);
            viewer.lead(&before);
            let Led { follow, plays, directs } = viewer.led();
            (follow != Follow::Nothing, plays, directs)
        };
        assert_eq!(choose(|v| v.choice.follow = Follow::CentreOfMass), (true, false, false));
        assert_eq!(choose(|v| v.choice.directs = true), (false, false, true));
        assert_eq!(choose(|v| v.choice.plays = true), (false, true, false));
        assert_eq!(choose(|v| v.choice.directs = true), (false, false, true));
        assert_eq!(choose(|v| v.choice.follow = Follow::Body(3)), (true, false, false));
        assert_eq!(choose(|v| v.choice.directs = true), (false, false, true));
        assert_eq!(choose(|_| {}), (false, false, true));
        assert!(viewer.take_over() && !viewer.take_over());
        let _: Camera = viewer.steering.camera();
    }
}
