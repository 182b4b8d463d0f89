//! Tables of records, as cells of text: a header, and a row for each measurement.

use crate::forces::direct::FLOPS;
use crate::measure::figures::FLOPS_WITH_JERK;
use crate::measure::plot::{number, short};
use crate::measure::{Ceiling, Record, RecordKind, Summary};

/// All tables of some records, in the order of a report; those without rows are left out.
pub fn tables(records: &[&Record]) -> Vec<Vec<Vec<String>>> {
    let all = [ceilings, rates, compiled, derivatives, runs, times];
    let made = all.into_iter().map(|table| table(records));
    made.filter(|table| table.len() > 1).collect()
}

/// A time for display: 1.23 ms.
fn duration(secs: f64) -> String {
    let (value, unit) = match secs {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "µs"),
        s => (s * 1e9, "ns"),
    };
    format!("{} {unit}", number(value))
}

/// A column: its header, and the cell of a row.
type TableColumn<'c, R> = (&'c str, &'c dyn Fn(R) -> String);

fn table<R: Copy>(
    rows: impl Iterator<Item = R>,
    columns: &[TableColumn<'_, R>],
) -> Vec<Vec<String>> {
    let header = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let row = |row: R| columns.iter().map(|(_, cell)| cell(row)).collect();
    std::iter::once(header).chain(rows.map(row)).collect()
}

/// A record with the statistics of its samples.
#[derive(Clone, Copy)]
struct TimedRecord<'r> {
    record: &'r Record,
    summary: Summary,
}

impl TimedRecord<'_> {
    fn rate(self) -> f64 {
        self.record.work / self.summary.median
    }

    fn size(self) -> String {
        let (sinks, sources) = (self.record.sinks, self.record.sources);
        format!("{} x {}", short(sinks as f64), short(sources as f64))
    }

    fn median(self) -> String {
        duration(self.summary.median)
    }

    fn spread(self) -> String {
        format!("±{:.1} %", 50.0 * self.summary.spread())
    }
}

/// The measured records of some kinds.
fn timed<'r>(
    records: &[&'r Record],
    kinds: &[RecordKind],
) -> impl Iterator<Item = TimedRecord<'r>> {
    let of_kind = records.iter().copied().filter(|record| kinds.contains(&record.kind));
    of_kind.filter_map(|record| Some(TimedRecord { record, summary: record.summary()? }))
}

fn small(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.1e}"))
}

fn count(value: Option<u64>) -> String {
    value.map_or(String::new(), |count| count.to_string())
}

/// Rates of kernels and steps.
pub(super) fn rates(records: &[&Record]) -> Vec<Vec<String>> {
    let model = |r: TimedRecord| r.record.predicted_per_sec.filter(|model| *model > 0.0);
    table(
        timed(records, &[RecordKind::Forces, RecordKind::Steps]),
        &[
            ("sinks x sources", &|r| r.size()),
            ("who", &|r| r.record.series.clone()),
            ("kernel", &|r| r.record.kernel.map_or(String::new(), |kernel| kernel.to_string())),
            ("median time", &|r| r.median()),
            ("spread", &|r| r.spread()),
            ("G interactions/s", &|r| number(r.rate() / 1e9)),
            ("GFLOP/s", &|r| number(FLOPS * r.rate() / 1e9)),
            ("model", &|r| model(r).map_or(String::new(), |model| number(model / 1e9))),
            ("measured / model", &|r| {
                model(r).map_or(String::new(), |model| format!("{:.0} %", 100.0 * r.rate() / model))
            }),
            ("limit by the model", &|r| r.record.limit.clone().unwrap_or_default()),
        ],
    )
}

/// Times of trees and of transfers.
pub(super) fn times(records: &[&Record]) -> Vec<Vec<String>> {
    table(
        timed(records, &[RecordKind::Tree, RecordKind::Transfer]),
        &[
            ("what", &|r| r.record.series.clone()),
            ("bodies", &|r| {
                short(r.record.tree.as_ref().map_or(r.record.x, |tree| tree.bodies as f64))
            }),
            ("rule", &|r| {
                r.record.tree.as_ref().map_or(String::new(), |tree| tree.rule_in_words())
            }),
            ("median time", &|r| r.median()),
            ("spread", &|r| r.spread()),
            ("rms error", &|r| small(r.record.rms_error)),
            ("all pairs / tree", &|r| {
                r.record.tree.as_ref().and_then(|tree| tree.speed_up).map_or(String::new(), number)
            }),
        ],
    )
}

/// The ceilings.
pub(super) fn ceilings(records: &[&Record]) -> Vec<Vec<String>> {
    let rows = timed(records, &[RecordKind::Ceiling]);
    let rows = rows.filter_map(|timed| Some((timed, timed.record.ceiling()?)));
    table(
        rows,
        &[
            ("ceiling", &|(_, ceiling): (TimedRecord, Ceiling)| ceiling.title().to_owned()),
            ("measured", &|(timed, ceiling)| {
                format!("{} {}", number(ceiling.in_unit(timed.rate())), ceiling.unit().0)
            }),
            ("spread", &|(timed, _)| timed.spread()),
        ],
    )
}

/// What compilers reported.
pub(super) fn compiled(records: &[&Record]) -> Vec<Vec<String>> {
    let mean = |value: Option<f64>| value.map_or(String::new(), |x| format!("{x:.2}"));
    let rows = records.iter().copied().filter_map(|r| Some((r, r.compiled.as_ref()?)));
    table(
        rows,
        &[
            ("kernel", &|(record, _)| record.kernel_in_words()),
            ("device", &|(record, _)| record.device.name.clone()),
            ("instructions per interaction", &|(_, c)| mean(c.per_interaction)),
            ("of vector units", &|(_, c)| mean(c.vector_per_interaction)),
            ("registers", &|(_, c)| count(c.registers)),
            ("spilled", &|(_, c)| count(c.spilled)),
            ("workgroup memory", &|(_, c)| count(c.workgroup_memory)),
            ("subgroups per SIMD", &|(_, c)| count(c.subgroups_per_simd)),
            ("limited by", &|(_, c)| {
                c.limited_by.map_or(String::new(), |limit| limit.name().to_owned())
            }),
        ],
    )
}

/// Rates and errors of forces with derivatives. GFLOP/s count 20 flops for an acceleration and 60
/// including the jerk.
pub(super) fn derivatives(records: &[&Record]) -> Vec<Vec<String>> {
    let rows = timed(records, &[RecordKind::Derivatives]);
    let rows = rows.filter_map(|timed| Some((timed, timed.record.direct.as_ref()?)));
    table(
        rows,
        &[
            ("sinks x sources", &|(timed, _)| timed.size()),
            ("who", &|(_, direct)| direct.tier()),
            ("up to", &|(_, direct)| direct.order.clone()),
            ("median time", &|(timed, _)| timed.median()),
            ("spread", &|(timed, _)| timed.spread()),
            ("G interactions/s", &|(timed, _)| number(timed.rate() / 1e9)),
            ("GFLOP/s", &|(timed, direct)| match direct.order.as_str() {
                "acceleration" => number(FLOPS * timed.rate() / 1e9),
                "jerk" => number(FLOPS_WITH_JERK * timed.rate() / 1e9),
                _ => String::new(),
            }),
            ("rms a", &|(timed, _)| small(timed.record.rms_error)),
            ("rms jerk", &|(_, direct)| small(direct.rms_jerk)),
            ("rms snap", &|(_, direct)| small(direct.rms_snap)),
        ],
    )
}

/// Runs on individual steps.
pub(super) fn runs(records: &[&Record]) -> Vec<Vec<String>> {
    let rows = timed(records, &[RecordKind::Run]).filter_map(|timed| {
        let run = timed.record.run.as_ref()?;
        Some((timed, run, run.outcome?))
    });
    table(
        rows,
        &[
            ("N", &|(timed, ..)| short(timed.record.x)),
            ("eps", &|(_, run, _)| number(run.softening)),
            ("to t", &|(_, run, _)| number(run.until)),
            ("integrator", &|(_, run, _)| run.integrator.clone()),
            ("eta", &|(_, run, _)| number(run.eta)),
            ("who", &|(_, run, _)| run.tier()),
            ("energy error", &|(.., outcome)| format!("{:.2e}", outcome.energy_error)),
            ("time", &|(timed, ..)| timed.median()),
            ("blocks", &|(.., outcome)| outcome.blocks.to_string()),
            ("bodies per block", &|(.., outcome)| format!("{:.1}", outcome.mean_active())),
            ("steps/s", &|(timed, _, outcome)| {
                format!("{:.0}", outcome.body_steps as f64 / timed.summary.median)
            }),
            ("G interactions/s", &|(timed, ..)| number(timed.rate() / 1e9)),
            // There is no customary flop count for forces with snaps.
            ("GFLOP/s at 60", &|(timed, run, _)| match run.eta6 {
                Some(_) => String::new(),
                None => number(FLOPS_WITH_JERK * timed.rate() / 1e9),
            }),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;
    use crate::measure::{DirectFacts, RunFacts};

    #[test]
    fn table_rows_match_samples() {
        let table = rates(&[&example()]);
        let row = &table[1];
        assert_eq!(row[0], "4,096 x 4,096");
        assert_eq!(row[3], "1.10 ms");
        assert_eq!(row[4], "±4.5 %");
        assert_eq!((row[5].as_str(), row[6].as_str()), ("15.3", "305"));
        assert_eq!((row[7].as_str(), row[8].as_str()), ("20.0", "76 %"));
        let mut ceiling = example();
        ceiling.kind = RecordKind::Ceiling;
        ceiling.ceiling = Some("dispatch".to_owned());
        (ceiling.work, ceiling.samples) = (100.0, vec![1e-3]);
        assert_eq!(ceilings(&[&ceiling])[1][1], "10.0 µs");
        assert_eq!(duration(2.5e-9), "2.50 ns");
    }

    #[test]
    fn rows_of_derivatives_and_runs_match_records() {
        let mut record = example();
        (record.kind, record.kernel) = (RecordKind::Derivatives, None);
        record.direct = Some(DirectFacts {
            engine: "gpu".to_owned(),
            precision: "double-single".to_owned(),
            order: "jerk".to_owned(),
            potential: true,
            rms_jerk: Some(3e-7),
            rms_snap: None,
        });
        let table = derivatives(&[&record, &example()]);
        assert_eq!(table.len(), 2, "plain forces have a table of their own");
        assert_eq!(table[1][1..4], ["gpu double-single", "jerk", "1.10 ms"]);
        assert_eq!(table[1][5..], ["15.3", "915", "2.0e-7", "3.0e-7", ""]);

        (record.kind, record.direct) = (RecordKind::Run, None);
        (record.samples, record.work) = (vec![2.0], 4e9);
        record.run = Some(RunFacts::example());
        let row = &runs(&[&record])[1];
        assert_eq!(row[3..6], ["hermite4", "0.0100", "cpu double"]);
        assert_eq!(row[6..], ["1.50e-9", "2.00 s", "100", "12.3", "617", "2.00", "120"]);
    }
}
