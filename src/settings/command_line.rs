//! Turns a request back into a command line.
//!
//! No option is listed here. Clap knows which options there are and how each is spelled, serde
//! knows the value that a request gives each; both know a setting by its name in the code. Values
//! equal to the default are left out.

use clap::{Arg, ArgAction, Args, Command};
use serde::Serialize;
use serde_json::{Map, Value};

/// A command line being built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine(pub Vec<String>);

impl CommandLine {
    /// Starts with these words.
    pub fn of<const N: usize>(words: [&str; N]) -> Self {
        Self(words.map(str::to_owned).into())
    }

    /// Adds the words of a request.
    #[must_use]
    pub fn with<R: Args + Serialize + Default>(mut self, request: &R) -> Self {
        for (arg, value) in given(request) {
            match &value {
                Value::Bool(_) => self.0.push(spelling(&arg)),
                value if arg.is_positional() => self.0.push(text(value)),
                // A value that looks like an option is joined to its own with '='.
                Value::String(word) if word.starts_with('-') => {
                    self.0.push(format!("{}={word}", spelling(&arg)));
                }
                value => self.0.extend([spelling(&arg), text(value)]),
            }
        }
        self
    }

    /// The line as typed into a shell.
    pub fn line(&self) -> String {
        self.0.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// All options of a request.
pub(super) fn options<R: Args>() -> Command {
    R::augment_args(Command::new("gravitile"))
}

/// The options that differ from the default, each with its value: `true` for a flag, otherwise a
/// text or a number.
pub(super) fn given<R: Args + Serialize + Default>(request: &R) -> Vec<(Arg, Value)> {
    let (values, defaults) = (values(request), values(&R::default()));
    let mut given = Vec::new();
    for arg in options::<R>().get_arguments() {
        let name = arg.get_id().as_str();
        let Some(value) = values.get(name).filter(|value| Some(*value) != defaults.get(name))
        else {
            continue;
        };
        let mut add = |value: Value| given.push((arg.clone(), value));
        match value {
            Value::Null | Value::Bool(false) => {}
            // A value that no flag expresses.
            Value::String(_) if matches!(arg.get_action(), ArgAction::SetTrue) => {}
            Value::Array(values) if matches!(arg.get_action(), ArgAction::Append) => {
                values.iter().cloned().for_each(add);
            }
            Value::Array(values) => {
                add(values.iter().map(text).collect::<Vec<_>>().join(",").into());
            }
            value => add(value.clone()),
        }
    }
    given
}

/// The values of a request by setting name.
fn values<R: Serialize>(request: &R) -> Map<String, Value> {
    match serde_json::to_value(request) {
        Ok(Value::Object(values)) => values,
        // Requests are structs of plain values.
        _ => Map::new(),
    }
}

fn spelling(arg: &Arg) -> String {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, short) => format!("-{}", short.unwrap_or_default()),
    }
}

/// A plain value as it is typed.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // Whole numbers get no decimal point.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or(0.0).to_string(),
        other => other.to_string(),
    }
}

/// Quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,=+:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::settings::{AdapterRequest, FilmRequest, RunRequest, ViewRequest};

    /// The request of the words after the subcommand.
    fn parsed<R: Args>(words: &[String]) -> Result<R, clap::Error> {
        let command = options::<R>().no_binary_name(true).allow_negative_numbers(true);
        R::from_arg_matches(&command.try_get_matches_from(words)?)
    }

    /// Texts of which each option takes one that changes it.
    const SAMPLES: [&str; 11] = [
        "-0.375",
        "7",
        "x.y=0.5",
        "640x360",
        "-1.5,0,2e-9",
        "0.5,2",
        "plummer:mass=2.5,scale=1e-3",
        "cluster:mass=2.5,size=1e-3,n=20",
        "on",
        "softening=0.125",
        "it's a name",
    ];

    /// The request of the `needed` words and one sample of `arg`.
    fn changed<R: Args + Default + PartialEq>(arg: &Arg, needed: &[&str]) -> Option<R> {
        let plain = || needed.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let words = |sample: &str| {
            let mut words = plain();
            let there = words.iter().position(|word| *word == spelling(arg));
            match (there, arg.get_action()) {
                _ if arg.is_positional() => *words.last_mut().unwrap() = sample.to_owned(),
                (Some(at), _) => words[at + 1] = sample.to_owned(),
                (None, ArgAction::SetTrue) => words.push(spelling(arg)),
                (None, _) => words.extend([spelling(arg), sample.to_owned()]),
            }
            words
        };
        let plain = parsed::<R>(&plain()).unwrap();
        let tried = SAMPLES.iter().filter_map(|sample| parsed::<R>(&words(sample)).ok());
        tried.into_iter().find(|request| *request != plain)
    }

    /// Every setting of `R`, alone and all together; `needed` are the words without which there is
    /// no request.
    fn comes_back<R>(needed: &[&str], least: usize)
    where
        R: Args + Serialize + serde::de::DeserializeOwned + Default + PartialEq + std::fmt::Debug,
    {
        let command = options::<R>();
        let names: BTreeSet<_> =
            command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        let known: BTreeSet<_> = values(&R::default()).keys().cloned().collect();
        assert_eq!(names, known, "what clap and serde call them");
        for arg in command.get_arguments() {
            let name = arg.get_id();
            let request = changed::<R>(arg, needed)
                .unwrap_or_else(|| panic!("no sample is anything to {name}"));
            let line = CommandLine::default().with(&request);
            let again =
                parsed::<R>(&line.0).unwrap_or_else(|e| panic!("{name}: {:?}: {e}", line.0));
            assert_eq!(again, request, "{name}: {:?}", line.0);
            // And through a file.
            let file = toml::to_string(&request).unwrap();
            assert_eq!(toml::from_str::<R>(&file).unwrap(), request, "{name}: {file}");
        }
        assert!(names.len() >= least, "{}", names.len());
        assert_eq!(CommandLine::default().with(&R::default()), CommandLine::default());
    }

    #[test]
    fn every_setting_comes_back_from_its_command_line_and_its_file() {
        comes_back::<ViewRequest>(&["scene"], 48);
        comes_back::<FilmRequest>(&["scene"], 49);
        comes_back::<RunRequest>(&["--out", "run", "scene"], 32);
    }

    #[test]
    fn lists_numbers_and_odd_names_are_spelled_as_they_are_read() {
        let request = ViewRequest {
            engine: crate::settings::EngineRequest {
                adapter: AdapterRequest::named("-a, b (c, d)"),
                ..Default::default()
            },
            ..parsed(
                &["s", "--set", "a=1", "--set", "b=-2.5", "--eps", "1e-7", "--dt=2"]
                    .map(str::to_owned),
            )
            .unwrap()
        };
        let line = CommandLine::of(["gravitile", "view"]).with(&request);
        let words = "gravitile view s --set a=1 --set b=-2.5 --eps 0.0000001 --dt 2 '--adapter=-a,b (c, d)'";
        assert_eq!(line.line(), words);
        assert_eq!(parsed::<ViewRequest>(&line.0[2..]).unwrap(), request);
    }

    #[test]
    fn words_survive_a_shell() {
        let words = CommandLine::of(["a/b-c.tipsy", "my galaxy", "it's", ""]);
        assert_eq!(words.line(), r"a/b-c.tipsy 'my galaxy' 'it'\''s' ''");
    }
}
