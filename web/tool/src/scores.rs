//! The page of scores: the table of `benches/results/README.md`, which `script/quote` makes from
//! the result files there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::scenes::escape;

const PLACE: &str = "<!-- table -->";

/// Writes `scores.html` into `out`, from the table and the page's text in `web/`.
pub fn write(root: &Path, out: &Path) -> Result<()> {
    let results = fs::read_to_string(root.join("benches/results/README.md"))?;
    let page = fs::read_to_string(root.join("web/scores.html")).context("web/scores.html")?;
    ensure!(page.contains(PLACE), "web/scores.html has no place for the table");
    let table = table(&results).context("benches/results/README.md has no table of scores")?;
    fs::write(out.join("scores.html"), page.replace(PLACE, &table))?;
    Ok(())
}

/// The Markdown table of scores in a text as HTML, followed by the remarks on runs.
fn table(text: &str) -> Option<String> {
    let quote = text.split_once("<!-- quote: scores -->")?.1.split_once("<!-- /quote -->")?.0;
    let mut lines = quote.lines().filter(|line| line.starts_with('|'));
    let head = cells(lines.next()?);
    // A column whose rule ends in a colon is of numbers.
    let is_number: Vec<bool> =
        cells(lines.next()?).iter().map(|rule| rule.ends_with(':')).collect();
    let class =
        |column: usize| if is_number.get(column) == Some(&true) { " class=\"number\"" } else { "" };
    let mut html = "<div class=\"wide\"><table>\n<thead><tr>".to_owned();
    for (column, name) in head.iter().enumerate() {
        html += &format!("<th{}><button>{}</button></th>", class(column), escape(name));
    }
    html += "</tr></thead>\n<tbody>\n";
    for line in lines {
        let row = cells(line);
        let row = row
            .iter()
            .enumerate()
            .map(|(column, cell)| format!("<td{}>{}</td>", class(column), escape(cell)));
        html += &format!("<tr>{}</tr>\n", row.collect::<String>());
    }
    html += "</tbody>\n</table></div>\n";
    for remark in quote.lines().filter_map(|line| line.strip_prefix("\\* ")) {
        html += &format!("<p>* {}</p>\n", escape(remark));
    }
    Some(html)
}

/// The cells of a row; a bar within a cell is written `\|`.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').replace("\\|", "\u{1}");
    let line = line.strip_suffix('|').unwrap_or(&line);
    line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_every_row_with_numbers_as_such_and_nothing_unescaped() {
        let text = "# Scores\n<!-- quote: scores -->\n| device | score |\n|---|---:|\n| A \\| <b> | 1,080 * |\n| C | – |\n\n\
                    \\* A, 2026: busy & slow\n<!-- /quote -->\n| other | table |\n";
        let html = table(text).unwrap();
        assert!(html.contains("<th class=\"number\"><button>score</button></th>"), "{html}");
        assert!(
            html.contains("<tr><td>A | &lt;b&gt;</td><td class=\"number\">1,080 *</td></tr>"),
            "{html}"
        );
        assert!(
            html.contains("<p>* A, 2026: busy &amp; slow</p>") && !html.contains("other"),
            "{html}"
        );
        assert!(table("no table").is_none());
    }

    #[test]
    fn page_has_the_scores_of_the_repository() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = tempfile::tempdir().unwrap();
        write(&root, out.path()).unwrap();
        let page = fs::read_to_string(out.path().join("scores.html")).unwrap();
        let results = fs::read_to_string(root.join("benches/results/README.md")).unwrap();
        let rows = results.lines().filter(|line| line.starts_with('|')).count() - 2;
        assert_eq!(page.matches("<tr><td>").count(), rows);
        assert!(page.contains("NVIDIA H200") && !page.contains(PLACE));
    }
}
