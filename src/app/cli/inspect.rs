//! `gravitile inspect`: what the driver reports about the compiled kernel.

use anyhow::Result;
use serde_json::json;

use super::{Ended, child, print};
use gravitile::error::Error;
use gravitile::forces::direct::gpu::{KernelConfig, KernelRequest, KernelVariant};
use gravitile::gpu::{AdapterRequest, DeviceClass, Gpu};
use gravitile::inspect::{CompilerReport, Inspector, LEAST_PER_INTERACTION, RoomLimit};

/// Show what the driver reports about the force kernel: registers, spills, occupancy, machine code
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gravitile inspect --p 256 --r 4 --unroll 4
  gravitile inspect --gpu navi21 --r 8             an AMD GPU that need not be present (Mesa's RADV)
  gravitile inspect --gpu gfx1100 --assembly       the whole machine code

The driver must offer VK_KHR_pipeline_executable_properties: Mesa's drivers for AMD and Intel and
NVIDIA's own do.")]
pub struct Args {
    /// AMD GPU to compile for with Mesa's RADV: polaris10, vega10, renoir, navi10, navi21, gfx1100
    /// ...
    #[arg(long, value_name = "NAME", conflicts_with_all = ["adapter", "baseline"])]
    gpu: Option<String>,
    /// Number of bodies to choose the kernel's shape for
    #[arg(short, default_value = "64k", value_parser = gravitile::settings::count)]
    n: usize,
    /// Show the variant that also computes the potential
    #[arg(long)]
    potential: bool,
    /// Show the variant for softening 0
    #[arg(long)]
    unsoftened: bool,
    /// Print the machine code of the whole kernel, not only of the inner loop
    #[arg(long)]
    assembly: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Compile in this process: drivers crash for some GPUs that are not present
    #[arg(long, hide = true)]
    alone: bool,
    #[command(flatten)]
    adapter: AdapterRequest,
    #[command(flatten)]
    kernel: KernelRequest,
}

pub fn main(args: &Args) -> Result<Ended> {
    if let (Some(family), false) = (&args.gpu, args.alone) {
        // The same output, but a driver that crashes takes down only the child.
        return match child::run(&child::arguments_with(&["--alone"]), None)? {
            Ok(text) => print::verbatim(&text).map(|()| Ended::Done),
            Err(died) => Err(no_compiler(family, &died)),
        };
    }
    let (inspector, config) = match &args.gpu {
        Some(family) => {
            let config = for_absent(args.kernel, args.n);
            config.validate(None)?;
            // SAFETY: the program has started no thread yet.
            (unsafe { Inspector::absent(family) }?, config)
        }
        None => {
            let gpu = Gpu::open_blocking(&args.adapter)?;
            let config = args.kernel.resolve(&gpu, args.n, args.n)?;
            (Inspector::present(&gpu.adapter)?, config)
        }
    };
    // At softening 1 no guard is needed; --unsoftened alone decides.
    let plain = KernelVariant::new(config, 1.0, 1.0, args.potential);
    let report = inspector.report(&KernelVariant { guarded: args.unsoftened, ..plain })?;
    if args.json {
        print::json(&as_json(&report))?;
    } else {
        print::text(&in_words(&report, args.assembly))?;
    }
    Ok(Ended::Done)
}

/// The error when the compiler crashes, as Mesa 22.3.6 does for rembrandt and gfx1036 with some
/// shapes.
pub fn no_compiler(family: &str, died: &child::Died) -> anyhow::Error {
    Error::Outside(format!("Mesa's compiler fails for {family}: {died}")).into()
}

/// The shape for a GPU that is not present, whose limits are therefore not known.
fn for_absent(request: KernelRequest, n: usize) -> KernelConfig {
    request.fill(KernelConfig::for_device(DeviceClass::Discrete, n, n))
}

fn in_words(report: &CompilerReport, whole: bool) -> String {
    let mut text = format!("{}, {}\n", report.device, report.driver);
    text += &format!("kernel {}\n", report.variant.config);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text += &format!("  {name:<24}{value}\n");
        }
    };
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    line("registers per thread", number(report.registers()));
    line("spilled registers", number(report.spilled()));
    line("workgroup memory", report.workgroup_memory().map(|bytes| format!("{bytes} bytes")));
    line("threads per subgroup", number(Some(report.subgroup_size.into()).filter(|n| *n > 0)));
    line("subgroups per SIMD", number(report.subgroups_per_simd()));
    let room = report.room(report.variant.config.threads());
    line("  counted by hand", room.map(|room| room.in_words()));
    line(
        "  each alone allows",
        room.map(|room| {
            let part = |(limit, count): &(RoomLimit, u32)| format!("{} {count}", limit.name());
            let known = room.parts.iter().filter(|(_, count)| *count < 9999);
            known.map(part).collect::<Vec<_>>().join(", ")
        }),
    );
    line("instructions", number(report.instructions()));
    line("code", report.code_size().map(|bytes| format!("{bytes} bytes")));
    if let Some(inner) = &report.inner_loop {
        line(
            "inner loop",
            Some(format!(
                "{} instructions for {} interactions, {} of them reads of the tile",
                inner.instructions, inner.interactions, inner.tile_reads
            )),
        );
        line(
            "per interaction",
            Some(format!(
                "{:.2} instructions, {:.2} on the vector units; the arithmetic needs {LEAST_PER_INTERACTION}",
                inner.per_interaction(),
                inner.vector_per_interaction()
            )),
        );
    }
    text += "\nas the driver reports it\n";
    for statistic in &report.statistics {
        text += &format!("  {:<24}{}\n", statistic.name, statistic.value);
    }
    match (&report.assembly, &report.inner_loop) {
        (None, _) => text += "\nthe driver does not give the machine code\n",
        (Some(_), Some(inner)) if !whole => {
            text += &format!("\nthe inner loop\n{}\n", inner.text);
        }
        (Some(code), _) => text += &format!("\nthe machine code\n{}\n", code.trim_end()),
    }
    text
}

fn as_json(report: &CompilerReport) -> serde_json::Value {
    let config = report.variant.config;
    let inner = report.inner_loop.as_ref().map(|inner| {
        json!({
            "instructions": inner.instructions,
            "vector_instructions": inner.vector,
            "tile_reads": inner.tile_reads,
            "interactions": inner.interactions,
            "instructions_per_interaction": inner.per_interaction(),
            "vector_instructions_per_interaction": inner.vector_per_interaction(),
            "assembly": inner.text,
        })
    });
    let room = report.room(config.threads());
    let statistics: Vec<_> = report
        .statistics
        .iter()
        .map(|s| json!({ "name": s.name, "description": s.description, "value": s.value }))
        .collect();
    json!({
        "device": report.device,
        "driver": report.driver,
        "kernel": config.to_string(),
        "p": config.p, "q": config.q, "r": config.r, "u": config.u, "s": config.s,
        "untiled": config.untiled,
        "guarded": report.variant.guarded,
        "potential": report.variant.potential,
        "registers": report.registers(),
        "spilled": report.spilled(),
        "workgroup_memory_bytes": report.workgroup_memory(),
        "subgroup_size": report.subgroup_size,
        "subgroups_per_simd": report.subgroups_per_simd(),
        "subgroups_per_simd_by_hand": room.map(|room| room.subgroups),
        "limited_by": room.map(|room| room.limit.name()),
        "instructions": report.instructions(),
        "code_bytes": report.code_size(),
        "inner_loop": inner,
        "statistics": statistics,
        "assembly": report.assembly,
    })
}
