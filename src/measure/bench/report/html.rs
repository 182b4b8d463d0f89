//! The report: one self-contained page that follows the reader's light or dark setting.

use std::collections::HashMap;

use minijinja::{Environment, UndefinedBehavior, Value, context};

use super::tables::{ceilings, compiled, derivatives, rates, runs, times};
use crate::measure::figures::{FIGURES, Figure};
use crate::measure::plot::Plot;
use crate::measure::{Record, RecordKind, RecordedDevice};

/// What a figure shows, and how to read it.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureText {
    title: String,
    about: String,
}

/// The texts of all figures by their names.
fn texts() -> HashMap<String, FigureText> {
    toml::from_str(include_str!("figures.toml")).expect("the texts of figures should be TOML")
}

/// The page for a session's records.
pub fn page(records: &[Record]) -> String {
    let shown = FIGURES.iter().filter(|f| records.iter().any(|r| r.figure == f.name));
    let texts = texts();
    let figures: Vec<Value> = shown.map(|f| figure(f, &texts[f.name], records)).collect();
    let made = records.first().map(|first| {
        let Record { version, commit, date, .. } = first.clone();
        context! { version, commit, date }
    });
    let devices = table(&devices(records));
    render("bench.html", "gravitile bench", context! { devices, made, figures })
}

/// The section of a figure.
fn figure(figure: &Figure, text: &FigureText, records: &[Record]) -> Value {
    let own: Vec<&Record> = records.iter().filter(|r| r.figure == figure.name).collect();
    let plots = figure.plots(records);
    let more = [compiled, derivatives, runs, times].map(|table| table(&own));
    let more: Vec<Value> = more.iter().filter(|rows| rows.len() > 1).map(|r| table(r)).collect();
    context! {
        name => figure.name,
        title => &text.title,
        about => text.about.trim(),
        says => figure.conclusions(records),
        plots => plots.iter().map(svg).collect::<Vec<_>>(),
        ceilings => filled(&ceilings(&own)),
        rates => filled(&rates(&own)),
        is_open => figure.name == "table" || plots.is_empty(),
        more,
        remarks => remarks(&own),
    }
}

/// A plot embedded in a page.
pub(super) fn svg(plot: &Plot) -> Value {
    safe(plot.svg())
}

/// The devices measured: a header, and a row for each.
fn devices(records: &[Record]) -> Vec<Vec<String>> {
    let mut devices: Vec<&RecordedDevice> = Vec::new();
    for record in records {
        if !devices.contains(&&record.device) {
            devices.push(&record.device);
        }
    }
    let mut rows = vec![["device", "kind", "backend", "driver"].map(str::to_owned).to_vec()];
    rows.extend(devices.iter().map(|d| {
        let backend = if d.is_cpu() { String::new() } else { d.backend.clone() };
        vec![d.name.clone(), d.kind.clone(), backend, d.driver.clone()]
    }));
    rows
}

/// What was skipped and why, and what disturbed the measurement.
fn remarks(records: &[&Record]) -> Vec<Value> {
    let line = |record: &&Record| {
        let subject = match record.kernel {
            Some(_) => record.kernel_in_words(),
            None if record.run.is_some() => record.kernel_in_words(),
            None => record.series.clone(),
        };
        let size = match record.kind {
            RecordKind::Ceiling | RecordKind::Compiled => String::new(),
            // No size is given if nothing was to be timed.
            RecordKind::Skipped if record.sinks == 0 => String::new(),
            _ => format!(", {} x {}", record.sinks, record.sources),
        };
        let remark = record.remark.as_deref().unwrap_or("");
        format!("{subject}{size}: {remark}")
    };
    let has_remark = |record: &Record| record.remark.is_some();
    type List<'l> = (&'l str, &'l dyn Fn(&Record) -> bool);
    let lists: [List; 3] = [
        ("Skipped, and why", &|r| r.kind == RecordKind::Skipped),
        ("What auto takes", &|r| r.kind == RecordKind::Steps && has_remark(r)),
        ("Not as steady as it should be", &|r| {
            !matches!(r.kind, RecordKind::Skipped | RecordKind::Steps) && has_remark(r)
        }),
    ];
    let list = |(title, is_listed): List| {
        let lines: Vec<String> = records.iter().filter(|r| is_listed(r)).map(line).collect();
        (!lines.is_empty()).then(|| context! { title, lines })
    };
    lists.into_iter().filter_map(list).collect()
}

// The templates of the pages: HTML files in which the template engine escapes every value.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_title_and_says_how_to_read_it() {
        let texts = texts();
        assert_eq!(texts.len(), FIGURES.len());
        for figure in FIGURES {
            let text = &texts[figure.name];
            assert!(!text.title.is_empty() && text.about.len() > 80, "{}", figure.name);
        }
    }
    use crate::forces::tree::TreeConfig;
    use crate::measure::bench::TreeFacts;
    use crate::measure::bench::record::tests::example;

    #[test]
    fn page_is_self_contained_and_escapes_text() {
        let mut hostile = example();
        hostile.series = "</style><script>alert(1)</script>".to_owned();
        hostile.device.name = "\"><img src=x onerror=alert(1)>".to_owned();
        hostile.remark = Some("<b>loud</b>".to_owned());
        let mut skipped = example();
        skipped.kind = RecordKind::Skipped;
        skipped.samples.clear();
        skipped.remark = Some("a tile is too large".to_owned());
        let mut tree = example();
        (tree.kind, tree.figure, tree.rms_error) =
            (RecordKind::Tree, "tree-n".to_owned(), Some(4e-4));
        tree.tree = Some(TreeFacts::new("gpu", &TreeConfig::default(), 65_536));
        let page = page(&[example(), hostile, skipped, tree]);
        assert!(page.contains("acceleration 0.003") && page.contains("4.0e-4"));
        assert!(page.contains("<svg") && page.contains("a tile is too large"));
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<b>"));
        assert!(
            !page.contains("http://")
                || page.matches("http").count() == page.matches("http://www.w3.org").count()
        );
        assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
    }
}
