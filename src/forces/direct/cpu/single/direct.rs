//! Sources on sinks, each ordered pair by itself: vectors of sources, `R` sinks in registers.
//!
//! Sums have two levels: f32 lanes within a block of sources, f64 across blocks.

use super::lanes::{Lanes, Separation};
use super::pack::{PACK, Pack, Sink};

/// Packs per block: 128 terms per lane keep the rounding of the f32 level near 3e-7, and 32 KiB of
/// sources stay in the second-level cache while every group of sinks passes over them.
pub(super) const BLOCK: usize = 128;

/// The sums of one sink, in the frame's units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sum {
    pub acceleration: [f64; 3],
    pub potential: f64,
}

impl Sum {
    /// Adds `other`, the next slice of the sources.
    pub fn add(&mut self, other: &Sum) {
        for (total, part) in self.acceleration.iter_mut().zip(other.acceleration) {
            *total += part;
        }
        self.potential += other.potential;
    }
}

/// Sets `sums` to the attraction of `packs` on `sinks`, whose number is a multiple of `R`.
///
/// GPU Gems 3, chapter 31, equation 3. The first pack begins with source number `first`. `EXCLUDE`
/// leaves out the pairs of a sink with itself by index; otherwise they are counted, and add 0 to
/// the acceleration as long as the sink is at its source's position. `GUARD` leaves out the
/// potential of pairs at the same position. Safety: the processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn attract<
    V: Lanes,
    const R: usize,
    const POTENTIAL: bool,
    const EXCLUDE: bool,
    const GUARD: bool,
>(
    packs: &[Pack],
    first: usize,
    sinks: &[Sink],
    sums: &mut [Sum],
    softening_squared: f32,
) {
    assert!(sinks.len().is_multiple_of(R) && sinks.len() == sums.len());
    sums.fill(Sum::default());
    for (block, packs) in packs.chunks(BLOCK).enumerate() {
        let first = first + block * BLOCK * PACK;
        for (sinks, sums) in sinks.chunks_exact(R).zip(sums.chunks_exact_mut(R)) {
            // SAFETY: the instructions are there.
            unsafe {
                group::<V, R, POTENTIAL, EXCLUDE, GUARD>(
                    packs,
                    first,
                    sinks,
                    sums,
                    softening_squared,
                );
            }
        }
    }
}

/// Adds the attraction of one block on `R` sinks.
#[inline(always)]
unsafe fn group<
    V: Lanes,
    const R: usize,
    const POTENTIAL: bool,
    const EXCLUDE: bool,
    const GUARD: bool,
>(
    packs: &[Pack],
    first: usize,
    sinks: &[Sink],
    sums: &mut [Sum],
    softening_squared: f32,
) {
    // SAFETY: the instructions are there; loads stay within a pack, as WIDTH divides PACK.
    unsafe {
        let zero = V::splat(0.0);
        let eps2 = V::splat(softening_squared);
        let vectors = packs.len() * (PACK / V::WIDTH);
        let (mut from, mut own) = ([[zero; 3]; R], [zero; R]);
        for (k, sink) in sinks.iter().enumerate() {
            from[k] = [V::splat(sink.x), V::splat(sink.y), V::splat(sink.z)];
            if EXCLUDE {
                own[k] = V::splat(within_block(sink.itself, first));
            }
        }
        let mut pairs = [Separation::new(from[0], position(packs, 0), eps2); R];
        for k in 1..R {
            pairs[k] = Separation::new(from[k], position(packs, 0), eps2);
        }
        let (mut ax, mut ay, mut az, mut phi) = ([zero; R], [zero; R], [zero; R], [zero; R]);
        let mut index = V::load(COUNT.as_ptr());
        let step = V::splat(V::WIDTH as f32);
        for v in 0..vectors {
            let (pack, lane) = place::<V>(packs, v);
            let source_mass = V::load(pack.mass.as_ptr().add(lane));
            let next = position(packs, (v + 1).min(vectors - 1));
            for k in 0..R {
                let now = pairs[k];
                let mass =
                    if EXCLUDE { source_mass.unless_equal(index, own[k]) } else { source_mass };
                let pull = mass.times(now.r2.inverse_cube(now.estimate));
                ax[k] = now.dx.times_plus(pull, ax[k]);
                ay[k] = now.dy.times_plus(pull, ay[k]);
                az[k] = now.dz.times_plus(pull, az[k]);
                if POTENTIAL {
                    let mass = if GUARD { mass.unless_equal(now.r2, eps2) } else { mass };
                    phi[k] = mass.times_plus(now.r2.inverse(now.estimate), phi[k]);
                }
                pairs[k] = Separation::new(from[k], next, eps2);
            }
            if EXCLUDE {
                index = index.plus(step);
            }
        }
        for (k, sum) in sums.iter_mut().enumerate() {
            let a = [ax[k].total(), ay[k].total(), az[k].total()];
            for (total, part) in sum.acceleration.iter_mut().zip(a) {
                *total += V::CUBE * f64::from(part);
            }
            if POTENTIAL {
                sum.potential -= V::INVERSE * f64::from(phi[k].total());
            }
        }
    }
}

/// Pack and first lane of vector `v`. Safety: the vector exists.
#[inline(always)]
unsafe fn place<V: Lanes>(packs: &[Pack], v: usize) -> (&Pack, usize) {
    let parts = PACK / V::WIDTH;
    // SAFETY: as above.
    (unsafe { packs.get_unchecked(v / parts) }, v % parts * V::WIDTH)
}

/// The positions of vector `v`. Safety: the vector exists; [`Lanes`].
#[inline(always)]
unsafe fn position<V: Lanes>(packs: &[Pack], v: usize) -> [V; 3] {
    // SAFETY: as above.
    unsafe {
        let (pack, lane) = place::<V>(packs, v);
        [
            V::load(pack.x.as_ptr().add(lane)),
            V::load(pack.y.as_ptr().add(lane)),
            V::load(pack.z.as_ptr().add(lane)),
        ]
    }
}

/// Lane numbers. An index within a block is far below 2^24, so f32 holds it exactly.
const COUNT: [f32; PACK] =
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];

/// The index of source `itself` in the block that begins with source `first`, or -1.
fn within_block(itself: u32, first: usize) -> f32 {
    match (itself as usize).checked_sub(first) {
        Some(index) if itself != Sink::NONE && index < BLOCK * PACK => index as f32,
        _ => -1.0,
    }
}
