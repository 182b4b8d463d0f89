// The end of both force kernels: the first of the threads that share a sink writes the totals, or makes the
// step of leapfrog.wgsl with them, with the same two additions kept apart in the same way.
//% for k in range(r)
    if local.y == 0u && sink_index_{{ k }} < sink_end {
//% if then_step
//% if r > 1
        let old_{{ k }} = velocities[sink_index_{{ k }}];
        let rests_{{ k }} = accelerations[sink_index_{{ k }}].w;
//% endif
        let before_{{ k }} = unpacked(rests_{{ k }});
        var velocity_{{ k }} = Fine(old_{{ k }}.xyz, before_{{ k }}.velocity);
        velocity_{{ k }} = kicked(velocity_{{ k }}, total_{{ k }}, params.close_kick, params.zero);
        velocity_{{ k }} = kicked(velocity_{{ k }}, total_{{ k }}, params.open_kick, params.zero);
        let next_{{ k }} =
            drifted(sink_{{ k }}, before_{{ k }}.position, velocity_{{ k }}, params.drift, params.zero);
        velocities[sink_index_{{ k }}] = vec4(next_{{ k }}.velocity, old_{{ k }}.w);
        accelerations[sink_index_{{ k }}].w = next_{{ k }}.rests;
        new_positions[sink_index_{{ k }}] = next_{{ k }}.position;
//% else
        partial_sums[partial_base + sink_index_{{ k }}] =
            vec4(total_{{ k }}, {% if potential %}potential_total_{{ k }}{% else %}0.0{% endif %});
//% endif
    }
//% endfor
