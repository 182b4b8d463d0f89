//! `gravitile documents`: manual pages and shell completions, for packages and for those who
//! installed with cargo.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::builder::Resettable;
use clap::{Command, CommandFactory, ValueEnum};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;

use super::{Cli, Ended, print};
use gravitile::files;

/// Write manual pages and shell completions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  gravitile documents --out ~/.local/share/gravitile

FOLDER/man has a page for each command, FOLDER/completions a file for each shell.")]
pub struct Args {
    /// The folder; it is created if it does not exist
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

pub fn main(args: &Args) -> Result<Ended> {
    let count = write(&args.out)?;
    print::text(&format!("wrote {count} files in {}\n", args.out.display()))?;
    Ok(Ended::Done)
}

/// Returns the number of files written.
fn write(out: &Path) -> Result<usize> {
    let mut command = Cli::command().disable_help_subcommand(true);
    let mut documents = Vec::new();
    for shell in Shell::value_variants() {
        let mut text = Vec::new();
        clap_complete::generate(*shell, &mut command, "gravitile", &mut text);
        documents.push((out.join("completions").join(shell.file_name("gravitile")), text));
    }
    command.build();
    for page in std::iter::once(&command).chain(command.get_subcommands()) {
        if page.is_hide_set() {
            continue;
        }
        let name = page.get_display_name().unwrap_or(page.get_name()).to_owned();
        documents.push((out.join("man").join(format!("{name}.1")), manual(page)?));
    }
    for folder in ["completions", "man"].map(|name| out.join(name)) {
        let refused = |source| gravitile::error::Error::io("create", &folder, source);
        files::make_folder(&folder).map_err(refused)?;
    }
    for (path, text) in &documents {
        files::replace(path, text)?;
    }
    Ok(documents.len())
}

/// A page in section 1. Examples, which clap would fill into paragraphs, keep their lines.
fn manual(command: &Command) -> Result<Vec<u8>> {
    let examples = command.get_after_help().map(ToString::to_string);
    let page = command.clone().after_help(Resettable::Reset);
    let mut text = Vec::new();
    Man::new(page).manual("gravitile").render(&mut text)?;
    if let Some(examples) = examples {
        text.extend(b".SH EXAMPLES\n.nf\n");
        for line in examples.lines().filter(|line| *line != "Examples:" && *line != "Example:") {
            // A line of roff is a request if it starts with a full stop or an apostrophe.
            let line = line.replace('\\', "\\e").replace('-', "\\-");
            text.extend(format!("\\&{line}\n").into_bytes());
        }
        text.extend(b".fi\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_has_a_manual_page_that_names_its_options() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let command = Cli::command();
        for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let page = format!("man/gravitile-{}.1", subcommand.get_name());
            let page = std::fs::read_to_string(folder.path().join(&page)).unwrap();
            for option in subcommand.get_arguments().filter(|option| !option.is_hide_set()) {
                let long = option.get_long().map_or(String::new(), |long| long.replace('-', "\\-"));
                assert!(page.contains(&long), "{long} in {page}");
            }
        }
        assert!(!folder.path().join("man/gravitile-documents.1").exists());
        let bash = std::fs::read_to_string(folder.path().join("completions/gravitile.bash"));
        assert!(bash.unwrap().contains("--integrator"));
    }
}
