//! Calls of a GRAPE-6 client on the CPU in f64: `cargo bench --package gravitile-capi --bench
//! grape`.
//!
//! The sources of a Plummer sphere move. Each call predicts all of them to a new time and computes
//! accelerations, jerks and potentials of some. Interleaved with it, in the same run, the same call
//! without prediction in the engine: the host predicts into fresh arrays, sets them as sources and
//! evaluates. Reported are the minimum times, since other load on the machine only adds, and their
//! ratio.
//!
//! Also the calls of GRAPE-5, whose pairs are in f32, and the kernel of each instruction set alone.

mod calls;

// The calls are linked from it.
use gravitile_capi as _;

use std::ffi::c_int;
use std::time::Instant;

use calls::*;
use glam::DVec3;
use gravitile::forces::direct::cpu::InstructionSet;
use gravitile::forces::direct::{CpuDouble, CpuSingle};
use gravitile::forces::{
    ForceEngine, Forces, Identity, Moving, MovingSources, Order, Outputs, Sinks, Sources,
    TestBodies,
};

const SOFTENING: f64 = 1.0 / 256.0;

/// A GRAPE client with its particles in arrays.
struct Client {
    x: Vec<[f64; 3]>,
    v: Vec<[f64; 3]>,
    a2: Vec<[f64; 3]>,
    j6: Vec<[f64; 3]>,
    m: Vec<f64>,
    index: Vec<c_int>,
    moving: Vec<Moving>,
    bodies: TestBodies,
}

impl Client {
    fn new(n: usize) -> Self {
        let bodies = TestBodies::new(n, 1);
        let of = |from: &[DVec3], factor: f64| -> Vec<[f64; 3]> {
            from.iter().map(|v| (*v * factor).to_array()).collect()
        };
        let moving = (0..n)
            .map(|k| {
                let (x, v, a) = (bodies.position[k], bodies.velocity[k], bodies.acceleration[k]);
                let motion = [x, v, a, v, DVec3::ZERO, DVec3::ZERO];
                Moving { time: 0.0, mass: bodies.mass[k], motion }
            })
            .collect();
        Self {
            x: of(&bodies.position, 1.0),
            v: of(&bodies.velocity, 1.0),
            a2: of(&bodies.acceleration, 0.5),
            j6: of(&bodies.velocity, 1.0 / 6.0),
            m: bodies.mass.clone(),
            index: (0..n as c_int).collect(),
            moving,
            bodies,
        }
    }

    fn set(&self, k: usize, time: f64) -> c_int {
        let zero = [0.0; 3];
        let (x, v, a2, j6) = (&self.x[k], &self.v[k], &self.a2[k], &self.j6[k]);
        let k = k as c_int;
        // SAFETY: each vector has three components.
        unsafe { g6_set_j_particle(0, k, k, time, 0.0, self.m[k as usize], &zero, j6, a2, v, x) }
    }

    /// Both halves of a GRAPE-6 call for the first `ni` particles at `time`.
    fn call(&self, ni: usize, time: f64, out: &mut ClientForces) {
        let (nj, n) = (self.x.len() as c_int, ni as c_int);
        let (index, x, v) = (self.index.as_ptr(), self.x.as_ptr(), self.v.as_ptr());
        let (null, eps2) = (std::ptr::null(), SOFTENING * SOFTENING);
        let (acc, jerk, pot) = (out.acc.as_mut_ptr(), out.jerk.as_mut_ptr(), out.pot.as_mut_ptr());
        // SAFETY: the arrays have at least `ni` entries.
        let codes = unsafe {
            [
                g6_set_ti(0, time),
                g6calc_firsthalf(
                    0,
                    nj,
                    n,
                    index,
                    x,
                    v,
                    null,
                    null,
                    null as *const f64,
                    eps2,
                    null as *const f64,
                ),
                g6calc_lasthalf(0, nj, n, index, x, v, eps2, null as *const f64, acc, jerk, pot),
            ]
        };
        assert_eq!(codes, [0; 3]);
    }

    /// The same forces from the engine alone, with sources predicted by the host.
    fn call_with_host_prediction(
        &self,
        engine: &mut CpuDouble,
        ni: usize,
        time: f64,
        out: &mut Forces,
    ) {
        let predicted: Vec<([DVec3; 3], f64)> =
            self.moving.iter().map(|source| (source.at(Some(time)), source.mass)).collect();
        assert!(predicted.iter().all(|(motion, _)| motion.iter().all(|v| v.is_finite())));
        let position: Vec<DVec3> = predicted.iter().map(|(motion, _)| motion[0]).collect();
        let velocity: Vec<DVec3> = predicted.iter().map(|(motion, _)| motion[1]).collect();
        let mass: Vec<f64> = predicted.iter().map(|(_, mass)| *mass).collect();
        let sources =
            Sources { position: &position, velocity: &velocity, acceleration: &[], mass: &mass };
        engine.set_sources(&sources).expect("the sources are sound");
        self.evaluate(engine, ni, false, out);
    }

    fn evaluate(&self, engine: &mut CpuDouble, ni: usize, nearest: bool, out: &mut Forces) {
        let own: Vec<u32> = (0..ni as u32).collect();
        let sinks = Sinks {
            position: &self.bodies.position[..ni],
            velocity: &self.bodies.velocity[..ni],
            acceleration: &[],
            identity: Identity::Each(&own),
            only: None,
        };
        let outputs = Outputs { potential: true, nearest, ..Outputs::only(Order::Jerk) };
        engine.evaluate(&sinks, SOFTENING, &outputs, out).expect("the bodies are sound");
    }
}

struct ClientForces {
    acc: Vec<[f64; 3]>,
    jerk: Vec<[f64; 3]>,
    pot: Vec<f64>,
}

/// The minimum time in microseconds of each of `variants`, which run interleaved.
fn min_interleaved_us<const N: usize>(mut variants: [&mut dyn FnMut(f64); N]) -> [f64; N] {
    let mut least = [f64::INFINITY; N];
    let begin = Instant::now();
    let mut turn = 0;
    while turn < 7 || (begin.elapsed().as_secs_f64() < 1.0 && turn < 2000) {
        for (variant, least) in variants.iter_mut().zip(&mut least) {
            let begin = Instant::now();
            variant(1e-9 * f64::from(turn));
            *least = least.min(begin.elapsed().as_secs_f64() * 1e6);
        }
        turn += 1;
    }
    least
}

fn measure_grape6(threads: &str) {
    println!("{threads}: microseconds per call");
    println!(
        "    nj    ni   predicted on the host   in the engine   ratio   engine alone   + nearest"
    );
    // `cargo test --benches` runs one small case.
    let is_bench = std::env::args().any(|word| word == "--bench");
    let sources: &[usize] = if is_bench { &[1024, 16_384, 131_072] } else { &[1024] };
    for &nj in sources {
        let client = Client::new(nj);
        assert_eq!(g6_open(0), 0);
        assert!((0..nj).all(|k| client.set(k, 0.0) == 0));
        let (mut host, mut engine) = (CpuDouble::new(), CpuDouble::new());
        let mut near = CpuDouble::new();
        engine.set_moving(&client.moving).expect("the sources are sound");
        near.set_moving(&client.moving).expect("the sources are sound");
        for ni in [1, 256] {
            let mut out = ClientForces {
                acc: vec![[0.0; 3]; ni],
                jerk: vec![[0.0; 3]; ni],
                pot: vec![0.0; ni],
            };
            let (mut answers, mut moving, mut nearest) = <(Forces, Forces, Forces)>::default();
            let [before, after, alone, nearest] = min_interleaved_us([
                &mut |time| client.call_with_host_prediction(&mut host, ni, time, &mut answers),
                &mut |time| client.call(ni, time, &mut out),
                &mut |time| {
                    engine.predict_to(Some(time));
                    client.evaluate(&mut engine, ni, false, &mut moving);
                },
                &mut |time| {
                    near.predict_to(Some(time));
                    client.evaluate(&mut near, ni, true, &mut nearest);
                },
            ]);
            println!(
                "{nj:6} {ni:5} {before:23.1} {after:15.1} {:7.2} {alone:14.1} {nearest:11.1}",
                before / after
            );
        }
        if nj == 16384 {
            let [set] = min_interleaved_us([&mut |time| {
                assert!((0..nj).all(|k| client.set(k, time) == 0));
            }]);
            println!("g6_set_j_particle: {:.1} ns", set * 1e3 / nj as f64);
        }
        g6_close(0);
    }
}

/// Calls of GRAPE-5: sets sources; computes forces and potentials of the first `ni`.
fn measure_grape5() {
    let is_bench = std::env::args().any(|word| word == "--bench");
    let most = if is_bench { 16_384 } else { 1000 };
    let client = Client::new(most);
    let (mut acc, mut pot) = (vec![[0.0; 3]; most], vec![0.0; most]);
    let (x, m) = (client.x.as_ptr(), client.m.as_ptr());
    assert_eq!((g5_open(), g5_set_eps_to_all(SOFTENING)), (0, 0));
    println!("GRAPE-5: nj, ni: ns per source set, microseconds per call with it, 10^9 pairs/s");
    for (nj, ni) in [(1000, 1), (1000, 64), (1000, 1000), (most, 64), (most, most)] {
        // SAFETY: the arrays have `most` entries.
        let set = || unsafe { g5_set_xmj(0, nj as c_int, x, m) };
        assert_eq!(g5_set_n(nj as c_int), 0);
        let [alone, call] = min_interleaved_us([&mut |_| assert_eq!(set(), 0), &mut |_| {
            assert_eq!(set(), 0);
            // SAFETY: as above.
            let code = unsafe {
                g5_calculate_force_on_x(x, acc.as_mut_ptr(), pot.as_mut_ptr(), ni as c_int)
            };
            assert_eq!(code, 0);
        }]);
        let rate = (nj * ni) as f64 / call * 1e-3;
        println!("{nj:6} {ni:6} {:8.2} {call:10.1} {rate:8.2}", alone * 1e3 / nj as f64);
    }
    g5_close();
    for kernel in InstructionSet::available() {
        let mut engine = CpuSingle::with_kernel(kernel).expect("it is available");
        engine.set_sources(&client.bodies.sources(most)).expect("the sources are sound");
        let sinks = Sinks::new(&client.bodies.position, Identity::Foreign);
        let mut out = Forces::default();
        let [call] = min_interleaved_us([&mut |_| {
            engine
                .evaluate(&sinks, SOFTENING, &Outputs::POTENTIAL, &mut out)
                .expect("sound bodies");
        }]);
        println!("{}: {:.2} x 10^9 pairs/s", kernel.name(), (most * most) as f64 / call * 1e-3);
    }
}

fn main() {
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("GRAVITILE_ENGINE", "cpu") };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    one.install(measure_grape5);
    one.install(|| measure_grape6("1 thread"));
    measure_grape6(&format!("{} threads", rayon::current_num_threads()));
}
