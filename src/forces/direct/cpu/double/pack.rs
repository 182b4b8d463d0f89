//! Memory layout of bodies for the loop.

use glam::DVec3;

use crate::forces::Sources;

/// Sources per [`PackF64`]: a multiple of every kernel's vector width.
pub(super) const PACK: usize = 8;

/// 8 sources; each row is one cache line, so a loop without snaps does not touch accelerations.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct PackF64 {
    pub position: [[f64; PACK]; 3],
    pub velocity: [[f64; PACK]; 3],
    pub acceleration: [[f64; PACK]; 3],
    pub mass: [f64; PACK],
}

impl PackF64 {
    /// Fills up the last pack: bodies of mass 0, farther away than any real body, yet not so far
    /// that a square overflows.
    pub const EMPTY: PackF64 = PackF64 {
        position: [[1e100; PACK]; 3],
        velocity: [[0.0; PACK]; 3],
        acceleration: [[0.0; PACK]; 3],
        mass: [0.0; PACK],
    };

    /// Sets source `lane`; derivatives that are not given keep their values.
    fn set(&mut self, lane: usize, sources: &Sources, k: usize) {
        let rows = [
            (&mut self.position, sources.position),
            (&mut self.velocity, sources.velocity),
            (&mut self.acceleration, sources.acceleration),
        ];
        for (row, values) in rows {
            if let Some(value) = values.get(k) {
                (row[0][lane], row[1][lane], row[2][lane]) = (value.x, value.y, value.z);
            }
        }
        self.mass[lane] = sources.mass[k];
    }
}

/// Stores all sources in `packs`.
pub(super) fn pack(sources: &Sources, packs: &mut Vec<PackF64>) {
    packs.clear();
    packs.resize(sources.position.len().div_ceil(PACK), PackF64::EMPTY);
    for k in 0..sources.position.len() {
        packs[k / PACK].set(k % PACK, sources, k);
    }
}

/// Stores source `index[k]` as entry k. Indices must be below the number of sources.
pub(super) fn repack(index: &[u32], sources: &Sources, packs: &mut [PackF64]) {
    for (k, j) in index.iter().map(|&j| j as usize).enumerate() {
        packs[j / PACK].set(j % PACK, sources, k);
    }
}

/// One sink.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SinkF64 {
    pub position: [f64; 3],
    pub velocity: [f64; 3],
    pub acceleration: [f64; 3],
    /// Index of the source that it is; -1 if none. Whole numbers below 2^32 are exact in f64.
    pub itself: f64,
    /// Squared radius of the list; negative if there is none.
    pub radius_squared: f64,
}

/// Sums of one sink over one slice of the sources, lane by lane.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct DoubleLaneSums {
    pub acceleration: [[f64; PACK]; 3],
    pub jerk: [[f64; PACK]; 3],
    pub snap: [[f64; PACK]; 3],
    pub potential: [f64; PACK],
    pub nearest_squared: f64,
    /// Index of that source, as f64.
    pub nearest: f64,
}

impl DoubleLaneSums {
    pub const ZERO: DoubleLaneSums = DoubleLaneSums {
        acceleration: [[0.0; PACK]; 3],
        jerk: [[0.0; PACK]; 3],
        snap: [[0.0; PACK]; 3],
        potential: [0.0; PACK],
        nearest_squared: f64::INFINITY,
        nearest: f64::INFINITY,
    };

    /// The sums over its lanes.
    pub fn sum(&self) -> SumF64 {
        // In a fixed order whatever the vector's width.
        let total =
            |[a, b, c, d, e, f, g, h]: &[f64; PACK]| ((a + e) + (c + g)) + ((b + f) + (d + h));
        let totals = |[x, y, z]: &[[f64; PACK]; 3]| DVec3::new(total(x), total(y), total(z));
        SumF64 {
            acceleration: totals(&self.acceleration),
            jerk: totals(&self.jerk),
            snap: totals(&self.snap),
            potential: total(&self.potential),
            nearest_squared: self.nearest_squared,
            nearest: self.nearest,
        }
    }
}

/// Sums of one sink over one slice of the sources.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumF64 {
    pub acceleration: DVec3,
    pub jerk: DVec3,
    pub snap: DVec3,
    pub potential: f64,
    pub nearest_squared: f64,
    /// Index of that source, as f64.
    pub nearest: f64,
}

impl SumF64 {
    pub const ZERO: SumF64 = SumF64 {
        acceleration: DVec3::ZERO,
        jerk: DVec3::ZERO,
        snap: DVec3::ZERO,
        potential: 0.0,
        nearest_squared: f64::INFINITY,
        nearest: f64::INFINITY,
    };

    /// Adds `other`, the sums over later sources; of two equally near sources the first remains.
    pub fn add(&mut self, other: &SumF64) {
        self.acceleration += other.acceleration;
        self.jerk += other.jerk;
        self.snap += other.snap;
        self.potential += other.potential;
        if other.nearest_squared < self.nearest_squared {
            (self.nearest_squared, self.nearest) = (other.nearest_squared, other.nearest);
        }
    }
}

/// A sink's neighbour list for one slice of the sources.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    pub listed: Vec<u32>,
    pub found: u32,
}

impl Around {
    pub fn clear(&mut self) {
        self.listed.clear();
        self.found = 0;
    }

    #[inline(always)]
    pub fn push(&mut self, index: u32, capacity: usize) {
        if self.listed.len() < capacity {
            self.listed.push(index);
        }
        self.found += 1;
    }
}
