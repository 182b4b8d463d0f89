//! Exclusive prefix sums.

use gravitile::gpu::{Checks, Gpu, Scan, scan_on_host};

use super::{POISON, Random, SIZES, poisoned, read};
use crate::common;

/// Number of guard entries after the values.
const GUARD_ENTRIES: usize = 300;

/// Records, submits and waits for scans of the first `counts[0]`, `counts[1]`, ... numbers, in
/// order.
fn run(gpu: &Gpu, scan: &mut Scan, counts: &[u32]) {
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    scan.begin_submission();
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for &count in counts {
            scan.record(&mut pass, count);
        }
    }
    scan.end_submission(gpu);
    gpu.queue.submit([encoder.finish()]);
    gpu.wait().unwrap();
}

fn scan_of(
    gpu: &Gpu,
    values: &wgpu::Buffer,
    count: Option<&wgpu::Buffer>,
    capacity: u32,
    checks: Checks,
) -> Scan {
    pollster::block_on(Scan::new(gpu, values, count, capacity, checks)).unwrap()
}

#[test]
fn scan_equals_host_for_any_size() {
    let gpu = common::gpu();
    let mut random = Random(0x5ca1_ab1e);
    for checks in [Checks::Off, Checks::On] {
        for n in SIZES {
            let numbers = random.words(n as usize);
            let values = poisoned(&gpu, &numbers, GUARD_ENTRIES);
            let mut scan = scan_of(&gpu, &values, None, n, checks);
            run(&gpu, &mut scan, &[n]);
            let mut expected = numbers;
            let sum = scan_on_host(&mut expected);
            let got = read(&gpu, &values);
            assert!(got[..n as usize] == expected, "{n} numbers, {checks:?}");
            assert!(got[n as usize..].iter().all(|&word| word == POISON), "behind {n}");
            assert_eq!(read(&gpu, scan.total())[0], sum, "sum of {n}");
        }
    }
}

#[test]
fn three_level_scan_equals_host() {
    let gpu = common::gpu();
    // 2,048 x 2,048 numbers are two levels.
    let n = (1 << 22) + 4099;
    let numbers = Random(3).words(n);
    let values = poisoned(&gpu, &numbers, GUARD_ENTRIES);
    let mut scan = scan_of(&gpu, &values, None, n as u32, Checks::Off);
    run(&gpu, &mut scan, &[n as u32]);
    let mut expected = numbers;
    let sum = scan_on_host(&mut expected);
    let got = read(&gpu, &values);
    assert!(got[..n] == expected);
    assert!(got[n..].iter().all(|&word| word == POISON));
    assert_eq!(read(&gpu, scan.total())[0], sum);
}

#[test]
fn scan_of_a_prefix_leaves_the_rest_unchanged() {
    let gpu = common::gpu();
    let numbers = Random(17).words(10_000);
    for n in [0u32, 1, 2047, 2048, 2049, 9999] {
        let values = poisoned(&gpu, &numbers, 0);
        let mut scan = scan_of(&gpu, &values, None, 10_000, Checks::Off);
        run(&gpu, &mut scan, &[n]);
        let mut expected = numbers.clone();
        let sum = scan_on_host(&mut expected[..n as usize]);
        assert!(read(&gpu, &values) == expected, "{n}");
        assert_eq!(read(&gpu, scan.total())[0], sum);
    }
}

#[test]
fn scan_reads_its_count_from_a_device_buffer() {
    let gpu = common::gpu();
    let numbers = Random(23).words(70_000);
    for n in [0u32, 1, 2049, 65_000, 70_000, u32::MAX] {
        let values = poisoned(&gpu, &numbers, 0);
        let count = poisoned(&gpu, &[n], 0);
        let mut scan = scan_of(&gpu, &values, Some(&count), 70_000, Checks::Off);
        run(&gpu, &mut scan, &[70_000]);
        let mut expected = numbers.clone();
        let sum = scan_on_host(&mut expected[..n.min(70_000) as usize]);
        assert!(read(&gpu, &values) == expected, "{n}");
        assert_eq!(read(&gpu, scan.total())[0], sum, "{n}");
    }
}

#[test]
fn several_scans_share_a_submission() {
    let gpu = common::gpu();
    let numbers = Random(29).words(5000);
    let values = poisoned(&gpu, &numbers, 0);
    let mut scan = scan_of(&gpu, &values, None, 5000, Checks::Off);
    run(&gpu, &mut scan, &[5000, 3, 2500]);
    let mut expected = numbers;
    for n in [5000, 3, 2500] {
        scan_on_host(&mut expected[..n]);
    }
    assert!(read(&gpu, &values) == expected);
}

#[test]
fn scan_refuses_a_short_buffer() {
    let gpu = common::gpu();
    let values = poisoned(&gpu, &[1, 2, 3], 0);
    let refused = pollster::block_on(Scan::new(&gpu, &values, None, 4, Checks::Off)).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("need 16 bytes, but their buffer has 12"), "{text}");
    gpu.check().unwrap();
}

#[test]
fn scan_splits_large_dispatches_into_rows() {
    let gpu = common::narrow();
    let numbers = Random(31).words(50_001);
    let values = poisoned(&gpu, &numbers, GUARD_ENTRIES);
    let mut scan = scan_of(&gpu, &values, None, 50_001, Checks::Off);
    run(&gpu, &mut scan, &[50_001]);
    let mut expected = numbers;
    scan_on_host(&mut expected);
    assert!(read(&gpu, &values)[..50_001] == expected);
}
