//! The bodies of a scene that one process makes.

use std::ops::Range;

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::Result;
use crate::math::{AllReduce, Alone, all_sums_of};

/// Which bodies of a generator this process makes: all, or, if each of several processes makes
/// some, a range of their numbers. What depends on all bodies, such as their centre of mass, the
/// processes compute together, so that a body has the same bits on any process.
#[derive(Clone)]
pub struct Portion<'a> {
    /// Clipped to the number of bodies by [`Portion::rows`].
    rows: Range<usize>,
    all: &'a dyn AllReduce,
    is_alone: bool,
}

impl Portion<'_> {
    /// All bodies.
    pub const WHOLE: Portion<'static> =
        Portion { rows: 0..usize::MAX, all: &Alone, is_alone: true };
}

impl<'a> Portion<'a> {
    /// The bodies `rows`; `all` reduces over the processes that make the others.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn of_rows(rows: Range<usize>, all: &'a dyn AllReduce) -> Self {
        Self { rows, all, is_alone: false }
    }

    /// The numbers of the bodies that this process makes, of `n` in all.
    pub fn rows(&self, n: usize) -> Range<usize> {
        let begin = self.rows.start.min(n);
        begin..self.rows.end.clamp(begin, n)
    }

    /// The portion of a part that has the bodies `part` of the whole.
    #[must_use]
    pub fn of_part(&self, part: &Range<usize>) -> Self {
        let within = |row: usize| row.clamp(part.start, part.end) - part.start;
        Self { rows: within(self.rows.start)..within(self.rows.end), ..self.clone() }
    }

    /// The bodies of this process, out of all.
    pub fn of(&self, mut bodies: Bodies) -> Bodies {
        let rows = self.rows(bodies.len());
        bodies.keep(&rows);
        bodies
    }

    /// Makes two parts: at the same time, unless other processes expect their sums in this order.
    pub fn both<T: Send>(
        &self,
        first: impl FnOnce() -> T + Send,
        second: impl FnOnce() -> T + Send,
    ) -> (T, T) {
        match self.is_alone {
            true => rayon::join(first, second),
            false => (first(), second()),
        }
    }

    /// Moves this process's bodies to the frame where the centre of mass of all is at rest at the
    /// origin.
    ///
    /// # Errors
    /// Another process is gone.
    pub fn recentre(&self, bodies: &mut Bodies) -> Result<()> {
        let (_, position, velocity) = self.centre_of_mass(bodies)?;
        bodies.shift(-position, -velocity);
        Ok(())
    }

    /// Total mass, and position and velocity of the centre of mass, of the bodies of all processes.
    pub(super) fn centre_of_mass(&self, bodies: &Bodies) -> Result<(f64, DVec3, DVec3)> {
        bodies.centre_of_all_mass(self.all)
    }

    /// The total mass of the bodies of all processes.
    pub(super) fn total_mass(&self, bodies: &Bodies) -> Result<f64> {
        let [total] = all_sums_of(self.all, bodies.len(), |i| [bodies.mass[i]])?;
        Ok(total)
    }

    /// The unweighted means of this process's vectors and those of all others, `n` in all.
    pub(super) fn means(&self, x: &[DVec3], v: &[DVec3], n: usize) -> Result<[DVec3; 2]> {
        let sums = all_sums_of(self.all, x.len(), |i| {
            let (x, v) = (x[i], v[i]);
            [x.x, x.y, x.z, v.x, v.y, v.z]
        })?;
        let [x, y, z, vx, vy, vz] = sums.map(|sum| sum / n as f64);
        Ok([DVec3::new(x, y, z), DVec3::new(vx, vy, vz)])
    }

    pub(super) fn all(&self) -> &'a dyn AllReduce {
        self.all
    }
}
