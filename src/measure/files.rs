//! Result files: JSON lines for programs, CSV for spreadsheets.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::record::Record;
use crate::error::{Error, Result};

/// Largest result file that is read: a hundred times what `--figure all` writes.
const LARGEST: u64 = 64 << 20;

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
/// Errors: [`Error::Io`]; [`Error::File`] with the line, for a file that is truncated, of another
/// version, not a result file at all, or has numbers that no measurement gives.
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
    let mut reader = BufReader::new(file.take(LARGEST));
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
            let end = if whole { "" } else { "; the file ends in it: truncated?" };
            Error::file(path, format!("line {number}: {problem}{end}"))
        })?);
    }
    if records.is_empty() {
        return Err(Error::file(path, "holds no result"));
    }
    Ok(records)
}

fn parse(line: &[u8]) -> Result<Record, String> {
    // The version first, so that a newer file is not blamed for its new fields.
    #[derive(serde::Deserialize)]
    struct Head {
        format: u32,
    }
    let head: Head = serde_json::from_slice(line)
        .map_err(|error| format!("no line of a gravitile result file ({error})"))?;
    if head.format != super::record::FORMAT {
        let (theirs, ours) = (head.format, super::record::FORMAT);
        return Err(format!("it is of format {theirs}, but this program reads {ours}"));
    }
    let record: Record = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    record.fault().map_or(Ok(record), Err)
}

/// The records as CSV: one row each, statistics instead of samples.
pub fn to_csv(records: &[Record]) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    let header = [
        "figure",
        "series",
        "x",
        "kind",
        "device",
        "backend",
        "driver",
        "kernel",
        "ceiling",
        "sinks",
        "sources",
        "samples",
        "median_secs",
        "lower_quartile_secs",
        "upper_quartile_secs",
        "min_secs",
        "max_secs",
        "work",
        "per_sec",
        "predicted_per_sec",
        "limit",
        "rms_error",
        "rms_jerk_error",
        "rms_snap_error",
        "engine",
        "precision",
        "order",
        "integrator",
        "softening",
        "eta",
        "eta6",
        "until",
        "energy_error",
        "blocks",
        "body_steps",
        "method",
        "version",
        "commit",
        "date",
        "remark",
    ];
    out.write_record(header).expect("memory should take it");
    for record in records {
        let summary = record.summary();
        let number = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:e}"));
        let of = |get: fn(&super::Summary) -> f64| number(summary.as_ref().map(get));
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let (direct, run) = (record.direct.as_ref(), record.run.as_ref());
        let outcome = run.and_then(|run| run.outcome);
        let either = |a: Option<&String>, b: Option<&String>| a.or(b).cloned().unwrap_or_default();
        out.write_record([
            record.figure.clone(),
            record.series.clone(),
            record.x.to_string(),
            format!("{:?}", record.kind).to_lowercase(),
            record.device.name.clone(),
            record.device.backend.clone(),
            record.device.driver.clone(),
            record.kernel_in_words(),
            text(&record.ceiling),
            record.sinks.to_string(),
            record.sources.to_string(),
            record.samples.len().to_string(),
            of(|s| s.median),
            of(|s| s.lower),
            of(|s| s.upper),
            of(|s| s.min),
            of(|s| s.max),
            number(Some(record.work)),
            number(record.per_sec()),
            number(record.predicted_per_sec),
            text(&record.limit),
            number(record.rms_error),
            number(direct.and_then(|d| d.rms_jerk)),
            number(direct.and_then(|d| d.rms_snap)),
            either(direct.map(|d| &d.engine), run.map(|r| &r.engine)),
            either(direct.map(|d| &d.precision), run.map(|r| &r.precision)),
            either(direct.map(|d| &d.order), None),
            either(run.map(|r| &r.integrator), None),
            number(run.map(|r| r.softening)),
            number(run.map(|r| r.eta)),
            number(run.and_then(|r| r.eta6)),
            number(run.map(|r| r.until)),
            number(outcome.map(|o| o.energy_error)),
            outcome.map_or(String::new(), |o| o.blocks.to_string()),
            outcome.map_or(String::new(), |o| o.body_steps.to_string()),
            record.method.clone(),
            record.version.clone(),
            record.commit.clone(),
            record.date.clone(),
            text(&record.remark),
        ])
        .expect("memory should take it");
    }
    let bytes = out.into_inner().expect("memory should take it");
    String::from_utf8(bytes).expect("CSV of text should be text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::record::tests::example;

    fn written(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        crate::files::replace(&path, text.as_bytes()).unwrap();
        (folder, path)
    }

    #[test]
    fn records_come_back_as_they_were() {
        let mut skipped = example();
        skipped.kind = super::super::record::Kind::Skipped;
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
        check(&whole[..whole.len() - 40], &["line 2", "truncated"]);
        check("", &["no result"]);
        check("\x7fELF\x02\u{0}\n", &["line 1", "no line of a gravitile result file"]);
        check("{\"format\":7,\"new\":[]}\n", &["format 7", "reads 1"]);
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
