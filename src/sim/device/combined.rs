//! Forces and potentials by one kernel: the last force before an output also gives the potentials,
//! if that changes no bits of the accelerations. A separate pass for potentials takes more than
//! half the time of the forces; the additional sum in the force kernel takes a tenth.
//!
//! The combined kernel is used from 131,072 bodies on. It replaces the first force, and the last
//! force before an output if potentials were requested after the previous output; with several
//! devices or ranks, only if all of them expect that request. A compiler is free to change the
//! accelerations in it. So before the first force both kernels compute the same first partial sums,
//! which are compared bit by bit. If they differ, or with fewer bodies, potentials take a separate
//! pass without accelerations.

use super::{DeviceState, Phase};
use crate::error::{Error, Result};
use crate::forces::{DeviceForces, evaluate};
use crate::gpu::layout::VEC4;
use crate::gpu::{Gpu, read};

/// The number of sources from which the combined kernel is used; with fewer, a separate pass takes
/// almost no time. The choice affects the last bits of potentials, so it depends on nothing else.
const MIN_SOURCES: u64 = if cfg!(test) { 1 << 10 } else { 1 << 17 };

/// The number of partial sums that are compared to decide whether two kernels give the same bits.
const SAMPLE: usize = 1 << 16;

/// Forces with potentials, which can replace the forces of a step.
pub(super) struct Combined {
    /// `None` if their accelerations differ in bits from those of the force kernel: a compiler is
    /// free to order the operations of the two kernels differently.
    forces: Option<Box<dyn DeviceForces>>,
    /// Whether potentials have been requested since the last advance: they probably will be after
    /// the next one, too.
    were_requested: bool,
    /// [`DeviceState::interactions`] when the partial sums were computed: they are current as long
    /// as that number is the same.
    computed_at: Option<u64>,
}

impl Combined {
    /// The forces with potentials, if they are used.
    pub fn forces_mut(&mut self) -> Option<&mut Box<dyn DeviceForces>> {
        self.forces.as_mut()
    }
}

impl DeviceState {
    /// Whether the combined kernel is used for these bodies; compiles it on the first call. Must
    /// not be called in the middle of a force.
    ///
    /// # Errors
    /// A shader that does not compile; the device failed.
    pub(super) async fn make_combined(&mut self) -> Result<bool> {
        if u64::from(self.buffers.count) < MIN_SOURCES || !self.stepper.uses_separate_forces() {
            return Ok(false);
        }
        if self.combined.is_none() {
            let mut combined = match self.stepper.forces.with_both(&self.gpu, &self.buffers) {
                Some(making) => match making.await {
                    // The combined kernel needs a copy of the sources. Without memory for it, a
                    // separate pass is used.
                    Err(Error::Adapter { .. }) => None,
                    made => Some(made?),
                },
                None => None,
            };
            if let Some(forces) = &mut combined {
                let separate_sums = first_sums(&self.gpu, self.stepper.forces.as_mut()).await?;
                let combined_sums = first_sums(&self.gpu, forces.as_mut()).await?;
                let bits = |sum: &[f32; 4]| [sum[0], sum[1], sum[2]].map(f32::to_bits);
                let are_alike = separate_sums.iter().map(bits).eq(combined_sums.iter().map(bits));
                log::debug!(
                    "forces computed with potentials have the bits of forces alone: {are_alike}"
                );
                combined = combined.filter(|_| are_alike);
            }
            self.combined =
                Some(Combined { forces: combined, were_requested: false, computed_at: None });
        }
        Ok(self.combined.as_ref().is_some_and(|combined| combined.forces.is_some()))
    }

    /// Computes the first forces, with potentials if the combined kernel is used.
    ///
    /// # Errors
    /// The device failed; [`crate::error::Error::Stopped`].
    pub(super) async fn settle_combined(&mut self) -> Result<()> {
        if self.phase == (Phase::Force { dt: 0.0 }) && self.make_combined().await? {
            self.swap_combined();
            let settled = self.settle().await;
            self.swap_combined();
            settled?;
            self.end_combined();
        }
        self.settle().await
    }

    /// Computes the potentials of the current state, unless the last force already did; call it
    /// after [`DeviceState::make_combined`]. The results are among the partial sums of the forces.
    ///
    /// # Errors
    /// The device failed; [`crate::error::Error::Stopped`].
    pub(super) async fn evaluate_combined(&mut self) -> Result<()> {
        let is_current = self.has_potentials();
        let Some(combined) = &mut self.combined else { return Ok(()) };
        combined.were_requested = true;
        let Some(forces) = combined.forces.as_mut().filter(|_| !is_current) else { return Ok(()) };
        combined.computed_at = None;
        evaluate(forces.as_mut(), &self.gpu, &mut self.throughput).await?;
        combined.computed_at = Some(self.interactions);
        Ok(())
    }

    /// Whether the potentials of the current state are computed.
    pub(in crate::sim) fn has_potentials(&self) -> bool {
        let computed_at = self.combined.as_ref().and_then(|combined| combined.computed_at);
        computed_at == Some(self.interactions)
    }

    /// Marks the potentials as outdated, before their buffer is overwritten.
    pub(super) fn forget_combined(&mut self) {
        if let Some(combined) = &mut self.combined {
            combined.computed_at = None;
        }
    }

    /// Whether the last force of the next advance should also give potentials, because they were
    /// requested after the last one. Resets the request, so call it once per advance.
    pub(in crate::sim) fn expects_potentials(&mut self) -> bool {
        let is_between = self.phase == Phase::Between;
        let Some(combined) = &mut self.combined else { return false };
        std::mem::take(&mut combined.were_requested) && combined.forces.is_some() && is_between
    }

    /// Swaps the forces of a step and the forces with potentials.
    pub(in crate::sim) fn swap_combined(&mut self) {
        if let Some(forces) = self.combined.as_mut().and_then(|combined| combined.forces.as_mut()) {
            std::mem::swap(&mut self.stepper.forces, forces);
        }
    }

    /// Records that the last force gave potentials.
    pub(in crate::sim) fn end_combined(&mut self) {
        if let Some(combined) = &mut self.combined {
            combined.computed_at = Some(self.interactions);
        }
    }

    /// [`DeviceState::advance`]; the last force also gives potentials if they are expected.
    ///
    /// # Errors
    /// The device failed.
    pub(super) async fn advance_to_output(
        &mut self,
        dt: f64,
        steps: u64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        if steps == 0 || !self.expects_potentials() {
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
        self.swap_combined();
        let last = self.advance(dt, 1, None, &mut |last| watch(done + last)).await;
        self.swap_combined();
        let last = last?;
        if last == 1 {
            self.end_combined();
        }
        Ok(done + last)
    }
}

/// The first partial sums of the first dispatch of an evaluation, which is then discarded.
async fn first_sums(gpu: &Gpu, forces: &mut dyn DeviceForces) -> Result<Vec<[f32; 4]>> {
    forces.restart();
    forces.begin_submission();
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    forces.record(gpu, &mut encoder.begin_compute_pass(&Default::default()), 1);
    forces.end_submission(gpu);
    gpu.queue.submit([encoder.finish()]);
    forces.restart();
    let available = (forces.partial_sums().size() / VEC4) as usize;
    Ok(read(gpu, &[forces.partial_sums()], available.min(SAMPLE)).await?.swap_remove(0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bodies::Bodies;
    use crate::forces::direct::gpu::{AllPairs, KernelRequest};
    use crate::gpu::{AdapterRequest, Gpu};
    use crate::scene::{Spread, test_bodies};
    use crate::sim::{Backend, DeviceGroup, EngineKind, Settings};

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

    /// Positions, velocities and potentials after each of the `outputs`, to the bit, and the number
    /// of interactions.
    fn states_at_outputs(
        backend: &mut dyn Backend,
        bodies: &Bodies,
        outputs: &[u64],
    ) -> (Vec<String>, u64) {
        let mut bodies = bodies.clone();
        let mut states = Vec::new();
        let (mut time, before) = (0.0, backend.interactions());
        for &steps in outputs {
            pollster::block_on(async {
                let (done, ended) = backend.advance(0.01, steps, &mut |_| true).await;
                assert!(ended.is_ok() && done == steps);
                time += 0.01 * steps as f64;
                backend.read(&mut bodies, time).await.unwrap();
                let potential = backend.potential().await.unwrap();
                states.push(format!("{bodies:?} {potential:?}"));
            });
        }
        (states, backend.interactions() - before)
    }

    fn shapes() -> [KernelRequest; 3] {
        let tiled = KernelRequest { tiled: true, s: Some(1), ..KernelRequest::default() };
        [
            KernelRequest { p: Some(64), r: Some(4), u: Some(4), s: Some(3), ..tiled },
            KernelRequest { p: Some(32), q: Some(8), r: Some(1), s: Some(2), ..tiled },
            KernelRequest { untiled: true, tiled: false, p: Some(32), s: Some(2), ..tiled },
        ]
    }

    /// The last force gives the same potentials as a separate pass, and the same accelerations as
    /// the force kernel.
    #[test]
    fn last_force_with_potentials_changes_no_bits() {
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
                state.settle_combined().await.unwrap();
                state
            });
            let combined = with.combined.as_ref().unwrap();
            assert!(
                combined.forces.is_some(),
                "{shape:?}: this adapter's compiler makes two of it"
            );
            let begun = with.interactions();
            assert_eq!(begun, (N * N) as u64);
            let first = pollster::block_on(with.potential()).unwrap();
            let outputs = [1, 3, 2];
            let (states_with, steps) = states_at_outputs(&mut with, &bodies, &outputs);
            assert_eq!(steps, 6 * (N * N) as u64);
            let computed_at = |state: &DeviceState| state.combined.as_ref().unwrap().computed_at;
            // Expected, since they were requested after the last advance; then no longer.
            for is_expected in [true, false] {
                let advanced = pollster::block_on(with.advance_to_output(0.01, 2, &mut |_| true));
                assert_eq!(advanced.unwrap(), 2);
                assert_eq!(computed_at(&with) == Some(with.interactions()), is_expected);
            }
            // A new state for each output, read only at its end.
            for (k, steps) in (0..3).map(|k| (k, outputs[..=k].iter().sum::<u64>())) {
                let mut plain = open();
                let (states_plain, _) = states_at_outputs(&mut plain, &bodies, &[steps]);
                assert!(states_plain[0] == states_with[k], "{shape:?}, after {steps} steps");
            }
            // Compared with f64 sums over all other bodies.
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

    /// Three masses in turn: bodies of each mass fill tiles of their own, so the self term must be
    /// found by the number of the body.
    #[test]
    fn self_potential_is_excluded_for_any_order_of_sources() {
        // From 32,768 bodies on, sources are sorted by mass.
        let n = (1 << 15) + 500;
        let mut bodies = test_bodies(n, Spread::Even);
        for (i, mass) in bodies.mass.iter_mut().enumerate() {
            *mass = [1.0, 4.0, 2.0][i % 3] / n as f64;
        }
        let tiled = KernelRequest { tiled: true, s: Some(1), ..KernelRequest::default() };
        let shape = KernelRequest { p: Some(64), r: Some(4), u: Some(4), ..tiled };
        // The self term would be a tenth of the potential.
        let settings = Settings { softening: 1e-4, ..settings(shape) };
        let potential = pollster::block_on(async {
            let mut state = DeviceState::begin(gpu(), &bodies, None, &settings).await.unwrap();
            state.settle_combined().await.unwrap();
            let combined = state.combined.as_ref().unwrap();
            assert_eq!(combined.computed_at, Some(state.interactions));
            let forces = combined.forces.as_ref().unwrap();
            assert!(AllPairs::of(forces.as_ref()).unwrap().variant.one_mass);
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
    fn group_of_devices_gives_same_bits_as_one_device() {
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
        let (by_one, by_group) = (
            states_at_outputs(&mut one, &bodies, &outputs),
            states_at_outputs(&mut group, &bodies, &outputs),
        );
        assert!(by_one.0 == by_group.0);
    }
}
