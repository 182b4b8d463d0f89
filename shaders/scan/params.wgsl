// Which part of a prefix sum one dispatch computes.
struct ScanParams {
    // Values of the sum, as the host knows them; the count on the device may be smaller.
    count: u32,
    // Values that an entry of this level stands for: 1, or a power of the number that a workgroup takes.
    each: u32,
    unused_a: u32,
    unused_b: u32,
}
