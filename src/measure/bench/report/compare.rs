//! Compares result files: one table and one plot over adapters, machines or versions.

use minijinja::context;

use super::html::{render, svg, table};
use crate::forces::direct::FLOPS;
use crate::measure::bench::figures::rate;
use crate::measure::bench::names::markdown;
use crate::measure::plot::{Curve, CurvePoint, Plot, PlotAxis, number, short};
use crate::measure::{Record, RecordKind, Summary};

/// The comparison of several files.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComparison {
    /// The table: a header and a row for each run; several runs of one device and version are
    /// followed by a row for all of them.
    pub table: Vec<Vec<String>>,
    /// Remarks on the numbers marked with an asterisk.
    pub remarks: Vec<String>,
    /// Rates against the number of bodies.
    pub plot: Plot,
}

/// One run on one device with one version of the program.
struct Side {
    file: String,
    name: String,
    driver: String,
    version: String,
    run: String,
    is_cpu: bool,
    /// The best kernel for each number of bodies.
    best: Vec<Best>,
}

/// Rate in G/s of the best kernel, and the remark on it.
struct Best {
    point: CurvePoint,
    kernel: String,
    remark: Option<String>,
}

impl Side {
    fn at(&self, n: f64) -> Option<&Best> {
        self.best.iter().find(|best| best.point.x == n)
    }

    fn most(&self) -> f64 {
        self.best.iter().map(|best| best.point.y).fold(0.0, f64::max)
    }

    /// The key by which runs are grouped.
    fn what(&self) -> (&str, &str, &str) {
        (&self.name, &self.driver, &self.version)
    }
}

/// Compares the records of several files: the best all-on-all rate of each run for each number of
/// bodies. Runs are distinguished by file, day and time. `files` has names and records.
pub fn compare(files: &[(String, Vec<Record>)]) -> RunComparison {
    let sides = sides(files);
    let columns = columns(&sides);
    let mut header = ["device", "driver", "version", "run"].map(str::to_owned).to_vec();
    header.extend(columns.iter().map(|n| format!("N = {}", short(*n))));
    header.extend(["spread".to_owned(), "GFLOP/s at best".to_owned()]);
    let (mut rows, mut remarks) = (vec![header], Vec::new());
    for runs in sides.chunk_by(|a, b| a.what() == b.what()) {
        for side in runs {
            let mut row = begin(side, side.run.clone());
            for n in &columns {
                let best = side.at(*n);
                let mark = if best.is_some_and(|best| best.remark.is_some()) { "*" } else { "" };
                row.push(best.map_or("–".to_owned(), |b| format!("{}{mark}", number(b.point.y))));
            }
            let within = side.best.iter().map(|best| half_width(best.point)).fold(0.0, f64::max);
            row.push(format!("±{:.1} %", 100.0 * within));
            row.push(number(side.most() * FLOPS));
            rows.push(row);
            remarks.extend(side.best.iter().filter_map(|best| {
                let (remark, n) = (best.remark.as_ref()?, short(best.point.x));
                Some(format!("{}, {}, N = {n}, {}: {remark}", side.name, side.run, best.kernel))
            }));
        }
        if runs.len() > 1 {
            rows.push(together(runs, &columns));
        }
    }
    RunComparison { table: rows, remarks, plot: plot(&sides) }
}

fn begin(side: &Side, run: String) -> Vec<String> {
    vec![side.name.clone(), side.driver.clone(), side.version.clone(), run]
}

/// The row for several runs: their median for each number of bodies, and the largest spread.
fn together(runs: &[Side], columns: &[f64]) -> Vec<String> {
    let mut row = begin(&runs[0], format!("median of {} runs", runs.len()));
    let (mut apart, mut most) = (0.0, 0.0f64);
    for n in columns {
        let rates: Vec<f64> =
            runs.iter().filter_map(|side| side.at(*n).map(|best| best.point.y)).collect();
        let summary = Summary::of(&rates);
        row.push(summary.map_or("–".to_owned(), |summary| number(summary.median)));
        if let Some(summary) = summary {
            apart = f64::max(apart, (summary.max - summary.min) / (2.0 * summary.median));
            most = most.max(summary.median);
        }
    }
    row.push(format!("±{:.1} %", 100.0 * apart));
    row.push(number(most * FLOPS));
    row
}

fn half_width(point: CurvePoint) -> f64 {
    if point.y > 0.0 { (point.range.1 - point.range.0) / (2.0 * point.y) } else { 0.0 }
}

/// The numbers of bodies that get a column: those of the standard table that occur.
fn columns(sides: &[Side]) -> Vec<f64> {
    let all = sides.iter().flat_map(|side| &side.best);
    let mut sizes: Vec<f64> = all.map(|best| best.point.x).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let standard = |n: &f64| (n.log2() / 2.0).fract() == 0.0 || *n > 9e5;
    let mut columns: Vec<f64> =
        sizes.iter().copied().filter(|n| *n >= 1024.0 && standard(n)).collect();
    if columns.is_empty() {
        columns = sizes;
    }
    columns.truncate(12);
    columns
}

fn sides(files: &[(String, Vec<Record>)]) -> Vec<Side> {
    let mut sides: Vec<Side> = Vec::new();
    for (file, records) in files {
        for record in records {
            let all_on_all = record.sinks == record.sources && record.kind == RecordKind::Forces;
            // Timing including transfers is not comparable with timing on the device.
            let counts = record.kernel.is_some() || record.device.is_cpu();
            let (true, true, Some(point)) = (all_on_all, counts, rate(record)) else { continue };
            let point = CurvePoint { x: record.sinks as f64, ..point };
            let device = &record.device;
            let new = Side {
                file: file.clone(),
                name: device.name.clone(),
                driver: device.driver.clone(),
                version: record.built_from(),
                run: record.run_in_words(),
                is_cpu: device.is_cpu(),
                best: Vec::new(),
            };
            let same =
                |side: &Side| (side.what(), &side.run, &side.file) == (new.what(), &new.run, file);
            let index = sides.iter().position(same).unwrap_or_else(|| {
                sides.push(new);
                sides.len() - 1
            });
            let (kernel, remark) = (record.kernel_in_words(), record.remark.clone());
            let found = Best { point, kernel, remark };
            let best = &mut sides[index].best;
            match best.iter_mut().find(|other| other.point.x == point.x) {
                Some(other) if other.point.y < point.y => *other = found,
                Some(_) => (),
                None => best.push(found),
            }
        }
    }
    // Runs of the same day in two files are distinguished by the files' names.
    let keys: Vec<String> =
        sides.iter().map(|side| format!("{:?} {}", side.what(), side.run)).collect();
    for (at, side) in sides.iter_mut().enumerate() {
        if keys.iter().filter(|key| **key == keys[at]).count() > 1 {
            side.run += &format!(" ({})", side.file);
        }
        side.best.sort_by(|a, b| a.point.x.total_cmp(&b.point.x));
    }
    // The fastest device and version comes first, with its runs together.
    let most = |side: &Side| {
        let same = sides.iter().filter(|other| other.what() == side.what());
        same.map(Side::most).fold(0.0, f64::max)
    };
    let most: Vec<f64> = sides.iter().map(most).collect();
    let mut sorted: Vec<(f64, Side)> = most.into_iter().zip(sides).collect();
    sorted
        .sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.what().cmp(&other.what())));
    sorted.into_iter().map(|(_, side)| side).collect()
}

fn plot(sides: &[Side]) -> Plot {
    let name = |side: &Side| {
        let kind = if side.is_cpu { ", cpu engine" } else { "" };
        let mut name = format!("{}{kind}", side.name);
        let same_device = || sides.iter().filter(|other| other.name == side.name);
        if same_device().any(|other| other.version != side.version) {
            name += &format!(", {}", side.version);
        }
        if same_device().filter(|other| other.version == side.version).count() > 1 {
            name += &format!(", {}", side.run);
        }
        name
    };
    let curve = |(colour, side): (usize, &Side)| {
        Curve::measured(name(side), side.best.iter().map(|best| best.point).collect(), colour)
    };
    let curves: Vec<Curve> = sides.iter().enumerate().map(curve).collect();
    let y = PlotAxis::fitting("rate, 10⁹ interactions/s", &curves);
    Plot::lines(
        "Best all-on-all rate of each run",
        PlotAxis::powers("number of bodies N"),
        y,
        curves,
    )
}

impl RunComparison {
    /// The table in Markdown, for a README.
    pub fn markdown(&self) -> String {
        let columns = self.table.first().map_or(0, Vec::len);
        markdown(&self.table, 4..columns, &self.remarks)
    }

    /// Table and plot as an HTML page.
    pub fn page(&self) -> String {
        let (svg, devices) = (svg(&self.plot), table(&self.table));
        let values = context! { svg, devices, remarks => self.remarks.clone() };
        render("compare.html", "gravitile: devices side by side", values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::record::tests::example;

    fn at(device: &str, n: u64, secs: f64) -> Record {
        let mut record = example();
        record.device.name = device.to_owned();
        (record.sinks, record.sources, record.work) = (n, n, (n * n) as f64);
        record.samples = vec![secs];
        record
    }

    #[test]
    fn three_adapters_make_three_rows_the_fastest_first() {
        let file = |name: &str, records| (name.to_owned(), records);
        let compared = compare(&[
            file("a", vec![at("slow", 1024, 1e-2), at("slow", 4096, 1e-1)]),
            file("b", vec![at("fast|er", 4096, 1e-3), at("fast|er", 4096, 5e-4)]),
            file("c", vec![at("middle", 4096, 1e-2)]),
        ]);
        let names: Vec<_> = compared.table.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(names, ["device", "fast|er", "middle", "slow"]);
        // The better of the two, and a gap if nothing was measured.
        assert_eq!(compared.table[1][4..], ["–", "33.6", "±0.0 %", "671"]);
        assert_eq!(compared.table[3][4], "0.105");
        let markdown = compared.markdown();
        assert_eq!(markdown.lines().count(), 5);
        assert!(markdown.contains("fast\\|er"));
        assert!(compared.page().contains("</svg>"));
    }

    #[test]
    fn runs_of_one_file_stay_apart_with_their_spread_and_remarks() {
        let mut runs = [at("gpu", 4096, 1e-3), at("gpu", 4096, 1.1e-3), at("gpu", 4096, 2e-3)];
        for (run, begun) in runs.iter_mut().zip(["10:00:00", "11:00:00", "12:00:00"]) {
            run.begun = Some(begun.to_owned());
        }
        runs[2].remark = Some("the machine was busy".to_owned());
        let compared = compare(&[("a".to_owned(), runs.to_vec())]);
        let column = |at: usize| compared.table.iter().skip(1).map(move |row| row[at].as_str());
        assert_eq!(column(4).collect::<Vec<_>>(), ["16.8", "15.3", "8.39*", "15.3"]);
        assert_eq!(column(5).next_back(), Some("±27.5 %"));
        assert!(compared.remarks[0].contains("12:00:00") && compared.remarks[0].contains("busy"));
        assert!(compared.markdown().contains("busy") && compared.page().contains("busy"));
    }

    #[test]
    fn versions_and_files_are_distinguished() {
        let mut newer = at("gpu", 4096, 1e-3);
        newer.version = "0.2.0".to_owned();
        let files = [("old.jsonl".to_owned(), vec![at("gpu", 4096, 2e-3)])];
        let two = compare(&[files[0].clone(), ("new".to_owned(), vec![newer])]);
        assert_eq!(two.table.len(), 3);
        assert!(two.table[1][2].contains("0.2.0") && !two.table[1][2].contains("new"));
        let same = compare(&[files[0].clone(), ("b.jsonl".to_owned(), files[0].1.clone())]);
        assert!(same.table.iter().any(|row| row[3].contains("b.jsonl")));
        assert_eq!(same.table.last().unwrap()[3], "median of 2 runs");
        assert_eq!(compare(&[]).table.len(), 1);
    }
}
