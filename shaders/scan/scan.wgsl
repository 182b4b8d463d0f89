// The second half of a level of a prefix sum: each entry becomes the sum of those before it. The sum before a
// workgroup's entries comes from the next level; the top level has one workgroup and stores the sum of all.

//% include "scan/bindings.wgsl"
//% include "scan/threads.wgsl"

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let end = entries();
    let first = begin(workgroup, workgroups.x, thread);
    var sum = 0u;
    //% for k in range(each_thread)
    let before_{{ k }} = sum;
    if first + {{ k }}u < end {
        sum += values[first + {{ k }}u];
    }
    //% endfor
    let sums = sum_before(sum, thread);
    var before = sums.x;
    //% if below
    if first < end {
        before += blocks[first / BLOCK];
    }
    //% else
    if thread == 0u {
        blocks[0] = sums.y;
    }
    //% endif
    //% for k in range(each_thread)
    if first + {{ k }}u < end {
        values[first + {{ k }}u] = before + before_{{ k }};
    }
    //% endfor
}
