//! Bodies of every particle type that the formats know, for tests of snapshots.

use glam::DVec3;
use gravitile::bodies::{Bodies, Component, Role};
use gravitile::snapshot::Snapshot;

/// `n` bodies with values exact in f32, cycling through GADGET's types; ids count down from 1000.
pub fn of_each_kind(n: usize) -> Snapshot {
    let kinds = [
        ("gas", Role::Gas),
        ("halo", Role::Halo),
        ("disk", Role::Disk),
        ("bulge", Role::Bulge),
        ("stars", Role::Star),
        ("boundary", Role::Star),
    ];
    let mut bodies = Bodies::with_capacity(n);
    bodies.components = kinds.map(|(name, role)| Component::new(name, role)).into();
    for k in 0..n {
        let x = f64::from(k as f32 * 1.1 - 2.3);
        let (position, velocity) = (DVec3::new(x, -x, 7.5), DVec3::new(-0.0, 2.0 * x, 1e10));
        bodies.push(f64::from((x * x) as f32), position, velocity, (k % 6) as u8);
        bodies.id[k] = 1000 - k as u64;
    }
    Snapshot::new(bodies, 0.1)
}

/// The same snapshot with f64 columns and attributes.
pub fn with_columns(mut snapshot: Snapshot) -> Snapshot {
    let n = snapshot.bodies.len();
    for (name, value) in [("eps", 0.5), ("phi", -2.0), ("U", 1.0), ("RHO", 3.0), ("ACCE.x", 4.0)] {
        let column: Vec<f64> = (0..n).map(|k| value * k as f64).collect();
        snapshot.extra.insert(name.into(), column.into());
    }
    for (key, value) in
        [("softening", "0.05"), ("dt", "0.01"), ("scene", "plummer"), ("redshift", "0.5")]
    {
        snapshot.attributes.insert(key.into(), value.into());
    }
    snapshot
}
