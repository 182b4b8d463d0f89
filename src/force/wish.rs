//! What the user fixed of a kernel's shape, and how the rest is filled in.

use super::KernelConfig;
use crate::error::Result;
use crate::gpu::{Checks, DeviceClass, Gpu};

/// What the user fixed of a [`KernelConfig`]; the rest is chosen for the device and the problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelWish {
    /// See [`KernelConfig::p`].
    pub p: Option<u32>,
    /// See [`KernelConfig::q`].
    pub q: Option<u32>,
    /// See [`KernelConfig::r`].
    pub r: Option<u32>,
    /// See [`KernelConfig::u`].
    pub u: Option<u32>,
    /// See [`KernelConfig::s`].
    pub s: Option<u32>,
    /// See [`KernelConfig::untiled`]; a `q` above 1 asks for tiles.
    pub untiled: Option<bool>,
    /// See [`KernelConfig::one_workgroup`].
    pub one_workgroup: Option<bool>,
    /// See [`KernelConfig::checks`].
    pub checked: bool,
}

impl KernelWish {
    /// The wish with the gaps filled, valid on `gpu`.
    pub fn resolve(&self, gpu: &Gpu, sinks: usize, sources: usize) -> Result<KernelConfig> {
        let default = if self.one_workgroup == Some(true) {
            KernelConfig::in_one_workgroup(gpu, sinks, self)?
        } else {
            self.default_for(gpu.adapter.class, sinks, sources)
        };
        let config = self.fill(default);
        config.validate(Some(gpu))?;
        config.holds(sinks)?;
        Ok(config)
    }

    /// What fills the gaps. Where a number is given, rows of threads (q) are not added to it: they would
    /// multiply a p that was chosen without them, and have no place in a kernel without tiles.
    fn default_for(&self, class: DeviceClass, sinks: usize, sources: usize) -> KernelConfig {
        if self.fixes_nothing() {
            KernelConfig::for_device(class, sinks, sources)
        } else {
            KernelConfig::by_slices(class, sinks, sources)
        }
    }

    /// True when nothing of the shape is fixed: what tuning has found may serve.
    pub fn fixes_nothing(&self) -> bool {
        Self { checked: false, ..*self } == Self::default()
    }

    /// The wish with the gaps filled from `default`; what comes out is yet to be validated.
    pub fn fill(&self, default: KernelConfig) -> KernelConfig {
        let p = self.p.unwrap_or(default.p);
        // A number given for what only tiles have is a wish for tiles.
        let untiled = self.untiled.unwrap_or(default.untiled && self.q.is_none_or(|q| q == 1));
        let largest_unroll = (1..=default.u).rev().find(|u| p.is_multiple_of(*u)).unwrap_or(1);
        KernelConfig {
            p,
            // Several threads per sink are found by tuning, not by guessing.
            q: self.q.unwrap_or(default.q),
            r: self.r.unwrap_or(default.r),
            u: self.u.unwrap_or(largest_unroll),
            s: self.s.unwrap_or(default.s),
            untiled,
            one_workgroup: self.one_workgroup.unwrap_or(default.one_workgroup),
            checks: if self.checked { Checks::On } else { Checks::Off },
        }
    }
}

impl From<KernelConfig> for KernelWish {
    fn from(config: KernelConfig) -> Self {
        Self {
            p: Some(config.p),
            q: Some(config.q),
            r: Some(config.r),
            u: Some(config.u),
            s: Some(config.s),
            untiled: Some(config.untiled),
            one_workgroup: Some(config.one_workgroup),
            checked: config.checks == Checks::On,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_given_is_not_multiplied_by_rows() {
        let class = DeviceClass::Discrete;
        assert_eq!(KernelWish::default().default_for(class, 1000, 1000).q, 32);
        let wishes = [
            KernelWish { p: Some(256), ..KernelWish::default() },
            KernelWish { untiled: Some(true), ..KernelWish::default() },
            KernelWish { r: Some(4), ..KernelWish::default() },
        ];
        for wish in wishes {
            let config = wish.fill(wish.default_for(class, 1000, 1000));
            assert!(config.q == 1 && config.validate(None).is_ok(), "{config}");
        }
    }
}
