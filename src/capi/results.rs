//! Results of a call: forces with one softening per sink, and the client's arrays for results.

use std::borrow::Cow;
use std::ffi::c_int;

use super::cluster::{BoardForces, Call, Cluster, Requested};
use super::guard::DONE;
use super::slices::OutputArray;
use gravitile::error::{Error, Result};

/// Waits for the call that was begun with `n` sinks; `nearest` requests the nearest j-particles.
///
/// # Errors
/// Those of [`Cluster::finish`].
pub fn finish(cluster: &mut Cluster, n: usize, nearest: bool) -> Result<BoardForces> {
    cluster.finish(n, if nearest { Requested::Distance } else { Requested::Forces }).cloned()
}

/// Writes the results of the sinks `group` to their positions among all `n`.
fn scatter(one: &BoardForces, n: usize, group: &[usize], all: &mut BoardForces) {
    fn part<T: Copy + Default>(from: &[T], n: usize, group: &[usize], into: &mut Vec<T>) {
        if !from.is_empty() {
            into.resize(n, T::default());
            from.iter().zip(group).for_each(|(from, &i)| into[i] = *from);
        }
    }
    let (from, into) = (&one.results, &mut all.results);
    part(&from.acceleration, n, group, &mut into.acceleration);
    part(&from.jerk, n, group, &mut into.jerk);
    part(&from.snap, n, group, &mut into.snap);
    part(&from.potential, n, group, &mut into.potential);
    part(&from.nearest_distance, n, group, &mut into.nearest_distance);
    part(&one.nearest, n, group, &mut all.nearest);
}

/// Groups of indices with equal values, each ascending; groups ascend by value.
pub fn groups(values: &[f64]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    order.chunk_by(|a, b| values[*a] == values[*b]).map(<[usize]>::to_vec).collect()
}

/// The forces of `call`, with `softening_squared` per sink instead of the call's own; `nearest`
/// requests the nearest j-particles. An engine accepts one softening per call, so sinks are grouped
/// by softening.
///
/// # Errors
/// The number of softenings differs from that of sinks; those of [`Cluster::begin`] and
/// [`Cluster::finish`].
pub fn evaluate(
    cluster: &mut Cluster,
    call: &Call,
    softening_squared: &[f64],
    nearest: bool,
) -> Result<BoardForces> {
    let n = call.position.len();
    if softening_squared.len() != n {
        let allowed = format!("{n}, one for each sink");
        return Err(Error::value("the number of softenings", softening_squared.len(), allowed));
    }
    let first = softening_squared.first().copied().unwrap_or(0.0);
    if softening_squared.iter().all(|other| *other == first) {
        cluster.begin(&Call { softening_squared: first, ..call.clone() })?;
        return finish(cluster, n, nearest);
    }
    let mut all = BoardForces::default();
    for group in groups(softening_squared) {
        fn of<T: Copy>(from: &[T], group: &[usize]) -> Cow<'static, [T]> {
            group.iter().filter_map(|&i| from.get(i).copied()).collect()
        }
        let part = Call {
            addresses: call.addresses,
            position: of(&call.position, &group),
            velocity: of(&call.velocity, &group),
            acceleration: of(&call.acceleration, &group),
            index: of(&call.index, &group),
            softening_squared: softening_squared[group[0]],
            radius_squared: Cow::default(),
        };
        cluster.begin(&part)?;
        scatter(&finish(cluster, group.len(), nearest)?, n, &group, &mut all);
    }
    Ok(all)
}

/// The client's arrays for results; `None` for outputs that it does not request.
#[derive(Default)]
pub struct ResultArrays {
    pub acceleration: Option<OutputArray<[f64; 3]>>,
    pub jerk: Option<OutputArray<[f64; 3]>>,
    pub snap: Option<OutputArray<[f64; 3]>>,
    /// Always 0, as in Sapporo2's sixth order.
    pub crackle: Option<OutputArray<[f64; 3]>>,
    pub potential: Option<OutputArray<f64>>,
    pub nearest: Option<OutputArray<c_int>>,
    /// Squared distance of the nearest j-particle.
    pub nearest_squared: Option<OutputArray<f64>>,
    pub nearest_squared_f32: Option<OutputArray<f32>>,
}

impl ResultArrays {
    /// Runs `work`, which writes the results of `n` sinks. On failure the arrays are filled with
    /// NaN and -1, which stops clients that ignore return codes from integrating with old forces.
    pub fn fill(mut self, n: usize, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<c_int> {
        let outcome = work(&mut self);
        if outcome.is_err() {
            let vectors =
                [&mut self.acceleration, &mut self.jerk, &mut self.snap, &mut self.crackle];
            vectors.into_iter().flatten().for_each(|into| into.fill(n, [f64::NAN; 3]));
            let numbers = [&mut self.potential, &mut self.nearest_squared];
            numbers.into_iter().flatten().for_each(|into| into.fill(n, f64::NAN));
            self.nearest_squared_f32.iter_mut().for_each(|into| into.fill(n, f32::NAN));
            self.nearest.iter_mut().for_each(|into| into.fill(n, -1));
        }
        outcome.map(|()| DONE)
    }

    /// Writes results. Squared distances are increased by `softening_squared`, if there are any.
    ///
    /// # Errors
    /// An array is NULL.
    pub fn write(&mut self, forces: &BoardForces, softening_squared: &[f64]) -> Result<()> {
        let BoardForces { results, nearest } = forces;
        let n = results.acceleration.len();
        let vectors = [
            (&mut self.acceleration, &results.acceleration),
            (&mut self.jerk, &results.jerk),
            (&mut self.snap, &results.snap),
        ];
        for (into, from) in vectors {
            if let Some(into) = into {
                into.take(n)?.copy_from_slice(bytemuck::cast_slice(from));
            }
        }
        if let Some(into) = &mut self.crackle {
            into.take(n)?.fill([0.0; 3]);
        }
        if let Some(into) = &mut self.potential {
            into.take(n)?.copy_from_slice(&results.potential);
        }
        if let Some(into) = &mut self.nearest {
            let (found, others) = into.take(n)?.split_at_mut(nearest.len().min(n));
            found.copy_from_slice(&nearest[..found.len()]);
            others.fill(-1);
        }
        let squares = results.nearest_distance.iter().enumerate();
        let squares = squares.map(|(i, r)| r * r + softening_squared.get(i).unwrap_or(&0.0));
        if let Some(into) = &mut self.nearest_squared {
            into.take(n)?.iter_mut().zip(squares.clone()).for_each(|(into, from)| *into = from);
        }
        if let Some(into) = &mut self.nearest_squared_f32 {
            into.take(n)?.iter_mut().zip(squares).for_each(|(into, from)| *into = from as f32);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::super::queue::Particle;
    use super::*;
    use gravitile::forces::direct::Reference;
    use gravitile::forces::{Moving, Order, TestBodies};

    #[test]
    fn each_sink_uses_its_own_softening() {
        let bodies = TestBodies::new(20, 5);
        let mut cluster = Cluster::new(Box::new(Reference::default()), Order::Snap);
        for k in 0..20 {
            let mut motion = [DVec3::ZERO; 6];
            motion[0] = bodies.position[k];
            motion[1] = bodies.velocity[k];
            let index = k as i32;
            let moving = Moving { time: 0.0, mass: bodies.mass[k], motion };
            let particle = Particle { index, moving, ..Particle::default() };
            cluster.memory.set(index, &particle).unwrap();
        }
        let call = |from: usize, to: usize| Call {
            addresses: 20,
            position: bodies.position[from..to].into(),
            velocity: bodies.velocity[from..to].into(),
            acceleration: bodies.acceleration[from..to].into(),
            index: (from as i32..to as i32).collect(),
            ..Call::default()
        };
        let eps2 = |i: usize| [1e-4, 0.0, 0.25][i % 3];
        let each: Vec<f64> = (0..20).map(eps2).collect();
        let all = evaluate(&mut cluster, &call(0, 20), &each, true).unwrap();
        for i in 0..20 {
            let one = evaluate(&mut cluster, &call(i, i + 1), &[eps2(i)], true).unwrap();
            let (of_all, alone) = (&all.results, &one.results);
            assert_eq!(of_all.acceleration[i], alone.acceleration[0]);
            assert_eq!((of_all.jerk[i], of_all.snap[i]), (alone.jerk[0], alone.snap[0]));
            assert_eq!((of_all.potential[i], all.nearest[i]), (alone.potential[0], one.nearest[0]));
            assert_eq!(of_all.nearest_distance[i], alone.nearest_distance[0]);
        }
        let text = evaluate(&mut cluster, &call(0, 3), &each, true).unwrap_err().to_string();
        assert!(text.contains("number of softenings is 20, but must be 3"), "{text}");
        let text =
            evaluate(&mut cluster, &call(0, 3), &[0.0, -1.0, 0.0], true).unwrap_err().to_string();
        assert!(text.contains("eps2 is -1"), "{text}");
    }
}
