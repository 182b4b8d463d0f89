//! Two snapshots that meet on an orbit: what suits them, and the scene file that lets them, so that the command line can repeat
//! it.

use std::path::{Path, PathBuf};

use glam::DVec3;

use super::act::absolute;
use super::frame::Frames;
use super::pictures::free_name;
use crate::app::folders;
use crate::app::panel::{MeetingOffer, Tab};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::files;
use crate::live::Beside;
use crate::render::framing::median;
use crate::render::request::ASPECT;
use crate::scene::{Orbit, RunHints};
use crate::sim::suggest;
use crate::snapshot;
use crate::units::{Measure, Units};

/// Most of a galaxy's bodies are within this part of all.
const MOST: f64 = 0.9;
/// The first passage comes after this part of the run.
const UNTIL_PASSAGES: f64 = 5.0;

/// What is known of two snapshots that are to meet.
pub struct Meeting {
    files: [PathBuf; 2],
    /// Masses times G, and the radii that hold most bodies.
    mass: [f64; 2],
    radius: [f64; 2],
    units: Units,
    run: RunHints,
    /// Their units have different names.
    pub differ: bool,
}

impl Meeting {
    /// Reads both.
    ///
    /// Errors: a file that is no snapshot, or without mass.
    pub fn read(files: [PathBuf; 2]) -> Result<Self> {
        let [first, second] = [snapshot::read(&files[0])?, snapshot::read(&files[1])?];
        let names = |units: &Units| [units.length.clone(), units.mass.clone(), units.time.clone()];
        let differ = names(&first.units) != names(&second.units);
        let units = first.units.clone();
        let (mut mass, mut radius) = ([0.0; 2], [0.0; 2]);
        let mut runs = Vec::new();
        for (k, one) in [first, second].into_iter().enumerate() {
            let g = one.units.gravitational_constant;
            mass[k] = one.bodies.total_mass() * g;
            radius[k] = radius_of_most(&one.bodies);
            if !(mass[k] > 0.0 && radius[k] > 0.0) {
                return Err(Error::file(
                    &files[k],
                    "its bodies have no mass or no extent: they cannot meet",
                ));
            }
            runs.push(suggest(&one.bodies, g));
        }
        // The finer of the two suits both.
        let finer = |of: fn(&RunHints) -> f64| of(&runs[0]).min(of(&runs[1]));
        let run = RunHints { softening: finer(|r| r.softening), dt: finer(|r| r.dt), until: 0.0 };
        Ok(Self { files, mass, radius, units, run, differ })
    }

    /// What the panel offers: almost touching, on a parabola.
    pub fn offer(&self) -> MeetingOffer {
        let both = self.radius[0] + self.radius[1];
        MeetingOffer {
            files: self.files.clone(),
            separation: rounded(2.2 * both),
            pericentre: rounded(0.35 * both),
            unit: self.units.length.clone(),
        }
    }

    /// The text of the scene file.
    ///
    /// Errors: an orbit that there is not.
    pub fn text(&self, name: &str, orbit: &Orbit, tilt_degrees: f64) -> Result<String> {
        let Orbit { eccentricity, pericentre, separation } = *orbit;
        let mass = self.mass[0] + self.mass[1];
        let (start, _) = orbit.start(mass)?;
        let RunHints { softening, dt, .. } = self.run;
        // Barker's equation: the time to the pericentre of a parabola.
        let fall = (2.0 / mass).sqrt() / 3.0
            * (separation + 2.0 * pericentre)
            * (separation - pericentre).max(0.0).sqrt();
        let until = rounded((UNTIL_PASSAGES * fall).max(100.0 * dt));
        let reach = |k: usize| separation * self.mass[1 - k] / mass + self.radius[k];
        let extent = rounded(reach(0).max(reach(1)) / ASPECT);
        // The first stands at the left, the second at the right.
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
        // G goes into the masses of a scene: units of mass are worth something else then.
        let g_is_one = self.units.gravitational_constant == 1.0;
        let known = [
            ("length", &self.units.length, true),
            ("mass", &self.units.mass, g_is_one),
            ("time", &self.units.time, true),
        ];
        let known = known.map(|(of, unit, told)| (of, Measure::parse(unit).filter(|_| told)));
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
        let nowhere = || Error::Outside("there is no folder for the encounter".to_owned());
        let folder = folders::data().ok_or_else(nowhere)?;
        files::make_folder(&folder).map_err(|error| Error::io("make", &folder, error))?;
        let path = free_name(&folder.join(format!("{}.toml", name.replace(' ', "-"))));
        files::replace(&path, text.as_bytes())?;
        Ok(path)
    }
}

/// The radius around the median that holds most bodies.
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

/// Three digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

impl Frames {
    /// Reads two snapshots beside the window, to offer that they meet.
    pub(super) fn read_meeting(&mut self, files: [PathBuf; 2]) -> Result<()> {
        let work = move || async move { Meeting::read(files) };
        self.simulated.meeting = Some(Beside::start("reading two snapshots", work)?);
        self.output.say("reading two snapshots that may meet".to_owned(), false);
        Ok(())
    }

    /// Offers an encounter once both snapshots are read.
    pub(super) fn take_meeting(&mut self) {
        let Some(made) = self.simulated.meeting.as_ref().and_then(Beside::take) else { return };
        self.simulated.meeting = None;
        match made {
            Ok(meeting) => {
                self.panel.scene.offer_encounter(meeting.offer());
                (self.panel.open, self.panel.tab) = (true, Tab::Scene);
                self.output.dismiss_message();
                if meeting.differ {
                    let text = "the two snapshots have different units: their numbers are taken as they stand";
                    self.output.say(text.to_owned(), true);
                }
                self.simulated.met = Some(meeting);
            }
            Err(error) => self.output.say_error(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;
    use crate::snapshot::{Snapshot, WriteOptions};

    #[test]
    fn two_snapshots_become_a_scene_that_begins_just_before_they_touch() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["one.gvt", "two.gvt"].map(|name| {
            let mut scene = Scene::builtin("plummer").unwrap();
            scene.set_n(400).unwrap();
            let mut made = Snapshot::new(scene.build(&|_| unreachable!()).unwrap(), 7.0);
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
        assert_eq!(Units::from(&scene.units).length, "3 kpc");
        let load = |path: &Path| Ok(snapshot::read(path)?.bodies);
        let bodies = scene.build(&load).unwrap();
        // All of both is in the picture, and the passage comes in the first third of the run.
        let reach = scene.view.extent * ASPECT;
        let seen = bodies.position.iter().filter(|x| x.length() < reach).count();
        assert!(seen as f64 > 0.85 * bodies.len() as f64, "{seen} within {reach}");
        let speed = (2.0 * bodies.total_mass() / separation).sqrt();
        assert!(separation / speed < 0.4 * scene.run.until, "{text}");
        assert!(scene.run.dt < 0.1 * scene.run.until && scene.run.softening > 0.0);
        scene.run.until = 1.0;
        assert!(meeting.text("x", &Orbit { pericentre: -1.0, ..orbit }, 0.0).is_err());
    }
}
