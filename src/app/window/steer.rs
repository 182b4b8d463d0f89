//! Moving the camera by mouse, wheel and fingers; following; smooth changes.

use egui::{PointerButton, Sense, Ui};
use glam::{DVec2, DVec3, DVec4};

use gravitile::bodies::Bodies;
use gravitile::live::Tracking;
use gravitile::render::framing::median;
use gravitile::render::{Camera, Follow, PictureSize};

/// Duration of a move to another place.
const MOVE_SECS: f64 = 0.7;
/// Time constant of following: the distance to the target falls by 63 % in it.
const FOLLOW_SECS: f64 = 0.15;
/// Largest distance of a click from a body.
const PICK_POINTS: f64 = 14.0;
/// Limits of zooming, as fractions of the first distance: nearer, f32 does not resolve distances
/// between bodies; farther, all of them are in one pixel.
const ZOOM: [f64; 2] = [1e-5, 1e3];
/// Largest number of bodies for the median of a component.
const SAMPLES: usize = 4096;

/// The camera and how it is moved.
pub struct Steering {
    camera: Camera,
    /// The first camera.
    pub start: Camera,
    moving: Option<(Camera, Camera, f64)>,
    /// Size of the free area of the window that the start was fitted to, while it should stay
    /// fitted.
    fits: Option<PictureSize>,
    /// Pixels below that the panel of a narrow window covers.
    pub below_px: f64,
    /// Whether a drag throws something in, instead of turning the picture; and where it began.
    pub throws: bool,
    throw_from: Option<egui::Pos2>,
    /// Last known position of the followed bodies.
    followed: Option<DVec3>,
    /// Last centre of mass.
    centre: Option<DVec3>,
    /// Whether zooming has reached its limit.
    hit_limit: bool,
}

/// Requests of the pointer, besides moving the camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointerRequest {
    /// To find the body at this pixel of a picture drawn from this camera, to follow it or show its
    /// card.
    Pick {
        /// The camera at the time of the click.
        camera: Camera,
        /// The position in the picture.
        pixel: DVec2,
        /// Largest distance of a body from the pixel.
        within_px: f64,
        /// Whether to follow it; else its card is shown.
        follow: bool,
    },
    /// To stop following: the picture was moved by hand.
    Release,
    /// To throw something in.
    Throw {
        /// The camera at the time of the drag.
        camera: Camera,
        /// Beginning and end of the drag in the picture.
        pixels: [DVec2; 2],
        /// The same in the window.
        points: [egui::Pos2; 2],
        /// Whether it has ended.
        released: bool,
    },
}

impl Steering {
    /// Starts with this camera.
    pub fn new(camera: Camera) -> Self {
        Self {
            camera,
            start: camera,
            moving: None,
            fits: None,
            below_px: 0.0,
            throws: false,
            throw_from: None,
            followed: None,
            centre: None,
            hit_limit: false,
        }
    }

    /// The camera, without regard to the panel.
    pub fn camera(&self) -> Camera {
        self.camera
    }

    /// The camera shifted so that its target is in the middle of the area that `covered_px` at the
    /// right, and the pixels below, leave free.
    pub fn shown(&self, covered_px: f64, size: PictureSize) -> Camera {
        self.camera.panned(DVec2::new(-0.5 * covered_px, -0.5 * self.below_px), size)
    }

    /// Moves smoothly to another place.
    pub fn go(&mut self, camera: Camera) {
        self.moving = Some((self.camera, camera, 0.0));
    }

    /// Sets the camera; the start stays.
    pub fn put(&mut self, camera: Camera) {
        (self.camera, self.moving) = (camera, None);
    }

    /// A copy without movement and followed bodies, to be restored later.
    pub fn at_rest(&self) -> Self {
        Self {
            start: self.start,
            fits: self.fits,
            below_px: self.below_px,
            ..Self::new(self.camera)
        }
    }

    /// Whether zooming has reached its limit since the last call.
    pub fn take_zoom_limit(&mut self) -> bool {
        std::mem::take(&mut self.hit_limit)
    }

    /// Zooms within the limits.
    fn zoom(&mut self, factor: f64, at: DVec2, size: PictureSize) {
        let [nearest, farthest] = ZOOM.map(|part| part * self.start.distance);
        let (now, requested) = (self.camera.distance, self.camera.distance / factor);
        // The first camera of a film or a command line may be beyond the limits.
        let allowed = requested.max(nearest.min(now)).min(farthest.max(now));
        self.hit_limit |= allowed != requested;
        self.camera = self.camera.zoomed_to(now / allowed, at, size);
    }

    /// Starts with this camera, for a free area of this size.
    pub fn begin(&mut self, camera: Camera, size: PictureSize) {
        *self = Self { fits: Some(size), below_px: self.below_px, ..Self::new(camera) };
    }

    /// Whether the start is fitted to a free area of this size already.
    pub fn is_fit_for(&self, size: PictureSize) -> bool {
        self.fits.is_none_or(|fits| fits == size)
    }

    /// Sets the start for a free area of this size. The camera changes with it unless it was zoomed
    /// or panned since; turning does not count.
    pub fn fit(&mut self, start: Camera, size: PictureSize) {
        let of = |camera: &Camera| (camera.distance, camera.target);
        if self.moving.is_none() && self.followed.is_none() && of(&self.camera) == of(&self.start) {
            (self.camera.distance, self.camera.target) = of(&start);
        }
        (self.start, self.fits) = (start, Some(size));
    }

    /// Handles the pointer over the picture; `covered_px` as in [`Self::shown`]. With `halves`,
    /// their width and where the second one begins, also over the second picture, where it picks no
    /// body.
    pub fn input(
        &mut self,
        ui: &mut Ui,
        (covered_px, halves): (f64, Option<[f64; 2]>),
        size: PictureSize,
    ) -> Option<PointerRequest> {
        let rect = ui.ctx().content_rect();
        let scale = f64::from(ui.ctx().pixels_per_point());
        // Input over the panel is the panel's, even where it has no control.
        let free = rect.with_max_x(rect.max.x - (covered_px / scale) as f32);
        let offset = halves.map(|[_, offset]| (offset / scale) as f32);
        let free = free.with_max_x(free.max.x + offset.unwrap_or(0.0));
        let is_in_second =
            |at: egui::Pos2| offset.is_some_and(|offset| at.x >= rect.min.x + offset);
        let free = free.with_max_y(rect.max.y - (self.below_px / scale) as f32);
        let response = ui.interact(free, ui.scope_id().with("picture"), Sense::click_and_drag());
        let to_px = |v: egui::Vec2| DVec2::new(f64::from(v.x), f64::from(v.y)) * scale;
        // The middle of the free part is the middle of the steered picture.
        let away = 0.5 * DVec2::new(covered_px, self.below_px);
        let place = |at: egui::Pos2| {
            let aside = offset.filter(|_| is_in_second(at)).unwrap_or(0.0);
            to_px(at - rect.min - egui::vec2(aside, 0.0)) + away
        };
        let mut request = None;
        let before = self.camera;
        let touch = ui.input(|input| input.multi_touch());
        if touch.is_some() {
            // A second finger: the picture is zoomed or moved.
            self.throw_from = None;
        }
        if let Some(touch) = touch.filter(|touch| free.contains(touch.center_pos)) {
            let middle = place(touch.center_pos);
            self.zoom(f64::from(touch.zoom_delta), middle, size);
            self.camera = self.camera.panned(to_px(touch.translation_delta), size);
            request = (touch.translation_delta.length() > 2.0).then_some(PointerRequest::Release);
        } else if self.throws
            && (response.dragged_by(PointerButton::Primary)
                || response.drag_stopped_by(PointerButton::Primary))
        {
            request = self.throw_request(ui, &response, &place);
        } else if response.dragged_by(PointerButton::Primary) {
            self.camera = self.camera.dragged(to_px(response.drag_delta()), size);
        } else if response.dragged_by(PointerButton::Secondary)
            || response.dragged_by(PointerButton::Middle)
        {
            self.camera = self.camera.panned(to_px(response.drag_delta()), size);
            request = Some(PointerRequest::Release);
        }
        if let Some(at) = response.hover_pos() {
            let (scroll, pinch) =
                ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
            let factor = f64::from(scroll * 0.004).exp() * f64::from(pinch);
            if factor != 1.0 && ui.input(|input| input.multi_touch()).is_none() {
                self.zoom(factor, place(at), size);
                if self.followed.is_some() {
                    // The followed bodies stay in the middle.
                    self.camera.target = before.target;
                }
            }
        }
        let follow = response.double_clicked();
        if (follow || response.clicked())
            && let Some(at) = response.interact_pointer_pos().filter(|at| !is_in_second(*at))
        {
            let (within_px, camera, pixel) = (PICK_POINTS * scale, self.camera, place(at));
            request = Some(PointerRequest::Pick { camera, pixel, within_px, follow });
        }
        if self.camera != before {
            self.moving = None;
        }
        request
    }

    /// The throw of a drag from where the button was pressed.
    fn throw_request(
        &mut self,
        ui: &Ui,
        response: &egui::Response,
        place: &impl Fn(egui::Pos2) -> DVec2,
    ) -> Option<PointerRequest> {
        if response.drag_started_by(PointerButton::Primary) {
            self.throw_from = ui.input(|input| input.pointer.press_origin());
        }
        let (from, to) = (self.throw_from?, response.interact_pointer_pos()?);
        let released = response.drag_stopped_by(PointerButton::Primary);
        if released {
            self.throw_from = None;
        }
        let (pixels, points) = ([place(from), place(to)], [from, to]);
        Some(PointerRequest::Throw { camera: self.camera, pixels, points, released })
    }

    /// Advances by `secs`: smooth moves, the slow orbit, following.
    pub fn pass(&mut self, secs: f64, orbit_degrees_per_sec: f64) {
        if let Some((from, to, elapsed)) = &mut self.moving {
            *elapsed += secs;
            let part = *elapsed / MOVE_SECS;
            self.camera = from.towards(to, part);
            if part >= 1.0 {
                self.moving = None;
            }
        }
        self.camera = self.camera.orbited(orbit_degrees_per_sec.to_radians() * secs);
        if let Some(followed) = self.followed {
            let part = 1.0 - (-secs / FOLLOW_SECS).exp();
            self.camera.target += (followed - self.camera.target) * part;
        }
    }

    /// Takes in the current centre of mass, whose motion the followed bodies and the camera share.
    /// Otherwise the camera would lag behind bodies in fast common motion, by their path during the
    /// readback and the time constant.
    pub fn ride(&mut self, centre: DVec3, what: Follow) {
        let shift = centre - self.centre.replace(centre).unwrap_or(centre);
        if what == Follow::Nothing || !shift.is_finite() {
            return;
        }
        self.camera.target += shift;
        if let Some((from, to, _)) = &mut self.moving {
            from.target += shift;
            to.target += shift;
        }
        match what {
            Follow::CentreOfMass => self.followed = Some(centre),
            _ => self.followed = self.followed.map(|followed| followed + shift),
        }
    }

    /// Takes in new positions of the followed bodies, see [`gravitile::live::Live::tracked`].
    pub fn follow(&mut self, what: Follow, positions: &[DVec4], bodies: &Bodies) {
        let point = |p: &DVec4| p.truncate();
        self.followed = match what {
            Follow::Nothing => None,
            // All positions, or that of this body alone.
            Follow::Body(index) => positions.get(index).or(positions.first()).map(point),
            // See `ride`.
            Follow::CentreOfMass => self.followed,
            Follow::Component(component) => {
                let members: Vec<usize> = bodies.of_component(component).collect();
                let stride = members.len().div_ceil(SAMPLES).max(1);
                let sample = members.iter().step_by(stride);
                let points: Vec<DVec3> =
                    sample.filter_map(|&i| positions.get(i)).map(point).collect();
                (!points.is_empty()).then(|| median(&points))
            }
        };
        self.followed = self.followed.filter(|point| point.is_finite());
    }

    /// Stops following.
    pub fn release(&mut self) {
        self.followed = None;
    }
}

/// The positions that the simulation must read back for this.
pub fn tracking(what: Follow) -> Tracking {
    match what {
        // The centre of mass is known, as it moves uniformly.
        Follow::Nothing | Follow::CentreOfMass => Tracking::Nothing,
        Follow::Body(index) => Tracking::Body(index),
        Follow::Component(_) => Tracking::All,
    }
}

#[cfg(test)]
mod tests;
