//! A case that was compared with f64. One description of it gives its part of a table, its row for
//! `--json` and, if it did not pass, a line.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cli::print;
use gravitile::measure::{ErrorStats, grouped};

/// A case that was compared with f64.
pub struct Checked {
    pub passed: bool,
    /// The cells before its errors. Cases with equal cells share a line of the table.
    pub group: Vec<String>,
    /// What was checked, by key of the JSON row.
    pub case: Vec<(&'static str, Value)>,
    /// The errors by key, `None` if not computed; `jerk/rms` is the entry `rms` of an object.
    pub errors: Vec<(String, Option<f64>)>,
    /// Further conditions: key, value in JSON, and the problem if one does not hold.
    pub conditions: Vec<(&'static str, Value, Option<String>)>,
}

/// The largest and the rms error of a quantity, under keys that begin with `name` and a separator.
pub fn errors_of(name: &str, stats: Option<ErrorStats>) -> [(String, Option<f64>); 2] {
    [
        (format!("{name}worst"), stats.map(|stats| stats.worst)),
        (format!("{name}rms"), stats.map(|stats| stats.rms)),
    ]
}

/// A condition that holds or not.
pub fn holds(
    key: &'static str,
    holds: bool,
    problem: &str,
) -> (&'static str, Value, Option<String>) {
    (key, holds.into(), (!holds).then(|| problem.to_owned()))
}

/// A condition whose value in JSON is the problem, or null.
pub fn no_problem(
    key: &'static str,
    found: &Result<(), String>,
) -> (&'static str, Value, Option<String>) {
    let problem = found.clone().err();
    (key, json!(problem), problem)
}

impl Checked {
    fn json(&self) -> Value {
        let mut row = json!({ "passed": self.passed });
        for (key, value) in &self.case {
            row[key] = value.clone();
        }
        for (key, value, _) in &self.conditions {
            row[key] = value.clone();
        }
        for (key, error) in &self.errors {
            match (key.split_once('/'), error) {
                (None, error) => row[key] = json!(error),
                (Some((object, key)), Some(error)) => row[object][key] = json!(error),
                (Some((object, _)), None) => row[object] = Value::Null,
            }
        }
        row
    }

    /// All of it in one line.
    fn line(&self) -> String {
        let case = self.case.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{} {text}", key.replace('_', " "))
        });
        let errors = self.errors.iter().filter_map(|(key, error)| {
            Some(format!("{} {:.1e}", key.replace(['_', '/'], " "), (*error)?))
        });
        let problems = self.conditions.iter().filter_map(|(_, _, problem)| problem.clone());
        case.chain(errors).chain(problems).collect::<Vec<_>>().join(", ")
    }
}

/// A table of cases. The widths are fixed, so that lines can be printed as results arrive.
pub struct Table {
    /// Titles and widths of the columns of [`Checked::group`].
    pub by: &'static [(&'static str, usize)],
    /// Titles and keys of errors; a cell is the largest among the cases of a line.
    pub errors: &'static [(&'static str, &'static str)],
}

impl Table {
    pub fn header(&self) -> String {
        let by = self.by.iter().map(|(title, _)| *title);
        let errors = self.errors.iter().map(|(title, _)| *title);
        self.line(by.chain(["cases"]).chain(errors).map(str::to_owned).collect())
    }

    fn line(&self, cells: Vec<String>) -> String {
        let by = self.by.iter().map(|(_, width)| *width);
        let errors = self.errors.iter().map(|(title, _)| title.len().max(7));
        print::row(&cells, &by.chain([5]).chain(errors).chain([6]).collect::<Vec<_>>())
    }

    fn line_of(&self, group: &[&Checked]) -> String {
        // Not f64::max, which would skip a NaN.
        let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        let cell = |key: &str| {
            let errors = group.iter().flat_map(|one| &one.errors).filter(|(known, _)| known == key);
            let largest = errors.filter_map(|(_, error)| *error).reduce(larger);
            largest.map_or_else(String::new, |error| format!("{error:.1e}"))
        };
        let mut cells = group[0].group.clone();
        cells.push(group.len().to_string());
        cells.extend(self.errors.iter().map(|(_, key)| cell(key)));
        cells.push(if group.iter().all(|one| one.passed) { "ok" } else { "FAILED" }.to_owned());
        self.line(cells)
    }
}

/// Cases as text and as rows for `--json`.
#[derive(Default, Serialize, Deserialize)]
pub struct Results {
    pub text: String,
    pub failed: usize,
    /// How many were compared with f64, and how many of these passed.
    pub compared: [usize; 2],
    pub rows: Vec<Value>,
}

impl Results {
    /// The lines of the table, and one for each case that did not pass.
    pub fn of(cases: &[Checked], table: &Table) -> Self {
        let groups = grouped(cases.iter().map(|one| (&one.group, one)));
        let lines = groups.iter().map(|(_, group)| table.line_of(group));
        let failed = || cases.iter().filter(|one| !one.passed);
        let compared = || cases.iter().filter(|one| !one.errors.is_empty());
        let failures = failed().map(|one| format!("FAILED {}\n", one.line()));
        Self {
            text: lines.chain(failures).collect(),
            failed: failed().count(),
            compared: [compared().count(), compared().filter(|one| one.passed).count()],
            rows: cases.iter().map(Checked::json).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table { by: &[("kernel", 8)], errors: &[("worst a", "a/worst")] };

    fn checked(name: &str, worst: f64, problem: &str) -> Checked {
        let stats = ErrorStats { worst, rms: 0.5 * worst };
        Checked {
            passed: problem.is_empty(),
            group: vec![name.to_owned()],
            case: vec![("kernel", json!(name)), ("sinks", json!(3))],
            errors: [errors_of("a/", Some(stats)), errors_of("b/", None)].concat(),
            conditions: vec![holds("in_bounds", problem.is_empty(), problem)],
        }
    }

    #[test]
    fn cases_of_one_kernel_share_a_line_and_failures_have_their_own() {
        let cases = [
            checked("one", 1e-7, ""),
            checked("two", f64::INFINITY, "wrote past its end"),
            checked("one", 3e-7, ""),
        ];
        let results = Results::of(&cases, &TABLE);
        let lines: Vec<&str> = results.text.lines().collect();
        assert_eq!(lines[0], "one       2      3.0e-7   ok");
        assert_eq!(lines[1], "two       1      inf      FAILED");
        assert_eq!(
            lines[2],
            "FAILED kernel two, sinks 3, a worst inf, a rms inf, wrote past its end"
        );
        assert_eq!((results.failed, results.compared, lines.len()), (1, [3, 2], 3));
        let row = &results.rows[0];
        assert_eq!((&row["a"]["rms"], &row["b"]), (&json!(5e-8), &Value::Null));
        assert_eq!((&row["in_bounds"], &row["passed"]), (&json!(true), &json!(true)));
    }
}
