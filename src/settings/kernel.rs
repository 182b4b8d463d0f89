//! What a request fixes of the GPU force kernel's shape.

#[cfg(feature = "options")]
use clap::builder::{BoolValueParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use super::Dispatch;

/// The fixed parts of a [`crate::forces::direct::gpu::KernelConfig`]; the rest is chosen for device
/// and problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(
    feature = "options",
    derive(clap::Args),
    command(next_help_heading = "GPU kernel (options left out are chosen for the device)")
)]
pub struct KernelRequest {
    /// Threads of a workgroup along the sinks; a tile holds p x q sources
    #[cfg_attr(feature = "options", arg(long, value_name = "P"))]
    pub p: Option<u32>,
    /// Threads that share one sink
    #[cfg_attr(feature = "options", arg(long, value_name = "Q"))]
    pub q: Option<u32>,
    /// Sinks per thread, kept in registers
    #[cfg_attr(feature = "options", arg(long, value_name = "R"))]
    pub r: Option<u32>,
    /// Interactions per iteration of the unrolled inner loop
    #[cfg_attr(feature = "options", arg(long = "unroll", value_name = "U", visible_alias = "u"))]
    pub u: Option<u32>,
    /// Slices to cut the sources into, each with its own workgroups
    #[cfg_attr(feature = "options", arg(long = "slices", value_name = "S", visible_alias = "s"))]
    pub s: Option<u32>,
    /// Use no workgroup memory: the baseline that tiling is measured against
    #[cfg_attr(feature = "options", arg(long, conflicts_with = "tiled"))]
    pub untiled: bool,
    /// Read sources from a uniform buffer, 4,096 at a time, instead of workgroup memory
    #[cfg_attr(feature = "options", arg(long, conflicts_with_all = ["tiled", "one_workgroup"]))]
    pub uniform: bool,
    /// Keep sources in registers, passed between the threads of a subgroup, instead of in workgroup
    /// memory
    #[cfg_attr(feature = "options", arg(long, conflicts_with_all = ["tiled", "uniform", "one_workgroup"]))]
    pub broadcast: bool,
    /// Compute two sinks of a thread in one operation on vectors of two; needs an even r
    #[cfg_attr(feature = "options", arg(long, conflicts_with = "one_workgroup"))]
    pub vec2: bool,
    /// Read sources from tiles in workgroup memory, even if the default does not
    #[cfg_attr(feature = "options", arg(long))]
    pub tiled: bool,
    /// Take many steps in one dispatch of a single workgroup, which holds at most p x r bodies
    #[cfg_attr(
        feature = "options",
        arg(
            id = "one_workgroup",
            long = "one-workgroup",
            action = clap::ArgAction::SetTrue,
            value_parser = BoolValueParser::new().map(Dispatch::in_one_workgroup),
            conflicts_with = "untiled"
        )
    )]
    #[serde(rename = "one_workgroup")]
    pub dispatch: Dispatch,
    /// Keep the driver's run-time checks in the kernel
    #[cfg_attr(feature = "options", arg(long))]
    pub checked: bool,
    /// The user's own kernel, registered with the program; its content belongs to a process, not to
    /// files.
    #[cfg_attr(feature = "options", arg(skip))]
    #[serde(skip)]
    pub own: bool,
}

impl KernelRequest {
    /// True when nothing of the shape is fixed, so that the result of tuning may be used.
    pub fn fixes_nothing(&self) -> bool {
        Self { checked: false, ..*self } == Self::default()
    }

    /// The first option that fixes something of the shape, with its value.
    pub fn first_fixed(&self) -> Option<(&'static str, String)> {
        let numbers = [
            ("--p", self.p),
            ("--q", self.q),
            ("--r", self.r),
            ("--unroll", self.u),
            ("--slices", self.s),
        ];
        let number = numbers.into_iter().find_map(|(name, value)| Some((name, value?.to_string())));
        let words = [
            ("--untiled", self.untiled),
            ("--uniform", self.uniform),
            ("--broadcast", self.broadcast),
            ("--vec2", self.vec2),
            ("--tiled", self.tiled),
            ("--one-workgroup", !self.dispatch.is_auto()),
        ];
        let word = words.into_iter().find(|(_, given)| *given);
        number.or_else(|| word.map(|(name, _)| (name, "given".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_named_where_something_is_fixed_and_only_there() {
        let none = KernelRequest::default();
        for request in [none, KernelRequest { checked: true, ..none }] {
            assert!(request.fixes_nothing() && request.first_fixed().is_none());
        }
        for (request, says) in [
            (KernelRequest { q: Some(8), tiled: true, ..none }, ("--q", "8")),
            (KernelRequest { u: Some(4), ..none }, ("--unroll", "4")),
            (KernelRequest { untiled: true, ..none }, ("--untiled", "given")),
            (KernelRequest { tiled: true, ..none }, ("--tiled", "given")),
            (
                KernelRequest { dispatch: Dispatch::OneWorkgroup, ..none },
                ("--one-workgroup", "given"),
            ),
        ] {
            assert!(!request.fixes_nothing());
            let (name, value) = request.first_fixed().unwrap();
            assert_eq!((name, value.as_str()), says);
        }
    }
}
