//! Errors for bodies that cannot continue.

use super::{Attractors, BlockSteps, LEVELS};
use crate::error::Error;

impl BlockSteps {
    /// The error for a body whose step would become shorter than the shortest.
    pub(super) fn too_short(&self, i: usize, field: &Attractors) -> Error {
        let problem = format!(
            "at t = {} its step would fall under the shortest, dt-max / 2^{LEVELS} = {:e}; {}; a larger softening or a larger eta is needed",
            self.time(),
            self.tick(),
            self.nearest(i, field)
        );
        Error::Body { index: i, id: field.id[i], problem }
    }

    /// The error for a body whose force is not finite.
    pub(super) fn lost(&self, i: usize, field: &Attractors) -> Error {
        let problem = format!(
            "after t = {} the force on it leaves the range of numbers; {}; a larger softening is needed",
            self.time(),
            self.nearest(i, field)
        );
        Error::Body { index: i, id: field.id[i], problem }
    }

    /// Describes the body that is now nearest to body `i`.
    fn nearest(&self, i: usize, field: &Attractors) -> String {
        let latest = self.schedule.now();
        let at = |k: usize| {
            let since = (latest - self.schedule.time[k]) as f64 * self.tick();
            self.tracks[k].at(since).position
        };
        let here = at(i);
        let others = (0..self.tracks.len()).filter(|&k| k != i);
        let nearest = others.map(|k| (at(k).distance(here), k)).min_by(|a, b| a.0.total_cmp(&b.0));
        match nearest {
            Some((distance, k)) => {
                format!("the nearest body is {k} (id {}), {distance:e} away", field.id[k])
            }
            None => "there is no other body".to_owned(),
        }
    }
}
