//! Conversion of C pointers to slices, done in this file only.
//!
//! As in every C library, the caller guarantees that a pointer that is not NULL points to as many
//! numbers as the function documents. That contract is stated once, where a pointer is wrapped; all
//! other code is safe Rust.

use std::ffi::c_int;

use bytemuck::AnyBitPattern;

use gravitile::error::{Error, Result};

/// An array of the client, borrowed for reading.
#[derive(Clone, Copy)]
pub struct InputArray<T> {
    name: &'static str,
    pointer: *const T,
}

/// An array of the client, borrowed for writing.
pub struct OutputArray<T> {
    name: &'static str,
    pointer: *mut T,
}

impl<T: AnyBitPattern> InputArray<T> {
    /// Wraps the argument `name`.
    ///
    /// # Safety
    /// `pointer` is NULL or points to as many entries as are taken later, and nobody changes them
    /// during the call.
    pub unsafe fn new(name: &'static str, pointer: *const T) -> Self {
        Self { name, pointer }
    }

    /// The first `n` entries. NULL is an error unless n = 0.
    pub fn take(&self, n: usize) -> Result<&[T]> {
        match (n, self.pointer.is_null()) {
            (0, _) => Ok(&[]),
            (_, true) => Err(null(self.name)),
            // SAFETY: not NULL, and at least `n` entries by the contract of `new`.
            (_, false) => Ok(unsafe { std::slice::from_raw_parts(self.pointer, n) }),
        }
    }

    /// The first `n` entries; empty if the pointer is NULL.
    pub fn take_if_any(&self, n: usize) -> &[T] {
        self.take(n).unwrap_or(&[])
    }

    /// The first entry.
    pub fn one(&self) -> Result<T> {
        self.take(1).map(|entries| entries[0])
    }

    /// The first entry, or `otherwise` if the pointer is NULL.
    pub fn one_or(&self, otherwise: T) -> T {
        self.one().unwrap_or(otherwise)
    }
}

impl<T: AnyBitPattern> OutputArray<T> {
    /// Wraps the argument `name`.
    ///
    /// # Safety
    /// As for [`InputArray::new`]; nobody else reads or writes the entries while a slice of them
    /// exists.
    pub unsafe fn new(name: &'static str, pointer: *mut T) -> Self {
        Self { name, pointer }
    }

    /// The first `n` entries. NULL is an error unless n = 0.
    pub fn take(&mut self, n: usize) -> Result<&mut [T]> {
        match (n, self.pointer.is_null()) {
            (0, _) => Ok(&mut []),
            (_, true) => Err(null(self.name)),
            // SAFETY: not NULL, at least `n` entries by the contract of `new`, and exclusive by
            // `&mut self`.
            (_, false) => Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer, n) }),
        }
    }

    /// `None` if the pointer is NULL: the client does not request this output.
    pub fn if_any(self) -> Option<Self> {
        (!self.pointer.is_null()).then_some(self)
    }

    /// Fills the first `n` entries with `value`, unless the pointer is NULL.
    pub fn fill(&mut self, n: usize, value: T) {
        if let Ok(entries) = self.take(n) {
            entries.fill(value);
        }
    }
}

/// A count passed by the client: at least 0.
pub fn count(name: &str, n: c_int) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::value(name, n, "at least 0"))
}

fn null(name: &str) -> Error {
    Error::value(format!("the pointer {name}"), "NULL", "an array")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_rejected_with_its_name() {
        // SAFETY: NULL is allowed.
        let nothing = unsafe { InputArray::<f64>::new("xi", std::ptr::null()) };
        assert!(nothing.take(0).unwrap().is_empty() && nothing.take_if_any(3).is_empty());
        assert_eq!(
            nothing.take(2).unwrap_err().to_string(),
            "the pointer xi is NULL, but must be an array"
        );
        assert_eq!(nothing.one_or(7.0), 7.0);
        assert!(count("nj", -1).unwrap_err().to_string().contains("nj is -1"));
    }

    #[test]
    fn arrays_are_read_and_written() {
        let mut numbers = [1, 2, 3];
        // SAFETY: three entries, not accessed elsewhere during the test.
        let input = unsafe { InputArray::new("index", numbers.as_ptr()) };
        assert_eq!((input.take(3).unwrap(), input.one().unwrap()), (&[1, 2, 3][..], 1));
        // SAFETY: as above.
        let mut output = unsafe { OutputArray::new("nnb", numbers.as_mut_ptr()) };
        output.fill(2, -1);
        assert_eq!(output.take(3).unwrap(), [-1, -1, 3]);
    }
}
