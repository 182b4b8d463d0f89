// Many leapfrog steps in one dispatch, for bodies that all fit one workgroup: positions in workgroup
// memory, velocities and accelerations in registers, barriers instead of dispatches.
// At small N a step takes less time than starting a dispatch; here it costs two barriers.
//   p  sinks side by side; there are at most p * r bodies,
//   q  threads per sink, each with its share of the sources,
//   r  sinks per thread, u interactions per iteration of the unrolled inner loop.
// Kick, drift and pair function are those of leapfrog.wgsl and the force kernels. The first row of
// threads owns the bodies; the others help with the sums. Sums have two levels, blocks of sources and
// rows of threads, in an order that depends only on p, q, u and the number of bodies.
//% include "body.wgsl"
//% include "interaction/gravity.wgsl"
//% include "integrate/drift.wgsl"

@group(0) @binding(0) var<storage, read_write> positions: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> velocities: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> accelerations: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: StepsParams;

const P: u32 = {{ p }}u;
const Q: u32 = {{ q }}u;
const THREADS: u32 = P * Q;
// Bodies, plus massless ones that the last row reads past the end.
const CAPACITY: u32 = {{ capacity }}u;
// Sources summed in one register: a multiple of u.
const BLOCK: u32 = {{ block }}u;

var<workgroup> bodies: array<vec4<f32>, CAPACITY>;
//% if q > 1
// Results of the rows after the first: row by row, then by r, then along p.
var<workgroup> shares: array<vec4<f32>, {{ (q - 1) * p * r }}u>;
//% endif

@compute @workgroup_size(P, Q, 1)
fn main(@builtin(local_invocation_id) local: vec3<u32>) {
    let owns = local.y == 0u;
    for (var i = local.y * P + local.x; i < CAPACITY; i += THREADS) {
        var body = vec4<f32>(0.0);
        if i < params.count {
            body = positions[i];
        }
        bodies[i] = body;
    }
//% for k in range(r)
    let index_{{ k }} = local.x + {{ k }}u * P;
    var velocity_{{ k }} = vec4<f32>(0.0);
    var acceleration_{{ k }} = vec3<f32>(0.0);
    var rests_{{ k }} = Rests();
    if owns && index_{{ k }} < params.count {
        velocity_{{ k }} = velocities[index_{{ k }}];
        acceleration_{{ k }} = accelerations[index_{{ k }}].xyz;
        rests_{{ k }} = unpacked(accelerations[index_{{ k }}].w);
    }
//% endfor
    let first_source = local.y * params.per_row;
    let end_source = first_source + params.per_row;
    workgroupBarrier();

    // Zero steps still compute the force once: the accelerations that a run begins with.
    for (var step = 0u; step < max(params.steps, 1u); step += 1u) {
        if params.steps > 0u && owns {
//% for k in range(r)
            if index_{{ k }} < params.count {
                let before = Fine(velocity_{{ k }}.xyz, rests_{{ k }}.velocity);
                let velocity = kicked(before, acceleration_{{ k }}, params.kick, params.zero);
                let next =
                    drifted(bodies[index_{{ k }}], rests_{{ k }}.position, velocity, params.drift, params.zero);
                velocity_{{ k }} = vec4(next.velocity, velocity_{{ k }}.w);
                rests_{{ k }} = unpacked(next.rests);
                bodies[index_{{ k }}] = next.position;
            }
//% endfor
        }
        workgroupBarrier();

//% for k in range(r)
        let sink_{{ k }} = bodies[index_{{ k }}].xyz;
        var total_{{ k }} = vec3<f32>(0.0);
//% endfor
        for (var begin = first_source; begin < end_source; begin += BLOCK) {
//% for k in range(r)
            var sum_{{ k }} = vec3<f32>(0.0);
//% endfor
            let block_end = min(begin + BLOCK, end_source);
            for (var j = begin; j < block_end; j += {{ u }}u) {
//% for copy in range(u)
                let source_{{ copy }} = bodies[j + {{ copy }}u];
//% for k in range(r)
                sum_{{ k }} = attract(sum_{{ k }}, sink_{{ k }}, source_{{ copy }}, params.softening_squared);
//% endfor
//% endfor
            }
//% for k in range(r)
            total_{{ k }} += sum_{{ k }};
//% endfor
        }
//% if q > 1
        if !owns {
//% for k in range(r)
            shares[((local.y - 1u) * {{ r }}u + {{ k }}u) * P + local.x] = vec4(total_{{ k }}, 0.0);
//% endfor
        }
//% endif
        // All sums are done: positions may change, and the shares are complete.
        workgroupBarrier();
        if owns {
//% for k in range(r)
//% if q > 1
            for (var row = 0u; row < Q - 1u; row += 1u) {
                total_{{ k }} += shares[(row * {{ r }}u + {{ k }}u) * P + local.x].xyz;
            }
//% endif
            acceleration_{{ k }} = total_{{ k }};
            if params.steps > 0u {
                // The kick that ends a step and the next one remain two additions, as in leapfrog.wgsl:
                // the bits do not depend on how many steps a dispatch takes.
                let before = Fine(velocity_{{ k }}.xyz, rests_{{ k }}.velocity);
                let velocity = kicked(before, total_{{ k }}, params.kick, params.zero);
                velocity_{{ k }} = vec4(velocity.value, velocity_{{ k }}.w);
                rests_{{ k }}.velocity = velocity.rest;
            }
//% endfor
        }
    }

//% for k in range(r)
    if owns && index_{{ k }} < params.count {
        positions[index_{{ k }}] = bodies[index_{{ k }}];
        velocities[index_{{ k }}] = velocity_{{ k }};
        accelerations[index_{{ k }}] = vec4(acceleration_{{ k }}, packed(rests_{{ k }}));
    }
//% endfor
}
