//! The j-particle.

use glam::DVec3;

use gravitile::error::{Error, Result};
use gravitile::forces::Moving;

/// A j-particle as set by a client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Particle {
    /// The client's identifier, any number.
    pub index: i32,
    /// Stored for the client only; not used in forces.
    pub softening_squared: f64,
    pub moving: Moving,
}

impl Particle {
    /// Whether all values are finite and the mass is not negative. Branch-free, so that it
    /// vectorizes.
    #[inline(always)]
    pub fn is_valid(&self) -> bool {
        let Moving { time, mass, motion } = &self.moving;
        // x times 0 is 0 unless x is infinite or NaN.
        let scalars = mass * 0.0 + time * 0.0;
        let sum = motion.iter().fold(DVec3::ZERO, |sum, vector| sum + *vector * 0.0);
        (sum.x + sum.y + sum.z + scalars == 0.0) & (*mass >= 0.0)
    }

    /// Whether it has neither snap nor crackle.
    #[inline(always)]
    pub fn is_low(&self) -> bool {
        let [s, c] = self.moving.high();
        (s == DVec3::ZERO) & (c == DVec3::ZERO)
    }

    /// Rejects invalid values; messages name the particle.
    #[cold]
    pub fn check(&self, address: u32) -> Result<()> {
        let names = ["position", "velocity", "acceleration", "jerk", "snap", "crackle"];
        let owner = || format!("of the particle at address {address} (index {})", self.index);
        let Moving { time, mass, motion } = &self.moving;
        for (name, vector) in names.iter().zip(motion) {
            if !vector.is_finite() {
                return Err(Error::value(format!("the {name} {}", owner()), vector, "finite"));
            }
        }
        if !(mass.is_finite() && *mass >= 0.0) {
            let allowed = "finite and at least 0";
            return Err(Error::value(format!("the mass {}", owner()), mass, allowed));
        }
        if !time.is_finite() {
            return Err(Error::value(format!("the time tj {}", owner()), time, "finite"));
        }
        Ok(())
    }
}
