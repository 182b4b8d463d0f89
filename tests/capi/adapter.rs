//! C programs on the test adapter in double-single; and, on both engines, particles set from
//! several threads.

use gravitile::gpu::adapters;

use super::{CPU, SHARED, command, common, compile, run, run_checked, text};

/// The list number of the test adapter, which the library accepts like a name.
fn number_of_adapter() -> String {
    let name = &common::gpu().adapter.name;
    let names: Vec<String> = pollster::block_on(adapters()).into_iter().map(|a| a.name).collect();
    names.iter().position(|other| other == name).unwrap().to_string()
}

#[test]
fn c_programs_run_on_adapter_in_double_single() {
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
        run_checked(&compile(name, "-std=c99", SHARED), &[bound, second], &variables);
    }
    // Two devices on one adapter share large calls.
    let twice = format!("{number},{number}");
    let variables = [variables[0], variables[1], ("GRAVITILE_ADAPTER", &twice)];
    run_checked(&compile("forces", "-std=c99", SHARED), &["3e-6", "1"], &variables);
    let program = compile("status", "-std=c89", SHARED);
    let status = text(&run(&mut command(&program, &[], &variables)).stderr);
    assert!(status.contains(&format!(" + {}", gpu.adapter.name)), "{status}");
    // More devices than exist.
    let many = [variables[0], ("GRAVITILE_DEVICES", "64")];
    let output = command(&program, &[], &many).output().unwrap();
    let refused = text(&output.stderr);
    assert!(!output.status.success() && refused.contains("64, but must be at most"), "{refused}");
}

/// Particles set from any thread are never lost, and the last value wins.
#[test]
fn particles_may_be_set_from_changing_threads() {
    let program = compile("setters", "-std=c99", SHARED);
    run_checked(&program, &["1e-12"], CPU);
    let number = number_of_adapter();
    let gpu = [("GRAVITILE_ENGINE", "gpu"), ("GRAVITILE_PRECISION", "double-single")];
    run_checked(&program, &["3e-6"], &[gpu[0], gpu[1], ("GRAVITILE_ADAPTER", &number)]);
    // Two devices share large calls.
    let twice = format!("{number},{number}");
    run_checked(&program, &["3e-6"], &[gpu[0], gpu[1], ("GRAVITILE_ADAPTER", &twice)]);
}
