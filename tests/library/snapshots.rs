//! Snapshot files: round trips, reported losses, damaged files, and the file system.

use crate::common::kinds;

mod columns;
mod damage;
mod files;
mod foreign;
mod large;
mod listed;
mod losses;
mod nemo;
mod parts;
mod round_trips;
mod tables;
mod units;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use gravitile::bodies::Bodies;
use gravitile::snapshot::{Losses, Snapshot, WriteOptions};

/// The formats and variants that the tests cover.
const SPECS: [&str; 15] = [
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
    "nemo",
    "nemo-be",
    "text",
    "csv",
];

fn spec(format: &str) -> WriteOptions {
    WriteOptions { format: Some(format.into()), ..WriteOptions::default() }
}

/// Writes the snapshot in that format and reads it back, recognised by content. Also returns the
/// losses.
fn through(snapshot: &Snapshot, format: &str) -> (Snapshot, Losses) {
    let (bytes, losses) = snapshot.to_bytes("a", &spec(format)).expect(format);
    (Snapshot::from_bytes(&bytes, "a").expect(format), losses)
}

/// Six bodies with f32 values, one of each GADGET type, in order of types.
fn six() -> Snapshot {
    let mut snapshot = kinds::of_each_kind(6);
    // Unordered ids, so that renumbering would be noticed.
    snapshot.bodies.id = vec![50, 40, 30, 20, 10, 4_000_000_000];
    snapshot
}

/// Asserts bitwise equality of the bodies, matched by id.
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
fn body_comparison_detects_single_bit_differences() {
    let assert_detected = |change: fn(&mut Bodies)| {
        let (a, mut b) = (six().bodies, six().bodies);
        change(&mut b);
        assert!(std::panic::catch_unwind(|| assert_same_bodies(&a, &b)).is_err());
    };
    assert_detected(|b| b.velocity[0].x = 0.0);
    assert_detected(|b| b.mass[1] = b.mass[1].next_up());
    assert_detected(|b| b.id[2] += 1);
    assert_detected(|b| b.component[3] = 0);
}

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// Records each thread's largest allocation: a reader that trusts a false count is noticed.
struct RecordingAllocator;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for RecordingAllocator {
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
static ALLOCATOR: RecordingAllocator = RecordingAllocator;

/// Size in bytes of the largest allocation of this thread during `act`.
fn largest_allocation(act: impl FnOnce()) -> usize {
    LARGEST.set(0);
    act();
    LARGEST.get()
}
