//! Makes text fit for a line: whatever a file, a driver or a command line contains is printed as
//! one line of bounded length in which every character shows.
//!
//! A terminal obeys control characters: an escape sequence in a component's name could overwrite
//! the lines above it. Invisible characters, or those that reverse the direction of writing, could
//! make one name look like another. All of these are printed as escapes such as `\u{1b}`.
//!
//! [`piece`] and [`path`] shorten foreign text within a sentence, so that the rest of the sentence
//! survives; [`line()`] is the last stage before printing, which all text goes through.

use std::path::Path;

/// Most characters in a printed line.
pub const LINE: usize = 400;

/// Most characters in a piece of foreign text within a sentence.
pub const PIECE: usize = 60;

/// Most characters in an error's text, which leaves room for a prefix in the line.
pub(crate) const ERROR: usize = LINE - 50;

/// Replaces the middle of a shortened text.
const GAP: &str = " ... ";

/// Marks the cut until then in very long texts.
const CUT: char = '…';

/// Numbers with more digits, which no 64-bit integer has, are printed with an exponent.
const MOST_DIGITS: usize = 22;

/// Any text as one line of at most [`LINE`] characters.
pub fn line(text: &str) -> String {
    fit(text, LINE)
}

/// A foreign word or name (a field of a table, a key of a file), for use within a sentence.
pub fn piece(text: &str) -> String {
    fit(text, PIECE)
}

/// A number with six decimals, or with an exponent if these would not show it.
pub fn number(value: f64) -> String {
    match value == 0.0 || (1e-3..1e9).contains(&value.abs()) {
        true => format!("{value:.6}"),
        false => format!("{value:.6e}"),
    }
}

/// A number rounded to `digits` significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// A list of foreign names, for use within a sentence.
pub fn list<T: AsRef<str>>(names: &[T], between: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| piece(name.as_ref())).collect();
    fit(&names.join(between), 2 * PIECE)
}

/// A list of alternatives: `a`, `a or b`, `a, b or c`.
pub fn any_of<T: AsRef<str>>(names: &[T]) -> String {
    match names.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => piece(only.as_ref()),
        Some((last, before)) => format!("{} or {}", list(before, ", "), piece(last.as_ref())),
    }
}

/// A path, shortened in the middle to at most `most` characters.
pub fn path(path: &Path, most: usize) -> String {
    // Line ends in names are escaped, not joined: a path is one word.
    shortened(path.to_string_lossy().chars().flat_map(shown), most)
}

/// Any text as one line of at most `most` characters: line ends become blanks, invisible characters
/// are escaped, numbers with very many digits get an exponent, and the middle is left out if
/// necessary.
pub fn fit(text: &str, most: usize) -> String {
    let joined = if text.contains(['\n', '\r']) {
        let lines = ends(text, most.saturating_mul(4));
        let lines = lines.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join(" ")
    } else {
        ends(text, most.saturating_mul(4))
    };
    let text = with_exponents(&joined);
    shortened(text.chars().flat_map(shown), most)
}

/// A text of several lines, each of at most [`LINE`] characters. Invisible characters are escaped,
/// and tabs become blanks.
pub fn lines(text: &str) -> String {
    let one = |line: &str| fit(&line.replace('\t', "    "), LINE);
    text.split_inclusive('\n')
        .map(|line| match line.strip_suffix('\n') {
            Some(line) => one(line) + "\n",
            None => one(line),
        })
        .collect()
}

/// True for characters that take one place in a line and do not affect the rest of it.
pub fn shows(c: char) -> bool {
    // `escape_debug` knows what can be printed; accents are tested after a letter. It also escapes
    // quotes and the backslash, but those do show.
    (' '..='~').contains(&c) || !c.is_ascii() && format!("a{c}").escape_debug().count() == 2
}

/// The character, or its escape.
fn shown(c: char) -> impl Iterator<Item = char> {
    let (plain, escaped) = if shows(c) { (Some(c), None) } else { (None, Some(c)) };
    plain.into_iter().chain(escaped.into_iter().flat_map(char::escape_unicode))
}

/// Both ends of a far too long text, so that no work is done on megabytes that are left out anyway.
fn ends(text: &str, most: usize) -> String {
    if text.len() <= most.saturating_mul(8) {
        return text.to_owned();
    }
    let head = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let tail = text.char_indices().rev().nth(most).map_or(0, |(at, _)| at);
    if head >= tail {
        return text.to_owned();
    }
    // The mark is inside what `shortened` leaves out. It keeps the digits next to it, some of which
    // are missing, from being read as one number.
    format!("{}{CUT}{}", &text[..head], &text[tail..])
}

/// At most `most` characters, without the middle.
fn shortened(text: impl Iterator<Item = char>, most: usize) -> String {
    let all: Vec<char> = text.collect();
    if all.len() <= most {
        return all.into_iter().collect();
    }
    let remaining = most.saturating_sub(GAP.len());
    let (head, tail) = (remaining - remaining / 2, remaining / 2);
    all[..head]
        .iter()
        .copied()
        .chain(GAP.chars())
        .chain(all[all.len() - tail..].iter().copied())
        .collect()
}

/// The text with an exponent for each separate number of more than [`MOST_DIGITS`] digits.
fn with_exponents(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let end = from.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        let (number, stop) = match digits.strip_suffix('.') {
            Some(number) => (number, "."),
            None => (digits, ""),
        };
        let alone = |c: Option<char>| c.is_none_or(|c| " ,;:()[]=-".contains(c));
        let short = (number.len() > MOST_DIGITS
            && alone(out.chars().next_back())
            && alone(after.chars().next()))
        .then(|| number.parse::<f64>().ok().filter(|number| number.is_finite()))
        .flatten()
        .map(|number| format!("{number:e}"))
        .filter(|short| short.len() < number.len());
        match short {
            Some(short) => out.push_str(&short),
            None => out.push_str(number),
        }
        out.push_str(stop);
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_show_their_digits() {
        let shown = [43_007.1, 6.6743e-11, 0.0, -1e20].map(number);
        assert_eq!(shown, ["43007.100000", "6.674300e-11", "0.000000", "-1.000000e20"]);
    }

    #[test]
    fn choices_are_joined_as_in_speech() {
        let none: [&str; 0] = [];
        let lists = [any_of(&none), any_of(&["a"]), any_of(&["a", "b"]), any_of(&["a", "b", "c"])];
        assert_eq!(lists, ["nothing", "a", "a or b", "a, b or c"]);
    }

    #[test]
    fn what_does_not_show_is_escaped_and_what_shows_stays() {
        for plain in ["a b", "é", "e\u{301}", "x² ≤ 3 µm · 星団", "C:\\a 'b' \"c\"", "🌌"]
        {
            assert_eq!(line(plain), plain);
        }
        for (wild, tame) in [
            ("\x1b[2Jgone", "\\u{1b}[2Jgone"),
            ("a\u{9b}31mb", "a\\u{9b}31mb"),
            ("a\0b\x7f", "a\\u{0}b\\u{7f}"),
            ("\u{202e}txt.exe\u{2066}", "\\u{202e}txt.exe\\u{2066}"),
            ("di\u{200b}sk\u{feff}\u{200d}", "di\\u{200b}sk\\u{feff}\\u{200d}"),
            ("a\tb\u{2028}c", "a\\u{9}b\\u{2028}c"),
            ("one\n\n  two\r\nthree\n", "one two three"),
        ] {
            assert_eq!(line(wild), tame);
        }
    }

    #[test]
    fn the_middle_of_what_is_long_is_left_out() {
        let long: String = (0..3_000_000).map(|k| char::from(b'a' + (k % 26) as u8)).collect();
        let short = line(&format!("begin {long} end"));
        assert_eq!(short.chars().count(), LINE);
        assert!(short.starts_with("begin abc") && short.ends_with(" end") && short.contains(GAP));
        // Escapes count as they are printed.
        assert_eq!(line(&"\x1b".repeat(1_000_000)).chars().count(), LINE);
        assert_eq!(line(&"é\n".repeat(100_000)).chars().count(), LINE);
        assert_eq!(line(&"x".repeat(LINE)), "x".repeat(LINE));
        assert_eq!(piece(&"7".repeat(5000)).chars().count(), PIECE);
        assert!(piece(&"7".repeat(5000)).chars().all(|c| "7 .".contains(c)));
        let deep = path(Path::new(&format!("/home/{}/run.toml", "deep/".repeat(200))), 80);
        assert!(deep.starts_with("/home/deep") && deep.ends_with("run.toml"), "{deep}");
        assert_eq!(deep.chars().count(), 80);
        assert_eq!(path(Path::new("a\nb"), 80), "a\\u{a}b");
    }

    #[test]
    fn numbers_of_hundreds_of_digits_have_an_exponent() {
        assert_eq!(line(&format!("dt is {}, but", 1e300)), "dt is 1e300, but");
        assert_eq!(
            line(&format!("it is -{}.", f64::MIN_POSITIVE)),
            "it is -2.2250738585072014e-308."
        );
        assert_eq!(line(&format!("({} {})", f64::MAX, 1.5)), "(1.7976931348623157e308 1.5)");
        for same in
            ["18446744073709551615", "3.141592653589793", "step_0000000000000000000000001.gvt"]
        {
            assert_eq!(line(same), same);
        }
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(lines("  a\x07\n\tb\n\nc"), "  a\\u{7}\n    b\n\nc");
        assert_eq!(lines("a\r\n"), "a\n");
        assert!(
            lines(&format!("{}\nb\n", "x".repeat(9999))).lines().all(|l| l.chars().count() <= LINE)
        );
    }
}
