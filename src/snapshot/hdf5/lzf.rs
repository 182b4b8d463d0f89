//! The filter LZF (number 32000 in the HDF5 Group's list), which h5py writes with
//! `compression="lzf"`.
//!
//! A stream is a sequence of runs. A control byte below 32 is followed by that number of bytes plus
//! 1, to be copied. In any other, the upper 3 bits are a length minus 2 (7: the next byte is added)
//! and the lower 5 the upper bits of a distance minus 1, whose lower byte follows: that length is
//! copied from that distance back in the output. (LibLZF, Marc Lehmann.)

/// The filter's number.
pub(super) const ID: u16 = 32000;

/// The bytes of one chunk, at most `most` of them.
///
/// # Errors
/// A stream that is cut off, repeats bytes from before its beginning, or is longer than `most`.
pub(super) fn decompress(data: &[u8], most: usize) -> Result<Vec<u8>, &'static str> {
    const CUT: &str = "the LZF stream is cut off";
    let (mut out, mut rest) = (Vec::new(), data);
    while let Some((control, after)) = rest.split_first() {
        rest = after;
        if *control < 32 {
            let (copied, after) = rest.split_at_checked(usize::from(*control) + 1).ok_or(CUT)?;
            out.extend_from_slice(copied);
            rest = after;
        } else {
            let mut next = || -> Result<usize, &'static str> {
                let (byte, after) = rest.split_first().ok_or(CUT)?;
                rest = after;
                Ok(usize::from(*byte))
            };
            let mut count = usize::from(control >> 5) + 2;
            if count == 9 {
                count += next()?;
            }
            let distance = (usize::from(control & 31) << 8 | next()?) + 1;
            let start = out.len().checked_sub(distance);
            let start = start.ok_or("the LZF stream repeats bytes from before its beginning")?;
            // The repeated bytes may overlap those that are appended.
            (start..start + count).for_each(|k| out.push(out[k]));
        }
        if out.len() > most {
            return Err("the LZF stream is longer than a chunk may be");
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_repetitions_are_expanded() {
        // "abc", 6 bytes from 3 back, then 20 from 1 back.
        let stream = [2, b'a', b'b', b'c', 4 << 5, 2, 7 << 5, 11, 0];
        let text = decompress(&stream, 100).unwrap();
        assert_eq!(text, [b"abcabcabc".as_slice(), &[b'c'; 20]].concat());
        assert_eq!(decompress(&[], 100), Ok(Vec::new()));
    }

    #[test]
    fn damaged_streams_are_refused() {
        for stream in [&[2, b'a'][..], &[1 << 5], &[0, b'a', 7 << 5], &[0, b'a', 1 << 5, 1]] {
            assert!(decompress(stream, 100).is_err(), "{stream:?}");
        }
        assert!(decompress(&[0, b'a', 7 << 5, 255, 0], 100).is_err());
    }
}
