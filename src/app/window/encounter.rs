//! Encounters of two snapshots on an orbit: default parameters, and the scene file, with which the
//! command line can repeat it.

use std::path::{Path, PathBuf};

use glam::DVec3;

use super::pictures::{absolute, free_name};
use crate::folders;
use crate::panel::MeetingOffer;
use gravitile::bodies::Bodies;
use gravitile::error::{Error, Result};
use gravitile::files;
use gravitile::input::Parts;
use gravitile::messages::rounded;
use gravitile::render::framing::median;
use gravitile::render::legend::speed_unit;
use gravitile::render::request::ASPECT;
use gravitile::scene::{Orbit, RunHints};
use gravitile::sim::suggest;
use gravitile::units::{Measure, Units};

/// Fraction of its bodies that the radius of a galaxy encloses.
const MOST: f64 = 0.9;
/// Duration of the run, in times to the first passage.
const UNTIL_PASSAGES: f64 = 5.0;

/// Two snapshots for an encounter.
pub struct Meeting {
    files: [PathBuf; 2],
    /// Their masses times G, and the radii that enclose most bodies.
    mass: [f64; 2],
    radius: [f64; 2],
    units: Units,
    run: RunHints,
    /// Assumptions made about the files.
    pub notes: Vec<String>,
}

impl Meeting {
    /// Reads both.
    ///
    /// # Errors
    ///
    /// A file is no snapshot, or its bodies have no mass or extent; units cannot be converted.
    pub fn read(files: [PathBuf; 2]) -> Result<Self> {
        let parts = Parts::of(Units::default(), true);
        let (mut mass, mut radius) = ([0.0; 2], [0.0; 2]);
        let mut runs = Vec::new();
        for (k, file) in files.iter().enumerate() {
            let bodies = parts.load(file)?;
            mass[k] = bodies.total_mass();
            radius[k] = radius_of_most(&bodies);
            if !(mass[k] > 0.0 && radius[k] > 0.0) {
                return Err(Error::file(
                    &files[k],
                    "its bodies have no mass or no extent, so it cannot meet another",
                ));
            }
            runs.push(suggest(&bodies, 1.0));
        }
        // The smaller of the two suits both.
        let finer = |of: fn(&RunHints) -> f64| of(&runs[0]).min(of(&runs[1]));
        let run = RunHints { softening: finer(|r| r.softening), dt: finer(|r| r.dt), until: 0.0 };
        let (units, notes) = parts.finish();
        Ok(Self { files, mass, radius, units, run, notes })
    }

    /// The defaults that the panel offers: almost touching, on a parabola.
    pub fn offer(&self) -> MeetingOffer {
        let both = self.radius[0] + self.radius[1];
        MeetingOffer {
            files: self.files.clone(),
            separation: rounded(2.2 * both, 3),
            pericentre: rounded(0.35 * both, 3),
            unit: self.units.length.clone(),
            mass: self.mass[0] + self.mass[1],
            speed: speed_unit(&self.units),
        }
    }

    /// The text of the scene file.
    ///
    /// # Errors
    ///
    /// The orbit is impossible.
    pub fn text(&self, name: &str, orbit: &Orbit, tilt_degrees: f64) -> Result<String> {
        let Orbit { eccentricity, pericentre, separation } = *orbit;
        let mass = self.mass[0] + self.mass[1];
        let (start, _) = orbit.start(mass)?;
        let RunHints { softening, dt, .. } = self.run;
        // Barker's equation: the time to the pericentre of a parabola.
        let fall = (2.0 / mass).sqrt() / 3.0
            * (separation + 2.0 * pericentre)
            * (separation - pericentre).max(0.0).sqrt();
        let until = rounded((UNTIL_PASSAGES * fall).max(100.0 * dt), 3);
        let reach = |k: usize| separation * self.mass[1 - k] / mass + self.radius[k];
        let extent = rounded(reach(0).max(reach(1)) / ASPECT, 3);
        // The first is on the left, the second on the right.
        let azimuth = (start.y.atan2(start.x).to_degrees() - 90.0).rem_euclid(360.0).round();
        let file = |path: &Path| toml::Value::from(absolute(path)).to_string();
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let mut text = format!(
            "title = {}\n\n\
             [[part]]\nname = \"first\"\nfile = {}\n\n\
             [[part]]\nname = \"second\"\nfile = {}\ntilt = {tilt_degrees:?}\n\n\
             [encounter]\neccentricity = {eccentricity:?}\npericentre = {pericentre:?}\nseparation = {separation:?}\n\n\
             [run]\nsoftening = {softening:?}\ndt = {dt:?}\nuntil = {until:?}\n\n\
             [view]\nextent = {extent:?}\ninclination = 30.0\nazimuth = {azimuth:?}\n",
            quoted(name),
            file(&self.files[0]),
            file(&self.files[1]),
        );
        let Units { length, mass, time, .. } = &self.units;
        let known = [("length", length), ("mass", mass), ("time", time)];
        let known = known.map(|(of, unit)| (of, Measure::parse(unit)));
        if known.iter().any(|(_, unit)| unit.is_some()) {
            text += "\n[units]\n";
        }
        for (of, unit) in known {
            if let Some(unit) = unit {
                text += &format!("{of} = {}\n", quoted(&unit.to_string()));
            }
        }
        Ok(text)
    }

    /// Writes the scene file into the user's data folder.
    pub fn write(&self, orbit: &Orbit, tilt_degrees: f64) -> Result<PathBuf> {
        let stem =
            |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{} meets {}", stem(&self.files[0]), stem(&self.files[1]));
        let text = self.text(&name, orbit, tilt_degrees)?;
        let nowhere = || Error::Outside("there is no folder to save the encounter in".to_owned());
        let folder = folders::data().ok_or_else(nowhere)?;
        files::make_folder(&folder).map_err(|error| Error::io("make", &folder, error))?;
        let path = free_name(&folder.join(format!("{}.toml", name.replace(' ', "-"))));
        files::replace(&path, text.as_bytes())?;
        Ok(path)
    }
}

/// The radius around the median that encloses most bodies.
fn radius_of_most(bodies: &Bodies) -> f64 {
    if bodies.is_empty() {
        return 0.0;
    }
    let centre: DVec3 = median(&bodies.position);
    let mut away: Vec<f64> = bodies.position.iter().map(|x| (*x - centre).length()).collect();
    let at = ((away.len() as f64 * MOST) as usize).min(away.len() - 1);
    let (_, radius, _) = away.select_nth_unstable_by(at, f64::total_cmp);
    *radius
}

#[cfg(test)]
mod tests {
    use super::*;
    use gravitile::scene::Scene;
    use gravitile::snapshot::{self, Snapshot, WriteOptions};

    /// Writes a small cluster in these units, with lengths and velocities multiplied by the given
    /// factors.
    fn written(path: PathBuf, units: Units, [length, speed]: [f64; 2]) -> PathBuf {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(300).unwrap();
        let mut made = Snapshot::new(scene.build().unwrap(), 0.0);
        made.bodies.position.iter_mut().for_each(|x| *x *= length);
        made.bodies.velocity.iter_mut().for_each(|v| *v *= speed);
        made.units = units;
        snapshot::write(&path, &made, &WriteOptions::default()).unwrap();
        path
    }

    #[test]
    fn encounter_of_snapshots_in_different_units_equals_that_in_one_unit() {
        let folder = tempfile::tempdir().unwrap();
        let named = |length: &str, mass: &str, time: &str| {
            let [length, mass, time] = [length, mass, time].map(str::to_owned);
            Units { length, mass, time, gravitational_constant: 1.0 }
        };
        let in_folder = |name: &str| folder.path().join(name);
        // Units of mass in which G is 1.
        let kpc = named("kpc", "2.22298e11 Msun", "Myr");
        let one = written(in_folder("one.gvt"), kpc, [1.0, 1.0]);
        // The same cluster: lengths in pc, velocities in pc/kyr = kpc/Myr, and 1e9 pc^3 per 1e6
        // kyr^2.
        let pc = Units { gravitational_constant: 1e3, ..named("pc", "2.22298e11 Msun", "kyr") };
        let small = written(in_folder("small.gvt"), pc, [1e3, 1.0]);
        let scene_of = |files: [PathBuf; 2]| {
            let meeting = Meeting::read(files).unwrap();
            let MeetingOffer { separation, pericentre, unit, .. } = meeting.offer();
            assert_eq!(unit, "kpc");
            let orbit = Orbit { eccentricity: 1.0, pericentre, separation };
            let text = meeting.text("x", &orbit, 20.0).unwrap();
            let scene = Scene::from_toml(&text, &in_folder("x.toml")).unwrap();
            let parts = Parts::of(scene.units.clone(), false);
            let bodies = scene.build_with(&|path: &Path| parts.load(path)).unwrap();
            (bodies, scene.run, meeting.notes)
        };
        let (plain, run, notes) = scene_of([one.clone(), one.clone()]);
        assert!(notes.len() == 1 && notes[0].contains("kpc"), "{notes:?}");
        let (converted, same_run, notes) = scene_of([one, small]);
        assert!(notes[1].contains("small.gvt: converted from pc"), "{notes:?}");
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        assert!(near(same_run.softening, run.softening) && near(same_run.dt, run.dt));
        assert_eq!(same_run.until, run.until);
        for i in 0..plain.len() {
            let [x, v] =
                [(&converted.position, &plain.position), (&converted.velocity, &plain.velocity)]
                    .map(|(a, b)| (a[i] - b[i]).length());
            assert!(x < 1e-9 && v < 1e-9, "body {i}: {x}, {v}");
            assert!(near(converted.mass[i], plain.mass[i]), "body {i}");
        }
    }

    #[test]
    fn default_encounter_shows_both_clusters_and_passes_early_in_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["one.gvt", "two.gvt"].map(|name| {
            let mut scene = Scene::builtin("plummer").unwrap();
            scene.set_n(400).unwrap();
            let mut made = Snapshot::new(scene.build().unwrap(), 7.0);
            made.units =
                Units { length: "3 kpc".into(), time: "10 Myr".into(), ..Units::default() };
            let path = folder.path().join(name);
            snapshot::write(&path, &made, &WriteOptions::default()).unwrap();
            path
        });
        let meeting = Meeting::read(files).unwrap();
        let MeetingOffer { separation, pericentre, unit, .. } = meeting.offer();
        assert_eq!(unit, "3 kpc");
        let orbit = Orbit { eccentricity: 1.0, pericentre, separation };
        let text = meeting.text("one meets two", &orbit, 30.0).unwrap();
        let mut scene = Scene::from_toml(&text, &folder.path().join("meeting.toml")).unwrap();
        assert_eq!(scene.units.length, "3 kpc");
        let load = |path: &Path| Ok(snapshot::read(path)?.bodies);
        let bodies = scene.build_with(&load).unwrap();
        // Both clusters are in the picture, and the passage comes in the first third of the run.
        let reach = scene.view.extent * ASPECT;
        let inside = bodies.position.iter().filter(|x| x.length() < reach).count();
        assert!(inside as f64 > 0.85 * bodies.len() as f64, "{inside} within {reach}");
        let speed = (2.0 * bodies.total_mass() / separation).sqrt();
        assert!(separation / speed < 0.4 * scene.run.until, "{text}");
        assert!(scene.run.dt < 0.1 * scene.run.until && scene.run.softening > 0.0);
        scene.run.until = 1.0;
        assert!(meeting.text("x", &Orbit { pericentre: -1.0, ..orbit }, 0.0).is_err());
    }
}
