// Which part of a prefix sum one dispatch computes.
struct ScanParams {
    // Number of values known to the host; the count on the device may be smaller.
    count: u32,
    // Values that an entry of this level represents: 1, or a power of the number that a workgroup takes.
    each: u32,
    unused_a: u32,
    unused_b: u32,
}
