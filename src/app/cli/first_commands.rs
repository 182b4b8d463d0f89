//! What to type first, for `gravitile` without arguments where no window opens.

use super::print;

const COMMANDS: &str = "\
gravitile: three commands that need no window:
  gravitile render galaxy-collision --out film.webp       a film of two galaxies; any browser plays it
  gravitile run plummer -n 1000 --until 1 --out run/      a star cluster, with snapshots and energies
  gravitile info                                          the adapters here, and which engine will be used
'gravitile --help' lists all.
";

/// Prints them on standard error, next to the reason.
pub fn show() {
    print::aside(COMMANDS);
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Cli;

    #[test]
    fn first_commands_are_accepted() {
        let lines = super::COMMANDS.lines().filter(|line| line.starts_with("  gravitile"));
        let mut count = 0;
        for line in lines {
            let (command, _) = line.trim().split_once("    ").unwrap();
            Cli::try_parse_from(command.split_whitespace()).unwrap();
            count += 1;
        }
        assert_eq!(count, 3);
    }
}
