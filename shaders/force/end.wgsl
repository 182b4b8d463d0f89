// The end of both force kernels: the first of the threads that share a sink writes the totals, or makes the
// step of leapfrog.wgsl with them, with the same two additions kept apart in the same way.
//% for k in range(r)
    if local.y == 0u && sink_index_{{ k }} < sink_end {
//% if then_step
//% if r > 1
        let old_{{ k }} = velocities[sink_index_{{ k }}];
//% endif
        var velocity_{{ k }} = fma(total_{{ k }}, vec3(params.close_kick), old_{{ k }}.xyz);
        velocity_{{ k }} =
            bitcast<vec3<f32>>(bitcast<vec3<u32>>(velocity_{{ k }}) ^ vec3(params.zero));
        velocity_{{ k }} = fma(total_{{ k }}, vec3(params.open_kick), velocity_{{ k }});
        let next_{{ k }} = drifted(sink_{{ k }}, velocity_{{ k }}, params.drift, params.zero);
        velocities[sink_index_{{ k }}] = vec4(next_{{ k }}.velocity, old_{{ k }}.w);
        new_positions[sink_index_{{ k }}] = next_{{ k }}.position;
//% else
        partial_sums[partial_base + sink_index_{{ k }}] =
            vec4(total_{{ k }}, {% if potential %}potential_total_{{ k }}{% else %}0.0{% endif %});
//% endif
    }
//% endfor
