//! An input as bytes. In a browser another thread generates it, which shares no memory with the page.

use super::Input;
use crate::error::{Error, Result};
use crate::scene::{RunHints, Scene};
use crate::settings::InputRequest;
use crate::sim::{MOST_BODIES, suggest};
use crate::snapshot::{Snapshot, WriteOptions};

/// A name that marks the bytes as a snapshot in gravitile's own format.
const NAME: &str = "input.gvt";
/// Bytes of softening, step, duration and the length of the notes, which precede notes and snapshot.
const HEAD: usize = 32;

impl Input {
    /// Bytes from which [`Input::unpack`] restores the input, bit for bit.
    ///
    /// Errors: bodies that no snapshot can hold.
    pub fn pack(&self) -> Result<Vec<u8>> {
        let RunHints { softening, dt, until } = self.run;
        let mut bytes: Vec<u8> =
            [softening, dt, until].into_iter().flat_map(f64::to_le_bytes).collect();
        let notes = serde_json::to_vec(&self.snapshot.notes).unwrap_or_default();
        bytes.extend((notes.len() as u64).to_le_bytes());
        bytes.extend(notes);
        bytes.extend(self.snapshot.to_bytes(NAME, &WriteOptions::default())?.0);
        Ok(bytes)
    }

    /// The input that another thread made for `request`. A scene's hints are taken from the scene, not from the bytes.
    ///
    /// Errors: bytes that are not an input; those of [`InputRequest::scene`].
    pub fn unpack(request: &InputRequest, bytes: &[u8]) -> Result<Self> {
        let broken = || Error::Outside("the bodies came back damaged from their thread".to_owned());
        let (head, rest) = bytes.split_at_checked(HEAD).ok_or_else(broken)?;
        let (head, _) = head.as_chunks();
        let [softening, dt, until] = [0, 1, 2].map(|k| f64::from_le_bytes(head[k]));
        let length = usize::try_from(u64::from_le_bytes(head[3])).unwrap_or(usize::MAX);
        let (notes, snapshot) = rest.split_at_checked(length).ok_or_else(broken)?;
        let mut snapshot = Snapshot::from_bytes(snapshot, NAME)?;
        snapshot.notes = serde_json::from_slice(notes).map_err(|_| broken())?;
        let run = RunHints { softening, dt, until };
        Ok(match request.scene()? {
            Some(Scene { integrator, view, .. }) => {
                Self { snapshot, run, integrator, chosen: None, view: Some(view) }
            }
            // The integrator of few bodies is not packed: it follows from their suggested settings.
            None if snapshot.bodies.len() <= MOST_BODIES => {
                let g = snapshot.units.gravitational_constant;
                let run = suggest(&snapshot.bodies, g);
                InputRequest::input_of(snapshot, run)
            }
            None => InputRequest::input_of(snapshot, run),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Assignment;

    fn same(request: &InputRequest, softening: Option<f64>) {
        let made = request.load(softening).unwrap();
        let again = Input::unpack(request, &made.pack().unwrap()).unwrap();
        let name = &request.input;
        assert_eq!(again.snapshot, made.snapshot, "{name}");
        assert_eq!(again.run, made.run, "{name}");
        assert_eq!(again.integrator, made.integrator, "{name}");
        assert_eq!(again.view, made.view, "{name}");
        assert_eq!(again.chosen, made.chosen, "{name}");
    }

    #[test]
    fn every_scene_comes_through_to_the_bit() {
        for name in Scene::names() {
            let takes_n = Scene::builtin(name).unwrap().set_n(60).is_ok();
            let n = takes_n.then_some(60);
            same(&InputRequest { n, ..InputRequest::named(name) }, None);
        }
        let set = vec![Assignment { name: "mass_ratio".to_owned(), value: 0.3 }];
        let galaxies = InputRequest {
            n: Some(301),
            seed: Some(7),
            set,
            gravity: Some(2.5),
            ..InputRequest::named("galaxy-collision")
        };
        same(&galaxies, Some(0.123));
    }

    #[test]
    fn a_snapshot_keeps_its_ids_facts_and_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("three.csv");
        let text = "id,x,y,z,vx,vy,vz,mass,age\n7,1,0,0,0,1,0,1,0.1\n9,-1,0,0,0,-1,0,1,3\n2,0,9,0,0,0,0,0.1,5\n";
        std::fs::write(&path, text).unwrap();
        same(&InputRequest::named(path.display().to_string()), None);
    }

    #[test]
    fn other_bytes_are_refused() {
        let request = InputRequest::named("two-body");
        let bytes = request.load(None).unwrap().pack().unwrap();
        for wrong in [&bytes[..20], &bytes[..24], &bytes[..bytes.len() - 9]] {
            assert!(Input::unpack(&request, wrong).is_err(), "{}", wrong.len());
        }
    }
}
