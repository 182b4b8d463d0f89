//! The command line program. Everything it does is in the library.

fn main() -> std::process::ExitCode {
    // Libraries below a window complain on standard error where this is not set or names no place, as in
    // containers. Without a window `gpu` keeps them silent.
    #[cfg(unix)]
    if !std::env::var_os("XDG_RUNTIME_DIR")
        .is_some_and(|path| std::path::Path::new(&path).is_absolute())
    {
        // SAFETY: no other thread has been started yet.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", std::env::temp_dir()) };
    }
    gravitile::app::cli::main()
}
