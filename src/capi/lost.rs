//! A device that is lost under a client's hands: codes and NaN, no waiting for ever, and no force that is none.

use std::ffi::c_int;
use std::ptr::{null, null_mut};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::cluster::Cluster;
use super::g6::*;
use super::world::{self, Key};
use crate::forces::{Method, Order, Precision, TestBodies};
use crate::gpu::{AdapterRequest, Gpu};
use crate::sim::{EngineKind, direct_engine};

const N: usize = 20_000;
const NI: usize = 1024;

/// What the last half left in the client's arrays.
struct Left {
    code: c_int,
    acc: Vec<[f64; 3]>,
    jerk: Vec<[f64; 3]>,
    pot: Vec<f64>,
    nearest: Vec<c_int>,
}

/// A client of one cluster, as in C.
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
        let engine = direct_engine(EngineKind::Gpu, Method::Direct, Some(gpu), request).unwrap();
        world::insert(Key::G6(id), Cluster::new(engine, Order::Jerk));
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
            // SAFETY: vectors of three numbers each.
            unsafe { g6_set_j_particle(self.id, k, k, 0.0, 0.0, m, z, z, z, v, x) }
        });
        codes.min().unwrap()
    }

    fn first_half(&self) -> c_int {
        let (index, x, v) = (self.index.as_ptr(), self.position.as_ptr(), self.velocity.as_ptr());
        let (none, n, ni) = (null(), N as c_int, NI as c_int);
        // SAFETY: arrays of at least NI entries.
        unsafe { g6calc_firsthalf(self.id, n, ni, index, x, v, none, none, none, 1e-4, null()) }
    }

    fn last_half(&self) -> Left {
        let mut left = Left {
            code: 7,
            acc: vec![[0.0; 3]; NI],
            jerk: vec![[0.0; 3]; NI],
            pot: vec![0.0; NI],
            nearest: vec![7; NI],
        };
        let (acc, jerk) = (left.acc.as_mut_ptr(), left.jerk.as_mut_ptr());
        let (pot, nearest) = (left.pot.as_mut_ptr(), left.nearest.as_mut_ptr());
        let (n, ni, none) = (N as c_int, NI as c_int, null());
        // SAFETY: arrays of NI entries.
        left.code = unsafe {
            g6calc_lasthalf2(self.id, n, ni, none, none, none, 1e-4, none, acc, jerk, pot, nearest)
        };
        left
    }

    fn close(&self) -> c_int {
        // SAFETY: no pointers.
        unsafe { g6_close(self.id) }
    }
}

impl Left {
    fn is_refused(&self) -> bool {
        let nan = |vectors: &[[f64; 3]]| vectors.iter().flatten().all(|x| x.is_nan());
        self.code == -1
            && nan(&self.acc)
            && nan(&self.jerk)
            && self.pot.iter().all(|x| x.is_nan())
            && self.nearest.iter().all(|index| *index == -1)
    }
}

/// Does `work` on a thread of its own, and fails where that does not come back.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, hear) = mpsc::channel();
    std::thread::spawn(move || tell.send(work()));
    hear.recv_timeout(Duration::from_secs(120)).expect("the call does not come back, or panicked")
}

fn open() -> Arc<Gpu> {
    let name = std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default();
    Gpu::open_blocking(&AdapterRequest::named(&name)).unwrap()
}

#[test]
fn a_device_that_is_lost_between_the_halves_leaves_codes_and_nan() {
    in_time(|| {
        let gpu = open();
        let client = Client::new(-31_337, &gpu);
        assert_eq!((client.set_particles(), client.first_half()), (0, 0));
        let right = client.last_half();
        assert_eq!(right.code, 0);
        assert!(right.pot.iter().all(|pot| *pot < 0.0), "{:?}", right.pot);

        assert_eq!(client.first_half(), 0);
        gpu.device.destroy();
        let left = client.last_half();
        // What was ready before may be given, if it is right.
        let same = left.code == 0 && left.acc == right.acc && left.nearest == right.nearest;
        assert!(left.is_refused() || same, "{} {:?}", left.code, &left.acc[..3]);

        // From then on nothing is computed, with old particles and with new ones.
        for changed in [false, true] {
            if changed {
                client.set_particles();
            }
            let begun = client.first_half();
            assert!(begun == 0 || begun == -1);
            assert!(client.last_half().is_refused());
        }
        // SAFETY: NULL is what these may be given.
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
fn a_device_that_is_lost_before_the_first_half_is_noticed_and_another_one_serves() {
    in_time(|| {
        let gpu = open();
        let client = Client::new(-31_338, &gpu);
        assert_eq!(client.set_particles(), 0);
        gpu.device.destroy();
        let begun = client.first_half();
        assert!(begun == 0 || begun == -1);
        assert!(client.last_half().is_refused());
        assert_eq!(client.close(), 0);

        let client = Client::new(-31_338, &open());
        assert_eq!((client.set_particles(), client.first_half()), (0, 0));
        let left = client.last_half();
        assert!(left.code == 0 && left.pot.iter().all(|pot| *pot < 0.0));
        assert_eq!(client.close(), 0);
    });
}
