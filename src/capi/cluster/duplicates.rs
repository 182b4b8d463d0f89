//! j-particles with duplicate indices. For an i-particle GRAPE-6 excludes all j-particles of its
//! index, an engine only one. Such i-particles are rare; they are recomputed on the CPU without all
//! j-particles of their index.

use glam::DVec3;

use super::super::memory::Memory;
use super::{BoardForces, Call, Pending, sinks};
use gravitile::error::Result;
use gravitile::forces::direct::Reference;
use gravitile::forces::{ForceEngine, Forces, Lists, NO_SOURCE, Order, Outputs, Within};

impl Pending {
    /// Recomputes the forces on i-particles whose index several j-particles share.
    pub(super) fn exclude_duplicates(&mut self, order: Order, memory: &Memory) -> Result<()> {
        let Self { call, forces: BoardForces { results, .. }, .. } = self;
        let which = with_duplicates(memory, call);
        if which.is_empty() {
            return Ok(());
        }
        // Forces the lists to be recomputed when they are read.
        self.with_lists = false;
        for i in which {
            let outputs = Outputs {
                potential: true,
                nearest: !results.nearest.is_empty(),
                ..Outputs::only(order)
            };
            let (one, sources) = evaluate_excluding(memory, call, i, &outputs)?;
            results.acceleration[i] = one.acceleration[0];
            results.potential[i] = one.potential[0];
            if order >= Order::Jerk {
                results.jerk[i] = one.jerk[0];
            }
            if order >= Order::Snap {
                results.snap[i] = one.snap[0];
            }
            if outputs.nearest {
                let nearest = one.nearest[0];
                results.nearest[i] = sources.get(nearest as usize).copied().unwrap_or(NO_SOURCE);
                if let Some(distance) = results.nearest_distance.get_mut(i) {
                    *distance = one.nearest_distance[0];
                }
            }
        }
        Ok(())
    }

    /// Recomputes the lists of i-particles whose index several j-particles share.
    pub(super) fn list_without_duplicates(
        &self,
        memory: &Memory,
        lists: &mut Lists,
        radius: &[f64],
        capacity: usize,
    ) -> Result<()> {
        let call = &self.call;
        let which = with_duplicates(memory, call);
        if which.is_empty() {
            return Ok(());
        }
        let old = std::mem::take(lists);
        for i in 0..old.len() {
            if which.binary_search(&i).is_err() {
                lists.push(old.of(i), old.found(i) as u32);
                continue;
            }
            let within = Some(Within { radius: &radius[i..=i], capacity });
            let outputs = Outputs { within, ..Outputs::only(Order::Acceleration) };
            let (one, sources) = evaluate_excluding(memory, call, i, &outputs)?;
            let list: Vec<u32> =
                one.neighbours.of(0).iter().map(|&source| sources[source as usize]).collect();
            lists.push(&list, one.neighbours.found(0) as u32);
        }
        Ok(())
    }
}

/// i-particles, ascending, whose index several j-particles share.
fn with_duplicates(memory: &Memory, call: &Call) -> Vec<usize> {
    if !memory.indices.has_duplicates() {
        return Vec::new();
    }
    let has_several = |i: &usize| !memory.indices.duplicates_of(call.index[*i]).is_empty();
    (0..call.index.len()).filter(has_several).collect()
}

/// Evaluates i-particle `i` with the sources that do not have its index; returns the forces and
/// the numbers of those sources.
fn evaluate_excluding(
    memory: &Memory,
    call: &Call,
    i: usize,
    outputs: &Outputs,
) -> Result<(Forces, Vec<u32>)> {
    let excluded = memory.indices.duplicates_of(call.index[i]);
    let count = memory.source_count() as u32;
    let sources: Vec<u32> =
        (0..count).filter(|source| excluded.binary_search(source).is_err()).collect();
    let mut engine = Reference::default();
    engine.set_sources(&memory.predict(&sources)?.sources())?;
    let single = |from: &[DVec3]| from.get(i).copied().into_iter().collect();
    let one = Call {
        position: single(&call.position),
        velocity: single(&call.velocity),
        acceleration: single(&call.acceleration),
        ..Call::default()
    };
    let mut results = Forces::default();
    engine.evaluate(&sinks(&one, &[]), call.softening_squared.sqrt(), outputs, &mut results)?;
    Ok((results, sources))
}
