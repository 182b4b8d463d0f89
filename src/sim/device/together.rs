//! Forces and potentials in one: the last force before an output gives its potentials, too, where that changes no bit.
//! A pass of their own takes more than half as long as the forces, this one sum more a tenth.

use super::{DeviceState, Phase};
use crate::error::{Error, Result};
use crate::forces::{DeviceForces, evaluate};
use crate::gpu::layout::VEC4;
use crate::gpu::{Gpu, read};

/// From so many sources on; below, a pass of their own takes next to nothing. It decides the last bits of potentials, so it
/// depends on nothing else.
const FROM: u64 = if cfg!(test) { 1 << 10 } else { 1 << 17 };

/// So many partial sums tell whether two kernels are alike.
const SAMPLE: usize = 1 << 16;

/// Forces with potentials, which may take the place of the forces of a step.
pub(super) struct Together {
    /// `None` where their accelerations would have other bits than the forces alone: a compiler is free to make it so.
    forces: Option<Box<dyn DeviceForces>>,
    /// Whether potentials have been asked for since the last advance: then they may be after the next.
    were_wanted: bool,
    /// What the device had computed when the partial sums were made, of the bodies as they stood then.
    made_at: Option<u64>,
}

impl DeviceState {
    /// Whether potentials of these bodies come together with forces; makes what computes them, if so. Not in the middle of a
    /// force.
    ///
    /// Errors: a shader that does not compile; the device failed.
    pub(super) async fn make_together(&mut self) -> Result<bool> {
        if u64::from(self.buffers.count) < FROM || !self.stepper.takes_forces() {
            return Ok(false);
        }
        if self.together.is_none() {
            let mut both = match self.stepper.forces().with_both(&self.gpu, &self.buffers) {
                Some(making) => match making.await {
                    // A copy of the sources of its own: where there is no room for that, a pass of its own needs none.
                    Err(Error::Adapter { .. }) => None,
                    made => Some(made?),
                },
                None => None,
            };
            if let Some(forces) = &mut both {
                let alone = first_sums(&self.gpu, self.stepper.forces_mut()).await?;
                let beside = first_sums(&self.gpu, forces.as_mut()).await?;
                let bits = |sum: &[f32; 4]| [sum[0], sum[1], sum[2]].map(f32::to_bits);
                let are_alike = alone.iter().map(bits).eq(beside.iter().map(bits));
                log::debug!("forces beside potentials have the bits of forces alone: {are_alike}");
                both = both.filter(|_| are_alike);
            }
            self.together = Some(Together { forces: both, were_wanted: false, made_at: None });
        }
        Ok(self.together.as_ref().is_some_and(|together| together.forces.is_some()))
    }

    /// The first forces of all, with the potentials of the bodies as they stand, where these come together.
    ///
    /// Errors: the device failed; [`crate::error::Error::Stopped`].
    pub(super) async fn settle_together(&mut self) -> Result<()> {
        if self.phase == (Phase::Force { dt: 0.0 }) && self.make_together().await? {
            self.swap_together();
            let settled = self.settle().await;
            self.swap_together();
            settled?;
            self.end_together();
        }
        self.settle().await
    }

    /// Computes the potentials of the bodies as they stand, after [`DeviceState::make_together`], unless the last force has.
    /// They are then where the forces leave their partial sums.
    ///
    /// Errors: the device failed; [`crate::error::Error::Stopped`].
    pub(super) async fn evaluate_together(&mut self) -> Result<()> {
        let is_there = self.has_potentials();
        let Some(together) = &mut self.together else { return Ok(()) };
        together.were_wanted = true;
        let Some(forces) = together.forces.as_mut().filter(|_| !is_there) else { return Ok(()) };
        together.made_at = None;
        evaluate(forces.as_mut(), &self.gpu, &mut self.throughput).await?;
        together.made_at = Some(self.interactions);
        Ok(())
    }

    /// Whether the potentials of the bodies as they stand are there.
    pub(in crate::sim) fn has_potentials(&self) -> bool {
        let made_at = self.together.as_ref().and_then(|together| together.made_at);
        made_at == Some(self.interactions)
    }

    /// Forgets potentials that something else is about to overwrite.
    pub(super) fn forget_together(&mut self) {
        if let Some(together) = &mut self.together {
            together.made_at = None;
        }
    }

    /// Whether the last force of the next advance is to give potentials, too: they were asked for after the last one.
    /// To be asked once for an advance.
    pub(in crate::sim) fn foresees_potentials(&mut self) -> bool {
        let is_between = self.phase == Phase::Between;
        let Some(together) = &mut self.together else { return false };
        std::mem::take(&mut together.were_wanted) && together.forces.is_some() && is_between
    }

    /// Puts forces with potentials in the place of those of a step, or takes them away again.
    pub(in crate::sim) fn swap_together(&mut self) {
        if let Some(forces) = self.together.as_mut().and_then(|together| together.forces.as_mut()) {
            self.stepper.swap_forces(forces);
        }
    }

    /// Says that the last force was one with potentials.
    pub(in crate::sim) fn end_together(&mut self) {
        if let Some(together) = &mut self.together {
            together.made_at = Some(self.interactions);
        }
    }

    /// [`DeviceState::advance`]; where potentials are foreseen, the last force gives them.
    ///
    /// Errors: the device failed.
    pub(super) async fn advance_to_output(
        &mut self,
        dt: f64,
        steps: u64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        if steps == 0 || !self.foresees_potentials() {
            return self.advance(dt, steps, None, watch).await;
        }
        let mut ended = false;
        let mut before = |done| {
            ended |= !watch(done);
            !ended
        };
        let done = self.advance(dt, steps - 1, None, &mut before).await?;
        if ended || done < steps - 1 {
            return Ok(done);
        }
        self.swap_together();
        let last = self.advance(dt, 1, None, &mut |last| watch(done + last)).await;
        self.swap_together();
        let last = last?;
        if last == 1 {
            self.end_together();
        }
        Ok(done + last)
    }
}

/// The first partial sums of the first piece of an evaluation, which is given up again.
async fn first_sums(gpu: &Gpu, forces: &mut dyn DeviceForces) -> Result<Vec<[f32; 4]>> {
    forces.begin_again();
    forces.begin_submission();
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    forces.record(gpu, &mut encoder.begin_compute_pass(&Default::default()), 1);
    forces.end_submission(gpu);
    gpu.queue.submit([encoder.finish()]);
    forces.begin_again();
    let there = (forces.partial_sums().size() / VEC4) as usize;
    Ok(read(gpu, &[forces.partial_sums()], there.min(SAMPLE)).await?.swap_remove(0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bodies::Bodies;
    use crate::forces::direct::gpu::KernelRequest;
    use crate::gpu::{AdapterRequest, Gpu};
    use crate::scene::{Spread, test_bodies};
    use crate::sim::{DeviceGroup, EngineKind, Residence, Settings};

    const N: usize = 1500;

    fn gpu() -> Arc<Gpu> {
        let name = std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default();
        let request = match name.as_str() {
            "" => AdapterRequest::default(),
            name => AdapterRequest::named(name),
        };
        Gpu::open_blocking(&request).expect("the device tests need an adapter")
    }

    fn settings(kernel: KernelRequest) -> Settings {
        Settings {
            softening: 0.05,
            dt: 0.01,
            engine: EngineKind::Gpu,
            kernel,
            ..Settings::default()
        }
    }

    /// Positions, velocities and potentials, to the bit, and interactions per step.
    fn told(place: &mut dyn Residence, bodies: &Bodies, outputs: &[u64]) -> (Vec<String>, u64) {
        let mut bodies = bodies.clone();
        let mut told = Vec::new();
        let (mut time, before) = (0.0, place.interactions());
        for &steps in outputs {
            pollster::block_on(async {
                let (done, ended) = place.advance(0.01, steps, &mut |_| true).await;
                assert!(ended.is_ok() && done == steps);
                time += 0.01 * steps as f64;
                place.read(&mut bodies, time).await.unwrap();
                let potential = place.potential().await.unwrap();
                told.push(format!("{bodies:?} {potential:?}"));
            });
        }
        (told, place.interactions() - before)
    }

    fn shapes() -> [KernelRequest; 3] {
        let tiled = KernelRequest { tiled: true, s: Some(1), ..KernelRequest::NONE };
        [
            KernelRequest { p: Some(64), r: Some(4), u: Some(4), s: Some(3), ..tiled },
            KernelRequest { p: Some(32), q: Some(8), r: Some(1), s: Some(2), ..tiled },
            KernelRequest { untiled: true, tiled: false, p: Some(32), s: Some(2), ..tiled },
        ]
    }

    /// The last force gives the potentials of a pass of their own, and the bodies go where they go without.
    #[test]
    fn a_force_with_potentials_takes_the_place_of_the_last_of_an_advance() {
        let gpu = gpu();
        let bodies = test_bodies(N, Spread::Even);
        for shape in shapes() {
            let settings = settings(shape);
            let open = || {
                let state = DeviceState::new(Arc::clone(&gpu), &bodies, None, &settings);
                pollster::block_on(state).unwrap()
            };
            let mut with = pollster::block_on(async {
                let state = DeviceState::begin(Arc::clone(&gpu), &bodies, None, &settings);
                let mut state = state.await.unwrap();
                state.settle_together().await.unwrap();
                state
            });
            let together = with.together.as_ref().unwrap();
            assert!(
                together.forces.is_some(),
                "{shape:?}: this adapter's compiler makes two of it"
            );
            let begun = with.interactions();
            assert_eq!(begun, (N * N) as u64);
            let first = pollster::block_on(with.potential()).unwrap();
            let outputs = [1, 3, 2];
            let (told_with, steps) = told(&mut with, &bodies, &outputs);
            assert_eq!(steps, 6 * (N * N) as u64);
            let made_at = |state: &DeviceState| state.together.as_ref().unwrap().made_at;
            // Foreseen, since they were asked for; then no longer.
            for is_foreseen in [true, false] {
                let advanced = pollster::block_on(with.advance_to_output(0.01, 2, &mut |_| true));
                assert_eq!(advanced.unwrap(), 2);
                assert_eq!(made_at(&with) == Some(with.interactions()), is_foreseen);
            }
            // One step at a time, without looking before the end.
            for (k, steps) in (0..3).map(|k| (k, outputs[..=k].iter().sum::<u64>())) {
                let mut plain = open();
                let (told_plain, _) = told(&mut plain, &bodies, &[steps]);
                assert!(told_plain[0] == told_with[k], "{shape:?}, after {steps} steps");
            }
            // Against f64, in which nothing is left out but the body itself.
            for (i, phi) in first.iter().enumerate() {
                let at = bodies.position[i];
                let of = |j: usize| {
                    let softened = bodies.position[j].distance_squared(at) + 0.05 * 0.05;
                    -bodies.mass[j] / softened.sqrt()
                };
                let exact: f64 = (0..N).filter(|j| *j != i).map(of).sum();
                assert!((phi / exact - 1.0).abs() < 1e-5, "body {i}: {phi} for {exact}");
            }
        }
    }

    /// Masses that take turns: each kind fills tiles of its own, where a body has to be found by its number.
    #[test]
    fn a_body_is_left_out_of_its_own_potential_wherever_it_stands_among_the_sources() {
        // From 32,768 on they are sorted by mass.
        let n = (1 << 15) + 500;
        let mut bodies = test_bodies(n, Spread::Even);
        for (i, mass) in bodies.mass.iter_mut().enumerate() {
            *mass = [1.0, 4.0, 2.0][i % 3] / n as f64;
        }
        let tiled = KernelRequest { tiled: true, s: Some(1), ..KernelRequest::NONE };
        let shape = KernelRequest { p: Some(64), r: Some(4), u: Some(4), ..tiled };
        // A body's own share would be a tenth of its potential.
        let settings = Settings { softening: 1e-4, ..settings(shape) };
        let potential = pollster::block_on(async {
            let mut state = DeviceState::begin(gpu(), &bodies, None, &settings).await.unwrap();
            state.settle_together().await.unwrap();
            let together = state.together.as_ref().unwrap();
            assert_eq!(together.made_at, Some(state.interactions));
            let forces = together.forces.as_ref().unwrap();
            assert!(forces.all_pairs().unwrap().variant.one_mass);
            state.potential().await.unwrap()
        });
        for i in (0..n).step_by(331).chain([63, 64, n - 1]) {
            let at = bodies.position[i];
            let of = |j: usize| {
                let softened = bodies.position[j].distance_squared(at) + 1e-8;
                -bodies.mass[j] / softened.sqrt()
            };
            let exact: f64 = (0..n).filter(|j| *j != i).map(of).sum();
            let phi = potential[i];
            assert!((phi / exact - 1.0).abs() < 1e-5, "body {i}: {phi} for {exact}");
        }
    }

    #[test]
    fn devices_of_a_group_give_the_bits_of_one() {
        let gpu = gpu();
        let bodies = test_bodies(N, Spread::Even);
        let settings = settings(shapes()[0]);
        let mut one =
            pollster::block_on(DeviceState::new(Arc::clone(&gpu), &bodies, None, &settings))
                .unwrap();
        let devices = [Arc::clone(&gpu), gpu];
        let group = DeviceGroup::open(&devices, None, &bodies, None, &settings);
        let mut group = pollster::block_on(group).unwrap();
        let outputs = [1, 3, 1, 1];
        let (by_one, by_group) =
            (told(&mut one, &bodies, &outputs), told(&mut group, &bodies, &outputs));
        assert!(by_one.0 == by_group.0);
    }
}
