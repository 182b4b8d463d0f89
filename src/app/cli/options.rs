//! Options that several subcommands share.

use std::path::Path;

use clap::Args;

use crate::error::Error;
use crate::force::KernelWish;
use crate::gpu::AdapterWish;
use crate::sim::EngineKind;

/// Which engine computes, on what, and how its kernel is cut up.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Engine")]
pub struct EngineOptions {
    /// auto (measures), gpu (any graphics adapter), cpu (SIMD, all cores), reference (f64, slow)
    #[arg(long, default_value = "auto", value_name = "ENGINE")]
    pub engine: String,
    /// Which adapter.
    #[command(flatten)]
    pub adapter: AdapterOptions,
    /// The kernel's shape.
    #[command(flatten)]
    pub kernel: KernelOptions,
}

/// Which graphics adapter.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Engine")]
pub struct AdapterOptions {
    /// Graphics adapter: its number in 'gravitile info', or part of its name
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Use nothing beyond WebGPU's baseline features and limits
    #[arg(long)]
    pub baseline: bool,
}

/// The shape of the GPU's force kernel.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "GPU kernel (what is not given is chosen for the device)")]
pub struct KernelOptions {
    /// Threads along the sinks of a workgroup; a tile holds p x q sources
    #[arg(long, value_name = "P")]
    pub p: Option<u32>,
    /// Threads that share one sink
    #[arg(long, value_name = "Q")]
    pub q: Option<u32>,
    /// Sinks per thread, kept in registers
    #[arg(long, value_name = "R")]
    pub r: Option<u32>,
    /// Interactions written out per turn of the inner loop
    #[arg(long, value_name = "U", visible_alias = "u")]
    pub unroll: Option<u32>,
    /// Slices of the sources, each with workgroups of its own
    #[arg(long, value_name = "S", visible_alias = "s")]
    pub slices: Option<u32>,
    /// No workgroup memory: the baseline that tiling is measured against
    #[arg(long, conflicts_with = "tiled")]
    pub untiled: bool,
    /// Tiles in workgroup memory, also where the default is without
    #[arg(long)]
    pub tiled: bool,
    /// Many steps in one dispatch of one workgroup, for as many bodies as fit one (p x r)
    #[arg(long, conflicts_with = "untiled")]
    pub one_workgroup: bool,
    /// Keep the driver's run-time checks in the kernel
    #[arg(long)]
    pub checked: bool,
}

impl AdapterOptions {
    /// As the library takes it.
    pub fn wish(&self) -> AdapterWish {
        AdapterWish {
            name: self.adapter.clone(),
            baseline_only: self.baseline,
            ..AdapterWish::default()
        }
    }
}

impl KernelOptions {
    /// As the library takes it.
    pub fn wish(&self) -> KernelWish {
        let untiled = match (self.untiled, self.tiled) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        KernelWish {
            p: self.p,
            q: self.q,
            r: self.r,
            u: self.unroll,
            s: self.slices,
            untiled,
            one_workgroup: self.one_workgroup.then_some(true),
            checked: self.checked,
        }
    }
}

impl EngineOptions {
    /// The engine by name.
    pub fn kind(&self) -> Result<EngineKind, Error> {
        EngineKind::from_name(&self.engine)
    }
}

/// Refuses to write over what is there, unless forced.
pub fn fresh(path: &Path, force: bool) -> Result<(), Error> {
    if force || !path.exists() {
        return Ok(());
    }
    Err(Error::file(path, "is there already; give another name, or --force to replace it"))
}

/// A number of bodies: 20000, 20k or 1M.
pub fn count(text: &str) -> Result<usize, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    let number = digits.replace('_', "").parse::<usize>().ok();
    number
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| "a whole number was expected, like 20000, 20k or 1M".to_owned())
}

/// A scene parameter, NAME=VALUE.
pub fn assignment(text: &str) -> Result<(String, f64), String> {
    let (name, value) =
        text.split_once('=').ok_or("NAME=VALUE was expected, like mass-ratio=0.5")?;
    let number = value.trim().parse::<f64>();
    let number = number.map_err(|_| format!("'{value}' is no number"))?;
    Ok((name.trim().to_owned(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_assignments() {
        assert_eq!(count("20k"), Ok(20_000));
        assert_eq!(count("1M"), Ok(1_000_000));
        assert_eq!(count("1_024"), Ok(1024));
        assert_eq!(count("0"), Ok(0));
        for bad in ["", "k", "-5", "1.5", "99999999999999999999", "9999999999999999999M"] {
            assert!(count(bad).is_err(), "{bad}");
        }
        assert_eq!(assignment("q = 1.5"), Ok(("q".to_owned(), 1.5)));
        assert!(assignment("q").is_err() && assignment("q=x").is_err());
    }
}
