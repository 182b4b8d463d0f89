//! The loop: vectors of sources on a few sinks in registers. The equations are at
//! [`crate::forces::Answers`].

use super::lanes::Lanes;
use super::loops::SourceSlice;
use super::pack::{Around, PACK, Sink, Sum};

/// Packs per block: at most 40 KiB of sources stay in the second level cache while every sink of a task
/// passes over them, and a lane adds up 64 terms before its total goes to the sink's.
pub(super) const BLOCK: usize = 64;

/// Sets `sums` to what the slice does to `sinks`. `ORDER` and `CARE` are those of the table. Where lists
/// are wanted `around` has one per sink, else none. Safety: the processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn attract<V: Lanes, const ORDER: usize, const CARE: usize>(
    slice: &SourceSlice,
    sinks: &[Sink],
    sums: &mut [Sum],
    around: &mut [Around],
) {
    assert!(sinks.len() == sums.len() && (around.is_empty() || around.len() == sinks.len()));
    sums.fill(Sum::ZERO);
    around.iter_mut().for_each(Around::clear);
    for (block, packs) in slice.packs.chunks(BLOCK).enumerate() {
        let slice = SourceSlice { packs, first: slice.first + block * BLOCK * PACK, ..*slice };
        let mut k = 0;
        // SAFETY: the instructions are there.
        unsafe {
            while ORDER < 1 && CARE < 2 && k + 2 <= sinks.len() {
                group::<V, 2, ORDER, CARE>(&slice, &sinks[k..], &mut sums[k..], around, k);
                k += 2;
            }
            while k < sinks.len() {
                group::<V, 1, ORDER, CARE>(&slice, &sinks[k..], &mut sums[k..], around, k);
                k += 1;
            }
        }
    }
}

/// Adds one block to the first `R` of `sums`; `k` is the first sink's list.
#[inline(always)]
unsafe fn group<V: Lanes, const R: usize, const ORDER: usize, const CARE: usize>(
    slice: &SourceSlice,
    sinks: &[Sink],
    sums: &mut [Sum],
    around: &mut [Around],
    k: usize,
) {
    // SAFETY: the instructions are there; loads stay within a pack, as WIDTH divides PACK.
    unsafe {
        let splat = |of: [f64; 3]| [V::splat(of[0]), V::splat(of[1]), V::splat(of[2])];
        let zero = [V::splat(0.0); 3];
        let eps2 = V::splat(slice.softening_squared);
        let (mut position, mut velocity, mut pull) = ([zero; R], [zero; R], [zero; R]);
        let (mut a, mut j, mut s) = ([zero; R], [zero; R], [zero; R]);
        let (mut phi, mut itself) = ([zero[0]; R], [zero[0]; R]);
        let far = V::splat(f64::INFINITY);
        let (mut nearest, mut which) = ([far; R], [far; R]);
        for i in 0..R {
            position[i] = splat(sinks[i].position);
            velocity[i] = splat(sinks[i].velocity);
            pull[i] = splat(sinks[i].acceleration);
            itself[i] = V::splat(sinks[i].itself);
        }
        let mut index = V::load(COUNT.as_ptr()).plus(V::splat(slice.first as f64));
        for (number, pack) in slice.packs.iter().enumerate() {
            for lane in (0..PACK).step_by(V::WIDTH) {
                let mass = V::load(pack.mass.as_ptr().add(lane));
                for i in 0..R {
                    let r = difference(&pack.position, lane, position[i]);
                    let (r2, plain) = if CARE == 2 {
                        let plain = dot(r, r);
                        (plain.plus(eps2), plain)
                    } else {
                        let r2 = r[0].times_plus(r[0], eps2);
                        let r2 = r[2].times_plus(r[2], r[1].times_plus(r[1], r2));
                        (r2, r2)
                    };
                    let mut w = r2.inverse_root();
                    if CARE > 0 {
                        let other = index.differs(itself[i]);
                        // Without its inverse distance a pair adds 0 to everything.
                        w = w.choose(V::both(other, r2.differs(zero[0])), zero[0]);
                        if CARE == 2 {
                            let nearer = V::both(other, plain.less(nearest[i]));
                            nearest[i] = plain.choose(nearer, nearest[i]);
                            which[i] = index.choose(nearer, which[i]);
                            if let Some(list) = around.get_mut(k + i) {
                                let beyond = V::splat(sinks[i].radius_squared).less(plain);
                                let found = V::bits(other) & !V::bits(beyond);
                                if found != 0 {
                                    let at = slice.first + number * PACK + lane;
                                    note(found, at, slice, list);
                                }
                            }
                        }
                    }
                    let w2 = w.times(w);
                    let mw = mass.times(w);
                    if CARE > 0 {
                        phi[i] = phi[i].minus(mw);
                    }
                    let p = mw.times(w2);
                    a[i] = add(p, r, a[i]);
                    if ORDER == 0 {
                        continue;
                    }
                    let v = difference(&pack.velocity, lane, velocity[i]);
                    let alpha = dot(r, v).times(w2);
                    let alpha3 = alpha.times(V::splat(3.0));
                    let jerk = subtract(alpha3, r, v);
                    j[i] = add(p, jerk, j[i]);
                    if ORDER == 1 {
                        continue;
                    }
                    let acceleration = difference(&pack.acceleration, lane, pull[i]);
                    let squares = dot(v, v).plus(dot(r, acceleration));
                    let beta = squares.times_plus(w2, alpha.times(alpha));
                    let snap = subtract(alpha3.plus(alpha3), jerk, acceleration);
                    let snap = subtract(beta.times(V::splat(3.0)), r, snap);
                    s[i] = add(p, snap, s[i]);
                }
                if CARE > 0 {
                    index = index.plus(V::splat(V::WIDTH as f64));
                }
            }
        }
        for (i, sum) in sums.iter_mut().take(R).enumerate() {
            let rows =
                [(&mut sum.acceleration, a[i]), (&mut sum.jerk, j[i]), (&mut sum.snap, s[i])];
            for (row, lanes) in rows.into_iter().take(ORDER + 1) {
                row.iter_mut().zip(lanes).for_each(|(total, part)| *total += part.total());
            }
            sum.potential += phi[i].total();
            if CARE == 2 {
                let (mut squares, mut indices) = ([0.0; PACK], [0.0; PACK]);
                nearest[i].store(squares.as_mut_ptr());
                which[i].store(indices.as_mut_ptr());
                for lane in 0..V::WIDTH {
                    sum.approach(squares[lane], indices[lane]);
                }
            }
        }
    }
}

/// Lane numbers.
const COUNT: [f64; PACK] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// Source minus sink. Safety: [`Lanes`]; there is such a lane.
#[inline(always)]
unsafe fn difference<V: Lanes>(rows: &[[f64; PACK]; 3], lane: usize, sink: [V; 3]) -> [V; 3] {
    // SAFETY: as above.
    unsafe {
        [
            V::load(rows[0].as_ptr().add(lane)).minus(sink[0]),
            V::load(rows[1].as_ptr().add(lane)).minus(sink[1]),
            V::load(rows[2].as_ptr().add(lane)).minus(sink[2]),
        ]
    }
}

/// Safety: [`Lanes`].
#[inline(always)]
unsafe fn dot<V: Lanes>(a: [V; 3], b: [V; 3]) -> V {
    // SAFETY: as above.
    unsafe { a[2].times_plus(b[2], a[1].times_plus(b[1], a[0].times(b[0]))) }
}

/// `sum + factor * of`. Safety: [`Lanes`].
#[inline(always)]
unsafe fn add<V: Lanes>(factor: V, of: [V; 3], sum: [V; 3]) -> [V; 3] {
    // SAFETY: as above.
    unsafe {
        [
            factor.times_plus(of[0], sum[0]),
            factor.times_plus(of[1], sum[1]),
            factor.times_plus(of[2], sum[2]),
        ]
    }
}

/// `from - factor * of`. Safety: [`Lanes`].
#[inline(always)]
unsafe fn subtract<V: Lanes>(factor: V, of: [V; 3], from: [V; 3]) -> [V; 3] {
    // SAFETY: as above.
    unsafe {
        [
            factor.times_from(of[0], from[0]),
            factor.times_from(of[1], from[1]),
            factor.times_from(of[2], from[2]),
        ]
    }
}

/// Puts the sources of a vector that begins with number `at` on a sink's list.
#[cold]
fn note(mut found: u32, at: usize, slice: &SourceSlice, list: &mut Around) {
    while found != 0 {
        let j = at + found.trailing_zeros() as usize;
        if j < slice.count {
            list.push(j as u32, slice.capacity);
        }
        found &= found - 1;
    }
}
