//! Shaders with one passage replaced, for tests that check that they are refused. Kernel sources
//! are global to the process: use this only in test programs whose tests do not run concurrently.

use std::sync::Arc;

use gravitile::gpu::{Gpu, template};

/// A device with an empty kernel cache, where `from` in `file` is replaced by `to`. Only
/// [`template::reload`] restores the default sources.
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
