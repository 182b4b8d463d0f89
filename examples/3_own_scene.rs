//! A scene of your own, from text and from bodies created in code, saved as a snapshot.
//!
//! Shows: the scene format (the same as in a .toml file), adding bodies one by one, joining sets,
//! writing a snapshot in any format, and what that format cannot hold.
//! Run: `cargo run --release --example 3_own_scene`

use std::path::Path;

use gravitile::bodies::{Bodies, Component, Role};
use gravitile::error::Result;
use gravitile::glam::DVec3;
use gravitile::scene::Scene;
use gravitile::snapshot::{self, Snapshot, WriteOptions};

const SCENE: &str = r#"
title = "Two clusters"
about = "A small cluster falls past a large one."

[[part]]
generator = "plummer"
parameters = { n = 800 }

[[part]]
generator = "plummer"
parameters = { n = 200 }
position = [3.0, 0.5, 0.0]
velocity = [-0.8, 0.0, 0.0]

[run]
softening = 0.05
dt = 0.01
until = 10.0
"#;

fn main() -> Result<()> {
    let scene = Scene::from_toml(SCENE, Path::new("two-clusters.toml"))?;
    let mut bodies = scene.build()?;

    // A ring of test bodies: without mass they feel gravity but exert none.
    let components = vec![Component::new("ring", Role::Star)];
    let mut ring = Bodies { components, ..Bodies::default() };
    for i in 0..100 {
        let outward = DVec3::X.rotate_z(std::f64::consts::TAU * f64::from(i) / 100.0);
        ring.push(0.0, outward * 2.0, DVec3::Z.cross(outward) * 0.7, 0);
    }
    bodies.append(&ring)?;
    println!("{} bodies in {} components", bodies.len(), bodies.components.len());

    let snapshot = Snapshot::new(bodies, 0.0);
    for name in ["two-clusters.gvt", "two-clusters.csv", "two-clusters.tipsy"] {
        let path = std::env::temp_dir().join(name);
        let losses = snapshot::write(&path, &snapshot, &WriteOptions::default())?;
        println!("{}", path.display());
        losses.iter().for_each(|loss| println!("    {loss}"));
    }
    Ok(())
}
