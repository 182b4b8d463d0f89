// This device's part of a block that several devices share: as many workgroups as its own sinks need. The sources are
// sliced as for the whole block, so that sums are the same.
//% include "direct/params.wgsl"
//% include "blocks/params.wgsl"
@group(0) @binding(0) var<storage, read_write> state: BlockState;
@group(0) @binding(1) var<storage, read_write> pieces: array<DirectParams>;
@group(0) @binding(2) var<storage, read_write> workgroups: array<u32>;
@group(0) @binding(3) var<uniform> block: BlockParams;

@compute @workgroup_size(1)
fn main() {
    let own = atomicLoad(&state.taken);
    let is_few = state.members <= block.few;
    let sinks = select(block.many_sinks, block.few_sinks, is_few);
    for (var piece = 0u; piece < block.pieces; piece += 1u) {
        let begin = min(piece * block.piece, own);
        let end = min(begin + block.piece, own);
        let width = end - begin;
        let groups = (width + sinks - 1u) / sinks;
        workgroups[3u * (2u + 3u * piece)] = select(0u, groups, is_few);
        workgroups[3u * (3u + 3u * piece)] = select(groups, 0u, is_few);
        workgroups[3u * (4u + 3u * piece)] = width;
        let row = piece * block.stride;
        pieces[row].sink_begin = begin;
        pieces[row].sink_end = end;
        pieces[row].sink_count = width;
    }
}
