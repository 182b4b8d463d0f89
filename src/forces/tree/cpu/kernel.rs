//! Cells and bodies acting on the sinks of a group: vectors of sinks, one source after another.
//!
//! All sinks of a group have the same lists, so sources are read as they lie in memory and nothing
//! is summed across a vector. Sums have two levels: f32 in registers over a tile of sources, f64
//! across tiles.

use super::super::far::Expansion;
use super::super::{CellForce, GROUP, PointMass};
use crate::forces::direct::cpu::{LanesF32, PACK, Separation};

/// Number of sources in a tile.
const TILE: usize = 64;

/// The sinks of a group in the frame of a call. Lanes beyond the last sink repeat it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct SinkBlock {
    pub position: [[f32; GROUP]; 3],
    /// Index of each sink in the list of bodies; -1 if it need not be excluded.
    pub own: [f32; GROUP],
    pub count: usize,
}

/// The sums of the sinks in the frame's units: acceleration, potential.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct GroupSums {
    pub acceleration: [[f64; GROUP]; 3],
    pub potential: [f64; GROUP],
}

impl GroupSums {
    /// Adds an expansion at each sink.
    #[inline(always)]
    pub fn add(&mut self, expansion: &Expansion, block: &SinkBlock) {
        let [x, y, z] = &block.position;
        for k in 0..GROUP {
            let (pull, potential) = expansion.at([x[k], y[k], z[k]]);
            for (sums, pull) in self.acceleration.iter_mut().zip(pull) {
                sums[k] += pull;
            }
            self.potential[k] += potential;
        }
    }

    pub const ZERO: Self = Self { acceleration: [[0.0; GROUP]; 3], potential: [0.0; GROUP] };
}

/// The sums of `S` vectors of sinks over a tile.
#[derive(Clone, Copy)]
struct Tile<V, const S: usize> {
    acceleration: [[V; S]; 3],
    potential: [V; S],
}

impl<V: LanesF32, const S: usize> Tile<V, S> {
    /// # Safety
    /// As [`LanesF32`].
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the processor has the instructions.
        let zero = unsafe { V::splat(0.0) };
        Self { acceleration: [[zero; S]; 3], potential: [zero; S] }
    }

    /// Adds the tile to the sums of the sinks from lane `first` on.
    ///
    /// # Safety
    /// As [`LanesF32`].
    #[inline(always)]
    unsafe fn flush(&self, sums: &mut GroupSums, first: usize, potential: bool, units: [f64; 2]) {
        for (sums, tile) in sums.acceleration.iter_mut().zip(&self.acceleration) {
            // SAFETY: the processor has the instructions.
            unsafe { add(&mut sums[first..], tile, units[0]) };
        }
        if potential {
            // SAFETY: as above.
            unsafe { add(&mut sums.potential[first..], &self.potential, units[1]) };
        }
    }
}

/// # Safety
/// As [`LanesF32`].
#[inline(always)]
unsafe fn add<V: LanesF32, const S: usize>(sums: &mut [f64], tile: &[V; S], unit: f64) {
    for (sums, vector) in sums.chunks_exact_mut(V::WIDTH).zip(tile) {
        let mut lanes = [0.0f32; PACK];
        // SAFETY: the processor has the instructions; no vector is longer than a pack.
        unsafe { vector.store(lanes.as_mut_ptr()) };
        for (sum, lane) in sums.iter_mut().zip(lanes) {
            *sum += unit * f64::from(lane);
        }
    }
}

/// The positions of `S` vectors of sinks.
///
/// # Safety
/// As [`LanesF32`]; the lanes are within a group.
#[inline(always)]
unsafe fn sinks<V: LanesF32, const S: usize>(block: &SinkBlock, first: usize) -> [[V; 3]; S] {
    debug_assert!(first + S * V::WIDTH <= GROUP);
    std::array::from_fn(|k| {
        // SAFETY: as above.
        std::array::from_fn(|axis| unsafe {
            V::load(block.position[axis].as_ptr().add(first + k * V::WIDTH))
        })
    })
}

/// Adds the attraction of a list of bodies to `sums`.
///
/// `EXCLUDE` leaves out a sink's own index; without it a sink at its source's position adds 0. With
/// `guard` the potential leaves out pairs at the same position.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn bodies<
    V: LanesF32,
    const S: usize,
    const POTENTIAL: bool,
    const EXCLUDE: bool,
>(
    places: &[PointMass],
    block: &SinkBlock,
    sums: &mut GroupSums,
    softening_squared: f32,
    guard: bool,
) {
    // SAFETY: the processor has the instructions; S vectors divide a group.
    unsafe {
        let eps2 = V::splat(softening_squared);
        for (tile, places) in places.chunks(TILE).enumerate() {
            let index = (tile * TILE) as f32;
            for first in (0..block.count).step_by(S * V::WIDTH) {
                let from = sinks::<V, S>(block, first);
                let own: [V; S] =
                    std::array::from_fn(|k| V::load(block.own.as_ptr().add(first + k * V::WIDTH)));
                let mut sum = Tile::<V, S>::zero();
                let mut number = index;
                for &[x, y, z, mass] in places {
                    let to = [V::splat(x), V::splat(y), V::splat(z)];
                    let source_mass = V::splat(mass);
                    for k in 0..S {
                        let now = Separation::new(from[k], to, eps2);
                        let mass = if EXCLUDE {
                            source_mass.unless_equal(V::splat(number), own[k])
                        } else {
                            source_mass
                        };
                        let pull = mass.times(now.r2.inverse_cube(now.estimate));
                        for (axis, d) in [now.dx, now.dy, now.dz].into_iter().enumerate() {
                            sum.acceleration[axis][k] =
                                d.times_plus(pull, sum.acceleration[axis][k]);
                        }
                        if POTENTIAL {
                            let mass = if guard { mass.unless_equal(now.r2, eps2) } else { mass };
                            let inverse = now.r2.inverse(now.estimate);
                            sum.potential[k] = mass.times_plus(inverse, sum.potential[k]);
                        }
                    }
                    if EXCLUDE {
                        number += 1.0;
                    }
                }
                sum.flush(sums, first, POTENTIAL, [V::CUBE, -V::INVERSE]);
            }
        }
    }
}

/// Adds the attraction of the cells in `list` to `sums`: of their masses, and with `QUADRUPOLE`
/// also of their second moments.
///
/// With s from sink to cell, i = (s^2 + eps^2)^(-1/2), v = 3 Q s and q = v s the acceleration is
/// i^3 (m + i^2 (5/2 q i^2 - 3/2 tr Q)) s - i^5 v, the potential -i (m + i^2 (1/2 q i^2 - 1/2 tr
/// Q)).
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn cells<
    V: LanesF32,
    const S: usize,
    const POTENTIAL: bool,
    const QUADRUPOLE: bool,
>(
    list: &[u32],
    forces: &[CellForce],
    block: &SinkBlock,
    sums: &mut GroupSums,
    softening_squared: f32,
) {
    // SAFETY: the processor has the instructions; S vectors divide a group.
    unsafe {
        let eps2 = V::splat(softening_squared);
        let (unit, half, five_halves) = (V::splat(V::INVERSE as f32), V::splat(0.5), V::splat(2.5));
        for list in list.chunks(TILE) {
            for first in (0..block.count).step_by(S * V::WIDTH) {
                let from = sinks::<V, S>(block, first);
                let mut sum = Tile::<V, S>::zero();
                for &number in list {
                    let cell = &forces[number as usize];
                    let to = cell.centre.map(|x| V::splat(x));
                    let mass = V::splat(cell.mass);
                    for (k, &from) in from.iter().enumerate() {
                        let now = Separation::new(from, to, eps2);
                        let s = [now.dx, now.dy, now.dz];
                        let i = now.r2.inverse(now.estimate).times(unit);
                        let i2 = i.times(i);
                        let i3 = i.times(i2);
                        if !QUADRUPOLE {
                            let pull = mass.times(i3);
                            for (s, sum) in s.into_iter().zip(&mut sum.acceleration) {
                                sum[k] = s.times_plus(pull, sum[k]);
                            }
                            if POTENTIAL {
                                sum.potential[k] = mass.times_plus(i, sum.potential[k]);
                            }
                            continue;
                        }
                        let [xx, yy, zz] = cell.diagonal.map(|q| V::splat(q));
                        let [xy, xz, yz] = cell.off_diagonal.map(|q| V::splat(q));
                        let v = [
                            xx.times_plus(s[0], xy.times_plus(s[1], xz.times(s[2]))),
                            xy.times_plus(s[0], yy.times_plus(s[1], yz.times(s[2]))),
                            xz.times_plus(s[0], yz.times_plus(s[1], zz.times(s[2]))),
                        ];
                        let q = v[0].times_plus(s[0], v[1].times_plus(s[1], v[2].times(s[2])));
                        let q = q.times(i2);
                        let bracket = q.times(five_halves).minus(V::splat(cell.trace));
                        let along = i3.times(i2.times_plus(bracket, mass));
                        let i5 = i3.times(i2);
                        for (axis, sum) in sum.acceleration.iter_mut().enumerate() {
                            sum[k] = s[axis].times_plus(along, v[axis].times_from(i5, sum[k]));
                        }
                        if POTENTIAL {
                            let bracket = q.times(half).minus(V::splat(cell.half_trace));
                            let whole = i2.times_plus(bracket, mass);
                            sum.potential[k] = i.times_plus(whole, sum.potential[k]);
                        }
                    }
                }
                sum.flush(sums, first, POTENTIAL, [1.0, -1.0]);
            }
        }
    }
}
