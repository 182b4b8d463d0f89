//! Far cells of a group, expanded about its middle: vectors of cells.

use super::super::CellForce;
use super::super::far::{Expansion, TERMS};
use crate::forces::direct::cpu::{LanesF32, PACK};

/// Number of cells whose terms are summed in f32.
const TILE: usize = 256;

/// Adds the cells in `list` to an expansion.
///
/// With i = (s^2 + eps^2)^(-1/2), n = i s, t = i times the unit of length, q = i^2 Q, v = 3 q n and
/// a = m + 5/2 v.n - 3/2 tr q, the derivatives of U are
///
/// - i (m + v.n / 2 - tr q / 2),
/// - i t (a n - v),
/// - i t^2 ((3 m + 35/2 v.n - 15/2 tr q) n n - 5 (v n + n v) + 3 q - a),
/// - i t^3 m (15 n n n - 3 (n + n + n)), where n stands for n times the unit matrix in each order,
/// - i t^4 m (105 n n n n - 15 (n n + ...) + 3 (1 + 1 + 1)), likewise.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn expand<V: LanesF32>(
    list: &[u32],
    forces: &[CellForce],
    softening_squared: f32,
    to: &mut Expansion,
) {
    // SAFETY of all blocks: the processor has the instructions; no vector is longer than a pack.
    unsafe {
        let number = |x: f32| V::splat(x);
        let (eps2, inverse_unit) = (number(softening_squared), number(V::INVERSE as f32));
        let middle = to.middle.map(number);
        let (unit, one) = (number(to.unit), number(1.0));
        for list in list.chunks(TILE) {
            let mut sums = [number(0.0); TERMS];
            for cells in list.chunks(V::WIDTH) {
                let [x, y, z, mass, xx, yy, zz, trace, xy, xz, yz] =
                    gathered::<V>(cells, forces).map(|lanes| V::load(lanes.as_ptr()));
                let s = [x.minus(middle[0]), y.minus(middle[1]), z.minus(middle[2])];
                let r2 = s[2].times_plus(s[2], s[1].times_plus(s[1], s[0].times_plus(s[0], eps2)));
                let i = r2.inverse(r2.estimate()).times(inverse_unit);
                let n = s.map(|s| s.times(i));
                let (t, i2) = (unit.times(i), i.times(i));
                let [xx, yy, zz, xy, yz, zx] = [xx, yy, zz, xy, yz, xz].map(|q| q.times(i2));
                let trace = trace.times(i2);
                let v = [
                    xx.times_plus(n[0], xy.times_plus(n[1], zx.times(n[2]))),
                    xy.times_plus(n[0], yy.times_plus(n[1], yz.times(n[2]))),
                    zx.times_plus(n[0], yz.times_plus(n[1], zz.times(n[2]))),
                ];
                let vn = v[0].times_plus(n[0], v[1].times_plus(n[1], v[2].times(n[2])));
                let a = vn.times_plus(number(2.5), mass.minus(trace));
                let b = trace
                    .times_from(number(5.0), vn.times_plus(number(17.5), mass.times(number(3.0))));
                let mut add = |term: usize, factor: V, value: V| {
                    sums[term] = factor.times_plus(value, sums[term]);
                };
                let zeroth = vn.times_plus(number(0.5), trace.times_from(number(1.0 / 3.0), mass));
                add(0, i, zeroth);
                let p1 = i.times(t);
                let p2 = p1.times(t);
                let p3 = mass.times(p2).times(t);
                let p4 = p3.times(t);
                let (p3_15, p3_3) = (p3.times(number(15.0)), p3.times(number(3.0)));
                let (p4_105, p4_15) = (p4.times(number(105.0)), p4.times(number(15.0)));
                let (p4_9, p4_3) = (p4.times(number(9.0)), p4.times(number(3.0)));
                let (diagonal, off_diagonal) = ([xx, yy, zz], [xy, yz, zx]);
                let n2 = n.map(|n| n.times(n));
                let third = n2.map(|n2| p3_15.times(n2));
                let fourth = n2.map(|n2| p4_105.times(n2));
                for k in 0..3 {
                    let (next, last) = ((k + 1) % 3, (k + 2) % 3);
                    let (o, p) = (n[k].times(n[next]), n[k].times(n[last]));
                    add(1 + k, p1, a.times(n[k]).minus(v[k]));
                    let mixed = v[k].times(n[k]);
                    let own = b.times_plus(n2[k], diagonal[k].minus(a));
                    add(4 + k, p2, mixed.times_from(number(10.0), own));
                    let mixed = v[k].times_plus(n[next], v[next].times(n[k]));
                    let own = b.times_plus(o, off_diagonal[k]);
                    add(7 + k, p2, mixed.times_from(number(5.0), own));
                    let less = third[k].minus(p3_3);
                    add(10 + k, n[k], p3_3.times_from(number(3.0), third[k]));
                    add(13 + k, n[next], less);
                    add(16 + k, n[last], less);
                    let less = p4_15.times_from(number(3.0), fourth[k]);
                    let twice = p4_15.times_from(number(6.0), fourth[k]);
                    add(20 + k, n2[k], twice);
                    add(20 + k, one, p4_9);
                    add(23 + k, o, less);
                    add(26 + k, p, less);
                    let both = n2[k].plus(n2[next]);
                    let less = both.times_from(p4_15, fourth[k].times_plus(n2[next], p4_3));
                    add(29 + k, one, less);
                    add(32 + k, n[next].times(n[last]), fourth[k].minus(p4_15));
                }
                add(19, n[2], n[1].times(n[0].times(p3_15)));
            }
            for (sum, lanes) in to.sums.iter_mut().zip(sums) {
                *sum += f64::from(lanes.total());
            }
        }
    }
}

/// Centre, mass, three times the second moments and their trace of up to a vector of cells, padded
/// with massless copies of the last one.
#[inline(always)]
fn gathered<V: LanesF32>(cells: &[u32], forces: &[CellForce]) -> [[f32; PACK]; 11] {
    let mut fields = [[0.0; PACK]; 11];
    for k in 0..V::WIDTH {
        let is_one = k < cells.len();
        let cell = &forces[cells[if is_one { k } else { cells.len() - 1 }] as usize];
        for (field, x) in fields.iter_mut().zip(cell.centre) {
            field[k] = x;
        }
        if is_one {
            let [xx, yy, zz] = cell.diagonal;
            let [xy, xz, yz] = cell.off_diagonal;
            let rest = [cell.mass, xx, yy, zz, cell.trace, xy, xz, yz];
            for (field, x) in fields[3..].iter_mut().zip(rest) {
                field[k] = x;
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::super::super::far::SinkGroup;
    use super::*;
    use crate::forces::direct::cpu::InstructionSet;
    use crate::forces::test_bodies::Random;
    use crate::forces::tree::cpu::loops;

    /// Cells at about `distance` from the origin, of a tenth of that size.
    fn cells(n: usize, distance: f64) -> Vec<CellForce> {
        let mut random = Random(3);
        let cell = |_| {
            let at = random.vector();
            let centre = (distance * (at + at.normalize())).as_vec3().to_array();
            let mut q = || (0.1 * distance).powi(2) as f32 * random.vector().as_vec3();
            let (diagonal, off_diagonal) = (q().abs(), 0.3 * q());
            let trace = 0.5 * diagonal.element_sum();
            CellForce {
                centre,
                mass: 1.0 + random.unit() as f32,
                diagonal: diagonal.to_array(),
                trace,
                off_diagonal: off_diagonal.to_array(),
                half_trace: trace / 3.0,
            }
        };
        (0..n).map(cell).collect()
    }

    fn about(extent: f32) -> Expansion {
        Expansion::new(&SinkGroup {
            middle: [0.02, -0.01, 0.03],
            extent_squared: extent * extent,
            ..SinkGroup::default()
        })
    }

    #[test]
    fn each_term_is_that_of_the_recurrence() {
        for (n, softening) in [(1, 0.0), (5, 0.3), (700, 0.0), (700, 2.0)] {
            let forces = cells(n, 1.0);
            let list: Vec<u32> = (0..n as u32).collect();
            let (mut right, mut sizes) = (about(0.5), [0.0f64; TERMS]);
            for cell in &forces {
                let before = right.sums;
                right.add(cell, softening * softening);
                for (k, size) in sizes.iter_mut().enumerate() {
                    *size += (right.sums[k] - before[k]).abs();
                }
            }
            for kernel in InstructionSet::available() {
                let mut found = about(0.5);
                let eps2 = (softening * softening) as f32;
                // SAFETY: the kernel is available.
                unsafe { (loops::of(kernel).expand)(&list, &forces, eps2, &mut found) };
                for k in 0..TERMS {
                    let error = (found.sums[k] - right.sums[k]).abs();
                    // Terms of one cell may nearly cancel in a derivative.
                    assert!(error < 3e-6 * (sizes[k] + 0.1 * sizes[0]), "{}: {k}", kernel.name());
                }
            }
        }
    }

    /// The pull of a cell at a place, with its softened quadrupole, in f64.
    fn pull(cell: &CellForce, place: [f32; 3]) -> [f64; 3] {
        let s: [f64; 3] =
            std::array::from_fn(|axis| f64::from(cell.centre[axis]) - f64::from(place[axis]));
        let i2 = s.iter().map(|s| s * s).sum::<f64>().recip();
        let [xx, yy, zz] = cell.diagonal.map(f64::from);
        let [xy, xz, yz] = cell.off_diagonal.map(f64::from);
        let v = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
            .map(|row| row.iter().zip(s).map(|(q, s)| q * s).sum::<f64>());
        let q = v.iter().zip(s).map(|(v, s)| v * s).sum::<f64>();
        let i3 = i2 * i2.sqrt();
        let along = f64::from(cell.mass) + i2 * (2.5 * q * i2 - f64::from(cell.trace));
        std::array::from_fn(|axis| i3 * (along * s[axis] - i2 * v[axis]))
    }

    #[test]
    fn error_falls_with_the_extent_and_pull_is_the_gradient() {
        let all = cells(20, 3.0);
        let light = all.iter().map(|cell| CellForce { mass: 0.0, ..*cell }).collect::<Vec<_>>();
        let point = CellForce { diagonal: [0.0; 3], off_diagonal: [0.0; 3], trace: 0.0, ..all[0] };
        let points =
            all.iter().map(|cell| CellForce { centre: cell.centre, mass: cell.mass, ..point });
        let points = points.collect::<Vec<_>>();
        // The mass to y^3, second moments to y.
        for (cells, order) in [(points, 4), (light, 2)] {
            let worst = |extent: f32| {
                let mut expansion = about(extent);
                cells.iter().for_each(|cell| expansion.add(cell, 0.0));
                let places = [[1.0, 0.0, 0.0], [-0.6, 0.8, 0.0], [0.6, 0.0, -0.8], [0.0, 0.6, 0.8]];
                let errors = places.map(|y: [f32; 3]| {
                    let place = std::array::from_fn(|k| expansion.middle[k] + extent * y[k]);
                    let found = expansion.at(place).0;
                    let right = cells
                        .iter()
                        .map(|cell| pull(cell, place))
                        .fold([0.0; 3], |a, b| std::array::from_fn(|k| a[k] + b[k]));
                    found.iter().zip(right).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
                });
                errors.into_iter().fold(0.0, f64::max)
            };
            let ratio = worst(0.25) / worst(0.125);
            let right = 2f64.powi(order);
            assert!((ratio / right - 1.0).abs() < 0.2, "{ratio} for {right}");
        }
        let mut expansion = about(0.5);
        all.iter().for_each(|cell| expansion.add(cell, 0.01));
        let place = [0.2, 0.3, -0.25];
        for axis in 0..3 {
            let step = 1.0 / 1024.0;
            let [ahead, back] = [step, -step].map(|step| {
                let mut at = place;
                at[axis] += step;
                expansion.at(at).1
            });
            let slope = (back - ahead) / (2.0 * f64::from(step));
            let found = expansion.at(place).0[axis];
            assert!((slope - found).abs() < 1e-5 * found.abs().max(1.0), "{slope} {found}");
        }
    }
}
