//! Forces on a few chosen points from many other bodies.
//!
//! Shows: separate sets of sinks and sources; any engine; the GPU engine and its kernel's shape.
//! Run: `cargo run --release --example 4_forces_on_sinks`

use gravitile::error::Result;
use gravitile::forces::direct::gpu::KernelRequest;
use gravitile::forces::direct::{CpuSingle, GpuSingle, Reference};
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use gravitile::glam::DVec3;
use gravitile::gpu::{AdapterRequest, Gpu};
use gravitile::scene::Scene;

fn main() -> Result<()> {
    let mut scene = Scene::builtin("plummer")?;
    scene.set_n(10_000)?;
    let cluster = scene.build()?;

    // Probes along a line: none of them is a body of the cluster.
    let probes: Vec<DVec3> = (0..8).map(|i| DVec3::X * 0.5 * f64::from(i)).collect();
    let sinks = Sinks::new(&probes, Identity::Foreign);
    let sources = Sources::new(&cluster.position, &cluster.mass);

    // With few sinks and many sources, cutting the sources into slices keeps a device busy.
    let shape = KernelRequest { s: Some(16), ..KernelRequest::default() };
    let mut engines: Vec<Box<dyn ForceEngine>> =
        vec![Box::new(Reference::default()), Box::new(CpuSingle::new())];
    match Gpu::open_blocking(&AdapterRequest::default()) {
        Ok(gpu) => engines.push(Box::new(GpuSingle::new(gpu, shape))),
        Err(error) => println!("without a GPU: {error}"),
    }
    let mut forces = Forces::default();
    for engine in &mut engines {
        engine.evaluate_from(&sources, &sinks, 0.01, &Outputs::POTENTIAL, &mut forces)?;
        println!("\n{} ({})\n     x        a_x  potential", engine.name(), engine.describe());
        for (k, probe) in probes.iter().enumerate() {
            let (a, phi) = (forces.acceleration[k], forces.potential[k]);
            println!("{:6.2} {:10.6} {phi:10.6}", probe.x, a.x);
        }
    }
    Ok(())
}
