//! Sources on sinks, each ordered pair by itself: vectors of sources, `R` sinks in registers.
//!
//! Sums have two levels: f32 lanes within a block of sources, f64 across blocks.

use super::lanes::{LanesF32, Separation};
use super::pack::{PACK, PackF32, SinkF32};

/// Packs per block: 128 terms per lane keep the rounding of the f32 level near 3e-7, and 32 KiB of
/// sources stay in the second-level cache while every group of sinks passes over them.
pub(super) const BLOCK: usize = 128;

/// The sums of one sink, in the frame's units.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SumF32 {
    pub acceleration: [f64; 3],
    pub potential: f64,
}

impl SumF32 {
    /// Adds `other`, the next slice of the sources.
    pub fn add(&mut self, other: &SumF32) {
        for (total, part) in self.acceleration.iter_mut().zip(other.acceleration) {
            *total += part;
        }
        self.potential += other.potential;
    }
}

/// Numbers of sinks are rounded up to a multiple of this, which every kernel's `R` divides.
pub(super) const GROUP: usize = 2;

/// Sets `sums` to the attraction of `packs` on `sinks`, whose number is a multiple of `R`.
///
/// GPU Gems 3, chapter 31, equation 3. The first pack begins with source number `first`. `EXCLUDE`
/// leaves out the pairs of a sink with itself by index; otherwise they are counted, and add 0 to
/// the acceleration as long as the sink is at its source's position.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn attract<V: LanesF32, const R: usize, const EXCLUDE: bool>(
    packs: &[PackF32],
    first: usize,
    sinks: &[SinkF32],
    sums: &mut [SumF32],
    softening_squared: f32,
) {
    assert!(sinks.len().is_multiple_of(R) && sinks.len() == sums.len());
    sums.fill(SumF32::default());
    for (block, packs) in packs.chunks(BLOCK).enumerate() {
        let first = first + block * BLOCK * PACK;
        for (sinks, sums) in sinks.chunks_exact(R).zip(sums.chunks_exact_mut(R)) {
            // SAFETY: the processor has the instructions, as the caller guarantees.
            unsafe { group::<V, R, EXCLUDE>(packs, first, sinks, sums, softening_squared) }
        }
    }
}

/// [`attract`] with potentials and exclusion by index. `GUARD` leaves out the potential of pairs at
/// the same position.
///
/// # Safety
/// That of [`attract`].
#[inline(always)]
pub(super) unsafe fn attract_with_potential<V: LanesF32, const GUARD: bool>(
    packs: &[PackF32],
    first: usize,
    sinks: &[SinkF32],
    sums: &mut [SumF32],
    softening_squared: f32,
) {
    assert!(sinks.len() == sums.len());
    sums.fill(SumF32::default());
    for (block, packs) in packs.chunks(BLOCK).enumerate() {
        let first = first + block * BLOCK * PACK;
        for (sink, sum) in sinks.iter().zip(&mut *sums) {
            let own = within_block(sink.itself, first);
            // SAFETY: the processor has the instructions.
            unsafe {
                if own < 0.0 {
                    with_potential::<V, false, GUARD>(packs, own, sink, sum, softening_squared);
                } else {
                    with_potential::<V, true, GUARD>(packs, own, sink, sum, softening_squared);
                }
            }
        }
    }
}

/// Adds the attraction and potential of one block on one sink, which is its source `own` if
/// `EXCLUDE`.
///
/// r^-3 is the cube of r^-1, which the potential needs anyway: 19 operations per vector of pairs
/// where separate refinements take 21. Measured on one core of a Sapphire Rapids Xeon, AVX2: 3.7 G
/// interactions/s with one sink in registers, 3.5 with two, 2.8 in the form of [`group`].
#[inline(always)]
unsafe fn with_potential<V: LanesF32, const EXCLUDE: bool, const GUARD: bool>(
    packs: &[PackF32],
    own: f32,
    sink: &SinkF32,
    sum: &mut SumF32,
    softening_squared: f32,
) {
    // SAFETY: the caller's, see `attract`; loads stay within a pack, as WIDTH divides PACK.
    unsafe {
        let from = [V::splat(sink.x), V::splat(sink.y), V::splat(sink.z)];
        let (own, eps2) = (V::splat(own), V::splat(softening_squared));
        let (mut index, step) = (V::load(COUNT.as_ptr()), V::splat(V::WIDTH as f32));
        let [mut ax, mut ay, mut az, mut phi] = [V::splat(0.0); 4];
        for pack in packs {
            for lane in (0..PACK).step_by(V::WIDTH) {
                let to = [&pack.x, &pack.y, &pack.z].map(|axis| V::load(axis.as_ptr().add(lane)));
                let pair = Separation::new(from, to, eps2);
                let mut mass = V::load(pack.mass.as_ptr().add(lane));
                if EXCLUDE {
                    mass = mass.unless_equal(index, own);
                    index = index.plus(step);
                }
                let inverse = pair.r2.inverse(pair.estimate);
                let depth = mass.times(inverse);
                let pull = depth.times(inverse.times(inverse));
                ax = pair.dx.times_plus(pull, ax);
                ay = pair.dy.times_plus(pull, ay);
                az = pair.dz.times_plus(pull, az);
                phi = phi.plus(if GUARD { depth.unless_equal(pair.r2, eps2) } else { depth });
            }
        }
        let cube = V::INVERSE * V::INVERSE * V::INVERSE;
        for (total, part) in sum.acceleration.iter_mut().zip([ax, ay, az]) {
            *total += cube * f64::from(part.total());
        }
        sum.potential -= V::INVERSE * f64::from(phi.total());
    }
}

/// Adds the attraction of one block on `R` sinks.
#[inline(always)]
unsafe fn group<V: LanesF32, const R: usize, const EXCLUDE: bool>(
    packs: &[PackF32],
    first: usize,
    sinks: &[SinkF32],
    sums: &mut [SumF32],
    softening_squared: f32,
) {
    // SAFETY: the processor has the instructions; loads stay within a pack, as WIDTH divides PACK.
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
        let (mut ax, mut ay, mut az) = ([zero; R], [zero; R], [zero; R]);
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
        }
    }
}

/// Pack and first lane of vector `v`.
///
/// # Safety
/// The vector exists.
#[inline(always)]
unsafe fn place<V: LanesF32>(packs: &[PackF32], v: usize) -> (&PackF32, usize) {
    let parts = PACK / V::WIDTH;
    // SAFETY: as above.
    (unsafe { packs.get_unchecked(v / parts) }, v % parts * V::WIDTH)
}

/// The positions of vector `v`.
///
/// # Safety
/// The vector exists; [`LanesF32`].
#[inline(always)]
unsafe fn position<V: LanesF32>(packs: &[PackF32], v: usize) -> [V; 3] {
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
        Some(index) if itself != SinkF32::NONE && index < BLOCK * PACK => index as f32,
        _ => -1.0,
    }
}
