//! The loop: vectors of sources acting on a few sinks in registers. The equations are at
//! [`crate::forces::Forces`].

use std::mem::MaybeUninit;

use super::lanes::LanesF64;
use super::loops::SourceSlice;
use super::pack::{Around, DoubleLaneSums, PACK, PackF64, SinkF64, SumF64};
use super::sources::{PredictedPacks, Rows, SliceSources, SourceLanes};

/// The most sinks of a task: their sums, 45 KiB, stay in the second-level cache.
pub(super) const SINKS: usize = 64;

/// Packs per block: at most 20 KiB of sources stay in the first-level cache while every sink of a
/// task passes over them, and a lane adds up 32 terms before its sum is added to the sink's.
pub(super) const BLOCK: usize = 32;

/// Up to this many sinks, sources are predicted for each sink instead of once per block:
/// storing a predicted block and reading it again costs more.
const FEW: usize = 1;

/// Checks for no special pairs.
const FREE: usize = 0;
/// Skips pairs at the same position.
const APART: usize = 1;
/// Skips the sink itself as well.
const SELF: usize = 2;

/// Sets `sums` to what the slice contributes to `sinks`. `ORDER` and `BESIDES` are those of the
/// table. If lists are requested, `around` has one per sink, otherwise none.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn attract<V: LanesF64, const ORDER: usize, const BESIDES: usize>(
    slice: &SourceSlice,
    sinks: &[SinkF64],
    sums: &mut [SumF64],
    around: &mut [Around],
) {
    let n = sinks.len();
    assert!(n <= SINKS && n == sums.len() && (around.is_empty() || around.len() == n));
    around.iter_mut().for_each(Around::clear);
    let mut room = [const { MaybeUninit::uninit() }; SINKS];
    for gathered in &mut room[..n] {
        gathered.write(DoubleLaneSums::ZERO);
    }
    // SAFETY: the first `n` were written just now.
    let gathered = unsafe { &mut *(&raw mut room[..n] as *mut [DoubleLaneSums]) };
    let task = SinkTask { slice, sinks, gathered: &mut *gathered, around };
    // SAFETY: the processor has the instructions.
    unsafe {
        match slice.sources {
            SliceSources::Still(packs) => task.over::<V, _, ORDER, BESIDES>(packs),
            SliceSources::Moving(packs) if n <= FEW => task.over::<V, _, ORDER, BESIDES>(packs),
            SliceSources::Moving(packs) => task.over_predicted::<V, ORDER, BESIDES>(packs),
        }
    }
    sums.iter_mut().zip(gathered).for_each(|(sum, gathered)| *sum = gathered.sum());
}

/// Sinks and their sums.
struct SinkTask<'a> {
    slice: &'a SourceSlice<'a>,
    sinks: &'a [SinkF64],
    gathered: &'a mut [DoubleLaneSums],
    around: &'a mut [Around],
}

/// A range of packs from number `begin` on; `first` is the index of its first source.
#[derive(Clone, Copy)]
struct PackRange<S> {
    packs: S,
    begin: usize,
    end: usize,
    first: usize,
}

impl SinkTask<'_> {
    /// Processes `packs` block by block.
    ///
    /// # Safety
    /// [`LanesF64`].
    #[inline(always)]
    unsafe fn over<V: LanesF64, S: Rows, const ORDER: usize, const BESIDES: usize>(
        mut self,
        packs: S,
    ) {
        for begin in (0..packs.len()).step_by(BLOCK) {
            let end = packs.len().min(begin + BLOCK);
            let first = self.slice.first + begin * PACK;
            // SAFETY: as above.
            unsafe { self.block::<V, S, ORDER, BESIDES>(PackRange { packs, begin, end, first }) };
        }
    }

    /// The same with each block predicted once for all sinks.
    ///
    /// # Safety
    /// [`LanesF64`].
    #[inline(always)]
    unsafe fn over_predicted<V: LanesF64, const ORDER: usize, const BESIDES: usize>(
        mut self,
        packs: PredictedPacks,
    ) {
        let mut room = [PackF64::EMPTY; BLOCK];
        for begin in (0..packs.len()).step_by(BLOCK) {
            let room = &mut room[..BLOCK.min(packs.len() - begin)];
            let first = self.slice.first + begin * PACK;
            // SAFETY: as above.
            unsafe {
                packs.write::<V, ORDER>(begin, room);
                let (packs, end) = (&*room, room.len());
                self.block::<V, _, ORDER, BESIDES>(PackRange { packs, begin: 0, end, first });
            }
        }
    }

    /// One block on all sinks.
    ///
    /// # Safety
    /// [`LanesF64`].
    #[inline(always)]
    unsafe fn block<V: LanesF64, S: Rows, const ORDER: usize, const BESIDES: usize>(
        &mut self,
        block: PackRange<S>,
    ) {
        let last = block.first + (block.end - block.begin) * PACK;
        let holds = |sink: &SinkF64| sink.itself >= block.first as f64 && sink.itself < last as f64;
        let free = self.slice.softening_squared > 0.0 && BESIDES < 3;
        let mut k = 0;
        while k < self.sinks.len() {
            let two = ORDER < 1 && BESIDES < 2 && k + 2 <= self.sinks.len();
            let own = self.sinks[k..][..if two { 2 } else { 1 }].iter().any(holds);
            // SAFETY: as above.
            unsafe {
                let nearest = match (two, own || BESIDES == 3, free) {
                    (true, true, _) => self.group::<V, S, 2, ORDER, BESIDES, SELF>(block, k),
                    (true, _, false) => self.group::<V, S, 2, ORDER, BESIDES, APART>(block, k),
                    (true, _, true) => self.group::<V, S, 2, ORDER, BESIDES, FREE>(block, k),
                    (_, true, _) => self.group::<V, S, 1, ORDER, BESIDES, SELF>(block, k),
                    (_, _, false) => self.group::<V, S, 1, ORDER, BESIDES, APART>(block, k),
                    (_, _, true) => self.group::<V, S, 1, ORDER, BESIDES, FREE>(block, k),
                };
                let (sink, sum) = (&self.sinks[k], &mut self.gathered[k]);
                if BESIDES > 1 && V::bits(nearest.less(V::splat(sum.nearest_squared))) != 0 {
                    approach(block, sink, nearest, sum);
                }
            }
            k += if two { 2 } else { 1 };
        }
    }

    /// One block on `R` sinks from number `k` on. Returns the least squared distances to the first
    /// of them, if nearest sources are requested.
    ///
    /// # Safety
    /// [`LanesF64`].
    #[inline(always)]
    unsafe fn group<
        V: LanesF64,
        S: Rows,
        const R: usize,
        const ORDER: usize,
        const BESIDES: usize,
        const CARE: usize,
    >(
        &mut self,
        block: PackRange<S>,
        k: usize,
    ) -> V {
        // SAFETY: the processor has the instructions; loads stay within a pack, as WIDTH divides
        // PACK.
        unsafe {
            let splat = |of: [f64; 3]| [V::splat(of[0]), V::splat(of[1]), V::splat(of[2])];
            let zero = [V::splat(0.0); 3];
            let far = V::splat(f64::INFINITY);
            let eps2 = V::splat(self.slice.softening_squared);
            let (mut position, mut velocity, mut pull) = ([zero; R], [zero; R], [zero; R]);
            let (mut a, mut j, mut s) = ([zero; R], [zero; R], [zero; R]);
            let (mut phi, mut itself, mut nearest) = ([zero[0]; R], [zero[0]; R], [far; R]);
            for i in 0..R {
                let sink = &self.sinks[k + i];
                position[i] = splat(sink.position);
                velocity[i] = splat(sink.velocity);
                pull[i] = splat(sink.acceleration);
                itself[i] = V::splat(sink.itself);
            }
            let mut index = V::load(COUNT.as_ptr()).plus(V::splat(block.first as f64));
            for number in block.begin..block.end {
                for lane in (0..PACK).step_by(V::WIDTH) {
                    let source: SourceLanes<V> = block.packs.row::<V, ORDER>(number, lane);
                    for i in 0..R {
                        let r = difference(source.position, position[i]);
                        let (r2, plain) = if BESIDES > 1 {
                            let plain = dot(r, r);
                            (plain.plus(eps2), plain)
                        } else {
                            let r2 = r[0].times_plus(r[0], eps2);
                            let r2 = r[2].times_plus(r[2], r[1].times_plus(r[1], r2));
                            (r2, r2)
                        };
                        let mut w = r2.inverse_root();
                        let mut near = plain;
                        // With an inverse distance of 0, a pair adds 0 to everything.
                        if CARE == APART {
                            w = w.choose(r2.differs(zero[0]), zero[0]);
                        } else if CARE == SELF {
                            let other = index.differs(itself[i]);
                            w = w.choose(V::both(other, r2.differs(zero[0])), zero[0]);
                            near = near.choose(other, far);
                            if BESIDES > 2 {
                                let sink = &self.sinks[k + i];
                                let beyond = V::splat(sink.radius_squared).less(plain);
                                let found = V::bits(other) & !V::bits(beyond);
                                if found != 0 {
                                    let at = block.first + (number - block.begin) * PACK + lane;
                                    note(found, at, self.slice, &mut self.around[k + i]);
                                }
                            }
                        }
                        if BESIDES > 1 {
                            nearest[i] = nearest[i].least(near);
                        }
                        let w2 = w.times(w);
                        let mw = source.mass.times(w);
                        if BESIDES > 0 {
                            phi[i] = phi[i].minus(mw);
                        }
                        let p = mw.times(w2);
                        a[i] = add(p, r, a[i]);
                        if ORDER == 0 {
                            continue;
                        }
                        let v = difference(source.velocity, velocity[i]);
                        let alpha = dot(r, v).times(w2);
                        let alpha3 = alpha.times(V::splat(3.0));
                        let jerk = subtract(alpha3, r, v);
                        j[i] = add(p, jerk, j[i]);
                        if ORDER == 1 {
                            continue;
                        }
                        let acceleration = difference(source.acceleration, pull[i]);
                        let squares = dot(v, v).plus(dot(r, acceleration));
                        let beta = squares.times_plus(w2, alpha.times(alpha));
                        let snap = subtract(alpha3.plus(alpha3), jerk, acceleration);
                        let snap = subtract(beta.times(V::splat(3.0)), r, snap);
                        s[i] = add(p, snap, s[i]);
                    }
                    if CARE == SELF {
                        index = index.plus(V::splat(V::WIDTH as f64));
                    }
                }
            }
            for i in 0..R {
                let sum = &mut self.gathered[k + i];
                for axis in 0..3 {
                    gather(&mut sum.acceleration[axis], a[i][axis]);
                    if ORDER > 0 {
                        gather(&mut sum.jerk[axis], j[i][axis]);
                    }
                    if ORDER > 1 {
                        gather(&mut sum.snap[axis], s[i][axis]);
                    }
                }
                if BESIDES > 0 {
                    gather(&mut sum.potential, phi[i]);
                }
            }
            nearest[0]
        }
    }
}

/// Lane numbers.
const COUNT: [f64; PACK] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// Adds a block's lanes to those of its sink.
///
/// # Safety
/// [`LanesF64`].
#[inline(always)]
unsafe fn gather<V: LanesF64>(row: &mut [f64; PACK], part: V) {
    // SAFETY: no vector is longer than a pack.
    unsafe { V::load(row.as_ptr()).plus(part).store(row.as_mut_ptr()) };
}

/// Finds the source of a block that is at the least of the distances `nearest`, with the same
/// arithmetic. Few blocks need it, so the main loop does not have to track indices.
///
/// # Safety
/// [`LanesF64`].
#[inline(always)]
unsafe fn approach<V: LanesF64, S: Rows>(
    block: PackRange<S>,
    sink: &SinkF64,
    nearest: V,
    sum: &mut DoubleLaneSums,
) {
    let mut squares = [f64::INFINITY; PACK];
    // SAFETY: no vector is longer than a pack; the rest as the caller guarantees.
    unsafe {
        nearest.store(squares.as_mut_ptr());
        let least = squares.iter().copied().fold(f64::INFINITY, f64::min);
        let [x, y, z] = sink.position;
        let at = [V::splat(x), V::splat(y), V::splat(z)];
        for number in block.begin..block.end {
            for lane in (0..PACK).step_by(V::WIDTH) {
                let r = difference(block.packs.row::<V, 0>(number, lane).position, at);
                let mut bits = !V::bits(dot(r, r).differs(V::splat(least))) & ((1 << V::WIDTH) - 1);
                while bits != 0 {
                    let k = (number - block.begin) * PACK + lane + bits.trailing_zeros() as usize;
                    let index = (block.first + k) as f64;
                    if index != sink.itself {
                        (sum.nearest_squared, sum.nearest) = (least, index);
                        return;
                    }
                    bits &= bits - 1;
                }
            }
        }
    }
}

/// # Safety
/// [`LanesF64`].
#[inline(always)]
unsafe fn difference<V: LanesF64>(source: [V; 3], sink: [V; 3]) -> [V; 3] {
    // SAFETY: as above.
    unsafe { [source[0].minus(sink[0]), source[1].minus(sink[1]), source[2].minus(sink[2])] }
}

/// # Safety
/// [`LanesF64`].
#[inline(always)]
unsafe fn dot<V: LanesF64>(a: [V; 3], b: [V; 3]) -> V {
    // SAFETY: as above.
    unsafe { a[2].times_plus(b[2], a[1].times_plus(b[1], a[0].times(b[0]))) }
}

/// `sum + factor * of`.
///
/// # Safety
/// [`LanesF64`].
#[inline(always)]
unsafe fn add<V: LanesF64>(factor: V, of: [V; 3], sum: [V; 3]) -> [V; 3] {
    // SAFETY: as above.
    unsafe {
        [
            factor.times_plus(of[0], sum[0]),
            factor.times_plus(of[1], sum[1]),
            factor.times_plus(of[2], sum[2]),
        ]
    }
}

/// `from - factor * of`.
///
/// # Safety
/// [`LanesF64`].
#[inline(always)]
unsafe fn subtract<V: LanesF64>(factor: V, of: [V; 3], from: [V; 3]) -> [V; 3] {
    // SAFETY: as above.
    unsafe {
        [
            factor.times_from(of[0], from[0]),
            factor.times_from(of[1], from[1]),
            factor.times_from(of[2], from[2]),
        ]
    }
}

/// Adds the sources of the vector that begins at number `at` to a sink's list.
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
