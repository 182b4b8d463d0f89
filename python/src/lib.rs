//! The part of the Python package `gravitile` that is compiled: calls on arrays of the right type,
//! made by the modules in `python/gravitile`, which check arguments and give them names.

mod arrays;
mod attend;
mod devices;
mod errors;
mod fields;
mod files;
mod forces;
mod how;
mod own;
mod pictures;
mod scenes;
mod simulation;
mod tune;
mod viewer;

/// The compiled part of gravitile.
#[pyo3::pymodule]
mod _gravitile {
    #[pymodule_export]
    use crate::arrays::first_outside;
    #[pymodule_export]
    use crate::attend::end;
    #[pymodule_export]
    use crate::devices::adapters;
    #[pymodule_export]
    use crate::files::{read, unit_si, write};
    #[pymodule_export]
    use crate::forces::{accelerations, derivatives};
    #[pymodule_export]
    use crate::pictures::{picture, png};
    #[pymodule_export]
    use crate::scenes::{scene, scene_names};
    #[pymodule_export]
    use crate::simulation::Engine;
    #[pymodule_export]
    use crate::tune::tune;
    #[pymodule_export]
    use crate::viewer::Viewer;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
