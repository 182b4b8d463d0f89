//! Conversion between the client's particle indices and the engine's source numbers.

use std::collections::HashMap;

use gravitile::forces::NO_SOURCE;

/// The client's index of each source.
#[derive(Default)]
pub struct Indices {
    index: Vec<i32>,
    /// Whether each index equals the source number.
    is_sequential: bool,
    /// Map from index to source, and to all sources of a duplicate index.
    source: HashMap<i32, u32>,
    duplicates: HashMap<i32, Vec<u32>>,
}

impl Indices {
    /// Replaces all: `index` yields that of each source.
    pub fn set(&mut self, index: impl Iterator<Item = i32>) {
        self.source.clear();
        self.duplicates.clear();
        self.index.clear();
        self.index.extend(index);
        for (source, &index) in (0..).zip(&self.index) {
            let first = *self.source.entry(index).or_insert(source);
            if first != source {
                self.duplicates.entry(index).or_insert_with(|| vec![first]).push(source);
            }
        }
        self.is_sequential = self.index.iter().zip(0..).all(|(index, source)| *index == source);
    }

    /// The source with index `index`; with duplicates the one at the lowest address.
    pub fn source_of(&self, index: i32) -> Option<u32> {
        // For most clients the index equals the source number.
        let same = usize::try_from(index).ok().filter(|_| self.duplicates.is_empty());
        match same.filter(|&source| self.has_index(source, index)) {
            Some(source) => Some(source as u32),
            None => self.source.get(&index).copied(),
        }
    }

    /// The source of each index, [`NO_SOURCE`] for none.
    pub fn identify(&self, index: &[i32], sources: &mut Vec<u32>) {
        sources.clear();
        if self.is_sequential {
            // Negative indices become large: there are fewer than 2^23 sources.
            let count = self.index.len() as u32;
            let number =
                |index: &i32| if (*index as u32) < count { *index as u32 } else { NO_SOURCE };
            return sources.extend(index.iter().map(number));
        }
        sources.extend(index.iter().map(|&index| self.source_of(index).unwrap_or(NO_SOURCE)));
    }

    /// The index of each source, -1 for none.
    pub fn name(&self, sources: &[u32], index: &mut Vec<i32>) {
        index.clear();
        if self.is_sequential {
            let count = self.index.len() as u32;
            let number = |source: &u32| if *source < count { *source as i32 } else { -1 };
            return index.extend(sources.iter().map(number));
        }
        index.extend(sources.iter().map(|&source| self.index_of(source)));
    }

    /// All sources of index `index` if there are several; otherwise empty.
    pub fn duplicates_of(&self, index: i32) -> &[u32] {
        self.duplicates.get(&index).map_or(&[], Vec::as_slice)
    }

    /// Whether any two sources share an index.
    pub fn has_duplicates(&self) -> bool {
        !self.duplicates.is_empty()
    }

    /// The index of source `source`, -1 for none.
    pub fn index_of(&self, source: u32) -> i32 {
        self.index.get(source as usize).copied().unwrap_or(-1)
    }

    /// Whether source `source` has this index. Needs no memory access if indices equal source
    /// numbers.
    pub fn has_index(&self, source: usize, index: i32) -> bool {
        match self.is_sequential {
            // Negative indices become large: there are fewer than 2^23 sources.
            true => source < self.index.len() && index as u32 as usize == source,
            false => self.index.get(source) == Some(&index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lookups agree whether or not indices equal source numbers.
    #[test]
    fn sequential_and_arbitrary_indices_are_found() {
        let mut indices = Indices::default();
        indices.set(0..50);
        let of = |all: &Indices| [-1, 0, 7, 49, 50, i32::MIN].map(|index| all.source_of(index));
        let sequential = [None, Some(0), Some(7), Some(49), None, None];
        assert!(indices.is_sequential);
        assert_eq!(of(&indices), sequential);
        assert_eq!([0, 49, 50, u32::MAX].map(|k| indices.index_of(k)), [0, 49, -1, -1]);
        let has =
            |all: &Indices| [(7, 7), (7, 8), (50, 50), (7, -7)].map(|(k, i)| all.has_index(k, i));
        assert_eq!(has(&indices), [true, false, false, false]);
        // One index differs: the fast path is disabled, other lookups are unchanged.
        indices.set((0..50).map(|k| if k == 20 { 1000 } else { k }));
        assert!(!indices.is_sequential);
        assert_eq!(of(&indices), sequential);
        assert_eq!(has(&indices), [true, false, false, false]);
        assert_eq!((indices.source_of(1000), indices.source_of(20)), (Some(20), None));
        assert_eq!([0, 20, 49, 50].map(|k| indices.index_of(k)), [0, 1000, 49, -1]);
    }
}
