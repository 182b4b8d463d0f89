//! What `gravitile check` compares with f64, part by part: kernels, steps in one workgroup and tiers
//! of an adapter; the CPU's engines; the tree.

use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};

use super::checked::{Checked, Table, errors_of, holds, no_problem};
use gravitile::forces::direct::gpu::{KernelConfig, own, tiers};
use gravitile::forces::{Method, Placement, Precision, Tools};
use gravitile::gpu::Gpu;
use gravitile::measure::{
    self, Case, DirectCase, DirectRow, EngineRow, Finding, ForceErrors, Row, StepsRow, TreeRow,
};

/// Cases that are checked and reported together.
pub struct Part {
    /// Its name, should it not be checked.
    pub name: String,
    /// The key of its rows in the JSON object.
    pub key: &'static str,
    pub table: &'static Table,
    pub check: Box<dyn Fn() -> Result<Vec<Checked>>>,
}

/// Everything that a call of `gravitile check` compares.
pub struct Plan {
    /// What is checked, above the table.
    pub heading: String,
    pub parts: Vec<Part>,
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
) -> Part {
    let cases = cases.to_vec();
    let check = move || cases.iter().map(|case| Ok(show(&check(case)?))).collect();
    Part { name, key, table, check: Box::new(check) }
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
pub fn of_engines() -> Plan {
    let check = || {
        let rows = measure::check_engines(Placement::Cpu, Method::Direct, &Tools::default())?;
        Ok(rows.iter().map(engine).collect())
    };
    let name = "engines".to_owned();
    let parts = vec![Part { name, key: "engines", table: &ENGINES, check: Box::new(check) }];
    Plan { heading: String::new(), parts, json: json!({}), notes: String::new(), is_risky: false }
}

/// The tree on `gpu`, or on the processor.
pub fn of_tree(gpu: Option<&Arc<Gpu>>) -> Plan {
    let parts = measure::tree_cases(gpu.map(Arc::as_ref)).into_iter().map(|case| {
        let gpu = gpu.cloned();
        let about = (case.shape.to_string(), "cases", &TREE);
        part(about, &[case], move |case| measure::check_tree(gpu.as_deref(), *case), tree)
    });
    let (heading, json) = of_adapter(gpu);
    Plan { heading, parts: parts.collect(), json, notes: String::new(), is_risky: false }
}

/// All kernels and tiers of an adapter, or a kernel of the user's `own`, with what its threads touch.
pub fn of_kernels(gpu: &Arc<Gpu>, own: Option<KernelConfig>) -> Result<Plan> {
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
        parts.push(part(about, cases, move |case: &Case| measure::check(&gpu, *case), kernel));
    }
    let mut absent = Vec::new();
    if own.is_none() {
        let check = {
            let gpu = Arc::clone(gpu);
            move |&(config, n, eps): &_| measure::check_steps(&gpu, config, n, eps)
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
    Ok(Plan { heading, parts, json, notes, is_risky: true })
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
const SAME_IN_PIECES: &str = "same_in_pieces";

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

fn kernel(row: &Row) -> Checked {
    let Case { config, potential, softening, sinks, sources, .. } = row.case;
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
            holds(
                SAME_IN_PIECES,
                row.same_in_pieces,
                "different bits when cut into small dispatches",
            ),
        ],
    }
}

fn steps(row: &StepsRow) -> Checked {
    let mut errors = errors_of("acceleration_", Some(row.acceleration)).to_vec();
    errors.push(("position_error".to_owned(), Some(row.drift)));
    Checked {
        passed: row.passed(),
        group: vec![STEPS.to_owned()],
        case: vec![
            ("kernel", json!(row.config.to_string())),
            ("n", json!(row.n)),
            ("softening", json!(row.softening)),
        ],
        errors,
        conditions: vec![
            holds(IN_BOUNDS, row.in_bounds, "wrote past its last body"),
            holds(SAME_IN_PIECES, row.same_in_pieces, "different bits when cut into single steps"),
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
            holds(
                SAME_IN_PIECES,
                row.same_in_pieces,
                "different bits when cut into small dispatches",
            ),
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

fn engine(row: &EngineRow) -> Checked {
    let (tier, order) = (row.precision.name(), row.order.name());
    Checked {
        passed: row.passed(),
        group: vec![row.engine.clone(), tier.to_owned(), order.to_owned()],
        case: vec![
            ("engine", json!(row.engine)),
            ("tier", json!(tier)),
            ("order", json!(order)),
            ("sinks", json!(row.sinks)),
            ("sources", json!(row.sources)),
            ("softening", json!(row.softening)),
        ],
        errors: by_quantity(&row.errors),
        conditions: Vec::new(),
    }
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
            holds(
                SAME_IN_PIECES,
                row.same_in_pieces,
                "different bits when cut into small dispatches",
            ),
        ],
    }
}
