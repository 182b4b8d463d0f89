//! The stable sort.

use gravitile::gpu::{Checks, Gpu, KeyWidth, Sort, SortedBuffers, sort_on_host};

use super::{POISON, Random, SIZES, poisoned, read};
use crate::common;

/// Number of guard entries after the keys.
const GUARD_ENTRIES: usize = 300;

/// Keys as words, low word first; only the low word for 32-bit keys.
fn words(keys: &[u64], width: KeyWidth) -> Vec<u32> {
    let both = |key: &u64| [*key as u32, (*key >> 32) as u32];
    keys.iter().flat_map(|key| both(key).into_iter().take(width.words() as usize)).collect()
}

/// A sort and its buffers.
struct Case {
    keys: wgpu::Buffer,
    payloads: wgpu::Buffer,
    sort: Sort,
}

impl Case {
    /// The payloads are the keys' indices before the sort.
    fn new(
        gpu: &Gpu,
        keys: &[u64],
        width: KeyWidth,
        count: Option<&wgpu::Buffer>,
        checks: Checks,
    ) -> Self {
        let numbers: Vec<u32> = (0..keys.len() as u32).collect();
        let payloads = poisoned(gpu, &numbers, GUARD_ENTRIES);
        let capacity = keys.len() as u32;
        let keys = poisoned(gpu, &words(keys, width), GUARD_ENTRIES);
        let buffers = SortedBuffers { keys: &keys, width, payloads: &payloads, capacity, count };
        let sort = pollster::block_on(Sort::new(gpu, buffers, checks)).unwrap();
        Self { keys, payloads, sort }
    }

    fn run(&mut self, gpu: &Gpu, count: u32, bits: u32) {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        self.sort.begin_submission();
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            self.sort.record(&mut pass, count, bits);
        }
        self.sort.end_submission(gpu);
        gpu.queue.submit([encoder.finish()]);
        gpu.wait().unwrap();
    }

    /// Asserts that the first `count` keys and payloads are sorted as on the host, and that all
    /// other entries are unchanged.
    fn assert_sorted(&self, gpu: &Gpu, before: &[u64], width: KeyWidth, count: usize, name: &str) {
        let mask = if width == KeyWidth::Bits32 { u64::from(u32::MAX) } else { u64::MAX };
        let mut pairs: Vec<_> = before.iter().map(|key| key & mask).zip(0u32..).collect();
        sort_on_host(&mut pairs[..count], width.bits());
        let mut keys: Vec<u64> = pairs.iter().map(|(key, _)| *key).collect();
        let mut expected = words(&keys, width);
        keys.clear();
        expected.resize(expected.len() + GUARD_ENTRIES, POISON);
        assert!(read(gpu, &self.keys) == expected, "keys: {name}");
        let mut expected: Vec<u32> = pairs.iter().map(|(_, payload)| *payload).collect();
        expected.resize(expected.len() + GUARD_ENTRIES, POISON);
        assert!(read(gpu, &self.payloads) == expected, "payloads: {name}");
    }
}

/// Named sets of `n` keys.
fn sets(n: usize) -> Vec<(&'static str, Vec<u64>)> {
    let mut random = Random(0x0dd_ba11 + n as u64);
    let anything: Vec<u64> = (0..n).map(|_| random.next()).collect();
    let mut sorted = anything.clone();
    sorted.sort_unstable();
    let reverse: Vec<u64> = sorted.iter().rev().copied().collect();
    // Equal keys in every wave; distinct ones differ in the highest and in the lowest digit.
    let few = (0..n).map(|_| random.next() % 3).map(|k| (k << 61) | (k << 31) | (k % 2)).collect();
    let equal = vec![0x1234_5678_9abc_def0; n];
    // Runs of 1 to 150 keys, and every third key in one, that differ in their lowest 24 bits alone.
    let mut run = 0;
    let runs = (0..n)
        .map(|k| {
            let low = random.next() & 0x00ff_3f7f;
            run = if random.next().is_multiple_of(75) { random.next() } else { run };
            if k % 3 == 0 { low } else { (run & !0x00ff_ffff) | low }
        })
        .collect();
    vec![
        ("random", anything),
        ("sorted", sorted),
        ("reverse", reverse),
        ("few distinct", few),
        ("all equal", equal),
        ("runs", runs),
    ]
}

fn assert_sorts_like_host(width: KeyWidth) {
    let gpu = common::gpu();
    for n in SIZES {
        // The largest sets take long on software adapters: only two, without checks.
        let is_large = n > 100_000;
        let names = ["random", "few distinct", "runs"];
        for (name, keys) in
            sets(n as usize).into_iter().filter(|(name, _)| !is_large || names.contains(name))
        {
            let checks: &[_] = if is_large { &[Checks::Off] } else { &[Checks::Off, Checks::On] };
            for &checks in checks {
                let mut case = Case::new(&gpu, &keys, width, None, checks);
                case.run(&gpu, n, width.bits());
                let name = format!("{n} keys, {name}, {checks:?}");
                case.assert_sorted(&gpu, &keys, width, n as usize, &name);
            }
        }
    }
}

#[test]
fn stable_sort_of_32_bit_keys_equals_host() {
    assert_sorts_like_host(KeyWidth::Bits32);
}

#[test]
fn stable_sort_of_64_bit_keys_equals_host() {
    assert_sorts_like_host(KeyWidth::Bits64);
}

#[test]
fn sort_of_a_prefix_leaves_the_rest_unchanged() {
    let gpu = common::gpu();
    let (_, keys) = sets(10_000).remove(0);
    for width in [KeyWidth::Bits32, KeyWidth::Bits64] {
        for n in [0, 1, 2, 257, 4096, 9999] {
            let mut case = Case::new(&gpu, &keys, width, None, Checks::Off);
            case.run(&gpu, n, width.bits());
            case.assert_sorted(&gpu, &keys, width, n as usize, &format!("{n} of 10,000"));
        }
    }
}

#[test]
fn sort_reads_its_count_from_a_device_buffer() {
    let gpu = common::gpu();
    let (_, keys) = sets(20_000).remove(0);
    for n in [0u32, 1, 1025, 19_999, 20_000, u32::MAX] {
        let count = poisoned(&gpu, &[n], 0);
        let mut case = Case::new(&gpu, &keys, KeyWidth::Bits64, Some(&count), Checks::Off);
        case.run(&gpu, 20_000, 64);
        let name = format!("{n} on the device");
        case.assert_sorted(&gpu, &keys, KeyWidth::Bits64, n.min(20_000) as usize, &name);
    }
}

#[test]
fn sort_of_low_bits_equals_host() {
    let gpu = common::gpu();
    let mut random = Random(41);
    let keys: Vec<u64> = (0..30_000).map(|_| random.next() % 22).collect();
    for (width, bits) in [(KeyWidth::Bits32, 5), (KeyWidth::Bits64, 5), (KeyWidth::Bits64, 17)] {
        let mut case = Case::new(&gpu, &keys, width, None, Checks::Off);
        case.run(&gpu, 30_000, bits);
        case.assert_sorted(&gpu, &keys, width, 30_000, &format!("{bits} bits"));
    }
    // Bits above the sorted ones are ignored.
    let keys: Vec<u64> = (0..30_000).map(|_| random.next()).collect();
    let mut case = Case::new(&gpu, &keys, KeyWidth::Bits64, None, Checks::Off);
    case.run(&gpu, 30_000, 16);
    let mut pairs: Vec<_> = keys.iter().copied().zip(0u32..).collect();
    sort_on_host(&mut pairs, 16);
    let payloads: Vec<u32> = pairs.iter().map(|(_, payload)| *payload).collect();
    assert!(read(&gpu, &case.payloads)[..30_000] == payloads);
}

#[test]
fn sorting_twice_changes_nothing() {
    let gpu = common::gpu();
    let (_, keys) = sets(65_537).remove(3);
    let mut case = Case::new(&gpu, &keys, KeyWidth::Bits64, None, Checks::Off);
    case.run(&gpu, 65_537, 64);
    let once = [read(&gpu, &case.keys), read(&gpu, &case.payloads)];
    case.run(&gpu, 65_537, 64);
    assert!([read(&gpu, &case.keys), read(&gpu, &case.payloads)] == once);
}

#[test]
fn sort_works_with_baseline_webgpu() {
    let gpu = common::baseline();
    let (_, keys) = sets(70_000).remove(0);
    let mut case = Case::new(&gpu, &keys, KeyWidth::Bits64, None, Checks::Off);
    case.run(&gpu, 70_000, 64);
    case.assert_sorted(&gpu, &keys, KeyWidth::Bits64, 70_000, "baseline");
}

#[test]
fn sort_refuses_short_buffers() {
    let gpu = common::gpu();
    let (four, eight) = (poisoned(&gpu, &[0; 4], 0), poisoned(&gpu, &[0; 8], 0));
    for (keys, payloads, wrong) in [
        (&four, &four, "keys to be sorted need 32 bytes, but their buffer has 16"),
        (&eight, &poisoned(&gpu, &[0; 3], 0), "payloads of keys need 16 bytes"),
    ] {
        let width = KeyWidth::Bits64;
        let buffers = SortedBuffers { keys, width, payloads, capacity: 4, count: None };
        let refused = pollster::block_on(Sort::new(&gpu, buffers, Checks::Off)).unwrap_err();
        assert!(refused.to_string().contains(wrong), "{refused}");
    }
    gpu.check().unwrap();
}

#[test]
fn sort_splits_large_dispatches_into_rows() {
    let gpu = common::narrow();
    let (_, keys) = sets(30_001).remove(0);
    let mut case = Case::new(&gpu, &keys, KeyWidth::Bits64, None, Checks::Off);
    case.run(&gpu, 30_001, 64);
    case.assert_sorted(&gpu, &keys, KeyWidth::Bits64, 30_001, "rows of workgroups");
}
