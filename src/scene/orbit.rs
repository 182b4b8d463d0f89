//! The Kepler orbit of two masses, for encounters.

use glam::DVec3;

use crate::error::{Error, Result};

/// The relative orbit of two point masses: an ellipse, a parabola or a hyperbola.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orbit {
    /// Eccentricity, at least 0; 1 is a parabola.
    pub eccentricity: f64,
    /// Smallest distance, above 0.
    pub pericentre: f64,
    /// Initial distance, between the smallest and the greatest of the orbit.
    pub separation: f64,
}

impl Orbit {
    /// Position and velocity of the second mass relative to the first, approaching the pericentre,
    /// for the total mass `mass` (G = 1). The orbit lies in the xy plane, runs counter-clockwise
    /// and has its pericentre on the positive x axis.
    ///
    /// # Errors
    ///
    /// Fields outside their ranges; a separation that the orbit never reaches.
    pub fn start(&self, mass: f64) -> Result<(DVec3, DVec3)> {
        let Self { eccentricity, pericentre, separation } = *self;
        if !(eccentricity.is_finite() && eccentricity >= 0.0) {
            let allowed = "a number of at least 0";
            return Err(Error::value("the orbit's eccentricity", eccentricity, allowed));
        }
        if !(pericentre.is_finite() && pericentre > 0.0) {
            return Err(Error::value("the orbit's pericentre", pericentre, "a number above 0"));
        }
        let greatest = match eccentricity < 1.0 {
            true => pericentre * (1.0 + eccentricity) / (1.0 - eccentricity),
            false => f64::INFINITY,
        };
        // Tolerance for rounding when a start is at the very end of an ellipse.
        let rounding = 1.0 + 1e-12;
        if !(separation.is_finite()
            && separation * rounding >= pericentre
            && separation <= greatest * rounding)
        {
            let allowed = match greatest.is_finite() {
                true => format!(
                    "from the pericentre, {pericentre}, to the orbit's greatest distance, {greatest}"
                ),
                false => format!("a number of at least the pericentre, {pericentre}"),
            };
            return Err(Error::value("the orbit's separation", separation, allowed));
        }

        // r = p / (1 + e cos(theta)), v = sqrt(mu / p) (-sin(theta), e + cos(theta)).
        let parameter = pericentre * (1.0 + eccentricity);
        let cosine = match eccentricity > 0.0 {
            true => ((parameter / separation - 1.0) / eccentricity).clamp(-1.0, 1.0),
            false => 1.0,
        };
        let sine = -(1.0 - cosine * cosine).sqrt();
        let speed = (mass / parameter).sqrt();
        Ok((
            DVec3::new(cosine, sine, 0.0) * separation,
            DVec3::new(-sine, eccentricity + cosine, 0.0) * speed,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orbit_start_has_expected_energy_and_angular_momentum() {
        for (eccentricity, separation) in
            [(0.0, 2.0), (0.6, 5.0), (0.6, 8.0), (1.0, 30.0), (1.5, 30.0)]
        {
            let orbit = Orbit { eccentricity, pericentre: 2.0, separation };
            let (x, v) = orbit.start(3.0).unwrap();
            assert!((x.length() - separation).abs() < 1e-12);
            assert!(x.dot(v) <= 1e-12, "it should come closer");
            let energy = 0.5 * v.length_squared() - 3.0 / separation;
            assert!((energy + 3.0 * (1.0 - eccentricity) / 4.0).abs() < 1e-12);
            let momentum = x.cross(v).z;
            assert!((momentum * momentum - 3.0 * 2.0 * (1.0 + eccentricity)).abs() < 1e-11);
        }
    }

    #[test]
    fn invalid_orbits_are_rejected() {
        let refuse = |eccentricity, pericentre, separation, word: &str| {
            let text =
                Orbit { eccentricity, pericentre, separation }.start(1.0).unwrap_err().to_string();
            assert!(text.contains(word), "{text}");
        };
        refuse(-0.1, 1.0, 2.0, "eccentricity");
        refuse(1.0, 0.0, 2.0, "pericentre");
        refuse(1.0, 3.0, 2.0, "at least the pericentre, 3");
        refuse(0.5, 1.0, 3.1, "greatest distance, 3");
        refuse(1.0, 1.0, f64::NAN, "separation");
    }
}
