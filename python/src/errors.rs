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

/// Options of the program that errors name, and the arguments that do the same here.
const OPTIONS: [(&str, &str); 4] = [
    ("'--adapter 0,0'", "adapter='0,0'"),
    ("--engine cpu", "engine='cpu'"),
    ("--renumber", "renumber=True"),
    ("--snapshot N, t=TIME or last", "snapshot=N, 't=TIME' or 'last'"),
];

/// Options whose arguments have the same name, but for dashes.
const SAME: [&str; 11] = [
    "adapter",
    "devices",
    "dt",
    "dt-max",
    "engine",
    "eta",
    "eta6",
    "extent",
    "integrator",
    "precision",
    "snapshot",
];

/// The text of an error with arguments of Python where it names options of the program.
fn in_python(mut text: String) -> String {
    for (option, argument) in OPTIONS {
        text = text.replace(option, argument);
    }
    let mut done = String::new();
    while let Some((before, after)) = text.split_once("--") {
        let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let (name, rest) = after.split_at(end.unwrap_or(after.len()));
        let is_option = SAME.contains(&name) && !before.ends_with(|c: char| c.is_alphanumeric());
        done += before;
        match is_option {
            true => done += &name.replace('-', "_"),
            false => done = done + "--" + name,
        }
        text = rest.to_owned();
    }
    done + &text
}

/// The exception for an error.
pub fn raised(error: Error) -> PyErr {
    let text = in_python(error.to_string());
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
