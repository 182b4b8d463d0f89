//! How a tree is built and walked.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::far::{INNER, MOST_ALPHA};
use super::{MultipoleOrder, Opening};
use crate::error::{Error, Result, by_name};
use crate::settings::{Rebuild, TreeRequest};

/// Opening rule, multipoles, and how often the tree is built.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeConfig {
    /// When cells act as a whole.
    pub opening: Opening,
    /// The highest multipole of cells.
    pub moments: MultipoleOrder,
    /// Whether far cells act on a group of sinks by an expansion about its middle, where the rule
    /// bounds the error: [`TreeConfig::expands`].
    #[serde(default = "yes", skip_serializing_if = "is_on")]
    pub far: bool,
    /// At which steps the tree is rebuilt. At the others bodies keep their cells and groups, while
    /// boxes, radii and moments follow the bodies. For forces outside steps it is always rebuilt.
    #[serde(default, skip_serializing_if = "is_each_step")]
    pub rebuild: Rebuild,
}

fn yes() -> bool {
    true
}

fn is_on(far: &bool) -> bool {
    *far
}

/// The only behaviour before this setting existed, and its default in files.
fn is_each_step(rebuild: &Rebuild) -> bool {
    !rebuild.keeps()
}

/// The allowed range of the rules' parameters.
const ALLOWED: &str = "greater than 0 and at most 1";

impl Default for TreeConfig {
    fn default() -> Self {
        let [opening, ..] = Opening::ALL;
        Self { opening, moments: MultipoleOrder::default(), far: true, rebuild: Rebuild::EACH_STEP }
    }
}

impl TreeConfig {
    /// The rule for a first force, when no accelerations are known.
    pub const FIRST: Opening = Opening::Radius { theta: 0.6 };

    /// The rule for potentials that are summed up to an energy, whose errors must not have a sign:
    /// with it, the potential energy of spheres and disks errs by at most 3e-6 of itself, but by
    /// 6e-5 with `acceleration` 0.003, which leaves light cells far outside whole (docs/tree.md).
    const ENERGIES: Opening = Opening::Radius { theta: 0.3 };

    /// The configuration for energies: this one if it is at least as fine.
    pub fn for_energies(self) -> Self {
        let most = if self.opening.needs_accelerations() { 3e-5 } else { 0.3 };
        let is_fine = self.opening.parameter() <= most;
        let opening = if is_fine { self.opening } else { Self::ENERGIES };
        Self { opening, moments: MultipoleOrder::Quadrupole, ..self }
    }

    /// The configuration for a request.
    ///
    /// # Errors
    /// An unknown rule; a parameter out of range, or one that the rule does not have.
    pub fn of(request: &TreeRequest) -> Result<Self> {
        let name = match (&request.opening, request.theta) {
            (Some(name), _) => name,
            // theta without a named rule implies `radius`.
            (None, Some(_)) if request.alpha.is_none() => "radius",
            (None, _) => "acceleration",
        };
        let known = Opening::ALL.map(|rule| (rule, rule.name()));
        let mut opening = by_name("opening rule", name, &known)?;
        let is_by_acceleration = opening.needs_accelerations();
        let parameter = if is_by_acceleration { request.alpha } else { request.theta };
        *opening.parameter_mut() = parameter.unwrap_or(opening.parameter());
        let moments = match request.moments {
            None | Some(2) => MultipoleOrder::Quadrupole,
            Some(1) => MultipoleOrder::Monopole,
            Some(other) => {
                let allowed = "1 (monopoles) or 2 (quadrupoles)";
                return Err(Error::value("the moments of the tree", other, allowed));
            }
        };
        if let (false, Some(alpha)) = (is_by_acceleration, request.alpha) {
            let allowed = format!("left out with the opening rule {name}, which has theta");
            return Err(Error::value("alpha", alpha, allowed));
        }
        if let (true, Some(theta)) = (is_by_acceleration, request.theta) {
            let allowed = "left out with the opening rule acceleration, which has alpha";
            return Err(Error::value("theta", theta, allowed));
        }
        let rebuild = request.rebuild.unwrap_or_default();
        let far = match request.far.as_deref() {
            None | Some("on") => true,
            Some("off") => false,
            Some(other) => return Err(Error::value("far", other, "on or off")),
        };
        Self { opening, moments, far, rebuild }.check()
    }

    /// Checks that the parameters are in range.
    pub fn check(self) -> Result<Self> {
        if self.rebuild == Rebuild::Every(0) {
            let allowed = "1 (at each step) or a larger number of steps";
            return Err(Error::value("rebuild", self.rebuild, allowed));
        }
        let name = if self.opening.needs_accelerations() { "alpha" } else { "theta" };
        let value = self.opening.parameter();
        match value > 0.0 && value <= 1.0 {
            true => Ok(self),
            false => Err(Error::value(name, value, ALLOWED)),
        }
    }

    /// The request that gives this configuration, without values that are the default.
    pub fn request(&self) -> TreeRequest {
        let default = Self::default();
        let parameter = self.opening.parameter();
        let (opening, alpha, theta) = match self.opening {
            opening if opening == default.opening => (None, None, None),
            Opening::Acceleration { .. } => (None, Some(parameter), None),
            opening => (Some(opening.name().to_owned()), None, Some(parameter)),
        };
        let moments = (self.moments != default.moments).then_some(self.moments as u32 + 1);
        let rebuild = (self.rebuild != default.rebuild).then_some(self.rebuild);
        let far = (self.far != default.far).then(|| "off".to_owned());
        TreeRequest { opening, alpha, theta, moments, far, rebuild }
    }

    /// Whether far cells are expanded. Only the rule `acceleration` with quadrupoles bounds the
    /// error of an expansion, and above an alpha of 0.015 that error is not small (`far.rs`).
    pub fn expands(&self) -> bool {
        let is_strict =
            matches!(self.opening, Opening::Acceleration { alpha } if alpha <= MOST_ALPHA);
        self.far && is_strict && self.moments == MultipoleOrder::Quadrupole
    }

    /// The opening rule of the walk. With expansions alpha is multiplied by 0.85, so that the total
    /// error stays that of `alpha` (`far.rs`).
    pub fn walked(&self) -> Opening {
        match self.opening {
            Opening::Acceleration { alpha } if self.expands() => {
                Opening::Acceleration { alpha: INNER * alpha }
            }
            opening => opening,
        }
    }

    /// Whether an evaluation depends on the accelerations of the last step: if the rule uses them,
    /// and if the tree of an earlier step is reused, so that a resumed run need not recompute
    /// accelerations with the wrong tree.
    pub(super) fn needs_accelerations(&self) -> bool {
        self.opening.needs_accelerations() || self.rebuild.keeps()
    }
}

impl fmt::Display for TreeConfig {
    /// In one line: `quadrupoles, acceleration 0.003`, with `, built every 4 steps` unless at each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moments = match self.moments {
            MultipoleOrder::Monopole => "monopoles",
            MultipoleOrder::Quadrupole => "quadrupoles",
        };
        write!(f, "{moments}, {} {}", self.opening.name(), self.opening.parameter())?;
        if !self.far {
            f.write_str(", no expansions")?;
        }
        match self.rebuild {
            Rebuild::EACH_STEP => Ok(()),
            Rebuild::Every(steps) => write!(f, ", built every {steps} steps"),
            Rebuild::Auto => f.write_str(", built as often as pays"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(opening: Option<&str>, alpha: Option<f64>, theta: Option<f64>) -> TreeRequest {
        let opening = opening.map(str::to_owned);
        TreeRequest { opening, alpha, theta, ..TreeRequest::default() }
    }

    #[test]
    fn requests_round_trip_through_config() {
        let none = TreeConfig::of(&TreeRequest::default()).unwrap();
        assert_eq!(none, TreeConfig::default());
        for (rule, alpha, theta) in [
            (None, Some(0.01), None),
            (None, None, Some(0.5)),
            (Some("bonsai"), None, None),
            (Some("octgrav"), None, Some(1.0)),
        ] {
            let config = TreeConfig::of(&request(rule, alpha, theta)).unwrap();
            assert_eq!(TreeConfig::of(&config.request()).unwrap(), config, "{config}");
        }
        let by_angle = TreeConfig::of(&request(None, None, Some(0.5))).unwrap();
        assert_eq!(by_angle.opening, Opening::Radius { theta: 0.5 });
        let seldom = TreeRequest { rebuild: Some(Rebuild::Every(4)), ..TreeRequest::default() };
        let config = TreeConfig::of(&seldom).unwrap();
        assert_eq!(config.request(), seldom);
        assert!(config.to_string().ends_with("0.003, built every 4 steps"));
    }

    #[test]
    fn config_without_rebuild_setting_round_trips() {
        let old = "moments = \"monopole\"\n\n[opening.radius]\ntheta = 0.5\n";
        let config: TreeConfig = toml::from_str(old).unwrap();
        assert_eq!(config.rebuild, Rebuild::EACH_STEP);
        assert_eq!(
            toml::from_str::<TreeConfig>(&toml::to_string(&config).unwrap()).unwrap(),
            config
        );
        assert!(!toml::to_string(&config).unwrap().contains("rebuild"));
    }

    #[test]
    fn invalid_tree_requests_are_refused() {
        for (wrong, says) in [
            (request(Some("wish"), None, None), "no opening rule named 'wish'"),
            (request(None, Some(0.0), None), "alpha is 0"),
            (request(None, Some(f64::NAN), None), "alpha is NaN"),
            (request(None, None, Some(-1.0)), "theta is -1"),
            (request(None, None, Some(1.5)), "at most 1"),
            (request(Some("bonsai"), Some(0.1), None), "alpha is 0.1, but must be left out"),
            (request(None, Some(0.1), Some(0.5)), "theta is 0.5, but must be left out"),
            (TreeRequest { moments: Some(3), ..TreeRequest::default() }, "1 (monopoles)"),
            (
                TreeRequest { rebuild: Some(Rebuild::Every(0)), ..TreeRequest::default() },
                "rebuild is 0, but must be 1",
            ),
        ] {
            let text = TreeConfig::of(&wrong).unwrap_err().to_string();
            assert!(text.contains(says), "{text}");
        }
    }
}
