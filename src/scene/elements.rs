//! Kepler orbits by their elements.

use std::f64::consts::{PI, TAU};

use glam::DVec3;

use super::kepler;
use super::rotation::Rotation;
use crate::bodies::Bodies;
use crate::error::{Error, Result};

/// The size of an orbit, in units with G = 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Size {
    /// Semi-major axis: above 0 for an ellipse, below 0 for a hyperbola; a parabola has none.
    SemiMajorAxis(f64),
    /// Smallest distance, above 0, of any orbit.
    Pericentre(f64),
    /// Period of an ellipse, above 0.
    Period(f64),
}

/// The place on an orbit, in degrees from the pericentre.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Anomaly {
    /// 360 degrees times the time since the pericentre over the period. Of a hyperbola: e sinh(H) -
    /// H in degrees, which is also proportional to the time. A parabola has none.
    Mean(f64),
    /// The angle at the central body between the pericentre and the orbiting body. A hyperbola
    /// reaches only angles below acos(-1/e) on both sides, a parabola those below 180.
    True(f64),
}

/// Orbital elements: the orbit of a body relative to another one, or to the centre of mass of
/// several (Murray & Dermott 1999, section 2.8). Angles are in degrees; the reference plane is xy
/// and the reference direction x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elements {
    /// Its size.
    pub size: Size,
    /// Eccentricity, at least 0: an ellipse below 1, a parabola at 1, a hyperbola above.
    pub eccentricity: f64,
    /// Angle between the orbit and the xy plane.
    pub inclination: f64,
    /// Longitude of the ascending node, from the x axis.
    pub node: f64,
    /// Argument of the pericentre, from the ascending node.
    pub argument: f64,
    /// Where the body is.
    pub anomaly: Anomaly,
}

impl Default for Elements {
    /// A circle of radius 1 in the xy plane, with the body on the x axis.
    fn default() -> Self {
        Self {
            size: Size::SemiMajorAxis(1.0),
            eccentricity: 0.0,
            inclination: 0.0,
            node: 0.0,
            argument: 0.0,
            anomaly: Anomaly::Mean(0.0),
        }
    }
}

impl Elements {
    /// Position and velocity relative to the central body, for the mass `mass` of both together
    /// (G = 1).
    ///
    /// # Errors
    ///
    /// Elements outside their ranges, or that contradict each other; a mass that is not above 0; a
    /// position or velocity beyond the range of f64.
    pub fn state(&self, mass: f64) -> Result<(DVec3, DVec3)> {
        self.check()?;
        if !(mass.is_finite() && mass > 0.0) {
            return Err(Error::value("the mass that an orbit is about", mass, "a number above 0"));
        }
        let e = self.eccentricity;
        let pericentre = match self.size {
            Size::SemiMajorAxis(axis) => axis * (1.0 - e),
            Size::Pericentre(pericentre) => pericentre,
            Size::Period(period) => libm::cbrt(mass * (period / TAU).powi(2)) * (1.0 - e),
        };
        let (x, v) = match self.anomaly {
            Anomaly::True(degrees) => at_angle(e, pericentre, mass, degrees * (PI / 180.0)),
            Anomaly::Mean(degrees) => at_mean(e, pericentre, mass, degrees),
        };
        let rotation = Rotation::new(self.argument, self.inclination, self.node);
        let (x, v) = (rotation.turn(x), rotation.turn(v));
        if x.is_finite() && v.is_finite() && x != DVec3::ZERO {
            return Ok((x, v));
        }
        let what = format!("the orbit's size, {:?}, with a mass of {mass}", self.size);
        let allowed = "a distance and a speed that f64 can hold";
        Err(Error::value(what, format!("distance {x}, speed {v}"), allowed))
    }

    /// Checks that all elements are in their ranges and agree with each other.
    ///
    /// # Errors
    ///
    /// The first element that does not, with what is allowed.
    pub fn check(&self) -> Result<()> {
        let e = self.eccentricity;
        if !(e.is_finite() && e >= 0.0) {
            return Err(Error::value("the orbit's eccentricity", e, "a number of at least 0"));
        }
        let (what, value, is_good, allowed) = match self.size {
            Size::SemiMajorAxis(axis) => (
                "semi-major axis",
                axis,
                (axis > 0.0 && e < 1.0) || (axis < 0.0 && e > 1.0),
                "above 0 for an ellipse and below 0 for a hyperbola; a parabola has a pericentre instead",
            ),
            Size::Pericentre(pericentre) => {
                ("pericentre", pericentre, pericentre > 0.0, "a number above 0")
            }
            Size::Period(period) => (
                "period",
                period,
                period > 0.0 && e < 1.0,
                "a number above 0, with an eccentricity below 1",
            ),
        };
        if !(is_good && value.is_finite()) {
            return Err(Error::value(format!("the orbit's {what}"), value, allowed));
        }
        for (what, angle) in [
            ("inclination", self.inclination),
            ("node", self.node),
            ("argument of the pericentre", self.argument),
        ] {
            if !angle.is_finite() {
                return Err(Error::value(format!("the orbit's {what}"), angle, "finite degrees"));
            }
        }
        match self.anomaly {
            Anomaly::Mean(angle) if !angle.is_finite() => {
                Err(Error::value("the orbit's mean anomaly", angle, "finite degrees"))
            }
            Anomaly::Mean(angle) if e == 1.0 && angle != 0.0 => {
                let allowed = "left out: a parabola (eccentricity 1) has a true anomaly only";
                Err(Error::value("the orbit's mean anomaly", angle, allowed))
            }
            Anomaly::True(angle) if !angle.is_finite() => {
                Err(Error::value("the orbit's true anomaly", angle, "finite degrees"))
            }
            Anomaly::True(angle) if e >= 1.0 => {
                let most = libm::acos(-1.0 / e) * (180.0 / PI);
                let angle = angle - 360.0 * (angle / 360.0).round();
                // Beyond this cosine the body would be at infinity.
                if 1.0 + e * libm::cos(angle * (PI / 180.0)) > 1e-12 && angle.abs() < most {
                    return Ok(());
                }
                let allowed = format!("between {:.6} and {most:.6} degrees", -most);
                Err(Error::value("the orbit's true anomaly", angle, allowed))
            }
            _ => Ok(()),
        }
    }
}

/// Position and velocity in the orbit's plane, with the pericentre on the x axis, at a true
/// anomaly: r = p / (1 + e cos(theta)), v = sqrt(mu / p) (-sin(theta), e + cos(theta)).
fn at_angle(e: f64, pericentre: f64, mass: f64, angle: f64) -> (DVec3, DVec3) {
    let parameter = pericentre * (1.0 + e);
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let distance = parameter / (1.0 + e * cosine);
    let speed = (mass / parameter).sqrt();
    (DVec3::new(cosine, sine, 0.0) * distance, DVec3::new(-sine, e + cosine, 0.0) * speed)
}

/// The same at a mean anomaly in degrees, through the eccentric or hyperbolic one.
fn at_mean(e: f64, pericentre: f64, mass: f64, degrees: f64) -> (DVec3, DVec3) {
    if e == 1.0 {
        return at_angle(e, pericentre, mass, 0.0);
    }
    // Positive also for hyperbolas.
    let axis = pericentre / (1.0 - e).abs();
    let ratio = ((1.0 - e) * (1.0 + e)).abs().sqrt();
    let (x, y, distance, vx, vy) = match e < 1.0 {
        true => {
            let turns = degrees / 360.0;
            let anomaly = kepler::eccentric(e, TAU * (turns - turns.round()));
            let (sine, cosine) = (libm::sin(anomaly), libm::cos(anomaly));
            (cosine - e, ratio * sine, 1.0 - e * cosine, -sine, ratio * cosine)
        }
        false => {
            let anomaly = kepler::hyperbolic(e, degrees * (PI / 180.0));
            let (sine, cosine) = (libm::sinh(anomaly), libm::cosh(anomaly));
            (e - cosine, ratio * sine, e * cosine - 1.0, -sine, ratio * cosine)
        }
    };
    let speed = (mass / axis).sqrt() / distance;
    (DVec3::new(x, y, 0.0) * axis, DVec3::new(vx, vy, 0.0) * speed)
}

impl Bodies {
    /// Adds a body of mass `mass` on an orbit about the bodies `about`: about their centre of mass,
    /// as if they were one. One index is a body; all indices give Jacobi coordinates. The bodies
    /// that are there do not move, so the centre of mass does; see [`Bodies::recentre`]. For an
    /// orbit about a fixed mass, push what [`Elements::state`] gives.
    ///
    /// # Errors
    ///
    /// No index, or one that is no body; those of [`Elements::state`] for the mass of all together.
    /// The bodies are then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use gravitile::bodies::Bodies;
    /// use gravitile::scene::{Elements, Size};
    /// use glam::DVec3;
    ///
    /// // The Sun and Jupiter in AU and solar masses with G = 1: a year is 2 pi.
    /// let mut bodies = Bodies::with_capacity(2);
    /// bodies.push(1.0, DVec3::ZERO, DVec3::ZERO, 0);
    /// let jupiter = Elements {
    ///     size: Size::SemiMajorAxis(5.203),
    ///     eccentricity: 0.048,
    ///     ..Elements::default()
    /// };
    /// bodies.push_orbit(9.55e-4, &jupiter, &[0], 0)?;
    /// bodies.recentre();
    /// # Ok::<(), gravitile::error::Error>(())
    /// ```
    pub fn push_orbit(
        &mut self,
        mass: f64,
        elements: &Elements,
        about: &[usize],
        component: u8,
    ) -> Result<()> {
        let n = self.len();
        if about.is_empty() {
            return Err(Error::value("the number of bodies an orbit is about", 0, "at least 1"));
        }
        if let Some(i) = about.iter().find(|&&i| i >= n) {
            let allowed = format!("below {n}, the number of bodies");
            return Err(Error::value("the index of a body an orbit is about", i, allowed));
        }
        let centre = self.selected(about.iter().copied());
        let (x, v) = elements.state(centre.total_mass() + mass)?;
        let (position, velocity) = centre.centre_of_mass();
        self.push(mass, position + x, velocity + v, component);
        Ok(())
    }

    /// The bodies of these indices, without components.
    pub(super) fn selected(&self, indices: impl Iterator<Item = usize>) -> Self {
        let mut all = Self::default();
        for i in indices {
            all.push(self.mass[i], self.position[i], self.velocity[i], 0);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(size: f64, eccentricity: f64, angles: [f64; 3], anomaly: Anomaly) -> Elements {
        let [inclination, node, argument] = angles;
        let size = Size::SemiMajorAxis(size);
        Elements { size, eccentricity, inclination, node, argument, anomaly }
    }

    /// Positions and velocities by REBOUND 5.2.2, `add(m, a, e, inc, Omega, omega, M or f)` in
    /// units with `G = 1`: Jupiter, Halley's comet, a binary, a fast flyby, 1I/'Oumuamua, a needle.
    #[test]
    fn states_match_those_of_rebound() {
        let cases = [
            (
                1.001,
                elements(5.2044, 0.0489, [1.303, 100.464, 273.867], Anomaly::Mean(20.02)),
                [3.9973950960082956, 2.94620047139358, -0.10158161869508463],
                [-0.26573919696236237, 0.37429745104319784, 0.004397642924280012],
            ),
            (
                1.0,
                elements(17.834, 0.96714, [162.26, 58.42, 111.33], Anomaly::Mean(38.38)),
                [-13.940539579867698, 11.474907632331652, -5.72170763594887],
                [-0.12293985380535385, 0.1745521458067866, -0.06274865093207645],
            ),
            (
                3.0,
                elements(3.0, 0.5, [60.0, -40.0, 200.0], Anomaly::True(-130.0)),
                [1.870055928346568, 0.4644415318594823, 2.69824354110589],
                [-0.7273776620383559, 0.514002653882691, -0.12782616706728533],
            ),
            (
                0.9,
                elements(-1.3, 1.8, [122.7, 24.6, 241.8], Anomaly::Mean(-250.0)),
                [-3.2420130649147496, -4.6717881021627745, 4.51436476238417],
                [0.23778739768582458, 0.6124223258063715, -0.7131749276432512],
            ),
            (
                1.0,
                elements(-1.2722, 1.20113, [122.74, 24.597, 241.811], Anomaly::True(95.0)),
                [0.47001894338439604, 0.3624986567270471, -0.2083553926516171],
                [1.8652544400732503, 0.5750236748157809, 0.39431706285939566],
            ),
            (
                1.5,
                elements(0.01, 0.999, [90.0, 180.0, 90.0], Anomaly::Mean(1.0)),
                [0.00020207211251264338, 0.0, -0.0010696178736009849],
                [4.487369056754135, 0.0, -50.8512833276637],
            ),
        ];
        for (mass, elements, position, velocity) in cases {
            let (x, v) = elements.state(mass).unwrap();
            let (position, velocity) = (DVec3::from_array(position), DVec3::from_array(velocity));
            assert!((x - position).length() < 1e-11 * x.length(), "{elements:?}: {x}");
            assert!((v - velocity).length() < 1e-11 * v.length(), "{elements:?}: {v}");
        }
    }

    #[test]
    fn sizes_and_anomalies_agree() {
        let angles = [30.0, 40.0, 50.0];
        let axis = elements(2.0, 0.25, angles, Anomaly::Mean(-100.0));
        let same = |size: Size| {
            let (x, v) = Elements { size, ..axis }.state(3.0).unwrap();
            let (position, velocity) = axis.state(3.0).unwrap();
            assert!((x - position).length() < 1e-14 && (v - velocity).length() < 1e-14, "{size:?}");
        };
        same(Size::Pericentre(1.5));
        same(Size::Period(TAU * (8.0_f64 / 3.0).sqrt()));
        // A parabola between a nearly parabolic ellipse and hyperbola.
        let parabola = Elements {
            size: Size::Pericentre(1.0),
            eccentricity: 1.0,
            anomaly: Anomaly::True(170.0),
            ..axis
        };
        let (x, v) = parabola.state(2.0).unwrap();
        assert!((0.5 * v.length_squared() * x.length() / 2.0 - 1.0).abs() < 1e-12, "no energy");
        for e in [1.0 - 1e-9, 1.0 + 1e-9] {
            let (near, _) = Elements { eccentricity: e, ..parabola }.state(2.0).unwrap();
            assert!((near - x).length() < 1e-6 * x.length(), "{near} {x}");
        }
    }

    #[test]
    fn invalid_elements_are_rejected() {
        let says = |change: fn(&mut Elements), words: &[&str]| {
            let mut elements = Elements::default();
            change(&mut elements);
            let text = elements.state(1.0).expect_err("they are wrong").to_string();
            assert!(words.iter().all(|word| text.contains(word)), "'{text}' should say {words:?}");
        };
        says(|e| e.eccentricity = -0.1, &["eccentricity is -0.1", "at least 0"]);
        says(|e| e.eccentricity = f64::NAN, &["eccentricity"]);
        says(|e| e.eccentricity = 1.0, &["semi-major axis is 1", "pericentre"]);
        says(|e| e.eccentricity = 1.5, &["semi-major axis is 1", "below 0 for a hyperbola"]);
        says(|e| e.size = Size::SemiMajorAxis(f64::INFINITY), &["semi-major axis is inf"]);
        says(|e| e.size = Size::Pericentre(0.0), &["pericentre is 0"]);
        says(|e| (e.size, e.eccentricity) = (Size::Period(1.0), 1.2), &["period", "below 1"]);
        says(|e| e.node = f64::INFINITY, &["node is inf"]);
        says(|e| e.anomaly = Anomaly::Mean(f64::NAN), &["mean anomaly"]);
        says(
            |e| {
                (e.size, e.eccentricity, e.anomaly) =
                    (Size::Pericentre(1.0), 2.0, Anomaly::True(125.0))
            },
            &["true anomaly is 125", "120.000000"],
        );
        says(
            |e| {
                (e.size, e.eccentricity, e.anomaly) =
                    (Size::Pericentre(1.0), 1.0, Anomaly::Mean(5.0))
            },
            &["mean anomaly is 5", "parabola"],
        );
        let tiny = Elements { size: Size::SemiMajorAxis(1e-300), ..Elements::default() };
        assert!(tiny.state(1e300).unwrap_err().to_string().contains("f64 can hold"));
        assert!(Elements::default().state(0.0).is_err());
        let mut bodies = Bodies::default();
        bodies.push(1.0, DVec3::ZERO, DVec3::ZERO, 0);
        for (about, word) in [(&[][..], "at least 1"), (&[0, 1], "below 1")] {
            let error = bodies.push_orbit(1.0, &Elements::default(), about, 0).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        assert_eq!(bodies.len(), 1);
    }

    #[test]
    fn third_body_orbits_the_centre_of_the_first_two() {
        let mut bodies = Bodies::default();
        bodies.push(2.0, DVec3::new(5.0, 0.0, 0.0), DVec3::Z, 0);
        bodies.push_orbit(1.0, &Elements::default(), &[0], 0).unwrap();
        let outer = elements(20.0, 0.1, [45.0, 0.0, 0.0], Anomaly::True(90.0));
        bodies.push_orbit(0.5, &outer, &[0, 1], 0).unwrap();
        let (centre, drift) = bodies.selected(0..2).centre_of_mass();
        let (x, v) = (bodies.position[2] - centre, bodies.velocity[2] - drift);
        // Vis-viva: v^2 = M (2/r - 1/a).
        let square = 3.5 * (2.0 / x.length() - 1.0 / 20.0);
        assert!((v.length_squared() / square - 1.0).abs() < 1e-13);
        assert!((x.length() - 20.0 * 0.99).abs() < 1e-12 && (x.y - x.z).abs() < 1e-12, "{x}");
        assert_eq!(bodies.velocity[1].z, 1.0, "the inner orbit moves with its first body");
    }
}
