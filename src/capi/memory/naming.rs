//! Conversion between the client's particle indices and the engine's source numbers.

use super::Memory;
use gravitile::forces::NO_SOURCE;

impl Memory {
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
        if self.is_sequential && (source as usize) < self.index.len() {
            return source as i32;
        }
        self.index.get(source as usize).copied().unwrap_or(-1)
    }

    /// Whether source `source` has this index. Needs no memory access if indices equal source
    /// numbers.
    pub(super) fn has_index(&self, source: usize, index: i32) -> bool {
        match self.is_sequential {
            // Negative indices become large: there are fewer than 2^23 sources.
            true => source < self.index.len() && index as u32 as usize == source,
            false => self.index.get(source) == Some(&index),
        }
    }
}
