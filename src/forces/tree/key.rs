//! Keys along a Hilbert curve: 63 bits in two words, since devices lack 64-bit integers.

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::{Cube, LEVELS, PointMass};

/// Skilling's (2004) Hilbert curve as an automaton: for each state and octant (4 x + 2 y + z, one
/// bit each), 8 times the next state plus the octal digit of the key. It starts in state 0.
#[rustfmt::skip]
pub const HILBERT: [[u8; 8]; 24] = [
    [8, 17, 27, 2, 39, 46, 52, 5],
    [56, 71, 73, 86, 91, 20, 10, 13],
    [48, 1, 103, 110, 115, 18, 12, 21],
    [126, 129, 29, 26, 79, 80, 140, 3],
    [148, 43, 37, 34, 127, 128, 78, 81],
    [156, 45, 35, 42, 31, 6, 160, 105],
    [72, 87, 139, 4, 57, 70, 50, 53],
    [0, 171, 111, 76, 49, 58, 102, 61],
    [180, 143, 83, 184, 69, 54, 66, 97],
    [16, 123, 9, 74, 47, 60, 38, 77],
    [132, 95, 85, 14, 67, 144, 82, 33],
    [142, 55, 185, 96, 93, 116, 90, 11],
    [188, 107, 175, 176, 101, 98, 62, 65],
    [164, 109, 119, 22, 99, 106, 152, 41],
    [174, 177, 63, 64, 117, 114, 92, 19],
    [30, 125, 161, 122, 7, 172, 104, 75],
    [130, 25, 133, 166, 179, 136, 84, 191],
    [94, 15, 141, 28, 145, 32, 138, 51],
    [146, 155, 149, 36, 137, 24, 190, 167],
    [154, 157, 147, 44, 169, 182, 120, 135],
    [162, 165, 121, 134, 187, 108, 168, 183],
    [118, 173, 23, 124, 153, 170, 40, 59],
    [178, 113, 131, 88, 181, 158, 68, 151],
    [186, 163, 89, 112, 189, 100, 150, 159],
];

/// [`HILBERT`] for three levels at once, by the state and three bits of each index: 512 times the
/// next state plus three octal digits.
static THREE_LEVELS: [[u16; 512]; 24] = {
    let mut all = [[0; 512]; 24];
    let mut state = 0;
    while state < 24 {
        let mut index = 0;
        while index < 512 {
            let (mut now, mut digits, mut bit) = (state, 0, 3);
            while bit > 0 {
                bit -= 1;
                let octant = (index >> (6 + bit) & 1) << 2 | (index >> (3 + bit) & 1) << 1;
                let entry = HILBERT[now][octant | index >> bit & 1];
                digits = digits << 3 | (entry & 7) as u16;
                now = (entry >> 3) as usize;
            }
            all[state][index] = (now as u16) << 9 | digits;
            index += 1;
        }
        state += 1;
    }
    all
};

/// A position on the curve: 21 octal digits.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
pub struct Key {
    /// The upper 32 bits.
    pub hi: u32,
    /// The lower 31.
    pub lo: u32,
}

impl Key {
    /// The key of bodies outside the cube, after all others.
    pub const OUTSIDE: Self = Self { hi: u32::MAX, lo: u32::MAX };

    /// How many leading octal digits two keys share, 0 to 21.
    pub fn shared(self, other: Self) -> u32 {
        if self.hi != other.hi {
            (self.hi ^ other.hi).leading_zeros() / 3
        } else if self.lo != other.lo {
            // 31 bits in 32: one leading zero belongs to no digit.
            (31 + (self.lo ^ other.lo).leading_zeros()) / 3
        } else {
            LEVELS
        }
    }
}

/// The key of a body, from the octants that contain it, root first.
pub fn key(cube: &Cube, place: &PointMass) -> Key {
    if !cube.holds(place) {
        return Key::OUTSIDE;
    }
    at(cube.index(place))
}

/// The key for interval numbers along the axes, each below 2^21.
pub(super) fn at([x, y, z]: [u32; 3]) -> Key {
    let (mut state, mut key) = (0, 0u64);
    for bit in (0..LEVELS).step_by(3).rev() {
        let index = (x >> bit & 7) << 6 | (y >> bit & 7) << 3 | (z >> bit & 7);
        let entry = THREE_LEVELS[state][index as usize];
        key = key << 9 | u64::from(entry & 511);
        state = usize::from(entry >> 9);
    }
    Key { hi: (key >> 31) as u32, lo: key as u32 & (u32::MAX >> 1) }
}

/// The keys of all bodies.
pub fn keys(cube: &Cube, places: &[PointMass]) -> Vec<Key> {
    places.par_iter().map(|place| key(cube, place)).collect()
}

/// The bodies' indices along the curve; bodies with equal keys keep their order.
///
/// Sorts one u64 per body, the upper bits of its key followed by its index, then reorders ties by
/// the whole key. With 100,000 bodies on one core this takes 1.2 ms, pairs of key and index 2.6 ms.
pub fn order(keys: &[Key]) -> Vec<u32> {
    let index_bits = usize::BITS - keys.len().leading_zeros();
    let mask = (1u64 << index_bits) - 1;
    let packed = |(i, key): (usize, &Key)| {
        (u64::from(key.hi) << 32 | u64::from(key.lo) << 1) & !mask | i as u64
    };
    let mut packed: Vec<u64> = keys.par_iter().enumerate().map(packed).collect();
    sort(&mut packed, rayon::current_num_threads());
    let tied = packed.par_chunk_by_mut(|a, b| a & !mask == b & !mask);
    tied.filter(|tied| tied.len() > 1).for_each(|tied| {
        tied.sort_unstable_by_key(|one| (keys[(one & mask) as usize], *one));
    });
    packed.par_iter().map(|one| (one & mask) as u32).collect()
}

/// Sorts in about as many parts as there are `threads`; a part takes half the time of rayon's sort.
fn sort(numbers: &mut [u64], threads: usize) {
    const FEW: usize = 1 << 12;
    if threads < 2 || numbers.len() < FEW {
        return numbers.sort_unstable();
    }
    let middle = numbers.len() / 2;
    numbers.select_nth_unstable(middle);
    let (low, high) = numbers.split_at_mut(middle);
    rayon::join(|| sort(low, threads.div_ceil(2)), || sort(high, threads.div_ceil(2)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key for interval numbers, in a cube whose intervals have width one.
    fn of(x: u32, y: u32, z: u32) -> u64 {
        let half = (1 << 20) as f32;
        let cube = Cube { half };
        let [x, y, z] = [x, y, z].map(|x| x as f32 + 0.5 - half);
        let key = key(&cube, &[x, y, z, 1.0]);
        u64::from(key.hi) << 31 | u64::from(key.lo)
    }

    /// Compares with Skilling's own loop over bits.
    #[test]
    fn keys_are_those_of_skillings_transform() {
        let last = (1 << 21) - 1;
        assert_eq!(of(0, 0, 0), 0);
        assert_eq!(of(1, 2, 3), 48);
        assert_eq!(of(last, last, last), 6_588_122_883_467_697_005);
        assert_eq!(of(123_456, 654_321, 1_999_999), 2_119_209_001_331_683_326);
        assert_eq!(of(1_048_576, 5, 77), 8_688_087_052_573_289_252);
    }

    #[test]
    fn consecutive_keys_are_adjacent_cells() {
        let mut cells: Vec<_> = (0..512u32)
            .map(|i| [i >> 6, i >> 3 & 7, i & 7])
            .map(|p| (of(p[0] << 18, p[1] << 18, p[2] << 18) >> 54, p))
            .collect();
        cells.sort_unstable();
        for pair in cells.windows(2) {
            assert_eq!(pair[1].0, pair[0].0 + 1);
            let steps: u32 = (0..3).map(|axis| pair[0].1[axis].abs_diff(pair[1].1[axis])).sum();
            assert_eq!(steps, 1, "{pair:?}");
        }
    }

    #[test]
    fn shared_digits_are_counted_across_the_words() {
        let key = |number: u64| Key { hi: (number >> 31) as u32, lo: number as u32 & 0x7fff_ffff };
        let base = 0o123_456_701_234_567_012_345u64;
        for level in 0..21 {
            let other = base ^ (5 << (3 * (20 - level)));
            assert_eq!(key(base).shared(key(other)), level, "{level}");
        }
        assert_eq!(key(base).shared(key(base)), 21);
    }

    #[test]
    fn equal_keys_keep_the_order_of_their_bodies() {
        let key = |hi| Key { hi, lo: 3 };
        assert_eq!(order(&[key(2), key(1), Key::OUTSIDE, key(1), key(0)]), [4, 1, 3, 0, 2]);
    }

    /// Keys that differ in the last digits only, the last key of the cube, and bodies outside it.
    #[test]
    fn order_is_that_of_whole_keys() {
        let lo = |i: u32| (i.wrapping_mul(2_654_435_761) >> 20) | 0x7fff_f000;
        let one = |i: u32| match i % 5 {
            0 => Key { hi: u32::MAX, lo: lo(i) },
            1 => Key { hi: i % 3, lo: lo(i) },
            2 => Key { hi: i.wrapping_mul(2_654_435_761), lo: i },
            3 => Key { hi: u32::MAX, lo: u32::MAX >> 1 },
            _ => Key::OUTSIDE,
        };
        let keys: Vec<Key> = (0..50_000).map(one).collect();
        let mut right: Vec<u32> = (0..50_000).collect();
        right.sort_by_key(|&i| keys[i as usize]);
        assert!(order(&keys) == right);
        assert!(order(&[]).is_empty());
    }
}
