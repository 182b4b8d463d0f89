//! Sources that move: each known at a time of its own, predicted by the engine that holds them.

use glam::DVec3;

use crate::error::Result;

/// A source as its owner last corrected it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moving {
    /// When `motion` holds.
    pub time: f64,
    /// Gravitating mass G m, at least 0.
    pub mass: f64,
    /// Position and its derivatives by time at `time`, from velocity to crackle.
    pub motion: [DVec3; 6],
}

impl Moving {
    /// Position, velocity and acceleration at `time`, by all derivatives; `None` does not predict.
    ///
    /// In GRAPE-6's coefficients x + v t + a2 t^2 + j6 t^3 + (3/4) k18 t^4, and the same derived by t.
    pub fn at(&self, time: Option<f64>) -> [DVec3; 3] {
        let [x, v, a, j, s, c] = self.motion;
        let t = time.map_or(0.0, |time| time - self.time);
        // Horner: the k-th of a row is divided by k.
        let series = |terms: &[DVec3]| {
            let indexed = terms.iter().enumerate().rev();
            indexed.fold(DVec3::ZERO, |sum, (k, term)| *term + sum * (t / (k + 1) as f64))
        };
        [series(&[x, v, a, j, s, c]), series(&[v, a, j, s, c]), series(&[a, j, s, c])]
    }
}

/// An engine that keeps the motion of its sources and predicts all of them before forces, as a GRAPE does
/// ([`super::ForceEngine::moving`]): between two evaluations only those that changed are sent, whatever
/// the time is. What [`super::ForceEngine::set_sources`] set is gone, and the other way round.
pub trait MovingSources {
    /// Takes `sources` in the place of all that it held.
    ///
    /// Errors: more sources than it holds; numbers that leave the range of its precision.
    fn set_moving(&mut self, sources: &[Moving]) -> Result<()>;

    /// Replaces source `index[k]` by `sources[k]`, for all k.
    ///
    /// Errors: as [`MovingSources::set_moving`]; an index that is not below the number of sources.
    fn update_moving(&mut self, index: &[u32], sources: &[Moving]) -> Result<()>;

    /// The time that sources are predicted to from the next evaluation on; `None` takes them as they are.
    fn predict_to(&mut self, time: Option<f64>);
}
