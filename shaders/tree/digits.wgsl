// How many leading octal digits two keys share, 0 to 21. The lower 31 bits are in x, the upper 32 in y.
fn shared_digits(a: vec2<u32>, b: vec2<u32>) -> u32 {
    let differ = a ^ b;
    // One leading zero of the lower word does not belong to a digit.
    let zeros = select(31u + countLeadingZeros(differ.x), countLeadingZeros(differ.y), differ.y != 0u);
    return select(zeros / 3u, LEVELS, all(differ == vec2(0u)));
}
