//! Groups whose sinks have many other bodies between them: in sparse outskirts, or where the curve
//! leaves a region and returns elsewhere.

use bytemuck::{Pod, Zeroable};

use super::{Cube, GROUP, Key, LEVELS, PointMass, key::at};

/// A group is scattered if more bodies than this are in its [`Surroundings`]. In Plummer and
/// Hernquist spheres, uniform cubes and galaxies of any number of bodies there are typically fewer
/// than 2,000; around 64 bodies of the outskirts that surround a core, many thousands.
pub const CROWD: usize = 4096;

/// The most of `groups` groups whose sinks may walk one by one. If more are scattered, all walk as
/// groups.
pub fn room_for(groups: usize) -> usize {
    groups.min((groups / 128).max(64))
}

/// The box around the sinks of a group in intervals of the cube. The group is scattered if more
/// than [`CROWD`] bodies are in the cells that the box touches, where cells have a quarter of the
/// smallest edge that is larger than the box: it would open all of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Surroundings {
    nearest: [u32; 3],
    farthest: [u32; 3],
    /// log2 of the smallest edge that is larger than the box.
    coarse: u32,
}

impl Surroundings {
    /// The box of these sinks; `None` if all are in one interval, and thus not scattered.
    pub fn of(cube: &Cube, sinks: &[PointMass]) -> Option<Self> {
        let corner = |choose: fn(f32, f32) -> f32| {
            let all = sinks.iter().copied();
            let corner = all.reduce(|a, b| std::array::from_fn(|k| choose(a[k], b[k])));
            cube.index(&corner.unwrap_or_default())
        };
        let (nearest, farthest) = (corner(f32::min), corner(f32::max));
        let extent = (0..3).map(|axis| farthest[axis] - nearest[axis]).max().unwrap_or(0);
        let coarse = u32::BITS - extent.leading_zeros();
        (extent > 0).then_some(Self { nearest, farthest, coarse })
    }

    /// The number of bodies, among those with these sorted `keys`, in the cells that the box
    /// touches, of an edge larger than the box: at most eight, and an upper bound of
    /// [`Surroundings::among`].
    pub fn around(&self, keys: &[Key]) -> usize {
        bodies_among(keys, self.nearest, self.farthest, self.coarse)
    }

    /// The same for cells of a quarter of that edge.
    pub fn among(&self, keys: &[Key]) -> usize {
        bodies_among(keys, self.nearest, self.farthest, self.coarse.saturating_sub(2))
    }

    /// Whether the group is scattered, if these are the keys of all bodies in the cube.
    pub fn is_crowded(&self, keys: &[Key]) -> bool {
        self.around(keys) > CROWD && self.among(keys) > CROWD
    }

    /// Whether all bodies in the cells around the box have keys between these two.
    pub fn is_between(&self, before: Option<Key>, next: Option<Key>) -> bool {
        cells_between(self.nearest, self.farthest, self.coarse).all(|(key, level)| {
            before.is_none_or(|before| before < key && before.shared(key) < level)
                && next.is_none_or(|next| key < next && next.shared(key) < level)
        })
    }
}

/// Whether a group is scattered, so that its sinks walk one by one. `keys` are the sorted keys of
/// the bodies in the cube.
pub fn is_scattered(cube: &Cube, keys: &[Key], sinks: &[PointMass]) -> bool {
    Surroundings::of(cube, sinks).is_some_and(|near| near.is_crowded(keys))
}

/// A key in each cell of 2^shift intervals between two corners, both included, and the level of
/// these cells.
fn cells_between(
    nearest: [u32; 3],
    farthest: [u32; 3],
    shift: u32,
) -> impl Iterator<Item = (Key, u32)> {
    let range = move |axis: usize| nearest[axis] >> shift..=farthest[axis] >> shift;
    let level = LEVELS - shift.min(LEVELS);
    range(0).flat_map(move |x| {
        range(1).flat_map(move |y| {
            range(2).map(move |z| (at([x << shift, y << shift, z << shift]), level))
        })
    })
}

/// The number of bodies in the cells of 2^shift intervals between two corners, both included.
fn bodies_among(keys: &[Key], nearest: [u32; 3], farthest: [u32; 3], shift: u32) -> usize {
    let bodies = |(key, level): (Key, u32)| {
        let here = |other: &Key| key.shared(*other) >= level;
        let begin = keys.partition_point(|other| *other < key && !here(other));
        keys[begin..].partition_point(here)
    };
    cells_between(nearest, farthest, shift).map(bodies).sum()
}

/// For each group along the curve, whether its sinks walk one by one.
pub fn split(cube: &Cube, keys: &[Key], sinks: &[PointMass]) -> Vec<bool> {
    use rayon::prelude::*;
    let scattered: Vec<bool> =
        sinks.par_chunks(GROUP).map(|sinks| is_scattered(cube, keys, sinks)).collect();
    let too_many = scattered.iter().filter(|is| **is).count() > room_for(scattered.len());
    if too_many { vec![false; scattered.len()] } else { scattered }
}

#[cfg(test)]
mod tests {
    use super::super::{keys as keys_of, order};
    use super::*;

    /// A dense block and `shell` bodies far around it, in their order along the curve.
    fn block_and_shell(shell: usize) -> (Cube, Vec<Key>, Vec<PointMass>) {
        let mut places = Vec::new();
        for i in 0..20_000 {
            let i = i as f32;
            let at = [(i * 0.754_877).fract(), (i * 0.569_84).fract(), (i * 0.324_718).fract()];
            let [x, y, z] = at.map(|x| (x - 0.5) * 0.999);
            places.push([x, y, z, 1.0]);
        }
        for i in 0..shell {
            let (z, turn) = ((i as f32 + 0.5) / shell as f32 * 2.0 - 1.0, i as f32 * 2.4);
            let side = (1.0 - z * z).sqrt();
            places.push([40.0 * side * turn.cos(), 40.0 * side * turn.sin(), 40.0 * z, 1.0]);
        }
        let cube = Cube::around(&places);
        let unsorted = keys_of(&cube, &places);
        let mut along = order(&unsorted);
        along.retain(|&i| unsorted[i as usize] != Key::OUTSIDE);
        let sorted = |i: &u32| (unsorted[*i as usize], places[*i as usize]);
        let (keys, places) = along.iter().map(sorted).unzip();
        (cube, keys, places)
    }

    #[test]
    fn sparse_outskirts_are_scattered_and_dense_block_is_not() {
        let (cube, keys, places) = block_and_shell(64);
        let found = split(&cube, &keys, &places);
        let scattered = |sinks: &[PointMass]| sinks.iter().any(|sink| sink[0].hypot(sink[1]) > 5.0);
        for (sinks, is) in places.chunks(GROUP).zip(&found) {
            assert!(!is || scattered(sinks));
        }
        assert!(found.contains(&true));
        // A block that fills its cube has no scattered groups, nor have bodies at one position.
        let (cube, keys, places) = block_and_shell(0);
        assert!(!split(&cube, &keys, &places).contains(&true));
        let same = vec![places[0]; 20_000];
        let cube = Cube::around(&same);
        assert!(!split(&cube, &keys_of(&cube, &same), &same).contains(&true));
    }

    #[test]
    fn body_count_in_cells_matches_brute_force() {
        let (cube, keys, places) = block_and_shell(50);
        for shift in [16, 18, 20, 21] {
            let (near, far) = (cube.index(&places[100]), cube.index(&places[19_000]));
            let [near, far]: [[u32; 3]; 2] = [
                std::array::from_fn(|k| near[k].min(far[k])),
                std::array::from_fn(|k| near[k].max(far[k])),
            ];
            let inside = places.iter().filter(|place| {
                let index = cube.index(place);
                (0..3).all(|k| (near[k] >> shift..=far[k] >> shift).contains(&(index[k] >> shift)))
            });
            assert_eq!(bodies_among(&keys, near, far, shift), inside.count(), "{shift}");
        }
    }
}
