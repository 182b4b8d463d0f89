//! Formats a compiler's error about a shader in one line: where, what, and the line of the text.

use std::error::Error;

use naga::front::wgsl::ParseError;
use naga::{SourceLocation, WithSpan};

/// The most characters shown of a line of the text.
const MOST_CHARS: usize = 100;

/// The error for a text that is not WGSL.
pub(super) fn unread(error: &ParseError, text: &str) -> String {
    let labels = error.labels().map(|(_, label)| label);
    let words = [error.message()].into_iter().chain(labels).chain(error.notes());
    pointed(words, error.location(text), text)
}

/// The error for a text that is WGSL but not valid.
pub(super) fn invalid<E: Error>(error: &WithSpan<E>, text: &str) -> String {
    let mut words = vec![error.as_inner().to_string()];
    let mut because = error.as_inner().source();
    while let Some(reason) = because {
        words.push(reason.to_string());
        because = reason.source();
    }
    words.extend(error.spans().map(|(_, label)| label.clone()));
    pointed(words.iter().map(String::as_str), error.location(text), text)
}

/// `line 35, column 17: WHAT, WHY; in 'THE LINE'`.
fn pointed<'a>(
    words: impl Iterator<Item = &'a str>,
    place: Option<SourceLocation>,
    text: &str,
) -> String {
    let mut message: Vec<&str> = Vec::new();
    for word in words.map(str::trim).filter(|word| !word.is_empty()) {
        if !message.contains(&word) {
            message.push(word);
        }
    }
    let message = message.join(", ");
    let Some(SourceLocation { line_number, line_position, .. }) = place else { return message };
    let line = text.lines().nth(line_number.saturating_sub(1) as usize).unwrap_or_default().trim();
    let shown: String = line.chars().take(MOST_CHARS).collect();
    let more = if shown.len() < line.len() { "…" } else { "" };
    format!("line {line_number}, column {line_position}: {message}; in '{shown}{more}'")
}

#[cfg(test)]
mod tests {
    use super::super::{Checks, Language, translate};

    #[test]
    fn shader_error_is_one_line_with_position() {
        let message_of = |text: &str| {
            let translated = translate("mine.wgsl", text, Language::Wgsl, Checks::Off);
            translated.unwrap_err().to_string()
        };
        let text = message_of("const A = 1;\n  fn f(x: vek3<f32>) -> f32 { return 1.0; }\n");
        assert!(text.starts_with("shader mine.wgsl: line 2, column 11: no definition"), "{text}");
        assert!(text.contains("`vek3`") && text.contains("in 'fn f(x: vek3<f32>)"), "{text}");
        // Parses, but is not valid.
        let text = message_of("@compute @workgroup_size(0)\nfn main() {}\n");
        assert!(text.contains("orkgroup"), "{text}");
        let text = message_of(&format!("fn f() -> f32 {{ return {}; }}", "1.0 + ".repeat(60)));
        assert!(text.len() < 400 && text.contains("line 1") && text.contains('…'), "{text}");
        for text in [message_of("fn"), message_of("fn f() {\n\n"), message_of("\u{1F300}")] {
            assert!(text.starts_with("shader mine.wgsl: ") && !text.contains('\n'), "{text}");
        }
    }
}
