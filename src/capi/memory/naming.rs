//! Indices, by which clients name particles, and numbers of sources, by which engines do.

use super::Memory;
use crate::forces::NO_SOURCE;

impl Memory {
    /// The source of index `index`, the one of lowest address.
    pub fn source_of(&self, index: i32) -> Option<u32> {
        // Most clients count their particles as the sources are counted.
        let usual = usize::try_from(index).ok().filter(|_| self.twins.is_empty());
        match usual.filter(|&source| self.has_index(source, index)) {
            Some(source) => Some(source as u32),
            None => self.source.get(&index).copied(),
        }
    }

    /// Which source each index is, [`NO_SOURCE`] where it is none.
    pub fn identify(&self, index: &[i32], sources: &mut Vec<u32>) {
        sources.clear();
        if self.counted {
            // None below 0 is a source: there are fewer than 2^23.
            let count = self.index.len() as u32;
            let number =
                |index: &i32| if (*index as u32) < count { *index as u32 } else { NO_SOURCE };
            return sources.extend(index.iter().map(number));
        }
        sources.extend(index.iter().map(|&index| self.source_of(index).unwrap_or(NO_SOURCE)));
    }

    /// The index of each source, -1 where there is none.
    pub fn name(&self, sources: &[u32], index: &mut Vec<i32>) {
        index.clear();
        if self.counted {
            let count = self.index.len() as u32;
            let number = |source: &u32| if *source < count { *source as i32 } else { -1 };
            return index.extend(sources.iter().map(number));
        }
        index.extend(sources.iter().map(|&source| self.index_of(source)));
    }

    /// All sources of index `index`, where there are several; else none.
    pub fn twins_of(&self, index: i32) -> &[u32] {
        self.twins.get(&index).map_or(&[], Vec::as_slice)
    }

    /// Whether any two sources have one index.
    pub fn has_twins(&self) -> bool {
        !self.twins.is_empty()
    }

    /// The index of source `source`, or -1 where there is none.
    pub fn index_of(&self, source: u32) -> i32 {
        if self.counted && (source as usize) < self.index.len() {
            return source as i32;
        }
        self.index.get(source as usize).copied().unwrap_or(-1)
    }

    /// Whether source `source` has this index. Where indices are numbers of sources, no memory is waited for.
    pub(super) fn has_index(&self, source: usize, index: i32) -> bool {
        match self.counted {
            // None below 0 is one of them: there are fewer than 2^23.
            true => source < self.index.len() && index as u32 as usize == source,
            false => self.index.get(source) == Some(&index),
        }
    }
}
