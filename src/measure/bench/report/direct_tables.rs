//! Tables of forces with derivatives and of runs on individual steps.

use super::tables::duration;
use crate::forces::direct::FLOPS;
use crate::measure::figures::FLOPS_WITH_JERK;
use crate::measure::plot::{number, short};
use crate::measure::{Kind, Record};

fn small(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.1e}"))
}

/// Rates and errors of forces with derivatives: a header, and a row for each measurement. GFLOP/s
/// count 20 flops for an acceleration and 60 including the jerk.
pub fn derivatives_table<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<Vec<String>> {
    let header = [
        "sinks x sources",
        "who",
        "up to",
        "median time",
        "spread",
        "G interactions/s",
        "GFLOP/s",
        "rms a",
        "rms jerk",
        "rms snap",
    ];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    for record in records.filter(|record| record.kind == Kind::Derivatives) {
        let (Some(direct), Some(summary)) = (&record.direct, record.summary()) else { continue };
        let rate = record.work / summary.median;
        let flops = match direct.order.as_str() {
            "acceleration" => Some(FLOPS),
            "jerk" => Some(FLOPS_WITH_JERK),
            _ => None,
        };
        table.push(vec![
            format!("{} x {}", short(record.sinks as f64), short(record.sources as f64)),
            direct.tier(),
            direct.order.clone(),
            duration(summary.median),
            format!("±{:.1} %", 50.0 * summary.spread()),
            number(rate / 1e9),
            flops.map_or(String::new(), |flops| number(flops * rate / 1e9)),
            small(record.rms_error),
            small(direct.rms_jerk),
            small(direct.rms_snap),
        ]);
    }
    table
}

/// Runs on individual steps: a header, and a row for each.
pub fn runs_table<'r>(records: impl Iterator<Item = &'r Record>) -> Vec<Vec<String>> {
    let header = [
        "N",
        "eps",
        "to t",
        "integrator",
        "eta",
        "who",
        "energy error",
        "time",
        "blocks",
        "bodies per block",
        "steps/s",
        "G interactions/s",
        "GFLOP/s at 60",
    ];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    for record in records.filter(|record| record.kind == Kind::Run) {
        let (Some(run), Some(summary)) = (&record.run, record.summary()) else { continue };
        let Some(outcome) = run.outcome else { continue };
        let (secs, rate) = (summary.median, record.work / summary.median);
        // There is no customary flop count for forces with snaps.
        let with_snap = run.eta6.is_some();
        table.push(vec![
            short(record.x),
            number(run.softening),
            number(run.until),
            run.integrator.clone(),
            number(run.eta),
            run.tier(),
            format!("{:.2e}", outcome.energy_error),
            duration(secs),
            outcome.blocks.to_string(),
            format!("{:.1}", outcome.mean_active()),
            format!("{:.0}", outcome.body_steps as f64 / secs),
            number(rate / 1e9),
            if with_snap { String::new() } else { number(FLOPS_WITH_JERK * rate / 1e9) },
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;
    use crate::measure::{DirectFacts, RunFacts};

    #[test]
    fn table_rows_match_records() {
        let mut record = example();
        (record.kind, record.kernel) = (Kind::Derivatives, None);
        record.direct = Some(DirectFacts {
            engine: "gpu".to_owned(),
            precision: "double-single".to_owned(),
            order: "jerk".to_owned(),
            potential: true,
            rms_jerk: Some(3e-7),
            rms_snap: None,
        });
        let table = derivatives_table([record.clone(), example()].iter());
        assert_eq!(table.len(), 2, "plain forces have a table of their own");
        assert_eq!(table[1][1..4], ["gpu double-single", "jerk", "1.10 ms"]);
        assert_eq!(table[1][5..], ["15.3", "915", "2.0e-7", "3.0e-7", ""]);

        (record.kind, record.direct) = (Kind::Run, None);
        (record.samples, record.work) = (vec![2.0], 4e9);
        record.run = Some(RunFacts::example());
        let row = &runs_table([record].iter())[1];
        assert_eq!(row[3..6], ["hermite4", "0.0100", "cpu double"]);
        assert_eq!(row[6..], ["1.50e-9", "2.00 s", "100", "12.3", "617", "2.00", "120"]);
    }
}
