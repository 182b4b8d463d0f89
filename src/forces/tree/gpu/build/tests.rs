//! Validates every text of the build.

use super::*;
use crate::forces::tree::{MultipoleOrder, Opening, Rebuild};
use crate::gpu::{Checks, Language, translate};

/// LOG_LOW of shaders/tree/common.wgsl.
const LOGS: u64 = 264;

const NAMES: [&str; 15] = [
    "clear",
    "spread",
    "edge",
    "keys",
    "gather",
    "count",
    "choose",
    "write",
    "rank",
    "link",
    "leaves",
    "inner",
    "groups",
    "scattered",
    "strength",
];

#[test]
fn every_text_validates_and_translates() {
    let theta = 0.5;
    let field = "point:mass=1 plummer:mass=1,scale=2 hernquist:mass=1,scale=1 nfw:mass=2,scale=3 \
        isothermal:speed=1,core=2 logarithmic:speed=1,core=1,flattening=0.9,x=-1 \
        miyamoto-nagai:mass=1,scale=2,height=0.1 tidal:xx=1,yz=-2"
        .parse()
        .unwrap();
    let field = DeviceField::new(&field, &crate::frame::Frame::PLAIN).unwrap();
    let rules = [
        Opening::Acceleration { alpha: 0.003 },
        Opening::Radius { theta },
        Opening::Bonsai { theta },
        Opening::Octgrav { theta },
    ];
    for (k, opening) in rules.into_iter().enumerate() {
        for order in [MultipoleOrder::Monopole, MultipoleOrder::Quadrupole] {
            let shape = TreeShape::new(opening, order);
            // Only moments and groups depend on the rule.
            let names = if k == 0 { &NAMES[..] } else { &NAMES[10..13] };
            let rebuilt = TreeShape { rebuild: Rebuild::Every(4), ..shape };
            let plain = names.iter().map(|name| (name, text(name, &shape, false, None).unwrap()));
            let reused = [false, true].map(|again| text("gather", &rebuilt, again, None).unwrap());
            let reused = reused.into_iter().map(|text| (&"gather", text));
            let own = (&"own", text("own", &shape, false, Some(&field)).unwrap());
            for (name, text) in plain.chain(reused).chain([own]) {
                for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                    for checks in [Checks::On, Checks::Off] {
                        let out = translate(name, &text, language, checks);
                        assert!(out.unwrap_or_else(|e| panic!("{e}\n{text}")).len() > 500);
                    }
                }
            }
        }
    }
}

/// Of 200 million bodies whose logarithms sum up beyond 32 bits, 1,024 are on the device: the state
/// counts the others as outside, and the tally holds what they would have added.
#[test]
fn mean_acceleration_does_not_overflow_32_bits() {
    const N: u32 = 1024;
    const REST: u32 = 200_000_000;
    // 64 (log2 |a| + 128) of accelerations of 8.
    const PART: u64 = 64 * (3 + 128);
    let request = crate::gpu::AdapterRequest { baseline: true, ..Default::default() };
    let gpu = Gpu::open_blocking(&request).expect("the device tests need an adapter");
    let opening = Opening::Acceleration { alpha: 0.003 };
    let shape =
        TreeShape { checks: Checks::On, ..TreeShape::new(opening, MultipoleOrder::Quadrupole) };
    let buffers = TreeBuffers::new(&gpu, N, &shape).unwrap();
    let mut params = Params::new(&gpu, "params", PARAMS_ROWS);
    let vectors = |label| crate::gpu::storage(&gpu, label, N as usize);
    let (bodies, accelerations, partial_sums) = (vectors("bodies"), vectors("a"), vectors("sums"));
    let bound = TreeResources {
        gpu: &gpu,
        shape: &shape,
        buffers: &buffers,
        partial_sums: &partial_sums,
        params: &params,
    };
    let mut build = pollster::block_on(Build::new(&bound, &bodies, &accelerations, None)).unwrap();
    // Half of the bodies have no acceleration: their groups use a thousandth of the mean.
    let felt = |i: u32| [if i < N / 2 { 8.0f32 } else { 0.0 }, 0.0, 0.0, 0.0];
    let felt: Vec<[f32; 4]> = (0..N).map(felt).collect();
    gpu.queue.write_buffer(&accelerations, 0, bytemuck::cast_slice(&felt));
    let order: Vec<u32> = (0..N).collect();
    gpu.queue.write_buffer(&buffers.order, 0, bytemuck::cast_slice(&order));
    let counted = N + REST;
    let state =
        crate::gpu::layout::TreeState { inside: N, outside: REST, counted, ..Default::default() };
    gpu.queue.write_buffer(&buffers.state, 0, bytemuck::bytes_of(&state));
    // The device's contribution to it carries into the upper word.
    let before = ((u64::from(REST) * PART) & !0xffff_ffff) + 0xffff_fff0;
    let words = [before as u32, (before >> 32) as u32];
    gpu.queue.write_buffer(&buffers.tally, 4 * LOGS, bytemuck::cast_slice(&words));

    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        build.record(&mut pass, &mut params, Stage::Groups, Strengths::Last);
    }
    params.upload(&gpu);
    gpu.queue.submit([encoder.finish()]);
    let tally = crate::gpu::read_blocking::<u32>(&gpu, &[&buffers.tally], TALLY as usize).unwrap();
    let logs = &tally[0][LOGS as usize..];
    let after = u64::from(logs[0]) | u64::from(logs[1]) << 32;
    // Bodies without acceleration count as 2^-100.
    let added = u64::from(N / 2) * (PART + 64 * 28);
    assert_eq!(after - before, added);
    let groups =
        crate::gpu::read_blocking::<[f32; 4]>(&gpu, &[&buffers.groups], N as usize / 32).unwrap();
    let mean = after as f64 / (64.0 * f64::from(N + REST)) - 128.0;
    let least = (0.001 * mean.exp2()) as f32;
    for (group, record) in groups[0].chunks(2).enumerate() {
        let right = if group < N as usize / 128 { 8.0 } else { least };
        assert!((record[0][3] / right - 1.0).abs() < 1e-4, "group {group}: {record:?}, {right}");
    }
}
