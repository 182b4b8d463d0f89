// Sinks that walk together, two entries of `groups`: the lower corner of their box and the weakest of their last
// accelerations; the upper corner, and a word: the first sink and two marks.
const GROUP = 64u;
const FIRST_SINK = 0x3fffffffu;
// They are scattered: their sinks walk one by one, where there is room for that.
const IS_SCATTERED = 0x40000000u;
// One sink alone.
const IS_SINGLE = 0x80000000u;
const NOBODY = 0xffffffffu;
