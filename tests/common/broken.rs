//! Shaders with one piece of one text replaced, for tests that see them refused. Texts of kernels belong to a process: only
//! test programs whose tests all wait for one another use this.

use std::sync::Arc;

use gravitile::gpu::{Gpu, template};

/// A device that has compiled nothing yet, where `from` in `file` reads `to`. The usual texts come back with
/// [`template::reload`] only.
pub fn device_with(file: &str, from: &str, to: &str) -> Arc<Gpu> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in template::FILES {
        let text = if *name == file {
            assert!(text.contains(from), "{file} has no '{from}'");
            text.replace(from, to)
        } else {
            (*text).to_owned()
        };
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    template::reload(folder.path()).unwrap();
    Gpu::open_blocking(&super::adapter_request()).unwrap()
}
