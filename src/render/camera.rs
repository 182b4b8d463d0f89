//! A perspective camera on a sphere around its target.
//!
//! World axes are right-handed with z up. The view axes are right, up and forward, so depth is
//! positive in front of the eye. The field of view is taken across the *shorter* side of the
//! picture: the same camera shows the same disk in a landscape, portrait or square picture.

use glam::DVec3;

use super::image::PictureSize;
use super::scale::Scale;
use crate::error::{Error, Result};

/// Where the eye is and where it looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// The point in the middle of the picture, in world units.
    pub target: DVec3,
    /// Direction from target to eye around the z axis, from +x towards +y, in radians.
    pub azimuth_rad: f64,
    /// Direction from target to eye above the xy plane, in radians, -pi/2 to pi/2.
    pub elevation_rad: f64,
    /// From target to eye, in world units, greater than 0.
    pub distance: f64,
    /// Field of view across the shorter side of the picture, in radians, 0.01 to 2.8.
    pub fov_rad: f64,
}

impl Default for Camera {
    /// Looks at the origin from 10 units away and 35 degrees above the xy plane.
    fn default() -> Self {
        Self {
            target: DVec3::ZERO,
            azimuth_rad: -std::f64::consts::FRAC_PI_2,
            elevation_rad: 35f64.to_radians(),
            distance: 10.0,
            fov_rad: 40f64.to_radians(),
        }
    }
}

/// The camera for the sprite passes; the same layout on the host and in `body_sprite.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct View {
    /// The eye, in the points' [`Scale`].
    pub eye_in_world: [f32; 3],
    /// Pixels per unit of (sideways distance / depth).
    pub focal_px: f32,
    /// Unit vector to the right of the picture.
    pub right_in_world: [f32; 3],
    /// Near plane: nothing nearer than this is drawn, in units of the scale.
    pub near: f32,
    /// Unit vector to the top of the picture.
    pub up_in_world: [f32; 3],
    /// Width of the picture.
    pub width_px: f32,
    /// Unit vector into the picture.
    pub forward_in_world: [f32; 3],
    /// Height of the picture.
    pub height_px: f32,
}

impl View {
    /// Depth of a point at this offset from the eye.
    #[inline(always)]
    pub(super) fn depth(&self, offset: [f32; 3]) -> f32 {
        dot(offset, self.forward_in_world)
    }

    /// Column and row of a point at this offset from the eye and this depth, and pixels per unit of
    /// length there.
    #[inline(always)]
    pub(super) fn project(&self, offset: [f32; 3], depth: f32) -> ([f32; 2], f32) {
        let scale_px = self.focal_px / depth;
        let pixel = [
            0.5 * self.width_px + dot(offset, self.right_in_world) * scale_px,
            0.5 * self.height_px - dot(offset, self.up_in_world) * scale_px,
        ];
        (pixel, scale_px)
    }
}

#[inline(always)]
pub(super) fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl Camera {
    /// The near plane's distance as a fraction of the target's: nearer bodies would fill the
    /// picture.
    pub(crate) const NEAR_PART: f64 = 0.02;

    /// Right, up and backward (towards the eye), unit vectors in world space.
    pub fn axes_in_world(&self) -> [DVec3; 3] {
        let (sin_azimuth, cos_azimuth) = libm::sincos(self.azimuth_rad);
        let (sin_elevation, cos_elevation) = libm::sincos(self.elevation_rad);
        let backward =
            DVec3::new(cos_elevation * cos_azimuth, cos_elevation * sin_azimuth, sin_elevation);
        let right = DVec3::new(-sin_azimuth, cos_azimuth, 0.0);
        [right, backward.cross(right), backward]
    }

    /// The eye, in world units.
    pub fn eye_in_world(&self) -> DVec3 {
        self.target + self.axes_in_world()[2] * self.distance
    }

    /// Pixels per unit of (sideways distance / depth) in a picture of that size.
    pub fn focal_px(&self, size: PictureSize) -> f64 {
        0.5 * f64::from(size.shorter_side()) / libm::tan(0.5 * self.fov_rad)
    }

    /// Turns the camera by `angle_rad` around the vertical through its target.
    #[must_use]
    pub fn orbited(mut self, angle_rad: f64) -> Self {
        self.azimuth_rad = (self.azimuth_rad + angle_rad).rem_euclid(std::f64::consts::TAU);
        self
    }

    /// Divides the camera's distance by `factor` (> 0).
    #[must_use]
    pub fn zoomed(mut self, factor: f64) -> Self {
        self.distance /= factor;
        self
    }

    /// The near plane: nothing nearer to the eye than this is drawn, in world units.
    pub fn near(&self) -> f64 {
        self.distance * Self::NEAR_PART
    }

    /// Checks the ranges given for the fields.
    pub fn validate(&self) -> Result<()> {
        let angles = [("azimuth", self.azimuth_rad), ("elevation", self.elevation_rad)];
        for (name, angle) in angles {
            if !angle.is_finite() {
                return Err(Error::value(format!("the camera's {name}"), angle, "a finite angle"));
            }
        }
        if self.elevation_rad.abs() > std::f64::consts::FRAC_PI_2 + 1e-9 {
            let degrees = self.elevation_rad.to_degrees();
            return Err(Error::value("the camera's elevation", degrees, "-90 to 90 degrees"));
        }
        if !self.target.is_finite() {
            return Err(Error::value("the camera's target", self.target, "a finite point"));
        }
        if !(self.distance.is_finite() && self.distance > 0.0) {
            return Err(Error::value("the camera's distance", self.distance, "greater than 0"));
        }
        if !(0.01..=2.8).contains(&self.fov_rad) {
            let degrees = self.fov_rad.to_degrees();
            return Err(Error::value("the field of view", degrees, "0.6 to 160 degrees"));
        }
        Ok(())
    }

    /// The view for the sprite passes, for a picture of that size of points in world units.
    pub fn view(&self, size: PictureSize) -> Result<View> {
        self.view_in(size, &Scale::PLAIN)
    }

    /// The view for points in the units of `scale`.
    pub fn view_in(&self, size: PictureSize, scale: &Scale) -> Result<View> {
        self.validate()?;
        // Subtract the origin from the target first, for precision: the eye is near it.
        let eye = (self.target - scale.origin) + self.axes_in_world()[2] * self.distance;
        let [right, up, backward] = self.axes_in_world();
        Ok(View {
            eye_in_world: (eye / scale.length).as_vec3().to_array(),
            focal_px: self.focal_px(size) as f32,
            right_in_world: right.as_vec3().to_array(),
            near: (self.near() / scale.length) as f32,
            up_in_world: up.as_vec3().to_array(),
            width_px: size.width() as f32,
            forward_in_world: (-backward).as_vec3().to_array(),
            height_px: size.height() as f32,
        })
    }

    /// From world to clip space (wgpu's: x right, y up, depth 0 at the near plane to 1 far away),
    /// to check the view by.
    #[cfg(test)]
    pub fn clip_from_world(&self, size: PictureSize) -> glam::Mat4 {
        use glam::DMat4;

        let [right, up, backward] = self.axes_in_world();
        let rows = DMat4::from_cols(
            right.extend(0.0),
            up.extend(0.0),
            backward.extend(0.0),
            glam::DVec4::W,
        );
        let view_from_world = rows.transpose() * DMat4::from_translation(-self.eye_in_world());
        let (width, height) = (f64::from(size.width()), f64::from(size.height()));
        let focal_px = self.focal_px(size);
        let near = self.near();
        let clip_from_view = DMat4::from_cols_array(
            &[
                [2.0 * focal_px / width, 0.0, 0.0, 0.0],
                [0.0, 2.0 * focal_px / height, 0.0, 0.0],
                [0.0, 0.0, -1.0, -1.0],
                [0.0, 0.0, -near, 0.0],
            ]
            .concat()
            .try_into()
            .unwrap_or([0.0; 16]),
        );
        (clip_from_view * view_from_world).as_mat4()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size() -> PictureSize {
        PictureSize::new(800, 600).unwrap()
    }

    #[test]
    fn view_from_above_has_map_axes() {
        let camera = Camera { elevation_rad: std::f64::consts::FRAC_PI_2, ..Camera::default() };
        let [right, up, backward] = camera.axes_in_world();
        assert!((right - DVec3::X).length() < 1e-12);
        assert!((up - DVec3::Y).length() < 1e-12);
        assert!((backward - DVec3::Z).length() < 1e-12);
    }

    #[test]
    fn clip_matrix_and_view_project_to_same_pixel() {
        let camera = Camera::default().orbited(0.7).zoomed(1.5);
        let (view, point) = (camera.view(size()).unwrap(), DVec3::new(0.4, -1.2, 0.9));
        let offset = point.as_vec3() - glam::Vec3::from(view.eye_in_world);
        let depth = offset.dot(view.forward_in_world.into());
        let x = 400.0 + offset.dot(view.right_in_world.into()) * view.focal_px / depth;
        let y = 300.0 - offset.dot(view.up_in_world.into()) * view.focal_px / depth;
        let clip = camera.clip_from_world(size()) * point.as_vec3().extend(1.0);
        assert!((clip.x / clip.w * 400.0 + 400.0 - x).abs() < 1e-2);
        assert!((300.0 - clip.y / clip.w * 300.0 - y).abs() < 1e-2);
        assert!((clip.w - depth).abs() < 1e-4 && clip.z < clip.w && clip.z > 0.0);
    }

    #[test]
    fn invalid_cameras_are_rejected() {
        for (camera, word) in [
            (Camera { distance: 0.0, ..Camera::default() }, "distance"),
            (Camera { distance: f64::NAN, ..Camera::default() }, "distance"),
            (Camera { fov_rad: 4.0, ..Camera::default() }, "field of view"),
            (Camera { elevation_rad: 2.0, ..Camera::default() }, "elevation"),
            (Camera { azimuth_rad: f64::INFINITY, ..Camera::default() }, "azimuth"),
            (Camera { target: DVec3::NAN, ..Camera::default() }, "target"),
        ] {
            assert!(camera.view(size()).unwrap_err().to_string().contains(word));
        }
    }
}
