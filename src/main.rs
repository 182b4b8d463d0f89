//! The command line program. Everything it does is in the library.

fn main() -> std::process::ExitCode {
    // Some graphics drivers complain on standard error where this is not set, as in containers.
    #[cfg(unix)]
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: no other thread has been started yet.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", std::env::temp_dir()) };
    }
    gravitile::app::cli::main()
}
