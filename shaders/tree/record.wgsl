//% include "tree/cell.wgsl"
//% include "tree/opening/" ~ rule ~ ".wgsl"

@group(0) @binding(0) var<storage, read_write> cell_open: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> cell_force: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> cell_box: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> state: TreeState;
@group(0) @binding(4) var<uniform> params: TreeParams;

// Boxes become a little wider on every level, so that rounding never puts a body outside.
const WIDENED = 1.0 + 1.0 / 262144.0;

// A cell's mass, how it is distributed, and where its bodies are.
struct Moment {
    centre: vec3<f32>,
    mass: f32,
    // Three times the second moments.
    diagonal: vec3<f32>,
    beside: vec3<f32>,
    radius: f32,
    lower: vec3<f32>,
    upper: vec3<f32>,
}

// The centre of mass, from the first moments about `anchor`; without mass, the middle of the box.
fn centre_of(anchor: vec3<f32>, first_moments: vec4<f32>, lower: vec3<f32>, upper: vec3<f32>) -> vec3<f32> {
    if first_moments.w > 0.0 {
        return anchor + first_moments.xyz / first_moments.w;
    }
    return lower + 0.5 * (upper - lower);
}

fn record(cell: u32, moment: Moment) {
    let extent = moment.upper - moment.lower;
    let edge = max(extent.x, max(extent.y, extent.z));
    let offset = length(moment.lower + 0.5 * extent - moment.centre);
    var critical = -1.0;
    if moment.mass > 0.0 {
        critical = critical_of(moment.mass, moment.radius, edge, offset, params.opening);
    }
    cell_open[2u * cell] = bitcast<vec4<u32>>(vec4(moment.centre, critical));
    cell_open[2u * cell + 1u].x = bitcast<u32>(moment.radius * moment.radius);
    let trace = moment.diagonal.x + moment.diagonal.y + moment.diagonal.z;
    cell_force[3u * cell] = vec4(moment.centre, moment.mass);
    cell_force[3u * cell + 1u] = vec4(moment.diagonal, 0.5 * trace);
    cell_force[3u * cell + 2u] = vec4(moment.beside, trace / 6.0);
    // Component by component: the fourth words hold bits that are not floats.
    cell_box[2u * cell].x = moment.lower.x;
    cell_box[2u * cell].y = moment.lower.y;
    cell_box[2u * cell].z = moment.lower.z;
    cell_box[2u * cell + 1u].x = moment.upper.x;
    cell_box[2u * cell + 1u].y = moment.upper.y;
    cell_box[2u * cell + 1u].z = moment.upper.z;
}
