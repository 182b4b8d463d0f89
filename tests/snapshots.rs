//! Snapshot files: round trips, what is lost and said, damaged files, and the file system.

#[path = "snapshots/columns.rs"]
mod columns;
#[path = "snapshots/damage.rs"]
mod damage;
#[path = "snapshots/files.rs"]
mod files;
#[path = "snapshots/foreign.rs"]
mod foreign;
#[path = "common/kinds.rs"]
mod kinds;
#[path = "snapshots/losses.rs"]
mod losses;
#[path = "snapshots/parts.rs"]
mod parts;
#[path = "snapshots/round_trips.rs"]
mod round_trips;
#[path = "snapshots/tables.rs"]
mod tables;
#[path = "snapshots/units.rs"]
mod units;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use gravitile::bodies::Bodies;
use gravitile::snapshot::{Losses, Snapshot, WriteOptions};

/// Every way to write that the tests go through.
const SPECS: [&str; 13] = [
    "gravitile",
    "tipsy",
    "tipsy-be",
    "tipsy-28",
    "tipsy-28-be",
    "tipsy-id",
    "gadget1",
    "gadget1-be",
    "gadget1-f64-id64",
    "gadget2",
    "gadget2-be-f64",
    "text",
    "csv",
];

fn spec(format: &str) -> WriteOptions {
    WriteOptions { format: Some(format.into()), ..WriteOptions::default() }
}

/// Written in that format and read back, recognised by content alone; with the losses.
fn through(snapshot: &Snapshot, format: &str) -> (Snapshot, Losses) {
    let (bytes, losses) = snapshot.to_bytes("a", &spec(format)).expect(format);
    (Snapshot::from_bytes(&bytes, "a").expect(format), losses)
}

/// Six bodies of f32 numbers, one of each kind that GADGET knows, in its order.
fn six() -> Snapshot {
    let mut snapshot = kinds::of_each_kind(6);
    // Ids that do not come in order, so that numbering afresh would show.
    snapshot.bodies.id = vec![50, 40, 30, 20, 10, 4_000_000_000];
    snapshot
}

/// The same bodies, by id, to the last bit of every f64.
fn assert_same_bodies(a: &Bodies, b: &Bodies) {
    let sorted = |bodies: &Bodies| {
        let mut rows: Vec<_> = (0..bodies.len())
            .map(|i| {
                let numbers = [bodies.mass[i]]
                    .into_iter()
                    .chain(bodies.position[i].to_array())
                    .chain(bodies.velocity[i].to_array());
                let component = bodies.components[bodies.component[i] as usize].clone();
                (bodies.id[i], numbers.map(f64::to_bits).collect::<Vec<_>>(), component.name)
            })
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(sorted(a), sorted(b));
}

#[test]
fn the_comparer_of_bodies_notices_the_last_bit() {
    let differ = |change: fn(&mut Bodies)| {
        let (a, mut b) = (six().bodies, six().bodies);
        change(&mut b);
        assert!(std::panic::catch_unwind(|| assert_same_bodies(&a, &b)).is_err());
    };
    differ(|b| b.velocity[0].x = 0.0);
    differ(|b| b.mass[1] = b.mass[1].next_up());
    differ(|b| b.id[2] += 1);
    differ(|b| b.component[3] = 0);
}

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// Remembers the largest allocation of each thread: a reader that believes a lying count shows.
struct Watching;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(layout.size())));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static WATCHING: Watching = Watching;

/// Bytes of the largest allocation that this thread makes within `act`.
fn largest_allocation(act: impl FnOnce()) -> usize {
    LARGEST.set(0);
    act();
    LARGEST.get()
}
