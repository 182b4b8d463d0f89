// Counts this device's bodies in the cells around groups of other ranks, in cells larger than the group's box and in
// those of a quarter of their edge (src/forces/tree/scattered.rs). One workgroup per group.
//% include "tree/common.wgsl"
//% include "tree/hilbert.wgsl"
//% include "tree/sinks.wgsl"
//% include "tree/crowd.wgsl"

@group(0) @binding(0) var<storage, read> keys: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> state: TreeState;
@group(0) @binding(2) var<storage, read> questions: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> answers: array<vec2<u32>>;
@group(0) @binding(4) var<uniform> params: TreeParams;

var<workgroup> found: atomic<u32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let question = workgroup.y * workgroups.x + workgroup.x;
    if question >= params.count {
        return;
    }
    let nearest = questions[2u * question].yzw;
    let asked = questions[2u * question + 1u];
    if thread == 0u {
        atomicStore(&found, 0u);
    }
    workgroupBarrier();
    add_bodies(nearest, asked.yzw, asked.x, thread);
    workgroupBarrier();
    let around = atomicLoad(&found);
    workgroupBarrier();
    add_bodies(nearest, asked.yzw, max(asked.x, 2u) - 2u, thread);
    workgroupBarrier();
    if thread == 0u {
        answers[question] = vec2(around, atomicLoad(&found) - around);
    }
}
