//% include "scan/params.wgsl"

// Entries of this level; each workgroup has BLOCK of them.
const EACH_THREAD = {{ each_thread }}u;
const BLOCK = EACH_THREAD * 256u;

@group(0) @binding(0) var<storage, {{ "read" if reduce else "read_write" }}> values: array<u32>;
@group(0) @binding(1) var<storage, {{ "read" if below else "read_write" }}> blocks: array<u32>;
@group(0) @binding(2) var<storage, read> count_on_device: array<u32>;
@group(0) @binding(3) var<uniform> params: ScanParams;

// How many entries this level has.
fn entries() -> u32 {
    let count = min(params.count, count_on_device[0]);
    return select(0u, (count - 1u) / params.each + 1u, count > 0u);
}

// Where this thread's entries begin. A dispatch of many workgroups arranges them in several rows.
fn begin(workgroup: vec3<u32>, row: u32, thread: u32) -> u32 {
    return (workgroup.y * row + workgroup.x) * BLOCK + thread * EACH_THREAD;
}
