//! A device that moves only a range of the bodies: two halves give the same bits as the whole.

use std::ops::Range;

use glam::DVec3;

use super::{ONE_WORKGROUP, SHAPES, common, plummer, settings};
use gravitile::bodies::Bodies;
use gravitile::forces::direct::gpu::{AllPairs, KernelRequest, KernelVariant, PairBuffers};
use gravitile::forces::{DeviceField, DeviceForces, Throughput, evaluate_blocking};
use gravitile::frame::Frame;
use gravitile::gpu::{BodyBuffers, Gpu, read_blocking};
use gravitile::integrate::{self, DeviceIntegrator};
use gravitile::sim::{Backend, DeviceState, Diagnosis, Settings};

const N: u32 = 1000;
/// Split where no workgroup of any shape begins.
const HALVES: [Range<u32>; 2] = [0..333, 333..N];
const SOFTENING: f64 = 0.05;

fn state_of(bodies: &Bodies, sinks: Range<u32>, settings: &Settings) -> DeviceState {
    let gpu = common::gpu();
    let begun = DeviceState::begin_sinks(gpu, bodies, sinks, None, settings);
    let mut state = pollster::block_on(begun).unwrap();
    pollster::block_on(state.settle()).unwrap();
    state
}

/// Accelerations and potentials of each state's sinks, in order, and all bodies.
fn results(states: &mut [DeviceState], bodies: &Bodies) -> (Vec<DVec3>, Vec<f64>, Bodies) {
    let (mut accelerations, mut potentials, mut now) = (Vec::new(), Vec::new(), bodies.clone());
    for state in states {
        accelerations.extend(pollster::block_on(state.read(&mut now, 0.0)).unwrap());
        potentials.extend(pollster::block_on(state.potential()).unwrap());
    }
    (accelerations, potentials, now)
}

#[test]
fn split_sinks_give_same_forces_and_potentials() {
    let bodies = plummer(N as usize);
    let mut far = bodies.clone();
    far.position.iter_mut().for_each(|x| x.x += 1e4);
    for (bodies, kernel) in
        [(&bodies, SHAPES[0]), (&bodies, SHAPES[1]), (&bodies, SHAPES[2]), (&far, SHAPES[0])]
    {
        let settings = settings(kernel);
        let whole = results(&mut [state_of(bodies, 0..N, &settings)], bodies);
        let mut halves = HALVES.map(|sinks| state_of(bodies, sinks, &settings));
        assert_eq!(halves[0].interactions(), 333 * u64::from(N), "{kernel:?}");
        assert!(results(&mut halves, bodies) == whole, "{kernel:?}");
        let mut shifted = [0..332, 332..N].map(|sinks| state_of(bodies, sinks, &settings));
        shifted.swap(0, 1);
        assert!(results(&mut shifted, bodies) != whole, "the comparison should see another order");
    }
}

#[test]
fn only_sinks_move() {
    let bodies = plummer(N as usize);
    let settings = settings(SHAPES[0]);
    let mut state = state_of(&bodies, 333..400, &settings);
    state.run(0.01, 3, &mut |_| true).unwrap();
    let buffers = state.buffers();
    let own = [&buffers.position_mass, &buffers.velocity, &buffers.acceleration];
    let read = read_blocking::<[f32; 4]>(state.gpu(), &own, N as usize).unwrap();
    let begin = state_of(&bodies, 0..N, &settings);
    let begun = [&begin.buffers().position_mass, &begin.buffers().velocity];
    let begun = read_blocking::<[f32; 4]>(begin.gpu(), &begun, N as usize).unwrap();
    for i in 0..N as usize {
        let moves = (333..400).contains(&i);
        assert_eq!(read[0][i] != begun[0][i], moves, "position {i}");
        assert_eq!(read[1][i] != begun[1][i], moves, "velocity {i}");
        assert_eq!(read[2][i][..3] != [0.0; 3], moves, "acceleration {i}");
    }
    // Reading back leaves other bodies unchanged, and continuing with other settings keeps the
    // range.
    let mut now = bodies.clone();
    now.position.fill(DVec3::ONE);
    let accelerations = pollster::block_on(state.read(&mut now, 0.0)).unwrap();
    assert_eq!(accelerations.len(), 67);
    assert!((now.position[332], now.position[400]) == (DVec3::ONE, DVec3::ONE));
    assert!(now.position[333..400].iter().all(|x| *x != DVec3::ONE));
    pollster::block_on(state.replace(&bodies, &settings)).unwrap();
    assert_eq!(state.sinks(), 333..400);
}

#[test]
fn invalid_sink_ranges_are_refused() {
    let bodies = plummer(300);
    let refuse = |sinks: Range<u32>, kernel: KernelRequest| {
        let settings = settings(kernel);
        let begun = DeviceState::begin_sinks(common::gpu(), &bodies, sinks, None, &settings);
        pollster::block_on(begun).err().expect("should be refused").to_string()
    };
    let text = refuse(0..301, SHAPES[0]);
    assert!(text.contains("sinks is 0..301, but must be part of 0..300"), "{text}");
    let text = refuse(100..200, ONE_WORKGROUP);
    assert!(
        text.contains("sinks is 100, but must be all 300 bodies with --one-workgroup"),
        "{text}"
    );
}

#[test]
fn diagnostics_require_all_bodies_on_one_device() {
    let bodies = plummer(N as usize);
    let diagnosed = |sinks: Range<u32>| {
        let state = state_of(&bodies, sinks, &settings(SHAPES[0]));
        let (gpu, buffers, frame) = (state.gpu(), state.buffers(), *state.frame());
        let made =
            Diagnosis::new(gpu, buffers, (frame, state.field()), state.potential_sums(), &bodies);
        pollster::block_on(made).map(|_| ())
    };
    diagnosed(0..N).unwrap();
    let text = diagnosed(0..333).unwrap_err().to_string();
    assert!(text.contains("sinks is 333, but must be all 1000 bodies"), "{text}");
}

/// One device's range of the bodies, with its forces and integrator.
struct Owner {
    bodies: BodyBuffers,
    forces: AllPairs,
    integrator: Box<dyn DeviceIntegrator>,
}

impl Owner {
    fn new(gpu: &Gpu, bodies: &Bodies, sinks: Range<u32>, kernel: KernelRequest) -> Self {
        let bodies = BodyBuffers::upload(gpu, bodies, 1.0, &Frame::PLAIN, None).unwrap();
        let bodies = bodies.with_sinks(sinks).unwrap();
        let config = kernel.resolve(gpu, N as usize, N as usize).unwrap();
        let variant = KernelVariant::new(config, SOFTENING, 1.0, false);
        let field = PairBuffers::of_bodies(&bodies, SOFTENING as f32);
        let forces = pollster::block_on(AllPairs::new(gpu, variant, field)).unwrap();
        let make = integrate::find("leapfrog").unwrap().device.unwrap();
        let integrator = pollster::block_on(make(
            gpu,
            &bodies,
            (forces.partial_sums(), forces.slices()),
            &DeviceField::none(),
        ))
        .unwrap();
        Self { bodies, forces, integrator }
    }

    fn evaluate(&mut self, gpu: &Gpu) {
        let mut throughput = Throughput::guess(gpu.adapter.class);
        evaluate_blocking(&mut self.forces, gpu, &mut throughput).unwrap();
    }

    /// The first half of a step (`opens`) or the second.
    fn integrate(&mut self, gpu: &Gpu, dt: f64, opens: bool) {
        self.integrator.begin_submission();
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        match opens {
            true => self.integrator.open(gpu, &mut pass, dt, None),
            false => self.integrator.close(gpu, &mut pass, dt),
        }
        drop(pass);
        self.integrator.end_submission(gpu);
        gpu.queue.submit([encoder.finish()]);
    }
}

/// Copies the positions of each range to all other owners.
fn exchange(gpu: &Gpu, owners: &[Owner]) {
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    for (i, from) in owners.iter().enumerate() {
        let (begin, bytes) = (from.bodies.sinks.start, from.bodies.sink_count());
        let [begin, bytes] = [begin, bytes].map(|n| u64::from(n) * 16);
        for (_, to) in owners.iter().enumerate().filter(|(k, _)| *k != i) {
            let [from, to] = [from, to].map(|owner| &owner.bodies.position_mass);
            encoder.copy_buffer_to_buffer(from, begin, to, begin, bytes);
        }
    }
    gpu.queue.submit([encoder.finish()]);
}

/// Positions, velocities and accelerations after three steps, each body's from its owner.
fn moved(sinks: &[Range<u32>], kernel: KernelRequest, exchanging: bool) -> Vec<[f32; 4]> {
    let (gpu, bodies) = (common::gpu(), plummer(N as usize));
    let mut owners: Vec<Owner> =
        sinks.iter().map(|sinks| Owner::new(&gpu, &bodies, sinks.clone(), kernel)).collect();
    for dt in [0.0, 0.01, 0.01, 0.01] {
        for owner in owners.iter_mut().filter(|_| dt > 0.0) {
            owner.integrate(&gpu, dt, true);
        }
        if exchanging {
            exchange(&gpu, &owners);
        }
        for owner in &mut owners {
            owner.evaluate(&gpu);
            owner.integrate(&gpu, dt, false);
        }
    }
    let mut all = Vec::new();
    for which in 0..3 {
        for Owner { bodies, .. } in &owners {
            let buffer = [&bodies.position_mass, &bodies.velocity, &bodies.acceleration][which];
            let read = read_blocking::<[f32; 4]>(&gpu, &[buffer], N as usize).unwrap().remove(0);
            all.extend_from_slice(&read[bodies.sinks.start as usize..bodies.sinks.end as usize]);
        }
    }
    all
}

#[test]
fn split_steps_with_exchange_give_same_bits() {
    for kernel in SHAPES {
        #[allow(clippy::single_range_in_vec_init)]
        let whole = moved(&[0..N], kernel, false);
        assert!(moved(&HALVES, kernel, true) == whole, "{kernel:?}");
        assert!(moved(&HALVES, kernel, false) != whole, "the comparison should see old positions");
        let thirds = [0..1, 1..900, 900..N];
        assert!(moved(&thirds, kernel, true) == whole, "{kernel:?}");
    }
}
