// Bindings of the measuring kernels. None of them really writes: a thread's result is compared with a number
// that it never equals, but the compiler cannot know that and so leaves out no work.
struct Ceiling {
    // Iterations of the loop.
    turns: u32,
    // Threads of the dispatch.
    threads: u32,
    // x -> a x + b has its fixed point at 1.
    a: f32,
    b: f32,
    softening_squared: f32,
    // Not the result of any kernel.
    never: f32,
    unused_0: u32,
    unused_1: u32,
}
@group(0) @binding(0) var<storage, read> entries: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> answers: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: Ceiling;

fn keep(answer: f32) {
    if answer == params.never {
        answers[0] = vec4(answer);
    }
}

fn keep_bits(bits: vec4<u32>) {
    keep(f32((bits.x ^ bits.y ^ bits.z ^ bits.w) >> 1u));
}
