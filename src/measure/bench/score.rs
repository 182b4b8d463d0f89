//! A single number for quoting: whole steps at three numbers of bodies.

use super::names::{markdown, number};
use super::record::{Record, RecordKind};
use crate::forces::direct::FLOPS;

/// The numbers of bodies that make up the score.
pub const SIZES: [usize; 3] = [1024, 16_384, 262_144];
/// The submitted scores as a Markdown table, amid other text.
pub const SUBMITTED_SCORES: &str = include_str!("../../../benches/results/README.md");
/// The figure that measures it.
pub(super) const FIGURE: &str = "score";

/// The score of one run on one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// The device.
    pub device: String,
    /// Its driver.
    pub driver: String,
    /// gravitile's version and commit.
    pub version: String,
    /// Date and time of the run.
    pub date: String,
    /// 10^9 interactions per second in whole steps at each number of bodies; `None` if a step took
    /// too long.
    pub rates: [Option<f64>; 3],
    /// Largest relative interquartile range of any size.
    pub spread: f64,
    /// Remarks on the samples or the machine.
    pub remarks: Vec<String>,
}

impl Score {
    /// The score of each run and device in some records, in their order.
    pub fn all(records: &[Record]) -> Vec<Self> {
        let mut scores: Vec<((String, String), Self)> = Vec::new();
        for record in records.iter().filter(|record| record.figure == FIGURE) {
            let Some(size) = SIZES.iter().position(|n| *n as u64 == record.sinks) else { continue };
            let key = (format!("{:?}", record.run_key()), record.device.name.clone());
            let at = scores.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                scores.push((key, Self::begin(record)));
                scores.len() - 1
            });
            let score = &mut scores[at].1;
            if let (Some(summary), true) = (record.summary(), record.kind == RecordKind::Steps) {
                score.rates[size] = Some(record.work / summary.median / 1e9);
                score.spread = score.spread.max(summary.spread());
            }
            if let Some(remark) = &record.remark
                && !score.remarks.contains(remark)
            {
                score.remarks.push(remark.clone());
            }
        }
        for (key, score) in &mut scores {
            let of_run = |r: &&Record| {
                format!("{:?}", r.run_key()) == key.0 && r.device.name == score.device
            };
            let machines = records.iter().filter(of_run).filter_map(|r| r.machine.as_ref());
            score.remarks.extend(machines.filter_map(|machine| machine.remark.clone()));
        }
        scores.into_iter().map(|(_, score)| score).collect()
    }

    fn begin(record: &Record) -> Self {
        Self {
            device: record.device.name.clone(),
            driver: record.device.driver.clone(),
            version: record.built_from(),
            date: record.run_in_words(),
            rates: [None; 3],
            spread: 0.0,
            remarks: Vec::new(),
        }
    }

    /// The score: the geometric mean of the three rates in 10^9 interactions per second; `None` if
    /// one is blank.
    pub fn value(&self) -> Option<f64> {
        let product = self.rates.iter().try_fold(1.0, |product, rate| Some(product * (*rate)?));
        product.map(f64::cbrt)
    }

    /// The score as one line of text.
    pub fn line(&self) -> String {
        let [_, _, few, some, many] = self.cells();
        let score = match self.value() {
            Some(value) => format!(
                "{} ({} GFLOP/s at 20 per interaction)",
                number(value),
                number(FLOPS * value)
            ),
            None => "no score".to_owned(),
        };
        format!(
            "gravitile {}: {score}, steps of 1,024, 16,384, 262,144 bodies at {few}, {some}, {many} G interactions/s on {} ({}), {}",
            self.version, self.device, self.driver, self.date
        )
    }

    /// Device, score and the three rates, formatted.
    pub fn cells(&self) -> [String; 5] {
        let cell = |rate: Option<f64>| rate.map_or("–".to_owned(), number);
        let [few, some, many] = self.rates.map(cell);
        [self.device.clone(), cell(self.value()), few, some, many]
    }

    /// The header of [`Score::table`].
    pub const HEADER: [&'static str; 8] =
        ["device", "driver", "score", "N = 1,024", "16,384", "262,144", "version", "date"];

    /// Scores in Markdown, best first; those without a score last.
    pub fn table(scores: &[Self]) -> String {
        let mut sorted: Vec<&Self> = scores.iter().collect();
        sorted.sort_by(|a, b| b.value().unwrap_or(0.0).total_cmp(&a.value().unwrap_or(0.0)));
        let mut rows = vec![Self::HEADER.map(str::to_owned).to_vec()];
        let mut notes = Vec::new();
        for score in sorted {
            let [device, value, few, some, many] = score.cells();
            let mark = if score.remarks.is_empty() { "" } else { " *" };
            let (driver, version) = (score.driver.clone(), score.version.clone());
            let notes_of = score.remarks.iter();
            notes.extend(notes_of.map(|note| format!("{device}, {}: {note}", score.date)));
            let (value, date) = (format!("{value}{mark}"), score.date.clone());
            rows.push(vec![device, driver, value, few, some, many, version, date]);
        }
        markdown(&rows, 2..6, &notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;

    fn step(n: usize, secs: f64) -> Record {
        let mut record = example();
        (record.figure, record.kind) = (FIGURE.to_owned(), RecordKind::Steps);
        (record.sinks, record.sources, record.work) = (n as u64, n as u64, (n * n) as f64);
        record.samples = vec![secs];
        record
    }

    fn run(rates: [f64; 3]) -> Vec<Record> {
        let record = |(n, rate): (&usize, f64)| step(*n, (n * n) as f64 / rate / 1e9);
        SIZES.iter().zip(rates).map(record).collect()
    }

    #[test]
    fn the_score_is_the_geometric_mean_of_three() {
        let scores = Score::all(&run([100.0, 1000.0, 2000.0]));
        let value = scores[0].value().unwrap();
        assert!((value - (100.0f64 * 1000.0 * 2000.0).cbrt()).abs() < 1e-6, "{value}");
        let line = scores[0].line();
        assert!(line.contains("585 (11,696") && line.contains("100, 1,000, 2,000"), "{line}");
    }

    #[test]
    fn missing_size_blanks_score_and_keeps_remarks() {
        let mut records = run([100.0, 1000.0, 2000.0]);
        records[2].kind = RecordKind::Skipped;
        records[2].samples.clear();
        records[2].remark = Some("a step would take 140 s".to_owned());
        let scores = Score::all(&records);
        assert_eq!(scores[0].value(), None);
        assert!(scores[0].line().contains("no score"), "{}", scores[0].line());
        let mut again = run([1.0, 1.0, 1.0]);
        again.iter_mut().for_each(|record| record.begun = Some("10:00:00".to_owned()));
        records.extend(again);
        let scores = Score::all(&records);
        assert_eq!(scores.len(), 2, "runs are kept apart");
        let table = Score::table(&scores);
        assert!(table.contains("140 s") && table.contains("| – * |"), "{table}");
        assert!(table.find("10:00:00").unwrap() < table.find("140 s").unwrap(), "{table}");
    }
}
