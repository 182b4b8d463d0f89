//! All bodies on all by Newton's third law: each unordered pair is evaluated once and acts on both
//! bodies.
//!
//! The pairs are split recursively into the pairs within two halves and the rectangle between them
//! (M. Frigo's cache-oblivious scheme). Two parts run in parallel only if they write to different
//! bodies, and the splits depend only on the number of bodies. So every body's sum is formed in the
//! same order on any number of threads, in memory that grows like N.
//!
//! If only some of the bodies are requested, pairs without any of them are skipped, and pairs with
//! others are evaluated for the requested side only. The remaining sums are formed in the same
//! order and have the same bits.

use std::ops::Range;

use super::lanes::{LaneSums, LanesF32, Separation};
use super::pack::{PACK, PackF32};
use crate::stop::OfCaller;

/// Accelerations of a pack's bodies, in the frame's units.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Pull(pub [[f64; PACK]; 3]);

impl Pull {
    pub const ZERO: Pull = Pull([[0.0; PACK]; 3]);
}

/// The most packs on a side of a rectangle that is not split further.
const LEAF: usize = 64;

/// The most packs whose own pairs are not split further; these are evaluated in both orders.
const OWN_LEAF: usize = 4;

/// Packs of `b` per strip of a leaf: the sums of 64 bodies stay in the first-level cache.
const STRIP: usize = 4;

/// Adds to the accelerations of `a` and `b` what they exert on each other. `unsafe` because the
/// processor must have the instructions.
pub(super) type BetweenStrips = unsafe fn(&[PackF32], &mut [Pull], &[PackF32], &mut [Pull], f32);

/// Adds what the second packs exert on the first, or the reverse. `unsafe` for the same reason.
pub(super) type OneSide = unsafe fn(&[PackF32], &[PackF32], &mut [Pull], f32);

/// Adds to the accelerations of `a` what its bodies exert on each other.
pub(super) type WithinStrip = unsafe fn(&[PackF32], &mut [Pull], f32);

/// The loops that evaluate blocks that are not split further.
#[derive(Clone, Copy)]
pub(super) struct Leaves {
    pub own: WithinStrip,
    pub rectangle: BetweenStrips,
    /// The part of [`Leaves::rectangle`] for the first pulls only, and for the second only.
    pub onto_first: OneSide,
    pub onto_second: OneSide,
}

/// Adjacent packs and the pulls on them.
struct Span<'a> {
    /// Index of the first.
    first: usize,
    packs: &'a [PackF32],
    pulls: &'a mut [Pull],
}

impl Span<'_> {
    fn halves(&mut self) -> (Span<'_>, Span<'_>) {
        let half = self.packs.len() / 2;
        let (low, high) = self.packs.split_at(half);
        let (pulls_low, pulls_high) = self.pulls.split_at_mut(half);
        let first = self.first + half;
        let low = Span { first: self.first, packs: low, pulls: pulls_low };
        (low, Span { first, packs: high, pulls: pulls_high })
    }
}

/// One evaluation of all bodies on all.
#[derive(Clone, Copy)]
pub(super) struct Mutual<'a> {
    leaves: &'a Leaves,
    softening_squared: f32,
    leaf: usize,
    /// The range of packs whose pulls are requested: first and end.
    selected: (usize, usize),
    stop_token: &'a OfCaller,
}

impl<'a> Mutual<'a> {
    /// For this number of packs and the pulls on those of `selected`; polls `stop_token` to stop
    /// early.
    ///
    /// # Safety
    /// The processor has the instructions of the `leaves`.
    pub unsafe fn new(
        leaves: &'a Leaves,
        softening_squared: f32,
        packs: usize,
        selected: Range<usize>,
        stop_token: &'a OfCaller,
    ) -> Self {
        // Small sets are split finer, so that every core has work.
        let leaf = (packs / 16).clamp(16, LEAF);
        Self {
            leaves,
            softening_squared,
            leaf,
            selected: (selected.start, selected.end),
            stop_token,
        }
    }

    /// Adds all pairs to `pulls`. Pulls of packs that are not selected are undefined afterwards.
    pub fn all(self, packs: &[PackF32], pulls: &mut [Pull]) {
        self.triangle(Span { first: 0, packs, pulls });
    }

    fn is_selected(self, span: &Span<'_>) -> bool {
        span.first < self.selected.1 && span.first + span.packs.len() > self.selected.0
    }

    /// Adds all pairs within `a`.
    fn triangle(self, mut a: Span<'_>) {
        if self.stop_token.is_requested() || !self.is_selected(&a) {
            return;
        }
        if a.packs.len() <= OWN_LEAF {
            // SAFETY: guaranteed by the caller of `new`.
            return unsafe { (self.leaves.own)(a.packs, a.pulls, self.softening_squared) };
        }
        let is_small = a.packs.len() <= self.leaf;
        let (low, high) = a.halves();
        if is_small {
            self.triangle(low);
            self.triangle(high);
        } else {
            rayon::join(|| self.triangle(low), || self.triangle(high));
        }
        let (low, high) = a.halves();
        self.rectangle(low, high);
    }

    /// Adds all pairs between `a` and `b`, whose lengths differ by at most 1.
    fn rectangle(self, mut a: Span<'_>, mut b: Span<'_>) {
        let selected = (self.is_selected(&a), self.is_selected(&b));
        if self.stop_token.is_requested() || selected == (false, false) {
            return;
        }
        if a.packs.len().max(b.packs.len()) <= self.leaf {
            let (leaves, eps2) = (self.leaves, self.softening_squared);
            // SAFETY: guaranteed by the caller of `new`.
            return unsafe {
                match selected {
                    (_, false) => (leaves.onto_first)(a.packs, b.packs, a.pulls, eps2),
                    (false, _) => (leaves.onto_second)(a.packs, b.packs, b.pulls, eps2),
                    _ => (leaves.rectangle)(a.packs, a.pulls, b.packs, b.pulls, eps2),
                }
            };
        }
        let ((a0, a1), (b0, b1)) = (a.halves(), b.halves());
        rayon::join(|| self.rectangle(a0, b0), || self.rectangle(a1, b1));
        let ((a0, a1), (b0, b1)) = (a.halves(), b.halves());
        rayon::join(|| self.rectangle(a0, b1), || self.rectangle(a1, b0));
    }
}

/// f32 sums: a vector for each body of a strip, or the lanes of `a`.
#[repr(C, align(64))]
struct StripSums<const N: usize>([LaneSums; N]);

/// [`BetweenStrips`] for `V`, with `R` vectors of `a` in registers. Without `ON_A` or `ON_B` only
/// the other side's pulls are computed, with the same bits.
#[inline(always)]
pub(super) unsafe fn rectangle<V: LanesF32, const R: usize, const ON_A: bool, const ON_B: bool>(
    a: &[PackF32],
    pull_a: &mut [Pull],
    b: &[PackF32],
    pull_b: &mut [Pull],
    eps2: f32,
) {
    // SAFETY: the processor has the instructions.
    unsafe {
        match (common_mass(a), common_mass(b)) {
            (Some(mass_a), Some(mass_b)) => {
                leaf::<V, R, true, ON_A, ON_B>(a, pull_a, b, pull_b, eps2, mass_b, mass_a);
            }
            _ => leaf::<V, R, false, ON_A, ON_B>(a, pull_a, b, pull_b, eps2, 1.0, 1.0),
        }
    }
}

/// [`WithinStrip`] for `V`: all ordered pairs, including those of a body with itself, which add 0.
#[inline(always)]
pub(super) unsafe fn own<V: LanesF32, const R: usize>(
    a: &[PackF32],
    pull: &mut [Pull],
    softening_squared: f32,
) {
    // SAFETY: the processor has the instructions.
    unsafe { leaf::<V, R, false, true, false>(a, pull, a, &mut [], softening_squared, 1.0, 1.0) }
}

/// The mass of all bodies of all packs, if they have the same.
fn common_mass(packs: &[PackF32]) -> Option<f32> {
    let first = packs.first()?.common_mass()?;
    packs.iter().all(|pack| pack.common_mass() == Some(first)).then_some(first)
}

/// The pairs of `a` and `b`. `EQUAL` leaves masses out of the pairs and multiplies the sums on `a`
/// by `mass_b`, those on `b` by `mass_a`. Without `ON_A` or `ON_B` that side attracts but is not
/// attracted.
#[inline(always)]
unsafe fn leaf<
    V: LanesF32,
    const R: usize,
    const EQUAL: bool,
    const ON_A: bool,
    const ON_B: bool,
>(
    a: &[PackF32],
    pull_a: &mut [Pull],
    b: &[PackF32],
    pull_b: &mut [Pull],
    softening_squared: f32,
    mass_b: f32,
    mass_a: f32,
) {
    assert!(a.len() <= LEAF && (!ON_A || a.len() == pull_a.len()));
    assert!(!ON_B || b.len() == pull_b.len());
    let mut on_a = StripSums::<LEAF>([[[0.0; PACK]; 3]; LEAF]);
    for (s, strip) in b.chunks(STRIP).enumerate() {
        let mut on_b = StripSums::<{ STRIP * PACK }>([[[0.0; PACK]; 3]; STRIP * PACK]);
        let bodies = Strip::new(strip);
        let vectors = a.len() * (PACK / V::WIDTH);
        let mut v = 0;
        // SAFETY: the processor has the instructions; vectors v..v + R and v lie within `a`.
        unsafe {
            while v + R <= vectors {
                let (on_a, on_b) = (&mut on_a, &mut on_b);
                pass::<V, R, EQUAL, ON_A, ON_B>(a, v, on_a, &bodies, on_b, softening_squared);
                v += R;
            }
            while v < vectors {
                let (on_a, on_b) = (&mut on_a, &mut on_b);
                pass::<V, 1, EQUAL, ON_A, ON_B>(a, v, on_a, &bodies, on_b, softening_squared);
                v += 1;
            }
        }
        if ON_B {
            let factor = V::CUBE * f64::from(mass_a);
            let pulls = &mut pull_b[s * STRIP..][..strip.len()];
            for (pull, sums) in pulls.iter_mut().zip(on_b.0.as_chunks().0) {
                for (axis, pull) in pull.0.iter_mut().enumerate() {
                    // SAFETY: the processor has the instructions.
                    let totals = unsafe { V::totals(sums, axis) };
                    for (pull, total) in pull.iter_mut().zip(totals) {
                        *pull -= factor * f64::from(total);
                    }
                }
            }
        }
    }
    if !ON_A {
        return;
    }
    let factor = V::CUBE * f64::from(mass_b);
    for (pull, sums) in pull_a.iter_mut().zip(&on_a.0) {
        for (pull, sum) in pull.0.iter_mut().zip(sums) {
            for (pull, sum) in pull.iter_mut().zip(sum) {
                *pull += factor * f64::from(*sum);
            }
        }
    }
}

/// Vectors v..v + R of `a` against a strip of `b`.
///
/// # Safety
/// They lie within `a`, at most [`LEAF`] packs; the processor has the instructions.
#[inline(always)]
unsafe fn pass<
    V: LanesF32,
    const R: usize,
    const EQUAL: bool,
    const ON_A: bool,
    const ON_B: bool,
>(
    a: &[PackF32],
    v: usize,
    on_a: &mut StripSums<LEAF>,
    strip: &Strip,
    on_b: &mut StripSums<{ STRIP * PACK }>,
    softening_squared: f32,
) {
    let parts = PACK / V::WIDTH;
    // SAFETY: as above.
    unsafe {
        let zero = V::splat(0.0);
        let (mut from, mut mass) = ([[zero; 3]; R], [zero; R]);
        for k in 0..R {
            let (pack, lane) = (a.get_unchecked((v + k) / parts), (v + k) % parts * V::WIDTH);
            from[k] = [
                V::load(pack.x.as_ptr().add(lane)),
                V::load(pack.y.as_ptr().add(lane)),
                V::load(pack.z.as_ptr().add(lane)),
            ];
            mass[k] = V::load(pack.mass.as_ptr().add(lane));
        }
        let pull = sweep::<V, R, EQUAL, ON_A, ON_B>(
            from,
            mass,
            &strip.body[..strip.len],
            &mut on_b.0[..strip.len],
            softening_squared,
        );
        if !ON_A {
            return;
        }
        for k in 0..R {
            let lane = (v + k) % parts * V::WIDTH;
            let totals = on_a.0.get_unchecked_mut((v + k) / parts);
            for (axis, pull) in pull[k].into_iter().enumerate() {
                let total = totals[axis].as_mut_ptr().add(lane);
                V::load(total).plus(pull).store(total);
            }
        }
    }
}

/// The bodies of a strip one by one.
struct Strip {
    body: [Body; STRIP * PACK],
    len: usize,
}

impl Strip {
    fn new(packs: &[PackF32]) -> Self {
        let mut body = [[0.0; 4]; STRIP * PACK];
        for (j, body) in body[..packs.len() * PACK].iter_mut().enumerate() {
            let (pack, lane) = (&packs[j / PACK], j % PACK);
            *body = [pack.x[lane], pack.y[lane], pack.z[lane], pack.mass[lane]];
        }
        Self { body, len: packs.len() * PACK }
    }
}

/// One body, to be broadcast to all lanes: x, y, z, mass.
type Body = [f32; 4];

/// `R` vectors of bodies at `from` against single bodies: returns the pull of the bodies on the
/// vectors, and adds the opposite pull on the bodies to `on_bodies`. `EQUAL` leaves the masses out;
/// without `ON_B` the bodies are not attracted, without `ON_A` the vectors are not.
///
/// With AVX-512 a vector takes 21 operations for 32 interactions (19 if masses are `EQUAL`) on two
/// ports: at least 10.5 cycles. In assembly with software pipelining it took 13, and all on all was
/// 6 % faster: not worth 200 lines.
///
/// # Safety
/// As [`LanesF32`].
#[inline(always)]
unsafe fn sweep<
    V: LanesF32,
    const R: usize,
    const EQUAL: bool,
    const ON_A: bool,
    const ON_B: bool,
>(
    from: [[V; 3]; R],
    mass: [V; R],
    bodies: &[Body],
    on_bodies: &mut [LaneSums],
    softening_squared: f32,
) -> [[V; 3]; R] {
    // SAFETY: the processor has the instructions; no kernel's vector is longer than a pack.
    unsafe {
        let eps2 = V::splat(softening_squared);
        let mut pull = [[V::splat(0.0); 3]; R];
        for (body, sum) in bodies.iter().zip(on_bodies) {
            let (x, y, z) = (V::splat(body[0]), V::splat(body[1]), V::splat(body[2]));
            let body_mass = V::splat(body[3]);
            let mut b =
                [V::load(sum[0].as_ptr()), V::load(sum[1].as_ptr()), V::load(sum[2].as_ptr())];
            for k in 0..R {
                let d = Separation::new(from[k], [x, y, z], eps2);
                let cube = d.r2.inverse_cube(d.estimate);
                if ON_A {
                    let to_a = if EQUAL { cube } else { cube.times(body_mass) };
                    pull[k][0] = d.dx.times_plus(to_a, pull[k][0]);
                    pull[k][1] = d.dy.times_plus(to_a, pull[k][1]);
                    pull[k][2] = d.dz.times_plus(to_a, pull[k][2]);
                }
                if ON_B {
                    let to_b = if EQUAL { cube } else { cube.times(mass[k]) };
                    b[0] = d.dx.times_plus(to_b, b[0]);
                    b[1] = d.dy.times_plus(to_b, b[1]);
                    b[2] = d.dz.times_plus(to_b, b[2]);
                }
            }
            if ON_B {
                b[0].store(sum[0].as_mut_ptr());
                b[1].store(sum[1].as_mut_ptr());
                b[2].store(sum[2].as_mut_ptr());
            }
        }
        pull
    }
}
