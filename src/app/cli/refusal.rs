//! Turns clap's error about a command line into one line: what is wrong, what is allowed, the
//! nearest name, and where to read more.

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::Cli;

/// True for requested output: help and version.
pub fn is_answer(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// The error about `arguments`, joined into one line.
pub fn in_words(error: &clap::Error, arguments: &[String]) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    // The last paragraphs are the usage and a pointer to the help.
    let end =
        ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|mark| text.rfind(mark)).min();
    let mut message = String::new();
    let lines = text[..end.unwrap_or(text.len())].lines().map(str::trim);
    // Clap's advice to pass an unknown option as a value, after `--`, leads to another error.
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with("tip: to pass '")) {
        let line = line.strip_prefix("tip: ").unwrap_or(line);
        let between = match message.chars().next_back() {
            None => "",
            Some(':') => " ",
            Some(_) if line.starts_with('[') => " ",
            Some(_) if message.contains("not provided:") => ", ",
            Some(_) => "; ",
        };
        message += between;
        message += line;
    }
    for (by_std, text) in NUMBERS {
        message = message.replace(by_std, text);
    }
    format!("{message} (more: {} --help)", command(arguments))
}

/// Parse errors of Rust's standard library, and what is printed instead.
const NUMBERS: [(&str, &str); 5] = [
    (": invalid digit found in string", ": expected a whole number from 0 on, in digits"),
    (": cannot parse integer from empty string", ": expected a whole number from 0 on, in digits"),
    (": number too large to fit in target type", ": expected a smaller whole number"),
    (": invalid float literal", ": expected a number, such as 0.01 or 1e-3"),
    (": cannot parse float from empty string", ": expected a number, such as 0.01 or 1e-3"),
];

/// The command that was called: `gravitile run`.
fn command(arguments: &[String]) -> String {
    let cli = Cli::command();
    let known = |word: &&String| cli.get_subcommands().any(|command| command.get_name() == *word);
    match arguments.iter().find(known) {
        Some(command) => format!("gravitile {command}"),
        None => "gravitile".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    fn message_for(arguments: &[&str]) -> String {
        let arguments: Vec<String> =
            ["gravitile"].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
        let error = super::Cli::try_parse_from(&arguments).unwrap_err();
        assert!(!super::is_answer(&error), "{error}");
        let text = super::in_words(&error, &arguments);
        assert!(!text.contains('\n') && !text.contains("Usage"), "{text}");
        text
    }

    #[test]
    fn usage_error_names_the_fault_the_alternatives_and_the_help() {
        for (arguments, words) in [
            (
                &["run", "plummer", "--outt", "x"][..],
                "unexpected argument '--outt' found; a similar argument exists: '--out' (more: gravitile run --help)",
            ),
            (
                &["analyse", "plummer", "-n", "9"],
                "unexpected argument '-n' found (more: gravitile analyse --help)",
            ),
            (
                &["run"],
                "the following required arguments were not provided: --out <DIR>, <INPUT> (more: gravitile run --help)",
            ),
            (
                &["convrt"],
                "unrecognized subcommand 'convrt'; a similar subcommand exists: 'convert' (more: gravitile --help)",
            ),
            (
                &["forces", "plummer", "-n", "ten"],
                "invalid value 'ten' for '-n <N>': expected a whole number of bodies from 1 on, such as 20000, 20k, 1.5M or 1e6 (more: gravitile forces --help)",
            ),
            (
                &["render", "plummer", "--frames", "1e9"],
                "invalid value '1e9' for '--frames <F>': expected a whole number from 0 on, in digits (more: gravitile render --help)",
            ),
            (
                &["render", "plummer", "--seed", "-1"],
                "invalid value '-1' for '--seed <SEED>': expected a whole number from 0 on, in digits (more: gravitile render --help)",
            ),
            (
                &["run", "plummer", "--out", "x", "--eps", "small"],
                "invalid value 'small' for '--eps <E>': expected a number, such as 0.01 or 1e-3 (more: gravitile run --help)",
            ),
            (
                &["forces", "plummer", "--tiled", "--untiled"],
                "the argument '--tiled' cannot be used with '--untiled' (more: gravitile forces --help)",
            ),
            (
                &["scenes", "--toml"],
                "the following required arguments were not provided: <NAME> (more: gravitile scenes --help)",
            ),
        ] {
            assert_eq!(message_for(arguments), words);
        }
    }
}
