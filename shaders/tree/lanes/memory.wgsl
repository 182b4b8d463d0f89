// Communication among the first 32 lanes of a workgroup through its memory. All lanes call these together.

// One bit per lane. The order in which they are set does not matter.
var<workgroup> bits: array<atomic<u32>, 8>;
// Two halves, used alternately.
var<workgroup> sums: array<u32, 64>;
const SUMS = 32u;

fn begin_lanes(lane: u32) {
    if lane < 8u {
        atomicStore(&bits[lane], 0u);
    }
}

fn bits_before(which: u32, below: u32) -> u32 {
    return countOneBits(atomicLoad(&bits[which]) & below);
}

// The sum of the values, below 16, of all lanes up to this one.
fn few_up_to(value: u32, lane: u32) -> u32 {
    for (var k = 0u; k < 4u; k++) {
        if ((value >> k) & 1u) != 0u {
            atomicOr(&bits[k], 1u << lane);
        }
    }
    if lane == 0u {
        atomicStore(&bits[4], 0u);
        atomicStore(&bits[5], 0u);
        atomicStore(&bits[6], 0u);
        atomicStore(&bits[7], 0u);
    }
    workgroupBarrier();
    let below = (2u << (lane % 32u)) - 1u;
    return bits_before(0u, below) + 2u * bits_before(1u, below) + 4u * bits_before(2u, below)
        + 8u * bits_before(3u, below);
}

// How many lanes before this one have the same kind, 1 to 4, or 0 for none; `lane_totals` becomes the number of each kind.
fn rank_of(kind: u32, lane: u32) -> u32 {
    if kind > 0u {
        atomicOr(&bits[3u + kind], 1u << lane);
    }
    if lane == 0u {
        for (var k = 0u; k < 4u; k++) {
            atomicStore(&bits[k], 0u);
        }
    }
    workgroupBarrier();
    if lane == 0u {
        lane_totals = vec4(atomicLoad(&bits[4]), atomicLoad(&bits[5]), atomicLoad(&bits[6]), atomicLoad(&bits[7]));
        lane_totals = countOneBits(lane_totals);
    }
    return bits_before(3u + max(kind, 1u), (1u << (lane % 32u)) - 1u);
}

// Sums of all lanes up to each, in `sums` from SUMS on; `lane_totals` becomes the sum of all.
fn sum_up(value: u32, lane: u32) {
    if lane < 32u {
        sums[lane] = value;
    }
    workgroupBarrier();
    for (var step = 0u; step < 5u; step++) {
        let from_side = (step & 1u) * 32u;
        if lane < 32u {
            var sum = sums[from_side + lane];
            if lane >= (1u << step) {
                sum += sums[from_side + lane - (1u << step)];
            }
            sums[32u - from_side + lane] = sum;
        }
        workgroupBarrier();
    }
    if lane == 0u {
        lane_totals.x = sums[63];
    }
}
