//! The command line program. Everything it does is in the library.

fn main() -> std::process::ExitCode {
    gravitile::app::cli::main()
}
