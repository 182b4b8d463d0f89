// One digit of a radix sort.
struct SortParams {
    // Keys, as the host knows them; the count on the device may be smaller.
    count: u32,
    // Workgroups that share the keys.
    blocks: u32,
    // Bit at which the digit begins, counted from the lowest of the key.
    shift: u32,
    unused: u32,
}
