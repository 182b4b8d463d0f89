// One digit of a radix sort.
struct SortParams {
    // Number of keys known to the host; the count on the device may be smaller.
    count: u32,
    // Workgroups that share the keys.
    blocks: u32,
    // Bit at which the digit begins, counted from the key's lowest.
    shift: u32,
    unused: u32,
}
