//! The j-particle.

use glam::DVec3;

use gravitile::error::{Error, Result};
use gravitile::forces::Moving;

/// A j-particle as set by a client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Particle {
    /// The client's identifier, any number.
    pub index: i32,
    /// Time at which `motion` is valid.
    pub time: f64,
    /// Gravitating mass G m, at least 0.
    pub mass: f64,
    /// Stored for the client only; not used in forces.
    pub softening_squared: f64,
    /// Position and its five derivatives, from velocity to crackle.
    pub motion: [DVec3; 6],
}

impl Particle {
    /// Whether all values are finite and the mass is not negative. Branch-free, so that it
    /// vectorizes.
    #[inline(always)]
    pub fn is_valid(&self) -> bool {
        // x times 0 is 0 unless x is infinite or NaN.
        let scalars = self.mass * 0.0 + self.time * 0.0;
        let sum = self.motion.iter().fold(DVec3::ZERO, |sum, vector| sum + *vector * 0.0);
        (sum.x + sum.y + sum.z + scalars == 0.0) & (self.mass >= 0.0)
    }

    /// Whether it has neither snap nor crackle.
    #[inline(always)]
    pub fn is_low(&self) -> bool {
        let [s, c] = self.high();
        (s == DVec3::ZERO) & (c == DVec3::ZERO)
    }

    /// Snap and crackle.
    #[inline(always)]
    pub fn high(&self) -> [DVec3; 2] {
        let [.., s, c] = self.motion;
        [s, c]
    }

    /// Rejects invalid values; messages name the particle.
    #[cold]
    pub(super) fn check(&self, address: usize) -> Result<()> {
        let names = ["position", "velocity", "acceleration", "jerk", "snap", "crackle"];
        let owner = || format!("of the particle at address {address} (index {})", self.index);
        for (name, vector) in names.iter().zip(&self.motion) {
            if !vector.is_finite() {
                return Err(Error::value(format!("the {name} {}", owner()), vector, "finite"));
            }
        }
        if !(self.mass.is_finite() && self.mass >= 0.0) {
            let allowed = "finite and at least 0";
            return Err(Error::value(format!("the mass {}", owner()), self.mass, allowed));
        }
        if !self.time.is_finite() {
            return Err(Error::value(format!("the time tj {}", owner()), self.time, "finite"));
        }
        Ok(())
    }

    /// In the engines' format.
    pub fn moving(&self) -> Moving {
        Moving { time: self.time, mass: self.mass, motion: self.motion }
    }

    /// [`Moving::at`].
    pub fn at(&self, time: Option<f64>) -> [DVec3; 3] {
        self.moving().at(time)
    }
}
