//! A Vulkan layer (`lose.c`) that simulates device loss.

use std::path::Path;
use std::process::Command;

use super::skip;

/// The environment that a program needs in addition to `LOSE_DEVICE`, the path of a file whose
/// creation triggers the loss and whose contents select the devices. The program must run in the
/// folder given to [`layer`].
pub const ENVIRONMENT: [(&str, &str); 2] =
    [("VK_LAYER_PATH", "."), ("VK_INSTANCE_LAYERS", "VK_LAYER_GRAVITILE_lose")];

/// Builds the layer in `folder`. Without a C compiler, reports `what` as skipped and returns false.
pub fn layer(folder: &Path, what: &str) -> bool {
    let source = folder.join("lose.c");
    std::fs::write(&source, include_str!("lose.c")).unwrap();
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .args([folder.join("liblose.so"), source])
        .status();
    let Ok(made) = made else {
        skip::skipped(what, "there is no C compiler");
        return false;
    };
    assert!(made.success());
    std::fs::write(folder.join("lose.json"), include_str!("lose.json")).unwrap();
    true
}
