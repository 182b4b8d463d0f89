//% include "tree/params.wgsl"

// Threads of a workgroup in kernels where each handles one body or cell.
const THREADS_EACH = 256u;
// Levels below the root: octal digits of a key.
const LEVELS = 21u;

// Layout of the tally: distances by exponent, cells for each size of leaf, the sum of the logarithms of accelerations
// in 64 bits (some 8,000 per body: 32 bits overflow from 500,000 bodies on), scattered groups, and what `balance.wgsl`
// needs: the bits of the greatest force and mass, then sums in 64 bits, of the forces on each axis, their sizes and
// masses, and of shares; for parts of the curve (`tree/domains/`) the numbers of records, roots, questions and sinks
// that miss cells, of bodies with one key and of boxes, the greatest force and mass that are expected, and the leading
// bits of the sums of sizes and masses that are. The others count bodies, cells or groups, which are fewer than 2^32.
const DISTANCES = 0u;
const CELLS_FOUND = 256u;
const LOG_LOW = 264u;
const LOG_HIGH = 265u;
const SCATTERED = 266u;
const GREATEST = 268u;
const FORCES = 270u;
const SHARES = 280u;
const LEAVING = 282u;
const ROOTS = 283u;
const QUESTIONS = 284u;
const MISSING = 285u;
const LONGEST_TIE = 286u;
const BOXES = 287u;
const EXPECTED = 288u;
const EXPECTED_MEAN = 290u;
const TALLY = 294u;

// The entry that a thread handles. A dispatch of many workgroups arranges them in several rows.
fn entry_of(workgroup: vec3<u32>, row: u32, thread: u32) -> u32 {
    return (workgroup.y * row + workgroup.x) * THREADS_EACH + thread;
}

// Whether a body is within the tree's range. Tested by bits, because compilers may assume that no number is NaN.
fn is_somewhere(position: vec3<f32>) -> bool {
    // 2^60: the square of every distance stays within f32.
    return all((bitcast<vec3<u32>>(position) & vec3(0x7fffffffu)) <= vec3(0x5d800000u));
}

// Biased exponent of the distance from the origin, the cube's centre, along the farthest axis.
fn exponent_of(position: vec3<f32>) -> u32 {
    let offset = abs(position);
    return bitcast<u32>(max(offset.x, max(offset.y, offset.z))) >> 23u;
}
