//! Arrays of numpy from and to the vectors of the library. Callers pass float64 of the right number
//! of dimensions.

use gravitile::error::Error;
use gravitile::glam::DVec3;
use gravitile::memory;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::errors::InputError;

/// Positions or other vectors, shape (n, 3).
pub type Vectors<'py> = PyReadonlyArray2<'py, f64>;

/// One number per body.
pub type Reals<'py> = PyReadonlyArray1<'py, f64>;

/// Refuses work on `n` bodies that takes `bytes_each` at least if so much memory is not free: an
/// allocation that fails would end the interpreter.
///
/// # Errors
/// `MemoryError` with the bytes of each and those that are free.
pub fn check_room(n: usize, bytes_each: u64) -> PyResult<()> {
    let refused = |error: Error| PyMemoryError::new_err(error.to_string());
    memory::check_bodies(n, bytes_each).map_err(refused)
}

/// The vectors of an array of shape (n, 3).
pub fn vectors(array: &Vectors<'_>) -> PyResult<Vec<DVec3>> {
    if let &[n, columns] = array.shape()
        && columns != 3
    {
        let text = format!("an array has the shape ({n}, {columns}), but must have (n, 3)");
        return Err(InputError::new_err(text));
    }
    // `as_slice` of the view, unlike that of the array, is for rows one after the other only.
    let rows = array.as_array();
    Ok(match rows.as_slice() {
        Some(contiguous) => bytemuck::cast_slice(contiguous).to_vec(),
        None => rows.rows().into_iter().map(|row| DVec3::new(row[0], row[1], row[2])).collect(),
    })
}

/// The index, in C order, of the first entry that is not finite or below `least`.
#[pyfunction]
pub fn first_outside(array: PyReadonlyArrayDyn<'_, f64>, least: f64) -> Option<usize> {
    let is_outside = |x: &f64| !(x.is_finite() && *x >= least);
    let all = array.as_array();
    match all.as_slice() {
        Some(contiguous) => contiguous.iter().position(is_outside),
        None => all.iter().position(is_outside),
    }
}

/// The numbers of an array of one dimension.
pub fn numbers<T: Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> Vec<T> {
    array.as_array().iter().copied().collect()
}

/// An array of shape (n, 3) that takes the memory of `vectors`.
pub fn from_vectors(py: Python<'_>, vectors: Vec<DVec3>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let n = vectors.len();
    let rows: Vec<[f64; 3]> = bytemuck::cast_vec(vectors);
    PyArray1::from_vec(py, rows.into_flattened()).reshape([n, 3])
}
