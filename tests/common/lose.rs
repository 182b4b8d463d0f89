//! A Vulkan layer by which tests lose devices (`lose.c`).

use std::path::{Path, PathBuf};
use std::process::Command;

use super::skip;

/// What a program needs in its environment beside `LOSE_DEVICE`, the file that says which devices are lost, once it is there.
/// It works in the folder that [`layer`] was given.
pub const ENVIRONMENT: [(&str, &str); 2] =
    [("VK_LAYER_PATH", "."), ("VK_INSTANCE_LAYERS", "VK_LAYER_GRAVITILE_lose")];

/// Puts the layer into `folder`; whether it is there. Without a C compiler it is said what is left out.
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
