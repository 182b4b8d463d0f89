//! Two bodies on an ellipse: create bodies, step them, read back energies.
//!
//! Shows: a built-in scene, `Simulation`, `step`, `diagnostics`.
//! Run: `cargo run --release --example 1_two_bodies`

use gravitile::error::Result;
use gravitile::scene::Scene;
use gravitile::sim::{Settings, Simulation};

fn main() -> Result<()> {
    let scene = Scene::builtin("two-body")?;
    let mut sim = Simulation::new(scene.build()?, Settings::of(&scene)?)?;
    let start = sim.diagnostics()?;
    println!("      t  separation  energy error");
    for _ in 0..=10 {
        let bodies = sim.bodies()?;
        let separation = (bodies.position[1] - bodies.position[0]).length();
        let error = sim.diagnostics()?.energy_error(&start);
        println!("{:7.4}  {separation:10.6}  {error:12.1e}", sim.time());
        sim.step(100)?;
    }
    Ok(())
}
