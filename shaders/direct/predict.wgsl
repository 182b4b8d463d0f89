// Predicts all sources to the time of a call: from records of their motion to the records that the force kernels read.
//% include "direct/params.wgsl"
//% include "direct/arithmetic.wgsl"
// Records of WORDS vec4, those above the jerk only if some body has them:
//% if pairs
//   0, 1 position (w: mass)    2, 3 velocity (w: the time of it all, in two parts)    4, 5 acceleration (w of 4: the
//   time's third part)    6, 7 jerk    8, 9 snap, each with its low part    10 crackle
//% else
//   0 position (w: mass)    1 velocity (w: the time of it all)    2 acceleration    3 jerk    4 snap    5 crackle
//% endif
@group(0) @binding(0) var<storage, read> motions: array<Real4>;
// As in direct/bindings.wgsl.
@group(0) @binding(1) var<storage, read_write> sources: array<Real4>;
@group(0) @binding(2) var<uniform> params: PredictParams;
//% include "direct/wide.wgsl"
//% include "direct/taylor.wgsl"

const WORDS: u32 = {{ (11 if pairs else 6) if high else (8 if pairs else 4) }}u;
const PARTS: u32 = {{ words }}u;
const BODIES: u32 = 64u;
// Words up to the jerk, and words of the resulting source.
//% set low = 8 if pairs else 4
const LOW: u32 = {{ low }}u;
//% set made = (3 if snaps else 2) if not pairs else 6 if snaps and tier != "single" else 4
const MADE: u32 = {{ made }}u;

// Staging for records read, then for sources written, so that neighbouring threads access neighbouring words; a thread
// that read a whole record would access separate cache lines. One word of padding spreads records over the banks.
const BESIDE: u32 = LOW + 1u;
// Bodies between two words that a thread loads; it loads as many words as a record has.
const APART: u32 = BODIES / LOW;
var<workgroup> passing: array<Real4, BODIES * BESIDE>;

//% if high
fn wide_at(at: u32) -> Wide {
    return {{ "Wide(motions[at].xyz, motions[at + 1u].xyz)" if pairs else "motions[at].xyz" }};
}

//% endif
//% if pairs
// The time from a record's, in three parts, to the call's: the parts that cancel are exact.
fn span_from(time: vec3<f32>) -> Span {
    let now = params.time.xyz;
    let high = rounded_sum_3(now, -time);
    let lost = lost_3(now, -time, high);
    let a = vec3(high.x);
    let b = vec3(high.y);
    let both = rounded_sum_3(a, b);
    let rest = lost_3(a, b, both).x + (lost.x + lost.y) + high.z;
    let tidy = tidied(both, vec3(rest));
    return Span(tidy.high.x, tidy.low.x);
}
//% endif

@compute @workgroup_size(BODIES, 1, 1)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    for (var begin = workgroup.x * BODIES; begin < params.count; begin += workgroups.x * BODIES) {
        let here = min(BODIES, params.count - begin);
        // All loads are issued before the first arrives. Threads past the last body load its words again; those are not
        // used.
//% for i in range(low)
        let word_{{ i }} = motions[(begin + min(thread / LOW + {{ i }}u * APART, here - 1u)) * WORDS + thread % LOW];
//% endfor
//% for i in range(low)
        passing[(thread / LOW + {{ i }}u * APART) * BESIDE + thread % LOW] = word_{{ i }};
//% endfor
        workgroupBarrier();
        let at = thread * BESIDE;
        // Threads past the last body compute with what is there; the result is not used.
//% if pairs
        let first = passing[at];
        let second = passing[at + 1u];
        let third = passing[at + 2u];
        let fourth = passing[at + 3u];
        let fifth = passing[at + 4u];
        let position = Wide(first.xyz, second.xyz);
        let velocity = Wide(third.xyz, fourth.xyz);
        let acceleration = Wide(fifth.xyz, passing[at + 5u].xyz);
        let jerk = Wide(passing[at + 6u].xyz, passing[at + 7u].xyz);
        let drift = Wide(params.drift.xyz, params.drift_low.xyz);
        var h = span_from(vec3(third.w, fourth.w, fifth.w));
        if params.moves == 0u {
            h = Span(0.0, 0.0);
        }
//% else
        let first = passing[at];
        let second = passing[at + 1u];
        let position = first.xyz;
        let velocity = second.xyz;
        let acceleration = passing[at + 2u].xyz;
        let jerk = passing[at + 3u].xyz;
        let drift = Wide();
        var h = Span();
        if params.moves != 0u {
            h = (Real(params.time.x) + Real(params.time.y) + Real(params.time.z)) - second.w;
        }
//% endif
//% if high
        // Threads past the last body compute with what is there; the result is not used.
        let rest = (begin + min(thread, here - 1u)) * WORDS;
        let snap = wide_at(rest + {{ 8 if pairs else 4 }}u);
        let crackle = motions[rest + {{ 10 if pairs else 5 }}u].xyz;
        let there = taylor(position, velocity, acceleration, jerk, snap, crackle, h);
//% else
        let there = taylor_to_jerk(position, velocity, acceleration, jerk, h);
//% endif
        // Each thread has read its own entries, and puts its source in their place.
//% if pairs
        // Velocities are relative to the common drift, positions are not.
        let moved = sum(there.position, times(drift, h));
        passing[at] = vec4(moved.high, first.w);
//% if tier == "single"
        passing[at + 1u] = vec4(there.velocity.high, 0.0);
        passing[at + 2u] = vec4(there.acceleration.high, 0.0);
        passing[at + 3u] = vec4(moved.low, 0.0);
//% else
        passing[at + 1u] = vec4(moved.low, second.w);
        passing[at + 2u] = vec4(there.velocity.high, 0.0);
        passing[at + 3u] = vec4(there.velocity.low, 0.0);
//% if snaps
        passing[at + 4u] = vec4(there.acceleration.high, 0.0);
        passing[at + 5u] = vec4(there.acceleration.low, 0.0);
//% endif
//% endif
//% else
        passing[at] = Real4(there.position, first.w);
        passing[at + 1u] = Real4(there.velocity, Real(0.0));
        passing[at + 2u] = Real4(there.acceleration, Real(0.0));
//% endif
        workgroupBarrier();
//% for i in range(made)
        {
            let k = thread + {{ i }}u * BODIES;
            if k < here * MADE {
                let body = k / MADE;
                sources[(begin + body) * PARTS + k % MADE] = passing[body * BESIDE + k % MADE];
            }
        }
//% endfor
        workgroupBarrier();
    }
}
