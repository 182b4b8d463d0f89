//! The report: one page with everything in it, light or dark as its reader likes.

use crate::measure::figures::FIGURES;
use crate::measure::plot::{Plot, escape};
use crate::measure::report::direct_tables::{derivatives_table, runs_table};
use crate::measure::report::tables::{ceilings_table, compiled_table, rates_table};
use crate::measure::{Device, Kind, Record};

const STYLE: &str = include_str!("report.css");

/// The page of a session's records.
pub fn page(records: &[Record]) -> String {
    let mut body = String::from("<header><h1>gravitile: what a kernel costs, and why</h1>");
    body += &provenance(records);
    body += "</header>\n";
    let shown: Vec<_> =
        FIGURES.iter().filter(|f| records.iter().any(|r| r.figure == f.name)).collect();
    if shown.len() > 1 {
        let links: Vec<String> = shown
            .iter()
            .map(|figure| format!("<a href=\"#{}\">{}</a>", figure.name, escape(figure.title)))
            .collect();
        body += &format!("<nav>{}</nav>\n", links.join(""));
    }
    for figure in shown {
        let own: Vec<&Record> = records.iter().filter(|r| r.figure == figure.name).collect();
        body += &format!(
            "<section id=\"{}\"><h2>{}</h2><p>{}</p>\n",
            figure.name,
            escape(figure.title),
            escape(figure.about)
        );
        let plots = (figure.plots)(records);
        for plot in &plots {
            body += &plot_in_page(plot);
        }
        let rates = rates_table(own.iter().copied());
        let ceilings = ceilings_table(own.iter().copied());
        if ceilings.len() > 1 {
            body += &table(&ceilings);
        }
        if rates.len() > 1 {
            let open = if figure.name == "table" || plots.is_empty() { " open" } else { "" };
            body += &format!(
                "<details{open}><summary>All numbers ({})</summary>{}</details>\n",
                rates.len() - 1,
                table(&rates)
            );
        }
        for more in [
            compiled_table(own.iter().copied()),
            derivatives_table(own.iter().copied()),
            runs_table(own.iter().copied()),
        ] {
            if more.len() > 1 {
                body += &format!(
                    "<details><summary>All numbers ({})</summary>{}</details>\n",
                    more.len() - 1,
                    table(&more)
                );
            }
        }
        body += &remarks(&own);
        body += "</section>\n";
    }
    body += METHOD;
    whole("gravitile bench", &body)
}

/// A whole HTML document.
pub(super) fn whole(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{}</title><style>{STYLE}</style></head><body><main>\n{body}</main></body></html>\n",
        escape(title)
    )
}

pub(super) fn plot_in_page(plot: &Plot) -> String {
    format!("<figure>{}</figure>\n", plot.svg())
}

/// A table whose first row is the header; cells that begin with a digit stand to the right.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"wide\"><table>");
    for (i, row) in rows.iter().enumerate() {
        out += if i == 0 { "<thead><tr>" } else { "<tr>" };
        for (column, cell) in row.iter().enumerate() {
            // The header of a column of numbers goes with them.
            let below = rows.iter().skip(1).filter_map(|row| row.get(column));
            let mut below = below.filter(|cell| !cell.is_empty()).peekable();
            let numeric = below.peek().is_some()
                && below.all(|cell| {
                    cell.starts_with(|c: char| c.is_ascii_digit() || "±-–".contains(c))
                        && !cell.contains('=')
                });
            let class = if numeric { " class=\"number\"" } else { "" };
            let tag = if i == 0 { "th" } else { "td" };
            out += &format!("<{tag}{class}>{}</{tag}>", escape(cell));
        }
        out += if i == 0 { "</tr></thead><tbody>" } else { "</tr>" };
    }
    out + "</tbody></table></div>\n"
}

/// On what, with what and when.
fn provenance(records: &[Record]) -> String {
    let mut devices: Vec<&Device> = Vec::new();
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
    let mut text = table(&rows);
    if let Some(first) = records.first() {
        let (version, commit, date) =
            (escape(&first.version), escape(&first.commit), escape(&first.date));
        text += &format!("<p class=\"soft\">gravitile {version}, commit {commit}, {date}</p>");
    }
    text
}

/// What was skipped and why, and what disturbed the measurement.
fn remarks(records: &[&Record]) -> String {
    let mut out = String::new();
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let items: String = lines.iter().map(|line| format!("<li>{line}</li>")).collect();
            out += &format!(
                "<details><summary>{title} ({})</summary><ul>{items}</ul></details>\n",
                lines.len()
            );
        }
    };
    let line = |record: &&&Record| {
        let subject = match record.kernel {
            Some(_) => record.kernel_in_words(),
            None if record.run.is_some() => record.kernel_in_words(),
            None => record.series.clone(),
        };
        let size = match record.kind {
            Kind::Ceiling | Kind::Compiled => String::new(),
            // Nothing was to be timed at all.
            Kind::Skipped if record.sinks == 0 => String::new(),
            _ => format!(", {} x {}", record.sinks, record.sources),
        };
        let remark = record.remark.as_deref().unwrap_or("");
        format!("{}{size}: {}", escape(&subject), escape(remark))
    };
    let skipped = |record: &&&Record| record.kind == Kind::Skipped;
    list("Skipped, and why", records.iter().filter(skipped).map(|r| line(&r)).collect());
    let said = |record: &&&Record| record.kind == Kind::Steps && record.remark.is_some();
    list("What auto takes", records.iter().filter(said).map(|r| line(&r)).collect());
    let noisy = |record: &&&Record| {
        !matches!(record.kind, Kind::Skipped | Kind::Steps) && record.remark.is_some()
    };
    list("Not as steady as it should be", records.iter().filter(noisy).map(|r| line(&r)).collect());
    out
}

const METHOD: &str = "<section id=\"method\"><h2>How it was measured</h2>\
<p>Before a configuration is timed, its accelerations are compared with f64 on a sample of the sinks; a wrong \
kernel is not timed. Times of kernels are those of the device's own timestamps at the begin and end of a compute \
pass, where it has them, else of the wall clock around a queue that was empty before; the result file says which. \
Short evaluations are repeated within one pass. Configurations of one size take turns, the first round is dropped, \
all other samples are kept in the result file. Bars and spreads are quartiles: ± is half their distance, relative \
to the median. A GFLOP/s counts 20 flops per interaction, by the custom of GPU Gems 3, chapter 31; with jerk 60, \
by that of GRAPE codes.</p>\
<p>The model takes the slowest of the resources: instruction issue (12 FP32, 1/r reads of the tile, 4/(u r) for \
the loop), reciprocal square roots, reads of workgroup memory, storage bandwidth; with few threads also the latency \
of one thread and the speed of one workgroup; and adds the cost of a dispatch. How far roots overlap with other \
arithmetic is measured, too.</p></section>\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::record::tests::example;

    #[test]
    fn the_page_needs_nothing_else_and_keeps_hostile_text_as_text() {
        let mut hostile = example();
        hostile.series = "</style><script>alert(1)</script>".to_owned();
        hostile.device.name = "\"><img src=x onerror=alert(1)>".to_owned();
        hostile.remark = Some("<b>loud</b>".to_owned());
        let mut skipped = example();
        skipped.kind = Kind::Skipped;
        skipped.samples.clear();
        skipped.remark = Some("a tile is too large".to_owned());
        let page = page(&[example(), hostile, skipped]);
        assert!(page.contains("<svg") && page.contains("a tile is too large"));
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<b>"));
        assert!(
            !page.contains("http://")
                || page.matches("http").count() == page.matches("http://www.w3.org").count()
        );
        assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
    }
}
