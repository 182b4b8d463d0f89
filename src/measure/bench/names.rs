//! Names and numbers for records and for display.

use super::record::RecordedDevice;
use crate::forces::ForceEngine;
use crate::forces::direct::CpuSingle;

/// The processor as a device, under its own name.
pub fn cpu_device() -> RecordedDevice {
    let engine = CpuSingle::new();
    RecordedDevice {
        name: cpu_name(),
        kind: "CPU".to_owned(),
        backend: "cpu".to_owned(),
        driver: engine.describe(),
    }
}

fn cpu_name() -> String {
    // Linux reports it; elsewhere the architecture is used.
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    plain(&name.unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH)))
}

/// One line without control characters, short enough for a result file.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(290).collect()
}

/// A measured number with three significant digits: 0.0123, 1.23, 12.3, 1,230.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "-".to_owned() };
    }
    let power = value.abs().log10().floor() as i32;
    if power >= 3 {
        return if power < 9 { thousands(value.round() as i64) } else { format!("{value:.2e}") };
    }
    if power < -4 {
        return format!("{value:.2e}");
    }
    format!("{value:.*}", (2 - power).max(0) as usize)
}

/// A table in Markdown, with notes below; the first row is the header, and these columns are
/// numbers.
pub(super) fn markdown(
    rows: &[Vec<String>],
    numbers: std::ops::Range<usize>,
    notes: &[String],
) -> String {
    let escaped = |text: &String| text.replace('|', "\\|");
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| format!("| {} |\n", row.iter().map(escaped).collect::<Vec<_>>().join(" | ")))
        .collect();
    let columns = 0..rows.first().map_or(0, Vec::len);
    let marks = columns.map(|column| if numbers.contains(&column) { "---:|" } else { "---|" });
    lines.insert(lines.len().min(1), format!("|{}\n", marks.collect::<String>()));
    lines.extend(notes.iter().map(|note| format!("\n\\* {}\n", escaped(note))));
    lines.concat()
}

/// A whole number with commas.
pub(super) fn thousands(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0 { format!("-{out}") } else { out }
}
