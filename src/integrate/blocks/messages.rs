//! What is said of a body that cannot go on.

use super::{Attractors, BlockSteps, LEVELS};
use crate::error::Error;

impl BlockSteps {
    /// The words for a body whose step falls under the shortest.
    pub(super) fn too_short(&self, i: usize, field: &Attractors) -> Error {
        let problem = format!(
            "at t = {} its step would fall under the shortest, dt-max / 2^{LEVELS} = {:e}; {}; a larger softening or a larger eta is needed",
            self.time(),
            self.tick(),
            self.nearest(i, field)
        );
        Error::Body { index: i, id: field.id[i], problem }
    }

    /// The words for a body on which no finite force acts.
    pub(super) fn lost(&self, i: usize, field: &Attractors) -> Error {
        let problem = format!(
            "after t = {} the force on it leaves the range of numbers; {}; a larger softening is needed",
            self.time(),
            self.nearest(i, field)
        );
        Error::Body { index: i, id: field.id[i], problem }
    }

    /// Which body is nearest to body `i` now, in words.
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
