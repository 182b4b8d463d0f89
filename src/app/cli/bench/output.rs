//! What a session prints: a heading, a line for each figure, the numbers at the end.

use crate::cli::print;
use gravitile::gpu::Gpu;
use gravitile::measure::figures::Figure;
use gravitile::measure::{Kind, Record, Sizes, cpu_device, grouped, report};

/// What is measured, and at which sizes.
pub fn heading(gpu: Option<&Gpu>, sizes: &Sizes) -> String {
    let cpu = cpu_device();
    let mut text = match gpu {
        Some(gpu) => {
            let adapter = &gpu.adapter;
            format!("adapter {} ({}, {})\n", adapter.name, adapter.backend, adapter.driver)
        }
        None => "no adapter: CPU engine only\n".to_owned(),
    };
    text += &format!("cpu     {}, {}\nsizes   {}\n", cpu.name, cpu.driver, sizes.name);
    text
}

/// A line for a finished figure.
pub fn finished(figure: &Figure, records: &[Record], secs: f64, has_adapter: bool) -> String {
    let own = records.iter().filter(|record| record.figure == figure.name);
    let (skipped, measured): (Vec<_>, Vec<_>) = own.partition(|r| r.kind == Kind::Skipped);
    let (skipped, measured) = (skipped.len(), measured.len());
    if skipped + measured == 0 && !has_adapter {
        return format!("{:<10} nothing measured: needs a graphics adapter\n", figure.name);
    }
    let mut text = format!("{:<10} {measured} measured", figure.name);
    if skipped > 0 {
        text += &format!(", {skipped} skipped");
    }
    text + &format!(", {secs:.1} s\n")
}

/// What is printed at the end: the numbers of a single figure; for `all`, those of the table.
pub fn summary(records: &[Record], figures: &[Figure]) -> String {
    let shown = &figures[0];
    let own = records.iter().filter(|record| record.figure == shown.name);
    let mut text = String::new();
    let with_ceilings = |r: &&Record| r.figure == shown.name || r.kind == Kind::Ceiling;
    for table in report::tables(&records.iter().filter(with_ceilings).collect::<Vec<_>>()) {
        text += &format!("\n{}", print::table(&table));
    }
    for line in shown.conclusions(records) {
        text += &format!("{line}\n");
    }
    // A remark on many candidates is printed once, with the candidates it applies to.
    let remark = |record: &Record| {
        let what = if record.sinks == 0 || record.devices.is_some() {
            record.series.clone()
        } else {
            format!("{}, {} x {}", record.kernel_in_words(), record.sinks, record.sources)
        };
        Some(((record.kind == Kind::Skipped, record.remark.clone()?), what))
    };
    for ((skipped, remark), rows) in grouped(own.filter_map(remark)) {
        let kind = if skipped { "skipped" } else { "note on" };
        let more = rows.len().saturating_sub(2);
        let rows = rows[..rows.len().min(2)].join("; ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text += &format!("{kind} {rows}{more}: {remark}\n");
    }
    text
}
