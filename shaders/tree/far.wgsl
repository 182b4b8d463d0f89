// Far cells of a group of sinks, by an expansion about the middle of its box: one workgroup for each group, one lane
// for each cell. Adds to what the walk has found.
//
// With y the place of a sink about the middle, s a cell's, U(y) = m f(s - y) + Q f''(s - y) / 2 and
// f(s) = (s^2 + eps^2)^(-1/2), the sums are those of the derivatives of U at y = 0, to fourth order, of Q to second.
// With i = f(s), n = i s, t = i times the unit of length, q = i^2 Q, v = 3 q n and a = m + 5/2 v.n - 3/2 tr q they are
//   i (m + v.n / 2 - tr q / 2)
//   i t (a n - v)
//   i t^2 ((3 m + 35/2 v.n - 15/2 tr q) n n - 5 (v n + n v) + 3 q - a)
//   i t^3 m (15 n n n - 3 (n + n + n)), where n stands for n times the unit matrix in each order
//   i t^4 m (105 n n n n - 15 (n n + ...) + 3 (1 + 1 + 1)), likewise.
// Since t is 1.3 at most, no power leaves the range of f32.
//
// Lane k takes the cells k, k + 32, ... in the order in which the walk has accepted them, and the sums of the lanes are
// added in order.
//% include "tree/common.wgsl"
//% include "tree/sinks.wgsl"

@group(0) @binding(0) var<storage, read> sources: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> cell_force: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> state: TreeState;
@group(0) @binding(4) var<storage, read_write> partial_sums: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> groups: array<vec4<f32>>;
// For each group of the dispatch the number of its far cells, then the cells.
@group(0) @binding(6) var<storage, read> far_cells: array<u32>;
@group(0) @binding(7) var<uniform> params: TreeParams;
//% include "tree/walking.wgsl"

const LANES = 32u;
const FAR_LENGTH = {{ far_length }}u;
const TERMS = 36u;

var<workgroup> parts: array<f32, 12 * 33>;
var<workgroup> totals: array<f32, TERMS>;

// Adds twelve terms over all lanes.
fn add_up(lane: u32, begin: u32, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>, d: vec3<f32>) {
    let values = array<f32, 12>(a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, d.x, d.y, d.z);
    //% for k in range(12)
    parts[{{ k * 33 }}u + lane] = values[{{ k }}];
    //% endfor
    workgroupBarrier();
    if lane < 12u {
        var sum = 0.0;
        for (var k = 0u; k < LANES; k++) {
            sum += parts[lane * 33u + k];
        }
        totals[begin + lane] = sum;
    }
    workgroupBarrier();
}

fn total(term: u32) -> vec3<f32> {
    return vec3(totals[term], totals[term + 1u], totals[term + 2u]);
}

@compute @workgroup_size(32)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = params.group_begin + workgroup.y * workgroups.x + workgroup.x;
    let sinks = sinks_of(group);
    if sinks.y < sinks.x + FEWEST {
        return;
    }
    let list = FAR_LENGTH * (group - params.group_begin);
    let count = far_cells[list];
    if count == 0u {
        return;
    }
    let low = groups[2u * group].xyz;
    let high = groups[2u * group + 1u].xyz;
    let middle = 0.5 * (low + high);
    // Half the diagonal of the box, at least 2^-60.
    let unit = max(0.5 * length(high - low), 8.67e-19);

    // The names give the derivatives, each in the three orders of the axes x, y, z.
    var first = vec3(0.0);
    var xx = vec3(0.0);
    var xy = vec3(0.0);
    var xxx = vec3(0.0);
    var xxy = vec3(0.0);
    var xxz = vec3(0.0);
    var xyz = 0.0;
    var xxxx = vec3(0.0);
    var xxxy = vec3(0.0);
    var xxxz = vec3(0.0);
    var xxyy = vec3(0.0);
    var xxyz = vec3(0.0);
    //% if potential
    var zeroth = 0.0;
    //% endif
    // The next cell is loaded while this one acts.
    var next = 3u * far_cells[list + 1u + min(lane, count - 1u)];
    var next_mass = cell_force[next];
    var next_moments = cell_force[next + 1u];
    var next_others = cell_force[next + 2u].xyz;
    for (var k = lane; k < count; k += LANES) {
        let mass = next_mass;
        let own_moments = next_moments;
        let own_others = next_others;
        next = 3u * far_cells[list + 1u + min(k + LANES, count - 1u)];
        next_mass = cell_force[next];
        next_moments = cell_force[next + 1u];
        next_others = cell_force[next + 2u].xyz;
        let towards = mass.xyz - middle;
        let inverse = inverseSqrt(dot(towards, towards) + params.softening_squared);
        let n = towards * inverse;
        let t = unit * inverse;
        let squared = inverse * inverse;
        let moments = own_moments * squared;
        let others = own_others * squared;
        let v = vec3(
            fma(moments.x, n.x, fma(others.x, n.y, others.y * n.z)),
            fma(others.x, n.x, fma(moments.y, n.y, others.z * n.z)),
            fma(others.y, n.x, fma(others.z, n.y, moments.z * n.z)),
        );
        let vn = dot(v, n);
        let a = mass.w + fma(2.5, vn, -moments.w);
        let b = fma(3.0, mass.w, fma(17.5, vn, -5.0 * moments.w));
        let second = n * n;
        let o = n * n.yzx;
        //% if potential
        zeroth = fma(inverse, mass.w + fma(0.5, vn, -moments.w / 3.0), zeroth);
        //% endif
        let p1 = inverse * t;
        first = fma(vec3(p1), fma(vec3(a), n, -v), first);
        let p2 = p1 * t;
        xx = fma(vec3(p2), fma(vec3(b), second, moments.xyz - a) - 10.0 * (v * n), xx);
        xy = fma(vec3(p2), fma(vec3(b), o, others.xzy) - 5.0 * fma(v, n.yzx, v.yzx * n), xy);
        let p3 = mass.w * p2 * t;
        let cube = (15.0 * p3) * second;
        let p3_3 = 3.0 * p3;
        xxx = fma(n, cube - 3.0 * p3_3, xxx);
        xxy = fma(n.yzx, cube - p3_3, xxy);
        xxz = fma(n.zxy, cube - p3_3, xxz);
        xyz = fma(15.0 * p3, n.x * n.y * n.z, xyz);
        let p4 = p3 * t;
        let fourth = (105.0 * p4) * second;
        let p4_15 = 15.0 * p4;
        let p4_3 = 3.0 * p4;
        xxxx = fma(second, fourth - 6.0 * p4_15, xxxx + 3.0 * p4_3);
        xxxy = fma(o, fourth - 3.0 * p4_15, xxxy);
        xxxz = fma(o.zxy, fourth - 3.0 * p4_15, xxxz);
        xxyy += fma(vec3(-p4_15), second + second.yzx, fma(fourth, second.yzx, vec3(p4_3)));
        xxyz = fma(o.yzx, fourth - p4_15, xxyz);
    }
    add_up(lane, 0u, first, xx, xy, xxx);
    add_up(lane, 12u, xxy, xxz, xxxx, xxxy);
    add_up(lane, 24u, xxxz, xxyy, xxyz, vec3(xyz, {% if potential %}zeroth{% else %}0.0{% endif %}, 0.0));
    let all_xyz = totals[33];
    for (var sink = sinks.x + lane; sink < sinks.y; sink += LANES) {
        let y = (sources[sink].xyz - middle) / unit;
        let y2 = y * y;
        let yo = y * y.yzx;
        let d1 = total(0u);
        let d2 = total(3u) * y + total(6u) * y.yzx + total(6u).zxy * y.zxy;
        let d3 = 0.5 * (total(9u) * y2 + total(15u).yzx * y2.yzx + total(12u).zxy * y2.zxy)
            + total(12u) * yo + total(15u) * yo.zxy + all_xyz * yo.yzx;
        let d4 = (total(18u) * y2 * y + total(24u).yzx * y2.yzx * y.yzx + total(21u).zxy * y2.zxy * y.zxy
            + 3.0 * (y2 * (total(21u) * y.yzx + total(24u) * y.zxy)
                + y * (total(27u) * y2.yzx + total(27u).zxy * y2.zxy)
                + total(30u).yzx * y2.yzx * y.zxy + total(30u).zxy * y.yzx * y2.zxy)
            + (6.0 * y.x * y.y * y.z) * total(30u)) / 6.0;
        let pull = (d1 + d2 + d3 + d4) / unit;
        //% if potential
        let potential = -(totals[34] + dot(y, d1 + d2 / 2.0 + d3 / 3.0 + d4 / 4.0));
        //% else
        let potential = 0.0;
        //% endif
        let place = order[sink];
        partial_sums[place] += vec4(pull, potential);
    }
}
