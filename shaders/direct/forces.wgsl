// Forces with derivatives of all sources on some sinks, in tiles, with
//   p  sinks side by side, q rows of threads that share them, r sinks per thread,
//   u  interactions per iteration of the unrolled inner loop; their sum is formed first and added to the
//      totals once per iteration: in double-single only the totals are pairs,
//   l  sources that each thread brings to a tile; the rows take its sources in turns.
// If refined, everything after the differences of positions is computed in pairs, and interactions are added one by
// one. Each slice of the sources is a segment with its own sums, which its rows form together at its end; sum.wgsl adds
// them. When lists are made, each row of each slice is a segment, which has its own part of the list.
//% if fill
// This variant computes no force: it writes the lists of sources within each sink's radius.
//% endif
//% include "direct/params.wgsl"
//% include "direct/arithmetic.wgsl"
//% include "direct/bindings.wgsl"
//% if not fill
//% include "interaction/hermite.wgsl"
//% if refined
//% include "direct/pairs.wgsl"
//% include "interaction/refined.wgsl"
//% endif
//% endif

const P: u32 = {{ p }}u;
const Q: u32 = {{ q }}u;
const SINKS_PER_WORKGROUP: u32 = {{ p * r }}u;
const TILE: u32 = {{ p * q * l }}u;
const COLUMNS: u32 = {{ p * l }}u;
//% if meets
// The power of two at which the pairwise sum over rows begins.
const HALF: u32 = {{ half }}u;
//% endif

//% if neighbours and meets
var<workgroup> near: array<Neighbours, P * Q>;
//% endif
// The parts of a record that this variant needs.
//% for part, _ in parts
var<workgroup> tile_{{ part }}: array<Real4, TILE>;
//% endfor

@compute @workgroup_size(P, Q, 1)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
) {
    let lane = local.y * P + local.x;
//% if meets
    // Where a row saves its sums for the next chunk of its slice: after the segments.
    let segment = (params.segments + workgroup.y * Q + local.y) * params.sink_count;
    let slice_segment = workgroup.y * params.sink_count;
//% else
    let segment = (workgroup.y * Q + local.y) * params.sink_count;
//% endif
    let first_sink = params.sink_begin + workgroup.x * SINKS_PER_WORKGROUP + local.x;
//% for k in range(r)

    // A lane past the last sink works on the last one and does not write its result.
    let sink_index_{{ k }} = first_sink + {{ k }}u * P;
    let sink_{{ k }} = min(sink_index_{{ k }}, params.sink_end - 1u);
    let itself_{{ k }} = itself[params.itself_at + sink_{{ k }}];
//% for part, word in parts
    let sink_{{ part }}_{{ k }} = sinks[params.sinks_at + sink_{{ k }} * PARTS + {{ word }}u];
//% endfor
//% if not fill
    var force_{{ k }} = Real4();
//% if order >= 1
    var jerk_{{ k }} = Real3();
//% endif
//% if refined
    let out_{{ k }} = abs(sink_position_{{ k }}.xyz);
    let reach_{{ k }} = max(max(out_{{ k }}.x, out_{{ k }}.y), out_{{ k }}.z);
//% if order >= 1
    var pull_{{ k }} = 0.0;
//% endif
//% endif
//% if order >= 2
    var snap_{{ k }} = Real3();
//% endif
//% if pairs
    var force_low_{{ k }} = vec4<f32>();
//% if order >= 1
    var jerk_low_{{ k }} = vec3<f32>();
//% endif
//% if order >= 2
    var snap_low_{{ k }} = vec3<f32>();
//% endif
//% endif
//% endif
//% if neighbours
    var nearest_distance_{{ k }} = FAR;
    var nearest_{{ k }} = FOREIGN;
    var within_{{ k }} = 0u;
//% endif
//% if fill
    var next_{{ k }} = u32(neighbours[segment + sink_{{ k }}].w);
//% else
    // A later chunk of the sources continues from the totals of the earlier ones.
    if params.chunk_begin > 0u {
        let at = (segment + sink_{{ k }}) * SUMS;
//% set step = 2 if pairs else 1
        force_{{ k }} = partial_sums[at];
//% if order >= 1
        jerk_{{ k }} = partial_sums[at + {{ step }}u].xyz;
//% endif
//% if refined and order >= 1
        pull_{{ k }} = partial_sums[at + {{ step }}u].w;
//% endif
//% if order >= 2
        snap_{{ k }} = partial_sums[at + {{ 2 * step }}u].xyz;
//% endif
//% if pairs
        force_low_{{ k }} = partial_sums[at + 1u];
//% if order >= 1
        jerk_low_{{ k }} = partial_sums[at + 3u].xyz;
//% endif
//% if order >= 2
        snap_low_{{ k }} = partial_sums[at + 5u].xyz;
//% endif
//% endif
//% if neighbours
        let before = neighbours[segment + sink_{{ k }}];
        nearest_distance_{{ k }} = distance_in(before);
        nearest_{{ k }} = u32(before.y);
        within_{{ k }} = u32(before.z);
//% endif
    }
//% endif
//% endfor

    let slice_begin = workgroup.y * params.slice_length;
    let slice_end = min(slice_begin + params.slice_length, params.source_count);
    let end = min(slice_begin + params.chunk_end, slice_end);
    for (var tile_begin = slice_begin + params.chunk_begin; tile_begin < end; tile_begin += TILE) {
//% for load in range(l)
        {
            let slot = {{ load }}u * P * Q + lane;
            let j = tile_begin + slot;
            if j < end {
//% for part, word in parts
                tile_{{ part }}[slot] = sources[j * PARTS + {{ word }}u];
//% endfor
            } else {
                // Past the end, a massless body far away, so that every lane reaches every barrier.
                tile_position[slot] = Real4(NOWHERE, NOWHERE, NOWHERE, Real(0.0));
//% for part, _ in parts if part != "position"
                tile_{{ part }}[slot] = Real4();
//% endfor
            }
        }
//% endfor
        workgroupBarrier();

        for (var column = 0u; column < COLUMNS; column += {{ u }}u) {
            let first = {{ "column" if q == 1 else "column * Q + local.y" }};
//% if not fill
//% for k in range(r)
            var sums_{{ k }} = Sums();
//% endfor
//% endif
//% for copy in range(u)
            let slot_{{ copy }} = first + {{ copy }}u * Q;
            let number_{{ copy }} = tile_begin + slot_{{ copy }};
//% for part, _ in parts
            let {{ part }}_{{ copy }} = tile_{{ part }}[slot_{{ copy }}];
//% endfor
//% for k in range(r)
            {
//% if refined
                let loose = loose_difference(sink_position_{{ k }}.xyz, sink_position_low_{{ k }}.xyz,
                    position_{{ copy }}.xyz, position_low_{{ copy }}.xyz);
                let apart = tidied(loose.high, loose.low);
                let towards = apart.high;
//% elif pairs
                let towards = difference(sink_position_{{ k }}.xyz, sink_position_low_{{ k }}.xyz,
                    position_{{ copy }}.xyz, position_low_{{ copy }}.xyz);
//% else
                let towards = position_{{ copy }}.xyz - sink_position_{{ k }}.xyz;
//% endif
                let distance_squared = fma(towards.z, towards.z,
                    fma(towards.y, towards.y, towards.x * towards.x));
                let is_itself = number_{{ copy }} == itself_{{ k }};
//% if close
                // The nearest body needs more than f32 positions, whose rounding would swap close ones.
                let apart = difference(sink_position_{{ k }}.xyz, sink_position_low_{{ k }}.xyz,
                    position_{{ copy }}.xyz, position_low_{{ copy }}.xyz);
                let near_squared = select(fma(apart.z, apart.z, fma(apart.y, apart.y, apart.x * apart.x)), FAR, is_itself);
//% elif neighbours or fill
                let near_squared = select(distance_squared, FAR, is_itself);
//% endif
//% if not fill
//% if not refined
                sums_{{ k }} = attract(sums_{{ k }}, towards, distance_squared,
                    // A body, recognised by its number, does not attract itself.
                    select(position_{{ copy }}.w, Real(0.0), is_itself)
//% if order >= 1
                    , velocity_{{ copy }}.xyz - sink_velocity_{{ k }}.xyz
//% endif
//% if order >= 2
                    , acceleration_{{ copy }}.xyz - sink_acceleration_{{ k }}.xyz
//% endif
                );
//% endif
//% if refined
                let pair = attract_refined(apart, vec2(position_{{ copy }}.w, position_low_{{ copy }}.w), is_itself, reach_{{ k }}
//% if order >= 1
                    , loose_difference(sink_velocity_{{ k }}.xyz, sink_velocity_low_{{ k }}.xyz,
                        velocity_{{ copy }}.xyz, velocity_low_{{ copy }}.xyz)
//% endif
//% if order >= 2
                    , loose_difference(sink_acceleration_{{ k }}.xyz, sink_acceleration_low_{{ k }}.xyz,
                        acceleration_{{ copy }}.xyz, acceleration_low_{{ copy }}.xyz)
//% endif
                );
                sums_{{ k }}.potential += pair.potential;
                let more = rounded_sum_3(force_{{ k }}.xyz, pair.acceleration.high);
                let lost = lost_3(force_{{ k }}.xyz, pair.acceleration.high, more) + pair.acceleration.low;
                force_{{ k }} = vec4(more, force_{{ k }}.w);
                force_low_{{ k }} += vec4(lost, 0.0);
//% if order >= 1
                let more_jerk = rounded_sum_3(jerk_{{ k }}, pair.jerk.high);
                jerk_low_{{ k }} += lost_3(jerk_{{ k }}, pair.jerk.high, more_jerk) + pair.jerk.low;
                jerk_{{ k }} = more_jerk;
                pull_{{ k }} += pair.pull;
//% endif
//% if order >= 2
                let more_snap = rounded_sum_3(snap_{{ k }}, pair.snap.high);
                snap_low_{{ k }} += lost_3(snap_{{ k }}, pair.snap.high, more_snap) + pair.snap.low;
                snap_{{ k }} = more_snap;
//% endif
//% endif
//% endif
//% if neighbours
                // Later sources have higher numbers: among equals the lowest is kept.
                let is_nearer = near_squared < nearest_distance_{{ k }};
                nearest_distance_{{ k }} = select(nearest_distance_{{ k }}, near_squared, is_nearer);
                nearest_{{ k }} = select(nearest_{{ k }}, number_{{ copy }}, is_nearer);
//% if listed
                within_{{ k }} += select(0u, 1u, near_squared <= sink_position_{{ k }}.w);
//% endif
//% endif
//% if fill
                if near_squared <= sink_position_{{ k }}.w && sink_index_{{ k }} < params.sink_end {
                    if next_{{ k }} < params.capacity {
                        lists[sink_{{ k }} * params.capacity + next_{{ k }}] = number_{{ copy }};
                    }
                    next_{{ k }} += 1u;
                }
//% endif
            }
//% endfor
//% endfor
//% if not fill
//% for k in range(r)
//% for name, n in [["force", 4], ["jerk", 3], ["snap", 3]][:1 if refined else order + 1]
            {
//% if name == "force"
                let sum = Real4({{ "Real3()" if refined else "sums_" ~ k ~ ".acceleration" }}, sums_{{ k }}.potential);
//% elif refined
                let sum = Real3();
//% else
                let sum = sums_{{ k }}.{{ name }};
//% endif
//% if pairs
                let rounded = rounded_sum_{{ n }}({{ name }}_{{ k }}, sum);
                {{ name }}_low_{{ k }} += lost_{{ n }}({{ name }}_{{ k }}, sum, rounded);
                {{ name }}_{{ k }} = rounded;
//% else
                {{ name }}_{{ k }} += sum;
//% endif
            }
//% endfor
//% endfor
//% endif
        }
        workgroupBarrier();
    }
//% if meets

    // At the end of a slice its rows add up their results pairwise, in the memory of the tile.
    let is_last = params.chunk_end >= params.slice_length;
    if is_last {
//% for k in range(r)
//% for name in ["force", "jerk", "snap"][:order + 1]
        {
//% set whole = name ~ "_" ~ k if name == "force" else "Real4(" ~ name ~ "_" ~ k ~ ", " ~ ("pull_" ~ k if refined and name == "jerk" else "Real(0.0)") ~ ")"
            var mine = {{ whole }};
//% if pairs
            var mine_low = {{ "force_low_" ~ k if name == "force" else "vec4(" ~ name ~ "_low_" ~ k ~ ", 0.0)" }};
//% endif
            for (var apart = HALF; apart > 0u; apart /= 2u) {
                tile_position[lane] = mine;
//% if pairs
                tile_position_low[lane] = mine_low;
//% endif
                workgroupBarrier();
                if local.y < apart && local.y + apart < Q {
                    let other = tile_position[lane + apart * P];
//% if pairs
                    let rounded = rounded_sum_4(mine, other);
                    mine_low += lost_4(mine, other, rounded) + tile_position_low[lane + apart * P];
                    mine = rounded;
//% else
                    mine += other;
//% endif
                }
                workgroupBarrier();
            }
//% if name == "force"
            force_{{ k }} = mine;
//% else
            {{ name }}_{{ k }} = mine.xyz;
//% endif
//% if refined and name == "jerk"
            pull_{{ k }} = mine.w;
//% endif
//% if pairs
            {{ name }}_low_{{ k }} = mine_low{{ "" if name == "force" else ".xyz" }};
//% endif
        }
//% endfor
//% if neighbours
        {
            var mine = neighbours_of(nearest_distance_{{ k }}, nearest_{{ k }}, 0u, 0u);
            for (var apart = HALF; apart > 0u; apart /= 2u) {
                near[lane] = mine;
                workgroupBarrier();
                if local.y < apart && local.y + apart < Q {
                    mine = nearer(mine, near[lane + apart * P]);
                }
                workgroupBarrier();
            }
            nearest_distance_{{ k }} = distance_in(mine);
            nearest_{{ k }} = u32(mine.y);
        }
//% endif
//% endfor
    }
    let home = select(segment, slice_segment, is_last);
    let is_kept = !is_last || local.y == 0u;
//% else
    let home = segment;
    let is_kept = true;
//% endif
//% for k in range(r)

    if is_kept && sink_index_{{ k }} < params.sink_end {
//% if fill
        let before = neighbours[segment + sink_{{ k }}];
        neighbours[segment + sink_{{ k }}] =
            neighbours_of(distance_in(before), u32(before.y), u32(before.z), next_{{ k }});
//% else
        let at = (home + sink_{{ k }}) * SUMS;
//% set step = 2 if pairs else 1
        partial_sums[at] = force_{{ k }};
//% if order >= 1
        partial_sums[at + {{ step }}u] = Real4(jerk_{{ k }}, {{ "pull_" ~ k if refined else "Real(0.0)" }});
//% endif
//% if order >= 2
        partial_sums[at + {{ 2 * step }}u] = Real4(snap_{{ k }}, Real(0.0));
//% endif
//% if pairs
        partial_sums[at + 1u] = force_low_{{ k }};
//% if order >= 1
        partial_sums[at + 3u] = vec4(jerk_low_{{ k }}, 0.0);
//% endif
//% if order >= 2
        partial_sums[at + 5u] = vec4(snap_low_{{ k }}, 0.0);
//% endif
//% endif
//% if neighbours
        neighbours[home + sink_{{ k }}] =
            neighbours_of(nearest_distance_{{ k }}, nearest_{{ k }}, within_{{ k }}, 0u);
//% endif
//% endif
    }
//% endfor
}
