//! A Vulkan layer (`lose.c`) that simulates device loss.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::skip;

/// The environment that a program needs in addition to `LOSE_DEVICE`, the path of a file whose
/// creation triggers the loss and whose contents select the devices. The program must run in the
/// folder given to [`layer`].
pub const ENVIRONMENT: [(&str, &str); 2] =
    [("VK_LAYER_PATH", "."), ("VK_INSTANCE_LAYERS", "VK_LAYER_GRAVITILE_lose")];

/// Builds the layer in `folder`. Without a C compiler, reports `what` as skipped and returns false.
pub fn layer(folder: &Path, what: &str) -> bool {
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common"));
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .args([folder.join("liblose.so"), source.join("lose.c")])
        .status();
    let Ok(made) = made else {
        skip::skipped(what, "there is no C compiler");
        return false;
    };
    assert!(made.success());
    std::fs::copy(source.join("lose.json"), folder.join("lose.json")).unwrap();
    true
}
