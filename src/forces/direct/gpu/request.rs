//! Completes a request for a kernel's shape.

use super::KernelConfig;
use crate::error::Result;
use crate::gpu::{DeviceClass, Gpu};
use crate::settings::{Dispatch, KernelRequest};

impl KernelRequest {
    /// The request with its gaps filled, valid on `gpu`.
    pub fn resolve(&self, gpu: &Gpu, sinks: usize, sources: usize) -> Result<KernelConfig> {
        let default = if self.dispatch == Dispatch::OneWorkgroup {
            KernelConfig::in_one_workgroup(gpu, sinks, self)?
        } else {
            self.default_for(gpu.adapter.class, sinks, sources)
        };
        let config = self.fill(default);
        config.validate(Some(gpu))?;
        config.holds(sinks)?;
        Ok(config)
    }

    /// The values for the gaps. If any number is given, no rows of threads (q) are added: they
    /// would multiply a p chosen without them, and kernels without tiles cannot have them.
    fn default_for(&self, class: DeviceClass, sinks: usize, sources: usize) -> KernelConfig {
        if (Self { dispatch: Dispatch::Auto, ..*self }).fixes_nothing() {
            KernelConfig::for_device(class, sinks, sources)
        } else {
            KernelConfig::by_slices(class, sinks, sources)
        }
    }

    /// The request with its gaps filled from `default`; not yet validated.
    pub fn fill(&self, default: KernelConfig) -> KernelConfig {
        if let (true, Some(config)) = (self.own, super::own::config()) {
            return KernelConfig { checks: self.checked.into(), ..config };
        }
        let p = self.p.unwrap_or(default.p);
        // A number that only tiled kernels have asks for tiles.
        let may_be_untiled = !self.tiled && self.q.is_none_or(|q| q == 1);
        let uniform = self.uniform || (default.uniform && may_be_untiled && !self.untiled);
        let broadcast = self.broadcast
            || (default.broadcast && may_be_untiled && !self.untiled && !self.uniform);
        let untiled = self.untiled || uniform || broadcast || (default.untiled && may_be_untiled);
        let r = self.r.unwrap_or(default.r);
        let largest_unroll = (1..=default.u).rev().find(|u| p.is_multiple_of(*u)).unwrap_or(1);
        KernelConfig {
            p,
            // Several threads per sink come from tuning, not from guessing.
            q: self.q.unwrap_or(default.q),
            r,
            u: self.u.unwrap_or(largest_unroll),
            s: self.s.unwrap_or(default.s),
            untiled,
            uniform: uniform && !self.broadcast,
            broadcast,
            vec2: self.vec2 || (default.vec2 && r.is_multiple_of(2)),
            dispatch: if self.fixes_nothing() { default.dispatch } else { self.dispatch },
            checks: self.checked.into(),
            own: false,
        }
    }
}

impl From<KernelConfig> for KernelRequest {
    fn from(config: KernelConfig) -> Self {
        Self {
            p: Some(config.p),
            q: Some(config.q),
            r: Some(config.r),
            u: Some(config.u),
            s: Some(config.s),
            untiled: config.untiled && !config.uniform && !config.broadcast,
            uniform: config.uniform,
            broadcast: config.broadcast,
            vec2: config.vec2,
            tiled: !config.untiled,
            dispatch: config.dispatch,
            checked: config.checks.into(),
            own: config.own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explicit_shape_gets_no_extra_rows() {
        let class = DeviceClass::Discrete;
        assert_eq!(KernelRequest::default().default_for(class, 1000, 1000).q, 32);
        let requests = [
            KernelRequest { p: Some(256), ..KernelRequest::default() },
            KernelRequest { untiled: true, ..KernelRequest::default() },
            KernelRequest { r: Some(4), ..KernelRequest::default() },
        ];
        for request in requests {
            let config = request.fill(request.default_for(class, 1000, 1000));
            assert!(config.q == 1 && config.validate(None).is_ok(), "{config}");
        }
    }
}
