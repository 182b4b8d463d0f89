//! The command line: one file per subcommand.
//!
//! Exit codes: 0 success, 1 a check or a device failed, 2 an error the user can fix, 130
//! interrupted.

mod analyse;
mod bench;
mod blocks;
mod check;
mod child;
mod convert;
#[cfg(feature = "documents")]
mod documents;
mod first_commands;
mod forces;
mod formats;
mod info;
mod inspect;
mod interrupt;
#[cfg(any(test, not(feature = "window")))]
mod no_window;
mod options;
mod print;
mod refusal;
mod render;
mod resume;
mod run;
mod scenes;
mod shader;
mod together;
mod tune;
#[cfg(feature = "window")]
mod view;
#[cfg(all(unix, feature = "mpi"))]
mod watchdog;

#[cfg(not(feature = "window"))]
use no_window as view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::ranks;
use gravitile::error::Error;

/// N-body gravity on any GPU, or without one: watch, simulate, film, check, convert.
#[derive(Debug, Parser)]
#[command(name = "gravitile", version, max_term_width = 100, after_help = examples())]
struct Cli {
    #[command(subcommand)]
    command: Option<CliCommand>,
    /// Print more on standard error: -v notes, -vv every detail of the graphics library
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

const WINDOW_EXAMPLES: &str = "  \
  gravitile                                        a galaxy collision in a window
  gravitile view galaxy.bin                        a snapshot of your own in a window
";

fn examples() -> String {
    let of_window = if cfg!(feature = "window") { WINDOW_EXAMPLES } else { "" };
    format!("Examples:\n{of_window}{EXAMPLES}")
}

const EXAMPLES: &str = "  \
  gravitile info                                   the adapters here, and which engine will be used
  gravitile render galaxy-collision --out film.webp
  gravitile run plummer -n 10000 --until 10 --every 1 --out run/
  gravitile resume run/
  gravitile convert snapshot.gadget bodies.csv
  gravitile analyse run/ --out radii.csv

INPUT is the name of a built-in scene (see 'gravitile scenes'), a scene file (.toml), or a snapshot
in any known format (see 'gravitile formats').";

#[derive(Debug, Subcommand)]
// Only one exists in each run of the program.
#[allow(clippy::large_enum_variant)]
enum CliCommand {
    Info(info::Args),
    Scenes(scenes::Args),
    Formats(formats::Args),
    Check(check::Args),
    Inspect(inspect::Args),
    Tune(tune::Args),
    Bench(bench::Args),
    Forces(forces::Args),
    Run(run::Args),
    Resume(resume::Args),
    Render(render::Args),
    Convert(convert::Args),
    Analyse(analyse::Args),
    Shader(shader::Args),
    View(view::Args),
    #[cfg(feature = "documents")]
    #[command(hide = true)]
    Documents(documents::Args),
}

/// How a command ended when nothing went wrong.
pub(super) enum Ended {
    /// Everything is done.
    Done,
    /// A check did not pass.
    Failed,
    /// Stopped by Ctrl-C; the results so far are saved.
    Interrupted,
}

/// Parses and executes the command line; returns the exit code.
pub fn main() -> ExitCode {
    if let Err(error) = ranks::begin() {
        // Every rank has this error. Rank 0 prints it at once; the others exit later, since a
        // launcher may kill all ranks as soon as one exits.
        if ranks::is_first_started() {
            print::note(&error.to_string());
        } else {
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        return ExitCode::from(2);
    }
    #[cfg(feature = "mpi")]
    if let Some(words) = ranks::unconnected_warning().filter(|_| ranks::is_first_started()) {
        print::note(&words);
    }
    if !ranks::is_root() {
        print::silence();
    }
    let code = work();
    #[cfg(feature = "mpi")]
    {
        if code != ExitCode::SUCCESS {
            together::wait_for_launcher();
        }
        gravitile::exchange::mpi::end();
    }
    code
}

/// Prints what went wrong and returns this exit code. Ends all other ranks, too: they would wait
/// for this one forever.
fn fail(error: &anyhow::Error, code: u8) -> ExitCode {
    let text = format!("{error:#}");
    let kind = error.downcast_ref().map_or("outside", Error::kind);
    #[cfg(feature = "mpi")]
    if let Some(ranks) = ranks::ranks().filter(|ranks| ranks.size() > 1) {
        print_error_object(&text, kind, code);
        together::end_ranks(ranks, error, code);
    }
    print::note(&text);
    print_error_object(&text, kind, code);
    ExitCode::from(code)
}

/// With `--json`, an error, too, is an object on standard output.
fn print_error_object(text: &str, kind: &str, exit_code: u8) {
    // The arguments may be what failed to parse, so the raw ones are searched.
    let arguments = arguments();
    let mut options = arguments.iter().take_while(|word| *word != "--");
    if options.any(|word| word == "--json") {
        let error = serde_json::json!({ "kind": kind, "message": text, "exit_code": exit_code });
        // If standard output is closed, standard error still has the message.
        let _ = print::json(&serde_json::json!({ "error": error }));
    }
}

fn arguments() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn usage_error(error: &clap::Error) -> String {
    refusal::in_words(error, &arguments())
}

/// Describes a command line, to check that all ranks that will exchange data were given the same
/// one.
fn describe(cli: &Result<Cli, clap::Error>) -> String {
    match cli {
        Ok(Cli { command: Some(CliCommand::Run(_)), .. }) => "to run".to_owned(),
        Ok(Cli { command: Some(CliCommand::Resume(_)), .. }) => "to resume".to_owned(),
        Err(error) if !refusal::is_answer(error) => {
            format!("what it refuses: {}", usage_error(error))
        }
        _ => "something that one does alone".to_owned(),
    }
}

fn work() -> ExitCode {
    let cli = Cli::try_parse();
    // Before anything in which one rank waits for another.
    if let Err(error) = ranks::must_have_same_command(|| describe(&cli)) {
        print::note(&error.to_string());
        return ExitCode::from(2);
    }
    let cli = match cli {
        Ok(cli) => cli,
        Err(error) if refusal::is_answer(&error) => {
            if ranks::is_root() {
                let _ = error.print();
            }
            return ExitCode::from(error.exit_code() as u8);
        }
        Err(error) => {
            let text = usage_error(&error);
            print::note(&text);
            print_error_object(&text, "usage", 2);
            return ExitCode::from(2);
        }
    };
    // naga and wgpu log how they compile, which interests only their authors.
    let filter = match cli.verbose {
        0 => "error,wgpu_hal=off,wgpu_core=off,naga=off",
        1 => "info,wgpu_hal=error,wgpu_core=error,naga=error",
        _ => "debug",
    };
    env_logger::Builder::new()
        .parse_filters(&std::env::var("RUST_LOG").unwrap_or_else(|_| filter.to_owned()))
        .format(move |out, record| print::log(out, record, cli.verbose > 0))
        .init();
    let is_bare = cli.command.is_none();
    let command = match cli.command {
        Some(command) => command,
        #[cfg(feature = "window")]
        None => CliCommand::View(view::Args::default_scene()),
        #[cfg(not(feature = "window"))]
        None => {
            first_commands::show();
            return ExitCode::SUCCESS;
        }
    };
    match command {
        CliCommand::Run(_) | CliCommand::Resume(_) => ranks::work_together(),
        // Work that ranks do not share is done by the first one.
        _ if !ranks::is_root() => return ExitCode::SUCCESS,
        _ => (),
    }
    super::lookup::keep_kernels();
    interrupt::listen();
    let ended = match command {
        CliCommand::Info(args) => info::main(&args),
        CliCommand::Scenes(args) => scenes::main(&args),
        CliCommand::Formats(args) => formats::main(&args),
        CliCommand::Check(args) => check::main(&args),
        CliCommand::Inspect(args) => inspect::main(&args),
        CliCommand::Tune(args) => tune::main(&args),
        CliCommand::Bench(args) => bench::main(&args),
        CliCommand::Forces(args) => forces::main(&args),
        CliCommand::Run(args) => run::main(&args),
        CliCommand::Resume(args) => resume::main(&args),
        CliCommand::Render(args) => render::main(&args),
        CliCommand::Convert(args) => convert::main(&args),
        CliCommand::Analyse(args) => analyse::main(&args),
        CliCommand::Shader(args) => shader::main(&args),
        CliCommand::View(args) => view::main(args),
        #[cfg(feature = "documents")]
        CliCommand::Documents(args) => documents::main(&args),
    };
    match ended {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::Failed) => ExitCode::from(1),
        Ok(Ended::Interrupted) => ExitCode::from(130),
        Err(error) if matches!(error.downcast_ref(), Some(Error::Device(_) | Error::Member(_))) => {
            // The request itself was fine.
            fail(&error, 1)
        }
        Err(error) if matches!(error.downcast_ref(), Some(Error::Stopped)) => {
            print_error_object(&format!("{error:#}"), Error::Stopped.kind(), 130);
            ExitCode::from(130)
        }
        // The reader of our output went away (a pager closed, `head` had enough), which is not an
        // error.
        Err(error) if print::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let code = fail(&error, 2);
            if is_bare && matches!(error.downcast_ref(), Some(Error::Display(_))) {
                first_commands::show();
            }
            code
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn clap_definitions_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
