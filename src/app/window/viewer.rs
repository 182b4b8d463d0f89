//! The viewer: the camera, what controls it, and the look of the bodies.
//!
//! A directed camera, as in films, uses positions that are read back asynchronously, so it lags a
//! few frames behind the bodies.

use std::sync::Arc;

use glam::DVec3;

use super::diagram::Overlay;
use super::pictures::OnTop;
use super::preferences::Preferences;
use super::quality::AdaptiveQuality;
use super::session::Session;
use super::steer::Steering;
use super::stillness::{Drawing, Drawings};
use crate::panel::ViewChoice;
#[cfg(not(target_arch = "wasm32"))]
use gravitile::bodies::Component;
use gravitile::bodies::{Bodies, Role};
use gravitile::error::Result;
use gravitile::gpu::DeviceClass;
#[cfg(not(target_arch = "wasm32"))]
use gravitile::render::captions::Captions;
use gravitile::render::directing::path_camera;
use gravitile::render::paths::{self, Paths};
#[cfg(not(target_arch = "wasm32"))]
use gravitile::render::writing::Caption;
use gravitile::render::{
    Camera, CameraMotion, ColourBy, Director, Follow, Look, PictureSize, Style,
};
use gravitile::settings::ViewRequest;
use gravitile::sim::State;

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
    pub points: Vec<DVec3>,
}

pub struct Viewer {
    pub choice: ViewChoice,
    pub steering: Steering,
    pub directing: Directing,
    /// The look for the choice and these bodies, with all effects, as in saved films and pictures.
    pub look: Option<Look>,
    /// The choice that the look was made for; `None` if it must be made again.
    pub look_of: Option<ViewChoice>,
    /// The look without the effects that are left out of the window's pictures, if any are.
    pub reduced_look: Option<Look>,
    pub quality: AdaptiveQuality,
    pub drawings: Drawings,
    /// The diagram over the picture.
    pub diagram: Overlay,
    /// The paths of a few bodies, and their colours.
    pub paths: Paths,
    pub path_colours: Vec<[u8; 3]>,
}

impl Viewer {
    /// The requested view on a device of that class; a request without looks uses the stored ones.
    pub fn new(
        request: &ViewRequest,
        preferences: &Preferences,
        class: DeviceClass,
    ) -> Result<Self> {
        let mut choice = ViewChoice { style: request.look.style()?, ..ViewChoice::default() };
        if choice.style == Style::default() {
            preferences.apply_to(&mut choice);
        }
        let steering = Steering::new(Camera::default());
        Ok(Self {
            choice,
            steering,
            directing: Directing::default(),
            look: None,
            look_of: None,
            reduced_look: None,
            quality: AdaptiveQuality::new(class),
            drawings: Drawings::default(),
            diagram: Overlay::default(),
            paths: Paths::default(),
            path_colours: Vec::new(),
        })
    }

    /// Begins path lines for other bodies, if there are few.
    pub fn begin_paths(&mut self, session: &Session) {
        self.paths = Paths::new(paths::FADES_WITHIN * session.initial.hints.until);
        self.path_colours = match Paths::suit(session.initial.bodies.len()) {
            true => paths::colours(&session.initial.bodies),
            false => Vec::new(),
        };
    }

    /// Whether there are path lines to draw.
    pub fn has_paths(&self) -> bool {
        self.choice.style.paths && !self.path_colours.is_empty()
    }

    /// The drawings on a picture saved now, or on a film's pictures, which are `interval` of
    /// simulated time apart.
    #[cfg_attr(
        target_arch = "wasm32",
        expect(unused_variables, reason = "a page has no font for captions")
    )]
    pub fn on_top(&self, session: &Session, interval: f64) -> OnTop {
        let camera = self.steering.camera();
        let lines = self.has_paths().then(|| (self.paths.clone(), self.path_colours.clone()));
        #[cfg(not(target_arch = "wasm32"))]
        let captions = self.captions(session, interval);
        Box::new(move |image, time| {
            if let Some((paths, colours)) = lines {
                paths.draw(image, &camera, &colours);
            }
            #[cfg(not(target_arch = "wasm32"))]
            if let Some((content, look, components)) = captions {
                content.draw(image, (&camera, &look, &components), time);
            }
        })
    }

    /// The content of the captions, and the look and the components that they describe; `None` if
    /// none are requested. Their time has enough digits to distinguish pictures that are `interval`
    /// apart.
    #[cfg(not(target_arch = "wasm32"))]
    fn captions(
        &self,
        session: &Session,
        interval: f64,
    ) -> Option<(Caption, Look, Vec<Component>)> {
        let captions = self.choice.captions;
        let look = self.look.as_ref().filter(|_| captions != Captions::default())?;
        let initial = &session.initial;
        let (title, units) =
            (initial.title.clone(), self.choice.units(&initial.template.units).clone());
        let content = Caption { captions, title, units, interval };
        Some((content, look.clone(), initial.bodies.components.clone()))
    }

    /// Moves the camera along its path, if it follows one, to its place at a time of the run: for a
    /// picture of `size`, and `nearer` times nearer.
    pub fn go_along(&mut self, time: f64, (size, nearer): (PictureSize, f64)) {
        let camera = path_camera(&self.choice.path, self.steering.camera(), time, size);
        if let (Some(camera), true) = (camera, self.choice.plays) {
            self.steering.put(camera.zoomed(nearer));
        }
    }

    /// Whether pictures in motion lack effects or pixels.
    pub fn lacks(&self) -> bool {
        self.reduced_look.is_some() || self.quality.pixel_side() > 1.0
    }

    /// Whether the last picture lacks effects that one at rest would have.
    pub fn needs_full(&self) -> bool {
        self.lacks() && self.drawings.last() == Some(Drawing::Reduced)
    }

    /// Whether the last picture lacks effects and showed another view than the one before.
    pub fn lacks_and_moved(&self) -> bool {
        self.lacks() && self.drawings.has_moved()
    }

    /// Sets the target of the colour scales, which suits the bodies at `state`.
    pub fn aim(&mut self, state: &State) {
        for look in [&mut self.look, &mut self.reduced_look].into_iter().flatten() {
            look.aim_values(&state.bodies, Some(&state.acceleration));
        }
    }

    /// Moves the colour scales towards their target for `secs`; returns whether they moved.
    pub fn approach(&mut self, secs: f64) -> bool {
        let looks = [&mut self.look, &mut self.reduced_look].into_iter().flatten();
        looks.fold(false, |moved, look| look.approach_values(secs) | moved)
    }

    /// Rebuilds the looks if the choice or the bodies have changed, for the `latest` state of the
    /// bodies; returns whether they had.
    pub fn refresh(
        &mut self,
        session: Option<&Session>,
        latest: Option<&Arc<State>>,
    ) -> Result<bool> {
        let Some(session) = session else { return Ok(false) };
        let is_known = self.look.is_some() && self.look_of.as_ref() == Some(&self.choice);
        if !self.choice.spares {
            self.quality.forget();
        }
        // Of two runs in one canvas, trails would mix.
        let trail_secs = self.choice.style.trail_secs;
        let trail_secs = if session.second.is_some() { 0.0 } else { trail_secs };
        let style = Style { trail_secs, ..self.choice.style.clone() };
        let reduced = self.quality.reduced(&style);
        let drawn = self.reduced_look.as_ref().or(self.look.as_ref());
        let every = self.quality.every();
        let is_drawn = |look: &Look| look.requested == reduced && look.every == every;
        if is_known && drawn.is_some_and(is_drawn) {
            return Ok(false);
        }
        let zero;
        let acceleration = match latest {
            Some(state) => &state.acceleration,
            None => {
                zero = vec![glam::DVec3::ZERO; session.initial.bodies.len()];
                &zero
            }
        };
        let made = |style: &Style| -> Result<Look> {
            let mut look = Look::surveyed(
                style,
                &session.initial.bodies,
                Some(acceleration),
                &session.initial.survey,
            )?
            .in_units(self.choice.units(&session.initial.template.units));
            // After the beginning of a run the scale must suit the current state.
            if let Some(state) = latest {
                look.follow_values(&state.bodies, Some(&state.acceleration), f64::INFINITY);
            }
            Ok(look)
        };
        if !is_known {
            self.look = Some(made(&style)?);
        }
        self.reduced_look = match reduced == style && every == 1 {
            true => None,
            false => Some(made(&reduced)?.thinned(every)),
        };
        self.look_of = Some(self.choice.clone());
        Ok(true)
    }

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

    /// Selects the next colouring, and returns its name.
    pub fn next_colouring(&mut self) -> &'static str {
        let style = &mut self.choice.style;
        let now = ColourBy::ALL.iter().position(|(by, _)| *by == style.colour_by);
        let (next, name) = ColourBy::ALL[(now.unwrap_or(0) + 1) % ColourBy::ALL.len()];
        (style.colour_by, style.value_range) = (next, None);
        name
    }

    /// Multiplies the size of the sprites.
    pub fn scale_sprites(&mut self, factor: f64) {
        let size = &mut self.choice.style.sprite_size;
        *size = (*size * factor).clamp(0.1, 10.0);
    }

    /// Brightens the exposure.
    pub fn brighten(&mut self, stops: f64) {
        let sum = &mut self.choice.style.stops;
        *sum = (*sum + stops).clamp(-6.0, 6.0);
    }

    /// Sets what the camera follows.
    pub fn follow(&mut self, what: Follow) {
        self.choice.follow = what;
        self.steering.release();
    }

    /// Ends all automatic control of the camera; returns whether it directed.
    pub fn take_over(&mut self) -> bool {
        self.choice.plays = false;
        std::mem::take(&mut self.choice.directs)
    }

    /// Resolves conflicts between the automatic cameras: the one chosen last is active. `before`
    /// was active until now.
    pub fn resolve_control(&mut self, before: &CameraControl) {
        let CameraControl { follow, plays, directs } = *before;
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
        let control = self.control();
        self.choice.directs = !control.directs;
        self.resolve_control(&control);
        self.choice.directs
    }

    /// What controls the camera now.
    pub fn control(&self) -> CameraControl {
        let choice = &self.choice;
        CameraControl { follow: choice.follow, plays: choice.plays, directs: choice.directs }
    }
}

/// What controls the camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraControl {
    follow: Follow,
    plays: bool,
    pub directs: bool,
}

/// Whether a camera set to direct does so from the start. As in films: only if the request does not
/// specify what to show, and the camera follows neither bodies in common motion nor a path.
pub fn may_direct(request: Option<&ViewRequest>, motion: &CameraMotion) -> bool {
    let is_specified = request.is_some_and(|r| r.look.extent.is_some() || r.look.follow.is_some());
    !is_specified && motion.follow == Follow::Nothing && motion.path.is_empty()
}

impl Directing {
    /// The camera `secs` later, for a picture of `size`, and `nearer` times nearer; `None` if it
    /// stays.
    pub fn camera(
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

    fn viewer() -> Viewer {
        let (request, preferences) = (ViewRequest::default(), Preferences::default());
        let mut viewer = Viewer::new(&request, &preferences, DeviceClass::Discrete).unwrap();
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
            let before = viewer.control();
            change(&mut viewer);
            viewer.resolve_control(&before);
            let CameraControl { follow, plays, directs } = viewer.control();
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
