// The medium around and in front of a body: the density of bodies there, and the dust its light passes through.
// Reference implementation on the CPU: src/render/medium/mod.rs, with the same formulas and names.

//% include "render/body_sprite.wgsl"

struct MediumUniform {
    // Origin of the cells, in the points' units.
    lattice: vec3f,
    // 1 / side of the finest cell.
    cells_per_length: f32,
    weight_per_mass: f32,
    // Entries of a level of the table, less 1.
    mask: u32,
    // 0: only gas counts; 1: all bodies that are drawn do; 2: all, and by number.
    counts_all: u32,
    // Number of columns through the picture; 0 without dust.
    columns: u32,
    rows: u32,
    column_px: f32,
    // Depth at which slices begin, and number of slices per unit of depth.
    from_depth: f32,
    slices_per_depth: f32,
    // Units of opacity that a gas body of mean weight adds to a column of one pixel, at depth 1.
    opacity: f32,
    pad_0: u32,
    pad_1: u32,
    pad_2: u32,
}

const THREADS = 64u;
const ROW_OF_GROUPS = 1024u;
const LEVELS = 6u;
const SLICES = 64u;
// Weight of a body of mean mass.
const WEIGHT: f32 = 16.0;
// That of any body if they are counted by number.
const LIGHT: f32 = 2.0;
const MOST_WEIGHT: f32 = 65535.0;
// Units of an optical depth of 1, and the most that one body adds.
const OPACITY_UNITS: f32 = 65536.0;
const MOST_OPACITY: f32 = 262144.0;
// The fraction of the surrounding density to subtract, so that gas shines where it is denser than its surroundings.
const SURROUNDING: f32 = 0.75;
// Number of bodies in a cell above which its level begins to count, and how many more make it the only one to count.
const FEW: f32 = 4.0;
const MORE: f32 = 8.0;

@group(1) @binding(0) var<uniform> medium: MediumUniform;
// LEVELS tables of sums of weights, by a hash of the cell.
@group(1) @binding(1) var<storage, read_write> table: array<atomic<u32>>;
// Opacity, slice by slice from near to far for each column.
@group(1) @binding(2) var<storage, read_write> opacity: array<atomic<u32>>;
@group(1) @binding(3) var<storage, read_write> found: array<vec2f>;

fn mix_bits(word: u32) -> u32 {
    var x = word;
    x = (x ^ (x >> 16u)) * 0x7feb352du;
    x = (x ^ (x >> 15u)) * 0x846ca68bu;
    return x ^ (x >> 16u);
}

// Two entries of a level's table for a cell: two cells that share one entry are unlikely to share both.
fn entries(cell: vec3i, level: u32) -> vec2u {
    let x = mix_bits(bitcast<u32>(cell.x) + level * 0x9e3779b9u);
    let first = mix_bits(mix_bits(x ^ bitcast<u32>(cell.y)) ^ bitcast<u32>(cell.z));
    let second = mix_bits(first ^ 0x9e3779b9u);
    return level * (medium.mask + 1u) + (vec2u(first, second) & vec2u(medium.mask));
}

fn cell_of(place: vec3f) -> vec3i {
    // Everything beyond the range of i32 falls into the outermost cells.
    return vec3i(clamp(floor(place), vec3f(-1e9), vec3f(1e9)));
}

struct Column {
    // In columns, rows and slices.
    place: vec3f,
    depth: f32,
}

fn column_of(point: vec3f) -> Column {
    let view = sprite.view;
    let offset = point - view.eye_in_world;
    let depth = dot(offset, view.forward_in_world);
    let scale_px = view.focal_px / depth;
    let sideways = vec2f(dot(offset, view.right_in_world), -dot(offset, view.up_in_world));
    let centre_px = 0.5 * vec2f(view.width_px, view.height_px) + sideways * scale_px;
    let slice = (depth - medium.from_depth) * medium.slices_per_depth;
    return Column(vec3f(centre_px / medium.column_px, slice), depth);
}

fn body_of(thread: vec3u) -> u32 {
    return thread.y * (ROW_OF_GROUPS * THREADS) + thread.x;
}

@compute @workgroup_size(THREADS)
fn gather(@builtin(global_invocation_id) thread: vec3u) {
    let body = body_of(thread);
    if body >= sprite.count {
        return;
    }
    let component = look.components[u32(tags[body].w) & 0xffu];
    let point = pos_mass[body];
    // Written so that a NaN counts nowhere.
    let is_somewhere = all(abs(point.xyz) < vec3f(3e38));
    if component.white_peak <= 0.0 || !is_somewhere {
        return;
    }
    let own = select(point.w * medium.weight_per_mass, LIGHT, medium.counts_all == 2u);
    let weight = u32(clamp(round(own), 1.0, MOST_WEIGHT));
    let is_gas = component.is_gas > 0.0;
    if is_gas || medium.counts_all != 0u {
        var place = (point.xyz - medium.lattice) * medium.cells_per_length;
        for (var level = 0u; level < LEVELS; level++) {
            let at = entries(cell_of(place), level);
            atomicAdd(&table[at.x], weight);
            // One entry may be both.
            if at.y != at.x {
                atomicAdd(&table[at.y], weight);
            }
            place *= 0.5;
        }
    }
    if is_gas && medium.columns > 0u {
        let column = column_of(point.xyz);
        let limits = vec3f(f32(medium.columns), f32(medium.rows), f32(SLICES));
        let is_inside = all(column.place.xy >= vec2f(0.0)) && all(column.place < limits);
        if column.depth > sprite.view.near && is_inside {
            let at = vec3u(max(column.place, vec3f(0.0)));
            let share = point.w * component.inverse_mean_mass / (column.depth * column.depth);
            let units = round(min(medium.opacity / (medium.column_px * medium.column_px) * share, MOST_OPACITY));
            atomicAdd(&opacity[(at.y * medium.columns + at.x) * SLICES + at.z], u32(max(units, 0.0)));
        }
    }
}

// One thread per column: the opacity in front of the end of each slice.
@compute @workgroup_size(THREADS)
fn accumulate(@builtin(global_invocation_id) thread: vec3u) {
    let column = body_of(thread);
    if column >= medium.columns * medium.rows {
        return;
    }
    var sum = 0u;
    for (var slice = 0u; slice < SLICES; slice++) {
        sum += atomicLoad(&opacity[column * SLICES + slice]);
        atomicStore(&opacity[column * SLICES + slice], sum);
    }
}

// log2 of the number of bodies of mean mass in a finest cell around that place. If only gas is counted, a fraction of
// the value in the largest cell is subtracted.
fn density_at(point: vec3f, tag: u32) -> f32 {
    // Each body samples at a random offset of up to half a cell: on average this blends neighbouring cells.
    let chance = mix_bits(tag);
    let own = vec3f(vec3u(chance, chance >> 10u, chance >> 20u) & vec3u(1023u)) * (1.0 / 1024.0) - 0.5;
    // Kernels are wide enough to blend cells. Next to a thin disk's cells there are empty ones.
    let aside = select(own, vec3f(0.0), medium.counts_all == 2u);
    let finest = (point - medium.lattice) * medium.cells_per_length;
    var density = 0.0;
    var surrounding = 0.0;
    for (var up = 0u; up < LEVELS; up++) {
        let level = LEVELS - 1u - up;
        let place = finest * exp2(-f32(level)) + aside;
        let at = entries(cell_of(place), level);
        let sum = min(atomicLoad(&table[at.x]), atomicLoad(&table[at.y]));
        let count = max(f32(sum) * (1.0 / WEIGHT), 0.5);
        let here = log2(count) - 3.0 * f32(level);
        let enough = clamp((count - FEW) * (1.0 / MORE), 0.0, 1.0);
        density = mix(density, here, select(enough, 1.0, up == 0u));
        surrounding = select(surrounding, here, up == 0u);
    }
    return density - select(SURROUNDING, 0.0, medium.counts_all != 0u) * surrounding;
}

fn opacity_before(column: vec2i, slice: f32) -> f32 {
    let most = vec2i(i32(medium.columns), i32(medium.rows)) - 1;
    let inside = vec2u(clamp(column, vec2i(0), most));
    let first = (inside.y * medium.columns + inside.x) * SLICES;
    let along = clamp(slice, 0.0, f32(SLICES));
    let whole = min(u32(along), SLICES - 1u);
    let near = select(0.0, f32(atomicLoad(&opacity[first + max(whole, 1u) - 1u])), whole > 0u);
    let far = f32(atomicLoad(&opacity[first + whole]));
    return mix(near, far, along - f32(whole));
}

@compute @workgroup_size(THREADS)
fn look_up(@builtin(global_invocation_id) thread: vec3u) {
    let body = body_of(thread);
    if body >= sprite.count {
        return;
    }
    let tag = u32(tags[body].w);
    let component = look.components[tag & 0xffu];
    if component.white_peak <= 0.0 {
        return;
    }
    let point = pos_mass[body].xyz;
    var result = vec2f(0.0);
    if component.is_gas > 0.0 || medium.counts_all != 0u {
        result.x = density_at(point, tag);
    }
    let column = column_of(point);
    if medium.columns > 0u && column.depth > sprite.view.near && column.place.z > 0.0 {
        let place = clamp(column.place.xy, vec2f(-1e6), vec2f(1e6)) - 0.5;
        let first = vec2i(floor(place));
        let part = place - floor(place);
        let slice = column.place.z;
        let above = mix(opacity_before(first, slice), opacity_before(first + vec2i(1, 0), slice), part.x);
        let below =
            mix(opacity_before(first + vec2i(0, 1), slice), opacity_before(first + vec2i(1, 1), slice), part.x);
        result.y = mix(above, below, part.y) * (1.0 / OPACITY_UNITS);
    }
    found[body] = result;
}
