//! All that is open in this process: clusters by their numbers, and the device that they share.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

use super::cluster::Cluster;
use super::guard::DONE;
use super::options::Options;
use crate::error::{Error, Result};
use crate::forces::Order;
use crate::gpu::{AdapterRequest, Gpu};

/// A cluster's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// GRAPE-6, with the number that the client gives.
    G6(c_int),
    /// GRAPE-5.
    G5,
    /// The sixth order.
    Sixth,
}

impl Key {
    fn order(self) -> Order {
        match self {
            Self::G6(_) => Order::Jerk,
            Self::G5 => Order::Acceleration,
            Self::Sixth => Order::Snap,
        }
    }

    /// For messages: what is not open, and what opens it.
    fn closed(self) -> Error {
        Error::Outside(match self {
            Self::G6(id) => format!("cluster {id} is not open: call g6_open({id}) before"),
            Self::G5 => "GRAPE-5 is not open: call g5_open() before".to_owned(),
            Self::Sixth => "the sixth order is not open: call initialize() before".to_owned(),
        })
    }
}

/// All that is open in this process: clusters by their numbers, and the device that they share.
pub struct World {
    clusters: BTreeMap<Key, Cluster>,
    gpu: Option<(AdapterRequest, Arc<Gpu>)>,
    /// Whether lists of neighbours are sorted by index, for all clusters.
    pub sorts_lists: bool,
}

static WORLD: Mutex<World> =
    Mutex::new(World { clusters: BTreeMap::new(), gpu: None, sorts_lists: true });

/// Does `work` with the world. Calls from several threads take turns.
pub fn with<T>(work: impl FnOnce(&mut World) -> Result<T>) -> Result<T> {
    // A panic is no reason never to answer again: each call begins with checks of its own.
    let mut world = WORLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    work(&mut world)
}

/// Does `work` with one open cluster.
pub fn with_cluster<T>(key: Key, work: impl FnOnce(&mut Cluster) -> Result<T>) -> Result<T> {
    with(|world| world.clusters.get_mut(&key).ok_or_else(|| key.closed()).and_then(work))
}

/// Opens a cluster with the user's options; one that is open stays as it is.
pub fn open(key: Key) -> Result<c_int> {
    with(|world| {
        if world.clusters.contains_key(&key) {
            return Ok(DONE);
        }
        let options = Options::of_user()?;
        let shared = &mut world.gpu;
        let engine = options.engine(&mut |request| {
            if let Some((known, gpu)) = shared.as_ref()
                && known == request
            {
                return Ok(Arc::clone(gpu));
            }
            let gpu = Gpu::open_blocking(request)?;
            *shared = Some((request.clone(), Arc::clone(&gpu)));
            Ok(gpu)
        });
        // A device that was looked at and not taken.
        shared.take_if(|(_, gpu)| Arc::strong_count(gpu) == 1);
        let engine = engine?;
        world.clusters.insert(key, Cluster::new(engine, key.order()));
        Ok(DONE)
    })
}

/// Closes a cluster; with the last one the device.
pub fn close(key: Key) -> Result<c_int> {
    with(|world| {
        world.clusters.remove(&key).ok_or_else(|| key.closed())?;
        if world.clusters.is_empty() {
            world.gpu = None;
        }
        Ok(DONE)
    })
}
