//! Calls of a GRAPE-6 client on a GPU:
//! `GRAVITILE_ENGINE=gpu cargo bench --package gravitile-capi --bench sapporo`.
//!
//! The benchmark problem of Sapporo2 (docs/direct.md): a Plummer sphere with velocities,
//! accelerations and jerks, eps = 1/256. For each number of sources and sinks, the median time in
//! microseconds, from host to host, of up to 400 calls of `g6_set_ti`, first half and last half
//! with the nearest neighbour:
//!
//! - `block`: at a new time, after setting the sinks' particles, as with block time steps;
//! - `plain`: at a new time;
//! - `same`: at the same time;
//! - `forces`: at a new time without the nearest neighbour.
//!
//! Also the times of setting particles and of the first half in `block`, and pairs per second of
//! `same`.

mod calls;

// The calls are linked from it.
use gravitile_capi as _;

use std::ffi::c_int;
use std::time::{Duration, Instant};

use calls::*;
use gravitile::forces::TestBodies;

const EPS2: f64 = 1.0 / 65536.0;

/// Increment of time between calls.
const STEP: f64 = 1.0 / 1_048_576.0;

/// Warm-up calls, which are not measured.
const WARM_UP_CALLS: usize = 5;

const SINKS: [usize; 6] = [1, 16, 64, 256, 1024, 4096];

/// Kind of call that is measured; see the module documentation.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Block,
    Plain,
    Same,
    Forces,
}

struct Client {
    x: Vec<[f64; 3]>,
    v: Vec<[f64; 3]>,
    a2: Vec<[f64; 3]>,
    j6: Vec<[f64; 3]>,
    mass: Vec<f64>,
    time: f64,
}

impl Client {
    fn new(n: usize) -> Self {
        let bodies = TestBodies::new(n, 1);
        let of = |from: &[glam::DVec3], factor: f64| -> Vec<[f64; 3]> {
            from.iter().map(|v| (*v * factor).to_array()).collect()
        };
        Self {
            x: of(&bodies.position, 1.0),
            v: of(&bodies.velocity, 1.0),
            a2: of(&bodies.acceleration, 0.5),
            j6: of(&bodies.velocity, 1.0 / 6.0),
            mass: bodies.mass,
            time: 0.0,
        }
    }

    fn set(&self, k: usize) {
        let (zero, address) = ([0.0; 3], k as c_int);
        let (x, v, a2, j6) = (&self.x[k], &self.v[k], &self.a2[k], &self.j6[k]);
        // SAFETY: each vector has three components.
        let code = unsafe {
            g6_set_j_particle(
                0,
                address,
                address,
                self.time,
                0.0,
                self.mass[k],
                &zero,
                j6,
                a2,
                v,
                x,
            )
        };
        assert_eq!(code, 0);
    }

    /// Median times in microseconds of a call, of setting its particles and of its first half.
    fn measure(&mut self, sinks: usize, mode: Mode) -> [f64; 3] {
        let nj = self.x.len();
        let index: Vec<c_int> = (0..sinks).map(|k| (k * (nj / sinks)) as c_int).collect();
        let row = |from: &[[f64; 3]]| -> Vec<[f64; 3]> {
            index.iter().map(|&k| from[k as usize]).collect()
        };
        let (xi, vi, h2) = (row(&self.x), row(&self.v), vec![0.0; sinks]);
        let (mut acc, mut jerk) = (vec![[0.0; 3]; sinks], vec![[0.0; 3]; sinks]);
        let (mut pot, mut nearest) = (vec![0.0; sinks], vec![0; sinks]);
        let (n, m) = (sinks as c_int, nj as c_int);
        let (ids, x, v, h) = (index.as_ptr(), xi.as_ptr(), vi.as_ptr(), h2.as_ptr());
        let mut times: [Vec<f64>; 3] = Default::default();
        let mut begun = Instant::now();
        for turn in 0..400 {
            let start = Instant::now();
            // The first calls compile kernels, and learn which sinks and outputs are requested.
            if turn == WARM_UP_CALLS {
                begun = start;
            }
            if mode == Mode::Block {
                index.iter().for_each(|&k| self.set(k as usize));
            }
            let set = start.elapsed();
            if mode != Mode::Same {
                self.time += STEP;
            }
            assert_eq!(g6_set_ti(0, self.time), 0);
            let old = std::ptr::null();
            // SAFETY: the arrays have `sinks` entries.
            let first =
                unsafe { g6calc_firsthalf(0, m, n, ids, x, v, old, old, old.cast(), EPS2, h) };
            let half = start.elapsed() - set;
            let (a, j, p) = (acc.as_mut_ptr(), jerk.as_mut_ptr(), pot.as_mut_ptr());
            // SAFETY: as above.
            let last = unsafe {
                if mode == Mode::Forces {
                    g6calc_lasthalf(0, m, n, ids, x, v, EPS2, h, a, j, p)
                } else {
                    g6calc_lasthalf2(0, m, n, ids, x, v, EPS2, h, a, j, p, nearest.as_mut_ptr())
                }
            };
            assert_eq!((first, last), (0, 0));
            if turn >= WARM_UP_CALLS {
                for (all, time) in times.iter_mut().zip([start.elapsed(), set, half]) {
                    all.push(time.as_secs_f64() * 1e6);
                }
            }
            if turn >= WARM_UP_CALLS + 10 && begun.elapsed() > Duration::from_millis(400) {
                break;
            }
        }
        times.map(|mut all| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        })
    }
}

fn main() {
    // `-- SOURCES SINKS` measures one row; `cargo test --benches` runs one small case.
    let is_bench = std::env::args().any(|word| word == "--bench");
    let numbers = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let arguments: Vec<usize> = if is_bench { numbers.collect() } else { vec![1024, 64] };
    let argument_or =
        |k: usize, all: &[usize]| arguments.get(k).map_or_else(|| all.to_vec(), |n| vec![*n]);
    for sources in argument_or(0, &[16_384, 131_072, 524_288]) {
        assert_eq!(g6_open(0), 0, "see the line above");
        let mut client = Client::new(sources);
        (0..sources).for_each(|k| client.set(k));
        // Measured first: once a client has requested nearest neighbours, each later call computes
        // them too.
        let rows = argument_or(1, &SINKS);
        let forces_only: Vec<f64> =
            rows.iter().map(|sinks| client.measure(*sinks, Mode::Forces)[0]).collect();
        for (sinks, forces) in rows.into_iter().zip(forces_only) {
            let [block, set, first] = client.measure(sinks, Mode::Block);
            let [plain, ..] = client.measure(sinks, Mode::Plain);
            let [same, ..] = client.measure(sinks, Mode::Same);
            let rate = (sources * sinks) as f64 / same * 1e-3;
            println!(
                "nj {sources:6} ni {sinks:4}: block {block:6.0} us (particles {set:4.0}, first half {first:4.0}), \
                 plain {plain:6.0}, same {same:6.0} ({rate:5.1} x 10^9 pairs/s), forces {forces:6.0}"
            );
        }
        assert_eq!(g6_print_chip_status(0), 0);
        assert_eq!(g6_close(0), 0);
    }
}
