//! Sources as a host engine stores them, in the caller's units.

use glam::DVec3;

use super::{Sources, check_update};
use crate::error::Result;

/// A copy of the latest sources; 32 bytes each, 80 with velocities and accelerations.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldSources {
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
    acceleration: Vec<DVec3>,
    mass: Vec<f64>,
}

impl HeldSources {
    /// Replaces all sources; see [`super::ForceEngine::set_sources`].
    pub fn set(&mut self, sources: &Sources) -> Result<()> {
        sources.check()?;
        let copy = |into: &mut Vec<DVec3>, from: &[DVec3]| {
            into.clear();
            into.extend_from_slice(from);
        };
        copy(&mut self.position, sources.position);
        copy(&mut self.velocity, sources.velocity);
        copy(&mut self.acceleration, sources.acceleration);
        self.mass.clear();
        self.mass.extend_from_slice(sources.mass);
        Ok(())
    }

    /// Replaces some sources; see [`super::ForceEngine::update_sources`].
    pub fn update(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        check_update(index, sources, self.len())?;
        for (k, j) in index.iter().map(|&j| j as usize).enumerate() {
            self.position[j] = sources.position[k];
            self.mass[j] = sources.mass[k];
            for (all, new) in [
                (&mut self.velocity, sources.velocity),
                (&mut self.acceleration, sources.acceleration),
            ] {
                if let (Some(old), Some(new)) = (all.get_mut(j), new.get(k)) {
                    *old = *new;
                }
            }
        }
        Ok(())
    }

    /// Number of sources.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// All of them.
    pub fn all(&self) -> Sources<'_> {
        Sources {
            position: &self.position,
            velocity: &self.velocity,
            acceleration: &self.acceleration,
            mass: &self.mass,
        }
    }
}
