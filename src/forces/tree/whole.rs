//! All stages of a tree, one after the other.

use super::{Cells, Cube, FARTHEST, Key, LEAF, Moment, Place, keys, moments, order};

/// A tree over bodies, and the bodies in its order.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The root's cube.
    pub cube: Cube,
    /// The bodies' numbers along the curve, those outside the cube last.
    pub order: Vec<u32>,
    /// Number of bodies in the cube.
    pub inside: usize,
    /// The keys of those, in order.
    pub keys: Vec<Key>,
    /// The bodies in that order. Those that are nowhere stand without mass in the middle of the cube.
    pub sorted: Vec<Place>,
    /// The cells over the bodies inside.
    pub cells: Cells,
    /// Their moments.
    pub moments: Vec<Moment>,
}

impl Tree {
    /// The tree over bodies around `centre`.
    pub fn new(centre: [f32; 3], places: &[Place]) -> Self {
        let cube = Cube::around(centre, places);
        let keys = keys(&cube, places);
        let order = order(&keys);
        let inside = order.partition_point(|&i| keys[i as usize] != Key::OUTSIDE);
        let along: Vec<Key> = order[..inside].iter().map(|&i| keys[i as usize]).collect();
        let sorted = sorted(&order, centre, places);
        let cells = Cells::new(&along, LEAF);
        let moments = moments(&cells, &sorted);
        Self { cube, order, inside, keys: along, sorted, cells, moments }
    }

    /// The same cells over the same bodies, which have moved: cube and keys stay what they were.
    pub fn refit(&mut self, places: &[Place]) {
        self.sorted = sorted(&self.order, self.cube.centre, places);
        self.moments = moments(&self.cells, &self.sorted);
    }
}

/// The bodies in that order.
fn sorted(order: &[u32], [x, y, z]: [f32; 3], places: &[Place]) -> Vec<Place> {
    let place = |&i: &u32| {
        let place = places[i as usize];
        let is_somewhere = place[..3].iter().all(|x| x.abs() <= FARTHEST);
        if is_somewhere { place } else { [x, y, z, 0.0] }
    };
    order.iter().map(place).collect()
}
