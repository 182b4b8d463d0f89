//! The reference: f64, one pair at a time, evidently correct. Every other engine is tested against
//! it. Sinks are spread over the cores; each sink's sums run over the sources in their order, so
//! the result does not depend on the number of cores.

use glam::DVec3;
use rayon::prelude::*;

use crate::error::Result;
use crate::forces::{
    EngineCapabilities, Evaluator, Forces, Interfaces, NO_SOURCE, Order, Outputs, Precision, Sinks,
    Sources, WithSources,
};
use crate::stop;

/// Every pair in f64, one at a time: slow but evidently correct. The equations are at [`Forces`].
pub type Reference = WithSources<ReferenceSums>;

/// The sums of [`Reference`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceSums;

/// A position and its derivatives.
#[derive(Clone, Copy)]
struct SourceMotion {
    position: DVec3,
    velocity: DVec3,
    acceleration: DVec3,
}

/// The sums of one sink.
struct SinkSums {
    acceleration: DVec3,
    jerk: DVec3,
    snap: DVec3,
    potential: f64,
    nearest: u32,
    nearest_squared: f64,
    around: Vec<u32>,
}

impl Evaluator for ReferenceSums {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn describe(&self) -> String {
        format!("scalar f64 on {} threads", rayon::current_num_threads())
    }

    fn precision(&self) -> Precision {
        Precision::Double
    }

    fn highest_order(&self) -> Order {
        Order::Snap
    }

    async fn evaluate(
        &mut self,
        sources: &Sources<'_>,
        sinks: &Sinks<'_>,
        softening: f64,
        outputs: &Outputs<'_>,
        out: &mut Forces,
    ) -> Result<()> {
        if outputs.order == Order::Acceleration && !outputs.nearest && outputs.within.is_none() {
            return evaluate_plain(sources, sinks, softening, out);
        }
        let stop_token = stop::of_caller();
        let on_sink = |i: usize| {
            stop_token.check()?;
            let sink = motion(sinks.position, sinks.velocity, sinks.acceleration, i);
            let radius = outputs.within.map(|within| within.radius[i]);
            Ok(sum(sources, sink, sinks.identity.of(i), softening, radius))
        };
        let sums: Result<Vec<SinkSums>> =
            (0..sinks.position.len()).into_par_iter().map(on_sink).collect();
        for (i, sum) in sums?.iter().enumerate() {
            out.acceleration[i] = sum.acceleration;
            if outputs.order >= Order::Jerk {
                out.jerk[i] = sum.jerk;
            }
            if outputs.order >= Order::Snap {
                out.snap[i] = sum.snap;
            }
            if outputs.potential {
                out.potential[i] = sum.potential;
            }
            if outputs.nearest {
                out.nearest[i] = sum.nearest;
            }
            if outputs.nearest && outputs.distance {
                out.nearest_distance[i] = sum.nearest_squared.sqrt();
            }
            if let Some(within) = outputs.within {
                let stored = sum.around.len().min(within.capacity);
                out.neighbours.push(&sum.around[..stored], sum.around.len() as u32);
            }
        }
        Ok(())
    }

    fn sources_changed(&mut self) {}

    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities::default()
    }

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces::default()
    }
}

/// Accelerations, and potentials if `out` has them.
fn evaluate_plain(
    sources: &Sources,
    sinks: &Sinks,
    softening: f64,
    out: &mut Forces,
) -> Result<()> {
    let stop_token = stop::of_caller();
    let force = |i: usize| match stop_token.is_requested() {
        true => Default::default(),
        false => plain(sinks.position[i], sinks.identity.of(i), sources, softening),
    };
    let pairs: Vec<(DVec3, f64)> = (0..sinks.position.len()).into_par_iter().map(force).collect();
    stop::check()?;
    for (i, (acceleration, potential)) in pairs.into_iter().enumerate() {
        out.acceleration[i] = acceleration;
        if let Some(of_sink) = out.potential.get_mut(i) {
            *of_sink = potential;
        }
    }
    Ok(())
}

/// Acceleration and potential at `sink`; `itself` is its index as a source, if it is one.
fn plain(sink: DVec3, itself: Option<usize>, sources: &Sources, softening: f64) -> (DVec3, f64) {
    let mut acceleration = DVec3::ZERO;
    let mut potential = 0.0;
    for (j, (&source, &mass)) in sources.position.iter().zip(sources.mass).enumerate() {
        let towards = source - sink;
        let distance_squared = towards.length_squared() + softening * softening;
        if Some(j) == itself || distance_squared == 0.0 {
            continue;
        }
        let inverse = 1.0 / distance_squared.sqrt();
        acceleration += towards * (mass * inverse * inverse * inverse);
        potential -= mass * inverse;
    }
    (acceleration, potential)
}

/// All sums over the sources at `sink`; `itself` is its index as a source, if it is one.
fn sum(
    sources: &Sources,
    sink: SourceMotion,
    itself: Option<usize>,
    softening: f64,
    radius: Option<f64>,
) -> SinkSums {
    let zero = DVec3::ZERO;
    let mut sum = SinkSums {
        acceleration: zero,
        jerk: zero,
        snap: zero,
        potential: 0.0,
        nearest: NO_SOURCE,
        nearest_squared: f64::INFINITY,
        around: Vec::new(),
    };
    for j in 0..sources.position.len() {
        if Some(j) == itself {
            continue;
        }
        let source = motion(sources.position, sources.velocity, sources.acceleration, j);
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
        let pull = sources.mass[j] * inverse * inverse_square;
        let alpha = r.dot(v) * inverse_square;
        let beta = (v.length_squared() + r.dot(a)) * inverse_square + alpha * alpha;
        let acceleration = pull * r;
        let jerk = pull * v - 3.0 * alpha * acceleration;
        let snap = pull * a - 6.0 * alpha * jerk - 3.0 * beta * acceleration;
        sum.acceleration += acceleration;
        sum.jerk += jerk;
        sum.snap += snap;
        sum.potential -= sources.mass[j] * inverse;
    }
    sum
}

/// Entry `i`, with 0 for derivatives that are not given.
fn motion(
    position: &[DVec3],
    velocity: &[DVec3],
    acceleration: &[DVec3],
    i: usize,
) -> SourceMotion {
    let or_zero = |of: &[DVec3]| of.get(i).copied().unwrap_or(DVec3::ZERO);
    SourceMotion {
        position: position[i],
        velocity: or_zero(velocity),
        acceleration: or_zero(acceleration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::{ForceEngine, Identity, Within};

    /// A light and a heavy body that pass each other, and a third far away.
    const POSITION: [DVec3; 3] =
        [DVec3::ZERO, DVec3::new(3.0, 0.0, 0.0), DVec3::new(0.0, -7.0, 1.0)];
    const VELOCITY: [DVec3; 3] =
        [DVec3::new(0.5, 0.1, 0.0), DVec3::new(-0.2, 0.4, 0.3), DVec3::new(0.1, 0.2, -0.3)];
    const MASS: [f64; 3] = [2.0, 5.0, 11.0];

    fn at(
        position: &[DVec3],
        velocity: &[DVec3],
        acceleration: &[DVec3],
        outputs: &Outputs,
    ) -> Forces {
        let mut engine = Reference::default();
        engine.set_sources(&Sources { position, velocity, acceleration, mass: &MASS }).unwrap();
        let sinks = Sinks { velocity, acceleration, ..Sinks::new(position, Identity::Offset(0)) };
        let mut out = Forces::default();
        engine.evaluate(&sinks, 4.0, outputs, &mut out).unwrap();
        out
    }

    #[test]
    fn two_bodies_by_hand() {
        let mut engine = Reference::default();
        let position = &POSITION[..2];
        // At rest, one with an acceleration of its own: alpha = 0, beta = r . a / R^2.
        let acceleration = [DVec3::ZERO, DVec3::new(10.0, 0.0, 0.0)];
        let velocity = [DVec3::ZERO; 2];
        let sources = Sources {
            position,
            velocity: &velocity,
            acceleration: &acceleration,
            mass: &MASS[..2],
        };
        engine.set_sources(&sources).unwrap();
        let sinks = Sinks {
            velocity: &velocity,
            acceleration: &acceleration,
            ..Sinks::new(position, Identity::Offset(0))
        };
        let within = Some(Within { radius: &[3.0, 2.9], capacity: 4 });
        let outputs =
            Outputs { order: Order::Snap, potential: true, nearest: true, distance: true, within };
        let mut out = Forces::default();
        engine.evaluate(&sinks, 4.0, &outputs, &mut out).unwrap();
        // R^2 = 9 + 16 = 25; A = 5 * 3 / 125; S = 5 * 10 / 125 - 3 * (30 / 25) * A.
        assert!((out.acceleration[0].x - 0.12).abs() < 1e-16);
        assert!((out.acceleration[1].x + 0.048).abs() < 1e-16);
        assert_eq!(out.jerk, [DVec3::ZERO; 2]);
        assert!((out.snap[0].x - (0.4 - 3.6 * 0.12)).abs() < 1e-15);
        assert!((out.potential[0] + 1.0).abs() < 1e-15 && (out.potential[1] + 0.4).abs() < 1e-15);
        assert_eq!((out.nearest, out.nearest_distance), (vec![1, 0], vec![3.0, 3.0]));
        assert_eq!((out.neighbours.of(0), out.neighbours.found(1)), (&[1][..], 0));
    }

    #[test]
    fn coincident_bodies_without_softening_feel_nothing() {
        let position = [DVec3::ONE; 2];
        let sources = Sources::new(&position, &[1.0, 1.0]);
        let sinks = Sinks::new(&position, Identity::Foreign);
        let mut out = Forces::default();
        Reference::default()
            .evaluate_from(&sources, &sinks, 0.0, &Outputs::POTENTIAL, &mut out)
            .unwrap();
        assert_eq!(out.acceleration, [DVec3::ZERO; 2]);
        assert_eq!(out.potential, [0.0; 2]);
    }

    /// Accelerations alone are computed by a function of their own.
    #[test]
    fn plain_forces_match_forces_with_derivatives() {
        let sources = Sources { velocity: &VELOCITY, ..Sources::new(&POSITION, &MASS) };
        let sinks = Sinks { velocity: &VELOCITY, ..Sinks::new(&POSITION, Identity::Offset(0)) };
        let mut engine = Reference::default();
        let (mut plain, mut with_jerks) = (Forces::default(), Forces::default());
        engine.evaluate_from(&sources, &sinks, 4.0, &Outputs::POTENTIAL, &mut plain).unwrap();
        let outputs = Outputs { potential: true, ..Outputs::only(Order::Jerk) };
        engine.evaluate_from(&sources, &sinks, 4.0, &outputs, &mut with_jerks).unwrap();
        for i in 0..3 {
            let off = (plain.acceleration[i] - with_jerks.acceleration[i]).length();
            assert!(off < 1e-15 * with_jerks.acceleration[i].length(), "body {i}: {off:e}");
            assert!((plain.potential[i] / with_jerks.potential[i] - 1.0).abs() < 1e-15);
        }
    }

    /// Jerk and snap must be the time derivatives of the acceleration of moving bodies.
    #[test]
    fn jerk_and_snap_are_derivatives_of_the_acceleration() {
        let outputs = Outputs::only(Order::Snap);
        let acceleration = at(&POSITION, &VELOCITY, &[DVec3::ZERO; 3], &outputs).acceleration;
        let now = at(&POSITION, &VELOCITY, &acceleration, &outputs);
        let along = |h: f64| {
            let position: Vec<DVec3> = (0..3)
                .map(|i| POSITION[i] + VELOCITY[i] * h + acceleration[i] * (0.5 * h * h))
                .collect();
            at(&position, &VELOCITY, &acceleration, &outputs).acceleration
        };
        // Central differences, with an error of order h^2.
        let h = 1e-3;
        let (before, after) = (along(-h), along(h));
        for i in 0..3 {
            let jerk = (after[i] - before[i]) / (2.0 * h);
            let snap = (after[i] + before[i] - 2.0 * now.acceleration[i]) / (h * h);
            let (j, s) = ((jerk - now.jerk[i]).length(), (snap - now.snap[i]).length());
            assert!(j < 1e-6 * now.jerk[i].length(), "body {i}: jerk {jerk}, {}", now.jerk[i]);
            assert!(s < 1e-5 * now.snap[i].length(), "body {i}: snap {snap}, {}", now.snap[i]);
        }
    }

    #[test]
    fn coincident_pair_adds_nothing_but_is_neighbour() {
        let position = [DVec3::ONE; 2];
        let velocity = [DVec3::ZERO, DVec3::X];
        let mut engine = Reference::default();
        let sources = Sources {
            position: &position,
            velocity: &velocity,
            mass: &[1.0; 2],
            ..Sources::default()
        };
        engine.set_sources(&sources).unwrap();
        let sinks = Sinks { velocity: &velocity, ..Sinks::new(&position, Identity::Offset(0)) };
        let outputs = Outputs { nearest: true, potential: true, ..Outputs::only(Order::Jerk) };
        let mut out = Forces::default();
        engine.evaluate(&sinks, 0.0, &outputs, &mut out).unwrap();
        assert_eq!((out.jerk, out.potential), (vec![DVec3::ZERO; 2], vec![0.0; 2]));
        assert_eq!((out.nearest, out.nearest_distance), (vec![1, 0], vec![0.0; 2]));
    }
}
