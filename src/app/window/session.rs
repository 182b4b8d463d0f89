//! A session: one simulation with what was loaded for it, its end and its goal.
//!
//! At the end of a scene the run pauses, and the user restarts or continues it. A link's goal is a
//! time to which the run goes as fast as possible.

use std::sync::Arc;

use glam::DVec3;

use super::second_run::SecondRun;
use crate::panel::{Integration, ViewChoice, quantity};
use gravitile::bodies::Bodies;
use gravitile::forces::direct::gpu::KernelVariant;
use gravitile::live::{Command, Live, Tempo};
use gravitile::render::request::default_follow;
use gravitile::render::{Follow, Survey};
use gravitile::scene::{Moment, RunHints, ViewHints};
use gravitile::settings::{InputRequest, Throw};
use gravitile::sim::State;
use gravitile::snapshot::Snapshot;

/// Tolerance for reaching the end, as a fraction of a step.
pub const ROUNDING: f64 = 1e-6;

/// What was loaded: the initial bodies and everything derived from them. Bodies that were thrown in
/// are where they began.
pub struct Initial {
    pub input: InputRequest,
    /// Units, facts and columns that a saved snapshot repeats; without bodies.
    pub template: Snapshot,
    pub hints: RunHints,
    /// The input's default integrator and accuracy.
    pub default_integration: Integration,
    pub view: Option<ViewHints>,
    /// Whether the scene names an integrator of its own.
    pub names_integrator: bool,
    /// The bodies; masses are multiplied by G.
    pub bodies: Bodies,
    /// Their centre of mass at the time of the template, and its constant velocity.
    pub centre: [DVec3; 2],
    /// The scene's title, or a snapshot's name. Unused in a page.
    #[cfg_attr(target_arch = "wasm32", allow(dead_code))]
    pub title: String,
    /// Statistics of the bodies that looks need, with their ages.
    pub survey: Survey,
    /// What is thrown in during the run, in order of time; the first `thrown` of them are among the
    /// bodies already.
    pub throws: Vec<Throw>,
    pub thrown: usize,
}

impl Initial {
    /// The times that the scene marks.
    pub fn moments(&self) -> &[Moment] {
        self.view.as_ref().map_or(&[], |view| &view.moments)
    }
}

/// A simulation and what was loaded for it.
pub struct Session {
    pub initial: Arc<Initial>,
    pub live: Live,
    /// A run next to it with one other setting.
    pub second: Option<SecondRun>,
    /// Notes about the file and about parameters chosen for these bodies, until shown.
    pub notes: Vec<String>,
    /// Whether time has reached the [end](Session::end).
    pub beyond_end: bool,
    /// The time to which the run goes as fast as possible, and whether it pauses there.
    pub goal: Option<f64>,
    pub pauses_at_goal: bool,
    /// Whether a planned throw has failed: no other one is tried.
    pub refused_throw: bool,
    /// The kernel's source, made when first shown and after each change.
    pub wgsl: Option<(KernelVariant, String)>,
}

impl Session {
    /// A session in which nothing has happened.
    pub fn new(initial: Arc<Initial>, live: Live) -> Self {
        Self {
            initial,
            live,
            second: None,
            notes: Vec::new(),
            beyond_end: false,
            goal: None,
            pauses_at_goal: false,
            refused_throw: false,
            wgsl: None,
        }
    }

    /// Its short name.
    pub fn name(&self) -> &str {
        name_of(&self.initial.input)
    }

    /// A time of the run with its unit, as in the status line.
    pub fn time(&self, time: f64, view: &ViewChoice) -> String {
        format!("t = {}", quantity(time, &view.units(&self.initial.template.units).time))
    }

    /// A state as a snapshot, with the template's units, facts and columns.
    pub fn snapshot(&self, state: &State) -> Snapshot {
        let mut snapshot = self.initial.template.clone();
        let settings = self.live.settings();
        let facts = [
            ("step", state.steps.to_string()),
            ("softening", settings.softening.to_string()),
            ("dt", settings.dt.to_string()),
            ("integrator", settings.integrator.name.to_owned()),
            ("engine", self.live.describe_engine()),
        ];
        let field = Some(&settings.field).filter(|field| !field.is_empty());
        let field = field.map(|field| ("field", field.to_string()));
        for (name, value) in facts.into_iter().chain(field) {
            snapshot.attributes.insert(name.to_owned(), value);
        }
        snapshot.bodies = state.bodies.clone();
        snapshot.time = state.time;
        snapshot
    }

    /// The current centre of mass, which moves uniformly: internal forces conserve momentum.
    pub fn centre_now(&self) -> DVec3 {
        let [place, velocity] = self.initial.centre;
        place + velocity * (self.live.status().time - self.initial.template.time)
    }

    /// What the camera follows by default with these bodies.
    pub fn default_follow(&self) -> Follow {
        let Initial { bodies, view, hints, .. } = &*self.initial;
        default_follow(bodies, view.as_ref(), hints.until)
    }

    /// Updates the source of the kernel in use.
    pub fn refresh_wgsl(&mut self) {
        let variant = self.live.variant();
        if self.wgsl.as_ref().map(|(known, _)| *known) != variant {
            self.wgsl = variant.and_then(|variant| Some((variant, variant.wgsl().ok()?)));
        }
    }

    /// The time at which the scene ends; `None` for a snapshot, which names no end.
    pub fn end(&self) -> Option<f64> {
        let has_end = self.initial.view.is_some() && self.initial.hints.until > 0.0;
        has_end.then_some(self.initial.template.time + self.initial.hints.until)
    }

    /// The time from which on no step may begin.
    pub fn limit(&self) -> Option<f64> {
        let end = self.end().filter(|_| !self.beyond_end && self.live.dt() > 0.0);
        let throw = self.planned_throw().map(|throw| throw.time);
        end.into_iter().chain(self.goal).chain(throw).reduce(f64::min)
    }

    /// Takes the run to a later time as fast as possible, but not beyond its end. An earlier time
    /// changes nothing.
    pub fn set_goal(&mut self, time: f64) {
        let time = self.end().map_or(time, |end| time.min(end));
        if time.is_finite() && time > self.live.status().time {
            self.goal = Some(time);
            // Changing the tempo never fails.
            let _ = self.live.apply(Command::Tempo(Tempo::Fastest));
        }
    }

    /// Describes the goal and the progress in per cent.
    pub fn progress_to_goal(&self, view: &ViewChoice) -> Option<String> {
        let (goal, first) = (self.goal?, self.initial.template.time);
        let part = 100.0 * (self.live.status().time - first) / (goal - first);
        Some(format!("going to {}: {part:.0} %", self.time(goal, view)))
    }

    /// Drops the goal, if there is one: the run continues in real time, or pauses if the link says
    /// so.
    pub fn clear_goal(&mut self) {
        if self.goal.take().is_some() {
            let _ = self.live.apply(Command::Tempo(Tempo::RealTime));
            let _ = self.live.apply(Command::Pause(self.pauses_at_goal));
        }
    }

    /// Stops at the goal, once it is reached.
    pub fn stop_at_goal(&mut self) {
        let is_reached = |goal: f64| self.live.status().time >= goal - ROUNDING * self.live.dt();
        if self.goal.is_some_and(is_reached) {
            self.clear_goal();
        }
    }

    /// Pauses once when the end is reached, and again after going back in time.
    pub fn rest_at_end(&mut self) {
        let Some(end) = self.end() else { return };
        let dt = self.live.dt();
        let is_at_end = dt > 0.0 && self.live.status().time >= end - ROUNDING * dt;
        if is_at_end && !self.beyond_end {
            // Pausing never fails.
            let _ = self.live.apply(Command::Pause(true));
        }
        self.beyond_end = is_at_end;
    }

    /// Whether it is paused at the end and waits for the user's choice.
    pub fn is_at_end(&self) -> bool {
        let missed = |end: f64| self.live.status().time - end;
        let is_near = self.end().is_some_and(|end| missed(end) < self.live.dt());
        self.beyond_end && is_near && self.live.keeper().paused
    }
}

/// The short name of an input: a scene's name, a file without its folder.
pub fn name_of(input: &InputRequest) -> &str {
    let file = input.input.rsplit(['/', '\\']).next().unwrap_or(&input.input);
    file.strip_suffix(".toml").unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_input_has_no_folder_and_no_toml_extension() {
        let name = |input: &str| name_of(&InputRequest::named(input)).to_owned();
        assert_eq!(name("galaxy-collision"), "galaxy-collision");
        assert_eq!(name("/a/long/way/to/a-meets-b.toml"), "a-meets-b");
        assert_eq!(name("run/step_0000000004.gvt"), "step_0000000004.gvt");
        assert_eq!(name("C:\\runs\\last.gvt"), "last.gvt");
    }
}
