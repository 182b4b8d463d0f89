//! The table `orbit` of a scene file's parts.

use serde::Deserialize;
use toml::Spanned;

use super::compose::{About, PartOrbit};
use super::elements::{Anomaly, Elements, Size};
use super::origin::Allowed::{Any, NotNegative, Positive};
use super::origin::Origin;
use crate::error::{Error, Result};
use crate::messages;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrbitText {
    about: Option<Spanned<AboutText>>,
    semi_major_axis: Option<Spanned<f64>>,
    pericentre: Option<Spanned<f64>>,
    period: Option<Spanned<f64>>,
    eccentricity: Option<Spanned<f64>>,
    inclination: Option<Spanned<f64>>,
    node: Option<Spanned<f64>>,
    argument: Option<Spanned<f64>>,
    mean_anomaly: Option<Spanned<f64>>,
    true_anomaly: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a part's name, a list of names, or a mass")]
enum AboutText {
    Mass(f64),
    Name(String),
    Names(Vec<String>),
}

impl Origin<'_> {
    /// The orbit of a part that comes after parts of the names `before`, of which some have none.
    pub fn orbit(&self, text: &Spanned<OrbitText>, before: &[Option<&str>]) -> Result<PartOrbit> {
        let span = text.span();
        let text = text.get_ref();
        let number = |key, value, default| self.number(key, value, default, Any);
        let sizes = [
            self.optional("semi_major_axis", &text.semi_major_axis, Any)?.map(Size::SemiMajorAxis),
            self.optional("pericentre", &text.pericentre, Positive)?.map(Size::Pericentre),
            self.optional("period", &text.period, Positive)?.map(Size::Period),
        ];
        let mut given = sizes.into_iter().flatten();
        let (Some(size), None) = (given.next(), given.next()) else {
            let problem =
                "an 'orbit' must have exactly one of 'semi_major_axis', 'pericentre' and 'period'";
            return Err(self.error(span, problem));
        };
        let anomaly = match (&text.mean_anomaly, &text.true_anomaly) {
            (Some(_), Some(_)) => {
                let problem = "an 'orbit' has a 'mean_anomaly' or a 'true_anomaly', not both";
                return Err(self.error(span, problem));
            }
            (mean, None) => Anomaly::Mean(number("mean_anomaly", mean, 0.0)?),
            (None, angle) => Anomaly::True(number("true_anomaly", angle, 0.0)?),
        };
        let elements = Elements {
            size,
            eccentricity: self.number("eccentricity", &text.eccentricity, 0.0, NotNegative)?,
            inclination: number("inclination", &text.inclination, 0.0)?,
            node: number("node", &text.node, 0.0)?,
            argument: number("argument", &text.argument, 0.0)?,
            anomaly,
        };
        elements.check().map_err(|error| self.error(span.clone(), error))?;
        let about = match &text.about {
            None if before.is_empty() => {
                let problem = "the first part has no part before it that its 'orbit' could be 'about'; a number is a mass at the origin";
                return Err(self.error(span, problem));
            }
            None => About::All,
            Some(about) => self.about(about, before)?,
        };
        Ok(PartOrbit { elements, about })
    }

    fn about(&self, text: &Spanned<AboutText>, before: &[Option<&str>]) -> Result<About> {
        let names = match text.get_ref() {
            AboutText::Mass(mass) if mass.is_finite() && *mass > 0.0 => {
                return Ok(About::Mass(*mass));
            }
            AboutText::Mass(_) => {
                let problem = "the mass that an 'orbit' is 'about' must be a number above 0";
                return Err(self.error(text.span(), problem));
            }
            AboutText::Name(name) => std::slice::from_ref(name),
            AboutText::Names(names) => names,
        };
        for name in names {
            if !before.contains(&Some(name.as_str())) {
                let mut known: Vec<String> =
                    before.iter().flatten().take(20).map(|name| messages::piece(name)).collect();
                known.dedup();
                let problem = Error::unknown("part before this one", name, known);
                return Err(self.error(text.span(), problem));
            }
        }
        if names.is_empty() {
            return Err(self.error(text.span(), "the list 'about' must name a part"));
        }
        Ok(About::Named(names.to_vec()))
    }
}
