// Sinks that walk together, two entries of `groups`: the lower corner of their box and the smallest of their last
// accelerations; the upper corner, and a word with the first sink and two flags.
const GROUP = 64u;
const FIRST_SINK = 0x3fffffffu;
// The group is scattered: its sinks walk one by one if there is room for that.
const IS_SCATTERED = 0x40000000u;
// A single sink.
const IS_SINGLE = 0x80000000u;
const NOBODY = 0xffffffffu;
