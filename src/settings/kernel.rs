//! What is fixed of the shape of the GPU's force kernel.

#[cfg(feature = "options")]
use clap::builder::{BoolValueParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use super::Dispatch;

/// What is fixed of a [`crate::forces::direct::gpu::KernelConfig`]; the rest is chosen for the device and the problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(
    feature = "options",
    derive(clap::Args),
    command(next_help_heading = "GPU kernel (what is not given is chosen for the device)")
)]
pub struct KernelRequest {
    /// Threads along the sinks of a workgroup; a tile holds p x q sources
    #[cfg_attr(feature = "options", arg(long, value_name = "P"))]
    pub p: Option<u32>,
    /// Threads that share one sink
    #[cfg_attr(feature = "options", arg(long, value_name = "Q"))]
    pub q: Option<u32>,
    /// Sinks per thread, kept in registers
    #[cfg_attr(feature = "options", arg(long, value_name = "R"))]
    pub r: Option<u32>,
    /// Interactions written out per iteration of the inner loop
    #[cfg_attr(feature = "options", arg(long = "unroll", value_name = "U", visible_alias = "u"))]
    pub u: Option<u32>,
    /// Slices of the sources, each with workgroups of its own
    #[cfg_attr(feature = "options", arg(long = "slices", value_name = "S", visible_alias = "s"))]
    pub s: Option<u32>,
    /// No workgroup memory: the baseline that tiling is measured against
    #[cfg_attr(feature = "options", arg(long, conflicts_with = "tiled"))]
    pub untiled: bool,
    /// Sources in a uniform buffer, 4,096 at a time, instead of workgroup memory
    #[cfg_attr(feature = "options", arg(long, conflicts_with_all = ["tiled", "one_workgroup"]))]
    pub uniform: bool,
    /// Tiles in workgroup memory, even where the default does without
    #[cfg_attr(feature = "options", arg(long))]
    pub tiled: bool,
    /// Many steps in one dispatch of one workgroup, for as many bodies as fit one (p x r)
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
    /// The user's own kernel, which the program was told of; what it is belongs to a process, not to files.
    #[cfg_attr(feature = "options", arg(skip))]
    #[serde(skip)]
    pub own: bool,
}

impl KernelRequest {
    /// Nothing fixed.
    pub const NONE: Self = Self {
        p: None,
        q: None,
        r: None,
        u: None,
        s: None,
        untiled: false,
        uniform: false,
        tiled: false,
        dispatch: Dispatch::Auto,
        checked: false,
        own: false,
    };

    /// True when nothing of the shape is fixed: what tuning has found may serve.
    pub fn fixes_nothing(&self) -> bool {
        Self { checked: false, ..*self } == Self::NONE
    }

    /// An option that fixes something of the shape, with its value, if there is one.
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
        let none = KernelRequest::NONE;
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
