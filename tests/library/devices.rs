//! Several devices share the bodies: the bits do not depend on their number.

use crate::common;

mod domains;
mod library;
mod lost;
mod ranks;

use std::sync::{Arc, LazyLock};

use gravitile::bodies::Bodies;
use gravitile::forces::Method;
use gravitile::forces::direct::gpu::KernelRequest;
use gravitile::gpu::{AdapterRequest, DeviceCount, Gpu};
use gravitile::scene::Scene;
use gravitile::sim::{Choice, EngineKind, Settings, Simulation};

/// Devices of one kind: several on one adapter, so that one adapter suffices.
fn devices(count: usize) -> Vec<Arc<Gpu>> {
    static OPEN: std::sync::Mutex<Vec<Arc<Gpu>>> = std::sync::Mutex::new(Vec::new());
    let mut open = OPEN.lock().unwrap();
    while open.len() < count {
        open.push(Gpu::open_blocking(&common::adapter_request()).unwrap());
    }
    open[..count].to_vec()
}

fn plummer(n: usize) -> Bodies {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    scene.build().unwrap()
}

fn settings(kernel: KernelRequest) -> Settings {
    Settings { softening: 0.05, dt: 0.01, engine: EngineKind::Gpu, kernel, ..Settings::default() }
}

fn chosen(count: usize, settings: &Settings) -> Choice {
    let mut devices = devices(count);
    let others = devices.split_off(1);
    let method = settings.method.unwrap_or(Method::Direct);
    let choice = Choice::of(EngineKind::Gpu, method, "asked for", devices.pop());
    Choice { others, ..choice }
}

fn open(count: usize, bodies: &Bodies, settings: &Settings) -> Simulation {
    Simulation::builder(bodies.clone(), settings.clone())
        .choice(chosen(count, settings))
        .build()
        .unwrap()
}

/// The complete observable state of a simulation, bit for bit.
fn fingerprint(sim: &mut Simulation) -> String {
    let state = sim.state().unwrap();
    let diagnostics = sim.diagnostics_of(&state).unwrap();
    let restart = sim.restart();
    format!("{state:?} {diagnostics:?} {restart:?} {}", sim.interactions())
}

static SHAPES: LazyLock<[KernelRequest; 3]> = LazyLock::new(|| {
    [KernelRequest::default(), common::tiled([64, 1, 2, 4, 1]), common::tiled([32, 4, 1, 2, 3])]
});

#[test]
fn two_and_three_devices_give_same_bits_as_one() {
    let bodies = plummer(1001);
    for kernel in *SHAPES {
        let settings = settings(kernel);
        let run = |count: usize, steps: &[u64]| {
            let mut sim = open(count, &bodies, &settings);
            steps.iter().for_each(|steps| sim.step(*steps).unwrap());
            assert_eq!(sim.steps(), 6);
            fingerprint(&mut sim)
        };
        let one = run(1, &[6]);
        assert!(run(2, &[6]) == one, "{kernel:?}");
        assert!(run(3, &[1, 0, 5]) == one, "{kernel:?}");
        let mut moved = open(2, &bodies, &settings);
        moved.step(5).unwrap();
        assert!(fingerprint(&mut moved) != one, "the comparison should see a missing step");
    }
}

#[test]
fn devices_share_large_blocks_with_same_bits() {
    let mut bodies = plummer(301);
    // One heavy body, around which steps are much shorter than elsewhere, makes some blocks small.
    bodies.mass[5] *= 20.0;
    for (integrator, precision) in [
        ("hermite4", gravitile::forces::Precision::DoubleSingle),
        ("hermite6", gravitile::forces::Precision::DoubleSingle),
        ("hermite4", gravitile::forces::Precision::Double),
    ] {
        if !common::tiers().contains(&precision) {
            common::skip::skipped("block steps on several devices", precision.name());
            continue;
        }
        let settings = Settings {
            integrator: gravitile::integrate::find(integrator).unwrap(),
            precision: Some(precision),
            dt: 0.0625,
            ..settings(KernelRequest::default())
        };
        let run = |count: usize, steps: &[u64]| {
            let mut sim = open(count, &bodies, &settings);
            let words =
                if count == 1 { "on the device".to_owned() } else { format!("on {count} devices") };
            assert!(sim.describe_engine().contains(&words), "{}", sim.describe_engine());
            steps.iter().for_each(|steps| sim.step(*steps).unwrap());
            let stats = *sim.blocks().unwrap().stats();
            // Software adapters share blocks of more than 2^14 interactions.
            let (last, mean) = (stats.last_active, stats.mean_active());
            assert!(last > (1 << 14) / 301 && mean < last as f64, "{stats:?}");
            (fingerprint(&mut sim), stats)
        };
        let one = run(1, &[3]);
        assert!(run(2, &[3]) == one, "{integrator}, {precision:?}");
        assert!(run(3, &[1, 2]) == one, "{integrator}, {precision:?}");
        assert!(run(2, &[2]) != one, "the comparison should see a missing step");
    }
}

#[test]
fn distant_or_few_bodies_give_same_bits() {
    let mut far = plummer(300);
    far.position.iter_mut().for_each(|x| x.x += 1e4);
    for bodies in [far, plummer(2)] {
        let settings = settings(KernelRequest::default());
        let [one, three] = [1, 3].map(|count| {
            let mut sim = open(count, &bodies, &settings);
            sim.step(3).unwrap();
            fingerprint(&mut sim)
        });
        assert!(one == three, "{} bodies", bodies.len());
    }
}

#[test]
fn interrupt_stops_all_devices_at_same_step() {
    let bodies = plummer(500);
    let settings = settings(KernelRequest::default());
    let mut sim = open(3, &bodies, &settings);
    let mut reported = Vec::new();
    let done = sim.step_watched(50, &mut |done| {
        reported.push(done);
        done < 4
    });
    // A step in progress is finished; on a machine so busy that steps are slow there is none.
    let done = done.unwrap();
    assert!(done == 4 || done == 5, "{done}");
    assert_eq!(reported, (1..=done).collect::<Vec<_>>());
    assert_eq!(sim.steps(), done);
    sim.step(7 - done).unwrap();
    let mut one = open(1, &bodies, &settings);
    one.step(7).unwrap();
    assert!(fingerprint(&mut sim) == fingerprint(&mut one));
}

#[test]
fn edited_bodies_and_settings_reach_all_devices() {
    let settings = settings(KernelRequest::default());
    let [one, two] = [1, 2].map(|count| {
        let mut sim = open(count, &plummer(400), &settings);
        sim.step(2).unwrap();
        sim.edit(|bodies| {
            bodies.position[7].x += 0.5;
            bodies.mass[3] *= 2.0;
            Ok(())
        })
        .unwrap();
        sim.set_dt(-0.005).unwrap();
        sim.step(3).unwrap();
        fingerprint(&mut sim)
    });
    assert!(one == two);
}

#[test]
fn first_device_holds_all_bodies_for_rendering() {
    let bodies = plummer(400);
    let settings = settings(KernelRequest::default());
    let [one, two] = [1, 2].map(|count| {
        let mut sim = open(count, &bodies, &settings);
        sim.step(4).unwrap();
        let (gpu, buffers) = sim.device().unwrap();
        let all = [&buffers.position_mass, &buffers.velocity, &buffers.acceleration];
        gravitile::gpu::read_blocking::<[f32; 4]>(gpu, &all, bodies.len()).unwrap()
    });
    assert!(one == two);
}

#[test]
fn unshareable_settings_are_refused() {
    let request = |devices: DeviceCount, method, integrator: &str| Settings {
        engine: EngineKind::Gpu,
        adapter: AdapterRequest::named("0,0"),
        devices,
        method: Some(method),
        integrator: gravitile::integrate::find(integrator).unwrap(),
        ..Settings::default()
    };
    let refused = |settings: Settings| {
        Simulation::new(plummer(100), settings).err().expect("it should be refused").to_string()
    };
    let two = DeviceCount::of_names(2);
    let narrow = Some(gravitile::forces::Precision::Single);
    let hermite = request(two, Method::Direct, "hermite4");
    let text = refused(Settings { precision: narrow, ..hermite });
    assert!(text.contains("--devices is 2, but must be 1 with hermite4"), "{text}");
    let one = KernelRequest {
        dispatch: gravitile::forces::direct::gpu::Dispatch::OneWorkgroup,
        ..KernelRequest::default()
    };
    let text = refused(Settings { kernel: one, ..request(two, Method::Direct, "leapfrog") });
    assert!(text.contains("1 where one workgroup takes all steps"), "{text}");
    let text = refused(request(DeviceCount::of_names(3), Method::Direct, "leapfrog"));
    assert!(text.contains("--devices is 3, but must be 2"), "{text}");
}
