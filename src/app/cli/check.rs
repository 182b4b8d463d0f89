//! `gravitile check`: does every kernel compute the right forces on this adapter?

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::check_direct as direct;
use super::check_engines as engines;
use super::check_parts::{self as parts, Part};
use super::check_results::Results;
use super::check_tree as tree;
use super::options::{Measured, OwnKernel};
use super::{Ended, child, print, progress};
use gravitile::forces::{EngineKind, Method};
use gravitile::gpu::{AdapterRequest, DeviceClass, Gpu};
use gravitile::measure;
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

const MEASURED: Measured = Measured {
    engines: &[EngineKind::Auto, EngineKind::Gpu, EngineKind::Cpu],
    methods: &[Method::Direct, Method::Tree],
    what: "these are compared with the reference",
};

pub fn main(args: &Args) -> Result<Ended> {
    let (mut by, mut kernel) = (args.by.clone(), KernelRequest::NONE);
    args.own.apply(&mut by, &mut kernel)?;
    let engine = MEASURED.engine(&by)?;
    let is_tree = Method::from_name(&args.by.method)? == Some(Method::Tree);
    match (engine, is_tree) {
        (EngineKind::Cpu, false) => engines::main(args.json),
        (EngineKind::Cpu, true) => tree::main(None, args.json),
        (_, false) => on_adapter(args),
        (_, true) => tree::main(Some(&*Gpu::open_blocking(&args.adapter)?), args.json),
    }
}

/// Memory that a part may take in a separate process. A software driver keeps what it compiles in
/// memory: SwiftShader (2026-11) takes 4 GB and half a minute for each kernel of r = 8, u = 16, and
/// 17 GB and more for some.
const MOST_MEMORY: u64 = 4 << 30;

fn on_adapter(args: &Args) -> Result<Ended> {
    let gpu = Gpu::open_blocking(&args.adapter)?;
    let (all, absent, skipped) = match args.own.load()? {
        Some(own) => (vec![Part::Kernel(measure::cases_of(&gpu, own)?)], Vec::new(), Vec::new()),
        None => parts::parts(&gpu)?,
    };
    if let Some(number) = args.part {
        let results = all.get(number).map(|part| parts::check(&gpu, part)).transpose()?;
        print::verbatim(&serde_json::to_string(&results)?)?;
        return Ok(Ended::Done);
    }
    let show = |text: &str| if args.json { Ok(()) } else { print::text(text) };
    show(&format!("{}, {}\n{}", gpu.adapter.name, gpu.adapter.driver, parts::kernels_header()))?;
    let bar = progress::bar(all.len() as u64, "checking");
    let (mut count, mut failed) = (0, 0);
    let mut lists: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut left_out = Vec::new();
    let mut tiers = false;
    for (number, part) in all.iter().enumerate() {
        // Printed as results arrive: on a slow adapter an hour passes between the first and the
        // last.
        match check_isolated(&gpu, part, number)? {
            Ok(results) => {
                if matches!(part, Part::Tier(..)) && !std::mem::replace(&mut tiers, true) {
                    bar.suspend(|| show(&direct::header()))?;
                }
                bar.suspend(|| show(&results.text))?;
                (count, failed) = (count + results.rows.len(), failed + results.failed);
                lists.entry(part.key()).or_default().extend(results.rows);
            }
            Err(died) => {
                let reason = died.to_string();
                bar.suspend(|| show(&format!("not checked: {part}: {reason}\n")))?;
                left_out.push((part.to_string(), reason, died));
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let crashed = left_out.iter().any(|(_, _, died)| matches!(died, child::Died::Crashed(_)));
    let passed = failed == 0 && !crashed;
    if args.json {
        let mut list = |key| lists.remove(key).unwrap_or_default();
        let why = |(what, reason): (String, String)| json!({ "kernel": what, "reason": reason });
        print::json(&json!({
            "adapter": gpu.adapter.name,
            "driver": gpu.adapter.driver,
            "backend": gpu.adapter.backend,
            "passed": passed,
            "cases": list("cases"),
            "steps_in_one_workgroup": list("steps_in_one_workgroup"),
            "forces_with_derivatives": list("forces_with_derivatives"),
            "absent_tiers": absent.iter().map(|(tier, reason)| json!({
                "tier": tier, "reason": reason,
            })).collect::<Vec<_>>(),
            "skipped": skipped.into_iter().map(why).collect::<Vec<_>>(),
            "not_checked": left_out
                .into_iter()
                .map(|(what, reason, _)| why((what, reason)))
                .collect::<Vec<_>>(),
        }))?;
    } else {
        let mut text = String::new();
        for (tier, reason) in &absent {
            text += &format!("tier {tier}: {reason}\n");
        }
        for (what, reason) in &skipped {
            text += &format!("skipped {what}: {reason}\n");
        }
        text += &format!("{} of {} cases agree with f64", count - failed, count);
        if !left_out.is_empty() {
            text += &format!("; {} kinds of kernel were not checked", left_out.len());
        }
        print::text(&(text + "\n"))?;
    }
    Ok(if passed { Ended::Done } else { Ended::Failed })
}

/// Checks a part; on a software adapter in a separate process, whose memory is limited.
fn check_isolated(
    gpu: &std::sync::Arc<Gpu>,
    part: &Part,
    number: usize,
) -> Result<Result<Results, child::Died>> {
    if gpu.adapter.class != DeviceClass::Software {
        return Ok(Ok(parts::check(gpu, part)?));
    }
    let arguments = child::arguments_with(&["--part", &number.to_string()]);
    let answer = child::run(&arguments, Some(MOST_MEMORY))?;
    Ok(match answer {
        Ok(text) => Ok(serde_json::from_str::<Option<Results>>(&text)?.unwrap_or_default()),
        Err(died) => Err(died),
    })
}
