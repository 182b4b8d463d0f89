//! Registry of the open clusters and boards of this process, and of the devices that they share.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::board::Board;
use super::cluster::Cluster;
use super::guard::{self, DONE, report};
use super::options::Options;
use super::queue::{Particle, ParticleQueue};
use gravitile::error::{Error, Result};
use gravitile::forces::{Order, Precision};
use gravitile::gpu::{AdapterRequest, DeviceClass, DeviceCount, Gpu, adapters, blocking};
use gravitile::sim::EngineKind;

/// Key of a cluster or board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterKey {
    /// GRAPE-6, with the client's cluster number.
    G6(c_int),
    /// GRAPE-5, with the board number, 0 for functions that take none.
    G5(c_int),
    /// The sixth-order interface.
    Sixth,
    /// An object of the class `sapporo`, with its number and its order.
    Object(c_int, Order),
}

impl ClusterKey {
    fn order(self) -> Order {
        match self {
            Self::G6(_) => Order::Jerk,
            Self::G5(_) => Order::Acceleration,
            Self::Sixth => Order::Snap,
            Self::Object(_, order) => order,
        }
    }

    /// The error if it is not open; names the function that opens it.
    fn closed(self) -> Error {
        Error::Outside(match self {
            Self::G6(id) => format!("cluster {id} is not open: call g6_open({id}) before"),
            Self::G5(_) => "GRAPE-5 is not open: call g5_open() before".to_owned(),
            Self::Sixth => "the sixth order is not open: call initialize() before".to_owned(),
            Self::Object(..) => "this object is not open: call its open() before".to_owned(),
        })
    }
}

/// The open clusters and boards of this process, and the devices that they share.
pub struct Registry {
    clusters: BTreeMap<ClusterKey, &'static Slot>,
    /// Slots of closed clusters, for reuse.
    free: Vec<&'static Slot>,
    devices: Option<(AdapterRequest, u32, Vec<Arc<Gpu>>)>,
    /// Whether a hardware adapter exists; `None` until needed, since opening drivers takes 0.1 s.
    has_gpu: Option<bool>,
    /// Whether neighbour lists are sorted by index, for all clusters.
    pub sorts_lists: bool,
    /// Whether the user was warned that calls use another cluster number than was opened.
    warned_of_number: bool,
}

impl Registry {
    /// Resolves a client's key: the cluster of that number, or the only open one. Some programs
    /// open a cluster by one number and call it by another (ph4: its device and its rank), and
    /// other libraries ignore both.
    fn resolve(&mut self, key: ClusterKey) -> ClusterKey {
        let ClusterKey::G6(requested) = key else { return key };
        if self.clusters.contains_key(&key) {
            return key;
        }
        let mut open = self.clusters.keys().filter(|key| matches!(key, ClusterKey::G6(_)));
        let (Some(&ClusterKey::G6(only)), None) = (open.next(), open.next()) else { return key };
        if !self.warned_of_number {
            self.warned_of_number = true;
            report(
                "g6",
                &format!(
                    "cluster {requested} is not open: calls for it go to cluster {only}, the only one that is"
                ),
            );
        }
        ClusterKey::G6(only)
    }

    /// Registers an open cluster or board in a free slot.
    fn insert(&mut self, key: ClusterKey, mut open: Open) {
        let slot: &'static Slot = self.free.pop().unwrap_or_else(|| Box::leak(Box::default()));
        if let Open::Cluster(cluster) = &mut open {
            cluster.memory.attach_queue(&slot.queue);
        }
        *lock(&slot.open) = Some(open);
        self.clusters.insert(key, slot);
        GENERATION.fetch_add(1, Ordering::AcqRel);
    }

    /// Empties a slot, after waiting for the call in progress on it.
    fn remove(&mut self, key: ClusterKey) -> Result<()> {
        let slot = self.clusters.remove(&key).ok_or_else(|| key.closed())?;
        GENERATION.fetch_add(1, Ordering::AcqRel);
        // This closes the queue as well.
        *lock(&slot.open) = None;
        self.free.push(slot);
        if self.clusters.is_empty() {
            self.devices = None;
            guard::clear_owner();
        }
        Ok(())
    }
}

/// A board for GRAPE-5 keys, otherwise a cluster.
pub enum Open {
    Board(Box<Board>),
    Cluster(Box<Cluster>),
}

/// Holds an open cluster or board. Slots are never freed, so that a thread may access one that
/// another thread empties.
#[derive(Default)]
struct Slot {
    open: Mutex<Option<Open>>,
    /// Particles set by clients, without waiting for calls on the cluster.
    queue: ParticleQueue,
}

/// The slot of a thread's last call.
#[derive(Clone, Copy)]
struct CachedSlot {
    requested: ClusterKey,
    slot: &'static Slot,
    generation: u64,
}

thread_local! {
    static CACHED_SLOT: Cell<Option<CachedSlot>> = const { Cell::new(None) };
}

/// Incremented whenever a cluster is opened or closed, which invalidates cached slots.
static GENERATION: AtomicU64 = AtomicU64::new(0);

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    clusters: BTreeMap::new(),
    free: Vec::new(),
    devices: None,
    has_gpu: None,
    sorts_lists: true,
    warned_of_number: false,
});

/// Runs `work` with the registry locked. Must not be called with a cluster's lock held.
///
/// # Errors
/// The process was forked from one with open clusters.
pub fn with<T>(work: impl FnOnce(&mut Registry) -> Result<T>) -> Result<T> {
    guard::check()?;
    work(&mut lock(&REGISTRY))
}

/// Ignores poisoning: each call checks its own preconditions, so the library works after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs `work` on an open cluster. Calls on the same cluster exclude each other; other clusters are
/// not blocked.
pub fn with_cluster<T>(key: ClusterKey, work: impl FnOnce(&mut Cluster) -> Result<T>) -> Result<T> {
    with_open(key, |open| match open {
        Open::Cluster(cluster) => work(cluster),
        Open::Board(_) => Err(key.closed()),
    })
}

/// Runs `work` on a GRAPE-5 board. The first call with a board number opens it, if board 0 is open.
pub fn with_board<T>(number: c_int, work: impl FnOnce(&mut Board) -> Result<T>) -> Result<T> {
    let key = ClusterKey::G5(number);
    if number != 0 && locate(key).is_err() {
        open(key)?;
    }
    with_open(key, |open| match open {
        Open::Board(board) => work(board),
        Open::Cluster(_) => Err(key.closed()),
    })
}

/// Checks that `key` is open, without waiting for calls in progress.
///
/// # Errors
/// It is not open; those of [`with`].
pub fn check_open(key: ClusterKey) -> Result<()> {
    locate(key).map(|_| ())
}

/// The slot of `key`. Cached per thread, since particles are set one by one, by the hundred
/// thousand.
fn locate(key: ClusterKey) -> Result<CachedSlot> {
    guard::check_flag()?;
    cached(key).map_or_else(|| find(key), Ok)
}

fn with_open<T>(key: ClusterKey, work: impl FnOnce(&mut Open) -> Result<T>) -> Result<T> {
    loop {
        let cached = locate(key)?;
        let mut slot = lock(&cached.slot.open);
        // Retries if another thread has just closed it.
        if cached.generation == GENERATION.load(Ordering::Acquire)
            && let Some(open) = &mut *slot
        {
            return work(open);
        }
    }
}

/// The slot cached by this thread's last call, if it was for the same key and nothing was opened or
/// closed since.
fn cached(key: ClusterKey) -> Option<CachedSlot> {
    let generation = GENERATION.load(Ordering::Acquire);
    CACHED_SLOT.get().filter(|cached| cached.requested == key && cached.generation == generation)
}

/// Writes a particle to an address of an open cluster, replacing the old one.
///
/// # Errors
/// Those of [`super::memory::Memory::set`] and of [`with_cluster`].
pub fn set(key: ClusterKey, address: c_int, particle: Particle) -> Result<c_int> {
    if try_enqueue(key, address, &particle) {
        return Ok(DONE);
    }
    with_cluster(key, |cluster| cluster.memory.set(address, &particle).map(|()| DONE))
}

/// Fast path of [`set`] through the queue. Returns false if nothing was done.
#[inline(always)]
pub fn try_enqueue(key: ClusterKey, address: c_int, particle: &Particle) -> bool {
    let Some(cached) = CACHED_SLOT.get().filter(|cached| cached.requested == key) else {
        return false;
    };
    // Closing a cluster increments the generation before it empties the queue.
    let is_open = || cached.generation == GENERATION.load(Ordering::Acquire);
    guard::check_flag().is_ok() && cached.slot.queue.enqueue(address, particle, is_open)
}

#[cold]
fn find(key: ClusterKey) -> Result<CachedSlot> {
    with(|registry| {
        let resolved = registry.resolve(key);
        let slot = *registry.clusters.get(&resolved).ok_or_else(|| key.closed())?;
        let cached =
            CachedSlot { requested: key, slot, generation: GENERATION.load(Ordering::Acquire) };
        CACHED_SLOT.set(Some(cached));
        Ok(cached)
    })
}

/// Opens a cluster with the user's options; no effect if it is open.
pub fn open(key: ClusterKey) -> Result<c_int> {
    open_with(key, None, 1)
}

/// Maximum number of devices that a program may request.
const MAX_DEVICES: c_int = 64;

/// [`open`] with the precision and the number of devices that the program requests, unless the user
/// chose others.
pub fn open_with(key: ClusterKey, precision: Option<Precision>, devices: c_int) -> Result<c_int> {
    let devices = devices.clamp(1, MAX_DEVICES) as u32;
    with(|registry| {
        if registry.clusters.contains_key(&key) {
            return Ok(DONE);
        }
        // Checked under the same lock as g5_close, after which no board stays open.
        if matches!(key, ClusterKey::G5(1..)) && !registry.clusters.contains_key(&ClusterKey::G5(0))
        {
            return Err(key.closed());
        }
        guard::set_owner();
        let mut options = Options::of_user()?;
        options.requested = precision;
        let requested = options.devices.unwrap_or(devices);
        let is_user_choice = options.devices.is_some();
        let (shared, has_gpu) = (&mut registry.devices, &mut registry.has_gpu);
        let is_automatic = options.engine == EngineKind::Auto && !options.adapter.is_certain();
        let engine = options.engine(key.order(), &mut |request| {
            if is_automatic && !has_hardware_gpu(has_gpu)? {
                return Err(Error::Outside("all adapters are software".to_owned()));
            }
            if let Some((cached, count, devices)) = shared.as_ref()
                && (cached, *count) == (request, requested)
            {
                return Ok(devices.clone());
            }
            let devices = open_devices(request, requested, is_user_choice)?;
            *shared = Some((request.clone(), requested, devices.clone()));
            Ok(devices)
        });
        // Drops devices that were opened but are not used.
        shared.take_if(|(_, _, devices)| devices.iter().all(|gpu| Arc::strong_count(gpu) == 1));
        let engine = engine?;
        let open = match key {
            ClusterKey::G5(_) => Open::Board(Box::new(Board::new(engine))),
            _ => Open::Cluster(Box::new(Cluster::new(engine, key.order()))),
        };
        registry.insert(key, open);
        Ok(DONE)
    })
}

fn has_hardware_gpu(cached: &mut Option<bool>) -> Result<bool> {
    if let Some(cached) = *cached {
        return Ok(cached);
    }
    let found = blocking(async { Ok(adapters().await) })?;
    Ok(*cached.insert(found.iter().any(|adapter| adapter.class != DeviceClass::Software)))
}

/// Opens the first requested device and the others of its kind: all adapters if several are named.
/// If a program requests more than exist, it gets those that exist, which is reported.
fn open_devices(
    request: &AdapterRequest,
    requested: u32,
    is_user_choice: bool,
) -> Result<Vec<Arc<Gpu>>> {
    blocking(async {
        let first = Gpu::open_first(request).await?;
        let count = match request.names.len() {
            0 | 1 => DeviceCount::of_names(requested as usize),
            named => DeviceCount::of_names(named),
        };
        let others = match first.open_others(request, count).await {
            Err(Error::Value { .. }) if !is_user_choice => {
                let others = first.open_others(request, DeviceCount::Auto).await?;
                if first.adapter.class != DeviceClass::Software {
                    let available = 1 + others.len();
                    let text = format!(
                        "{requested} devices are requested, but there are {available} of one kind, which compute"
                    );
                    report("g6_open_special", &text);
                }
                others
            }
            Err(error @ Error::Value { .. }) => {
                return Err(Error::Outside(format!("GRAVITILE_DEVICES: {error}")));
            }
            others => others?,
        };
        Ok([first].into_iter().chain(others).collect())
    })
}

/// Registers what a test has made.
#[cfg(test)]
pub fn insert(key: ClusterKey, open: Open) {
    let outcome = with(|registry| {
        assert!(!registry.clusters.contains_key(&key), "{key:?} is open already");
        registry.insert(key, open);
        Ok(())
    });
    outcome.unwrap();
}

/// Closes all GRAPE-5 boards; the devices too if nothing else is open.
///
/// # Errors
/// GRAPE-5 is not open.
pub fn close_boards() -> Result<c_int> {
    with(|registry| {
        registry.remove(ClusterKey::G5(0))?;
        let is_board = |key: &ClusterKey| matches!(key, ClusterKey::G5(_));
        while let Some(board) = registry.clusters.keys().copied().find(is_board) {
            registry.remove(board)?;
        }
        Ok(DONE)
    })
}

/// Closes a cluster; the devices too if it was the last one.
pub fn close(key: ClusterKey) -> Result<c_int> {
    with(|registry| {
        let key = registry.resolve(key);
        registry.remove(key)?;
        Ok(DONE)
    })
}
