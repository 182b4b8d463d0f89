// The least acceleration that counts. Needs `state` and an atomic `tally`.

// A body at a centre of symmetry feels almost no force: at least a thousandth of the (logarithmic) mean counts.
fn least_strength() -> f32 {
    let logs = f32(atomicLoad(&tally[LOG_LOW])) + 4294967296.0 * f32(atomicLoad(&tally[LOG_HIGH]));
    return 0.001 * exp2(logs / (64.0 * f32(state.counted)) - 128.0);
}
