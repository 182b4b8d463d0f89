//! User-supplied kernels: correct ones pass the check, and the lessons' broken ones fail. The
//! kernel is global to the process, so it has a test executable of its own.

use crate::common;

use std::path::{Path, PathBuf};

use gravitile::forces::direct::gpu::{GpuSingle, KernelRequest, own};
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use gravitile::measure::{cases_of, check};
use gravitile::scene::{Spread, test_bodies};

fn lesson(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/lesson").join(name)
}

/// Number of cases that pass, and number of cases.
fn passed(name: &str) -> (usize, usize) {
    let gpu = common::gpu();
    let config = own::load(&lesson(name)).unwrap();
    let cases = cases_of(&gpu, config).unwrap();
    let passing = cases.iter().filter(|case| check(&gpu, **case).unwrap().passed()).count();
    (passing, cases.len())
}

#[test]
fn own_kernels_are_checked_and_reloaded() {
    let _alone = crate::alone();
    let (passing, all) = passed("mend-tail.wgsl");
    assert!(passing < all, "a wrong tail was not seen");
    // A missing barrier shows only where threads diverge; on llvmpipe they do at each remaining
    // barrier.
    let (passing, all) = passed("mend-barrier.wgsl");
    println!("mend-barrier.wgsl passes {passing} of {all}");
    for name in ["plain.wgsl", "mend-banks.wgsl", "mend-order.wgsl"] {
        let (passing, all) = passed(name);
        assert_eq!(passing, all, "{name} is slow, not wrong");
    }

    // A saved change is reloaded; of a broken one the kernel before stays in use.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.wgsl");
    let text = std::fs::read_to_string(lesson("plain.wgsl")).unwrap();
    let mut age = 0;
    let mut save = |text: &str| {
        std::fs::write(&path, text).unwrap();
        age += 1;
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let at =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 + age);
        file.set_modified(at).unwrap();
    };
    save(&text);
    own::load(&path).unwrap();
    let reload = || own::saved().unwrap().is_some_and(|text| own::replace(text).is_ok());
    assert!(!reload());
    // Doubled masses.
    save(&text.replace("return sum + source.w", "return sum + 2.0 * source.w"));
    assert!(reload() && !reload());
    let twice = accelerations();
    save("fn main( {");
    assert!(own::saved().is_err() && own::saved().unwrap().is_none());
    assert_eq!(accelerations(), twice);
    save(&text);
    assert!(reload());
    let once = accelerations();
    assert!((twice[0] / once[0] - 2.0).abs() < 1e-5, "{} {}", twice[0], once[0]);
    // Another shape.
    save(&text.replace("const P: u32 = 64u;", "const P: u32 = 32u;"));
    assert_eq!(own::replace(own::saved().unwrap().unwrap()).unwrap().p, 32);
    // What an editor within the program saves is not read again, whether it is a kernel or not.
    own::save("fn main( {").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "fn main( {");
    assert!(own::saved().unwrap().is_none());
}

/// x components of accelerations by the current own kernel; the potentials use the built-in kernel.
fn accelerations() -> Vec<f64> {
    let request = KernelRequest { own: true, ..KernelRequest::default() };
    let bodies = test_bodies(300, Spread::Even);
    let mut engine = GpuSingle::new(common::gpu(), request);
    let mut answers = Forces::default();
    let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
    engine.set_sources(&Sources::new(&bodies.position, &bodies.mass)).unwrap();
    let outputs = Outputs { potential: true, ..Outputs::ACCELERATION };
    engine.evaluate(&sinks, 0.05, &outputs, &mut answers).unwrap();
    assert_eq!(answers.potential.len(), 300);
    answers.acceleration.iter().map(|a| a.x).collect()
}
