//! Mass functions: piecewise power laws of the number of stars per mass.

use crate::error::{Error, Result};
use crate::scene::rng::Stream;
use crate::scene::{Parameter, Values};

/// dN/dm ~ m^-slope in each piece, continuous from one to the next. Masses are in solar masses.
#[derive(Debug)]
pub(crate) struct MassFunction {
    /// Its name in scene files.
    pub name: &'static str,
    /// Upper end and slope of each piece, ascending; no slope is 1.
    pieces: &'static [(f64, f64)],
    /// The limits: `least_mass` and `greatest_mass`.
    pub parameters: &'static [Parameter],
}

const fn limits(least: f64) -> [Parameter; 2] {
    [
        Parameter::scale("least_mass", least, [0.01, 150.0])
            .help("smallest mass of a star, in solar masses"),
        Parameter::scale("greatest_mass", 100.0, [0.01, 150.0])
            .help("largest mass of a star, in solar masses"),
    ]
}

/// Every mass function.
pub(crate) static MASS_FUNCTIONS: [MassFunction; 2] = [
    // Kroupa 2001, equation 2.
    MassFunction {
        name: "kroupa",
        pieces: &[(0.08, 0.3), (0.5, 1.3), (f64::INFINITY, 2.3)],
        parameters: &limits(0.08),
    },
    // Salpeter 1955, equation 5: 1.35 per logarithm of the mass.
    MassFunction { name: "salpeter", pieces: &[(f64::INFINITY, 2.35)], parameters: &limits(0.1) },
];

/// A mass function between its limits, ready for inversion.
#[derive(Clone, Debug)]
pub(crate) struct Masses {
    pieces: Vec<Piece>,
    least: f64,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    to: f64,
    slope: f64,
    /// Stars in this piece and all before it, up to a common factor.
    below: f64,
}

impl Masses {
    /// `function` between the limits in `values`.
    ///
    /// # Errors
    ///
    /// Limits in the wrong order.
    pub fn new(function: &MassFunction, values: &Values) -> Result<Self> {
        let (least, greatest) = (values.real("least_mass"), values.real("greatest_mass"));
        if least > greatest {
            let allowed = format!("at most 'greatest_mass', {greatest}");
            return Err(Error::value("'least_mass'", least, allowed));
        }
        let (mut pieces, mut from, mut factor, mut below) = (Vec::new(), least, 1.0, 0.0);
        for &(end, slope) in function.pieces {
            let to = greatest.min(end);
            if to > from {
                let power = 1.0 - slope;
                below += factor * (libm::pow(to, power) - libm::pow(from, power)) / power;
                pieces.push(Piece { from, to, slope, below });
                from = to;
            }
            // Where pieces meet, factor m^-slope is the same.
            if let Some(next) = function.pieces.iter().find(|piece| piece.0 > end) {
                factor *= libm::pow(end, next.1 - slope);
            }
        }
        Ok(Self { pieces, least })
    }

    /// The smallest mass.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// A mass in solar masses.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let u = stream.uniform();
        let Some(last) = self.pieces.last() else { return self.least };
        let target = u * last.below;
        let k = self.pieces.partition_point(|p| p.below <= target).min(self.pieces.len() - 1);
        let Piece { from, to, slope, below } = self.pieces[k];
        let before = k.checked_sub(1).map_or(0.0, |k| self.pieces[k].below);
        let t = (target - before) / (below - before);
        let power = 1.0 - slope;
        let (low, high) = (libm::pow(from, power), libm::pow(to, power));
        libm::pow(low + t * (high - low), 1.0 / power).clamp(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ks::distance;
    use super::*;

    fn masses(name: &str, limits: [f64; 2]) -> Masses {
        let function = MASS_FUNCTIONS.iter().find(|function| function.name == name).unwrap();
        let mut values = Values::defaults(function.parameters);
        values.set("least_mass", limits[0]).unwrap();
        values.set("greatest_mass", limits[1]).unwrap();
        Masses::new(function, &values).unwrap()
    }

    /// Masses in ascending order.
    fn draws(masses: &Masses, n: usize) -> Vec<f64> {
        let mut stream = Stream::new(11, 0);
        let mut all: Vec<f64> = (0..n).map(|_| masses.draw(&mut stream)).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn salpeter_masses_follow_the_power_law() {
        let all = draws(&masses("salpeter", [0.1, 100.0]), 20_000);
        let number = |m: f64| 1.0 - (m / 0.1).powf(-1.35);
        let below = |m: f64| number(m) / number(100.0);
        assert!(distance(&all, below) < 1.63, "{}", distance(&all, below));
        // A slope that is off by 0.05 shows.
        let other = |m: f64| (1.0 - (m / 0.1).powf(-1.40)) / (1.0 - 1000f64.powf(-1.40));
        assert!(distance(&all, other) > 1.63, "{}", distance(&all, other));
    }

    /// Kroupa's law by closed forms: with k = 1 in the second piece, the number between two masses
    /// of one piece and the total mass there.
    #[test]
    fn kroupa_masses_follow_the_three_pieces() {
        let pieces = [(0.01, 0.08, 0.3, 1.0 / 0.08), (0.08, 0.5, 1.3, 1.0), (0.5, 100.0, 2.3, 0.5)];
        let integral = |power: f64, m: f64| -> f64 {
            let part = |&(from, to, slope, factor): &(f64, f64, f64, f64)| {
                let q = power + 1.0 - slope;
                factor * (m.clamp(from, to).powf(q) - f64::powf(from, q)) / q
            };
            pieces.iter().map(part).sum()
        };
        let all = draws(&masses("kroupa", [0.01, 100.0]), 20_000);
        let below = |m: f64| integral(0.0, m) / integral(0.0, 100.0);
        assert!(distance(&all, below) < 1.63, "{}", distance(&all, below));
        let salpeter = |m: f64| (1.0 - (m / 0.01).powf(-1.35)) / (1.0 - 1e4f64.powf(-1.35));
        assert!(distance(&all, salpeter) > 10.0);
        let mean = integral(1.0, 100.0) / integral(0.0, 100.0);
        let variance = integral(2.0, 100.0) / integral(0.0, 100.0) - mean * mean;
        let made = all.iter().sum::<f64>() / all.len() as f64;
        let error = (variance / all.len() as f64).sqrt();
        assert!((made - mean).abs() < 4.0 * error, "{made} for {mean} +- {error}");
    }

    #[test]
    fn limits_hold_and_may_coincide() {
        for name in ["kroupa", "salpeter"] {
            for limits in [[0.01, 150.0], [0.3, 0.7], [0.08, 0.5], [2.0, 2.0], [0.01, 0.05]] {
                let all = draws(&masses(name, limits), 1000);
                assert!(limits[0] <= all[0] && all[999] <= limits[1], "{name} {limits:?}");
                assert!(limits[0] == limits[1] || all[0] < all[999]);
            }
        }
        let function = &MASS_FUNCTIONS[0];
        let mut values = Values::defaults(function.parameters);
        values.set("greatest_mass", 0.05).unwrap();
        let text = Masses::new(function, &values).unwrap_err().to_string();
        assert!(text.contains("'least_mass' is 0.08") && text.contains("0.05"), "{text}");
    }
}
