//% if enabled
enable subgroups;
//% endif
// Forces on 64 sinks that are neighbours on the curve: one workgroup walks through the cells for all of them
// (Barnes 1990), turn by turn. A turn takes up to 32 cells from the stack. Each is opened, or accepted and put on a
// list; bodies of opened leaves go on another list. Whenever a list holds 32 entries they become a tile in workgroup
// memory, which is applied to all sinks. A cell whose quadrupole does not matter goes on the list of bodies.
// A cell that is far enough for an expansion about the middle of the group goes on a list for `tree/far.wgsl`; if that
// list is full, it acts like the others.
//
// The stack cannot overflow: a turn pushes at most 32 entries and takes at least 4; with more than 208 on it a turn
// takes one, which adds at most 7 per level, 147 in all.
//
// The order of the sums depends only on the tree and the group, not on how groups are distributed over dispatches, nor
// on LANES. No workgroup waits for another.
//% include "tree/common.wgsl"
//% include "tree/cell.wgsl"
//% include "tree/sinks.wgsl"
//% include "tree/opening/" ~ rule ~ ".wgsl"
//% if points or expands
//% include "tree/accepted.wgsl"
//% endif
//% include "interaction/gravity.wgsl"
//% include "tree/pull.wgsl"

// Positions and masses in the order of the curve, and the bodies' numbers.
@group(0) @binding(0) var<storage, read> sources: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> cell_open: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> cell_force: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> state: TreeState;
//% if output == "lists"
// For each group the numbers of near cells, bodies and far cells that act on it, the cells, the far ones from the end,
// and after MOST_CELLS the bodies.
@group(0) @binding(5) var<storage, read_write> lists: array<u32>;
const MOST_CELLS = {{ most_cells }}u;
const LENGTH = 3u + MOST_CELLS + {{ most_bodies }}u;
//% else
@group(0) @binding(5) var<storage, read_write> partial_sums: array<vec4<f32>>;
//% endif
@group(0) @binding(6) var<storage, read> groups: array<vec4<f32>>;
//% if rule == "octgrav"
@group(0) @binding(7) var<storage, read> cell_box: array<vec4<f32>>;
@group(0) @binding(8) var<uniform> params: TreeParams;
//% elif expands and output != "lists"
@group(0) @binding(7) var<storage, read_write> far_cells: array<u32>;
@group(0) @binding(8) var<uniform> params: TreeParams;
const FAR_LENGTH = {{ far_length }}u;
//% else
@group(0) @binding(7) var<uniform> params: TreeParams;
//% endif

//% include "tree/walking.wgsl"

const LANES = {{ lanes }}u;
// Cells of a turn, and entries of a tile.
const UNIT = 32u;
const MOST = 384u;
const NARROW = 208u;
//% if expands
// The most far cells.
const FAR_ROOM = {{ far_length - 1 }}u;
//% endif
// On the list of bodies: the number of a cell that acts as a point.
const IS_CELL = 0x80000000u;

var<workgroup> stack: array<u32, MOST>;
// This turn's cells.
var<workgroup> turn: array<u32, UNIT>;
// Cells that are accepted and wait for a full tile.
var<workgroup> accepted: array<u32, 64>;
// This turn's leaves and points: their first bodies. How many they hold is in `sums`, and then how many there are up to each.
var<workgroup> leaf_first: array<u32, UNIT>;
// Bodies of earlier leaves that wait for a full tile.
var<workgroup> rest: array<u32, UNIT>;
var<workgroup> tile: array<vec4<f32>, 96>;
//% if expands
// The square of the largest distance of a sink from the middle, as bits: those of positive numbers have their order.
var<workgroup> extent: atomic<u32>;
//% endif
//% if potential
var<workgroup> tile_bodies: array<u32, UNIT>;
//% endif
// Values shared with all lanes.
var<workgroup> lane_totals: vec4<u32>;
//% include "tree/lanes/" ~ lanes_tell ~ ".wgsl"

// The k-th among the waiting bodies followed by those of this turn's leaves; `sums` holds the number of bodies up to each
// leaf.
fn listed(k: u32, waiting: u32) -> u32 {
    if k < waiting {
        return rest[k];
    }
    let place = k - waiting;
    var leaf = 0u;
    for (var step = UNIT / 2u; step > 0u; step = step >> 1u) {
        if sums[SUMS + leaf + step - 1u] <= place {
            leaf += step;
        }
    }
    var before = 0u;
    if leaf > 0u {
        before = sums[SUMS + leaf - 1u];
    }
    return leaf_first[leaf] + place - before;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = params.group_begin + workgroup.y * workgroups.x + workgroup.x;
    let inside = state.inside;
    let outside = state.outside;
    let sinks = sinks_of(group);
    let begin = sinks.x;
    let end = sinks.y;
    if begin == end {
        return;
    }
    //% if output == "counts"
    var turns = 0u;
    var looked_at = 0u;
    var met_cells = 0u;
    var met_bodies = 0u;
    //% endif
    //% if output == "share"
    // The cost of this walk, in tiles of bodies.
    var work = 0u;
    //% endif
    let cells = state.cells;

    // A lane past the last sink works on the last one and does not write its result.
    //% for k in range(r)
    let sink_index_{{ k }} = begin + lane + {{ k }}u * LANES;
    let from_{{ k }} = min(sink_index_{{ k }}, end - 1u);
    let sink_{{ k }} = sources[from_{{ k }}].xyz;
    var total_{{ k }} = vec3(0.0);
    //% if potential
    var potential_total_{{ k }} = 0.0;
    //% endif
    //% endfor
    let low = groups[2u * group].xyz;
    let high = groups[2u * group + 1u].xyz;
    let reach = reach_of(groups[2u * group].w, params.opening);
    //% if points or expands
    let allowance = allowance_of(groups[2u * group].w, params.opening);
    //% endif
    if lane == 0u {
        // The root, an only child.
        stack[0] = 0u;
        //% if expands
        atomicStore(&extent, 0u);
        //% endif
    }
    begin_lanes(lane);
    workgroupBarrier();
    //% if expands
    let middle = 0.5 * (low + high);
    //% for k in range(r)
    let about_{{ k }} = sink_{{ k }} - middle;
    atomicMax(&extent, bitcast<u32>(dot(about_{{ k }}, about_{{ k }})));
    //% endfor
    workgroupBarrier();
    let extent_squared = bitcast<f32>(atomicLoad(&extent));
    let lost = select(0.0, {{ expanded }} * allowance, end - begin >= FEWEST);
    var far_count = 0u;
    //% endif

    var height = min(cells, 1u);
    var waiting = 0u;
    var waiting_cells = 0u;
    var is_first = true;
    //% if expands and output != "lists"
    let far_list = FAR_LENGTH * (group - params.group_begin);
    //% endif
    //% if output == "lists"
    let list = LENGTH * group;
    var told_cells = 0u;
    var told_bodies = 0u;
    //% endif
    loop {
        //% if output == "counts"
        turns += 1u;
        //% elif output == "share"
        work += 1u;
        //% endif
        // Numbers of near cells accepted, cells pushed, leaves opened, and far cells accepted.
        var found = vec4(0u);
        if height > 0u {
            // Takes ranges of children from the top of the stack, for up to 32 cells.
            let taking = select(min(height, UNIT), 1u, height > NARROW);
            var word = 0u;
            var children = 0u;
            if lane < taking {
                word = stack[height - 1u - lane];
                children = children_of(word);
            }
            let after = few_up_to(children, lane);
            if lane < taking && after <= UNIT {
                for (var k = 0u; k < children; k++) {
                    turn[after - children + k] = first_child(word) + k;
                }
                var is_last = lane + 1u == taking;
                if !is_last {
                    is_last = after + children_of(stack[height - 2u - lane]) > UNIT;
                }
                if is_last {
                    lane_totals = vec4(lane + 1u, after, 0u, 0u);
                }
            }
            let taken = workgroupUniformLoad(&lane_totals);
            height -= taken.x;
            //% if output == "counts"
            looked_at += taken.y;
            //% endif

            // One cell for each lane.
            var kind = 0u;
            var cell = 0u;
            var open = vec4(0u);
            if lane < taken.y {
                cell = turn[lane];
                let about = bitcast<vec4<f32>>(cell_open[2u * cell]);
                open = cell_open[2u * cell + 1u];
                let gap = max(max(low - about.xyz, about.xyz - high), vec3(0.0));
                let distance_squared = dot(gap, gap);
                var compared = distance_squared;
                //% if rule == "octgrav"
                let between = max(max(low - cell_box[2u * cell + 1u].xyz, cell_box[2u * cell].xyz - high), vec3(0.0));
                compared = dot(between, between);
                //% endif
                let radius_squared = bitcast<f32>(open.x);
                let far = distance_squared > radius_squared && is_far(compared, reach, about.w, radius_squared);
                // A cell without mass is skipped.
                if about.w >= 0.0 {
                    kind = select(select(2u, 3u, open.y == IS_LEAF), 1u, far);
                }
                //% if points or expands
                if kind == 1u {
                    let trace = cell_force[3u * cell + 1u].w;
                    //% if expands
                    if far_count + UNIT < FAR_ROOM && is_expanded(about.xyz - middle, extent_squared,
                        cell_force[3u * cell].w, trace, lost) {
                        kind = 4u;
                    }
                    //% endif
                    //% if points
                    if kind == 1u && is_point(distance_squared, trace, allowance) {
                        // As a body at the cell's centre of mass.
                        kind = 3u;
                        open.z = cell | IS_CELL;
                        open.w = 1u;
                    }
                    //% endif
                }
                //% endif
            }
            let before = rank_of(kind, lane);
            if kind == 1u {
                accepted[waiting_cells + before] = cell;
            } else if kind == 2u {
                stack[height + before] = open.y;
            } else if kind == 3u {
                leaf_first[before] = open.z;
                sums[before] = open.w;
            }
            //% if expands
            if kind == 4u {
                //% if output == "lists"
                lists[list + 2u + MOST_CELLS - far_count - before] = cell;
                //% else
                far_cells[far_list + 1u + far_count + before] = cell;
                //% endif
            }
            //% endif
            found = workgroupUniformLoad(&lane_totals);
            waiting_cells += found.x;
            height += found.y;
            //% if expands
            far_count += found.w;
            //% endif
        }
        var leaves = found.z;
        if is_first && outside > 0u {
            // Bodies outside the cube attract one by one. They come after all others, like one more leaf.
            if lane == 0u {
                leaf_first[leaves] = inside;
                sums[leaves] = outside;
            }
            leaves += 1u;
        }
        is_first = false;
        let is_last = height == 0u;

        if leaves > 0u || (is_last && waiting > 0u) {
            // How many bodies there are up to each leaf.
            workgroupBarrier();
            var opened = 0u;
            if lane < leaves {
                opened = sums[lane];
            }
            sum_up(opened, lane);
            let bodies = waiting + workgroupUniformLoad(&lane_totals).x;
            var done = 0u;
            while done + UNIT <= bodies || (is_last && done < bodies) {
                if lane < UNIT {
                    var source = vec4(0.0);
                    var body = 0xffffffffu;
                    if done + lane < bodies {
                        body = listed(done + lane, waiting);
                        //% if points
                        if body >= IS_CELL {
                            source = cell_force[3u * (body - IS_CELL)];
                        } else {
                            source = sources[body];
                        }
                        //% else
                        source = sources[body];
                        //% endif
                        //% if output == "lists"
                        lists[list + 3u + MOST_CELLS + told_bodies + lane] = body;
                        //% endif
                    }
                    tile[lane] = source;
                    //% if potential
                    tile_bodies[lane] = body;
                    //% endif
                }
                workgroupBarrier();
                //% for k in range(r)
                var sum_{{ k }} = vec3(0.0);
                //% if potential
                var potential_{{ k }} = 0.0;
                //% endif
                //% endfor
                for (var column = 0u; column < {{ bodies_taken }}u; column += {{ u }}u) {
                    //% for copy in range(u)
                    let source_{{ copy }} = tile[column + {{ copy }}u];
                    //% for k in range(r)
                    sum_{{ k }} = attract(sum_{{ k }}, sink_{{ k }}, source_{{ copy }}, params.softening_squared);
                    //% if potential
                    potential_{{ k }} = potential_of(potential_{{ k }}, sink_{{ k }}, source_{{ copy }},
                        params.softening_squared, tile_bodies[column + {{ copy }}u] == sink_index_{{ k }});
                    //% endif
                    //% endfor
                    //% endfor
                }
                //% for k in range(r)
                total_{{ k }} += sum_{{ k }};
                //% if potential
                potential_total_{{ k }} += potential_{{ k }};
                //% endif
                //% endfor
                workgroupBarrier();
                //% if output == "lists"
                told_bodies += min(UNIT, bodies - done);
                //% elif output == "counts"
                met_bodies += min(UNIT, bodies - done);
                //% endif
                //% if output == "share"
                work += 1u;
                //% endif
                done += UNIT;
            }
            // Bodies that do not fill a tile wait.
            var left = 0u;
            if bodies > done {
                left = bodies - done;
            }
            var body = 0u;
            if lane < left {
                body = listed(done + lane, waiting);
            }
            workgroupBarrier();
            if lane < left {
                rest[lane] = body;
            }
            waiting = left;
            workgroupBarrier();
        }

        while waiting_cells >= UNIT || (is_last && waiting_cells > 0u) {
            let many = min(waiting_cells, UNIT);
            waiting_cells -= many;
            if lane < UNIT {
                // Past the last one a massless cell, at a place where there are no sinks.
                let cell = accepted[waiting_cells + min(lane, many - 1u)];
                let is_one = lane < many;
                //% if output == "lists"
                if is_one {
                    lists[list + 3u + told_cells + lane] = cell;
                }
                //% endif
                let mass = cell_force[3u * cell];
                tile[lane] = vec4(mass.xyz, select(0.0, mass.w, is_one));
                //% if quadrupole
                tile[UNIT + lane] = select(vec4(0.0), cell_force[3u * cell + 1u], is_one);
                tile[2u * UNIT + lane] = select(vec4(0.0), cell_force[3u * cell + 2u], is_one);
                //% endif
            }
            workgroupBarrier();
            //% for k in range(r)
            var sum_{{ k }} = vec3(0.0);
            //% if potential
            var potential_{{ k }} = 0.0;
            //% endif
            //% endfor
            //% set moments = ", diagonal, beside" if quadrupole else ""
            for (var column = 0u; column < {{ cells_taken }}u; column += {{ u }}u) {
                //% for copy in range(u)
                {
                    let mass = tile[column + {{ copy }}u];
                    //% if quadrupole
                    let diagonal = tile[UNIT + column + {{ copy }}u];
                    let beside = tile[2u * UNIT + column + {{ copy }}u];
                    //% endif
                    //% for k in range(r)
                    sum_{{ k }} = pull_of(sum_{{ k }}, sink_{{ k }}, mass{{ moments }});
                    //% if potential
                    potential_{{ k }} = cell_potential(potential_{{ k }}, sink_{{ k }}, mass{{ moments }});
                    //% endif
                    //% endfor
                }
                //% endfor
            }
            //% for k in range(r)
            total_{{ k }} += sum_{{ k }};
            //% if potential
            potential_total_{{ k }} += potential_{{ k }};
            //% endif
            //% endfor
            workgroupBarrier();
            //% if output == "lists"
            told_cells += many;
            //% elif output == "counts"
            met_cells += many;
            //% endif
            //% if output == "share"
            work += {{ 2 if quadrupole else 1 }}u;
            //% endif
        }
        if is_last {
            //% if output == "share" and expands
            work += far_count / UNIT / 2u;
            //% endif
            break;
        }
    }

    //% if expands and output != "lists"
    if lane == 0u {
        far_cells[far_list] = far_count;
    }
    //% endif
    //% if output == "lists"
    if lane == 0u {
        lists[list] = told_cells;
        lists[list + 1u] = told_bodies;
        lists[list + 2u] = {% if expands %}far_count{% else %}0u{% endif %};
    }
    //% elif output == "share"
    // In the order of the curve, where each device's part is one range. The first sink of a group holds the group's cost;
    // if sinks walk one by one, an estimate for all of them.
    let each = select(1u, GROUP, group >= params.singles);
    //% for k in range(r)
    if sink_index_{{ k }} < end {
        partial_sums[sink_index_{{ k }}] =
            vec4(total_{{ k }}, select(0.0, f32(work * each), sink_index_{{ k }} == begin));
    }
    //% endfor
    //% elif output == "counts"
    // In the order of the curve. The first sink of a group holds the numbers of turns, of cells looked at, and of cells and
    // bodies applied, the second that of far cells; enough of the forces is written to keep the compiler from leaving them
    // out.
    let met = vec3(f32(looked_at), f32(met_cells), f32(met_bodies));
    //% for k in range(r)
    if sink_index_{{ k }} < end {
        var number = dot(total_{{ k }}, vec3(1.0));
        if sink_index_{{ k }} <= begin + 1u {
            number = f32(select({% if expands %}far_count{% else %}0u{% endif %}, turns, sink_index_{{ k }} == begin));
        }
        partial_sums[sink_index_{{ k }}] =
            vec4(number, select(vec3(0.0), met, sink_index_{{ k }} == begin));
    }
    //% endfor
    //% else
    //% for k in range(r)
    if sink_index_{{ k }} < end {
        partial_sums[order[sink_index_{{ k }}]] =
            vec4(total_{{ k }}, {% if potential %}potential_total_{{ k }}{% else %}0.0{% endif %});
    }
    //% endfor
    //% endif
}
