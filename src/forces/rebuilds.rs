//! What a method builds over the bodies and keeps for several steps: the interface of engines that do, and where the
//! bodies were then, which a snapshot holds so that a run goes on to the same bits.

use std::collections::BTreeMap;

use glam::DVec3;

use super::{Sources, last};

/// The beginning of the names of the columns.
pub const PREFIX: &str = "built.";

/// In the caller's units, of bodies on the host.
const ON_HOST: [&str; 3] = ["built.x", "built.y", "built.z"];
/// In numbers of f32 of the run's frame, of bodies on a device.
const IN_FRAME: [&str; 3] = ["built.frame.x", "built.frame.y", "built.frame.z"];

/// An engine that keeps what it has built over the bodies of a simulation, and builds it anew at some steps only.
/// Evaluations that no step was told for, of potentials, say, use what is there and leave it as it is.
pub trait Rebuilds {
    /// The next evaluation is that of the bodies after `step` steps; with `anew` they are others than before, and
    /// nothing that was kept serves any more.
    fn begin_step(&mut self, step: u64, anew: bool);

    /// Goes on after `step` with what is built over bodies at `built_at`; `None`: over `bodies` as they are at that step,
    /// if that is one to build at, and otherwise with nothing.
    fn go_on(&mut self, step: u64, built_at: Option<&[DVec3]>, bodies: &Sources, softening: f64);
}

/// The columns of a snapshot of bodies on the host: where they were.
pub fn on_host(position: &[DVec3]) -> BTreeMap<String, Vec<f64>> {
    last::named(ON_HOST, position)
}

/// The columns of a snapshot of bodies on a device: where they were in the run's frame.
pub fn in_frame(position: &[DVec3]) -> BTreeMap<String, Vec<f64>> {
    last::named(IN_FRAME, position)
}

/// What [`on_host`] wrote for `n` bodies.
pub fn find_on_host(columns: &BTreeMap<String, Vec<f64>>, n: usize) -> Option<Vec<DVec3>> {
    last::find_named(ON_HOST, columns, n)
}

/// What [`in_frame`] wrote for `n` bodies.
pub fn find_in_frame(columns: &BTreeMap<String, Vec<f64>>, n: usize) -> Option<Vec<DVec3>> {
    last::find_named(IN_FRAME, columns, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_the_host_and_of_a_frame_are_told_apart() {
        let all = [DVec3::new(1.0, -2.5, 1e-300), DVec3::ZERO];
        let (host, frame) = (on_host(&all), in_frame(&all));
        assert!(host.keys().chain(frame.keys()).all(|name| name.starts_with(PREFIX)));
        assert_eq!(find_on_host(&host, 2).unwrap(), all);
        assert_eq!(find_in_frame(&frame, 2).unwrap(), all);
        assert!(find_in_frame(&host, 2).is_none() && find_on_host(&frame, 2).is_none());
    }
}
