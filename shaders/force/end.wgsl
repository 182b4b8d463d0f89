// The end of both force kernels: the totals, by the first of the threads that share a sink.
//% for k in range(r)
    if local.y == 0u && sink_index_{{ k }} < params.sink_end {
        partial_sums[partial_base + sink_index_{{ k }}] =
            vec4(total_{{ k }}, {% if potential %}potential_total_{{ k }}{% else %}0.0{% endif %});
    }
//% endfor
