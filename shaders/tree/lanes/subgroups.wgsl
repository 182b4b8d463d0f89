// Communication among the 32 lanes of a workgroup that are one subgroup: like lanes/memory.wgsl, with the same results.

var<workgroup> sums: array<u32, 32>;
const SUMS = 0u;

fn begin_lanes(lane: u32) {}

// The sum of the values of all lanes up to this one.
fn few_up_to(value: u32, lane: u32) -> u32 {
    return subgroupInclusiveAdd(value);
}

// How many lanes before this one have the same kind, 1 to 4, or 0 for none; `lane_totals` becomes the number of each kind.
fn rank_of(kind: u32, lane: u32) -> u32 {
    let kinds = vec4(
        subgroupBallot(kind == 1u).x, subgroupBallot(kind == 2u).x, subgroupBallot(kind == 3u).x,
        subgroupBallot(kind == 4u).x);
    if lane == 0u {
        lane_totals = countOneBits(kinds);
    }
    let own = kinds[max(kind, 1u) - 1u];
    return countOneBits(own & ((1u << lane) - 1u));
}

// Sums of all lanes up to each, in `sums` from SUMS on; `lane_totals` becomes the sum of all.
fn sum_up(value: u32, lane: u32) {
    let sum = subgroupInclusiveAdd(value);
    sums[lane] = sum;
    if lane == 31u {
        lane_totals.x = sum;
    }
}
