// The beginning of both force kernels: this thread's sinks, and their totals so far.
    let softening_squared = params.softening_squared;
//% if then_step
    let first_sink = workgroup.x * SINKS_PER_WORKGROUP + local.x;
    let sink_end = BODIES;
//% else
    let first_sink = params.sink_begin + workgroup.x * SINKS_PER_WORKGROUP + local.x;
    let sink_end = params.sink_end;
    // Sums begin with the first sink; if this wraps around, adding a sink wraps it back.
    let partial_base = workgroup.y * params.sink_count - params.first_sink;
//% endif

    // A lane past the last sink works on the last one and does not write its result.
//% for k in range(r)
    let sink_index_{{ k }} = first_sink + {{ k }}u * P;
    let sink_{{ k }} = sinks[min(sink_index_{{ k }}, sink_end - 1u)];
    var total_{{ k }} = vec3<f32>(0.0);
//% if then_step and r == 1
    // Loaded early, so that they have arrived when they are needed.
    var old_0 = vec4<f32>(0.0);
    var rests_0 = 0.0;
    if local.y == 0u && sink_index_0 < sink_end {
        old_0 = velocities[sink_index_0];
        rests_0 = accelerations[sink_index_0].w;
    }
//% endif
//% if potential
    let itself_{{ k }} = {{ "NUMBERS | " if one_mass }}source_index_of(sink_index_{{ k }}, sink_{{ k }});
    var potential_total_{{ k }} = 0.0;
//% endif
//% if not then_step
    // A later chunk of the sources continues from the totals of the earlier ones.
    if params.chunk_begin > 0u && local.y == 0u && sink_index_{{ k }} < sink_end {
        let before = partial_sums[partial_base + sink_index_{{ k }}];
        total_{{ k }} = before.xyz;
//% if potential
        potential_total_{{ k }} = before.w;
//% endif
    }
//% endif
//% endfor

//% for k in range(r // 2 if vec2 else 0)
    let sinks_{{ k }} = transpose(mat2x3(sink_{{ 2 * k }}.xyz, sink_{{ 2 * k + 1 }}.xyz));
//% endfor
//% if then_step
    let begin = 0u;
    let end = BODIES;
//% elif uniform
    // This dispatch reads one window of the sources, of which each slice takes a part.
    let part = params.chunk_end - params.chunk_begin;
    let window_begin = params.chunk_begin * {{ slices }}u;
    let begin = workgroup.y * part;
    let end = min(begin + part, params.source_count - window_begin);
//% else
    let slice_begin = workgroup.y * params.slice_length;
    let slice_end = min(slice_begin + params.slice_length, params.source_count);
    let begin = slice_begin + params.chunk_begin;
    let end = min(slice_begin + params.chunk_end, slice_end);
//% endif
