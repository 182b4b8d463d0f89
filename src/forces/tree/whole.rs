//! All stages of building a tree.

use std::sync::Arc;

use rayon::prelude::*;

use super::{CellMoments, Cells, Cube, Key, LEAF, PointMass, keys, moments, order};

/// A tree over bodies, with the bodies in its order.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The root's cube.
    pub cube: Cube,
    /// The bodies' indices along the curve, those outside the cube last.
    pub order: Arc<Vec<u32>>,
    /// Number of bodies in the cube.
    pub inside: usize,
    /// The sorted keys of the bodies inside.
    pub keys: Vec<Key>,
    /// The bodies in that order. Bodies without a finite position are in the middle of the cube,
    /// with mass 0.
    pub sorted: Arc<Vec<PointMass>>,
    /// The cells over the bodies inside the cube.
    pub cells: Cells,
    /// Their moments.
    pub moments: Vec<CellMoments>,
}

impl Tree {
    /// The tree over bodies around the origin.
    pub fn new(places: Vec<PointMass>) -> Self {
        let cube = Cube::around(&places);
        let keys = keys(&cube, &places);
        let order = Arc::new(order(&keys));
        let inside = order.partition_point(|&i| keys[i as usize] != Key::OUTSIDE);
        let along: Vec<Key> = order[..inside].par_iter().map(|&i| keys[i as usize]).collect();
        drop(keys);
        let sorted = Arc::new(sorted(&order, &places));
        drop(places);
        let cells = Cells::new(&along, LEAF);
        let moments = moments(&cells, &sorted);
        Self { cube, order, inside, keys: along, sorted, cells, moments }
    }

    /// Updates the moments of the same cells after the bodies have moved; cube and keys stay.
    pub fn refit(&mut self, places: &[PointMass]) {
        self.sorted = Arc::new(sorted(&self.order, places));
        self.moments = moments(&self.cells, &self.sorted);
    }
}

/// The bodies in the given order.
fn sorted(order: &[u32], places: &[PointMass]) -> Vec<PointMass> {
    order.par_iter().map(|&i| Cube::admitted(&places[i as usize])).collect()
}
