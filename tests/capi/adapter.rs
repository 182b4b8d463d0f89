//! Programs on the adapter that other tests run on, in double-single; with both engines what threads do that set particles.

use gravitile::gpu::adapters;

use super::{CPU, SHARED, command, common, compile, judge, run, text};

/// The library takes adapters by name or number: the very one that other tests run on.
fn number_of_adapter() -> String {
    let name = &common::gpu().adapter.name;
    let names: Vec<String> = pollster::block_on(adapters()).into_iter().map(|a| a.name).collect();
    names.iter().position(|there| there == name).unwrap().to_string()
}

#[test]
fn programs_run_on_an_adapter_in_double_single() {
    let (gpu, number) = (common::gpu(), number_of_adapter());
    let variables = [
        ("GRAVITILE_ENGINE", "gpu"),
        ("GRAVITILE_PRECISION", "double-single"),
        ("GRAVITILE_ADAPTER", &number),
    ];
    for (name, bound, second) in [
        ("forces", "3e-6", "1"),
        ("sixth", "3e-6", "1"),
        ("grape5", "3e-6", "-1"),
        ("hermite", "1e-6", "1"),
    ] {
        judge(&compile(name, "-std=c99", SHARED), &[bound, second], &variables);
    }
    // Two devices on one adapter share what is large enough.
    let twice = format!("{number},{number}");
    let variables = [variables[0], variables[1], ("GRAVITILE_ADAPTER", &twice)];
    judge(&compile("forces", "-std=c99", SHARED), &["3e-6", "1"], &variables);
    let program = compile("status", "-std=c89", SHARED);
    let status = text(&run(&mut command(&program, &[], &variables)).stderr);
    assert!(status.contains(&format!(" + {}", gpu.adapter.name)), "{status}");
    // More than there are of a kind.
    let many = [variables[0], ("GRAVITILE_DEVICES", "64")];
    let output = command(&program, &[], &many).output().unwrap();
    let refused = text(&output.stderr);
    assert!(!output.status.success() && refused.contains("64, but must be at most"), "{refused}");
}

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
