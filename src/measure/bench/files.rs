//! Result files: JSON lines for programs, CSV for spreadsheets.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::RunOutcome;
use super::record::Record;
use crate::error::{Error, Result};
use crate::measure::Summary;

/// Largest result file that is read: a hundred times the size of what `--figure all` writes.
const LARGEST: u64 = 64 << 20;

/// What to do about a file of which the last line is not whole.
const CUT: &str = "; the file ends in it: truncated? Without this line the others can be read";

/// The records as JSON lines.
pub fn to_json_lines(records: &[Record]) -> String {
    let line = |record: &Record| {
        serde_json::to_string(record).expect("a record should be JSON: its numbers are finite")
            + "\n"
    };
    records.iter().map(line).collect()
}

/// Reads a result file.
///
/// # Errors
///
/// [`Error::Io`]; [`Error::File`] with the line, for a file that is truncated, of another version,
/// not a result file, or contains impossible numbers.
pub fn read_json_lines(path: &Path) -> Result<Vec<Record>> {
    let io = |error| Error::io("read", path, error);
    let file = std::fs::File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if metadata.is_dir() {
        return Err(Error::file(path, "is a folder; a result file (.jsonl) was expected"));
    }
    if metadata.len() > LARGEST {
        let (bytes, most) = (metadata.len(), LARGEST >> 20);
        return Err(Error::file(
            path,
            format!("has {bytes} bytes; a result file has at most {most} MiB"),
        ));
    }
    read_lines(path, BufReader::new(file.take(LARGEST)))
}

/// The records in a text, whose name stands in errors.
///
/// # Errors
///
/// [`Error::File`], as of [`read_json_lines`].
pub fn parse_json_lines(name: &str, text: &str) -> Result<Vec<Record>> {
    read_lines(Path::new(name), text.as_bytes())
}

fn read_lines(path: &Path, mut reader: impl BufRead) -> Result<Vec<Record>> {
    let io = |error| Error::io("read", path, error);
    let (mut records, mut line, mut number) = (Vec::new(), Vec::new(), 0);
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(io)? == 0 {
            break;
        }
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let whole = line.ends_with(b"\n");
        records.push(parse(&line).map_err(|problem| {
            let end = if whole { "" } else { CUT };
            Error::file(path, format!("line {number}: {problem}{end}"))
        })?);
    }
    if records.is_empty() {
        return Err(Error::file(path, "holds no result"));
    }
    Ok(records)
}

/// For each figure, the records of the latest run that has it.
pub fn latest(records: &[Record]) -> Vec<Record> {
    let key = |record: &Record| {
        let (day, time) = record.run_key();
        (day.to_owned(), time.to_owned())
    };
    let last: HashMap<&str, _> = records.iter().map(|r| (r.figure.as_str(), key(r))).collect();
    records.iter().filter(|r| last.get(r.figure.as_str()) == Some(&key(r))).cloned().collect()
}

fn parse(line: &[u8]) -> Result<Record, String> {
    // Checks the version first, so that a newer file is not rejected for its new fields.
    #[derive(serde::Deserialize)]
    struct Head {
        format: u32,
    }
    let head: Head = serde_json::from_slice(line)
        .map_err(|error| format!("not a line of a gravitile result file ({error})"))?;
    if !(super::record::OLDEST..=super::record::FORMAT).contains(&head.format) {
        let (theirs, ours) = (head.format, super::record::FORMAT);
        return Err(format!("it is of format {theirs}, but this program reads {ours}"));
    }
    let record: Record = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    record.fault().map_or(Ok(record), Err)
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:e}"))
}

fn count(value: Option<u64>) -> String {
    value.map_or(String::new(), |count| count.to_string())
}

fn text(value: &Option<String>) -> String {
    value.clone().unwrap_or_default()
}

fn either(a: Option<&String>, b: Option<&String>) -> String {
    a.or(b).cloned().unwrap_or_default()
}

fn summary(record: &Record, value: fn(&Summary) -> f64) -> String {
    number(record.summary().as_ref().map(value))
}

fn outcome(record: &Record) -> Option<RunOutcome> {
    record.run.as_ref().and_then(|run| run.outcome)
}

type CellText = fn(&Record) -> String;

/// The columns of the CSV: name, and value for a row.
const COLUMNS: [(&str, CellText); 46] = [
    ("figure", |r| r.figure.clone()),
    ("series", |r| r.series.clone()),
    ("x", |r| r.x.to_string()),
    ("kind", |r| format!("{:?}", r.kind).to_lowercase()),
    ("device", |r| r.device.name.clone()),
    ("backend", |r| r.device.backend.clone()),
    ("driver", |r| r.device.driver.clone()),
    ("kernel", |r| r.kernel_in_words()),
    ("ceiling", |r| text(&r.ceiling)),
    ("sinks", |r| r.sinks.to_string()),
    ("sources", |r| r.sources.to_string()),
    ("samples", |r| r.samples.len().to_string()),
    ("median_secs", |r| summary(r, |s| s.median)),
    ("lower_quartile_secs", |r| summary(r, |s| s.lower)),
    ("upper_quartile_secs", |r| summary(r, |s| s.upper)),
    ("min_secs", |r| summary(r, |s| s.min)),
    ("max_secs", |r| summary(r, |s| s.max)),
    ("work", |r| number(Some(r.work))),
    ("per_sec", |r| number(r.per_sec())),
    ("predicted_per_sec", |r| number(r.predicted_per_sec)),
    ("limit", |r| text(&r.limit)),
    ("rms_error", |r| number(r.rms_error)),
    ("rms_jerk_error", |r| number(r.direct.as_ref().and_then(|d| d.rms_jerk))),
    ("rms_snap_error", |r| number(r.direct.as_ref().and_then(|d| d.rms_snap))),
    ("engine", |r| either(r.direct.as_ref().map(|d| &d.engine), r.run.as_ref().map(|r| &r.engine))),
    ("precision", |r| {
        either(r.direct.as_ref().map(|d| &d.precision), r.run.as_ref().map(|r| &r.precision))
    }),
    ("order", |r| either(r.direct.as_ref().map(|d| &d.order), None)),
    ("integrator", |r| either(r.run.as_ref().map(|r| &r.integrator), None)),
    ("softening", |r| number(r.run.as_ref().map(|r| r.softening))),
    ("eta", |r| number(r.run.as_ref().map(|r| r.eta))),
    ("eta6", |r| number(r.run.as_ref().and_then(|r| r.eta6))),
    ("until", |r| number(r.run.as_ref().map(|r| r.until))),
    ("energy_error", |r| number(outcome(r).map(|o| o.energy_error))),
    ("blocks", |r| count(outcome(r).map(|o| o.blocks))),
    ("body_steps", |r| count(outcome(r).map(|o| o.body_steps))),
    ("rule", |r| r.tree.as_ref().map_or(String::new(), |tree| tree.rule_in_words())),
    ("median_error", |r| number(r.tree.as_ref().and_then(|tree| tree.error_of(0.5)))),
    ("error_of_one_in_100", |r| number(r.tree.as_ref().and_then(|tree| tree.error_of(0.01)))),
    ("error_of_one_in_1000", |r| number(r.tree.as_ref().and_then(|tree| tree.error_of(0.001)))),
    ("speed_up", |r| number(r.tree.as_ref().and_then(|tree| tree.speed_up))),
    ("method", |r| r.method.clone()),
    ("version", |r| r.version.clone()),
    ("commit", |r| r.commit.clone()),
    ("date", |r| r.date.clone()),
    ("begun", |r| text(&r.begun)),
    ("remark", |r| text(&r.remark)),
];

/// The records as CSV: one row each, statistics instead of samples.
pub fn to_csv(records: &[Record]) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(COLUMNS.map(|(name, _)| name)).expect("memory should take it");
    for record in records {
        out.write_record(COLUMNS.map(|(_, value)| value(record))).expect("memory should take it");
    }
    let bytes = out.into_inner().expect("memory should take it");
    String::from_utf8(bytes).expect("CSV of text should be text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;

    fn written(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        crate::files::replace(&path, text.as_bytes()).unwrap();
        (folder, path)
    }

    #[test]
    fn records_round_trip_through_json_lines() {
        let mut skipped = example();
        skipped.kind = super::super::record::RecordKind::Skipped;
        skipped.samples.clear();
        skipped.remark = Some("too \"large\", <b>".to_owned());
        let records = vec![example(), skipped];
        let (_folder, path) = written(&to_json_lines(&records));
        assert_eq!(read_json_lines(&path).unwrap(), records);
        let csv = to_csv(&records);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!((rows.len(), &rows[0][7], &rows[0][12]), (2, "p=256 q=1 r=1 u=4 s=2", "1.1e-3"));
    }

    #[test]
    fn latest_keeps_last_run_per_figure() {
        let at = |figure: &str, begun: &str| {
            let mut record = example();
            (record.figure, record.begun) = (figure.to_owned(), Some(begun.to_owned()));
            record
        };
        let records = [at("n", "10"), at("p", "10"), at("n", "11"), at("n", "11")];
        let left = latest(&records);
        let left: Vec<_> =
            left.iter().map(|r| (r.figure.as_str(), r.begun.as_deref().unwrap())).collect();
        assert_eq!(left, [("p", "10"), ("n", "11"), ("n", "11")]);
    }

    #[test]
    fn damaged_files_give_one_clear_error() {
        let whole = to_json_lines(&[example(), example()]);
        let check = |text: &str, words: &[&str]| {
            let (_folder, path) = written(text);
            let error = read_json_lines(&path).unwrap_err().to_string();
            for word in words {
                assert!(error.contains(word), "'{error}' should say '{word}'");
            }
            assert_eq!(error.lines().count(), 1);
        };
        check(&whole[..whole.len() - 40], &["line 2", "truncated", "Without this line"]);
        check("", &["no result"]);
        check("\x7fELF\x02\u{0}\n", &["line 1", "not a line of a gravitile result file"]);
        check("{\"format\":7,\"new\":[]}\n", &["format 7", "reads 2"]);
        check("{\"a\":1}\n", &["line 1", "format"]);
        check(&whole.replace("\"x\":4096.0", "\"x\":-1"), &["line 1", "negative"]);
        check(&whole.replace("0.001,", "1e999,"), &["line 1"]);
        check(&"[".repeat(100_000), &["line 1"]);
        check(&whole.replace("Made-up GPU", &"x".repeat(1000)), &["device.name"]);
        let missing = read_json_lines(Path::new("/nonexistent/a.jsonl")).unwrap_err();
        assert!(missing.to_string().contains("a.jsonl"));
        assert!(read_json_lines(&std::env::temp_dir()).is_err());
    }
}
