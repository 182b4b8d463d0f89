//! Threads that set particles, by turns and at once, of several clusters.

use super::{CPU, SHARED, compile, judge, number_of_adapter};

/// Whoever sets: nothing is lost, and what came last counts.
#[test]
fn who_sets_particles_may_change() {
    let program = compile("setters", "-std=c99", SHARED);
    judge(&program, &["1e-12"], CPU);
    let number = number_of_adapter();
    let gpu = [("GRAVITILE_ENGINE", "gpu"), ("GRAVITILE_PRECISION", "double-single")];
    judge(&program, &["3e-6"], &[gpu[0], gpu[1], ("GRAVITILE_ADAPTER", &number)]);
    // Two devices share what is large enough.
    let twice = format!("{number},{number}");
    judge(&program, &["3e-6"], &[gpu[0], gpu[1], ("GRAVITILE_ADAPTER", &twice)]);
}
