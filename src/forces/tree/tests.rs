//! The tree against a recursive octree, against sums over bodies, and against invariants that hold
//! for any bodies.

use glam::DVec3;
use proptest::prelude::*;

use super::*;
use crate::forces::test_bodies::Random;

/// The keys along the curve of the bodies in the cube, and their positions.
fn sorted(places: &[PointMass]) -> (Vec<Key>, Vec<PointMass>) {
    let cube = Cube::around(places);
    let keys = keys(&cube, places);
    let order = order(&keys);
    let inside = order.iter().take_while(|&&i| keys[i as usize] != Key::OUTSIDE).count();
    let along = || order[..inside].iter().map(|&i| i as usize);
    (along().map(|i| keys[i]).collect(), along().map(|i| places[i]).collect())
}

/// (first body, bodies, level) of every cell by recursive division of runs, depth first.
fn by_recursion(keys: &[Key], leaf: usize) -> Vec<(u32, u32, u32)> {
    fn divide(keys: &[Key], first: usize, level: u32, leaf: usize, out: &mut Vec<(u32, u32, u32)>) {
        out.push((first as u32, keys.len() as u32, level));
        if keys.len() <= leaf || level == LEVELS {
            return;
        }
        let mut begin = 0;
        for end in 1..=keys.len() {
            if end == keys.len() || keys[end].shared(keys[begin]) <= level {
                divide(&keys[begin..end], first + begin, level + 1, leaf, out);
                begin = end;
            }
        }
    }
    let mut out = Vec::new();
    if !keys.is_empty() {
        divide(keys, 0, 0, leaf, &mut out);
    }
    out.sort_by_key(|&(first, _, level)| (level, first));
    out
}

/// Checks the invariants of cells over any bodies.
fn check_cells(keys: &[Key], places: &[PointMass], leaf: usize) {
    let cells = Cells::new(keys, leaf);
    let found: Vec<_> = cells.cells.iter().map(|c| (c.first, c.count, c.level)).collect();
    assert_eq!(found, by_recursion(keys, leaf));
    let moments = moments(&cells, places);
    let mut leaves = Vec::new();
    for (number, (cell, moment)) in cells.cells.iter().zip(&moments).enumerate() {
        let level = cell.level as usize;
        assert!((cells.levels[level]..cells.levels[level + 1]).contains(&(number as u32)));
        let bodies = &places[cell.first as usize..][..cell.count as usize];
        for place in bodies {
            assert!((0..3).all(|k| (moment.lower[k]..=moment.upper[k]).contains(&place[k])));
            let d = DVec3::from(std::array::from_fn(|k| {
                f64::from(place[k]) - f64::from(moment.centre_f32()[k])
            }));
            assert!(d.length() <= moment.radius, "{} outside {}", d.length(), moment.radius);
        }
        if cell.is_leaf() {
            assert!(cell.count as usize <= leaf || cell.level == LEVELS);
            leaves.push((cell.first, cell.count));
            continue;
        }
        assert!(cell.count as usize > leaf && (1..=8).contains(&cell.children));
        let children = &cells.cells[cell.child as usize..][..cell.children as usize];
        let mut next = cell.first;
        for child in children {
            assert_eq!((child.parent as usize, child.first), (number, next));
            assert_eq!(child.level, cell.level + 1);
            next += child.count;
        }
        assert_eq!(next, cell.first + cell.count, "children tile their parent");
    }
    leaves.sort_unstable();
    let mut next = 0;
    for (first, count) in leaves {
        assert_eq!(first, next, "every body is in one leaf");
        next += count;
    }
    assert_eq!(next as usize, keys.len());
}

/// `n` bodies of one kind.
fn bodies(kind: u32, n: usize, seed: u64) -> Vec<PointMass> {
    let mut random = Random(seed);
    let side = (n as f64).cbrt().ceil().max(1.0) as usize;
    let mut place = |i: usize| {
        let v = random.vector().as_vec3();
        let mass = random.unit() as f32;
        let at = match kind {
            0 => v,
            // A dense centre.
            1 => v * (random.unit() as f32).powi(12),
            // One position, a line, a lattice on the borders of cells, two distant clusters,
            // copies.
            2 => glam::Vec3::splat(0.25),
            3 => glam::Vec3::X * v.x,
            4 => glam::Vec3::new(
                (i % side) as f32,
                (i / side % side) as f32,
                (i / side / side) as f32,
            ),
            5 => v + glam::Vec3::X * if i.is_multiple_of(2) { 1e6 } else { -1e6 },
            _ => glam::Vec3::splat((i % 7) as f32),
        };
        [at.x, at.y, at.z, if i % 11 == 3 { 0.0 } else { mass }]
    };
    (0..n).map(&mut place).collect()
}

#[test]
fn cells_are_those_of_a_recursive_octree() {
    for kind in 0..7 {
        for n in [0, 1, 2, 31, 32, 33, 63, 64, 65, 1000, 4097] {
            let (keys, places) = sorted(&bodies(kind, n, 1));
            for leaf in [1, 8, 32, 512] {
                check_cells(&keys, &places, leaf);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn cell_invariants_hold_for_any_bodies(kind in 0u32..7, n in 1usize..700, seed: u64, leaf in 1usize..70) {
        let (keys, places) = sorted(&bodies(kind, n, seed));
        check_cells(&keys, &places, leaf);
    }
}

#[test]
fn moments_of_the_root_are_sums_over_all_bodies() {
    let (keys, places) = sorted(&bodies(1, 3000, 5));
    let root = moments(&Cells::new(&keys, LEAF), &places)[0];
    let position = |p: &PointMass| DVec3::new(p[0].into(), p[1].into(), p[2].into());
    let mass: f64 = places.iter().map(|p| f64::from(p[3])).sum();
    let centre = places.iter().map(|p| f64::from(p[3]) * position(p)).sum::<DVec3>() / mass;
    assert!((root.mass / mass - 1.0).abs() < 1e-12 && root.centre.distance(centre) < 1e-12);
    let second = |a: usize, b: usize| -> f64 {
        let d = |p: &PointMass| position(p) - centre;
        places.iter().map(|p| f64::from(p[3]) * d(p)[a] * d(p)[b]).sum()
    };
    for (k, (a, b)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        assert!((root.second[k] - second(a, b)).abs() < 1e-12 * mass, "{a} {b}");
    }
}

#[test]
fn tree_of_one_body_and_of_none() {
    let place = [0.1f32, -0.7, 1e-9, 3e-8];
    let (keys, places) = sorted(&[place]);
    let moment = moments(&Cells::new(&keys, LEAF), &places)[0];
    assert_eq!(moment.centre_f32()[..], place[..3]);
    assert_eq!((moment.radius, moment.second), (0.0, [0.0; 6]));
    assert!(Cells::new(&[], LEAF).is_empty());
}
