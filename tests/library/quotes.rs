//! Numbers in README and docs agree with the records. The text between `<!-- quote: WHAT -->` and
//! `<!-- /quote -->` is generated from `benches/results/`; `script/quote` updates it. A rate or
//! ratio outside of a quote fails the test.
//!
//! WHAT is one of
//!   rate FILE FIGURE N SERIES             10^9 interactions per second
//!   ratio FILE FIGURE N SERIES / SERIES   of two rates
//!   ceiling FILE KEY                      in its unit
//!   slots FILE NUMBER                     multiply-adds per second by a number of slots, in 10^9
//!   instructions FILE                     the table of registers and subgroups by r and u
//!   table FILE ...                        README's table: best rates of the figure 'table'
//!   shapes FILE ...                       docs/tiling.md's table: its rates and shapes by N
//!   rows FILE                             rates by threads per sink, of the figure 'q'
//!   rule FILE                             rate of auto relative to the best, of 'rule'
//!   model FILE LEAST                      model accuracy from LEAST bodies; 0: below 65,536
//!   cuda steps, cuda rates                the comparisons with CUDA, of benches/cuda/results/
//!   tree-steps FILE, tree-parts FILE      times of the tree and of its stages
//!   tree-rates FILE                       rates of its two lists and of its walk by N
//!   tree-bonsai FILE                      whole steps and errors compared with Bonsai's
//!   scores                                the table of scores of all files
//! with FILE a name in benches/results/ without extension; 'tree' is
//! docs/figures/tree/nvidia-h200.jsonl.

#![cfg(feature = "bench")]

mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gravitile::measure::plot::number;
use gravitile::measure::{Ceiling, Record, Score, read_json_lines};

const TEXTS: [&str; 7] = [
    "README.md",
    "docs/direct.md",
    "docs/lab.md",
    "docs/lesson.md",
    "docs/tiling.md",
    "docs/tree.md",
    "benches/results/README.md",
];

const BEGIN: &str = "<!-- quote: ";
const END: &str = "<!-- /quote -->";

/// Phrases that follow a rate or a ratio.
const SIGNS: [&str; 8] = [
    " billion interactions",
    "x 10^9",
    "x 10^12",
    "G interactions/s",
    " times as fast",
    " times faster",
    " GB/s",
    "interactions/s",
];

/// Numbers without a record in `benches/results/`: a part of their line, and the reason.
const OTHERS: &[(&str, &str)] = &[
    ("predicts 10 billion interactions", "the chapter's"),
    ("would need 16,000 GB", "arithmetic"),
    ("the 16,000 GB/s from above", "arithmetic"),
    (
        "1.4 x 10^9 interactions/s on a core",
        "cargo bench --bench grape, on processors that leave no records",
    ),
    ("A card makes 20 x 10^12", "an exercise"),
    ("an interaction, 1.54 x 10^12", "its answer"),
    ("495 x 10^9 pairs/s", "cargo bench --bench sapporo, in its own units"),
    ("248 x 10^9 pairs/s", "the same"),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

type Files = BTreeMap<String, Vec<Record>>;

fn records() -> Files {
    let mut files = Files::new();
    for entry in std::fs::read_dir(root().join("benches/results")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            files.insert(name, read_json_lines(&path).unwrap());
        }
    }
    let tree = root().join("docs/figures/tree/nvidia-h200.jsonl");
    files.insert("tree".to_owned(), read_json_lines(&tree).unwrap());
    files
}

/// The text of a quote, or an error.
fn value(what: &str, files: &Files) -> Result<String, String> {
    let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
    let file = |name: &str| files.get(name).ok_or_else(|| format!("no results '{name}'"));
    match verb {
        "rate" => Ok(number(rate(rest, files)? / 1e9)),
        "ratio" => {
            let (first, second) = rest.split_once(" / ").ok_or("'/' is missing")?;
            let place: Vec<&str> = first.splitn(4, ' ').take(3).collect();
            let second = format!("{} {second}", place.join(" "));
            Ok(format!("{:.2}", rate(first, files)? / rate(&second, files)?))
        }
        "ceiling" => {
            let (name, key) = rest.split_once(' ').ok_or("a key is missing")?;
            let (ceiling, rate) = ceiling(file(name)?, key)?;
            Ok(number(ceiling.in_unit(rate)))
        }
        "slots" => {
            let (name, slots) = rest.split_once(' ').ok_or("a number is missing")?;
            let slots: f64 = slots.parse().map_err(|_| format!("'{slots}' is no number"))?;
            Ok(number(ceiling(file(name)?, "fma")?.1 / slots / 1e9))
        }
        "instructions" => Ok(tables::instructions(file(rest)?)),
        "table" => {
            let all = rest.split(' ').map(file).collect::<Result<Vec<_>, String>>()?;
            Ok(tables::best_rates(&all))
        }
        "scores" => {
            let scores: Vec<Score> =
                files.values().flat_map(|records| Score::all(records)).collect();
            Ok(format!("\n{}", Score::table(&scores)))
        }
        "shapes" => {
            let all = rest.split(' ').map(file).collect::<Result<Vec<_>, String>>()?;
            Ok(tables::shapes(&all))
        }
        "rows" => tables::rows(file(rest)?),
        "rule" => tables::rule(file(rest)?),
        "model" => {
            let (name, least) = rest.split_once(' ').ok_or("a number is missing")?;
            let least = least.parse().map_err(|_| format!("'{least}' is no number"))?;
            tables::model(file(name)?, least)
        }
        "cuda" => tables::cuda(&root().join("benches/cuda/results"), rest),
        "tree-steps" => tables::tree_steps(file(rest)?),
        "tree-parts" => tables::tree_parts(file(rest)?),
        "tree-rates" => tables::tree_rates(file(rest)?),
        "tree-bonsai" => tables::tree_bonsai(file(rest)?),
        _ => Err(format!("nothing is known as '{verb}'")),
    }
}

/// The rate of the last record of a file, figure, number of bodies and series.
fn rate(what: &str, files: &Files) -> Result<f64, String> {
    let words: Vec<&str> = what.splitn(4, ' ').collect();
    let [name, figure, n, series] = words[..] else { return Err(format!("'{what}' is too short")) };
    let n: u64 = n.parse().map_err(|_| format!("'{n}' is no number"))?;
    let records = files.get(name).ok_or_else(|| format!("no results '{name}'"))?;
    let matches_query = |r: &&Record| {
        let kernel = r.kernel_in_words();
        r.figure == figure && r.sinks == n && (r.series == series || kernel == series)
    };
    let found = records.iter().rev().filter(matches_query).find_map(Record::per_sec);
    found.ok_or_else(|| format!("{name} has no {figure} of '{series}' at {n}"))
}

fn ceiling(records: &[Record], key: &str) -> Result<(Ceiling, f64), String> {
    let mut found = records.iter().rev().filter(|r| r.ceiling.as_deref() == Some(key));
    let found = found.find_map(|r| Some((r.ceiling()?, r.per_sec()?)));
    found.ok_or_else(|| format!("no ceiling '{key}'"))
}

/// The text with every quote regenerated from the records.
fn quoted(text: &str, files: &Files) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(BEGIN) {
        let after = &rest[at + BEGIN.len()..];
        let what_end = after.find(" -->").ok_or("a quote does not end")?;
        let what = &after[..what_end];
        let end = after.find(END).ok_or_else(|| format!("'{what}' has no end"))?;
        out += &rest[..at];
        out += &format!(
            "{BEGIN}{what} -->{}{END}",
            value(what, files).map_err(|e| format!("'{what}': {e}"))?
        );
        rest = &after[end + END.len()..];
    }
    Ok(out + rest)
}

/// The text without quotes and code blocks.
fn unquoted(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let (Some(begin), Some(end)) = (rest.find(BEGIN), rest.find(END)) {
        out += &rest[..begin];
        out += "QUOTE";
        // Newlines are kept, so that line numbers stay valid.
        out += &"\n".repeat(rest[begin..end].matches('\n').count());
        rest = &rest[end + END.len()..];
    }
    out += rest;
    let mut code = false;
    let line = |line: &str| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        if code || fence { String::new() } else { line.to_owned() }
    };
    out.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Lines, with their numbers, in which a digit precedes one of [`SIGNS`] outside of a quote.
fn strays(text: &str) -> Vec<(usize, String)> {
    let has = |line: &str, sign: &str| {
        line.match_indices(sign).any(|(at, _)| {
            let before = line[..at].trim_end();
            // 10^9 is part of a unit.
            before.ends_with(|c: char| c.is_ascii_digit()) && !before.ends_with("10^9")
        })
    };
    let is_stray = |line: &str| {
        SIGNS.iter().any(|sign| has(line, sign))
            && !OTHERS.iter().any(|(part, _)| line.contains(part))
    };
    let lines = text.lines().enumerate();
    lines.filter(|(_, line)| is_stray(line)).map(|(i, line)| (i + 1, line.to_owned())).collect()
}

#[test]
fn quoted_numbers_agree_with_the_records() {
    let files = records();
    let update = std::env::var_os("UPDATE_QUOTES").is_some();
    let mut wrong = Vec::new();
    for name in TEXTS {
        let path: &Path = &root().join(name);
        let text = std::fs::read_to_string(path).unwrap();
        match quoted(&text, &files) {
            Ok(right) if right == text => (),
            Ok(right) if update => std::fs::write(path, right).unwrap(),
            Ok(right) => {
                let line = text.lines().zip(right.lines()).find(|(a, b)| a != b);
                wrong.push(format!("{name}: {line:?}; script/quote writes what the records say"));
            }
            Err(problem) => wrong.push(format!("{name}: {problem}")),
        }
        for (line, words) in strays(&unquoted(&text)) {
            wrong.push(format!(
                "{name}, line {line}, has a rate or ratio without a record: {words}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_and_unquoted_numbers_are_detected() {
    let files = records();
    let right = value("rate nvidia-h200 table 65536 the chapter's kernel", &files).unwrap();
    let text = format!(
        "It makes {BEGIN}rate nvidia-h200 table 65536 the chapter's kernel -->7{END} x 10^9 there.\n"
    );
    let corrected = quoted(&text, &files).unwrap();
    assert!(corrected != text && corrected.contains(&format!("-->{right}<!--")), "{corrected}");
    assert_eq!(quoted(&corrected, &files).unwrap(), corrected);
    assert!(
        quoted(&format!("{BEGIN}rate nobody n 1 x -->1{END}"), &files)
            .unwrap_err()
            .contains("nobody")
    );
    assert!(quoted(&format!("{BEGIN}rate nvidia-h200 n 7 x -->1{END}"), &files).is_err());
    assert!(strays(&unquoted(&corrected)).is_empty());
    let stray = |text: &str| !strays(&unquoted(text)).is_empty();
    assert!(stray("makes 2,045 x 10^9 of them") && stray("is 1.10 times as fast"));
    assert!(stray("reads 4,589 GB/s") && !stray("```\n4,589 GB/s\n```") && !stray("n x 10^9"));
}
