//! The opening rules, one function each: when a cell may act as a whole.
//!
//! Every rule is one comparison of precomputed numbers: a cell is accepted if d^2 *
//! [`Opening::reach`] > [`Opening::critical`] and d^2 > r^2 times
//! [`Opening::least_distance_squared`], which is 1 or more, so that no body of the cell is among
//! the sinks. d is the distance from the cell's centre of mass to the box around the sinks; for
//! `octgrav` the first comparison uses the distance from box to box.

use serde::{Deserialize, Serialize};

use super::CellMoments;

/// The highest multipole of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MultipoleOrder {
    /// The mass at the centre of mass.
    Monopole,
    /// Also the second moments.
    #[default]
    Quadrupole,
}

/// An opening rule. r is the cell's radius about its centre of mass, l the longest edge of its box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Opening {
    /// By the error that the cell may cause in the sinks' accelerations: m r^3 < alpha a d^5, where
    /// a is the least of their last accelerations; with monopoles m r^2 < alpha a d^4 (Miki and
    /// Umemura 2017). Also r < 0.9 d.
    Acceleration {
        /// Tolerated fraction of the acceleration, > 0.
        alpha: f64,
    },
    /// By the cell's angular size: r < theta d (Dehnen 2000).
    Radius {
        /// Opening angle, radians.
        theta: f64,
    },
    /// d > l / theta + the distance from the box's middle to the centre of mass (Bedorf, Gaburov
    /// and Portegies Zwart 2012).
    Bonsai {
        /// Opening angle, radians.
        theta: f64,
    },
    /// l < theta times the distance between the boxes (Gaburov, Bedorf and Portegies Zwart 2010).
    Octgrav {
        /// Opening angle, radians.
        theta: f64,
    },
}

/// With `acceleration`, r is at most this fraction of d.
const NEAR: f64 = 0.9;

/// Its square, as the kernels use it.
pub(super) const NEAR_SQUARED: f32 = (NEAR * NEAR) as f32;

/// The least acceleration that `acceleration` uses, so that powers of it stay within f32.
const LEAST_ACCELERATION: f64 = f64::from_bits((1023 - 100) << 52);

impl Opening {
    /// Every rule with the default of its parameter: with `acceleration` rms errors of 4e-4, and
    /// one body in a hundred above 1e-3.
    pub const ALL: [Self; 4] = [
        Self::Acceleration { alpha: 0.003 },
        Self::Radius { theta: 0.6 },
        Self::Bonsai { theta: 0.75 },
        Self::Octgrav { theta: 0.75 },
    ];

    /// The rule's name, also that of its file in `shaders/tree/opening/`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Acceleration { .. } => "acceleration",
            Self::Radius { .. } => "radius",
            Self::Bonsai { .. } => "bonsai",
            Self::Octgrav { .. } => "octgrav",
        }
    }

    /// The rule's alpha or theta.
    pub fn parameter(mut self) -> f64 {
        *self.parameter_mut()
    }

    /// The same, to be changed.
    pub fn parameter_mut(&mut self) -> &mut f64 {
        match self {
            Self::Acceleration { alpha: parameter }
            | Self::Radius { theta: parameter }
            | Self::Bonsai { theta: parameter }
            | Self::Octgrav { theta: parameter } => parameter,
        }
    }

    /// The lower limit of d^2 times the reach; -1 for a cell without mass, which is skipped.
    pub fn critical(&self, cell: &CellMoments, order: MultipoleOrder) -> f64 {
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

    /// The error in the sinks' accelerations that a cell may cause; 0 if the rule does not know.
    pub fn allowance(&self, least_acceleration: f64, order: MultipoleOrder) -> f64 {
        match (self, order) {
            (Self::Acceleration { alpha }, MultipoleOrder::Quadrupole) => {
                alpha * least_acceleration.max(LEAST_ACCELERATION)
            }
            _ => 0.0,
        }
    }

    /// The factor by which d^2 must exceed the cell's r^2, whatever else the rule says.
    /// `acceleration` ignores where a cell's mass is and might accept a light cell from no farther
    /// than its outermost body: then a few bodies of a cluster that share a cell with another
    /// cluster would be missed by the rest of their own.
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

    /// Whether the rule needs accelerations of the sinks.
    pub fn needs_accelerations(&self) -> bool {
        matches!(self, Self::Acceleration { .. })
    }
}

/// (m r^3)^(2/5), computed by powers that stay within f32; with monopoles (m r^2)^(1/2).
fn acceleration(cell: &CellMoments, order: MultipoleOrder) -> f64 {
    match order {
        MultipoleOrder::Monopole => cell.mass.sqrt() * cell.radius,
        MultipoleOrder::Quadrupole => cell.mass.powf(0.4) * cell.radius.powf(1.2),
    }
}

fn radius(cell: &CellMoments, theta: f64) -> f64 {
    (cell.radius / theta).powi(2)
}

fn bonsai(cell: &CellMoments, theta: f64) -> f64 {
    (cell.edge() / theta + cell.middle().distance(cell.centre)).powi(2)
}

fn octgrav(cell: &CellMoments, theta: f64) -> f64 {
    (cell.edge() / theta).powi(2)
}
