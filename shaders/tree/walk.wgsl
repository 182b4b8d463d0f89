// Forces on 64 sinks that are neighbours on the curve: one workgroup walks through the cells for all of them
// (Barnes 1990), turn by turn. A turn takes up to 64 cells from the stack, one for each lane. Each is opened, or
// accepted and put on a list; opened leaves go on another list. 32 accepted cells become a tile in workgroup memory,
// which acts on all sinks; 64 opened leaves become tiles of 64 bodies. A cell whose quadrupole does not matter goes on
// the list of leaves, as one body. A cell that is far enough for an expansion about the middle of the group goes on a
// list for `tree/far.wgsl`; if that list is full, it acts like the others.
//
// The stack cannot overflow: a turn pushes at most 64 entries and takes at least 8; with more than 112 on it a turn
// takes one, which adds at most 7 per level, 147 in all. With 52 and less memory the walk was 27 % slower, with 304 and
// more memory 4 % (one million bodies, NVIDIA H100): too many turns of one entry, and fewer workgroups at a time.
//
// The order of the sums depends only on the tree and the group, not on how groups are distributed over dispatches. No
// workgroup waits for another.
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

// Lanes of a workgroup, one for each sink; also the cells of a turn, the leaves opened at a time, and the bodies of a
// tile.
const LANES = 64u;
// Entries of the stack that a turn takes at most, and cells of a tile.
const UNIT = 32u;
const MOST = 320u;
const NARROW = 112u;
//% if expands
// The most far cells.
const FAR_ROOM = {{ far_length - 1 }}u;
//% endif
// On the list of bodies: the number of a cell that acts as a point.
const IS_CELL = 0x80000000u;
// On the list of leaves: the bodies outside the cube.
const OUTSIDE = 0x7fffffffu;

var<workgroup> stack: array<u32, MOST>;
// Accepted cells that wait for a full tile: at most UNIT - 1 of earlier turns, and those of a turn.
var<workgroup> accepted: array<u32, 96>;
// Leaves and points that wait for a full tile: at most LANES - 1 of earlier turns, those of a turn, and one entry for
// the bodies outside the cube.
var<workgroup> leaves: array<u32, 129>;
// For each opened leaf the number of bodies up to its end, and the offset from a body's index among those of all opened
// leaves to its number.
var<workgroup> sums: array<u32, LANES>;
var<workgroup> firsts: array<u32, LANES>;
var<workgroup> tile: array<vec4<f32>, 96>;
//% if potential
var<workgroup> tile_bodies: array<u32, LANES>;
//% endif
//% if expands
// The square of the largest distance of a sink from the middle, as bits: those of positive numbers have their order.
var<workgroup> extent: atomic<u32>;
//% endif
// Bit planes of the numbers of children: bit i of word k is digit k of entry i.
var<workgroup> digits: array<atomic<u32>, 4>;
// Bit masks over the cells of a turn: those at which an entry's children begin, and those of each kind.
var<workgroup> begins: array<atomic<u32>, 2>;
var<workgroup> kinds: array<atomic<u32>, 8>;
// The counts of a turn: cells of each kind, and in the upper half of the first the entries taken from the stack.
var<workgroup> found: vec4<u32>;
// The bodies of all leaves that are opened.
var<workgroup> opened_bodies: u32;

// A lane's bit and those below it, in two words.
fn bits_up_to(lane: u32) -> vec2<u32> {
    let mask = (2u << (lane % 32u)) - 1u;
    return select(vec2(0xffffffffu, mask), vec2(mask, 0u), lane < 32u);
}

fn count_of(bits: vec2<u32>) -> u32 {
    let counts = countOneBits(bits);
    return counts.x + counts.y;
}

fn cells_of_kind(kind: u32) -> vec2<u32> {
    return vec2(atomicLoad(&kinds[2u * kind - 2u]), atomicLoad(&kinds[2u * kind - 1u]));
}

// The place of a lane's cell among the children of the entries that are taken: bits where those of an entry begin, up
// to this lane. As many entries are taken as have LANES children together.
fn begins_up_to(children: u32, lane: u32) -> vec2<u32> {
    for (var k = 0u; k < 4u; k++) {
        if ((children >> k) & 1u) != 0u {
            atomicOr(&digits[k], 1u << lane);
        }
    }
    if lane < 8u {
        atomicStore(&kinds[lane], 0u);
    }
    workgroupBarrier();
    if children > 0u {
        var first = 0u;
        for (var k = 0u; k < 4u; k++) {
            first += countOneBits(atomicLoad(&digits[k]) & ((1u << lane) - 1u)) << k;
        }
        if first + children <= LANES {
            atomicOr(&begins[first / 32u], 1u << (first % 32u));
        }
    }
    workgroupBarrier();
    if lane < 4u {
        atomicStore(&digits[lane], 0u);
    }
    return vec2(atomicLoad(&begins[0]), atomicLoad(&begins[1]));
}

// How many lanes before this one have the same kind, 1 to 4, or 0 for none.
fn rank_of(kind: u32, entries: u32, lane: u32) -> u32 {
    if kind > 0u {
        atomicOr(&kinds[2u * kind - 2u + lane / 32u], 1u << (lane % 32u));
    }
    workgroupBarrier();
    if lane < 2u {
        atomicStore(&begins[lane], 0u);
    }
    if lane == 0u {
        found = vec4(count_of(cells_of_kind(1u)) | (entries << 16u), count_of(cells_of_kind(2u)),
            count_of(cells_of_kind(3u)), count_of(cells_of_kind(4u)));
    }
    return count_of(cells_of_kind(max(kind, 1u)) & bits_up_to(lane)) - min(kind, 1u);
}

// The sum of the values of all lanes up to this one, also in `sums`; `opened_bodies` becomes that of all.
fn sum_up_to(value: u32, lane: u32) -> u32 {
    var sum = value;
    sums[lane] = sum;
    workgroupBarrier();
    //% for k in range(6)
    if lane >= {{ [1, 2, 4, 8, 16, 32][k] }}u {
        sum += {{ ["sums", "firsts"][k % 2] }}[lane - {{ [1, 2, 4, 8, 16, 32][k] }}u];
    }
    {{ ["firsts", "sums"][k % 2] }}[lane] = sum;
    workgroupBarrier();
    //% endfor
    if lane + 1u == LANES {
        opened_bodies = sum;
    }
    return sum;
}

// The body at this place among those of the leaves that are opened.
fn listed(place: u32) -> u32 {
    var leaf = 0u;
    for (var step = LANES / 2u; step > 0u; step = step >> 1u) {
        if sums[leaf + step - 1u] <= place {
            leaf += step;
        }
    }
    return firsts[leaf] + place;
}

// Position and mass of an entry of the list of bodies.
fn source_of(body: u32) -> vec4<f32> {
    //% if points
    if body >= IS_CELL {
        return cell_force[3u * (body - IS_CELL)];
    }
    //% endif
    return sources[body];
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
    let cells = state.cells;

    // A lane past the last sink works on the last one and does not write its result.
    let sink_index = begin + lane;
    let sink = sources[min(sink_index, end - 1u)].xyz;
    var total = vec3(0.0);
    //% if potential
    var itself = sink_index;
    if sink_index < state.first_copied {
        itself = state.first_copy + sink_index;
    } else if sink_index + state.last_copied >= inside && sink_index < inside {
        itself = state.last_copy + sink_index + state.last_copied - inside;
    }
    var potential_total = 0.0;
    //% endif
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
    if lane < 4u {
        atomicStore(&digits[lane], 0u);
    }
    if lane < 2u {
        atomicStore(&begins[lane], 0u);
    }
    workgroupBarrier();
    //% if expands
    let middle = 0.5 * (low + high);
    let from_middle = sink - middle;
    atomicMax(&extent, bitcast<u32>(dot(from_middle, from_middle)));
    workgroupBarrier();
    let extent_squared = bitcast<f32>(atomicLoad(&extent));
    let lost = select(0.0, {{ expanded }} * allowance, end - begin >= FEWEST);
    var far_count = 0u;
    //% endif

    var height = min(cells, 1u);
    // How many bodies of earlier leaves wait for a full tile, and this lane's.
    var waiting = 0u;
    var rest = 0xffffffffu;
    var waiting_cells = 0u;
    var waiting_leaves = 0u;
    var is_first = true;
    //% if expands and output != "lists"
    let far_list = FAR_LENGTH * (group - params.group_begin);
    //% endif
    //% if output == "lists"
    let list = LENGTH * group;
    var written_cells = 0u;
    var written_bodies = 0u;
    //% endif
    loop {
        //% if output == "counts"
        turns += 1u;
        //% endif
        if height > 0u {
            // Takes ranges of children from the top of the stack, for up to 64 cells.
            let taking = select(min(height, UNIT), 1u, height > NARROW);
            var children = 0u;
            if lane < taking {
                children = children_of(stack[height - 1u - lane]);
            }
            let all_begins = begins_up_to(children, lane);
            let begins_before = all_begins & bits_up_to(lane);
            // This lane's cell.
            let offset = lane - select(firstLeadingBit(begins_before.x), 32u + firstLeadingBit(begins_before.y),
                begins_before.y != 0u);
            let word = stack[height - count_of(begins_before)];
            let exists = offset < children_of(word);
            let cell = select(0u, first_child(word) + offset, exists);
            let about = bitcast<vec4<f32>>(cell_open[2u * cell]);
            let open = cell_open[2u * cell + 1u].xy;
            //% if points or expands
            let mass = cell_force[3u * cell].w;
            let trace = cell_force[3u * cell + 1u].w;
            //% endif
            var kind = 0u;
            var leaf = cell;
            // A cell without mass is skipped.
            if exists && about.w >= 0.0 {
                let gap = max(max(low - about.xyz, about.xyz - high), vec3(0.0));
                let distance_squared = dot(gap, gap);
                var compared = distance_squared;
                //% if rule == "octgrav"
                let between = max(max(low - cell_box[2u * cell + 1u].xyz, cell_box[2u * cell].xyz - high), vec3(0.0));
                compared = dot(between, between);
                //% endif
                let radius_squared = bitcast<f32>(open.x);
                let far = distance_squared > radius_squared && is_far(compared, reach, about.w, radius_squared);
                kind = select(select(2u, 3u, open.y == IS_LEAF), 1u, far);
                //% if expands
                if far && far_count + LANES < FAR_ROOM
                    && is_expanded(about.xyz - middle, extent_squared, mass, trace, lost) {
                    kind = 4u;
                }
                //% endif
                //% if points
                if kind == 1u && is_point(distance_squared, trace, allowance) {
                    // As a body at the cell's centre of mass.
                    kind = 3u;
                    leaf |= IS_CELL;
                }
                //% endif
            }
            let entries = count_of(all_begins);
            let before = rank_of(kind, entries, lane);
            if kind == 1u {
                accepted[waiting_cells + before] = cell;
            } else if kind == 2u {
                stack[height - entries + before] = open.y;
            } else if kind == 3u {
                leaves[waiting_leaves + before] = leaf;
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
            let turn = workgroupUniformLoad(&found);
            waiting_cells += turn.x & 0xffffu;
            height = height - (turn.x >> 16u) + turn.y;
            waiting_leaves += turn.z;
            //% if expands
            far_count += turn.w;
            //% endif
            //% if output == "counts"
            looked_at += (turn.x & 0xffffu) + turn.y + turn.z + turn.w;
            //% endif
        }
        if is_first && outside > 0u {
            // Bodies outside the cube attract one by one. They come after all others, like one more leaf.
            if lane == 0u {
                leaves[waiting_leaves] = OUTSIDE;
            }
            waiting_leaves += 1u;
            workgroupBarrier();
        }
        is_first = false;
        let is_last = height == 0u;

        while waiting_leaves >= LANES || (is_last && waiting_leaves + waiting > 0u) {
            let opened = min(waiting_leaves, LANES);
            waiting_leaves -= opened;
            // The first body of a leaf, and how many it has.
            var held = vec2(0u);
            if lane < opened {
                let leaf = leaves[waiting_leaves + lane];
                if leaf == OUTSIDE {
                    held = vec2(inside, outside);
                } else if leaf >= IS_CELL {
                    held = vec2(leaf, 1u);
                } else {
                    held = cell_open[2u * leaf + 1u].zw;
                }
            }
            firsts[lane] = held.x + held.y - sum_up_to(held.y, lane);
            let bodies = waiting + workgroupUniformLoad(&opened_bodies);
            let is_end = is_last && waiting_leaves == 0u;
            var body = select(0xffffffffu, rest, lane < waiting);
            if lane >= waiting && lane < min(bodies, LANES) {
                body = listed(lane - waiting);
            }
            var source = vec4(0.0);
            if lane < min(bodies, LANES) {
                source = source_of(body);
            }
            var done = 0u;
            while done + LANES <= bodies || (is_end && done < bodies) {
                tile[lane] = source;
                //% if potential
                tile_bodies[lane] = body;
                //% endif
                //% if output == "lists"
                if done + lane < bodies {
                    lists[list + 3u + MOST_CELLS + written_bodies + lane] = body;
                }
                //% endif
                workgroupBarrier();
                // The next tile is loaded while this one acts.
                body = 0xffffffffu;
                source = vec4(0.0);
                if done + LANES + lane < bodies {
                    body = listed(done + LANES + lane - waiting);
                    source = source_of(body);
                }
                let many = min(LANES, bodies - done);
                var sum = vec3(0.0);
                //% if potential
                var potential = 0.0;
                //% endif
                for (var column = 0u; column < min(many, {{ bodies_taken }}u); column += {{ u }}u) {
                    //% for copy in range(u)
                    let source_{{ copy }} = tile[column + {{ copy }}u];
                    sum = attract(sum, sink, source_{{ copy }}, params.softening_squared);
                    //% if potential
                    potential = potential_of(potential, sink, source_{{ copy }},
                        params.softening_squared, tile_bodies[column + {{ copy }}u] == itself);
                    //% endif
                    //% endfor
                }
                total += sum;
                //% if potential
                potential_total += potential;
                //% endif
                workgroupBarrier();
                //% if output == "lists"
                written_bodies += many;
                //% elif output == "counts"
                met_bodies += many;
                //% endif
                done += LANES;
            }
            // Bodies that do not fill a tile wait.
            rest = body;
            waiting = 0u;
            if bodies > done {
                waiting = bodies - done;
            }
            workgroupBarrier();
        }

        while waiting_cells >= UNIT || (is_last && waiting_cells > 0u) {
            let many = min(waiting_cells, UNIT);
            waiting_cells -= many;
            if lane < UNIT {
                // Padded with massless cells, away from all sinks.
                let cell = accepted[waiting_cells + min(lane, many - 1u)];
                let is_one = lane < many;
                //% if output == "lists"
                if is_one {
                    lists[list + 3u + written_cells + lane] = cell;
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
            var sum = vec3(0.0);
            //% if potential
            var potential = 0.0;
            //% endif
            //% set moments = ", diagonal, beside" if quadrupole else ""
            for (var column = 0u; column < min(many, {{ cells_taken }}u); column += {{ u }}u) {
                //% for copy in range(u)
                {
                    let mass = tile[column + {{ copy }}u];
                    //% if quadrupole
                    let diagonal = tile[UNIT + column + {{ copy }}u];
                    let beside = tile[2u * UNIT + column + {{ copy }}u];
                    //% endif
                    sum = pull_of(sum, sink, mass{{ moments }});
                    //% if potential
                    potential = cell_potential(potential, sink, mass{{ moments }});
                    //% endif
                }
                //% endfor
            }
            total += sum;
            //% if potential
            potential_total += potential;
            //% endif
            workgroupBarrier();
            //% if output == "lists"
            written_cells += many;
            //% elif output == "counts"
            met_cells += many;
            //% endif
        }
        if is_last {
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
        lists[list] = written_cells;
        lists[list + 1u] = written_bodies;
        lists[list + 2u] = {% if expands %}far_count{% else %}0u{% endif %};
    }
    //% elif output == "counts"
    // In the order of the curve. The first sink of a group holds the numbers of turns, of cells looked at, and of cells
    // and bodies applied, the second that of far cells; enough of the forces is written to keep the compiler from
    // leaving them out.
    let met = vec3(f32(looked_at), f32(met_cells), f32(met_bodies));
    if sink_index < end {
        var number = dot(total, vec3(1.0));
        if sink_index <= begin + 1u {
            number = f32(select({% if expands %}far_count{% else %}0u{% endif %}, turns, sink_index == begin));
        }
        partial_sums[sink_index] =
            vec4(number, select(vec3(0.0), met, sink_index == begin));
    }
    //% else
    if sink_index < end {
        partial_sums[order[sink_index]] =
            vec4(total, {% if potential %}potential_total{% else %}0.0{% endif %});
    }
    //% endif
}
