// A prefix sum over the threads of a workgroup.

const THREADS = 256u;
var<workgroup> thread_sums: array<u32, 512>;

// The sum of the values of all threads before this one, and of all threads. All threads must call it.
fn sum_before(own: u32, thread: u32) -> vec2<u32> {
    // Two halves used alternately: no step reads what it writes.
    var side = 0u;
    thread_sums[thread] = own;
    workgroupBarrier();
    for (var reach = 1u; reach < THREADS; reach = reach << 1u) {
        var sum = thread_sums[side + thread];
        if thread >= reach {
            sum += thread_sums[side + thread - reach];
        }
        side = THREADS - side;
        thread_sums[side + thread] = sum;
        workgroupBarrier();
    }
    let sums = vec2(thread_sums[side + thread] - own, thread_sums[side + THREADS - 1u]);
    // The next call writes to memory that slower threads may still be reading.
    workgroupBarrier();
    return sums;
}
