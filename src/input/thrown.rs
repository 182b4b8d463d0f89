//! The bodies of what is thrown into a run.

use std::path::Path;

use glam::DVec3;

use super::Input;
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::scene::Scene;
use crate::settings::{Throw, ThrownKind};

impl Throw {
    /// Its bodies where they begin, with ids from `first_id` on and components of their own, named
    /// by `number`. They are in equilibrium with this `softening` and gravitational constant.
    ///
    /// # Errors
    /// Those of [`Throw::check`].
    pub fn bodies(
        &self,
        (number, first_id): (usize, u64),
        softening: f64,
        gravitational_constant: f64,
    ) -> Result<Bodies> {
        self.check()?;
        let Self { kind, n, mass, size, tilt, node, seed, .. } = *self;
        // A galaxy's disk has the mass 1, its bulge 0.2 and its halo 4.
        let source = match kind {
            ThrownKind::Body => format!("mass = {mass:?}"),
            ThrownKind::Cluster => format!(
                "generator = \"plummer\"\nparameters = {{ n = {n} }}\nlength_scale = {size:?}"
            ),
            ThrownKind::Galaxy => format!(
                "generator = \"disk-galaxy\"\nparameters = {{ n = {n}, bulge_mass = 0.2, halo_bodies = 0.4 }}\n\
                 length_scale = {size:?}\ntilt = {tilt:?}\nnode = {node:?}"
            ),
        };
        // A generator takes softenings up to its unit of length.
        let softening = match kind {
            ThrownKind::Body => softening,
            _ => softening.min(size),
        };
        let name = kind.name();
        let text = format!(
            "seed = {seed}\n[[part]]\nname = \"thrown {name} {number}\"\n{source}\n[run]\nsoftening = {softening:?}\n"
        );
        let mut bodies = Scene::from_toml(&text, Path::new("thrown.toml"))?.build()?;
        let made = bodies.total_mass();
        if kind != ThrownKind::Body && made > 0.0 {
            // Velocities follow, so that the equilibrium stays one.
            let (scale, speed) = (mass / made, (gravitational_constant * mass / made).sqrt());
            bodies.mass.iter_mut().for_each(|m| *m *= scale);
            bodies.velocity.iter_mut().for_each(|v| *v *= speed);
        }
        bodies.id = (first_id..).take(bodies.len()).collect();
        bodies.shift(DVec3::from(self.position), DVec3::from(self.velocity));
        bodies.validate()?;
        Ok(bodies)
    }
}

impl Input {
    /// Adds what is thrown in at the start, in equilibrium with this softening, to the bodies. They
    /// are those that the window has if it is thrown in before the first step.
    ///
    /// # Errors
    /// One that is thrown in later: a run has the same bodies from start to end. Those of
    /// [`Throw::bodies`]; more than 256 components.
    pub fn throw_in(&mut self, throws: &[Throw], softening: f64) -> Result<()> {
        let (bodies, start) = (&mut self.snapshot.bodies, self.snapshot.time);
        let mut throws: Vec<&Throw> = throws.iter().collect();
        throws.sort_by(|a, b| a.time.total_cmp(&b.time));
        for (number, throw) in (1..).zip(throws) {
            if throw.time > start {
                let allowed = format!(
                    "at most the start, {start}, since a run has the same bodies from its start to its end: run until then, and go on from the last snapshot with --throw"
                );
                return Err(Error::value("t of --throw", throw.time, allowed));
            }
            let next_id = bodies.id.iter().max().map_or(0, |id| id.saturating_add(1));
            let g = self.snapshot.units.gravitational_constant;
            bodies.append(&throw.bodies((number, next_id), softening, g)?)?;
            self.snapshot.notes.push(format!("thrown in: {throw}"));
            // These columns have no values for the new bodies.
            let left: Vec<String> = std::mem::take(&mut self.snapshot.extra).into_keys().collect();
            if !left.is_empty() {
                let note = format!("snapshots no longer have the columns {}", left.join(", "));
                self.snapshot.notes.push(note);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::InputRequest;
    use crate::snapshot::{Column, Snapshot};

    #[test]
    fn what_is_thrown_in_at_the_start_follows_the_bodies_and_later_throws_are_refused() {
        let request = InputRequest { n: Some(50), ..InputRequest::named("plummer".to_owned()) };
        let load = || {
            let mut input = request.load(None).unwrap();
            input.snapshot.time = 2.0;
            input
        };
        let throws: Vec<Throw> = ["body:t=1,mass=2,x=3", "cluster:t=-1,mass=1,size=0.1,n=20,x=-3"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        let (before, mut input) = (load(), load());
        input.snapshot.extra.insert("phi".to_owned(), Column::F64(vec![0.0; 50]));
        input.throw_in(&throws, 0.01).unwrap();
        let Snapshot { bodies, extra, notes, .. } = &input.snapshot;
        assert_eq!(bodies.id, (0..71).collect::<Vec<u64>>());
        assert_eq!(bodies.position[..50], before.snapshot.bodies.position);
        // In order of time.
        let cluster = throws[1].bodies((1, 50), 0.01, 1.0).unwrap();
        assert_eq!(bodies.position[50..70], cluster.position);
        assert_eq!((bodies.mass[70], bodies.position[70]), (2.0, DVec3::X * 3.0));
        assert!(extra.is_empty() && notes.iter().any(|note| note.contains("columns phi")));
        assert_eq!(notes.iter().filter(|note| note.starts_with("thrown in: ")).count(), 2);

        let late: Throw = "body:t=2.5,mass=1".parse().unwrap();
        let error = load().throw_in(&[late], 0.01).unwrap_err().to_string();
        assert!(error.contains("--throw is 2.5") && error.contains("at most the start, 2"));
    }

    #[test]
    fn thrown_things_have_their_mass_place_and_motion_and_are_in_equilibrium() {
        for (kind, n) in
            [(ThrownKind::Body, 1), (ThrownKind::Cluster, 400), (ThrownKind::Galaxy, 600)]
        {
            let throw = Throw {
                kind,
                n,
                mass: 3.0,
                size: 0.5,
                position: [10.0, 0.0, -4.0],
                velocity: [0.0, 2.0, 0.0],
                seed: 5,
                ..Throw::default()
            };
            let (softening, g) = (0.02, 4.0);
            let made = throw.bodies((2, 1000), softening, g).unwrap();
            assert_eq!((made.len(), made.id[0]), (n, 1000));
            assert!((made.total_mass() - 3.0).abs() < 1e-9, "{kind:?}");
            assert!(made.components.iter().all(|part| part.name.starts_with("thrown ")));
            let (x, v) = made.centre_of_mass();
            assert!((x - DVec3::new(10.0, 0.0, -4.0)).length() < 1e-9, "{kind:?}");
            assert!((v - DVec3::new(0.0, 2.0, 0.0)).length() < 1e-9, "{kind:?}");
            assert_eq!(throw.bodies((2, 1000), softening, g).unwrap(), made, "the same bits");
            if kind == ThrownKind::Body {
                continue;
            }
            // The virial theorem: 2 K + W = 0, in the frame of the centre.
            let kinetic: f64 = made
                .mass
                .iter()
                .zip(&made.velocity)
                .map(|(m, u)| 0.5 * m * (*u - v).length_squared())
                .sum();
            let mut potential = 0.0;
            for i in 0..n {
                for j in 0..i {
                    let d2 = (made.position[i] - made.position[j]).length_squared();
                    potential -=
                        g * made.mass[i] * made.mass[j] / (d2 + softening * softening).sqrt();
                }
            }
            let virial = -2.0 * kinetic / potential;
            assert!((virial - 1.0).abs() < 0.15, "{kind:?}: {virial}");
        }
    }
}
