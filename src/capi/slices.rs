//! Pointers from C, looked at in this file only.
//!
//! A client promises what every C library is promised: a pointer that is not NULL points to as many
//! numbers as the call says. That promise is made once, where a pointer is wrapped; all else is safe Rust.

use std::ffi::c_int;

use crate::error::{Error, Result};

/// An array that the client lends for reading.
#[derive(Clone, Copy)]
pub struct Input<T> {
    name: &'static str,
    pointer: *const T,
}

/// An array that the client lends for writing.
pub struct Output<T> {
    name: &'static str,
    pointer: *mut T,
}

/// Numbers of plain old data: any bits are a value, so that memory that nobody has set is no harm.
pub trait Plain: Copy {}
impl Plain for c_int {}
impl Plain for f64 {}
impl Plain for f32 {}
impl Plain for [f64; 3] {}

impl<T: Plain> Input<T> {
    /// Wraps the argument `name`.
    ///
    /// # Safety
    /// `pointer` is NULL, or points to as many entries as are taken later, which nobody changes while
    /// the call lasts.
    pub unsafe fn new(name: &'static str, pointer: *const T) -> Self {
        Self { name, pointer }
    }

    /// Its first `n` entries. NULL is refused, but where n = 0.
    pub fn take(&self, n: usize) -> Result<&[T]> {
        match (n, self.pointer.is_null()) {
            (0, _) => Ok(&[]),
            (_, true) => Err(null(self.name)),
            // SAFETY: not NULL, and as long as promised to `new`.
            (_, false) => Ok(unsafe { std::slice::from_raw_parts(self.pointer, n) }),
        }
    }

    /// The first `n` entries, or nothing where the pointer is NULL.
    pub fn take_if_any(&self, n: usize) -> &[T] {
        self.take(n).unwrap_or(&[])
    }

    /// Its first entry.
    pub fn one(&self) -> Result<T> {
        self.take(1).map(|entries| entries[0])
    }

    /// Its first entry, or `otherwise` where it is NULL.
    pub fn one_or(&self, otherwise: T) -> T {
        self.one().unwrap_or(otherwise)
    }
}

impl<T: Plain> Output<T> {
    /// Wraps the argument `name`.
    ///
    /// # Safety
    /// As for [`Input::new`]; nobody else reads or writes the entries while a slice of them lives.
    pub unsafe fn new(name: &'static str, pointer: *mut T) -> Self {
        Self { name, pointer }
    }

    /// Its first `n` entries. NULL is refused, but where n = 0.
    pub fn take(&mut self, n: usize) -> Result<&mut [T]> {
        match (n, self.pointer.is_null()) {
            (0, _) => Ok(&mut []),
            (_, true) => Err(null(self.name)),
            // SAFETY: not NULL, as long as promised to `new`, and borrowed from `self`.
            (_, false) => Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer, n) }),
        }
    }

    /// Whether the client has no use for it.
    pub fn is_null(&self) -> bool {
        self.pointer.is_null()
    }

    /// Its first `n` entries, or nothing where the pointer is NULL.
    pub fn take_if_any(&mut self, n: usize) -> &mut [T] {
        self.take(n).unwrap_or(&mut [])
    }

    /// Writes `value` into its first `n` entries, unless it is NULL.
    pub fn fill(&mut self, n: usize, value: T) {
        if let Ok(entries) = self.take(n) {
            entries.fill(value);
        }
    }
}

/// A number that a client gives: 0 or more.
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
    fn null_is_refused_and_said() {
        // SAFETY: NULL is allowed.
        let nothing = unsafe { Input::<f64>::new("xi", std::ptr::null()) };
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
        // SAFETY: three entries, and nobody else looks.
        let input = unsafe { Input::new("index", numbers.as_ptr()) };
        assert_eq!((input.take(3).unwrap(), input.one().unwrap()), (&[1, 2, 3][..], 1));
        // SAFETY: as above.
        let mut output = unsafe { Output::new("nnb", numbers.as_mut_ptr()) };
        output.fill(2, -1);
        assert_eq!(output.take(3).unwrap(), [-1, -1, 3]);
    }
}
