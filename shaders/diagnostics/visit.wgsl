// Inputs of the kernels that visit the members of groups, a workgroup per chunk.
//% include "diagnostics/params.wgsl"

@group(0) @binding(0) var<storage, read> positions: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> members: array<u32>;
@group(0) @binding(2) var<storage, read> chunks: array<DiagnosisChunk>;
@group(0) @binding(3) var<storage, read> groups: array<DiagnosisGroup>;
// Shares of the total mass.
@group(0) @binding(4) var<storage, read> shares: array<f32>;

// The body that is member k of a chunk.
fn member(chunk: DiagnosisChunk, k: u32) -> u32 {
    if chunk.listed == 1u {
        return members[k];
    }
    return k;
}
