// The same loop without workgroup memory: each thread reads every source from the storage buffer.
// This is the baseline that tiling is measured against. All threads of a workgroup read the same source
// at the same time, so a cache can serve them; on such devices, and on a CPU, this kernel may be faster.
// The sources may also come in uniform buffers, one after the other, padded to whole blocks of p; or each thread loads
// one into registers, from where the others of its subgroup read it.
// r, u and s as in all_pairs.wgsl; sums are formed over blocks of p sources, in the same order.
//% include "body.wgsl"
//% include "force/bindings.wgsl"
//% include "interaction/gravity.wgsl"
//% if vec2
//% include "interaction/gravity_both.wgsl"
//% endif
//% if then_step
//% include "integrate/drift.wgsl"
//% endif

@compute @workgroup_size(P, 1, 1)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
//% if broadcast
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
//% endif
) {
//% include "force/begin.wgsl"
    for (var block_begin = begin; block_begin < end; block_begin += P) {
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
//% if not uniform
        let block_end = min(block_begin + P, end);
//% endif
//% if potential
        // A body is left out of its own potential. Only blocks that may hold a sink of this thread check for it.
        let first = {{ "bitcast<u32>(sources[block_begin].w)" if one_mass else ("window_begin + " if uniform else "") ~ "block_begin" }};
        let span = {{ "bitcast<u32>(sources[" ~ ("block_begin + P" if uniform else "block_end") ~ " - 1u].w) - first" if one_mass else "P - 1u" }};
        let is_apart = {% for k in range(r) %}{{ " && " if k > 0 }}itself_{{ k }} - first > span{% endfor %};
//% endif
//% for apart in ([true, false] if potential else [true])
//% set turns = u if apart else 1
//% if potential
        {{ "if is_apart" if apart else "} else" }} {
//% endif
//% if broadcast
        // Threads load one source each, and all of a subgroup read it from its register. Past the end is a massless
        // body. P is a multiple of the subgroup's size, which is one of u.
        for (var j = block_begin; j < block_end; j += subgroup_size) {
            var own = vec4<f32>(0.0);
            if j + subgroup_lane < block_end {
                own = sources[j + subgroup_lane];
            }
            for (var turn = 0u; turn < subgroup_size; turn += {{ turns }}u) {
//% elif uniform
        // Blocks are padded, so there is no remainder.
        for (var j = block_begin; j < block_begin + P; j += {{ turns }}u) {
//% else
        var j = block_begin;
        // First whole groups of u, then the rest of the last block one by one.
        for (; j + {{ turns - 1 }}u < block_end; j += {{ turns }}u) {
//% endif
//% for copy in range(turns)
//% if broadcast
            let source_{{ copy }} = subgroupShuffle(own, turn + {{ copy }}u);
//% else
            let source_{{ copy }} = sources[j + {{ copy }}u];
//% endif
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
                {{ "false" if apart else ("bitcast<u32>(source_" ~ copy ~ ".w)" if one_mass else ("window_begin + " if uniform else "") ~ "j + " ~ copy ~ "u") ~ " == itself_" ~ k }});
//% endif
//% endfor
//% endfor
        }
//% if broadcast
        }
//% endif
//% if turns > 1 and not uniform and not broadcast
        for (; j < block_end; j += 1u) {
            let source = sources[j];
//% for k in range(r // 2 if vec2 else 0)
            both_{{ k }} = attract_both(both_{{ k }}, sinks_{{ k }}, source, softening_squared);
//% endfor
//% for k in range(r)
//% if not alone and not vec2
            sum_{{ k }} = attract(sum_{{ k }}, sink_{{ k }}.xyz, source, softening_squared);
//% endif
//% if potential
            potential_{{ k }} = potential_of(potential_{{ k }}, sink_{{ k }}.xyz, source, softening_squared, false);
//% endif
//% endfor
        }
//% endif
//% endfor
//% if potential
        }
//% endif
//% if one_mass
        let mass = block_masses[{{ "(window_begin + block_begin)" if uniform else "block_begin" }} / P];
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

//% include "force/end.wgsl"
}
