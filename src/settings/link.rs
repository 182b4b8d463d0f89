//! A request as the fragment of a link, and back: `#scene=plummer&n=4000&set=toomre_q=2&paused`.
//! The names are those of the command line's options, taken from clap, so that new settings work in
//! links by themselves.

use clap::{Arg, Args, FromArgMatches};
use serde::Serialize;
use serde_json::Value;

use super::command_line::{given, options, text};
use crate::error::{Error, Result};

/// The name for the one argument that has none on a command line.
const SCENE: &str = "scene";

/// The fragment of a link that describes the request, starting with `#`.
pub fn fragment<R: Args + Serialize + Default>(request: &R) -> String {
    let part = |(arg, value): (Arg, Value)| {
        let name = match (arg.get_long(), arg.get_short()) {
            (Some(long), _) => long.to_owned(),
            (None, short) => short.map_or(SCENE.to_owned(), String::from),
        };
        match value {
            Value::Bool(_) => name,
            value => format!("{name}={}", encoded(&text(&value))),
        }
    };
    format!("#{}", given(request).into_iter().map(part).collect::<Vec<_>>().join("&"))
}

/// The request that a link's fragment describes, with or without its `#`; the scene is `default` if
/// it names none.
///
/// # Errors
///
/// A name or a value that the request does not have, in one sentence.
pub fn parse<R: Args + FromArgMatches>(fragment: &str, default: &str) -> Result<R> {
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
    words.extend(["--".to_owned(), scene.unwrap_or_else(|| default.to_owned())]);
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
    fn link_round_trips_requests() {
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
        assert_eq!(parse::<ViewRequest>(&link, "x").unwrap(), request);
        (request.engine.kernel.p, request.engine.kernel.u) = (Some(32), Some(4));
        let link = fragment(&request);
        assert!(link.contains("&p=32&unroll=4"), "{link}");
        assert_eq!(parse::<ViewRequest>(&link, "x").unwrap(), request);
        let odd = ViewRequest { input: InputRequest::named("ä b&c#d%"), ..ViewRequest::default() };
        assert_eq!(parse::<ViewRequest>(&fragment(&odd), "x").unwrap(), odd);
    }

    #[test]
    fn link_without_scene_has_the_default_one_and_bad_links_give_one_sentence() {
        for empty in ["", "#", "#&"] {
            assert_eq!(parse::<ViewRequest>(empty, "x").unwrap().input.input, "x");
        }
        for wrong in
            ["#n=many", "#what=3", "#%zz", "#%ff", "#paused=1&n", "#-x", "#help", "#eps=1=2"]
        {
            let text = parse::<ViewRequest>(wrong, "x").unwrap_err().to_string();
            assert!(text.starts_with("the link is not understood: ") && text.len() < 200, "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }
}
