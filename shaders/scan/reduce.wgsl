// The first half of a level of a prefix sum: the sum of each workgroup's entries becomes an entry of the next
// level.

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
    if first + {{ k }}u < end {
        sum += values[first + {{ k }}u];
    }
    //% endfor
    let sums = sum_before(sum, thread);
    if thread == 0u && first < end {
        blocks[first / BLOCK] = sums.y;
    }
}
