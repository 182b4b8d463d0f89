//! `gravitile info`: the adapters of this machine, and what `auto` chooses.

use std::sync::Arc;

use anyhow::Result;
use serde_json::json;

use super::{Ended, print};
use crate::lookup;
use gravitile::forces::direct::CpuSingle;
use gravitile::forces::direct::gpu::tiers::{Fitted, verdict};
use gravitile::forces::direct::gpu::{KernelConfig, Masses};
use gravitile::forces::{ForceEngine, Precision};
use gravitile::gpu::{AdapterInfo, AdapterRequest, Gpu};
use gravitile::measure::grouped;
use gravitile::sim::Settings;
use gravitile::tuned::{KnownResults, OUTDATED};

/// Show adapters, drivers, limits and features, and which engine and method auto chooses and why
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// Number of bodies to choose engine and method for
    #[arg(short, default_value = "16k", value_parser = gravitile::settings::count)]
    n: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    adapter: AdapterRequest,
}

pub fn main(args: &Args) -> Result<Ended> {
    let found = Gpu::open_each(args.adapter.baseline);
    let mut settings = Settings { adapter: args.adapter.clone(), ..Settings::default() };
    let choice = lookup::choose(args.n, &mut settings)?;
    let cpu = CpuSingle::new().describe();

    if args.json {
        let adapters: Vec<serde_json::Value> = found
            .iter()
            .map(|(info, gpu)| adapter_json(info, gpu.as_ref().ok(), args.n))
            .collect::<Result<_>>()?;
        print::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "cpu": cpu,
            "mpi": cfg!(feature = "mpi"),
            "adapters": adapters,
            "auto": {
                "n": args.n,
                "engine": choice.kind.name(),
                "method": choice.method.name(),
                "reason": choice.reason,
                "method_reason": choice.method_reason,
            },
        }))?;
        return Ok(Ended::Done);
    }

    let mpi = if cfg!(feature = "mpi") { "built in" } else { "not built in (docs/clusters.md)" };
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("gravitile {version}\ncpu engine: {cpu}\nranks of MPI: {mpi}\n");
    if found.is_empty() {
        text += "graphics adapters: none (no Vulkan, Metal or DX12 driver found)\n";
        if cfg!(target_os = "linux") {
            text += "  on Debian or Ubuntu: sudo apt install mesa-vulkan-drivers libvulkan1\n";
        }
    }
    for (index, (info, gpu)) in found.iter().enumerate() {
        text += &format!("adapter {index}: {} ({})\n", info.name, info.class.name());
        if let Some(place) = &info.place {
            text += &format!("  place     {place}\n");
        }
        text += &format!("  driver    {} through {}\n", info.driver, info.backend);
        match gpu {
            Ok(gpu) => {
                text += &capabilities(gpu, args.n);
                text += &tiers(gpu)?;
            }
            Err(error) => text += &format!("  cannot be opened: {error}\n"),
        }
    }
    text += &format!(
        "auto, for {} bodies: engine {}, method {}\n  because {}\n",
        args.n,
        choice.kind.name(),
        choice.method.name(),
        choice.because()
    );
    print::text(&text)?;
    Ok(Ended::Done)
}

fn yes(present: bool) -> &'static str {
    if present { "yes" } else { "no" }
}

/// Which tiers of precision pass their test on the adapter.
fn tiers(gpu: &Arc<Gpu>) -> Result<String> {
    let mut text = String::new();
    for (precision, name) in Precision::ALL {
        let verdict = match verdict(gpu, precision)? {
            Ok(_) if precision != Precision::DoubleSingle => "holds".to_owned(),
            Ok(pairs) => format!("holds ({})", pairs.name()),
            Err(reason) => format!("no: {reason}"),
        };
        let label = if precision == Precision::Single { "tiers" } else { "" };
        text += &format!("  {label:<9} {name}: {verdict}\n");
    }
    Ok(text)
}

fn tiers_json(gpu: &Arc<Gpu>) -> Result<serde_json::Value> {
    let mut tiers = serde_json::Map::new();
    for (precision, name) in Precision::ALL {
        let verdict = match verdict(gpu, precision)? {
            Ok(pairs) if precision == Precision::DoubleSingle => {
                json!({ "holds": true, "fused": pairs.fused })
            }
            Ok(_) => json!({ "holds": true }),
            Err(reason) => json!({ "holds": false, "reason": reason }),
        };
        tiers.insert(name.to_owned(), verdict);
    }
    Ok(tiers.into())
}

fn capabilities(gpu: &Gpu, n: usize) -> String {
    let (limits, tier) = (&gpu.limits, &gpu.tier);
    let known = lookup::known();
    let default = KernelConfig::for_device(gpu.adapter.class, n, n);
    let (config, found) = match known.find(gpu, n, Masses::InBlocks) {
        Some(config) => (config, "found by tuning"),
        None if known.is_outdated(gpu, n) => (default, OUTDATED),
        None => (default, "not tuned: see 'gravitile tune'"),
    };
    let derivatives = derivatives(&known, gpu, n);
    let units = limits.units.map_or_else(String::new, |units| {
        format!("            {units} compute units (NVIDIA: multiprocessors)\n")
    });
    format!(
        "  limits    {} threads and {} KiB memory per workgroup, {} workgroups per dimension\n\
         \x20           {} MiB per storage buffer (at most {} bodies), pictures up to {} pixels wide\n{units}\
         \x20 optional  timestamps {}, f64 {}, subgroups {}, float32 blending {}, mapped storage {}\n\
         \x20 kernel    {config} for {n} bodies ({found})\n\
         \x20           {derivatives}\n",
        limits.threads_per_workgroup,
        limits.workgroup_memory / 1024,
        limits.workgroups,
        limits.storage_buffer >> 20,
        limits.storage_buffer / gravitile::gpu::layout::VEC4,
        limits.texture_side,
        yes(tier.timestamps),
        yes(tier.f64),
        limits.subgroup_sizes.map_or_else(
            || "no".to_owned(),
            |[least, most]| match least == most {
                true => format!("of {least}"),
                false => format!("of {least} to {most}"),
            }
        ),
        yes(tier.float32_blending),
        yes(tier.mapped_storage),
    )
}

/// What tuning has found about kernels with derivatives for `n` sources, in words.
fn derivatives(known: &KnownResults, gpu: &Gpu, n: usize) -> String {
    let found = known.shapes_for(gpu, n);
    if found.is_empty() {
        let why = match known.has_outdated_shapes(gpu, n) {
            true => OUTDATED,
            false => "not tuned: see 'gravitile tune --derivatives jerk'",
        };
        return format!("with derivatives: the default rule ({why})");
    }
    let kinds = grouped(found.iter().map(|one| {
        let kind = format!("{} in {}", one.order.name(), one.precision.name());
        (kind, one.sinks.to_string())
    }));
    let words =
        kinds.iter().map(|(kind, sinks)| format!("{kind}, up to {} sinks", sinks.join(", ")));
    format!("with derivatives: {} (found by tuning)", words.collect::<Vec<_>>().join("; "))
}

fn derivatives_json(gpu: &Gpu, n: usize) -> serde_json::Value {
    let shown = |one: Fitted| {
        json!({
            "derivatives": one.order.name(),
            "precision": one.precision.name(),
            "up_to_sinks": one.sinks,
            "kernel": one.shape.to_string(),
        })
    };
    lookup::known().shapes_for(gpu, n).into_iter().map(shown).collect()
}

fn adapter_json(info: &AdapterInfo, gpu: Option<&Arc<Gpu>>, n: usize) -> Result<serde_json::Value> {
    Ok(json!({
        "name": info.name,
        "class": info.class.name(),
        "backend": info.backend,
        "driver": info.driver,
        "pci_vendor": info.pci.0,
        "pci_device": info.pci.1,
        "pci_place": info.place,
        "limits": gpu.map(|gpu| json!({
            "threads_per_workgroup": gpu.limits.threads_per_workgroup,
            "workgroup_memory_bytes": gpu.limits.workgroup_memory,
            "workgroups_per_dimension": gpu.limits.workgroups,
            "storage_buffer_bytes": gpu.limits.storage_buffer,
            "texture_side": gpu.limits.texture_side,
            "compute_units": gpu.limits.units,
        })),
        "optional": gpu.map(|gpu| json!({
            "timestamps": gpu.tier.timestamps,
            "f64": gpu.tier.f64,
            "subgroups": gpu.tier.subgroups,
            "subgroup_sizes": gpu.limits.subgroup_sizes,
            "float32_blending": gpu.tier.float32_blending,
            "mapped_storage": gpu.tier.mapped_storage,
        })),
        "tuned_kernel": gpu.and_then(|gpu| lookup::known().find(gpu, n, Masses::InBlocks)).map(|c| c.to_string()),
        "tuned_with_earlier_shaders": gpu.map(|gpu| lookup::known().is_outdated(gpu, n)),
        "tuned_derivatives": gpu.map(|gpu| derivatives_json(gpu, n)),
        "tuned_derivatives_with_earlier_shaders": gpu.map(|gpu| lookup::known().has_outdated_shapes(gpu, n)),
        "default_kernel": KernelConfig::for_device(info.class, n, n).to_string(),
        "tiers": gpu.map(tiers_json).transpose()?,
    }))
}
