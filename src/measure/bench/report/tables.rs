//! Tables of records, as cells of text.

use crate::forces::direct::FLOPS;
use crate::measure::plot::{number, short};
use crate::measure::{Ceiling, Kind, Record};

/// A time for display: 1.23 ms.
pub fn duration(secs: f64) -> String {
    let (value, unit) = match secs {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "µs"),
        s => (s * 1e9, "ns"),
    };
    format!("{} {unit}", number(value))
}

/// Rates of records: a header, and a row for each measurement.
pub fn rates_table<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<Vec<String>> {
    let header = [
        "sinks x sources",
        "who",
        "kernel",
        "median time",
        "spread",
        "G interactions/s",
        "GFLOP/s",
        "model",
        "measured / model",
        "limit by the model",
    ];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    for record in records.filter(|record| matches!(record.kind, Kind::Forces | Kind::Steps)) {
        let Some(summary) = record.summary() else { continue };
        let rate = record.work / summary.median;
        let model = record.predicted_per_sec.filter(|model| *model > 0.0);
        table.push(vec![
            format!("{} x {}", short(record.sinks as f64), short(record.sources as f64)),
            record.series.clone(),
            record.kernel.map_or(String::new(), |_| record.kernel_in_words()),
            duration(summary.median),
            format!("±{:.1} %", 50.0 * summary.spread()),
            number(rate / 1e9),
            number(FLOPS * rate / 1e9),
            model.map_or(String::new(), |model| number(model / 1e9)),
            model.map_or(String::new(), |model| format!("{:.0} %", 100.0 * rate / model)),
            record.limit.clone().unwrap_or_default(),
        ]);
    }
    table
}

/// Times of trees and of transfers: a header, and a row for each measurement.
pub fn times_table<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<Vec<String>> {
    let header =
        ["what", "bodies", "rule", "median time", "spread", "rms error", "all pairs / tree"];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    for record in records.filter(|record| matches!(record.kind, Kind::Tree | Kind::Transfer)) {
        let Some(summary) = record.summary() else { continue };
        let tree = record.tree.as_ref();
        table.push(vec![
            record.series.clone(),
            short(tree.map_or(record.x, |tree| tree.bodies as f64)),
            tree.map_or(String::new(), |tree| tree.rule_in_words()),
            duration(summary.median),
            format!("±{:.1} %", 50.0 * summary.spread()),
            record.rms_error.map_or(String::new(), |rms| format!("{rms:.1e}")),
            tree.and_then(|tree| tree.speed_up).map_or(String::new(), number),
        ]);
    }
    table
}

/// The ceilings: a header, and a row for each.
pub fn ceilings_table<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<Vec<String>> {
    let mut table = vec![["ceiling", "measured", "spread"].map(str::to_owned).to_vec()];
    for record in records.filter(|record| record.kind == Kind::Ceiling) {
        let (Some(ceiling), Some(rate)) = (record.ceiling(), record.per_sec()) else { continue };
        table.push(vec![
            ceiling.title().to_owned(),
            ceiling_in_words(ceiling, rate),
            record.summary().map_or(String::new(), |s| format!("±{:.1} %", 50.0 * s.spread())),
        ]);
    }
    table
}

/// What compilers reported: a header, and a row for each kernel.
pub fn compiled_table<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<Vec<String>> {
    let header = [
        "kernel",
        "device",
        "instructions per interaction",
        "of vector units",
        "registers",
        "spilled",
        "workgroup memory",
        "subgroups per SIMD",
        "limited by",
    ];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    for record in records {
        let Some(compiled) = &record.compiled else { continue };
        let count = |value: Option<u64>| value.map_or(String::new(), |n| n.to_string());
        let mean = |value: Option<f64>| value.map_or(String::new(), |x| format!("{x:.2}"));
        table.push(vec![
            record.kernel_in_words(),
            record.device.name.clone(),
            mean(compiled.per_interaction),
            mean(compiled.vector_per_interaction),
            count(compiled.registers),
            count(compiled.spilled),
            count(compiled.workgroup_memory),
            count(compiled.subgroups_per_simd),
            compiled.limited_by.map_or(String::new(), |limit| limit.name().to_owned()),
        ]);
    }
    table
}

fn ceiling_in_words(ceiling: Ceiling, rate: f64) -> String {
    let (unit, _) = ceiling.unit();
    format!("{} {unit}", number(ceiling.in_unit(rate)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;

    #[test]
    fn table_rows_match_samples() {
        let table = rates_table([example()].iter());
        let row = &table[1];
        assert_eq!(row[0], "4,096 x 4,096");
        assert_eq!(row[3], "1.10 ms");
        assert_eq!(row[4], "±4.5 %");
        assert_eq!((row[5].as_str(), row[6].as_str()), ("15.3", "305"));
        assert_eq!((row[7].as_str(), row[8].as_str()), ("20.0", "76 %"));
        let mut ceiling = example();
        ceiling.kind = Kind::Ceiling;
        ceiling.ceiling = Some("dispatch".to_owned());
        (ceiling.work, ceiling.samples) = (100.0, vec![1e-3]);
        assert_eq!(ceilings_table([ceiling].iter())[1][1], "10.0 µs");
        assert_eq!(duration(2.5e-9), "2.50 ns");
    }
}
