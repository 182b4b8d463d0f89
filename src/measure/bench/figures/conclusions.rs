//! Sentences on a figure, generated from its numbers.

use super::Figure;
use super::curves::of;
use crate::measure::plot::{number, short};
use crate::measure::{Ceiling, Limit, Record, RecordKind, grouped};

/// Curves whose values differ by less than this fraction count as equal.
const SAME: f64 = 0.03;
/// A prediction within this fraction counts as right.
const NEAR: f64 = 0.25;

/// Sentences from the measured records of a figure, and from all records of the file.
pub(super) type Conclusion = fn(&[&Record], &[Record]) -> Vec<String>;

/// The sentences on a figure, from its records.
pub(super) fn conclusions(figure: &Figure, records: &[Record]) -> Vec<String> {
    let own: Vec<&Record> =
        of(records, figure.name, RecordKind::Forces).filter(|r| r.per_sec().is_some()).collect();
    let sentences = figure.concludes.iter().flat_map(|conclude| conclude(&own, records));
    sentences.chain(model(&own)).collect()
}

/// Where each curve is highest on the x axis of this name: a sentence, and that x.
fn optima(x: &str, own: &[&Record]) -> Vec<(String, f64)> {
    let curves = grouped(own.iter().map(|record| (&record.series, *record)));
    curves.iter().filter_map(|(series, curve)| along(series, x, curve)).collect()
}

/// Where each curve is highest on the x axis of this name.
pub(super) fn optimum(x: &str, own: &[&Record]) -> Vec<String> {
    optima(x, own).into_iter().map(|(sentence, _)| sentence).collect()
}

/// Whether the optimum shifts from one curve to the next, with increasing numbers of bodies.
pub(super) fn trend_of_optimum(x: &str, own: &[&Record]) -> Vec<String> {
    let best: Vec<f64> = optima(x, own).into_iter().map(|(_, best)| best).collect();
    if best.len() < 2 {
        return Vec::new();
    }
    let words = if best.windows(2).all(|pair| pair[0] == pair[1]) {
        "is the same at each N"
    } else if best.is_sorted() {
        "grows with N"
    } else if best.iter().rev().is_sorted() {
        "falls as N grows"
    } else {
        "neither grows nor falls steadily with N"
    };
    let list: Vec<String> = best.iter().map(|best| short(*best)).collect();
    vec![format!("The best {x} here {words}: {}", list.join(", "))]
}

/// The fastest series at each number of bodies, in one sentence for neighbouring numbers with the
/// same.
pub(super) fn fastest_at_each_size(own: &[&Record], _: &[Record]) -> Vec<String> {
    let mut sizes = grouped(own.iter().map(|record| (record.sinks, *record)));
    sizes.sort_by_key(|(n, _)| *n);
    let fastest: Vec<Fastest> =
        sizes.iter().filter_map(|(n, rows)| Fastest::at(*n as f64, rows)).collect();
    fastest.chunk_by(|a, b| a.most.series == b.most.series).map(Fastest::sentence).collect()
}

/// The fastest kernel at one number of bodies, and the next.
struct Fastest<'r> {
    n: f64,
    most: &'r Record,
    next: &'r Record,
}

impl<'r> Fastest<'r> {
    fn at(n: f64, rows: &[&'r Record]) -> Option<Self> {
        let (_, most) = ends(rows)?;
        let others: Vec<&Record> =
            rows.iter().copied().filter(|r| r.series != most.series).collect();
        let (_, next) = ends(&others)?;
        Some(Self { n, most, next })
    }

    /// How much more it makes than the next.
    fn lead(&self) -> f64 {
        rate(self.most) / rate(self.next)
    }

    fn sentence(run: &[Self]) -> String {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        let series = &first.most.series;
        if run.len() == 1 {
            return format!(
                "N = {}: {series} makes most, {}; next is {} with {}",
                short(first.n),
                number(rate(first.most)),
                first.next.series,
                number(rate(first.next))
            );
        }
        format!(
            "N = {} to {}: {series} makes most, {} to {}, up to {:.2} times the next",
            short(first.n),
            short(last.n),
            number(rate(first.most)),
            number(rate(last.most)),
            run.iter().map(Self::lead).fold(1.0, f64::max)
        )
    }
}

/// The measured multiply-adds per unit and clock, with units and clock as reported by the chip.
pub(super) fn per_unit_and_clock(_: &[&Record], records: &[Record]) -> Vec<String> {
    rate_per_unit_and_clock(records).into_iter().collect()
}

fn rate_per_unit_and_clock(records: &[Record]) -> Option<String> {
    let is_it = |r: &&Record| r.ceiling() == Some(Ceiling::Fma);
    let measured = records.iter().rev().find(is_it)?;
    let run = measured.run_key();
    let mut machines = records.iter().filter(|r| r.run_key() == run);
    let machine = machines.find_map(|record| record.machine.as_ref())?;
    let clocks = [&machine.before, &machine.after].into_iter().flatten();
    let clock = clocks.filter_map(|state| state.clock_mhz).reduce(f64::max)?;
    let (units, rate) = (machine.units?, measured.per_sec()?);
    Some(format!(
        "FP32 multiply-adds: {} per compute unit and clock, by {units} units and a clock of {} MHz",
        number(rate / f64::from(units) / (clock * 1e6)),
        number(clock),
    ))
}

fn rate(record: &Record) -> f64 {
    record.per_sec().unwrap_or(0.0) / 1e9
}

/// The slowest and the fastest.
fn ends<'r>(rows: &[&'r Record]) -> Option<(&'r Record, &'r Record)> {
    let least = rows.iter().copied().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let most = rows.iter().copied().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    Some((least, most))
}

/// Describes where a curve is highest, and returns that x value.
fn along(series: &str, x: &str, curve: &[&Record]) -> Option<(String, f64)> {
    if curve.len() < 3 {
        return None;
    }
    let (least, most) = ends(curve)?;
    let line = if rate(most) < (1.0 + SAME) * rate(least) {
        format!("{series}: {} whatever {x} is, within {:.0} %", number(rate(most)), 100.0 * SAME)
    } else {
        let last = curve.iter().max_by(|a, b| a.x.total_cmp(&b.x))?;
        let falls = rate(last) < (1.0 - SAME) * rate(most);
        let after = if falls {
            format!(", and {} at {x} = {}", number(rate(last)), short(last.x))
        } else {
            String::new()
        };
        let (best, worst) = (short(most.x), short(least.x));
        format!(
            "{series}: most at {x} = {best}, {}, which is {:.2} times the least, at {x} = {worst}{after}",
            number(rate(most)),
            rate(most) / rate(least)
        )
    };
    Some((line, most.x))
}

/// How far the model's predictions are from the measurements, and what the largest difference is
/// due to.
pub fn model(rows: &[&Record]) -> Vec<String> {
    let known = rows.iter().filter_map(|row| {
        let predicted = row.predicted_per_sec.filter(|rate| *rate > 0.0)? / 1e9;
        let ratio = predicted / rate(row);
        Some((*row, predicted, ratio.max(1.0 / ratio)))
    });
    let known: Vec<_> = known.collect();
    let Some((row, predicted, factor)) = known.iter().max_by(|a, b| a.2.total_cmp(&b.2)) else {
        return Vec::new();
    };
    let ratio = |(row, predicted, _): &(&Record, f64, f64)| predicted / rate(row);
    let near = known.iter().filter(|known| (ratio(known) - 1.0).abs() <= NEAR).count();
    let mut sentences = vec![format!(
        "The model: {near} of {} predictions are within {:.0} % of what was measured; the farthest is off by a factor of {factor:.2} ({}, N = {}: {} predicted, {} measured)",
        known.len(),
        100.0 * NEAR,
        row.kernel_in_words(),
        short(row.sinks as f64),
        number(*predicted),
        number(rate(row))
    )];
    let limit = row.limit.as_deref().and_then(Limit::named);
    sentences.extend(limit.filter(|_| *factor > 1.0 + NEAR).map(|limit| {
        let (than, why) = match *predicted > rate(row) {
            true => ("less was measured", limit.left_out()),
            false => ("more was measured", limit.overestimates()),
        };
        format!("There the model takes {} for the limit, and {than}: {why}", limit.name())
    }));
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::machine::{Machine, MachineState};
    use crate::measure::bench::record::tests::example;

    fn conclusions(figure: &str, records: &[Record]) -> Vec<String> {
        super::super::named(figure).unwrap()[0].conclusions(records)
    }

    fn at(figure: &str, series: &str, x: f64, rate: f64) -> Record {
        let mut record = example();
        (record.figure, record.series, record.x) = (figure.to_owned(), series.to_owned(), x);
        record.samples = vec![record.work / rate / 1e9];
        record.predicted_per_sec = Some(20e9);
        record
    }

    #[test]
    fn conclusion_gives_multiply_adds_per_unit_and_clock() {
        let mut machine = example();
        let mut fma = machine.clone();
        let state = MachineState { clock_mhz: Some(1980.0), ..MachineState::default() };
        let chip = Machine { units: Some(132), after: Some(state), ..Machine::default() };
        machine.machine = Some(Box::new(chip));
        (fma.kind, fma.ceiling, fma.figure) =
            (RecordKind::Ceiling, Some("fma".to_owned()), "ceilings".to_owned());
        fma.samples = vec![fma.work / (132.0 * 1.98e9 * 126.0)];
        let sentences = conclusions("ceilings", &[machine, fma.clone()]);
        assert!(
            sentences[0].contains("126 per compute unit and clock, by 132 units"),
            "{sentences:?}"
        );
        assert!(conclusions("ceilings", &[fma]).is_empty(), "no machine reported");
    }

    #[test]
    fn conclusions_match_records() {
        let curve = |series: &str, rates: [f64; 3]| -> Vec<Record> {
            [16.0, 64.0, 256.0]
                .iter()
                .zip(rates)
                .map(|(x, rate)| at("p", series, *x, rate))
                .collect()
        };
        let records = [curve("N = 1,024", [5.0, 20.0, 10.0]), curve("N = 4,096", [5.0, 9.0, 40.0])];
        let sentences = conclusions("p", &records.concat());
        assert!(
            sentences[0].contains("most at p = 64, 20.0, which is 4.00 times the least, at p = 16")
        );
        assert!(
            sentences[0].contains("10.0 at p = 256") && !sentences[1].contains(", and"),
            "{sentences:?}"
        );
        assert_eq!(sentences[2], "The best p here grows with N: 64, 256");
        assert!(
            sentences[3].contains("1 of 6 predictions") && sentences[3].contains("factor of 4.00"),
            "{}",
            sentences[3]
        );
        // 5 measured where arithmetic would allow 20.
        assert!(
            sentences[4].contains("arithmetic for the limit, and less was measured: it counts"),
            "{}",
            sentences[4]
        );
        let turned = [
            curve("a", [5.0, 9.0, 40.0]),
            curve("b", [9.0, 5.0, 1.0]),
            curve("c", [7.0, 7.1, 7.0]),
        ];
        let sentences = conclusions("p", &turned.concat());
        assert!(
            sentences[2].contains("whatever p is") && sentences[3].contains("steadily"),
            "{sentences:?}"
        );
        assert!(conclusions("p", &[]).is_empty());
        let two = [at("q", "1 thread", 256.0, 2.0), at("q", "4 threads", 256.0, 3.0)];
        assert!(conclusions("q", &two)[0].contains("4 threads makes most, 3.00; next is 1 thread"));
        let sized = |n: u64, rate: f64, series: &str| {
            let mut record = at("q", series, n as f64, rate);
            (record.sinks, record.predicted_per_sec) = (n, None);
            record
        };
        let run = [(256, 1.0, 3.0), (512, 2.0, 8.0), (1024, 9.0, 8.5)];
        let both = |(n, one, four)| [sized(n, one, "1 thread"), sized(n, four, "4 threads")];
        assert_eq!(
            conclusions("q", &run.map(both).concat()),
            [
                "N = 256 to 512: 4 threads makes most, 3.00 to 8.00, up to 4.00 times the next",
                "N = 1,024: 1 thread makes most, 9.00; next is 4 threads with 8.50"
            ]
        );
    }
}
