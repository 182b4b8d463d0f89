// All-pairs gravity in tiles (GPU Gems 3, chapter 31, listings 31-2 and 31-3), with
//   p  sinks per workgroup row, and sources per thread and tile,
//   q  threads per sink: the tile holds p * q sources, of which each of the q rows of threads takes p,
//      interleaved: rows of one subgroup then read neighbouring sources, which lie in different banks,
//   r  sinks per thread in registers, so that each read of the tile serves r interactions,
//   u  interactions per iteration of the unrolled inner loop,
//   s  slices of the sources, one per workgroup in y; their partial sums are added by the next kernel.
// Sums have two levels, within a tile in one register and over tiles in another, so that the rounding
// error grows with the number of tiles, not of bodies. Their order depends only on p, q and s.
//% include "body.wgsl"
//% include "force/bindings.wgsl"
//% include "interaction/gravity.wgsl"
//% if vec2
//% include "interaction/gravity_both.wgsl"
//% endif
//% if then_step
//% include "integrate/drift.wgsl"
//% endif

const TILE: u32 = P * Q;
// Tiles loaded together: the first is processed while the others are still loading.
const LOADED: u32 = {{ loaded }}u;
var<workgroup> tile: array<vec4<f32>, LOADED * TILE>;

@compute @workgroup_size(P, Q, 1)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
) {
    let lane = local.y * P + local.x;
//% include "force/begin.wgsl"
    for (var tiles_begin = begin; tiles_begin < end; tiles_begin += LOADED * TILE) {
//% if loaded > 1
        // Nothing after the last tile overwrites it, which saves a barrier.
        if tiles_begin > begin {
            workgroupBarrier();
        }
//% endif
        // Past the end a massless body is loaded, so that every lane reaches every barrier.
//% for load in range(loaded)
        let j_{{ load }} = tiles_begin + {{ load }}u * TILE + lane;
        var body_{{ load }} = vec4<f32>(0.0);
        if j_{{ load }} < end {
            body_{{ load }} = sources[j_{{ load }}];
        }
//% endfor
//% for load in range(loaded)

        tile[{{ load }}u * TILE + lane] = body_{{ load }};
        workgroupBarrier();
        {% if load > 0 %}if tiles_begin + {{ load }}u * TILE < end {% endif %}{
//% for k in range(r // 2 if vec2 else 0)
            var both_{{ k }} = mat3x2<f32>();
//% endfor
//% for k in range(r)
//% if not alone and not vec2
            var sum_{{ k }} = vec3<f32>(0.0);
//% endif
//% if potential
            var potential_{{ k }} = 0.0;
//% endif
//% endfor
//% if potential
            // A body is left out of its own potential. Only tiles that may hold a sink of this thread check for it.
            let first_{{ load }} = {{ "bitcast<u32>(tile[" ~ load ~ "u * TILE].w)" if one_mass else "tiles_begin + " ~ load ~ "u * TILE" }};
            let span_{{ load }} = {{ "bitcast<u32>(tile[" ~ load ~ "u * TILE + TILE - 1u].w) - first_" ~ load if one_mass else "TILE - 1u" }};
            let is_apart_{{ load }} = {% for k in range(r) %}{{ " && " if k > 0 }}itself_{{ k }} - first_{{ load }} > span_{{ load }}{% endfor %};
//% endif
//% for apart in ([true, false] if potential else [true])
//% set turns = u if apart else 1
//% if potential
            {{ "if is_apart_" ~ load if apart else "} else" }} {
//% endif
            for (var column = 0u; column < P; column += {{ turns }}u) {
//% for copy in range(turns)
                let slot_{{ copy }} = {{ load }}u * TILE + (column + {{ copy }}u) * Q + local.y;
                let source_{{ copy }} = tile[slot_{{ copy }}];
//% for k in range(r // 2 if vec2 else 0)
                both_{{ k }} = attract_both(both_{{ k }}, sinks_{{ k }}, source_{{ copy }}, softening_squared);
//% endfor
//% for k in range(r)
//% if not alone and not vec2
                sum_{{ k }} = attract(sum_{{ k }}, sink_{{ k }}.xyz, source_{{ copy }}, softening_squared);
//% endif
//% if potential
                potential_{{ k }} = potential_of(potential_{{ k }}, sink_{{ k }}.xyz, source_{{ copy }},
                    softening_squared,
                    {{ "false" if apart else ("bitcast<u32>(source_" ~ copy ~ ".w)" if one_mass else "tiles_begin + slot_" ~ copy) ~ " == itself_" ~ k }});
//% endif
//% endfor
//% endfor
            }
//% endfor
//% if potential
            }
//% endif
//% if one_mass
            let mass = block_masses[tiles_begin / TILE + {{ load }}u];
//% endif
//% for k in range(r)
//% if vec2
//% set both = "both_" ~ k // 2
            let sum_{{ k }} = vec3({{ both }}[0][{{ k % 2 }}], {{ both }}[1][{{ k % 2 }}], {{ both }}[2][{{ k % 2 }}]);
//% endif
//% if not alone
            total_{{ k }} {{ "= fma(vec3(mass), sum_" ~ k ~ ", total_" ~ k ~ ")" if one_mass else "+= sum_" ~ k }};
//% endif
//% if potential
            potential_total_{{ k }} {{ "= fma(-mass, potential_" ~ k ~ ", potential_total_" ~ k ~ ")" if one_mass else "+= potential_" ~ k }};
//% endif
//% endfor
        }
//% endfor
//% if loaded == 1
        workgroupBarrier();
//% endif
    }

//% if q > 1
    // The q threads of a sink pass their shares to the first, which adds them in order. (A tree of sums takes
    // as long on an H200: independent reads overlap, barriers do not.)
//% for k in range(r)
    tile[lane] = vec4(total_{{ k }}, {% if potential %}potential_total_{{ k }}{% else %}0.0{% endif %});
    workgroupBarrier();
    if local.y == 0u {
        for (var row = 1u; row < Q; row += 1u) {
            let share = tile[row * P + local.x];
            total_{{ k }} += share.xyz;
//% if potential
            potential_total_{{ k }} += share.w;
//% endif
        }
    }
//% if not loop.last
    workgroupBarrier();
//% endif
//% endfor
//% endif
//% include "force/end.wgsl"
}
