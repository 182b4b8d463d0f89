//! How wide binaries are: distributions of their periods or semi-major axes.

use std::f64::consts::TAU;

use crate::error::{Error, Result};
use crate::scene::rng::Stream;
use crate::scene::{Parameter, Values};

/// The quantity that is uniformly or normally distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    LogUniformAxis,
    LogNormalPeriod,
}

/// A distribution of periods or semi-major axes.
#[derive(Debug)]
pub(crate) struct Orbits {
    /// Its name in scene files.
    pub name: &'static str,
    law: Law,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

const fn periods(mean: f64, sigma: f64) -> [Parameter; 4] {
    [
        Parameter::real("mean_log_period", mean, [-2.0, 12.0])
            .help("mean of the logarithm of binaries' periods, to base 10, in days"),
        Parameter::real("sigma_log_period", sigma, [0.01, 5.0])
            .help("standard deviation of that logarithm"),
        Parameter::scale("least_period", 1.0, [0.01, 1e12]).help("shortest period, in days"),
        Parameter::scale("greatest_period", 1e10, [0.01, 1e12]).help("longest period, in days"),
    ]
}

/// Every distribution.
pub(crate) static ORBITS: [Orbits; 3] = [
    Orbits {
        name: "log-uniform",
        law: Law::LogUniformAxis,
        parameters: &[
            Parameter::scale("least_axis", 1e-3, [1e-12, 1e12])
                .help("smallest semi-major axis of binaries"),
            Parameter::scale("greatest_axis", 1e-2, [1e-12, 1e12])
                .help("largest semi-major axis of binaries"),
        ],
    },
    // Raghavan et al. 2010, figure 13.
    Orbits { name: "raghavan", law: Law::LogNormalPeriod, parameters: &periods(5.03, 2.28) },
    // Duquennoy & Mayor 1991, section 6.
    Orbits { name: "duquennoy-mayor", law: Law::LogNormalPeriod, parameters: &periods(4.8, 2.3) },
];

/// The smallest part of a normal distribution that the limits may leave: periods are drawn until
/// one is within them.
const LEAST_PART: f64 = 0.01;

/// A distribution between its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sizes {
    /// Logarithms of the limits of the semi-major axis, in the scene's units.
    Axes([f64; 2]),
    /// Mean, standard deviation and limits of the decimal logarithm of the period in days, and a
    /// day in the scene's units.
    Periods { mean: f64, sigma: f64, limits: [f64; 2], day: f64 },
}

impl Sizes {
    /// `orbits` with these parameters. `day` is a day in the scene's units, if they are known.
    ///
    /// # Errors
    ///
    /// Limits in the wrong order, or that leave nearly nothing; periods without a known unit of
    /// time.
    pub fn new(orbits: &Orbits, values: &Values, day: Option<f64>) -> Result<Self> {
        let [low, high] = match orbits.law {
            Law::LogUniformAxis => ["least_axis", "greatest_axis"],
            Law::LogNormalPeriod => ["least_period", "greatest_period"],
        };
        let (least, greatest) = (values.real(low), values.real(high));
        if least > greatest {
            let allowed = format!("at most '{high}', {greatest}");
            return Err(Error::value(format!("'{low}'"), least, allowed));
        }
        if orbits.law == Law::LogUniformAxis {
            return Ok(Self::Axes([least, greatest].map(libm::log)));
        }
        let Some(day) = day else {
            let allowed =
                "log-uniform, unless [units] has a known unit of time: periods are in days";
            return Err(Error::value("'orbits'", orbits.name, allowed));
        };
        let (mean, sigma) = (values.real("mean_log_period"), values.real("sigma_log_period"));
        let limits = [least, greatest].map(libm::log10);
        let [below, above] = limits
            .map(|limit| 0.5 * libm::erfc((mean - limit) / (sigma * std::f64::consts::SQRT_2)));
        if above - below < LEAST_PART {
            let what = "the part of binaries' periods between 'least_period' and 'greatest_period'";
            let allowed = format!("at least {LEAST_PART}; for one period, choose 'log-uniform'");
            return Err(Error::value(what, format!("{:.1e}", above - below), allowed));
        }
        Ok(Self::Periods { mean, sigma, limits, day })
    }

    /// A semi-major axis for a binary of mass `mass`, in the scene's units with G = 1.
    pub fn draw(&self, mass: f64, stream: &mut Stream) -> f64 {
        match *self {
            Self::Axes([low, high]) => libm::exp(low + stream.uniform() * (high - low)),
            Self::Periods { mean, sigma, limits: [low, high], day } => loop {
                let logarithm = mean + sigma * stream.normal();
                if (low..=high).contains(&logarithm) {
                    let turn = libm::pow(10.0, logarithm) * day / TAU;
                    return libm::cbrt(mass * turn * turn);
                }
            },
        }
    }
}
