//! Several result files side by side: one table and one plot over adapters, machines or versions.

use minijinja::context;

use super::html::svg;
use super::template::{render, table};
use crate::forces::direct::FLOPS;
use crate::measure::plot::{Axis, Curve, Lines, Look, Place, Plot, number, short};
use crate::measure::{Kind, Record};

/// Files side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The table: a header, and a row for each device.
    pub table: Vec<Vec<String>>,
    /// Rates over the number of bodies.
    pub plot: Plot,
}

/// One device with one version of the program.
struct Side {
    name: String,
    driver: String,
    version: String,
    is_cpu: bool,
    /// Number of bodies and best rate, in G/s.
    places: Vec<Place>,
}

/// Compares the records of several files: the best all-on-all rate of each device at each number of
/// bodies. `names` tell files apart in which the same device was measured with the same version.
pub fn compare(files: &[(String, Vec<Record>)]) -> Compared {
    let sides = sides(files);
    let mut sizes: Vec<f64> = Vec::new();
    for place in sides.iter().flat_map(|side| &side.places) {
        if !sizes.contains(&place.x) {
            sizes.push(place.x);
        }
    }
    sizes.sort_by(f64::total_cmp);
    // The numbers of bodies that the standard table has, as far as they are there.
    let standard = |n: &f64| (n.log2() / 2.0).fract() == 0.0 || *n > 9e5;
    let mut columns: Vec<f64> =
        sizes.iter().copied().filter(|n| *n >= 1024.0 && standard(n)).collect();
    if columns.is_empty() {
        columns = sizes;
    }
    columns.truncate(12);

    let mut header = vec!["device".to_owned(), "driver".to_owned(), "version".to_owned()];
    header.extend(columns.iter().map(|n| format!("N = {}", short(*n))));
    header.push("GFLOP/s at best".to_owned());
    let mut rows = vec![header];
    for side in &sides {
        let rate = |n: &f64| side.places.iter().find(|place| place.x == *n).map(|place| place.y);
        let mut row = vec![side.name.clone(), side.driver.clone(), side.version.clone()];
        row.extend(columns.iter().map(|n| rate(n).map_or("–".to_owned(), number)));
        let best = side.places.iter().map(|place| place.y).fold(0.0, f64::max);
        row.push(number(best * FLOPS));
        rows.push(row);
    }
    Compared { table: rows, plot: plot(&sides) }
}

fn sides(files: &[(String, Vec<Record>)]) -> Vec<Side> {
    let mut sides: Vec<(String, Side)> = Vec::new();
    for (file, records) in files {
        for record in records {
            let all_on_all = record.sinks == record.sources && record.kind == Kind::Forces;
            // Host to host is another thing than on the device.
            let counts = record.kernel.is_some() || record.device.is_cpu();
            let (true, true, Some(summary)) = (all_on_all, counts, record.summary()) else {
                continue;
            };
            let rate = |secs: f64| record.work / secs / 1e9;
            let place = Place {
                x: record.sinks as f64,
                y: rate(summary.median),
                range: (rate(summary.upper), rate(summary.lower)),
            };
            let d = &record.device;
            let key = [file, &d.name, &d.driver, &record.version, &record.commit]
                .map(String::as_str)
                .join("\n");
            let known = sides.iter().position(|(known, _)| *known == key);
            let index = known.unwrap_or_else(|| {
                let side = Side {
                    name: d.name.clone(),
                    driver: d.driver.clone(),
                    version: format!("{} {}", record.version, record.commit),
                    is_cpu: d.is_cpu(),
                    places: Vec::new(),
                };
                sides.push((key, side));
                sides.len() - 1
            });
            let places = &mut sides[index].1.places;
            match places.iter_mut().find(|other| other.x == place.x) {
                Some(other) if other.y < place.y => *other = place,
                Some(_) => (),
                None => places.push(place),
            }
        }
    }
    // Same device, driver and version in two files: the files' names tell them apart.
    let is =
        |a: &Side, b: &Side| (&a.name, &a.driver, &a.version) == (&b.name, &b.driver, &b.version);
    let twins: Vec<bool> = (0..sides.len())
        .map(|i| (0..sides.len()).any(|j| j != i && is(&sides[i].1, &sides[j].1)))
        .collect();
    for ((key, side), twin) in sides.iter_mut().zip(twins) {
        if twin {
            side.version += &format!(" ({})", key.lines().next().unwrap_or(""));
        }
    }
    let mut sides: Vec<Side> = sides.into_iter().map(|(_, side)| side).collect();
    for side in &mut sides {
        side.places.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    // The fastest first.
    let best = |side: &Side| side.places.iter().map(|place| place.y).fold(0.0, f64::max);
    sides.sort_by(|a, b| best(b).total_cmp(&best(a)));
    sides
}

fn plot(sides: &[Side]) -> Plot {
    let name = |side: &Side| {
        let twins = sides.iter().filter(|other| other.name == side.name).count();
        let kind = if side.is_cpu { ", cpu engine" } else { "" };
        let version = if twins > 1 { format!(", {}", side.version) } else { String::new() };
        format!("{}{kind}{version}", side.name)
    };
    let curves: Vec<Curve> = sides
        .iter()
        .enumerate()
        .map(|(colour, side)| Curve {
            name: name(side),
            places: side.places.clone(),
            look: Look::Measured,
            colour,
        })
        .collect();
    let values = curves.iter().flat_map(|curve| curve.places.iter().map(|place| place.y));
    Plot::Lines(Lines {
        title: "Best all-on-all rate of each device".to_owned(),
        x: Axis::powers("number of bodies N"),
        y: Axis::fitting("rate, 10⁹ interactions/s", values),
        curves,
    })
}

impl Compared {
    /// The table in Markdown, for a README.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        for (i, row) in self.table.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            out += &format!("| {} |\n", cells.join(" | "));
            if i == 0 {
                let mark = |(column, _)| if column < 3 { "---|" } else { "---:|" };
                let marks: String = row.iter().enumerate().map(mark).collect();
                out += &format!("|{marks}\n");
            }
        }
        out
    }

    /// Table and plot as one HTML page.
    pub fn page(&self) -> String {
        let values = context! { svg => svg(&self.plot), devices => table(&self.table) };
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
        // The better of the two, and a gap where nothing was measured.
        assert_eq!(compared.table[1][3..], ["–", "33.6", "671"]);
        assert_eq!(compared.table[3][3], "0.105");
        let markdown = compared.markdown();
        assert_eq!(markdown.lines().count(), 5);
        assert!(markdown.contains("fast\\|er"));
        assert!(compared.page().contains("</svg>"));
    }

    #[test]
    fn versions_and_files_are_told_apart() {
        let mut newer = at("gpu", 4096, 1e-3);
        newer.version = "0.2.0".to_owned();
        let files = [("old.jsonl".to_owned(), vec![at("gpu", 4096, 2e-3)])];
        let two = compare(&[files[0].clone(), ("new".to_owned(), vec![newer])]);
        assert_eq!(two.table.len(), 3);
        assert!(two.table[1][2].contains("0.2.0") && !two.table[1][2].contains("new"));
        let twins = compare(&[files[0].clone(), ("b.jsonl".to_owned(), files[0].1.clone())]);
        assert!(twins.table.iter().any(|row| row[2].contains("b.jsonl")));
        assert_eq!(compare(&[]).table.len(), 1);
    }
}
