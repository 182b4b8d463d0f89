//! Predicted bodies in the layout of the engines.

use glam::DVec3;
use rayon::prelude::*;

use super::Predicted;
use crate::forces::{Identity, Order, Sinks, Sources};

/// Positions, velocities and, if requested, accelerations in the layout of the engines.
#[derive(Default)]
pub(super) struct Arrays {
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
    acceleration: Vec<DVec3>,
}

/// Number of bodies from which predictions are spread over the cores.
const PARALLEL: usize = 4096;

impl Arrays {
    fn resize(&mut self, n: usize, order: Order) {
        self.position.resize(n, DVec3::ZERO);
        self.velocity.resize(n, DVec3::ZERO);
        self.acceleration.resize(if order >= Order::Snap { n } else { 0 }, DVec3::ZERO);
    }

    /// Sets entry i to `predict(i)`.
    pub fn fill(&mut self, n: usize, order: Order, predict: impl Fn(usize) -> Predicted + Sync) {
        self.resize(n, order);
        let one = |i: usize, x: &mut DVec3, v: &mut DVec3, a: Option<&mut DVec3>| {
            let predicted = predict(i);
            (*x, *v) = (predicted.position, predicted.velocity);
            if let Some(a) = a {
                *a = predicted.acceleration;
            }
        };
        let Self { position, velocity, acceleration } = self;
        if n < PARALLEL {
            for i in 0..n {
                one(i, &mut position[i], &mut velocity[i], acceleration.get_mut(i));
            }
        } else if acceleration.is_empty() {
            let all = position.par_iter_mut().zip(velocity).enumerate().with_min_len(1024);
            all.for_each(|(i, (x, v))| one(i, x, v, None));
        } else {
            let all = position.par_iter_mut().zip(velocity).zip(acceleration);
            let all = all.enumerate().with_min_len(1024);
            all.for_each(|(i, ((x, v), a))| one(i, x, v, Some(a)));
        }
    }

    pub fn sources<'a>(&'a self, mass: &'a [f64]) -> Sources<'a> {
        let Self { position, velocity, acceleration } = self;
        Sources { position, velocity, acceleration, mass }
    }

    pub fn sinks<'a>(&'a self, identity: Identity<'a>) -> Sinks<'a> {
        let Self { position, velocity, acceleration } = self;
        Sinks { position, velocity, acceleration, identity, only: None }
    }

    /// All positions.
    pub fn positions(&self) -> &[DVec3] {
        &self.position
    }

    pub fn get(&self, i: usize) -> Predicted {
        Predicted {
            position: self.position[i],
            velocity: self.velocity[i],
            acceleration: self.acceleration.get(i).copied().unwrap_or(DVec3::ZERO),
        }
    }
}
