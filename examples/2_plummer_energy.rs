//! A star cluster in equilibrium, with a log of quantities that should not change.
//!
//! Shows: scene parameters, the engine that suits the machine, the diagnostics of a run.
//! Run: `cargo run --release --example 2_plummer_energy`

use gravitile::error::Result;
use gravitile::scene::Scene;
use gravitile::sim::{Settings, Simulation};

fn main() -> Result<()> {
    let mut scene = Scene::builtin("plummer")?;
    scene.set_n(2000)?;
    scene.seed = 42;
    let mut sim = Simulation::new(scene.build()?, Settings::of(&scene)?)?;
    println!("{} bodies on {}", sim.len(), sim.describe_engine());
    let start = sim.diagnostics()?;
    println!("  t   energy error   2K/|W|   radius of 10 %   50 %   90 % of the mass");
    for t in 0..=4 {
        sim.run_until(f64::from(t) * 0.5)?;
        let now = sim.diagnostics()?;
        let [inner, half, outer] = now.components[0].radii;
        println!(
            "{:.1} {:14.1e} {:8.4} {inner:16.4} {half:6.4} {outer:6.4}",
            sim.time(),
            now.energy_error(&start),
            now.virial_ratio(),
        );
    }
    Ok(())
}
