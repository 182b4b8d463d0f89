//! What one unit of length, mass and time is worth outside. Inside, G = 1.

/// Names and worth of the units of a scene or snapshot, for display and for converting a snapshot
/// whose own gravitational constant is not 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// Name of the length unit, `kpc` say; empty for N-body units.
    pub length: String,
    /// Name of the mass unit.
    pub mass: String,
    /// Name of the time unit.
    pub time: String,
    /// The gravitational constant in the numbers as they stand (1 in N-body units).
    pub gravitational_constant: f64,
}

impl Default for Units {
    fn default() -> Self {
        Self {
            length: String::new(),
            mass: String::new(),
            time: String::new(),
            gravitational_constant: 1.0,
        }
    }
}

impl Units {
    /// GADGET's usual units: kpc, 1e10 solar masses, km/s; the time unit is kpc / (km/s) = 0.978 Gyr
    /// and G = 43007.1.
    pub fn gadget() -> Self {
        Self {
            length: "kpc".into(),
            mass: "1e10 Msun".into(),
            time: "0.978 Gyr".into(),
            gravitational_constant: 43007.1,
        }
    }

    /// Factor on masses that makes G = 1 while lengths and velocities stay as they are:
    /// an engine works with G m in the place of m.
    pub fn mass_factor(&self) -> f64 {
        self.gravitational_constant
    }
}
