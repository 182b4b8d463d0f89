// Sums over all bodies, as one set of partial sums per thread. The host adds these in f64, and no thread
// adds enough values for the rounding of f32 to show.
//% include "diagnostics/params.wgsl"
//% if potentials
//% include "force/field.wgsl"
//% endif

@group(0) @binding(0) var<storage, read> positions: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> velocities: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> partial_sums: array<vec4<f32>>;
// Shares of the total mass.
@group(0) @binding(3) var<storage, read> shares: array<f32>;
// Three entries per thread: sum m v and m v^2; sum m x * v and m phi; sum m x and m. The total mass is 1.
@group(0) @binding(4) var<storage, read_write> totals: array<vec4<f32>>;
@group(0) @binding(5) var<uniform> params: DiagnosisParams;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
) {
    var motion = vec4<f32>();
    var turning = vec4<f32>();
    var place = vec4<f32>();
    //% if potentials
    // The fourth entry: sum m phi of the external field.
    var outside = 0.0;
    //% endif
    for (var i = id.x; i < params.count; i += workgroups.x * THREADS) {
        let position = positions[i].xyz;
        let velocity = velocities[i].xyz;
        let mass = shares[i];
        var potential = 0.0;
        for (var slice = 0u; slice < params.slices; slice += 1u) {
            potential += partial_sums[slice * params.count + i].w;
        }
        motion += mass * vec4(velocity, dot(velocity, velocity));
        turning += mass * vec4(cross(position, velocity), potential);
        place += mass * vec4(position, 1.0);
        //% if potentials
        outside += mass * external_potential(position);
        //% endif
    }
    totals[{{ entries }}u * id.x] = motion;
    totals[{{ entries }}u * id.x + 1u] = turning;
    totals[{{ entries }}u * id.x + 2u] = place;
    //% if potentials
    totals[{{ entries }}u * id.x + 3u] = vec4(outside, 0.0, 0.0, 0.0);
    //% endif
}
