//! `gravitile check`: does everything that is computed here agree with f64?

mod checked;
mod parts;

use anyhow::Result;
use serde_json::{Value, json};

use super::options::{Measured, OwnKernel};
use super::{Ended, child, print, progress};
use checked::Results;
use gravitile::forces::{EngineKind, Method};
use gravitile::gpu::{AdapterRequest, DeviceClass, Gpu};
use gravitile::settings::{KernelRequest, MethodRequest};
use parts::{Part, Plan};

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

/// Memory that a part may take in a separate process. A software driver keeps what it compiles in
/// memory: SwiftShader (2026-11) takes 4 GB and half a minute for each kernel of r = 8, u = 16, and
/// 17 GB and more for some.
const MOST_MEMORY: u64 = 4 << 30;

pub fn main(args: &Args) -> Result<Ended> {
    let (mut by, mut kernel) = (args.by.clone(), KernelRequest::NONE);
    args.own.apply(&mut by, &mut kernel)?;
    let gpu = match MEASURED.engine(&by)? {
        EngineKind::Cpu => None,
        _ => Some(Gpu::open_blocking(&args.adapter)?),
    };
    let is_tree = Method::from_name(&args.by.method)? == Some(Method::Tree);
    let plan = match &gpu {
        gpu if is_tree => parts::of_tree(gpu.as_ref()),
        Some(gpu) => parts::of_kernels(gpu, args.own.load()?)?,
        None => parts::of_engines(),
    };
    if let Some(number) = args.part {
        let results = plan.parts.get(number).map(check).transpose()?;
        print::verbatim(&serde_json::to_string(&results)?)?;
        return Ok(Ended::Done);
    }
    let is_software = gpu.is_some_and(|gpu| gpu.adapter.class == DeviceClass::Software);
    check_all(plan, is_software, args.json)
}

fn check(part: &Part) -> Result<Results> {
    Ok(Results::of(&(part.check)()?, part.table))
}

fn check_all(mut plan: Plan, is_software: bool, as_json: bool) -> Result<Ended> {
    let show = |text: &str| if as_json { Ok(()) } else { print::text(text) };
    show(&plan.heading)?;
    let bar = progress::bar(plan.parts.len() as u64, "checking");
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
fn check_isolated(number: usize) -> Result<Result<Results, child::Died>> {
    let arguments = child::arguments_with(&["--part", &number.to_string()]);
    let outcome = child::run(&arguments, Some(MOST_MEMORY))?;
    Ok(match outcome {
        Ok(text) => Ok(serde_json::from_str::<Option<Results>>(&text)?.unwrap_or_default()),
        Err(died) => Err(died),
    })
}
