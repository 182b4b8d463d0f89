// The ages of a device's part of the bodies, from those of all: the colours of a picture that several devices paint
// together (src/render/together.rs).

@group(0) @binding(0) var<storage, read> ages: array<f32>;
// Of each body of this part, its number among all; another number where there is none.
@group(0) @binding(1) var<storage, read> numbers: array<u32>;
@group(0) @binding(2) var<storage, read_write> own: array<vec4f>;

const THREADS = 64u;
const ROW_OF_GROUPS = 1024u;

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) thread: vec3u) {
    let body = thread.y * (ROW_OF_GROUPS * THREADS) + thread.x;
    if body >= min(arrayLength(&own), arrayLength(&numbers)) || numbers[body] >= arrayLength(&ages) {
        return;
    }
    own[body] = vec4f(ages[numbers[body]], 0.0, 0.0, 0.0);
}
