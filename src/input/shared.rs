//! Scenes of which each of several ranks makes some of the bodies.

use std::path::Path;

use super::{Input, Parts};
use crate::bodies::{Bodies, Rows};
use crate::error::{Error, Result};
use crate::exchange::Ranks;
use crate::memory;
use crate::scene::{Portion, Scene};
use crate::settings::InputRequest;

impl InputRequest {
    /// [`InputRequest::load`], but a scene whose bodies several ranks can make together is
    /// returned, and its bodies are left out of the input; [`build_rows`] makes them.
    ///
    /// # Errors
    ///
    /// Those of [`InputRequest::load`]; too many bodies for the memory of one rank, if each has to
    /// have all.
    pub fn describe(&self, softening: Option<f64>) -> Result<(Input, Option<Scene>)> {
        // A step that follows a field depends on all bodies.
        let scene = self.scene()?.filter(|_| self.field.is_empty());
        let Some(mut scene) = scene.filter(|scene| scene.n_if_divisible().is_some()) else {
            self.check_memory()?;
            return Ok((self.load(softening)?, None));
        };
        scene.run.softening = softening.unwrap_or(scene.run.softening);
        let parts = Parts::of(scene.units.clone(), self.isolated);
        let input = self.of_scene(scene.clone(), Bodies::default(), parts)?;
        Ok((input, Some(scene)))
    }
}

/// Makes those bodies of a scene that [`InputRequest::describe`] has returned that this rank needs:
/// `rows`, or all.
///
/// # Errors
///
/// Too many bodies for this machine; those of [`Scene::build`]; a rank is gone.
pub fn build_rows(scene: &Scene, rows: Option<&Rows>, ranks: &Ranks) -> Result<Bodies> {
    let portion = rows.map_or(Portion::WHOLE, |rows| Portion::of_rows(rows.own.clone(), ranks));
    let n = portion.rows(scene.n().unwrap_or_default()).len();
    memory::check_bodies(n, memory::SIMULATION)?;
    let load = |path: &Path| Err(Error::file(path, "a part of the scene reads it"));
    scene.build_portion(&load, &portion)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::exchange;

    /// What three ranks make of a scene, one of them nothing.
    fn made_by_ranks(scene: &Scene, n: usize) -> Vec<Bodies> {
        let each = [0..n / 2 + 5, n / 2 + 5..n / 2 + 5, n / 2 + 5..n];
        let members = exchange::team(3, None, Duration::ZERO);
        std::thread::scope(|scope| {
            let of = |(member, own)| {
                scope.spawn(move || {
                    let ranks = Ranks::new(Box::new(member), 0);
                    build_rows(scene, Some(&Rows { own, n }), &ranks).unwrap()
                })
            };
            let threads: Vec<_> = members.into_iter().zip(each).map(of).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn ranks_make_the_bits_of_one_process() {
        let mut divisible = 0;
        for name in Scene::names() {
            let mut scene = Scene::builtin(name).unwrap();
            let _ = scene.set_n(10_007);
            let Some(n) = scene.n_if_divisible() else { continue };
            divisible += 1;
            let whole = scene.build().unwrap();
            assert_eq!(whole.len(), n, "{name}");
            let mut first = 0;
            for made in made_by_ranks(&scene, n) {
                let mut own = whole.clone();
                own.keep(&(first..first + made.len()));
                first += made.len();
                assert!(made == own, "{name} up to body {first}");
            }
            assert_eq!(first, n, "{name}");
        }
        assert!(divisible > 20, "{divisible} scenes");
    }

    /// Stars with masses of their own are made whole by each rank, and so are bodies of a snapshot.
    #[test]
    fn what_ranks_cannot_divide_is_loaded_whole() {
        let request = |input: &str| InputRequest { input: input.into(), ..InputRequest::default() };
        let (input, scene) = request("star-cluster").describe(None).unwrap();
        assert!(scene.is_none() && !input.snapshot.bodies.is_empty());
        let (input, scene) = request("plummer").describe(Some(0.5)).unwrap();
        assert_eq!(scene.unwrap().run.softening, 0.5);
        assert!(input.snapshot.bodies.is_empty());
        assert_eq!(input.run.softening, 0.5);
    }
}
