//! The command line program. All its code is in `lib.rs`.

fn main() -> std::process::ExitCode {
    // If this is not set or is not an absolute path, as in containers, libraries behind a window
    // complain on standard error. Without a window, `gpu` keeps them silent.
    #[cfg(unix)]
    if !std::env::var_os("XDG_RUNTIME_DIR")
        .is_some_and(|path| std::path::Path::new(&path).is_absolute())
    {
        // SAFETY: no other thread has been started yet.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", std::env::temp_dir()) };
    }
    gravitile_app::cli::main()
}
