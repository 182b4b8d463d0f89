// Copies the sources in another order, padded with massless bodies, for kernels that take whole blocks.
@group(0) @binding(0) var<storage, read> bodies: array<vec4<f32>>;
// Which body goes to each place; NOBODY is padding.
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read_write> packed: array<vec4<f32>>;

const NOBODY: u32 = 0xffffffffu;
// So far away that a pull from there is 0 in f32, while its square is still finite.
const NOWHERE: f32 = 1e18;

@compute @workgroup_size({{ threads }})
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let place = (workgroup.y * workgroups.x + workgroup.x) * {{ threads }}u + thread;
    if place >= arrayLength(&order) {
        return;
    }
    let body = order[place];
    if body == NOBODY {
        packed[place] = vec4(NOWHERE, NOWHERE, NOWHERE, 0.0);
    } else {
//% if numbered
        // Masses are the blocks'; see NUMBERS in bindings.wgsl.
        packed[place] = vec4(bodies[body].xyz, bitcast<f32>(0x40000000u | body));
//% else
        packed[place] = bodies[body];
//% endif
    }
}
