//! How forces are computed, as a dict of the keyword arguments.

use gravitile::error::{Error, Result};
use gravitile::forces::tree::{Opening, TreeConfig};
use gravitile::forces::{Method, Precision};
use gravitile::gpu::{AdapterRequest, DeviceCount};
use gravitile::sim::{EngineKind, Settings};
use pyo3::prelude::*;

/// The keyword arguments that all calls on forces share.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct How {
    engine: String,
    method: String,
    adapter: Option<String>,
    alpha: Option<f64>,
    theta: Option<f64>,
    precision: Option<String>,
    devices: u32,
}

impl How {
    /// Whether it says which cells of a tree are opened.
    pub fn has_rule(&self) -> bool {
        self.alpha.is_some() || self.theta.is_some()
    }

    /// The settings, with the defaults for everything else.
    ///
    /// # Errors
    /// An unknown name; numbers out of range; `alpha` and `theta` together, or without a tree.
    pub fn settings(&self) -> Result<Settings> {
        let engine = EngineKind::from_name(&self.engine)?;
        let method = Method::from_name(&self.method)?;
        if let (Some(_), Some(theta)) = (self.alpha, self.theta) {
            return Err(Error::value("theta", theta, "left out if alpha is given"));
        }
        let given = self.alpha.map(|alpha| ("alpha", alpha));
        let given = given.or(self.theta.map(|theta| ("theta", theta)));
        if let (Some((name, value)), Some(Method::Direct | Method::Reference)) = (given, method) {
            let allowed = "left out with the methods direct and reference, which have no cells";
            return Err(Error::value(name, value, allowed));
        }
        let mut tree = TreeConfig::default();
        match (self.alpha, self.theta) {
            (Some(alpha), _) => tree.opening = Opening::Acceleration { alpha },
            (_, Some(theta)) => tree.opening = Opening::Radius { theta },
            _ => {}
        }
        if self.devices == 0 {
            return Err(Error::value("devices", 0, "at least 1"));
        }
        Ok(Settings {
            engine,
            method,
            tree: tree.check()?,
            adapter: AdapterRequest::named(self.adapter.as_deref().unwrap_or_default()),
            precision: self.precision.as_deref().map(Precision::from_name).transpose()?,
            devices: DeviceCount::These(self.devices),
            known: crate::tune::known(),
            ..Settings::default()
        })
    }
}
