//! Throwing a body, a cluster or a galaxy into the run: by a drag in the picture, or at the times
//! that a command line or a link names.
//!
//! The run continues from the state that was read back with more bodies, as after a change of the
//! engine. States before it, and the undo, keep the bodies that they had (`past`).

use std::sync::Arc;

use glam::{DVec2, DVec3};

use super::loading::Loading;
use super::session::{Initial, ROUNDING, Session};
use super::simulated::Purpose;
use super::state::WindowState;
use super::undo::UndoStep;
use crate::panel::{ThrowForm, number};
use gravitile::bodies::Bodies;
use gravitile::error::{Error, Result};
use gravitile::messages::rounded;
use gravitile::render::ages::ages;
use gravitile::render::legend::speed_unit;
use gravitile::render::{Camera, PictureSize, Survey};
use gravitile::settings::{Throw, ThrownKind};
use gravitile::sim::{Settings, State};
use gravitile::units::Units;

/// Speed of an arrow as long as half the picture's height, in the escape speed from its foot.
const FULL: f64 = 1.5;
/// Largest number of bodies that the escape speed is computed from; of more, a regular sample.
const SAMPLES: usize = 1 << 16;
/// Least number of time steps in sqrt(size^3 / (G mass)).
const STEPS: f64 = 20.0;

/// What a drag would throw in, with its velocity in words.
pub struct Aim {
    pub throw: Throw,
    pub text: String,
}

impl Aim {
    /// For a drag between two pixels of a picture that `camera` sees: from the place, in the plane
    /// through the camera's target, to the tip of the arrow.
    pub fn of(
        form: &ThrowForm,
        (session, latest): (&Session, Option<&Arc<State>>),
        (camera, size): (&Camera, PictureSize),
        [from, to]: [DVec2; 2],
        units: &Units,
    ) -> Self {
        let (initial, settings) = (&session.initial, session.live.settings());
        let g = settings.gravitational_constant;
        let bodies = &initial.bodies;
        let [place, tip] = [from, to].map(|pixel| camera.point_at(pixel, size));
        let half_height = camera.distance * (0.5 * camera.fov_rad).tan();
        let positions = latest.map(|state| &state.bodies.position);
        let positions =
            positions.filter(|all| all.len() == bodies.len()).unwrap_or(&bodies.position);
        let escape = g.sqrt() * escape_speed(positions, &bodies.mass, place, settings.softening);
        // Without mass, an arrow of that length crosses it in a tenth of the run.
        let full = match escape > 0.0 {
            true => FULL * escape,
            false => half_height / (0.1 * initial.hints.until).max(settings.dt),
        };
        let arrow = (tip - place) * (full / half_height);
        let [_, drift] = initial.centre;
        let mass = form.mass_part * bodies.total_mass();
        let resolved = (g * mass * (STEPS * settings.dt).powi(2)).cbrt();
        let spun = form.kind == ThrownKind::Galaxy;
        let turn = |degrees: f64| if spun { (degrees * 10.0).round() / 10.0 + 0.0 } else { 0.0 };
        let throw = Throw {
            kind: form.kind,
            n: form.count(),
            mass: short(mass),
            size: match form.kind {
                ThrownKind::Body => 0.0,
                _ => short((form.size_part * half_height).max(resolved)),
            },
            // Face-on: the disk lies in the plane of the picture.
            tilt: turn(90.0 - camera.elevation_rad.to_degrees()),
            node: turn((90.0 + camera.azimuth_rad.to_degrees()).rem_euclid(360.0)),
            position: place.to_array().map(short),
            velocity: (drift + arrow).to_array().map(short),
            time: session.live.status().time,
            seed: session.live.status().steps + 1,
        };
        let unit = speed_unit(units);
        let speed = |value: f64| format!("{} {}", number(value * unit.factor), unit.name);
        let mut text = speed(arrow.length()).trim_end().to_owned();
        if escape > 0.0 {
            text += &format!(" · escapes from here with {}", speed(escape).trim_end());
        }
        Self { throw, text }
    }
}

/// Speed that escapes from a place with G = 1, sqrt(-2 phi).
fn escape_speed(positions: &[DVec3], mass: &[f64], place: DVec3, softening: f64) -> f64 {
    let stride = positions.len().div_ceil(SAMPLES).max(1);
    let bodies = positions.iter().zip(mass).step_by(stride);
    let depth: f64 = bodies
        .map(|(x, m)| m / ((*x - place).length_squared() + softening * softening).sqrt())
        .filter(|part| part.is_finite())
        .sum();
    (2.0 * depth * stride as f64).sqrt()
}

/// Six significant digits, which the command line then repeats.
fn short(value: f64) -> f64 {
    rounded(value, 6) + 0.0
}

impl Initial {
    /// This with `throw` in addition, whose bodies begin now, with ids from `first_id` on; and the
    /// bodies of `state` with it.
    ///
    /// # Errors
    ///
    /// A throw out of range; more than 256 components.
    pub fn with(
        &self,
        throw: Throw,
        state: &State,
        settings: &Settings,
        first_id: u64,
    ) -> Result<(Self, Bodies)> {
        let g = settings.gravitational_constant;
        let more = throw.bodies((self.thrown + 1, first_id), settings.softening, g)?;
        let mut now = state.bodies.clone();
        now.append(&more)?;
        let (place, velocity) = more.centre_of_mass();
        let [before, added] = [self.bodies.total_mass(), more.total_mass()];
        let begins = place - velocity * (state.time - self.template.time);
        let mean = |a: DVec3, b: DVec3| match before + added > 0.0 {
            true => (a * before + b * added) / (before + added),
            false => a,
        };
        let mut bodies = self.bodies.clone();
        bodies.append(&more)?;
        let mut template = self.template.clone();
        // Its columns have no values for the new bodies.
        template.extra.clear();
        let planned = &self.throws[self.thrown..];
        let is_planned = planned.first() == Some(&throw);
        let mut throws = self.throws[..self.thrown].to_vec();
        throws.push(throw);
        throws.extend_from_slice(&planned[usize::from(is_planned)..]);
        let made = Self {
            input: self.input.clone(),
            template,
            hints: self.hints,
            default_integration: self.default_integration.clone(),
            view: self.view.clone(),
            names_integrator: self.names_integrator,
            centre: [mean(self.centre[0], begins), mean(self.centre[1], velocity)],
            title: self.title.clone(),
            survey: Survey::of(&bodies).with_ages(ages(&bodies, None)),
            bodies,
            throws,
            thrown: self.thrown + 1,
        };
        Ok((made, now))
    }
}

impl Session {
    /// What a command line or a link names for a time that the run has not reached.
    pub fn planned_throw(&self) -> Option<&Throw> {
        let next = self.initial.throws.get(self.initial.thrown);
        next.filter(|_| self.live.dt() > 0.0 && !self.refused_throw)
    }

    /// The planned throw whose time has come.
    pub fn due_throw(&self) -> Option<Throw> {
        let status = self.live.status();
        let is_due = |throw: &&Throw| status.time >= throw.time - ROUNDING * self.live.dt();
        self.planned_throw().filter(is_due).filter(|_| status.ready).cloned()
    }
}

impl WindowState {
    /// Throws something in once the present state has been read back.
    pub(super) fn throw(&mut self, throw: Throw) -> Result<()> {
        if let Some(loading) = &self.simulated.loading {
            let problem =
                format!("nothing can be thrown in while this is going on: {}", loading.what);
            return Err(Error::Outside(problem));
        }
        throw.check()?;
        self.request_state(Purpose::Throw(Box::new(throw)));
        Ok(())
    }

    /// Throws in what is planned for the time that the run has reached.
    pub(super) fn throw_what_is_due(&mut self) {
        let is_requested = |purpose: &Purpose| matches!(purpose, Purpose::Throw(_));
        if self.simulated.loading.is_some() || self.simulated.pending.iter().any(is_requested) {
            return;
        }
        if let Some(throw) = self.simulated.session.as_ref().and_then(Session::due_throw) {
            self.request_state(Purpose::Throw(Box::new(throw)));
        }
    }

    /// Throws it into this state, from which the run continues.
    pub(super) fn throw_into(&mut self, throw: Throw, state: &Arc<State>) -> Result<()> {
        let Some(session) = &mut self.simulated.session else { return Ok(()) };
        let is_planned = session.planned_throw() == Some(&throw);
        let throw = if is_planned { throw } else { Throw { time: state.time, ..throw } };
        let first_id = self.simulated.past.next_id(&session.initial);
        let mut text = format!(
            "{} at {}: ctrl+z takes it out",
            in_words(&throw),
            session.time(state.time, &self.viewer.choice)
        );
        let columns: Vec<&str> =
            session.initial.template.extra.keys().map(String::as_str).collect();
        if !columns.is_empty() {
            text += &format!("; snapshots no longer have the columns {}", columns.join(", "));
        }
        let more = (first_id, self.simulated.requested.compare.clone());
        let loading = Loading::throw(&self.output.screen.gpu, session, state, throw, more)?;
        if !is_planned {
            self.undo.note(UndoStep::State(Arc::clone(state), session.live.keeper().paused));
        }
        if !is_planned || !columns.is_empty() {
            self.output.notify(text);
        }
        // Steps that would be taken meanwhile would be lost.
        session.rest();
        self.simulated.loading = Some(loading);
        Ok(())
    }

    /// Switches between turning the picture and throwing something in.
    pub(super) fn toggle_throwing(&mut self) {
        let form = &mut self.panel.throw;
        form.on = !form.on;
        let name = form.kind.name();
        self.output.notify(match form.on {
            true => format!("drag in the picture to throw in a {name}; t ends it"),
            false => "a drag turns the picture again".to_owned(),
        });
    }
}

/// What is thrown in.
fn in_words(throw: &Throw) -> String {
    match throw.kind {
        ThrownKind::Body => "a body is thrown in".to_owned(),
        kind => format!("a {} of {} bodies is thrown in", kind.name(), throw.n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::Integration;
    use crate::window::past::Past;
    use gravitile::settings::InputRequest;

    #[test]
    fn escape_speed_is_that_of_a_point_mass_and_of_many() {
        let place = DVec3::X * 2.0;
        let of_one = escape_speed(&[DVec3::ZERO], &[3.0], place, 0.0);
        assert!((of_one - 3f64.sqrt()).abs() < 1e-12, "{of_one}");
        let n = 3 * SAMPLES + 5;
        let many = escape_speed(&vec![DVec3::ZERO; n], &vec![3.0 / n as f64; n], place, 0.0);
        assert!((many / of_one - 1.0).abs() < 1e-4, "{many}");
        assert_eq!(escape_speed(&[place], &[1.0], place, 0.0), 0.0, "on top of a body");
        assert_eq!(short(12.345678), 12.3457);
    }

    /// A cluster at rest about the origin, into which `throws` are planned.
    fn initial(throws: Vec<Throw>) -> Initial {
        let input = InputRequest { n: Some(100), ..InputRequest::named("plummer") };
        let loaded = input.load(None).unwrap();
        let mut template = loaded.snapshot;
        let bodies = std::mem::take(&mut template.bodies);
        Initial {
            survey: Survey::of(&bodies),
            centre: bodies.centre_of_mass().into(),
            bodies,
            input,
            template,
            hints: loaded.run,
            default_integration: Integration::of(&Settings::default()),
            view: loaded.view,
            names_integrator: false,
            title: String::new(),
            throws,
            thrown: 0,
        }
    }

    #[test]
    fn bodies_thrown_in_follow_those_that_were_there_and_planned_throws_stay_planned() {
        let planned: Throw = "body:t=5,mass=1,x=3".parse().unwrap();
        let before = Arc::new(initial(vec![planned.clone()]));
        let bodies = before.bodies.clone();
        let mut state =
            State { time: 2.0, steps: 9, bodies, acceleration: Vec::new(), softening: 0.1 };
        state.bodies.shift(DVec3::Y, DVec3::ZERO);
        let mut past = Past::default();
        past.note_initial(&before);
        let settings = Settings { softening: 0.1, ..Settings::default() };
        let throw = Throw { time: 2.0, ..planned.clone() };
        let throw = Throw { velocity: [0.0, 0.5, 0.0], ..throw };
        let first_id = past.next_id(&before);
        let (after, now) = before.with(throw.clone(), &state, &settings, first_id).unwrap();
        let after = Arc::new(after);
        assert_eq!((after.throws.as_slice(), after.thrown), (&[throw, planned.clone()][..], 1));
        assert_eq!((now.len(), after.bodies.len()), (101, 101));
        assert_eq!(now.id[100], state.bodies.id.iter().max().unwrap() + 1);
        assert_eq!(now.position[0], state.bodies.position[0]);
        assert_eq!(after.bodies.position[0], before.bodies.position[0], "where it began");
        assert_eq!(now.components.last().unwrap().name, "thrown body 1");
        // The centre of mass is where it would be had the body always been there.
        let mass = before.bodies.total_mass();
        let place = DVec3::new(3.0, -1.0, 0.0) / (mass + 1.0);
        assert!((after.centre[0] - place).length() < 1e-9, "{}", after.centre[0]);
        // What was planned follows, and each state belongs to its bodies.
        past.note_initial(&after);
        let id = past.next_id(&before);
        assert_eq!(id, first_id + 1, "an undone throw keeps its ids");
        let with = State { bodies: now, ..state.clone() };
        let (last, _) = after.with(planned, &with, &settings, id).unwrap();
        assert_eq!((last.throws.len(), last.thrown), (2, 2));
        assert!(Arc::ptr_eq(past.initial_of(&state).unwrap(), &before));
        assert!(Arc::ptr_eq(past.initial_of(&with).unwrap(), &after));
    }
}
