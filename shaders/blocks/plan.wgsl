// Plans the next block: one thread finds when it ends, how many bodies are in it, and how many
// workgroups its kernels need. Steps are powers of two and times multiples of them, so the shortest
// step present ends next, and the numbers of bodies by level are all that is needed.
//% include "direct/params.wgsl"
//% include "blocks/params.wgsl"
//% include "blocks/time.wgsl"
@group(0) @binding(0) var<storage, read_write> state: BlockState;
// Rows of 64 bytes, read by the force kernels as uniforms.
@group(0) @binding(1) var<storage, read_write> pieces: array<DirectParams>;
// Workgroup counts, three numbers each: predict, correct, then per piece forces on few, forces on many, sums.
@group(0) @binding(2) var<storage, read_write> workgroups: array<u32>;
@group(0) @binding(3) var<uniform> block: BlockParams;

fn dispatch(at: u32, x: u32, y: u32) {
    workgroups[3u * at] = x;
    workgroups[3u * at + 1u] = y;
    workgroups[3u * at + 2u] = 1u;
}

fn in_groups(count: u32, size: u32) -> u32 {
    return (count + size - 1u) / size;
}

// Enough slices of the sources to fill the device, each of at least two tiles, with room for their sums.
fn slices(width: u32, sinks: u32, threads: u32, tile: u32) -> u32 {
    let busy = in_groups(width, sinks) * threads;
    let wanted = min(block.fill / busy, block.room / width);
    return clamp(wanted, 1u, clamp(block.count / (2u * tile), 1u, 4096u));
}

@compute @workgroup_size(1)
fn main() {
    let is_done = state.members > 0u;
    let now = select(state.now, state.next, is_done);
    var deepest = 0u;
    for (var level = 0u; level <= LEVELS; level += 1u) {
        if atomicLoad(&state.levels[level]) > 0u {
            deepest = level;
        }
    }
    let next = plus_time(multiple_of(deepest, now), step_of(deepest));
    let failed = atomicLoad(&state.lost) != NONE || atomicLoad(&state.too_short) != NONE;
    let has_next = !failed && !is_after(next, state.end);
    var members = 0u;
    if has_next {
        for (var level = level_at(next); level <= LEVELS; level += 1u) {
            members += atomicLoad(&state.levels[level]);
        }
    }
    let is_shared = members > block.alone;
    if block.shares == 1u && !is_shared {
        // Another plan begins this block.
        for (var at = 0u; at < 2u + 3u * block.pieces; at += 1u) {
            dispatch(at, 0u, 1u);
        }
        atomicStore(&state.taken, 0u);
        state.waiting = 0u;
        return;
    }
    if is_done {
        state.now = now;
        state.last_members = state.members;
        state.blocks += 1u;
        state.body_steps = plus_time(state.body_steps, vec2(state.members, 0u));
    }
    if has_next {
        state.next = next;
    }
    state.waiting = select(0u, members, is_shared);
    members = select(members, 0u, is_shared && block.shares == 0u);
    state.members = members;
    atomicStore(&state.taken, 0u);

    dispatch(0u, select(0u, in_groups(block.count, 64u), members > 0u), 1u);
    dispatch(1u, in_groups(members, 64u), 1u);
    let is_few = members <= block.few;
    let sinks = select(block.many_sinks, block.few_sinks, is_few);
    let threads = select(block.many_threads, block.few_threads, is_few);
    let tile = select(block.many_tile, block.few_tile, is_few);
    let cut = slices(max(min(members, block.piece), 1u), sinks, threads, tile);
    let slice_length = in_groups(in_groups(block.count, cut), tile) * tile;
    for (var piece = 0u; piece < block.pieces; piece += 1u) {
        let begin = min(piece * block.piece, members);
        let end = min(begin + block.piece, members);
        let width = end - begin;
        let groups = in_groups(width, sinks);
        dispatch(2u + 3u * piece, select(0u, groups, is_few), cut);
        dispatch(3u + 3u * piece, select(groups, 0u, is_few), cut);
        dispatch(4u + 3u * piece, width, 1u);
        var row = DirectParams();
        row.sink_begin = begin;
        row.sink_end = end;
        // A segment of partial sums is as long as the piece: the next piece uses the same memory.
        row.sink_count = width;
        row.source_count = block.count;
        row.slice_length = slice_length;
        row.chunk_end = slice_length;
        row.softening_squared = block.softening_squared;
        row.softening_low = block.softening_low;
        row.softening_lowest = block.softening_lowest;
        row.segments = cut;
        pieces[piece * block.stride] = row;
    }
}
