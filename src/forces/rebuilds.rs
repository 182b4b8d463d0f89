//! Structures that a method builds over the bodies and reuses for several steps: the interface of
//! engines that have them, and the bodies' positions at the last build, which a snapshot stores so
//! that a run resumes to the same bits.

use std::collections::BTreeMap;

use glam::DVec3;

use super::{Sources, last};

/// Prefix of the names of the columns.
pub const PREFIX: &str = "built.";

/// Positions of bodies on the host, in the caller's units.
const ON_HOST: [&str; 3] = ["built.x", "built.y", "built.z"];
/// Positions of bodies on a device, in f32 in the run's frame.
const IN_FRAME: [&str; 3] = ["built.frame.x", "built.frame.y", "built.frame.z"];

/// An engine that reuses a structure built over the bodies of a simulation and rebuilds it only at
/// some steps. Evaluations between steps, of potentials for example, use the existing structure and
/// leave it unchanged.
pub trait Rebuilds {
    /// Announces that the next evaluation is that of the bodies after `step` steps. With
    /// `are_new` they are other bodies than before, so the existing structure cannot be reused.
    fn begin_step(&mut self, step: u64, are_new: bool);

    /// Continues after `step` with the structure built over bodies at `built_at`. With `None` it is
    /// built over `bodies` if that step is one to build at; otherwise there is none.
    fn resume(&mut self, step: u64, built_at: Option<&[DVec3]>, bodies: &Sources, softening: f64);
}

/// The columns of a snapshot of bodies on the host: their positions at the last build.
pub fn on_host(position: &[DVec3]) -> BTreeMap<String, Vec<f64>> {
    last::named(ON_HOST, position)
}

/// The columns of a snapshot of bodies on a device: their positions at the last build, in the run's
/// frame.
pub fn in_frame(position: &[DVec3]) -> BTreeMap<String, Vec<f64>> {
    last::named(IN_FRAME, position)
}

/// The positions that [`on_host`] stored for `n` bodies, if present.
pub fn find_on_host(columns: &BTreeMap<String, Vec<f64>>, n: usize) -> Option<Vec<DVec3>> {
    last::find_named(ON_HOST, columns, n)
}

/// The positions that [`in_frame`] stored for `n` bodies, if present.
pub fn find_in_frame(columns: &BTreeMap<String, Vec<f64>>, n: usize) -> Option<Vec<DVec3>> {
    last::find_named(IN_FRAME, columns, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_host_and_frame_are_distinguished() {
        let all = [DVec3::new(1.0, -2.5, 1e-300), DVec3::ZERO];
        let (host, frame) = (on_host(&all), in_frame(&all));
        assert!(host.keys().chain(frame.keys()).all(|name| name.starts_with(PREFIX)));
        assert_eq!(find_on_host(&host, 2).unwrap(), all);
        assert_eq!(find_in_frame(&frame, 2).unwrap(), all);
        assert!(find_in_frame(&host, 2).is_none() && find_on_host(&frame, 2).is_none());
    }
}
