//! The templates of the pages: HTML files in which the template engine escapes every value.

use minijinja::{Environment, UndefinedBehavior, Value, context};

/// All pages and their shared parts.
const FILES: [(&str, &str); 4] = [
    ("layout.html", include_str!("layout.html")),
    ("parts.html", include_str!("parts.html")),
    ("bench.html", include_str!("bench.html")),
    ("compare.html", include_str!("compare.html")),
];

const STYLE: &str = include_str!("report.css");

/// Renders the template `name` with `values`.
pub(super) fn render(name: &str, title: &str, values: Value) -> String {
    let mut pages = Environment::new();
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    // Control characters in names are not shown.
    pages.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() && text.contains(char::is_control) => {
            let shown = Value::from(text.replace(char::is_control, " "));
            minijinja::escape_formatter(out, state, &shown)
        }
        _ => minijinja::escape_formatter(out, state, value),
    });
    for (name, text) in FILES {
        pages.add_template(name, text).expect("the report's templates should be templates");
    }
    let page = pages.get_template(name).expect("the page's template should be in the list");
    let style = safe(STYLE);
    page.render(context! { title, style, ..values }).expect("a page should have all its values")
}

/// Our own HTML or SVG, which is not escaped.
pub(super) fn safe(text: impl Into<String>) -> Value {
    Value::from_safe_string(text.into())
}

/// A table for a template: its header (the first row), the other rows, and which columns are
/// numeric.
pub(super) fn table(rows: &[Vec<String>]) -> Value {
    let (header, rows) = match rows {
        [header, rows @ ..] => (header.clone(), rows),
        [] => (Vec::new(), rows),
    };
    let numeric: Vec<bool> = (0..header.len()).map(|column| is_numeric(rows, column)).collect();
    context! { header, numeric, rows => rows.to_vec() }
}

/// A table if it has rows; otherwise nothing.
pub(super) fn filled(rows: &[Vec<String>]) -> Value {
    if rows.len() > 1 { table(rows) } else { Value::from(()) }
}

fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    let cells = rows.iter().filter_map(|row| row.get(column));
    let mut cells = cells.filter(|cell| !cell.is_empty()).peekable();
    cells.peek().is_some()
        && cells.all(|cell| {
            cell.starts_with(|c: char| c.is_ascii_digit() || "±-–".contains(c))
                && !cell.contains('=')
        })
}
