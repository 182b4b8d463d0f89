//! Tables quoted in README and docs.

use std::path::Path;

use gravitile::measure::plot::number;
use gravitile::measure::{Record, latest};

const SIZES: [u64; 6] = [1024, 4096, 16_384, 65_536, 262_144, 1 << 20];

/// A row for each device: the best rate at each number of bodies in the last run of the figure
/// `table`.
pub fn best_rates(files: &[&Vec<Record>]) -> String {
    let mut text = "\n| device | driver | N = 1,024 | 4,096 | 16,384 | 65,536 | 262,144 | 1 M |\n\
                    |---|---|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for records in files {
        let latest = latest(records);
        let own: Vec<&Record> =
            latest.iter().filter(|r| r.figure == "table" && r.per_sec().is_some()).collect();
        let mut devices: Vec<(&str, &str)> = Vec::new();
        for record in &own {
            let device = (record.device.name.as_str(), record.device.driver.as_str());
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        for (name, driver) in devices {
            text += &format!("| {name} | {driver} |");
            for n in SIZES {
                let here = own.iter().filter(|r| r.device.name == name && r.sinks == n);
                let best = here.filter_map(|r| r.per_sec()).reduce(f64::max);
                text += &best.map_or(" |".to_owned(), |rate| format!(" {} |", number(rate / 1e9)));
            }
            text += "\n";
        }
    }
    text
}

/// Compiler statistics of the lesson's shapes.
pub fn instructions(records: &[Record]) -> String {
    let mut text = "\n| r | u | instructions per interaction | registers | subgroups per SIMD | limited by |\n\
                    |--:|--:|--:|--:|--:|---|\n"
        .to_owned();
    for (r, u) in [(1, 1), (1, 4), (2, 4), (4, 4), (8, 2)] {
        let found = records.iter().rev().find_map(|record| {
            let kernel = record.kernel.as_ref()?;
            let it =
                (kernel.p, kernel.q, kernel.r, kernel.u, kernel.untiled) == (256, 1, r, u, false);
            record.compiled.filter(|_| it)
        });
        let Some(found) = found else { continue };
        text += &format!(
            "| {r} | {u} | {:.2} | {} | {} | {} |\n",
            found.per_interaction.unwrap_or(0.0),
            found.registers.unwrap_or(0),
            found.subgroups_per_simd.unwrap_or(0),
            found.limited_by.map_or("", |limit| limit.name())
        );
    }
    text
}

/// Billions of interactions per second, or a dash.
fn billions(record: Option<&Record>) -> String {
    record.and_then(Record::per_sec).map_or_else(|| "–".to_owned(), |rate| number(rate / 1e9))
}

/// By device and N: the default kernel with its shape, the other kernels of the figure `table`, and
/// the CPU engine.
pub fn shapes(files: &[&Vec<Record>]) -> String {
    let mut text = "\n| device | N | tiled, p q r u s | rate | the same untiled | the chapter's kernel (p = 256, u = 4) \
                    | CPU engine beside it |\n|---|--:|---|--:|--:|--:|--:|\n"
        .to_owned();
    for records in files {
        let latest = latest(records);
        for n in SIZES {
            let of = |series: &str| {
                let matches_query =
                    |r: &&Record| r.figure == "table" && r.sinks == n && r.series == series;
                latest.iter().find(matches_query).filter(|r| r.per_sec().is_some())
            };
            let Some(default) = of("default kernel") else { continue };
            let others = (of("default, but tiled"), of("default, untiled"));
            let is_untiled = default.kernel.is_some_and(|kernel| kernel.untiled);
            let (tiled, untiled) =
                if is_untiled { (others.0, Some(default)) } else { (Some(default), others.1) };
            let Some(kernel) = tiled.and_then(|record| record.kernel) else { continue };
            text += &format!(
                "| {} | {} | {} {} {} {} {} | {} | {} | {} | {} |\n",
                default.device.name,
                number(n as f64),
                kernel.p,
                kernel.q,
                kernel.r,
                kernel.u,
                kernel.s,
                billions(tiled),
                billions(untiled),
                billions(of("the chapter's kernel")),
                billions(of("cpu engine")),
            );
        }
    }
    text
}

/// Rates by threads per sink at three N.
pub fn rows(records: &[Record]) -> Result<String, String> {
    let series = [
        "1 thread per body",
        "2 threads per body",
        "4 threads per body",
        "8 threads per body",
        "16 threads per body",
        "1 thread, 16 slices",
    ];
    let mut text = "\n| N | q = 1 | q = 2 | q = 4 | q = 8 | q = 16 | q = 1, s = 16 |\n\
                    |--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for n in [1024, 4096, 16_384] {
        text += &format!("| {} |", number(n as f64));
        for series in series {
            let matches_query = |r: &&Record| r.figure == "q" && r.sinks == n && r.series == series;
            let found = records.iter().rev().find(matches_query);
            found.ok_or_else(|| format!("no '{series}' at {n}"))?;
            text += &format!(" {} |", billions(found));
        }
        text += "\n";
    }
    Ok(text)
}

/// The range of the rates of `auto` relative to the best shape, and the range of shape counts.
pub fn rule(records: &[Record]) -> Result<String, String> {
    let (mut parts, mut shapes) = (Vec::new(), Vec::new());
    for record in latest(records).iter().filter(|r| r.figure == "rule" && r.series == "auto") {
        let remark = record.remark.as_deref().unwrap_or("");
        let before = |sign: &str| {
            let end = remark.find(sign)?;
            remark[..end].rsplit(' ').next()?.parse::<f64>().ok()
        };
        let found = before(" % of the best").zip(before(" shapes measured"));
        let (part, count) = found.ok_or_else(|| format!("'{remark}' has no numbers"))?;
        parts.push(part);
        shapes.push(count);
    }
    let least = |all: &[f64]| all.iter().copied().reduce(f64::min);
    let most = |all: &[f64]| all.iter().copied().reduce(f64::max);
    let numbers = (least(&parts), most(&parts), least(&shapes), most(&shapes));
    let (Some(low), Some(high), Some(few), Some(many)) = numbers else {
        return Err("no figure 'rule'".to_owned());
    };
    Ok(format!("{low} to {high} % of the best of {few} to {many} shapes"))
}

/// Number of model predictions within 25 %, and the largest error, over the figures of one kernel
/// on all bodies: for at least `least` bodies, or for fewer than 65,536 if it is 0.
pub fn model(records: &[Record], least: u64) -> Result<String, String> {
    let figures = ["table", "n", "unroll", "p", "q", "roofline"];
    let matches_query = |r: &&Record| {
        let n = r.sinks;
        let many = if least > 0 { n >= least } else { n < 65_536 };
        figures.contains(&r.figure.as_str()) && many
    };
    let latest = latest(records);
    let factors: Vec<f64> = latest
        .iter()
        .filter(matches_query)
        .filter_map(|r| Some((r.predicted_per_sec? / r.per_sec()?).ln().abs().exp()))
        .collect();
    let worst = factors.iter().copied().reduce(f64::max).ok_or("no predictions")?;
    let close = factors.iter().filter(|factor| **factor <= 1.25).count();
    Ok(format!(
        "{close} of {} predictions are within 25 %, and the worst is off by a factor of {worst:.2}",
        factors.len()
    ))
}

/// Comparison with CUDA: steps per second, or rates.
pub fn cuda(folder: &Path, which: &str) -> Result<String, String> {
    let read = |name: &str| -> Result<serde_json::Value, String> {
        let text = std::fs::read_to_string(folder.join(name)).map_err(|e| e.to_string())?;
        serde_json::from_str(&text).map_err(|e| e.to_string())
    };
    let (file, sample) = (read("nvidia-h200.json")?, read("nvidia-sample-h200.json")?);
    let samples = sample["rows"].as_array().ok_or("no rows")?;
    let mut table = match which {
        "steps" => {
            "\n| N | CUDA steps/s | gravitile steps/s | gravitile / CUDA | kernel | 10^9 interactions/s |\n\
             |---:|---:|---:|---:|---|---:|\n"
        }
        "rates" => {
            "\n| N | the chapter's kernel | NVIDIA's sample, -ftz=true | NVIDIA's sample, as built now \
             | gravitile | gravitile / the chapter's | gravitile, steps/s |\n\
             |--:|--:|--:|--:|--:|--:|--:|\n"
        }
        _ => return Err(format!("'{which}' is neither steps nor rates")),
    }
    .to_owned();
    for row in file["rows"].as_array().ok_or("no rows")? {
        let of = |who: &str, what: &str| row[who][what].as_f64().ok_or(format!("no {who} {what}"));
        let n = row["n"].as_f64().ok_or("no n")?;
        let [steps, theirs] =
            [of("gravitile", "steps_per_sec")?, of("cuda", "steps_per_sec")?].map(number);
        let [rate, their_rate] =
            [of("gravitile", "g_interactions_per_sec")?, of("cuda", "g_interactions_per_sec")?]
                .map(number);
        let ratio = row["ratio"].as_f64().ok_or("no ratio")?;
        let configuration = row["gravitile"]["configuration"].as_str().unwrap_or("");
        let kernel = configuration.rsplit(", ").next().unwrap_or("");
        let n = number(n);
        table += &if which == "steps" {
            format!("| {n} | {theirs} | {steps} | {ratio:.2} | {kernel} | {rate} |\n")
        } else {
            let sample = samples.iter().find(|sample| sample["n"] == row["n"]);
            let [ftz, now] = ["ftz", "cmake"].map(|build| {
                let rate = sample.and_then(|sample| sample[build].as_f64());
                rate.map_or_else(|| "–".to_owned(), number)
            });
            format!("| {n} | {their_rate} | {ftz} | {now} | {rate} | {ratio:.2} | {steps} |\n")
        };
    }
    Ok(table)
}

/// The last record of a stage of the tree's forces.
fn part<'r>(records: &'r [Record], series: &str, n: u64) -> Result<&'r Record, String> {
    let matches_query =
        |r: &&Record| r.figure == "tree-parts" && r.series == series && r.sinks == n;
    records.iter().rev().find(matches_query).ok_or_else(|| format!("no {series} at {n}"))
}

fn milliseconds(record: &Record) -> Result<String, String> {
    let median = record.summary().ok_or("no samples")?.median;
    Ok(number_of_two(1e3 * median))
}

/// Formats with two significant digits.
fn number_of_two(value: f64) -> String {
    let digits = (1.0 - value.abs().log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}

const TREE_SIZES: [u64; 5] = [10_000, 100_000, 300_000, 1_000_000, 3_000_000];

/// Times of the tree's forces and steps by N, with the error and the time by all pairs.
pub fn tree_steps(records: &[Record]) -> Result<String, String> {
    let mut text = "\n| N | forces, ms | rms error | step, ms | steps by all pairs take |\n\
                    |--:|--:|--:|--:|--:|\n"
        .to_owned();
    for n in &TREE_SIZES[1..] {
        let forces = milliseconds(part(records, "whole", *n)?)?;
        let step = milliseconds(part(records, "step", *n)?)?;
        let matches_query =
            |r: &&Record| r.figure == "tree-n" && r.sinks == *n && r.series == "acceleration 0.003";
        let own: Vec<&Record> = records.iter().rev().filter(matches_query).collect();
        let error = own.iter().find_map(|r| r.rms_error);
        let error = error.ok_or_else(|| format!("no error at {n}"))?;
        let speed_up = own.iter().find_map(|r| r.tree.as_ref()?.speed_up);
        let speed_up = speed_up.ok_or_else(|| format!("no speed-up at {n}"))?;
        let foreseen = if *n > 1_000_000 { " (foreseen)" } else { "" };
        text += &format!(
            "| {} | {forces} | {:.1e} | {step} | {} times as long{foreseen} |\n",
            number(*n as f64),
            error,
            number_of_two(speed_up),
        );
    }
    Ok(text)
}

/// Times of the stages of the tree's forces by N.
pub fn tree_parts(records: &[Record]) -> Result<String, String> {
    let parts = [
        "keys",
        "sort",
        "cells",
        "moments",
        "groups",
        "walk and forces",
        "far cells",
        "balance",
        "whole",
    ];
    let mut text =
        format!("\n| N | {} |\n|--:{}|\n", parts.join(" | "), "|--:".repeat(parts.len()));
    for n in TREE_SIZES {
        text += &format!("| {} |", number(n as f64));
        for series in parts {
            text += &format!(" {} |", milliseconds(part(records, series, n)?)?);
        }
        text += "\n";
    }
    Ok(text)
}

/// Rates of the tree's two lists, of the walk without them and of the whole walk, by N, at one
/// opening angle.
pub fn tree_rates(records: &[Record]) -> Result<String, String> {
    const THETA: f64 = 0.5;
    let mut text = "\n| N | bodies, GFLOP/s | cells, GFLOP/s | cells looked at, GB/s | whole walk, 10^12 slots/s |\n\
                    |--:|--:|--:|--:|--:|\n"
        .to_owned();
    for n in [30_000, 100_000, 1_000_000] {
        let rate = |series: &str| {
            let matches_query = |r: &&Record| {
                r.figure == "tree-rates" && r.series == series && r.sinks == n && r.x == THETA
            };
            let found = records.iter().rev().find(matches_query).and_then(Record::per_sec);
            found.ok_or_else(|| format!("no {series} at {n}"))
        };
        let [bodies, cells, rest] =
            [rate("list of bodies")?, rate("list of cells")?, rate("walk")?].map(|r| r / 1e9);
        let slots = rate("whole")? / 1e12;
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            number(n as f64),
            number(bodies),
            number(cells),
            number(rest),
            number_of_two(slots),
        );
    }
    Ok(text)
}

/// Whole steps of the tree compared with Bonsai's, by N, for a typical and an accurate opening.
/// Bonsai's times are those in src/measure/bench/figures/tree_bonsai.rs.
pub fn tree_bonsai(records: &[Record]) -> Result<String, String> {
    const BONSAI: [(u64, [f64; 2]); 3] =
        [(262_144, [2.54, 3.97]), (1_048_576, [6.18, 11.14]), (4_194_304, [22.7, 42.8])];
    let mut text = "\n| N | alpha | rms error | step, ms | Bonsai's theta | rms error of its rule | its step, ms |\n\
                    |--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for (n, millis) in BONSAI {
        for ((alpha, theta), its) in [(0.013, 0.75), (0.0008, 0.5)].into_iter().zip(millis) {
            let of = |rule: &str, parameter: f64| {
                let matches_query = |r: &&Record| {
                    let is_rule = |facts: &gravitile::measure::TreeFacts| {
                        facts.rule == rule && facts.parameter == parameter
                    };
                    r.figure == "tree-bonsai"
                        && r.sinks == n
                        && r.tree.as_ref().is_some_and(is_rule)
                };
                records
                    .iter()
                    .rev()
                    .find(matches_query)
                    .ok_or_else(|| format!("no {rule} {parameter} at {n}"))
            };
            let (own, rule) = (of("acceleration", alpha)?, of("bonsai", theta)?);
            let rms = |record: &Record| {
                record.rms_error.map(|rms| format!("{rms:.1e}")).ok_or("no error".to_owned())
            };
            let secs = own.summary().ok_or("no samples")?.median;
            text += &format!(
                "| {} | {alpha} | {} | {:.2} | {theta} | {} | {its} |\n",
                number(n as f64),
                rms(own)?,
                1e3 * secs,
                rms(rule)?,
            );
        }
    }
    Ok(text)
}
