//! The device side of a simulation: bits independent of slicing, many steps per submission, limits.

use crate::common;

mod sinks;

use gravitile::bodies::Bodies;
use gravitile::forces::direct::gpu::{
    AllPairs, Dispatch, KernelConfig, KernelRequest, KernelVariant, PairBuffers,
};
use gravitile::forces::{Budget, Throughput, evaluate_blocking};
use gravitile::frame::Frame;
use gravitile::gpu::{AdapterRequest, BodyBuffers, DeviceClass, Gpu, read_blocking};
use gravitile::scene::Scene;
use gravitile::sim::{DeviceState, EngineKind, Settings, Simulation};

fn plummer(n: usize) -> Bodies {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    scene.build().unwrap()
}

fn settings(kernel: KernelRequest) -> Settings {
    Settings {
        softening: 0.05,
        dt: 0.01,
        engine: EngineKind::Gpu,
        adapter: common::adapter_request(),
        kernel,
        ..Settings::default()
    }
}

fn state(bodies: &Bodies, kernel: KernelRequest) -> DeviceState {
    pollster::block_on(DeviceState::new(common::gpu(), bodies, None, &settings(kernel))).unwrap()
}

/// Potentials of all bodies, from the kernel of this variant.
fn potentials(gpu: &Gpu, bodies: &BodyBuffers, variant: KernelVariant) -> Vec<u32> {
    let field = PairBuffers::of_bodies(bodies, if variant.guarded { 0.0 } else { 0.05 });
    let mut forces = pollster::block_on(AllPairs::new(gpu, variant, field)).unwrap();
    evaluate_blocking(&mut forces, gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
    let entries = bodies.count as usize * variant.config.s as usize;
    let sums = read_blocking::<[f32; 4]>(gpu, &[&forces.partial_sums], entries).unwrap();
    let is_moved = sums[0].iter().any(|sum| sum[..3] != [0.0; 3]);
    assert_eq!(is_moved, !variant.alone, "{variant:?}");
    sums[0].iter().map(|sum| sum[3].to_bits()).collect()
}

#[test]
fn potential_only_kernel_gives_same_bits() {
    let gpu = common::gpu();
    let mut bodies = plummer(1003);
    // Two bodies in the same place, which still contribute to each other's potential if softened.
    bodies.position[7] = bodies.position[400];
    let bodies = BodyBuffers::upload(&gpu, &bodies, 1.0, &Frame::PLAIN, None).unwrap();
    for shape in [
        KernelConfig { r: 8, u: 32, ..KernelConfig::tiled(64) },
        KernelConfig { q: 8, s: 3, ..KernelConfig::tiled(16) },
        KernelConfig { untiled: true, r: 2, u: 1, ..KernelConfig::tiled(128) },
    ] {
        for softening in [0.05, 0.0] {
            let alone = KernelVariant::new(shape, softening, 1.0, false).of_potentials();
            let found = potentials(&gpu, &bodies, alone);
            let both = KernelVariant { alone: false, ..alone };
            assert_eq!(found, potentials(&gpu, &bodies, both), "{alone:?}");
            assert!(found.iter().all(|phi| f32::from_bits(*phi) < 0.0), "{alone:?}");
        }
    }
}

/// The partial sums of the kernel of this variant: acceleration and potential.
fn sums(gpu: &Gpu, bodies: &BodyBuffers, variant: KernelVariant) -> Vec<[f32; 4]> {
    let field = PairBuffers::of_bodies(bodies, if variant.guarded { 0.0 } else { 0.05 });
    let mut forces = pollster::block_on(AllPairs::new(gpu, variant, field)).unwrap();
    evaluate_blocking(&mut forces, gpu, &mut Throughput::guess(gpu.adapter.class)).unwrap();
    let entries = bodies.count as usize * variant.config.s as usize;
    read_blocking::<[f32; 4]>(gpu, &[&forces.partial_sums], entries).unwrap().swap_remove(0)
}

/// A kernel that computes forces and potentials can replace one for forces alone: the forces have
/// the same bits, also with tiles of one mass, which sum in a different order. A body is excluded
/// from its own potential; a body in the same place is not.
#[test]
fn forces_with_potentials_give_same_bits() {
    let gpu = common::gpu();
    let mut host = plummer(1003);
    for i in 0..host.len() {
        host.mass[i] = [0.001, 0.5, 0.002][(i * i) % 7 % 3];
    }
    host.position[7] = host.position[400];
    let bodies = BodyBuffers::upload(&gpu, &host, 1.0, &Frame::PLAIN, None).unwrap();
    for (shape, one_mass) in [
        (KernelConfig { r: 8, u: 32, ..KernelConfig::tiled(64) }, true),
        (KernelConfig { r: 4, s: 3, ..KernelConfig::tiled(32) }, true),
        (KernelConfig { untiled: true, r: 2, s: 2, ..KernelConfig::tiled(64) }, true),
        (KernelConfig { q: 8, s: 3, ..KernelConfig::tiled(16) }, false),
        (KernelConfig { r: 16, u: 4, ..KernelConfig::tiled(32) }, false),
    ] {
        for softening in [0.05, 0.0] {
            let plain = KernelVariant::new(shape, softening, 1.0, false);
            let forces = KernelVariant { one_mass: one_mass && !plain.guarded, ..plain };
            let both = forces.with_potential().unwrap();
            let [alone, both] = [forces, both].map(|variant| sums(&gpu, &bodies, variant));
            let n = host.len();
            for (i, (alone, both)) in alone.iter().zip(&both).enumerate() {
                let same = (0..3).all(|axis| alone[axis].to_bits() == both[axis].to_bits());
                assert!(same, "{forces:?}, sink {}: {alone:?}, {both:?}", i % n);
            }
            for i in 0..n {
                let found: f64 = both.iter().skip(i).step_by(n).map(|sum| f64::from(sum[3])).sum();
                let of = |j: usize| {
                    let towards = host.position[j] - host.position[i];
                    let softened = towards.length_squared() + softening * softening;
                    if j == i || softened == 0.0 { 0.0 } else { -host.mass[j] / softened.sqrt() }
                };
                let exact: f64 = (0..n).map(of).sum();
                assert!((found / exact - 1.0).abs() < 1e-5, "{forces:?}, {i}: {found}, {exact}");
            }
        }
    }
    let windows = KernelConfig { untiled: true, uniform: true, ..KernelConfig::tiled(64) };
    assert_eq!(KernelVariant::new(windows, 0.05, 1.0, false).with_potential(), None);
}

fn bits(state: &mut DeviceState, bodies: &Bodies) -> Vec<[u64; 6]> {
    let mut now = bodies.clone();
    pollster::block_on(state.read(&mut now, 0.0)).unwrap();
    let of =
        |(x, v): (&glam::DVec3, &glam::DVec3)| [x.x, x.y, x.z, v.x, v.y, v.z].map(f64::to_bits);
    now.position.iter().zip(&now.velocity).map(of).collect()
}

const SHAPES: [KernelRequest; 3] = [
    common::tiled([64, 1, 2, 4, 1]),
    common::tiled([32, 4, 1, 2, 3]),
    KernelRequest { untiled: true, tiled: false, ..common::tiled([64, 1, 1, 4, 1]) },
];

#[test]
fn slicing_steps_gives_same_bits() {
    let bodies = plummer(1000);
    for shape in SHAPES {
        let mut whole = state(&bodies, shape);
        whole.run(0.01, 20, &mut |_| true).unwrap();
        let expected = bits(&mut whole, &bodies);

        let mut single = state(&bodies, shape);
        for _ in 0..20 {
            single.run(0.01, 1, &mut |_| true).unwrap();
        }
        assert!(bits(&mut single, &bodies) == expected, "one step at a time, {shape:?}");

        // Slices that end in the middle of steps, as frames of a window cut them.
        let mut sliced = state(&bodies, shape);
        let budget = Budget { dispatch_secs: 2e-4, submission_secs: 5e-4 };
        // Assumes a slow device, whatever its true speed.
        sliced.learn_rate(2e8);
        let (mut done, mut slices) = (0, 0);
        while done < 20 || !sliced.is_between_steps() {
            let slice = sliced.submit_slice(0.01, 20 - done, budget);
            sliced.gpu().wait_for(slice.submission.clone()).unwrap();
            done += slice.work.steps;
            slices += 1;
        }
        // A GPU that a whole step does not fill is given it in one slice.
        let least = if sliced.gpu().adapter.class == DeviceClass::Software { 21 } else { 20 };
        assert!(slices >= least, "{slices} slices are too few to have cut steps");
        assert!(bits(&mut sliced, &bodies) == expected, "in slices, {shape:?}");

        let mut moved = state(&bodies, shape);
        moved.run(0.01, 19, &mut |_| true).unwrap();
        assert!(bits(&mut moved, &bodies) != expected, "the comparison should see a missing step");
    }
}

/// One body overflows f32: in fused steps, with separate kernels, and in one workgroup.
#[test]
fn body_overflowing_f32_is_named_and_others_continue() {
    let mut bodies = plummer(300);
    bodies.mass[77] = 1e-9;
    bodies.velocity[77].y = -1e38;
    bodies.id[77] = 4711;
    let ways = [
        SHAPES[0],
        KernelRequest { dispatch: Dispatch::Ordinary, ..SHAPES[0] },
        SHAPES[1],
        SHAPES[2],
        ONE_WORKGROUP,
    ];
    for kernel in ways {
        let mut simulation = Simulation::new(bodies.clone(), settings(kernel)).unwrap();
        simulation.set_dt(0.5).unwrap();
        simulation.step(3).unwrap();
        assert!(simulation.bodies().unwrap().position[77].is_finite());
        simulation.step(20).unwrap();
        let text = simulation.bodies().unwrap_err().to_string();
        assert!(text.starts_with("body 77 (id 4711): ") && text.contains("it has left"), "{text}");
    }
}

/// Many steps in one dispatch, for 300 bodies.
const ONE_WORKGROUP: KernelRequest =
    KernelRequest { dispatch: Dispatch::OneWorkgroup, ..common::tiled([128, 2, 3, 4, 1]) };

#[test]
fn slicing_one_workgroup_steps_gives_same_bits() {
    let bodies = plummer(300);
    let mut whole = state(&bodies, ONE_WORKGROUP);
    whole.learn_rate(1e12);
    let slice = whole.submit_slice(0.01, 50, Budget::HEADLESS);
    assert_eq!(
        (slice.work.steps, slice.work.dispatches),
        (50, 1),
        "one dispatch for a fast device"
    );
    let expected = bits(&mut whole, &bodies);

    let mut single = state(&bodies, ONE_WORKGROUP);
    for _ in 0..50 {
        single.run(0.01, 1, &mut |_| true).unwrap();
    }
    assert!(bits(&mut single, &bodies) == expected, "one step at a time");

    let mut sliced = state(&bodies, ONE_WORKGROUP);
    let budget = Budget { dispatch_secs: 1e-3, submission_secs: 2e-3 };
    let (mut done, mut slices) = (0, 0);
    while done < 50 {
        sliced.learn_rate(3e8);
        let slice = sliced.submit_slice(0.01, 50 - done, budget);
        done += slice.work.steps;
        slices += 1;
    }
    assert!(slices > 3 && sliced.is_between_steps(), "{slices} slices");
    assert!(bits(&mut sliced, &bodies) == expected, "in slices");

    let mut fewer = state(&bodies, ONE_WORKGROUP);
    fewer.run(0.01, 49, &mut |_| true).unwrap();
    assert!(bits(&mut fewer, &bodies) != expected, "the comparison should see a missing step");
    // A state that is read in the middle and uploaded again continues with the same bits.
    let mut taken_up = bodies.clone();
    let mut first = state(&bodies, ONE_WORKGROUP);
    first.run(0.01, 20, &mut |_| true).unwrap();
    pollster::block_on(first.read(&mut taken_up, 0.0)).unwrap();
    let mut second = state(&taken_up, ONE_WORKGROUP);
    second.run(0.01, 30, &mut |_| true).unwrap();
    assert!(bits(&mut second, &bodies) == expected, "taken up again");
}

#[test]
fn one_workgroup_agrees_with_ordinary_path() {
    let bodies = plummer(300);
    let end = |kernel| {
        let mut state = state(&bodies, kernel);
        let mut now = bodies.clone();
        state.run(0.01, 20, &mut |_| true).unwrap();
        let acceleration = pollster::block_on(state.read(&mut now, 0.0)).unwrap();
        let potential = pollster::block_on(state.potential()).unwrap();
        (now, acceleration, potential)
    };
    let (one, one_a, one_phi) = end(ONE_WORKGROUP);
    let (many, many_a, many_phi) = end(SHAPES[0]);
    for i in 0..bodies.len() {
        // 20 steps, each rounded to 6e-8 of a coordinate, some of which are above 1.
        let size = 1.0 + many.position[i].length();
        assert!((one.position[i] - many.position[i]).length() < 5e-6 * size, "position {i}");
        assert!((one.velocity[i] - many.velocity[i]).length() < 2e-5, "velocity {i}");
        assert!((one_a[i] - many_a[i]).length() < 1e-4 * (1.0 + many_a[i].length()), "force {i}");
        assert!((one_phi[i] / many_phi[i] - 1.0).abs() < 1e-4, "potential {i}");
    }
    assert_eq!(one.component, bodies.component);
}

#[test]
fn one_workgroup_overflow_is_refused_with_reason() {
    let refuse = |n: usize, kernel: KernelRequest| {
        let error = Simulation::new(plummer(n), settings(kernel)).err();
        error.expect("should be refused").to_string()
    };
    let request = KernelRequest { dispatch: Dispatch::OneWorkgroup, ..KernelRequest::default() };
    let text = refuse(50_000, request);
    assert!(text.contains("50000 bodies do not fit one workgroup, which holds at most"), "{text}");
    let text = refuse(200, KernelRequest { p: Some(64), r: Some(2), ..request });
    assert!(text.contains("at most p x r = 64 x 2 = 128"), "{text}");
    let text = refuse(100, KernelRequest { s: Some(2), ..request });
    assert!(text.contains("s (slices) is 2"), "{text}");
    for n in [2, 5, 100, 513, 1024] {
        let mut sim = Simulation::new(plummer(n), settings(request)).unwrap();
        sim.step(2).unwrap();
        assert!(sim.describe_engine().ends_with("one-workgroup"), "{}", sim.describe_engine());
    }
}

#[test]
fn fused_step_is_one_dispatch() {
    let bodies = plummer(500);
    let (ordinary, fused) = (Dispatch::Ordinary, Dispatch::Fused);
    // With several slices, or on request, the ordinary path is taken: two dispatches per step.
    for (kernel, per_step) in [
        (SHAPES[0], 1),
        (SHAPES[2], 1),
        (KernelRequest { dispatch: fused, ..SHAPES[0] }, 1),
        (KernelRequest { dispatch: ordinary, ..SHAPES[0] }, 2),
        (KernelRequest { s: Some(2), ..SHAPES[0] }, 2),
    ] {
        let mut device = state(&bodies, kernel);
        device.learn_rate(1e12);
        let slice = device.submit_slice(0.01, 101, Budget::HEADLESS);
        assert_eq!(slice.work.steps, 101);
        assert!((101 * per_step..101 * per_step + 8).contains(&slice.work.dispatches), "{slice:?}");
    }
    // q rows of threads add their partial sums in the same order on both paths.
    let kernel = KernelRequest { s: Some(1), ..SHAPES[1] };
    let mut fused = state(&bodies, kernel);
    fused.learn_rate(1e12);
    let slice = fused.submit_slice(0.01, 30, Budget::HEADLESS);
    assert!(slice.work.steps == 30 && slice.work.dispatches < 40, "{slice:?}");
    let mut single = state(&bodies, kernel);
    for _ in 0..30 {
        single.run(0.01, 1, &mut |_| true).unwrap();
    }
    assert!(bits(&mut fused, &bodies) == bits(&mut single, &bodies));
}

#[test]
fn fused_steps_give_same_bits() {
    let bodies = plummer(500);
    let end = |dispatch: Dispatch| {
        // The dispatch mode does not determine the shape.
        let mut device = state(&bodies, KernelRequest { dispatch, ..KernelRequest::default() });
        device.run(0.01, 20, &mut |_| true).unwrap();
        (device.config().unwrap(), bits(&mut device, &bodies))
    };
    let [auto, ordinary, fused] = [Dispatch::Auto, Dispatch::Ordinary, Dispatch::Fused].map(end);
    assert!(auto.1 == ordinary.1 && auto.1 == fused.1);
    assert_eq!((auto.0.p, auto.0.q, auto.0.r), (fused.0.p, fused.0.q, fused.0.r));
    assert_eq!(fused.0.dispatch, Dispatch::Fused);
}

#[test]
fn unfusable_request_is_refused_with_reason() {
    let kernel = KernelRequest { dispatch: Dispatch::Fused, ..SHAPES[0] };
    let refuse = |n: usize, kernel: KernelRequest| {
        let error = Simulation::new(plummer(n), settings(kernel)).err();
        error.expect("should be refused").to_string()
    };
    let text = refuse(100, KernelRequest { s: Some(2), ..kernel });
    assert!(text.contains("s (slices) is 2, but must be 1 where steps are fused"), "{text}");
    let text = refuse(65_537, kernel);
    assert!(
        text.contains(
            "leapfrog on 65537 bodies, but must be leapfrog on all bodies, at most 65536"
        ),
        "{text}"
    );
}

#[test]
fn run_can_be_stopped_between_steps() {
    let bodies = plummer(300);
    let mut device = state(&bodies, SHAPES[0]);
    let done = device.run(0.01, 1_000_000, &mut |_| false).unwrap();
    assert!(done > 0 && done < 1_000_000 && device.is_between_steps());
    let stopped = bits(&mut device, &bodies);
    let mut other = state(&bodies, SHAPES[0]);
    other.run(0.01, done, &mut |_| true).unwrap();
    assert!(bits(&mut other, &bodies) == stopped);
}

#[test]
fn many_small_steps_share_a_submission() {
    let bodies = plummer(1024);
    let mut device = state(&bodies, KernelRequest::default());
    // For a device known to be fast, the budget allows many steps.
    device.learn_rate(1e11);
    let slice = device.submit_slice(0.01, 1000, Budget::HEADLESS);
    device.gpu().wait_for(slice.submission.clone()).unwrap();
    assert!(slice.work.steps >= 100, "{} steps", slice.work.steps);
    // Two dispatches per step, and one at each end.
    assert!(slice.work.dispatches <= 2 * slice.work.steps + 2, "{slice:?}");
}

#[test]
fn baseline_tier_gives_same_bits() {
    let bodies = plummer(500);
    let gpu = common::baseline();
    assert!(!gpu.tier.timestamps && !gpu.tier.f64 && !gpu.tier.subgroups);
    assert_eq!(gpu.limits.workgroup_memory, 16384);
    let settings = settings(SHAPES[0]);
    let mut low = pollster::block_on(DeviceState::new(gpu, &bodies, None, &settings)).unwrap();
    let mut high = state(&bodies, SHAPES[0]);
    low.run(0.01, 5, &mut |_| true).unwrap();
    high.run(0.01, 5, &mut |_| true).unwrap();
    assert!(bits(&mut low, &bodies) == bits(&mut high, &bodies));
}

#[test]
fn shape_above_adapter_limit_is_refused_with_limit() {
    let bodies = plummer(100);
    let refuse = |kernel: KernelRequest| {
        let adapter = AdapterRequest { baseline: true, ..common::adapter_request() };
        let settings = Settings { adapter, ..settings(kernel) };
        Simulation::new(bodies.clone(), settings).err().expect("should be refused").to_string()
    };
    let shape = KernelRequest { u: Some(1), tiled: true, ..KernelRequest::default() };
    let text = refuse(KernelRequest { p: Some(512), ..shape });
    assert!(text.contains("512 threads per workgroup, but it allows at most 256"), "{text}");
    let text = refuse(KernelRequest { p: Some(64), q: Some(8), ..shape });
    assert!(text.contains("p x q = 64 x 8 = 512"), "{text}");
    let text = refuse(KernelRequest { p: Some(0), ..shape });
    assert!(text.contains("p is 0, but must be between 1 and 1024"), "{text}");
}

#[test]
fn numbers_beyond_f32_are_refused() {
    let mut bodies = plummer(10);
    bodies.position[3].x = 1e300;
    let error =
        Simulation::new(bodies, settings(KernelRequest::default())).err().unwrap().to_string();
    assert!(error.contains("body 3") && error.contains("single precision"), "{error}");
}

#[test]
fn unknown_adapter_error_lists_known_adapters() {
    let request = AdapterRequest::named("no such adapter");
    let text = Gpu::open_blocking(&request).unwrap_err().to_string();
    assert!(
        text.contains("no such adapter") && text.contains(&common::gpu().adapter.name),
        "{text}"
    );
}
