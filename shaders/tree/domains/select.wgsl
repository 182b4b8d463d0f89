// Marks the cells of this part of the curve that the groups of another rank open, with that rank's number, from 1. One
// workgroup per box around sinks. The test is that of `tree/walk.wgsl` with squared distances multiplied by `margin`,
// which is below 1, so that rounding never leaves out a cell that a walk opens.
//
// The stack holds at most the 64 roots of a turn and 56 more entries per level.
//% include "tree/common.wgsl"
//% include "tree/cell.wgsl"
//% include "tree/opening/" ~ rule ~ ".wgsl"

@group(0) @binding(0) var<storage, read> state: TreeState;
@group(0) @binding(1) var<storage, read> cell_open: array<vec4<u32>>;
// Two entries each: lower corner and least acceleration; upper corner.
@group(0) @binding(2) var<storage, read> boxes: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> roots: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> tally: array<u32>;
@group(0) @binding(5) var<storage, read_write> opened: array<atomic<u32>>;
@group(0) @binding(6) var<uniform> params: TreeParams;

const LANES = 64u;
const ROOT = 8u;
const TAKEN = 8u;
const MOST = 2048u;

var<workgroup> stack: array<u32, MOST>;
var<workgroup> height: atomic<u32>;
var<workgroup> lane_height: u32;

struct Sinks {
    low: vec3<f32>,
    high: vec3<f32>,
    reach: f32,
}

// Tests a cell; if it is opened, marks it and pushes its children.
fn look_at(cell: u32, sinks: Sinks) {
    let about = bitcast<vec4<f32>>(cell_open[2u * cell]);
    let open = cell_open[2u * cell + 1u];
    if about.w < 0.0 {
        return;
    }
    let gap = max(max(sinks.low - about.xyz, about.xyz - sinks.high), vec3(0.0));
    let distance_squared = dot(gap, gap) * params.margin;
    let radius_squared = bitcast<f32>(open.x);
    if distance_squared > radius_squared && is_far(distance_squared, sinks.reach, about.w, radius_squared) {
        return;
    }
    atomicStore(&opened[cell - state.base], params.part + 1u);
    if open.y != IS_LEAF {
        let at = atomicAdd(&height, 1u);
        if at < MOST {
            stack[at] = open.y;
        }
    }
}

fn uniform_height(lane: u32) -> u32 {
    workgroupBarrier();
    if lane == 0u {
        lane_height = atomicLoad(&height);
    }
    return workgroupUniformLoad(&lane_height);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.group_begin + workgroup.y * workgroups.x + workgroup.x;
    if number >= params.group_end {
        return;
    }
    let low = boxes[2u * number];
    let sinks = Sinks(low.xyz, boxes[2u * number + 1u].xyz, reach_of(max(low.w, params.least), params.opening));
    if lane == 0u {
        atomicStore(&height, 0u);
    }
    workgroupBarrier();
    let count = min(tally[ROOTS], arrayLength(&roots) / ROOT);
    for (var begin = 0u; begin < count; begin += LANES) {
        if begin + lane < count {
            let header = roots[ROOT * (begin + lane) + 1u];
            if header.x > 0u {
                look_at(header.w, sinks);
            }
        }
        var now = uniform_height(lane);
        while now > 0u {
            let taking = min(now, TAKEN);
            var word = 0u;
            let entry = lane / 8u;
            let is_one = entry < taking;
            if is_one {
                word = stack[now - 1u - entry];
            }
            workgroupBarrier();
            if lane == 0u {
                atomicStore(&height, now - taking);
            }
            workgroupBarrier();
            if is_one && lane % 8u < children_of(word) {
                look_at(first_child(word) + lane % 8u, sinks);
            }
            now = uniform_height(lane);
        }
    }
}
