//! All that is open in this process: clusters by their numbers, and the device that they share.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::board::Board;
use super::cluster::Cluster;
use super::fork;
use super::guard::{DONE, say};
use super::inbox::Inbox;
use super::memory::Particle;
use super::options::Options;
use crate::error::{Error, Result};
use crate::forces::{Order, Precision};
use crate::gpu::{AdapterRequest, DeviceClass, DeviceCount, Gpu, adapters, blocking};
use crate::sim::EngineKind;

/// A cluster's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// GRAPE-6, with the number that the client gives.
    G6(c_int),
    /// GRAPE-5, with the number of a board; 0 where a call names none.
    G5(c_int),
    /// The sixth order.
    Sixth,
    /// An object of the class `sapporo`, with its number and its order.
    Object(c_int, Order),
}

impl Key {
    fn order(self) -> Order {
        match self {
            Self::G6(_) => Order::Jerk,
            Self::G5(_) => Order::Acceleration,
            Self::Sixth => Order::Snap,
            Self::Object(_, order) => order,
        }
    }

    /// For messages: what is not open, and what opens it.
    fn closed(self) -> Error {
        Error::Outside(match self {
            Self::G6(id) => format!("cluster {id} is not open: call g6_open({id}) before"),
            Self::G5(_) => "GRAPE-5 is not open: call g5_open() before".to_owned(),
            Self::Sixth => "the sixth order is not open: call initialize() before".to_owned(),
            Self::Object(..) => "this object is not open: call its open() before".to_owned(),
        })
    }
}

/// All that is open in this process: clusters by their numbers, and the device that they share.
pub struct World {
    clusters: BTreeMap<Key, &'static Slot>,
    /// Of clusters that were closed.
    free: Vec<&'static Slot>,
    devices: Option<(AdapterRequest, u32, Vec<Arc<Gpu>>)>,
    /// Whether an adapter exists that is not software; `None` before that was needed, since drivers take 0.1 s to open.
    has_gpu: Option<bool>,
    /// Whether lists of neighbours are sorted by index, for all clusters.
    pub sorts_lists: bool,
    /// Whether the user knows that calls name another cluster than was opened.
    told_of_numbers: bool,
}

impl World {
    /// The cluster that a client means: the one of that number, or the only one there is. Some programs open a
    /// cluster by one number and call it by another (ph4: its device and its rank), and other libraries ignore both.
    fn meant(&mut self, key: Key) -> Key {
        let Key::G6(asked) = key else { return key };
        if self.clusters.contains_key(&key) {
            return key;
        }
        let mut open = self.clusters.keys().filter(|key| matches!(key, Key::G6(_)));
        let (Some(&Key::G6(only)), None) = (open.next(), open.next()) else { return key };
        if !self.told_of_numbers {
            self.told_of_numbers = true;
            say(
                "g6",
                &format!(
                    "cluster {asked} is not open: calls for it go to cluster {only}, the only one that is"
                ),
            );
        }
        Key::G6(only)
    }

    /// Puts what has been opened into a slot.
    fn insert(&mut self, key: Key, mut open: Open) {
        let slot: &'static Slot = self.free.pop().unwrap_or_else(|| Box::leak(Box::default()));
        if let Open::Cluster(cluster) = &mut open {
            cluster.memory.listen_to(&slot.inbox);
        }
        *lock(&slot.open) = Some(open);
        self.clusters.insert(key, slot);
        GENERATION.fetch_add(1, Ordering::AcqRel);
    }

    /// Empties the slot of what is open, after the call in progress on it.
    fn remove(&mut self, key: Key) -> Result<()> {
        let slot = self.clusters.remove(&key).ok_or_else(|| key.closed())?;
        GENERATION.fetch_add(1, Ordering::AcqRel);
        *lock(&slot.open) = None;
        slot.inbox.close();
        self.free.push(slot);
        if self.clusters.is_empty() {
            self.devices = None;
            fork::disown();
        }
        Ok(())
    }
}

/// What a key opens: a board for GRAPE-5's, else a cluster.
enum Open {
    Board(Box<Board>),
    Cluster(Box<Cluster>),
}

/// Where a cluster is, or was. Slots stay, so that a thread may look into one that another thread empties.
#[derive(Default)]
struct Slot {
    open: Mutex<Option<Open>>,
    /// For those who set particles: they do not wait for calls on the cluster.
    inbox: Inbox,
}

/// The slot that a thread's last call meant.
#[derive(Clone, Copy)]
struct Known {
    asked: Key,
    slot: &'static Slot,
    generation: u64,
}

thread_local! {
    static KNOWN: Cell<Option<Known>> = const { Cell::new(None) };
}

/// Grows with every cluster that is opened or closed: what was known before may be another's.
static GENERATION: AtomicU64 = AtomicU64::new(0);

static WORLD: Mutex<World> = Mutex::new(World {
    clusters: BTreeMap::new(),
    free: Vec::new(),
    devices: None,
    has_gpu: None,
    sorts_lists: true,
    told_of_numbers: false,
});

/// Does `work` with the world. Calls from several threads take turns; whoever holds a cluster does not ask for it.
///
/// Errors: in a process that was forked from one with clusters.
pub fn with<T>(work: impl FnOnce(&mut World) -> Result<T>) -> Result<T> {
    fork::check()?;
    work(&mut lock(&WORLD))
}

/// A panic is no reason never to answer again: each call begins with checks of its own.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Does `work` with one open cluster. Calls on one cluster from several threads take turns; others do not wait for them.
pub fn with_cluster<T>(key: Key, work: impl FnOnce(&mut Cluster) -> Result<T>) -> Result<T> {
    with_open(key, |open| match open {
        Open::Cluster(cluster) => work(cluster),
        Open::Board(_) => Err(key.closed()),
    })
}

/// The same with a board of GRAPE-5. The first call that names it opens it, if board 0 is open.
pub fn with_board<T>(number: c_int, work: impl FnOnce(&mut Board) -> Result<T>) -> Result<T> {
    let key = Key::G5(number);
    if number != 0 && locate(key).is_err() {
        open(key)?;
    }
    with_open(key, |open| match open {
        Open::Board(board) => work(board),
        Open::Cluster(_) => Err(key.closed()),
    })
}

/// Does not wait for calls in progress.
///
/// Errors: it is not open; those of [`with`].
pub fn check_open(key: Key) -> Result<()> {
    locate(key).map(|_| ())
}

/// The slot of what is open. Cached per thread: particles come one by one, by the hundred thousand.
fn locate(key: Key) -> Result<Known> {
    fork::check_noted()?;
    known(key).map_or_else(|| find(key), Ok)
}

fn with_open<T>(key: Key, work: impl FnOnce(&mut Open) -> Result<T>) -> Result<T> {
    loop {
        let known = locate(key)?;
        let mut slot = lock(&known.slot.open);
        // Unless another thread has just closed it.
        if known.generation == GENERATION.load(Ordering::Acquire)
            && let Some(open) = &mut *slot
        {
            return work(open);
        }
    }
}

/// What this thread's last call found, if it was for the same key and nothing was opened or closed since.
fn known(key: Key) -> Option<Known> {
    let generation = GENERATION.load(Ordering::Acquire);
    KNOWN.get().filter(|known| known.asked == key && known.generation == generation)
}

/// Puts a particle at an address of an open cluster, in the place of what was there.
///
/// Errors: those of [`super::memory::Memory::set`] and of [`with_cluster`].
pub fn set(key: Key, address: c_int, particle: Particle) -> Result<c_int> {
    if post(key, address, &particle) {
        return Ok(DONE);
    }
    with_cluster(key, |cluster| cluster.memory.set(address, particle).map(|()| DONE))
}

/// [`set`], if nothing is in the way. False: nothing is done.
#[inline(always)]
pub fn post(key: Key, address: c_int, particle: &Particle) -> bool {
    let Some(known) = KNOWN.get().filter(|known| known.asked == key) else { return false };
    // Whoever closes a cluster says so before the inbox is emptied.
    let is_open = || known.generation == GENERATION.load(Ordering::Acquire);
    fork::check_noted().is_ok() && known.slot.inbox.post(address, particle, is_open)
}

#[cold]
fn find(key: Key) -> Result<Known> {
    with(|world| {
        let meant = world.meant(key);
        let slot = *world.clusters.get(&meant).ok_or_else(|| key.closed())?;
        let known = Known { asked: key, slot, generation: GENERATION.load(Ordering::Acquire) };
        KNOWN.set(Some(known));
        Ok(known)
    })
}

/// Opens a cluster with the user's options; one that is open stays as it is.
pub fn open(key: Key) -> Result<c_int> {
    open_in(key, None, 1)
}

/// [`open`] on several devices, where the user asks for no number of them.
pub fn open_on(key: Key, devices: c_int) -> Result<c_int> {
    open_in(key, None, devices.clamp(1, MOST_DEVICES) as u32)
}

/// Devices that a program may ask for.
const MOST_DEVICES: c_int = 64;

/// [`open`] in a precision and on so many devices as the program asks for, where the user asks for none.
pub fn open_in(key: Key, precision: Option<Precision>, devices: u32) -> Result<c_int> {
    with(|world| {
        if world.clusters.contains_key(&key) {
            return Ok(DONE);
        }
        // Under the same lock as g5_close, after which no board stays open.
        if matches!(key, Key::G5(1..)) && !world.clusters.contains_key(&Key::G5(0)) {
            return Err(key.closed());
        }
        fork::own();
        let mut options = Options::of_user()?;
        options.requested = precision;
        let wanted = options.devices.unwrap_or(devices);
        let is_asked_for = options.devices.is_some();
        let (shared, has_gpu) = (&mut world.devices, &mut world.has_gpu);
        let is_automatic = options.engine == EngineKind::Auto && !options.adapter.is_certain();
        let engine = options.engine(key.order(), &mut |request| {
            if is_automatic && !is_there_a_gpu(has_gpu)? {
                return Err(Error::Outside("all adapters are software".to_owned()));
            }
            if let Some((known, count, devices)) = shared.as_ref()
                && (known, *count) == (request, wanted)
            {
                return Ok(devices.clone());
            }
            let devices = open_devices(request, wanted, is_asked_for)?;
            *shared = Some((request.clone(), wanted, devices.clone()));
            Ok(devices)
        });
        // Devices that were looked at and not taken.
        shared.take_if(|(_, _, devices)| devices.iter().all(|gpu| Arc::strong_count(gpu) == 1));
        let engine = engine?;
        let open = match key {
            Key::G5(_) => Open::Board(Box::new(Board::new(engine))),
            _ => Open::Cluster(Box::new(Cluster::new(engine, key.order()))),
        };
        world.insert(key, open);
        Ok(DONE)
    })
}

fn is_there_a_gpu(known: &mut Option<bool>) -> Result<bool> {
    if let Some(known) = *known {
        return Ok(known);
    }
    let found = blocking(async { Ok(adapters().await) })?;
    Ok(*known.insert(found.iter().any(|adapter| adapter.class != DeviceClass::Software)))
}

/// The first device that is asked for, and those beside it: adapters that are named are all meant. A program may ask for
/// more than there are, and gets those, which is said.
fn open_devices(
    request: &AdapterRequest,
    wanted: u32,
    is_asked_for: bool,
) -> Result<Vec<Arc<Gpu>>> {
    blocking(async {
        let first = Gpu::open_first(request).await?;
        let count = match request.names.len() {
            0 | 1 => DeviceCount::of_names(wanted as usize),
            named => DeviceCount::of_names(named),
        };
        let beside = match first.open_beside(request, count).await {
            Err(Error::Value { .. }) if !is_asked_for => {
                let beside = first.open_beside(request, DeviceCount::Auto).await?;
                if first.adapter.class != DeviceClass::Software {
                    let there = 1 + beside.len();
                    let words = format!(
                        "{wanted} devices are asked for: there are {there} of one kind, which compute"
                    );
                    say("g6_open_special", &words);
                }
                beside
            }
            Err(error @ Error::Value { .. }) => {
                return Err(Error::Outside(format!("GRAVITILE_DEVICES: {error}")));
            }
            beside => beside?,
        };
        Ok([first].into_iter().chain(beside).collect())
    })
}

/// A cluster that a test made.
#[cfg(test)]
pub fn insert(key: Key, cluster: Cluster) {
    insert_open(key, Open::Cluster(Box::new(cluster)));
}

/// A board that a test made.
#[cfg(test)]
pub fn insert_board(key: Key, board: Board) {
    insert_open(key, Open::Board(Box::new(board)));
}

#[cfg(test)]
fn insert_open(key: Key, open: Open) {
    let outcome = with(|world| {
        assert!(!world.clusters.contains_key(&key), "{key:?} is open already");
        world.insert(key, open);
        Ok(())
    });
    outcome.unwrap();
}

/// Closes all boards of GRAPE-5; with the last cluster or board the device.
///
/// Errors: GRAPE-5 is not open.
pub fn close_boards() -> Result<c_int> {
    with(|world| {
        world.remove(Key::G5(0))?;
        let is_board = |key: &Key| matches!(key, Key::G5(_));
        while let Some(board) = world.clusters.keys().copied().find(is_board) {
            world.remove(board)?;
        }
        Ok(DONE)
    })
}

/// Closes a cluster; with the last one the device.
pub fn close(key: Key) -> Result<c_int> {
    with(|world| {
        let key = world.meant(key);
        world.remove(key)?;
        Ok(DONE)
    })
}
