//! Names the interface in the shared library, so that a later library with the same interface
//! replaces it without relinking.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgravitile.so.0");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
