//! Errors of the library as exceptions of the package.

use std::io::ErrorKind;

use gravitile::error::Error;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyPermissionError,
};

pyo3::import_exception!(gravitile._errors, GravitileError);
pyo3::import_exception!(gravitile._errors, InputError);
pyo3::import_exception!(gravitile._errors, DeviceError);

/// The exception for an error.
pub fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Value { .. } | Error::Unknown { .. } | Error::File { .. } | Error::Body { .. } => {
            InputError::new_err(text)
        }
        Error::Io { source, .. } => match source.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
            ErrorKind::AlreadyExists => PyFileExistsError::new_err(text),
            _ => PyOSError::new_err(text),
        },
        Error::Adapter { .. }
        | Error::NoAdapter { .. }
        | Error::Device(_)
        | Error::Member(_)
        | Error::Shader { .. } => DeviceError::new_err(text),
        Error::Stopped => PyKeyboardInterrupt::new_err(text),
        _ => GravitileError::new_err(text),
    }
}
