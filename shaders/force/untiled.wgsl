// The same loop without workgroup memory: each thread reads every source from the storage buffer.
// The baseline that tiling is measured against. All threads of a workgroup read the same source at
// the same time, so a cache can serve them; on such devices, and on a CPU, this may be the faster one.
// r, u and s as in all_pairs.wgsl; the sums are cut into blocks of p sources, with the same order.
//% include "body.wgsl"
//% include "force/bindings.wgsl"
//% include "interaction/gravity.wgsl"
//% if then_step
//% include "integrate/drift.wgsl"
//% endif

@compute @workgroup_size(P, 1, 1)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
) {
//% include "force/begin.wgsl"
    for (var block_begin = begin; block_begin < end; block_begin += P) {
//% for k in range(r)
        var sum_{{ k }} = vec3<f32>(0.0);
//% if potential
        var potential_{{ k }} = 0.0;
//% endif
//% endfor
        var j = block_begin;
        let block_end = min(block_begin + P, end);
        // Whole turns of u first, then the rest of the last block one by one.
        for (; j + {{ u - 1 }}u < block_end; j += {{ u }}u) {
//% for copy in range(u)
            let source_{{ copy }} = sources[j + {{ copy }}u];
//% for k in range(r)
            sum_{{ k }} = attract(sum_{{ k }}, sink_{{ k }}.xyz, source_{{ copy }});
//% if potential
            potential_{{ k }} = potential_of(potential_{{ k }}, sink_{{ k }}.xyz, source_{{ copy }},
                j + {{ copy }}u == itself_{{ k }});
//% endif
//% endfor
//% endfor
        }
//% if u > 1
        for (; j < block_end; j += 1u) {
            let source = sources[j];
//% for k in range(r)
            sum_{{ k }} = attract(sum_{{ k }}, sink_{{ k }}.xyz, source);
//% if potential
            potential_{{ k }} = potential_of(potential_{{ k }}, sink_{{ k }}.xyz, source, j == itself_{{ k }});
//% endif
//% endfor
        }
//% endif
//% for k in range(r)
        total_{{ k }} += sum_{{ k }};
//% if potential
        potential_total_{{ k }} += potential_{{ k }};
//% endif
//% endfor
    }

//% include "force/end.wgsl"
}
