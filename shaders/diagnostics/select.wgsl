// Finds the bin of the histogram in which each radius lies, one workgroup per group. Empties the histogram.
//% include "diagnostics/params.wgsl"

@group(0) @binding(0) var<storage, read_write> histogram: array<u32>;
@group(0) @binding(1) var<storage, read_write> groups: array<DiagnosisGroup>;

var<workgroup> bins: array<u32, RADII * BINS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var bin = lane; bin < RADII * BINS; bin += THREADS) {
        let at = workgroup.x * RADII * BINS + bin;
        bins[bin] = histogram[at];
        histogram[at] = 0u;
    }
    workgroupBarrier();
    if lane > 0u {
        return;
    }
    let digit = groups[workgroup.x].digit;
    //% for parts in thousandths
    //% set k = loop.index0
    {
        var left = groups[workgroup.x].left[{{ k }}];
        if digit == 0u {
            var total = 0u;
            for (var bin = 0u; bin < BINS; bin += 1u) {
                total += bins[{{ k }}u * BINS + bin];
            }
            // In integers, so that a tenth of ten equal bodies is one of them; rounded up.
            left = total / 1000u * {{ parts }}u + (total % 1000u * {{ parts }}u + 999u) / 1000u;
        }
        var bin = 0u;
        while bin < BINS - 1u && bins[{{ k }}u * BINS + bin] < left {
            left -= bins[{{ k }}u * BINS + bin];
            bin += 1u;
        }
        groups[workgroup.x].left[{{ k }}] = left;
        groups[workgroup.x].found[{{ k }}] = (groups[workgroup.x].found[{{ k }}] << 8u) | bin;
    }
    //% endfor
    groups[workgroup.x].digit = digit + 1u;
}
