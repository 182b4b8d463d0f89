//! What `gravitile forces` can compute besides accelerations and potentials.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::forces::{Order, Precision};

/// What to compute besides accelerations and potentials.
#[derive(Clone, Debug, clap::Args)]
#[command(
    next_help_heading = "Derivatives and neighbours (in f64 on the CPU, in double-single on a GPU)"
)]
pub struct DerivativeOptions {
    /// Also write the first time derivative of each acceleration: jx,jy,jz
    #[arg(long)]
    pub jerk: bool,
    /// Also write the second time derivative: sx,sy,sz
    #[arg(long)]
    pub snap: bool,
    /// Also write nearest_id, nearest_distance and n_neighbours, the number of bodies within H; the
    /// neighbours' ids go to a second file, FILE.neighbours.csv: id,neighbour_id
    #[arg(long, value_name = "H")]
    pub neighbours: Option<f64>,
    /// Largest number of neighbours listed per body; n_neighbours still counts all
    #[arg(long, value_name = "K", default_value_t = 1024)]
    pub capacity: usize,
    /// Precision of the forces: single, double-single or double; not every engine has all of them
    #[arg(long, value_name = "TIER")]
    pub precision: Option<String>,
}

impl DerivativeOptions {
    /// The requested tier of precision.
    pub fn tier(&self) -> Result<Option<Precision>, Error> {
        self.precision.as_deref().map(Precision::from_name).transpose()
    }

    /// Whether an engine for derivatives is needed.
    pub fn are_requested(&self) -> Result<bool, Error> {
        let precise = self.tier()?.is_some_and(|tier| tier != Precision::Single);
        Ok(self.needs_more() || precise)
    }

    /// Whether derivatives or neighbours are requested.
    pub fn needs_more(&self) -> bool {
        self.jerk || self.snap || self.neighbours.is_some()
    }

    /// Refuses a radius out of range.
    pub fn check(&self) -> Result<(), Error> {
        match self.neighbours {
            Some(radius) if !(radius.is_finite() && radius >= 0.0) => {
                Err(Error::value("--neighbours", radius, "finite and at least 0"))
            }
            _ => Ok(()),
        }
    }

    /// The highest requested derivative.
    pub fn order(&self) -> Order {
        match (self.snap, self.jerk) {
            (true, _) => Order::Snap,
            (_, true) => Order::Jerk,
            _ => Order::Acceleration,
        }
    }
}

/// Where the lists of neighbours go: `acc.neighbours.csv` next to `acc.csv`.
pub fn lists_path(out: &Path) -> PathBuf {
    out.with_extension("neighbours.csv")
}
