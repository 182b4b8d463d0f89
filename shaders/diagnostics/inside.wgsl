// The contents of a sphere, as parts that a workgroup adds up. Needs diagnostics/params.wgsl.

struct Inside {
    // Sum of weight times distance from the centre, and the weight.
    weighted: vec4<f32>,
    // The square of the largest distance, and the number of bodies.
    reach_squared: f32,
    count: u32,
}

var<workgroup> parts_weighted: array<vec4<f32>, THREADS>;
var<workgroup> parts_reach: array<f32, THREADS>;
var<workgroup> parts_count: array<u32, THREADS>;

// The sum of all threads' parts, in a fixed order; complete only in thread 0.
fn gathered(lane: u32, mine: Inside) -> Inside {
    parts_weighted[lane] = mine.weighted;
    parts_reach[lane] = mine.reach_squared;
    parts_count[lane] = mine.count;
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            parts_weighted[lane] += parts_weighted[lane + half];
            parts_reach[lane] = max(parts_reach[lane], parts_reach[lane + half]);
            parts_count[lane] += parts_count[lane + half];
        }
    }
    return Inside(parts_weighted[lane], parts_reach[lane], parts_count[lane]);
}
