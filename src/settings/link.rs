//! A request as the fragment of a link, and back: `#scene=plummer&n=4000&set=toomre_q=2&paused`. The names are those of
//! the command line's options, taken from clap, so that new settings work in links by themselves.

use clap::{Args, FromArgMatches};
use serde::Serialize;

use super::CommandLine;
use super::command_line::options;
use crate::error::{Error, Result};

/// The name for the one argument that has none on a command line.
const SCENE: &str = "scene";

/// The fragment of a link that asks for the same, starting with `#`.
pub fn fragment<R: Args + Serialize + Default>(request: &R) -> String {
    let command = options::<R>();
    let words = CommandLine::default().with(request).0;
    let mut parts = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            parts.push(format!("{SCENE}={}", encoded(&word)));
            continue;
        };
        if let Some((name, value)) = name.split_once('=') {
            parts.push(format!("{name}={}", encoded(value)));
            continue;
        }
        let is_named = |arg: &&clap::Arg| {
            arg.get_long() == Some(name) || arg.get_short().is_some_and(|c| name == c.to_string())
        };
        let takes_value = command
            .get_arguments()
            .find(is_named)
            .is_some_and(|arg| arg.get_action().takes_values());
        // A flag takes no value: the next word is another option.
        match if takes_value { words.next() } else { None } {
            Some(value) => parts.push(format!("{name}={}", encoded(&value))),
            None => parts.push(name.to_owned()),
        }
    }
    format!("#{}", parts.join("&"))
}

/// What a link's fragment asks for, with or without its `#`; the scene is the `usual` one if it names none.
///
/// Errors: a name or a value that the request does not have, in one sentence.
pub fn asked<R: Args + FromArgMatches>(fragment: &str, usual: &str) -> Result<R> {
    let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
    let command = options::<R>().no_binary_name(true).disable_help_flag(true);
    // Some long names have one letter only, such as a kernel's p.
    let is_short = |name: &str| {
        command.get_arguments().any(|arg| arg.get_short().is_some_and(|c| name == c.to_string()))
    };
    let mut scene = None;
    let mut words = Vec::new();
    for part in fragment.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (decoded(name)?, Some(decoded(value)?)),
            None => (decoded(part)?, None),
        };
        match (name.as_str(), value) {
            (SCENE, Some(value)) => scene = Some(value),
            (_, Some(value)) if is_short(&name) => words.push(format!("-{name}={value}")),
            (_, Some(value)) => words.push(format!("--{name}={value}")),
            (_, None) => words.push(format!("--{name}")),
        }
    }
    words.extend(["--".to_owned(), scene.unwrap_or_else(|| usual.to_owned())]);
    let matches = command.try_get_matches_from(words).map_err(|error| not_understood(&error))?;
    R::from_arg_matches(&matches).map_err(|error| not_understood(&error))
}

/// The first sentence of clap's message.
fn not_understood(error: &clap::Error) -> Error {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    Error::Outside(format!("the link is not understood: {first}"))
}

/// Percent-encodes characters that have a meaning in links, and those not allowed there.
fn encoded(text: &str) -> String {
    let mut coded = String::new();
    for byte in text.bytes() {
        match byte {
            b'-' | b'_' | b'.' | b',' | b'/' | b'=' | b':' => coded.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => coded.push(char::from(byte)),
            byte => coded += &format!("%{byte:02X}"),
        }
    }
    coded
}

fn decoded(text: &str) -> Result<String> {
    let wrong =
        || Error::Outside(format!("the link is not understood: '{text}' is not valid text"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(wrong());
        };
        bytes.push((16 * high + low) as u8);
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{InputRequest, LookRequest, ViewRequest};

    #[test]
    fn a_link_asks_for_what_it_was_made_of() {
        let mut request = ViewRequest {
            input: InputRequest { n: Some(4000), ..InputRequest::named("plummer") },
            look: LookRequest { colour: Some("speed".to_owned()), ..LookRequest::default() },
            paused: true,
            ..ViewRequest::default()
        };
        request.look.orbit = Some(-3.0);
        request.input.set = vec!["toomre_q=2".parse().unwrap(), "mass_ratio=0.5".parse().unwrap()];
        let link = fragment(&request);
        assert!(
            link.starts_with("#scene=plummer&n=4000&set=toomre_q=2&set=mass_ratio=0.5"),
            "{link}"
        );
        assert!(link.contains("&orbit=-3") && link.contains("&paused"), "{link}");
        assert_eq!(asked::<ViewRequest>(&link, "x").unwrap(), request);
        (request.engine.kernel.p, request.engine.kernel.u) = (Some(32), Some(4));
        let link = fragment(&request);
        assert!(link.contains("&p=32&unroll=4"), "{link}");
        assert_eq!(asked::<ViewRequest>(&link, "x").unwrap(), request);
        let odd = ViewRequest { input: InputRequest::named("ä b&c#d%"), ..ViewRequest::default() };
        assert_eq!(asked::<ViewRequest>(&fragment(&odd), "x").unwrap(), odd);
    }

    #[test]
    fn a_link_without_a_scene_is_of_the_usual_one_and_nonsense_is_a_sentence() {
        for empty in ["", "#", "#&"] {
            assert_eq!(asked::<ViewRequest>(empty, "x").unwrap().input.input, "x");
        }
        for wrong in
            ["#n=many", "#what=3", "#%zz", "#%ff", "#paused=1&n", "#-x", "#help", "#eps=1=2"]
        {
            let text = asked::<ViewRequest>(wrong, "x").unwrap_err().to_string();
            assert!(text.starts_with("the link is not understood: ") && text.len() < 200, "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }
}
