//! When a cell may act as a whole: the opening rules, one function each.
//!
//! Whatever the rule, the test is one comparison of numbers made before: a cell is accepted where
//! d^2 * [`Opening::reach`] > [`Opening::critical`], and d^2 > r^2 times [`Opening::least_distance_squared`], which is 1
//! or more, so that no body of it is among the sinks. d is
//! the distance from the cell's centre of mass to the box around the sinks, but with `octgrav` in the first
//! comparison from box to box.

use serde::{Deserialize, Serialize};

use super::Moment;

/// Up to which multipole cells attract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MultipoleOrder {
    /// As their mass at the centre of mass.
    Monopole,
    /// With the second moments.
    #[default]
    Quadrupole,
}

/// An opening rule. r is the cell's radius about its centre of mass, l the longest edge of its box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Opening {
    /// By what the cell may spoil of the sinks' accelerations: m r^3 < alpha a d^5, a the least of their last
    /// accelerations; with monopoles m r^2 < alpha a d^4 (Miki and Umemura 2017). And r < 0.9 d.
    Acceleration {
        /// The part of the acceleration.
        alpha: f64,
    },
    /// By the cell's size as the sinks see it: r < theta d (Dehnen 2000).
    Radius {
        /// An angle.
        theta: f64,
    },
    /// d > l / theta + the distance from the box's middle to the centre of mass (Bedorf, Gaburov and Portegies Zwart
    /// 2012).
    Bonsai {
        /// An angle.
        theta: f64,
    },
    /// l < theta times the distance between the boxes (Gaburov, Bedorf and Portegies Zwart 2010).
    Octgrav {
        /// An angle.
        theta: f64,
    },
}

/// By `acceleration` r is at most this part of d.
const NEAR: f64 = 0.9;

/// Its square, as kernels have it.
pub(super) const NEAR_SQUARED: f32 = (NEAR * NEAR) as f32;

/// The least acceleration that `acceleration` knows, so that powers of it stay within f32.
const LEAST_ACCELERATION: f64 = f64::from_bits((1023 - 100) << 52);

impl Opening {
    /// What d^2 times the reach must exceed: of a cell without mass -1, and it is passed over.
    pub fn critical(&self, cell: &Moment, order: MultipoleOrder) -> f64 {
        match *self {
            _ if !(cell.mass > 0.0) => -1.0,
            Self::Acceleration { .. } => acceleration(cell, order),
            Self::Radius { theta } => radius(cell, theta),
            Self::Bonsai { theta } => bonsai(cell, theta),
            Self::Octgrav { theta } => octgrav(cell, theta),
        }
    }

    /// The factor on d^2 for sinks whose least acceleration is `least_acceleration`.
    pub fn reach(&self, least_acceleration: f64, order: MultipoleOrder) -> f64 {
        let Self::Acceleration { alpha } = self else { return 1.0 };
        let spoilt = alpha * least_acceleration.max(LEAST_ACCELERATION);
        match order {
            MultipoleOrder::Monopole => spoilt.sqrt(),
            MultipoleOrder::Quadrupole => spoilt.powf(0.4),
        }
    }

    /// How many times a cell's r^2 the square of d must exceed, whatever else the rule says. A cell of little mass may be
    /// accepted from as near as its farthest body by `acceleration`, which knows nothing of where the mass is: a few
    /// bodies of a cluster that share a cell with another cluster would be missed by the rest of their own.
    pub fn least_distance_squared(&self) -> f64 {
        match self {
            Self::Acceleration { .. } => 1.0 / (NEAR * NEAR),
            _ => 1.0,
        }
    }

    /// Whether d is the distance between the boxes.
    pub fn is_between_boxes(&self) -> bool {
        matches!(self, Self::Octgrav { .. })
    }

    /// Whether it asks for accelerations of the sinks.
    pub fn needs_accelerations(&self) -> bool {
        matches!(self, Self::Acceleration { .. })
    }
}

/// (m r^3)^(2/5), by powers of which neither leaves f32; with monopoles (m r^2)^(1/2).
fn acceleration(cell: &Moment, order: MultipoleOrder) -> f64 {
    match order {
        MultipoleOrder::Monopole => cell.mass.sqrt() * cell.radius,
        MultipoleOrder::Quadrupole => cell.mass.powf(0.4) * cell.radius.powf(1.2),
    }
}

fn radius(cell: &Moment, theta: f64) -> f64 {
    (cell.radius / theta).powi(2)
}

fn bonsai(cell: &Moment, theta: f64) -> f64 {
    (cell.edge() / theta + cell.middle().distance(cell.centre)).powi(2)
}

fn octgrav(cell: &Moment, theta: f64) -> f64 {
    (cell.edge() / theta).powi(2)
}
