//! Trails: light that fades in seconds instead of vanishing with its picture.
//!
//! A second picture in linear light holds an exponential moving average of past pictures: `trail =
//! retained * trail + (1 - retained) * now`, with `retained = exp(-elapsed / trail_secs)`. The
//! output is 40 % of the current picture and 60 % of the trail, so that a body at rest looks the
//! same, a moving one draws a line behind it, and the total light stays the same for the exposure.
//!
//! The trail is in the picture, not in space: if the camera moves it fades within about eight
//! pixels of motion, and after a jump it is empty.

use rayon::prelude::*;

use super::camera::Camera;
use super::hdr_image::HdrImage;
use super::image::PictureSize;

/// Fraction of the output that comes from the trail.
pub const TRAIL_PART: f32 = 0.6;
/// Camera motion in pixels over which a trail fades.
const FADE_PX: f64 = 8.0;

/// The time and camera of the picture that was last added to the trail.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrailClock {
    last: Option<(f64, Camera)>,
}

impl TrailClock {
    /// Resets: the next picture begins a new trail.
    pub fn reset(&mut self) {
        self.last = None;
    }

    /// The fraction of the trail that stays beneath a picture at `time_secs`, 0 to 1; 0 for the
    /// first.
    pub fn retained(
        &mut self,
        trail_secs: f64,
        time_secs: f64,
        camera: &Camera,
        size: PictureSize,
    ) -> f32 {
        let Some((last_secs, last)) = self.last.replace((time_secs, *camera)) else {
            return 0.0;
        };
        let elapsed = (time_secs - last_secs).max(0.0);
        let fading = elapsed / trail_secs.max(1e-6) + moved_px(&last, camera, size) / FADE_PX;
        libm::exp(-fading) as f32
    }
}

/// Approximate motion of the picture's edge between two cameras, in pixels.
fn moved_px(from: &Camera, to: &Camera, size: PictureSize) -> f64 {
    let half = 0.5 * f64::from(size.shorter_side());
    let ([right, up, _], [other_right, other_up, _]) = (from.axes_in_world(), to.axes_in_world());
    let turn = (right - other_right).length().max((up - other_up).length());
    let scale = to.world_per_px(size);
    let zoom = libm::log(scale / from.world_per_px(size)).abs();
    let shift = (to.target - from.target).length() / scale;
    let moved = half * (turn + zoom) + shift;
    if moved.is_finite() { moved } else { f64::MAX }
}

/// Adds `hdr` to `trail`, of which the fraction `retained` stays, and mixes the trail into `hdr`.
pub fn mix(hdr: &mut HdrImage, trail: &mut HdrImage, retained: f32) {
    let pixels = hdr.pixels_mut().par_iter_mut().zip(trail.pixels_mut().par_iter_mut());
    pixels.with_min_len(4096).for_each(|(now, trail)| {
        for (now, trail) in now.iter_mut().zip(trail) {
            *trail = now.min(super::hdr_image::LARGEST) * (1.0 - retained) + *trail * retained;
            *now = *trail * TRAIL_PART + *now * (1.0 - TRAIL_PART);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size() -> PictureSize {
        PictureSize::new(8, 1).unwrap()
    }

    #[test]
    fn trail_fade_is_independent_of_frame_rate() {
        let faded = |pictures_per_sec: u32| {
            let (mut clock, camera) = (TrailClock::default(), Camera::default());
            let mut remaining = 1.0;
            for picture in 0..=2 * pictures_per_sec {
                let secs = f64::from(picture) / f64::from(pictures_per_sec);
                let retained = clock.retained(2.0, secs, &camera, size());
                remaining *= if picture == 0 { 1.0 - retained } else { retained };
            }
            remaining
        };
        for rate in [1, 7, 60] {
            assert!((faded(rate) - 0.3679).abs() < 1e-3, "{rate}: {}", faded(rate));
        }
    }

    #[test]
    fn camera_motion_shortens_trail_and_jump_clears_it() {
        let frame = PictureSize::new(1280, 720).unwrap();
        let retained = |to: Camera| {
            let mut clock = TrailClock::default();
            clock.retained(2.0, 0.0, &Camera::default(), frame);
            clock.retained(2.0, 0.01, &to, frame)
        };
        let still = retained(Camera::default());
        let slow = retained(Camera::default().orbited(0.001));
        assert!(still > 0.99 && slow < still && slow > 0.9, "{still} {slow}");
        let pan = Camera::default().panned(glam::DVec2::new(8.0, 0.0), frame);
        assert!((retained(pan) - 0.366).abs() < 0.01, "{}", retained(pan));
        for jump in [Camera::default().orbited(1.0), Camera::default().zoomed(2.0)] {
            assert!(retained(jump) < 1e-6);
        }
    }

    #[test]
    fn static_light_is_unchanged_and_moved_light_fades() {
        let (mut hdr, mut trail) = (HdrImage::new(size()), HdrImage::new(size()));
        for picture in 0..40 {
            hdr.pixels_mut().fill([0.0; 4]);
            hdr.pixels_mut()[0] = [2.0; 4];
            hdr.pixels_mut()[1 + picture / 10] = [1.0; 4];
            mix(&mut hdr, &mut trail, if picture == 0 { 0.0 } else { 0.95 });
            assert!((hdr.pixels()[0][1] - 2.0).abs() < 1e-5, "at rest");
        }
        let light: Vec<f32> = hdr.pixels().iter().map(|p| p[0]).collect();
        assert!(light[4] > light[3] && light[3] > light[2], "{light:?}");
        let sum: f32 = light[1..].iter().sum();
        assert!((sum - 1.0).abs() < 1e-4, "no light is lost: {sum}");
        assert_eq!(light[6], 0.0);
    }
}
