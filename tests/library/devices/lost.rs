//! Loss of one device ends the run on all.

use std::sync::Arc;

use gravitile::error::Error;
use gravitile::forces::Method;
use gravitile::forces::direct::gpu::KernelRequest;
use gravitile::gpu::Gpu;
use gravitile::record;
use gravitile::sim::{Choice, EngineKind, Settings, Simulation};
use gravitile::snapshot::Snapshot;

use super::{common, open, plummer, settings};

#[test]
fn lost_device_ends_the_others_with_an_error() {
    // Separate devices: a lost device stays lost.
    let mut own: Vec<_> =
        (0..3).map(|_| Gpu::open_blocking(&common::adapter_request()).unwrap()).collect();
    for lost in 0..2 {
        let choice = Choice::of(EngineKind::Gpu, Method::Direct, "asked for", Some(own[0].clone()));
        let choice = Choice { others: own[1..].to_vec(), ..choice };
        let settings = settings(KernelRequest::default());
        let mut sim = Simulation::builder(plummer(300), settings).choice(choice).build().unwrap();
        let gone = Arc::clone(&own[2 - lost]);
        let mut watch = |done| {
            if done == 3 {
                gone.device.destroy();
            }
            true
        };
        let error = sim.step_watched(1000, &mut watch).unwrap_err();
        assert!(matches!(error, Error::Device(_)), "{error}");
        own[2 - lost] = Gpu::open_blocking(&common::adapter_request()).unwrap();
    }
}

/// Runs on two devices, one of which is lost after `step`; returns the error and the snapshots
/// written.
fn lost_run(settings: &Settings, at: &std::path::Path, step: u64) -> (Error, Vec<Vec<u8>>) {
    let own: Vec<_> =
        (0..2).map(|_| Gpu::open_blocking(&common::adapter_request()).unwrap()).collect();
    let choice = Choice::of(EngineKind::Gpu, Method::Direct, "asked for", Some(own[0].clone()));
    let choice = Choice { others: own[1..].to_vec(), ..choice };
    let mut sim =
        Simulation::builder(plummer(300), settings.clone()).choice(choice).build().unwrap();
    let mut watch = |done| {
        if done == step {
            own[1].device.destroy();
        }
        true
    };
    let error = recorded(&mut sim, at, &mut watch).unwrap_err();
    (error, snapshots(at))
}

/// A run of 12 steps with a snapshot every second step.
fn recorded(
    sim: &mut Simulation,
    at: &std::path::Path,
    watch: &mut dyn FnMut(u64) -> bool,
) -> gravitile::error::Result<()> {
    let mut first = Snapshot::new(sim.bodies().unwrap(), 0.0);
    record::set_restart(&mut first, sim.restart());
    let plan = record::Plan::of(sim, "plummer".to_owned(), 12, 2);
    let folder = record::RunFolder::prepare(at).unwrap().begin(plan, &first).unwrap();
    let mut log = record::EnergyLog::open(at, None).unwrap();
    record::run(sim, &folder, &mut log, &first, watch, &mut |_| {}).map(|_| ())
}

fn snapshots(at: &std::path::Path) -> Vec<Vec<u8>> {
    let names = (0..=12).map(|step| at.join(format!("step_{step:010}.gvt")));
    names.filter_map(|path| std::fs::read(path).ok()).collect()
}

#[test]
fn run_keeps_snapshots_before_device_loss() {
    let place = tempfile::tempdir().unwrap();
    let hermite = Settings {
        integrator: gravitile::integrate::find("hermite4").unwrap(),
        precision: Some(gravitile::forces::Precision::DoubleSingle),
        dt: 0.03125,
        ..settings(KernelRequest::default())
    };
    for (name, settings) in [("leapfrog", settings(KernelRequest::default())), ("hermite", hermite)]
    {
        if settings.precision.is_some_and(|precision| !common::tiers().contains(&precision)) {
            common::skip::skipped("a device that is lost in block steps", "double-single");
            continue;
        }
        let whole = place.path().join(format!("{name} whole"));
        let mut sim = open(1, &plummer(300), &settings);
        recorded(&mut sim, &whole, &mut |_| true).unwrap();
        let (error, left) = lost_run(&settings, &place.path().join(name), 7);
        assert!(matches!(error, Error::Device(_)), "{name}: {error}");
        assert!(error.to_string().contains("gravitile resume"), "{name}: {error}");
        // The snapshots of steps 0, 2, 4 and 6, identical to those of an undisturbed run.
        let whole = snapshots(&whole);
        assert!(left.len() == 4 && whole.len() == 7, "{name}: {} {}", left.len(), whole.len());
        assert!(left[..] == whole[..4], "{name}");
    }
}
