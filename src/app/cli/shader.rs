//! `gravitile shader`: the text or binary of a kernel as it would run.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::options::check_output;
use super::{Ended, print};
use gravitile::error::Error;
use gravitile::forces::DeviceField;
use gravitile::forces::direct::gpu::{Dispatch, KernelConfig, KernelRequest, KernelVariant};
use gravitile::gpu::{Checks, Language, translate};
use gravitile::{integrate, render};

/// Print or write a kernel as it would run: WGSL, SPIR-V, Metal or HLSL
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gravitile shader all-pairs --p 256 --r 4 --unroll 4
  gravitile shader all-pairs --p 64 --q 4 --out k.spv
  gravitile shader leapfrog --out leapfrog.msl")]
pub struct Args {
    /// all-pairs, untiled, leapfrog, one-workgroup, or a shader of the pictures (an unknown name
    /// lists them all)
    kernel: String,
    /// File to write; its extension (wgsl, spv, msl, hlsl) sets the language [default: WGSL, to
    /// standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Take the variant that also computes the potential
    #[arg(long)]
    potential: bool,
    /// Take the variant for softening 0
    #[arg(long)]
    unsoftened: bool,
    #[command(flatten)]
    shape: KernelRequest,
}

pub fn main(args: &Args) -> Result<Ended> {
    let checks = args.shape.checked.into();
    if let Some(path) = &args.out {
        check_output(path, args.force)?;
    }
    let text = wgsl(args, checks)?;
    let language = match &args.out {
        None => Language::Wgsl,
        Some(path) => language_of(path)?,
    };
    let out = translate(&args.kernel, &text, language, checks)?;
    match &args.out {
        None => print::verbatim(&text)?,
        Some(path) => std::fs::write(path, out).map_err(|error| Error::io("write", path, error))?,
    }
    Ok(Ended::Done)
}

fn wgsl(args: &Args, checks: Checks) -> Result<String, Error> {
    let shape = &args.shape;
    let config = |r| KernelConfig {
        q: shape.q.unwrap_or(1),
        r: shape.r.unwrap_or(r),
        u: shape.u.unwrap_or(4),
        checks,
        ..KernelConfig::tiled(shape.p.unwrap_or(256))
    };
    // At softening 1 no guard is needed; --unsoftened alone decides.
    let variant = |config, potential| KernelVariant {
        guarded: args.unsoftened,
        ..KernelVariant::new(config, 1.0, 1.0, potential)
    };
    let force = |untiled| {
        let config = KernelConfig { s: shape.s.unwrap_or(1), untiled, ..config(4) };
        config.validate(None)?;
        variant(config, args.potential).wgsl()
    };
    match args.kernel.as_str() {
        "all-pairs" | "all_pairs" => force(shape.untiled),
        "untiled" => force(true),
        "one-workgroup" => {
            let config = KernelConfig { dispatch: Dispatch::OneWorkgroup, ..config(1) };
            integrate::one_workgroup_wgsl(&variant(config, false))
        }
        "leapfrog" => integrate::leapfrog_wgsl(&DeviceField::none()),
        name if render::SHADERS.contains(&name) => render::wgsl(name),
        name => {
            let mut known = vec!["all-pairs", "untiled", "leapfrog", "one-workgroup"];
            known.extend(render::SHADERS);
            Err(Error::unknown("kernel", name, known))
        }
    }
}

fn language_of(path: &Path) -> Result<Language, Error> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let known = Language::ALL.iter().find(|(_, known)| *known == extension);
    known.map(|(language, _)| *language).ok_or_else(|| {
        Error::value("--out", path.display(), "a file name ending in .wgsl, .spv, .msl or .hlsl")
    })
}
