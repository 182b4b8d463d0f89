// The largest squared acceleration of all bodies, as the bits of an f32: the larger of two numbers that are not
// negative has the larger bits, and a maximum of integers is the same in any order. NaN counts as the largest.
//% include "diagnostics/params.wgsl"
//% if numbered
//% include "tree/domains/record.wgsl"
//% endif

@group(0) @binding(0) var<storage, read> accelerations: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> largest: atomic<u32>;
@group(0) @binding(2) var<uniform> params: DiagnosisParams;
//% if numbered
// Places without a body have the accelerations of bodies that have left.
@group(0) @binding(3) var<storage, read> numbers: array<u32>;
//% endif

var<workgroup> shared_largest: atomic<u32>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(num_workgroups) workgroups: vec3<u32>,
) {
    if local == 0u {
        atomicStore(&shared_largest, 0u);
    }
    workgroupBarrier();
    var own = 0u;
    for (var i = id.x; i < params.count; i += workgroups.x * THREADS) {
//% if numbered
        if numbers[i] == NO_BODY {
            continue;
        }
//% endif
        let acceleration = accelerations[i].xyz;
        own = max(own, bitcast<u32>(dot(acceleration, acceleration)) & 0x7fffffffu);
    }
    atomicMax(&shared_largest, own);
    workgroupBarrier();
    if local == 0u {
        atomicMax(&largest, atomicLoad(&shared_largest));
    }
}
