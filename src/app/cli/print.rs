//! Everything that the program prints goes through here. A closed standard output is no error;
//! characters that a terminal does not show are escaped ([`gravitile::messages`]).

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use gravitile::messages;

/// Whether this process prints nothing because another rank does.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

/// From now on, print only what is passed to [`from_any_rank`].
pub fn silence() {
    IS_SILENT.store(true, Ordering::SeqCst);
}

/// Whether [`silence`] was called.
pub fn is_silent() -> bool {
    IS_SILENT.load(Ordering::SeqCst)
}

/// Prints lines of text.
pub fn text(text: &str) -> Result<()> {
    verbatim(&messages::lines(text))
}

/// Prints a text unchanged, for saving: a shader, a scene file.
pub fn verbatim(text: &str) -> Result<()> {
    if is_silent() {
        return Ok(());
    }
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Prints a value as JSON, indented, with a line end.
pub fn json(value: &serde_json::Value) -> Result<()> {
    verbatim(&escape(&format!("{value:#}\n")))
}

/// Prints `gravitile: TEXT` on standard error, in one line. Ignores a closed pipe.
pub fn note(text: &str) {
    if !is_silent() {
        from_any_rank(text);
    }
}

/// Prints each note in a line.
pub fn notes(notes: &[String]) {
    notes.iter().for_each(|text| note(text));
}

/// Prints lines of text on standard error. Ignores a closed pipe.
pub fn aside(text: &str) {
    if !is_silent() {
        let _ = std::io::stderr().lock().write_all(messages::lines(text).as_bytes());
    }
}

/// [`note`] from a rank that is otherwise silent.
pub fn from_any_rank(text: &str) {
    let line = messages::line(&format!("gravitile: {text}")) + "\n";
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Writes a line of the log; in full if `whole` is set.
pub fn log(out: &mut dyn Write, record: &log::Record, whole: bool) -> std::io::Result<()> {
    // Details of the work differ from rank to rank.
    if is_silent() && record.level() < log::Level::Debug {
        return Ok(());
    }
    let text = match record.target().split("::").next() {
        // Verbose logs also show the time, in seconds since the first line.
        None | Some("gravitile" | "gravitile_app") if whole => {
            static FIRST: std::sync::OnceLock<web_time::Instant> = std::sync::OnceLock::new();
            let secs = FIRST.get_or_init(web_time::Instant::now).elapsed().as_secs_f64();
            format!("gravitile: {secs:.3} s: {}", record.args())
        }
        None | Some("gravitile" | "gravitile_app") => format!("gravitile: {}", record.args()),
        Some(other) => format!("{other}: {}: {}", record.level(), record.args()),
    };
    let text = text.replace('\t', " ");
    writeln!(out, "{}", messages::fit(&text, if whole { usize::MAX } else { messages::LINE }))
}

/// Equivalent JSON, with escapes for characters that a terminal would interpret or not show.
fn escape(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || messages::shows(c) {
            escaped.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                escaped += &format!("\\u{unit:04x}");
            }
        }
    }
    escaped
}

/// [`table`] with this header.
pub fn with_header(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    table(&std::iter::once(header).chain(rows).collect::<Vec<_>>())
}

/// A table with aligned columns: the first row is the header.
pub fn table(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| messages::line(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    rows.iter().map(|cells| row(cells, &widths)).collect()
}

/// A row of a table whose column widths are fixed in advance.
pub fn row(cells: &[impl AsRef<str>], widths: &[usize]) -> String {
    let cell = |(cell, &width): (&_, &usize)| {
        let cell = messages::line(AsRef::<str>::as_ref(cell));
        let blank = " ".repeat(width.saturating_sub(cell.chars().count()));
        format!("{cell}{blank}  ")
    };
    cells.iter().zip(widths).map(cell).collect::<String>().trim_end().to_owned() + "\n"
}

/// True for the error of writing to a closed pipe.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

// Progress bars on standard error, if it is a terminal.

/// A bar of `length` steps; shown only on a terminal.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    if super::print::is_silent() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    let style = "{prefix:>10} [{bar:30}] {pos}/{len} {msg} {elapsed} (left {eta})";
    let style = ProgressStyle::with_template(style).expect("the template should be valid");
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(what.to_owned());
    bar
}

/// A spinner for work of unknown length; removed when dropped.
pub fn waiting(what: &'static str) -> Waiting {
    if super::print::is_silent() {
        return Waiting(ProgressBar::hidden());
    }
    let spinner = ProgressBar::new_spinner().with_message(what);
    let style = ProgressStyle::with_template("{msg:>10} {spinner} {elapsed}");
    spinner.set_style(style.expect("the template should be valid"));
    spinner.enable_steady_tick(std::time::Duration::from_millis(250));
    Waiting(spinner)
}

/// See [`waiting`].
pub struct Waiting(ProgressBar);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_without_trailing_blanks() {
        let rows = [["name", "n"], ["é", "10"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "name  n\né     10\n");
        assert_eq!(row(&rows[1], &[4, 2]), "é     10\n");
    }
    #[test]
    fn json_escapes_control_characters_and_keeps_its_value() {
        let value = serde_json::json!({ "a\u{202e}": "\x1b[2J\u{9b}é🌌\u{e0041}\n" });
        let text = escape(&format!("{value:#}\n"));
        assert!(text.chars().all(|c| c == '\n' || messages::shows(c)), "{text}");
        assert!(text.contains("é🌌\\udb40\\udc41"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
