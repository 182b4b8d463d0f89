// The sinks of each walk: 64 neighbours on the curve, or one body outside the cube.
//
// In sparse outer regions the box of 64 bodies may enclose all the others, and nothing in it is far from the group:
// three such groups among a million bodies took ten times as long as all the rest, which had to wait. So if there are
// more than CROWD bodies in the cells that a group's box touches, of a quarter of its size, its sinks walk one by one.
//% include "tree/common.wgsl"
//% include "tree/hilbert.wgsl"
//% include "tree/sinks.wgsl"
//% include "tree/crowd.wgsl"
//% include "tree/felt.wgsl"

@group(0) @binding(0) var<storage, read> sources: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> keys: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> accelerations: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> state: TreeState;
@group(0) @binding(5) var<storage, read_write> tally: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> groups: array<vec4<f32>>;
@group(0) @binding(7) var<uniform> params: TreeParams;

var<workgroup> lows: array<vec4<f32>, 64>;
var<workgroup> highs: array<vec4<f32>, 64>;
var<workgroup> found: atomic<u32>;
var<workgroup> lane_totals: u32;

// The sum of what all threads have found.
fn total(thread: u32) -> u32 {
    workgroupBarrier();
    if thread == 0u {
        lane_totals = atomicLoad(&found);
        atomicStore(&found, 0u);
    }
    return workgroupUniformLoad(&lane_totals);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let group = workgroup.y * workgroups.x + workgroup.x;
    let inside = state.inside;
    let whole = (inside + GROUP - 1u) / GROUP;
    if group >= whole + state.outside {
        return;
    }
    let is_outside = group >= whole;
    let first = select(group * GROUP, inside + group - whole, is_outside);
    let end = select(min(first + GROUP, inside), first + 1u, is_outside);
    let sink = min(first + thread, end - 1u);
    let position = sources[sink].xyz;
    //% if rule == "acceleration"
    let strength = strength_of(sink, least_strength());
    //% else
    let strength = 0.0;
    //% endif
    lows[thread] = vec4(position, strength);
    highs[thread] = vec4(position, 0.0);
    if thread == 0u {
        atomicStore(&found, 0u);
    }
    workgroupBarrier();
    for (var reach = GROUP / 2u; reach > 0u; reach = reach >> 1u) {
        if thread < reach {
            lows[thread] = min(lows[thread], lows[thread + reach]);
            highs[thread] = max(highs[thread], highs[thread + reach]);
        }
        workgroupBarrier();
    }
    let low = lows[0];
    let high = highs[0].xyz;

    var word = first | select(0u, IS_SINGLE, is_outside);
    if !is_outside {
        // First cells no smaller than the box: it touches at most eight, and usually they hold few enough bodies.
        let nearest = intervals_of(low.xyz);
        let farthest = intervals_of(high);
        let coarse = edge_around(nearest, farthest);
        if coarse > 0u {
            add_bodies(nearest, farthest, coarse, thread);
        }
        if total(thread) > CROWD {
            add_bodies(nearest, farthest, max(coarse, 2u) - 2u, thread);
            if total(thread) > CROWD {
                word |= IS_SCATTERED;
                if thread == 0u {
                    lane_totals = atomicAdd(&tally[SCATTERED], 1u);
                }
                let place = workgroupUniformLoad(&lane_totals);
                if place < params.room {
                    let record = 2u * (params.singles + GROUP * place + thread);
                    let is_one = first + thread < end;
                    groups[record] = vec4(position, strength);
                    groups[record + 1u] =
                        vec4(position, bitcast<f32>(select(NOBODY, sink | IS_SINGLE, is_one)));
                }
            }
        }
    }
    if thread == 0u {
        groups[2u * group] = low;
        groups[2u * group + 1u] = vec4(high, bitcast<f32>(word));
    }
}
