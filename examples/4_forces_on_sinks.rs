//! Forces on a few chosen points from many other bodies.
//!
//! Shows: sinks and sources are two sets; any engine answers; the GPU engine and its kernel's shape.
//! Run: `cargo run --release --example 4_forces_on_sinks`

use glam::DVec3;
use gravitile::error::Result;
use gravitile::force::{
    Cpu, ForceEngine, Forces, GpuEngine, Identity, KernelWish, Reference, Sinks, Sources, Want,
};
use gravitile::gpu::{AdapterWish, Gpu};
use gravitile::scene::Scene;

fn main() -> Result<()> {
    let mut scene = Scene::builtin("plummer")?;
    scene.set_n(10_000)?;
    let cluster = scene.build(&|_| unreachable!("it needs no files"))?;

    // Probes along a line: none of them is a body of the cluster.
    let probes: Vec<DVec3> = (0..8).map(|i| DVec3::X * 0.5 * f64::from(i)).collect();
    let sinks = Sinks { position: &probes, identity: Identity::Foreign };
    let sources = Sources { position: &cluster.position, mass: &cluster.mass };

    let mut engines: Vec<Box<dyn ForceEngine>> = vec![Box::new(Reference), Box::new(Cpu::new())];
    match Gpu::open_blocking(&AdapterWish::default()) {
        Ok(gpu) => {
            // Few sinks and many sources: slices of the sources keep the device busy.
            let shape = KernelWish { s: Some(16), ..KernelWish::default() };
            engines.push(Box::new(GpuEngine::new(gpu, shape)));
        }
        Err(error) => println!("without a GPU: {error}"),
    }
    let want = Want::AccelerationAndPotential;
    let mut forces = Forces::default();
    for engine in &mut engines {
        engine.evaluate(&sinks, &sources, 0.01, want, &mut forces)?;
        println!("\n{} ({})\n     x        a_x  potential", engine.name(), engine.describe());
        for (probe, (a, phi)) in
            probes.iter().zip(forces.acceleration.iter().zip(&forces.potential))
        {
            println!("{:6.2} {:10.6} {phi:10.6}", probe.x, a.x);
        }
    }
    Ok(())
}
