//! `gravitile check`: does everything that is computed here agree with f64?

use std::sync::Arc;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::options::{MeasurableEngines, OwnKernel};
use super::{Ended, child, print};
use gravitile::forces::direct::gpu::{KernelConfig, own, tiers};
use gravitile::forces::{EngineKind, Method, Placement, Precision, Tools};
use gravitile::gpu::{AdapterRequest, DeviceClass, Gpu};
use gravitile::measure::{
    self, CaseResult, DirectCase, DirectRow, EngineRow, ErrorStats, Finding, ForceErrors,
    KernelCase, StepsRow, TreeRow, grouped,
};
use gravitile::settings::{KernelRequest, MethodRequest};

/// Check every kernel and precision of this adapter against f64: prints worst and rms errors, exits
/// with 1 on failure
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gravitile check                 the adapter's kernels, like --engine gpu
  gravitile check --engine cpu    the CPU engines on this processor
  gravitile check --force-kernel mine.wgsl        a kernel of your own
  gravitile check --method tree   the tree: its cells and moments; errors by rule and kind of bodies")]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Check only the part with this number and print it for the program that started this one
    #[arg(long, hide = true)]
    part: Option<usize>,
    #[command(flatten)]
    by: MethodRequest,
    #[command(flatten)]
    adapter: AdapterRequest,
    #[command(flatten)]
    own: OwnKernel,
}

const MEASURED: MeasurableEngines = MeasurableEngines {
    engines: &[EngineKind::Auto, EngineKind::Gpu, EngineKind::Cpu],
    methods: &[Method::Direct, Method::Tree],
    what: "these are compared with the reference",
};

/// Memory that a part may take in a separate process. A software driver keeps what it compiles in
/// memory: SwiftShader (2026-11) takes 4 GB and half a minute for each kernel of r = 8, u = 16, and
/// 17 GB and more for some.
const MOST_MEMORY: u64 = 4 << 30;

pub fn main(args: &Args) -> Result<Ended> {
    let (mut by, mut kernel) = (args.by.clone(), KernelRequest::default());
    args.own.apply(&mut by, &mut kernel)?;
    let gpu = match MEASURED.engine(&by)? {
        EngineKind::Cpu => None,
        _ => Some(Gpu::open_blocking(&args.adapter)?),
    };
    let is_tree = Method::from_name(&args.by.method)? == Some(Method::Tree);
    let plan = match &gpu {
        gpu if is_tree => of_tree(gpu.as_ref()),
        Some(gpu) => of_kernels(gpu, args.own.load()?)?,
        None => of_engines(),
    };
    if let Some(number) = args.part {
        let results = plan.parts.get(number).map(check).transpose()?;
        print::verbatim(&serde_json::to_string(&results)?)?;
        return Ok(Ended::Done);
    }
    let is_software = gpu.is_some_and(|gpu| gpu.adapter.class == DeviceClass::Software);
    check_all(plan, is_software, args.json)
}

fn check(part: &CheckGroup) -> Result<CheckResults> {
    Ok(CheckResults::of(&(part.check)()?, part.table))
}

fn check_all(mut plan: CheckPlan, is_software: bool, as_json: bool) -> Result<Ended> {
    let show = |text: &str| if as_json { Ok(()) } else { print::text(text) };
    show(&plan.heading)?;
    let bar = print::bar(plan.parts.len() as u64, "checking");
    let ([mut compared, mut agreed], mut failed, mut crashed) = ([0, 0], 0, false);
    let mut left_out: Vec<Value> = Vec::new();
    let mut header = String::new();
    for (number, part) in plan.parts.iter().enumerate() {
        // Printed as results arrive: on a slow adapter an hour passes between the first and the
        // last.
        let found = match plan.is_risky && is_software {
            true => check_isolated(number)?,
            false => Ok(check(part)?),
        };
        let text = match found {
            Ok(results) => {
                failed += results.failed;
                compared += results.compared[0];
                agreed += results.compared[1];
                match &mut plan.json[part.key] {
                    Value::Array(rows) => rows.extend(results.rows),
                    rows => *rows = results.rows.into(),
                }
                let new = part.table.header();
                match new == header {
                    true => results.text,
                    false => {
                        header = new;
                        format!("{header}{}", results.text)
                    }
                }
            }
            Err(died) => {
                crashed |= matches!(died, child::Died::Crashed(_));
                left_out.push(json!({ "kernel": part.name, "reason": died.to_string() }));
                format!("not checked: {}: {died}\n", part.name)
            }
        };
        bar.suspend(|| show(&text))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let passed = failed == 0 && !crashed;
    let mut end = format!("{}{agreed} of {compared} cases agree with f64", plan.notes);
    if !left_out.is_empty() {
        end += &format!("; {} kinds of kernel were not checked", left_out.len());
    }
    show(&(end + "\n"))?;
    if as_json {
        plan.json["passed"] = passed.into();
        if plan.is_risky {
            plan.json["not_checked"] = left_out.into();
        }
        print::json(&plan.json)?;
    }
    Ok(if passed { Ended::Done } else { Ended::Failed })
}

/// Checks a part in a separate process, whose memory is limited.
fn check_isolated(number: usize) -> Result<Result<CheckResults, child::Died>> {
    let arguments = child::arguments_with(&["--part", &number.to_string()]);
    let outcome = child::run(&arguments, Some(MOST_MEMORY))?;
    Ok(match outcome {
        Ok(text) => Ok(serde_json::from_str::<Option<CheckResults>>(&text)?.unwrap_or_default()),
        Err(died) => Err(died),
    })
}

// A case that was compared with f64. One description of it gives its part of a table, its row for
// `--json` and, if it did not pass, a line.

/// A case that was compared with f64.
pub struct Checked {
    pub passed: bool,
    /// The cells before its errors. Cases with equal cells share a line of the table.
    pub group: Vec<String>,
    /// What was checked, by key of the JSON row.
    pub case: Vec<(&'static str, Value)>,
    /// The errors by key, `None` if not computed; `jerk/rms` is the entry `rms` of an object.
    pub errors: Vec<(String, Option<f64>)>,
    /// Further conditions.
    pub conditions: Vec<Condition>,
}

/// The largest and the rms error of a quantity, under keys that begin with `name` and a separator.
pub fn errors_of(name: &str, stats: Option<ErrorStats>) -> [(String, Option<f64>); 2] {
    [
        (format!("{name}worst"), stats.map(|stats| stats.worst)),
        (format!("{name}rms"), stats.map(|stats| stats.rms)),
    ]
}

/// A condition: its key, its value in JSON, and the problem if it does not hold.
type Condition = (&'static str, Value, Option<String>);

/// A condition that holds or not.
fn holds(key: &'static str, holds: bool, problem: &str) -> Condition {
    (key, holds.into(), (!holds).then(|| problem.to_owned()))
}

/// Whether work that is `cut` in pieces gives the same bits.
fn same_in_pieces(same: bool, cut: &str) -> Condition {
    holds("same_in_pieces", same, &format!("different bits when cut into {cut}"))
}

/// A condition whose value in JSON is the problem, or null.
fn no_problem(key: &'static str, found: &Result<(), String>) -> Condition {
    let problem = found.clone().err();
    (key, json!(problem), problem)
}

impl Checked {
    fn json(&self) -> Value {
        let mut row = json!({ "passed": self.passed });
        for (key, value) in &self.case {
            row[key] = value.clone();
        }
        for (key, value, _) in &self.conditions {
            row[key] = value.clone();
        }
        for (key, error) in &self.errors {
            match (key.split_once('/'), error) {
                (None, error) => row[key] = json!(error),
                (Some((object, key)), Some(error)) => row[object][key] = json!(error),
                (Some((object, _)), None) => row[object] = Value::Null,
            }
        }
        row
    }

    /// All of it in one line.
    fn line(&self) -> String {
        let case = self.case.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{} {text}", key.replace('_', " "))
        });
        let errors = self.errors.iter().filter_map(|(key, error)| {
            Some(format!("{} {:.1e}", key.replace(['_', '/'], " "), (*error)?))
        });
        let problems = self.conditions.iter().filter_map(|(_, _, problem)| problem.clone());
        case.chain(errors).chain(problems).collect::<Vec<_>>().join(", ")
    }
}

/// A table of cases. The widths are fixed, so that lines can be printed as results arrive.
pub struct Table {
    /// Titles and widths of the columns of [`Checked::group`].
    pub by: &'static [(&'static str, usize)],
    /// Titles and keys of errors; a cell is the largest among the cases of a line.
    pub errors: &'static [(&'static str, &'static str)],
}

impl Table {
    pub fn header(&self) -> String {
        let by = self.by.iter().map(|(title, _)| *title);
        let errors = self.errors.iter().map(|(title, _)| *title);
        self.line(by.chain(["cases"]).chain(errors).map(str::to_owned).collect())
    }

    fn line(&self, cells: Vec<String>) -> String {
        let by = self.by.iter().map(|(_, width)| *width);
        let errors = self.errors.iter().map(|(title, _)| title.len().max(7));
        print::row(&cells, &by.chain([5]).chain(errors).chain([6]).collect::<Vec<_>>())
    }

    fn line_of(&self, group: &[&Checked]) -> String {
        // Not f64::max, which would skip a NaN.
        let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        let cell = |key: &str| {
            let errors = group.iter().flat_map(|one| &one.errors).filter(|(known, _)| known == key);
            let largest = errors.filter_map(|(_, error)| *error).reduce(larger);
            largest.map_or_else(String::new, |error| format!("{error:.1e}"))
        };
        let mut cells = group[0].group.clone();
        cells.push(group.len().to_string());
        cells.extend(self.errors.iter().map(|(_, key)| cell(key)));
        cells.push(if group.iter().all(|one| one.passed) { "ok" } else { "FAILED" }.to_owned());
        self.line(cells)
    }
}

/// Cases as text and as rows for `--json`.
#[derive(Default, Serialize, Deserialize)]
pub struct CheckResults {
    pub text: String,
    pub failed: usize,
    /// How many were compared with f64, and how many of these passed.
    pub compared: [usize; 2],
    pub rows: Vec<Value>,
}

impl CheckResults {
    /// The lines of the table, and one for each case that did not pass.
    pub fn of(cases: &[Checked], table: &Table) -> Self {
        let groups = grouped(cases.iter().map(|one| (&one.group, one)));
        let lines = groups.iter().map(|(_, group)| table.line_of(group));
        let failed = || cases.iter().filter(|one| !one.passed);
        let compared = || cases.iter().filter(|one| !one.errors.is_empty());
        let failures = failed().map(|one| format!("FAILED {}\n", one.line()));
        Self {
            text: lines.chain(failures).collect(),
            failed: failed().count(),
            compared: [compared().count(), compared().filter(|one| one.passed).count()],
            rows: cases.iter().map(Checked::json).collect(),
        }
    }
}

// What `gravitile check` compares with f64, part by part: kernels, steps in one workgroup and tiers
// of an adapter; the CPU's engines; the tree.

/// Cases that are checked and reported together.
pub struct CheckGroup {
    /// Its name, should it not be checked.
    pub name: String,
    /// The key of its rows in the JSON object.
    pub key: &'static str,
    pub table: &'static Table,
    pub check: Box<dyn Fn() -> Result<Vec<Checked>>>,
}

/// Everything that a call of `gravitile check` compares.
pub struct CheckPlan {
    /// What is checked, above the table.
    pub heading: String,
    pub parts: Vec<CheckGroup>,
    /// The JSON object before the parts are added.
    pub json: Value,
    /// Lines on what is not compared.
    pub notes: String,
    /// Whether a driver may crash or take all memory while it compiles.
    pub is_risky: bool,
}

fn part<C: Clone + 'static, R: 'static>(
    (name, key, table): (String, &'static str, &'static Table),
    cases: &[C],
    check: impl Fn(&C) -> gravitile::error::Result<R> + 'static,
    show: fn(&R) -> Checked,
) -> CheckGroup {
    let cases = cases.to_vec();
    let check = move || cases.iter().map(|case| Ok(show(&check(case)?))).collect();
    CheckGroup { name, key, table, check: Box::new(check) }
}

fn of_adapter(gpu: Option<&Arc<Gpu>>) -> (String, Value) {
    let adapter = gpu.map(|gpu| &gpu.adapter);
    let heading = adapter.map_or("the processor\n".to_owned(), |adapter| {
        format!("{}, {}\n", adapter.name, adapter.driver)
    });
    let json = json!({
        "adapter": adapter.map(|adapter| &adapter.name),
        "driver": adapter.map(|adapter| &adapter.driver),
        "backend": adapter.map(|adapter| &adapter.backend),
    });
    (heading, json)
}

/// The engines of the processor.
pub fn of_engines() -> CheckPlan {
    let check = || {
        let rows = measure::check_engines(Placement::Cpu, Method::Direct, &Tools::default())?;
        Ok(rows.iter().map(engine).collect())
    };
    let name = "engines".to_owned();
    let parts = vec![CheckGroup { name, key: "engines", table: &ENGINES, check: Box::new(check) }];
    CheckPlan {
        heading: String::new(),
        parts,
        json: json!({}),
        notes: String::new(),
        is_risky: false,
    }
}

/// The tree on `gpu`, or on the processor.
pub fn of_tree(gpu: Option<&Arc<Gpu>>) -> CheckPlan {
    let parts = measure::tree_cases(gpu.map(Arc::as_ref)).into_iter().map(|case| {
        let gpu = gpu.cloned();
        let about = (case.shape.to_string(), "cases", &TREE);
        part(about, &[case], move |case| measure::check_tree(gpu.as_deref(), *case), tree)
    });
    let (heading, json) = of_adapter(gpu);
    CheckPlan { heading, parts: parts.collect(), json, notes: String::new(), is_risky: false }
}

/// All kernels and tiers of an adapter, or a kernel of the user's `own`, with what its threads
/// touch.
pub fn of_kernels(gpu: &Arc<Gpu>, own: Option<KernelConfig>) -> Result<CheckPlan> {
    let (cases, skipped) = match own {
        Some(own) => (measure::cases_of(gpu, own)?, Vec::new()),
        None => measure::cases(gpu),
    };
    let mut parts = Vec::new();
    let mut notes = String::new();
    if let Some((path, text)) = own.and_then(|_| own::loaded()) {
        match measure::accesses(&path.to_string_lossy(), &text) {
            Ok(found) => {
                let about = ("accesses".to_owned(), "accesses", &ACCESSES);
                parts.push(part(about, &found.findings(), |one| Ok(one.clone()), finding));
            }
            Err(error) => notes += &format!("what its threads touch was not looked at: {error}\n"),
        }
    }
    for cases in cases.chunk_by(|a, b| a.config == b.config) {
        let (gpu, about) = (Arc::clone(gpu), (cases[0].config.to_string(), "cases", &KERNELS));
        parts.push(part(
            about,
            cases,
            move |case: &KernelCase| measure::check(&gpu, *case),
            kernel,
        ));
    }
    let mut absent = Vec::new();
    if own.is_none() {
        let check = {
            let gpu = Arc::clone(gpu);
            move |case: &KernelCase| measure::check_steps(&gpu, *case)
        };
        let about = (STEPS.to_owned(), "steps_in_one_workgroup", &KERNELS);
        parts.push(part(about, &measure::steps_cases(gpu), check, steps));
        let mut present = Vec::new();
        for (precision, name) in Precision::ALL {
            match tiers::verdict(gpu, precision)? {
                Ok(_) => present.push(precision),
                Err(reason) => absent.push((name, reason)),
            }
        }
        let same =
            |a: &DirectCase, b: &DirectCase| (a.precision, a.order) == (b.precision, b.order);
        for cases in measure::direct_cases(&present, false).chunk_by(same) {
            let gpu = Arc::clone(gpu);
            let name = format!("{} up to {}", cases[0].precision.name(), cases[0].order.name());
            let about = (name, "forces_with_derivatives", &TIERS);
            parts.push(part(about, cases, move |case| measure::check_direct(&gpu, *case), tier));
        }
    }
    for (tier, reason) in &absent {
        notes += &format!("tier {tier}: {reason}\n");
    }
    for measure::Skipped { config, reason } in &skipped {
        notes += &format!("skipped {config}: {reason}\n");
    }
    let (heading, mut json) = of_adapter(Some(gpu));
    let absent = absent.iter().map(|(tier, reason)| json!({ "tier": tier, "reason": reason }));
    json["absent_tiers"] = absent.collect();
    let skipped = skipped.iter();
    let skipped =
        skipped.map(|one| json!({ "kernel": one.config.to_string(), "reason": one.reason }));
    json["skipped"] = skipped.collect();
    for key in ["accesses", "cases", "steps_in_one_workgroup", "forces_with_derivatives"] {
        json[key] = json!([]);
    }
    Ok(CheckPlan { heading, parts, json, notes, is_risky: true })
}

const ACCESSES: Table = Table { by: &[("what its threads do", 92)], errors: &[] };

fn finding(found: &Finding) -> Checked {
    let Finding { is_fine, is_about_sums, words } = found;
    let slow = if *is_fine || *is_about_sums { "" } else { "slow: " };
    Checked {
        passed: *is_fine || !is_about_sums,
        group: vec![format!("{slow}{words}")],
        case: vec![("found", json!(words)), ("fine", json!(is_fine))],
        errors: Vec::new(),
        conditions: Vec::new(),
    }
}

const STEPS: &str = "steps in one workgroup";
const IN_BOUNDS: &str = "in_bounds";

const KERNELS: Table = Table {
    by: &[("kernel", 35)],
    errors: &[
        ("worst a", "acceleration_worst"),
        ("rms a", "acceleration_rms"),
        ("worst phi", "potential_worst"),
        ("rms phi", "potential_rms"),
        ("position", "position_error"),
    ],
};

fn kernel(row: &CaseResult) -> Checked {
    let KernelCase { config, potential, softening, sinks, sources, .. } = row.case;
    Checked {
        passed: row.passed(),
        group: vec![config.to_string()],
        case: vec![
            ("kernel", json!(config.to_string())),
            ("sinks", json!(sinks)),
            ("sources", json!(sources)),
            ("softening", json!(softening)),
            ("with_potential", json!(potential)),
        ],
        errors: [
            errors_of("acceleration_", Some(row.acceleration)),
            errors_of("potential_", row.potential),
        ]
        .concat(),
        conditions: vec![
            holds(IN_BOUNDS, row.in_bounds, "wrote past its last sink"),
            same_in_pieces(row.same_in_pieces, "small dispatches"),
        ],
    }
}

fn steps(row: &StepsRow) -> Checked {
    let StepsRow { forces, drift } = row;
    let mut errors = errors_of("acceleration_", Some(forces.acceleration)).to_vec();
    errors.push(("position_error".to_owned(), Some(*drift)));
    Checked {
        passed: row.passed(),
        group: vec![STEPS.to_owned()],
        case: vec![
            ("kernel", json!(forces.case.config.to_string())),
            ("n", json!(forces.case.sinks)),
            ("softening", json!(forces.case.softening)),
        ],
        errors,
        conditions: vec![
            holds(IN_BOUNDS, forces.in_bounds, "wrote past its last body"),
            same_in_pieces(forces.same_in_pieces, "single steps"),
        ],
    }
}

const TIERS: Table = Table {
    by: &[("tier", 22), ("up to", 12)],
    errors: &[
        ("rms a", "acceleration/rms"),
        ("worst a", "acceleration/worst"),
        ("rms jerk", "jerk/rms"),
        ("worst jerk", "jerk/worst"),
        ("rms snap", "snap/rms"),
        ("worst snap", "snap/worst"),
        ("rms phi", "potential/rms"),
        ("worst phi", "potential/worst"),
    ],
};

fn by_quantity(errors: &ForceErrors) -> Vec<(String, Option<f64>)> {
    let quantities = errors.quantities().into_iter();
    quantities.flat_map(|(name, stats)| errors_of(&format!("{name}/"), stats)).collect()
}

fn tier(row: &DirectRow) -> Checked {
    let DirectCase { precision, order, shape, softening, sinks, sources, .. } = row.case;
    // Refined and plain sums are different arithmetic.
    let refined = if precision.refines(sources) { ", refined" } else { "" };
    Checked {
        passed: row.passed(),
        group: vec![format!("{}{refined}", precision.name()), order.name().to_owned()],
        case: vec![
            ("tier", json!(precision.name())),
            ("order", json!(order.name())),
            ("shape", json!(shape.map(|shape| shape.to_string()))),
            ("sinks", json!(sinks)),
            ("sources", json!(sources)),
            ("softening", json!(softening)),
        ],
        errors: by_quantity(&row.errors),
        conditions: vec![
            no_problem("neighbours", &row.neighbours),
            holds(IN_BOUNDS, row.in_bounds, "wrote past its end"),
            same_in_pieces(row.same_in_pieces, "small dispatches"),
        ],
    }
}

const ENGINES: Table = Table {
    by: &[("engine", 28), ("tier", 6), ("up to", 12)],
    errors: &[
        ("rms a", "acceleration/rms"),
        ("rms jerk", "jerk/rms"),
        ("rms snap", "snap/rms"),
        ("rms phi", "potential/rms"),
    ],
};

fn engine(EngineRow { engine, row }: &EngineRow) -> Checked {
    let mut checked = tier(row);
    checked.group = vec![engine.clone(), row.case.precision.name().to_owned()];
    checked.group.push(row.case.order.name().to_owned());
    checked.case.retain(|(key, _)| *key != "shape");
    checked.case.insert(0, ("engine", json!(engine)));
    checked.conditions.clear();
    checked
}

const TREE: Table = Table {
    by: &[("bodies", 19), ("n", 5), ("eps", 4), ("rule", 32)],
    errors: &[
        ("rms a", "acceleration_rms"),
        ("median", "acceleration_median"),
        ("99 %", "acceleration_99"),
        ("largest", "acceleration_worst"),
        ("momentum", "momentum"),
        ("rms phi", "potential_rms"),
    ],
};

fn tree(row: &TreeRow) -> Checked {
    let (case, errors) = (&row.case, &row.acceleration);
    let accelerations = [
        ("acceleration_rms", errors.rms()),
        ("acceleration_median", errors.median()),
        ("acceleration_99", errors.quantile(0.99)),
        ("acceleration_worst", errors.worst()),
        ("momentum", row.momentum),
    ];
    let accelerations = accelerations.map(|(key, error)| (key.to_owned(), Some(error)));
    let (cloud, rule) = (case.cloud.name(), case.shape.to_string());
    Checked {
        passed: row.passed(),
        group: vec![
            cloud.to_owned(),
            case.n.to_string(),
            case.softening.to_string(),
            rule.replace("tree, ", ""),
        ],
        case: vec![
            ("bodies", json!(cloud)),
            ("n", json!(case.n)),
            ("sinks", json!(case.sinks)),
            ("softening", json!(case.softening)),
            ("with_potential", json!(case.potential)),
            ("rule", json!(rule)),
            ("leaf", json!(case.shape.leaf)),
        ],
        errors: [&accelerations[..], &errors_of("potential_", row.potential)].concat(),
        conditions: vec![
            no_problem("wrong_stage", &row.stages),
            same_in_pieces(row.same_in_pieces, "small dispatches"),
        ],
    }
}

#[cfg(test)]
mod checked_tests {
    use super::*;

    const TABLE: Table = Table { by: &[("kernel", 8)], errors: &[("worst a", "a/worst")] };

    fn checked(name: &str, worst: f64, problem: &str) -> Checked {
        let stats = ErrorStats { worst, rms: 0.5 * worst };
        Checked {
            passed: problem.is_empty(),
            group: vec![name.to_owned()],
            case: vec![("kernel", json!(name)), ("sinks", json!(3))],
            errors: [errors_of("a/", Some(stats)), errors_of("b/", None)].concat(),
            conditions: vec![holds("in_bounds", problem.is_empty(), problem)],
        }
    }

    #[test]
    fn cases_of_one_kernel_share_a_line_and_failures_have_their_own() {
        let cases = [
            checked("one", 1e-7, ""),
            checked("two", f64::INFINITY, "wrote past its end"),
            checked("one", 3e-7, ""),
        ];
        let results = CheckResults::of(&cases, &TABLE);
        let lines: Vec<&str> = results.text.lines().collect();
        assert_eq!(lines[0], "one       2      3.0e-7   ok");
        assert_eq!(lines[1], "two       1      inf      FAILED");
        assert_eq!(
            lines[2],
            "FAILED kernel two, sinks 3, a worst inf, a rms inf, wrote past its end"
        );
        assert_eq!((results.failed, results.compared, lines.len()), (1, [3, 2], 3));
        let row = &results.rows[0];
        assert_eq!((&row["a"]["rms"], &row["b"]), (&json!(5e-8), &Value::Null));
        assert_eq!((&row["in_bounds"], &row["passed"]), (&json!(true), &json!(true)));
    }
}
