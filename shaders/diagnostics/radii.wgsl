// Histogram of a group's weight over the next 8 bits of the squared distances from its centre. Positive
// floats sort like their bits, so four rounds find the exact body at which a part of the mass is
// reached. Weights are integers, so the order of addition does not matter.
//% include "diagnostics/visit.wgsl"

@group(0) @binding(5) var<storage, read_write> histogram: array<atomic<u32>>;

var<workgroup> bins: array<atomic<u32>, RADII * BINS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let chunk = chunks[workgroup.x];
    let group = groups[chunk.group];
    for (var bin = lane; bin < RADII * BINS; bin += THREADS) {
        atomicStore(&bins[bin], 0u);
    }
    workgroupBarrier();
    let shift = 24u - 8u * group.digit;
    for (var k = chunk.begin + lane; k < chunk.end; k += THREADS) {
        let i = member(chunk, k);
        let offset = positions[i].xyz - group.centre;
        let key = bitcast<u32>(dot(offset, offset));
        let weight = u32(shares[i] * group.units + 0.5) + group.whole;
        let bin = (key >> shift) & (BINS - 1u);
        //% for k in range(3)
        if group.digit == 0u || (key >> (shift + 8u)) == group.found[{{ k }}] {
            atomicAdd(&bins[{{ k }}u * BINS + bin], weight);
        }
        //% endfor
    }
    workgroupBarrier();
    for (var bin = lane; bin < RADII * BINS; bin += THREADS) {
        let weight = atomicLoad(&bins[bin]);
        if weight > 0u {
            atomicAdd(&histogram[chunk.group * RADII * BINS + bin], weight);
        }
    }
}
