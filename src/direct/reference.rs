//! The reference: f64, one pair after the other, obviously right. Sinks are spread over the cores;
//! each sink's sums run over the sources in their order.

use glam::DVec3;
use rayon::prelude::*;

use super::{
    Answers, DirectEngine, NO_SOURCE, Order, Precision, Sinks, Sources, Want, check_update,
};
use crate::error::Result;

/// See the module's text. The equations are at [`Answers`].
#[derive(Clone, Debug, Default)]
pub struct Reference {
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
    acceleration: Vec<DVec3>,
    mass: Vec<f64>,
    begun: Answers,
}

/// Where something is and how it moves.
#[derive(Clone, Copy)]
struct Motion {
    position: DVec3,
    velocity: DVec3,
    acceleration: DVec3,
}

/// What one sink gets.
struct Sum {
    acceleration: DVec3,
    jerk: DVec3,
    snap: DVec3,
    potential: f64,
    nearest: u32,
    nearest_squared: f64,
    around: Vec<u32>,
}

impl DirectEngine for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn describe(&self) -> String {
        format!("scalar f64 on {} threads", rayon::current_num_threads())
    }

    fn precision(&self) -> Precision {
        Precision::Double
    }

    fn source_count(&self) -> usize {
        self.position.len()
    }

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        sources.check()?;
        self.position = sources.position.to_vec();
        self.velocity = sources.velocity.to_vec();
        self.acceleration = sources.acceleration.to_vec();
        self.mass = sources.mass.to_vec();
        Ok(())
    }

    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        check_update(index, sources, self.source_count())?;
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

    fn begin(&mut self, sinks: &Sinks, softening: f64, want: &Want) -> Result<()> {
        sinks.check(softening, want)?;
        let n = self.source_count();
        want.order.check_sources(n, !self.velocity.is_empty(), !self.acceleration.is_empty())?;
        let on_sink = |i: usize| {
            let sink = motion(sinks.position, sinks.velocity, sinks.acceleration, i);
            let radius = want.within.map(|within| within.radius[i]);
            self.sum(sink, sinks.identity.of(i), softening, radius)
        };
        let sums: Vec<Sum> = (0..sinks.position.len()).into_par_iter().map(on_sink).collect();
        let out = &mut self.begun;
        *out = Answers::default();
        for sum in &sums {
            out.acceleration.push(sum.acceleration);
            if want.order >= Order::Jerk {
                out.jerk.push(sum.jerk);
            }
            if want.order >= Order::Snap {
                out.snap.push(sum.snap);
            }
            if want.potential {
                out.potential.push(sum.potential);
            }
            if want.nearest {
                out.nearest.push(sum.nearest);
                out.nearest_distance.push(sum.nearest_squared.sqrt());
            }
            if let Some(within) = want.within {
                let kept = sum.around.len().min(within.capacity);
                out.neighbours.push(&sum.around[..kept], sum.around.len() as u32);
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Answers) -> Result<()> {
        *out = std::mem::take(&mut self.begun);
        Ok(())
    }
}

impl Reference {
    /// Everything that the sources do to `sink`, which is the source `itself`, if any.
    fn sum(&self, sink: Motion, itself: Option<usize>, softening: f64, radius: Option<f64>) -> Sum {
        let zero = DVec3::ZERO;
        let mut sum = Sum {
            acceleration: zero,
            jerk: zero,
            snap: zero,
            potential: 0.0,
            nearest: NO_SOURCE,
            nearest_squared: f64::INFINITY,
            around: Vec::new(),
        };
        for j in 0..self.source_count() {
            if Some(j) == itself {
                continue;
            }
            let source = motion(&self.position, &self.velocity, &self.acceleration, j);
            let r = source.position - sink.position;
            let v = source.velocity - sink.velocity;
            let a = source.acceleration - sink.acceleration;
            if r.length_squared() < sum.nearest_squared {
                (sum.nearest, sum.nearest_squared) = (j as u32, r.length_squared());
            }
            if radius.is_some_and(|radius| r.length_squared() <= radius * radius) {
                sum.around.push(j as u32);
            }
            let square = r.length_squared() + softening * softening;
            if square == 0.0 {
                continue;
            }
            let inverse = 1.0 / square.sqrt();
            let inverse_square = inverse * inverse;
            let pull = self.mass[j] * inverse * inverse_square;
            let alpha = r.dot(v) * inverse_square;
            let beta = (v.length_squared() + r.dot(a)) * inverse_square + alpha * alpha;
            let acceleration = pull * r;
            let jerk = pull * v - 3.0 * alpha * acceleration;
            let snap = pull * a - 6.0 * alpha * jerk - 3.0 * beta * acceleration;
            sum.acceleration += acceleration;
            sum.jerk += jerk;
            sum.snap += snap;
            sum.potential -= self.mass[j] * inverse;
        }
        sum
    }
}

/// Entry `i`, with 0 for derivatives that are not there.
fn motion(position: &[DVec3], velocity: &[DVec3], acceleration: &[DVec3], i: usize) -> Motion {
    let or_zero = |of: &[DVec3]| of.get(i).copied().unwrap_or(DVec3::ZERO);
    Motion {
        position: position[i],
        velocity: or_zero(velocity),
        acceleration: or_zero(acceleration),
    }
}
