//! Forces with one softening per sink. An engine accepts one softening per call, so sinks are
//! grouped by softening.

use std::ffi::c_int;

use glam::DVec3;

use super::cluster::{Call, Cluster, Requested};
use gravitile::error::{Error, Result};

/// Results of a call, in the order of its sinks. Derivatives above the cluster's order are empty.
#[derive(Clone, Debug, Default)]
pub struct Forces {
    pub acceleration: Vec<DVec3>,
    pub jerk: Vec<DVec3>,
    pub snap: Vec<DVec3>,
    /// Negative potentials.
    pub potential: Vec<f64>,
    /// The client's indices of the nearest j-particles, -1 for none; empty if not requested.
    pub nearest: Vec<c_int>,
    /// Their squared distances, without eps.
    pub nearest_squared: Vec<f64>,
}

impl Forces {
    /// Waits for the call that was begun with `n` sinks; `nearest` requests the nearest
    /// j-particles.
    ///
    /// # Errors
    /// Those of [`Cluster::finish`].
    pub fn finish(cluster: &mut Cluster, n: usize, nearest: bool) -> Result<Self> {
        let answers =
            cluster.finish(n, if nearest { Requested::Distance } else { Requested::Forces })?;
        let distances = if nearest { answers.nearest_distance.as_slice() } else { &[] };
        let mut forces = Self {
            acceleration: answers.acceleration.clone(),
            jerk: answers.jerk.clone(),
            snap: answers.snap.clone(),
            potential: answers.potential.clone(),
            nearest: Vec::new(),
            nearest_squared: distances.iter().map(|r| r * r).collect(),
        };
        if nearest {
            forces.nearest.extend_from_slice(cluster.nearest_indices());
            forces.nearest.resize(n, -1);
        }
        Ok(forces)
    }

    /// Writes the results of the sinks `group` to their positions among all `n`.
    fn scatter(self, n: usize, group: &[usize], all: &mut Self) {
        fn part<T: Copy + Default>(from: &[T], n: usize, group: &[usize], into: &mut Vec<T>) {
            if !from.is_empty() {
                into.resize(n, T::default());
                from.iter().zip(group).for_each(|(from, &i)| into[i] = *from);
            }
        }
        part(&self.acceleration, n, group, &mut all.acceleration);
        part(&self.jerk, n, group, &mut all.jerk);
        part(&self.snap, n, group, &mut all.snap);
        part(&self.potential, n, group, &mut all.potential);
        part(&self.nearest, n, group, &mut all.nearest);
        part(&self.nearest_squared, n, group, &mut all.nearest_squared);
    }
}

/// Groups of indices with equal values, each ascending; groups ascend by value.
pub fn groups(values: &[f64]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    order.chunk_by(|a, b| values[*a] == values[*b]).map(<[usize]>::to_vec).collect()
}

/// Forces of `call`, with `softening_squared` per sink instead of the call's own; `nearest`
/// requests the nearest j-particles.
///
/// # Errors
/// The number of softenings differs from that of sinks; those of [`Cluster::begin`] and
/// [`Cluster::finish`].
pub fn evaluate(
    cluster: &mut Cluster,
    mut call: Call,
    softening_squared: &[f64],
    nearest: bool,
) -> Result<Forces> {
    let n = call.position.len();
    if softening_squared.len() != n {
        let allowed = format!("{n}, one for each sink");
        return Err(Error::value("the number of softenings", softening_squared.len(), allowed));
    }
    let first = softening_squared.first().copied().unwrap_or(0.0);
    if softening_squared.iter().all(|other| *other == first) {
        call.softening_squared = first;
        cluster.begin(call)?;
        return Forces::finish(cluster, n, nearest);
    }
    let mut all = Forces::default();
    for group in groups(softening_squared) {
        let of = |from: &[DVec3]| -> Vec<DVec3> {
            if from.is_empty() { Vec::new() } else { group.iter().map(|&i| from[i]).collect() }
        };
        let index = &call.index;
        cluster.begin(Call {
            addresses: call.addresses,
            position: of(&call.position),
            velocity: of(&call.velocity),
            acceleration: of(&call.acceleration),
            index: group.iter().filter_map(|&i| index.get(i).copied()).collect(),
            softening_squared: softening_squared[group[0]],
            radius_squared: Vec::new(),
        })?;
        Forces::finish(cluster, group.len(), nearest)?.scatter(n, &group, &mut all);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::memory::Particle;
    use super::*;
    use gravitile::forces::direct::Reference;
    use gravitile::forces::{Order, TestBodies};

    #[test]
    fn each_sink_uses_its_own_softening() {
        let bodies = TestBodies::new(20, 5);
        let mut cluster = Cluster::new(Box::new(Reference::default()), Order::Snap);
        for k in 0..20 {
            let mut motion = [DVec3::ZERO; 6];
            motion[0] = bodies.position[k];
            motion[1] = bodies.velocity[k];
            let index = k as i32;
            let particle = Particle { index, mass: bodies.mass[k], motion, ..Particle::default() };
            cluster.memory.set(index, particle).unwrap();
        }
        let call = |from: usize, to: usize| Call {
            addresses: 20,
            position: bodies.position[from..to].to_vec(),
            velocity: bodies.velocity[from..to].to_vec(),
            acceleration: bodies.acceleration[from..to].to_vec(),
            index: (from as i32..to as i32).collect(),
            ..Call::default()
        };
        let eps2 = |i: usize| [1e-4, 0.0, 0.25][i % 3];
        let each: Vec<f64> = (0..20).map(eps2).collect();
        let all = evaluate(&mut cluster, call(0, 20), &each, true).unwrap();
        for i in 0..20 {
            let one = evaluate(&mut cluster, call(i, i + 1), &[eps2(i)], true).unwrap();
            assert_eq!(all.acceleration[i], one.acceleration[0]);
            assert_eq!((all.jerk[i], all.snap[i]), (one.jerk[0], one.snap[0]));
            assert_eq!((all.potential[i], all.nearest[i]), (one.potential[0], one.nearest[0]));
            assert_eq!(all.nearest_squared[i], one.nearest_squared[0]);
        }
        let text = evaluate(&mut cluster, call(0, 3), &each, true).unwrap_err().to_string();
        assert!(text.contains("number of softenings is 20, but must be 3"), "{text}");
        let text =
            evaluate(&mut cluster, call(0, 3), &[0.0, -1.0, 0.0], true).unwrap_err().to_string();
        assert!(text.contains("eps2 is -1"), "{text}");
    }
}
