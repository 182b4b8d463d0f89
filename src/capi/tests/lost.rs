//! Tests of device loss during a call: it returns an error code and NaN results and never blocks.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::cluster::Cluster;
use crate::g6::*;
use crate::registry::{self, ClusterKey, Open};
use gravitile::forces::{Method, Order, Precision, TestBodies};
use gravitile::gpu::{AdapterRequest, Gpu};
use gravitile::sim::{EngineKind, direct_engine};

const N: usize = 20_000;
const NI: usize = 1024;

/// Return code and output arrays of the last half.
struct LastHalf {
    code: c_int,
    acc: Vec<[f64; 3]>,
    jerk: Vec<[f64; 3]>,
    pot: Vec<f64>,
    nearest: Vec<c_int>,
}

/// A client of one cluster that uses the C functions.
struct Client {
    id: c_int,
    position: Vec<[f64; 3]>,
    velocity: Vec<[f64; 3]>,
    mass: Vec<f64>,
    index: Vec<c_int>,
}

impl Client {
    fn new(id: c_int, gpu: &Arc<Gpu>) -> Self {
        let request = Some(Precision::DoubleSingle);
        let engine =
            direct_engine(EngineKind::Gpu, Method::Direct, Some(gpu), None, request).unwrap();
        let cluster = Cluster::new(engine, Order::Jerk);
        registry::insert(ClusterKey::G6(id), Open::Cluster(Box::new(cluster)));
        let bodies = TestBodies::new(N, 9);
        let arrays = |from: &[glam::DVec3]| from.iter().map(|x| x.to_array()).collect();
        Self {
            id,
            position: arrays(&bodies.position),
            velocity: arrays(&bodies.velocity),
            mass: bodies.mass.clone(),
            index: (0..N as c_int).collect(),
        }
    }

    fn set_particles(&self) -> c_int {
        let zero = [[0.0; 3]];
        let codes = (0..N).map(|k| {
            let (x, v) = (self.position[k..].as_ptr(), self.velocity[k..].as_ptr());
            let (k, m, z) = (k as c_int, self.mass[k], zero.as_ptr());
            // SAFETY: all pointers are to at least one vector of three numbers.
            unsafe { g6_set_j_particle(self.id, k, k, 0.0, 0.0, m, z, z, z, v, x) }
        });
        codes.min().unwrap()
    }

    fn first_half(&self) -> c_int {
        let (index, x, v) = (self.index.as_ptr(), self.position.as_ptr(), self.velocity.as_ptr());
        let (none, n, ni) = (null(), N as c_int, NI as c_int);
        // SAFETY: NULL or arrays of at least NI entries.
        unsafe { g6calc_firsthalf(self.id, n, ni, index, x, v, none, none, none, 1e-4, null()) }
    }

    fn last_half(&self) -> LastHalf {
        let mut results = LastHalf {
            code: 7,
            acc: vec![[0.0; 3]; NI],
            jerk: vec![[0.0; 3]; NI],
            pot: vec![0.0; NI],
            nearest: vec![7; NI],
        };
        let (acc, jerk) = (results.acc.as_mut_ptr(), results.jerk.as_mut_ptr());
        let (pot, nearest) = (results.pot.as_mut_ptr(), results.nearest.as_mut_ptr());
        let (n, ni, none) = (N as c_int, NI as c_int, null());
        // SAFETY: NULL or arrays of NI entries.
        results.code = unsafe {
            g6calc_lasthalf2(self.id, n, ni, none, none, none, 1e-4, none, acc, jerk, pot, nearest)
        };
        results
    }

    fn close(&self) -> c_int {
        // SAFETY: takes no pointers.
        unsafe { g6_close(self.id) }
    }
}

impl LastHalf {
    fn is_failure(&self) -> bool {
        let nan = |vectors: &[[f64; 3]]| vectors.iter().flatten().all(|x| x.is_nan());
        self.code == -1
            && nan(&self.acc)
            && nan(&self.jerk)
            && self.pot.iter().all(|x| x.is_nan())
            && self.nearest.iter().all(|index| *index == -1)
    }
}

/// Runs `work` on its own thread and fails if it does not return in time.
fn with_timeout<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver
        .recv_timeout(Duration::from_secs(120))
        .expect("the call does not come back, or panicked")
}

fn open() -> Arc<Gpu> {
    let name = std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default();
    Gpu::open_blocking(&AdapterRequest::named(&name)).unwrap()
}

#[test]
fn device_lost_between_halves_gives_error_and_nan() {
    with_timeout(|| {
        let gpu = open();
        let client = Client::new(-31_337, &gpu);
        assert_eq!((client.set_particles(), client.first_half()), (0, 0));
        let right = client.last_half();
        assert_eq!(right.code, 0);
        assert!(right.pot.iter().all(|pot| *pot < 0.0), "{:?}", right.pot);

        assert_eq!(client.first_half(), 0);
        gpu.device.destroy();
        let results = client.last_half();
        // Results that were computed before the loss may be returned, if they are correct.
        let same =
            results.code == 0 && results.acc == right.acc && results.nearest == right.nearest;
        assert!(results.is_failure() || same, "{} {:?}", results.code, &results.acc[..3]);

        // Later calls fail, with old particles and with new ones.
        for changed in [false, true] {
            if changed {
                client.set_particles();
            }
            let begun = client.first_half();
            assert!(begun == 0 || begun == -1);
            assert!(client.last_half().is_failure());
        }
        // SAFETY: these functions accept NULL.
        let lists = unsafe {
            (
                g6_read_neighbour_list(client.id),
                g6_get_neighbour_list(client.id, 0, 1, null_mut(), null_mut()),
            )
        };
        assert_eq!(lists, (-1, -1));
        assert_eq!(client.close(), 0);
    });
}

#[test]
fn device_lost_before_first_half_fails_and_another_device_works() {
    with_timeout(|| {
        let gpu = open();
        let client = Client::new(-31_338, &gpu);
        assert_eq!(client.set_particles(), 0);
        gpu.device.destroy();
        let begun = client.first_half();
        assert!(begun == 0 || begun == -1);
        assert!(client.last_half().is_failure());
        assert_eq!(client.close(), 0);

        let client = Client::new(-31_338, &open());
        assert_eq!((client.set_particles(), client.first_half()), (0, 0));
        let results = client.last_half();
        assert!(results.code == 0 && results.pot.iter().all(|pot| *pot < 0.0));
        assert_eq!(client.close(), 0);
    });
}
