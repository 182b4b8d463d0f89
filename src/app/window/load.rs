//! What is simulated, and making it in the background, so that the picture never stops.

use std::sync::Arc;

use glam::DVec3;
use web_time::Instant;

use super::machine;
use crate::app::lookup;
use crate::app::panel::{Integration, ViewChoice, quantity};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::gpu::{Gpu, let_browser_turn};
use crate::live::{Beside, Live};
use crate::render::Survey;
use crate::render::ages::{ages, times_of_formation};
use crate::scene::{RunHints, ViewHints};
use crate::settings::{InputRequest, StepRequest};
use crate::sim::{Moment, Settings};
use crate::snapshot::Snapshot;

/// At the default speed a whole scene or snapshot lasts this many seconds.
const WHOLE_SECS: f64 = 30.0;

/// A simulation with everything known about its origin.
pub struct Session {
    pub input: InputRequest,
    /// Units, facts and columns that a saved snapshot repeats; without bodies.
    pub template: Snapshot,
    pub hints: RunHints,
    /// The input's default integrator and accuracy.
    pub usual: Integration,
    pub view: Option<ViewHints>,
    /// Whether the scene names an integrator of its own.
    pub names_integrator: bool,
    /// A note about numbers that were chosen for these bodies, until it is shown.
    pub chosen: Option<String>,
    /// The bodies it began with, masses times G as the device has them.
    pub bodies: Arc<Bodies>,
    /// Their centre of mass at the time of the template, and its velocity, which stays.
    pub centre: [DVec3; 2],
    pub live: Live,
    /// The latest state that has come back.
    pub last: Option<Arc<Moment>>,
    /// The scene's title; a snapshot's name. A page writes it nowhere.
    #[cfg_attr(target_arch = "wasm32", allow(dead_code))]
    pub title: String,
    /// Whether time has reached the [end](Session::end).
    pub beyond_end: bool,
    /// The time that the run is taken to as fast as possible, and whether it pauses there.
    pub goal: Option<f64>,
    pub pauses_at_goal: bool,
    /// What looks need to know of the first bodies, with their ages.
    pub survey: Arc<Survey>,
    /// The kernel's text, made when first shown and after each change.
    pub wgsl: Option<(crate::forces::direct::gpu::KernelVariant, String)>,
}

/// Changes to the settings that suit the bodies.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub steps: StepRequest,
    /// Engine, adapter and kernel are taken from here.
    pub settings: Settings,
}

/// Something being made.
pub struct Loading {
    pub what: String,
    begun: Instant,
    /// Whether the camera stays where it is.
    pub keeps_view: bool,
    /// Whether it runs even if the last one was paused.
    pub plays: bool,
    making: Beside<Session>,
}

impl Drop for Loading {
    fn drop(&mut self) {
        machine::cancel_loading();
    }
}

impl Loading {
    fn start<F>(
        what: String,
        keeps_view: bool,
        make: impl FnOnce() -> F + Send + 'static,
    ) -> Result<Self>
    where
        F: Future<Output = Result<Session>> + 'static,
    {
        let making = Beside::start("loading", make)?;
        Ok(Self { what, begun: Instant::now(), keeps_view, plays: false, making })
    }

    /// Makes or reads bodies and prepares their simulation.
    pub fn input(
        gpu: &Arc<Gpu>,
        input: InputRequest,
        wanted: Wanted,
        keeps_view: bool,
    ) -> Result<Self> {
        let gpu = Arc::clone(gpu);
        let what = format!("making {}", name_of(&input));
        Self::start(what, keeps_view, move || load(gpu, input, wanted))
    }

    /// Goes on with `moment` under other settings: another engine, another device.
    pub fn change(
        gpu: &Arc<Gpu>,
        session: &Session,
        moment: &Arc<Moment>,
        settings: Settings,
    ) -> Result<Self> {
        let (gpu, moment) = (Arc::clone(gpu), Arc::clone(moment));
        let now = session.live.settings();
        let what = what_changes(now, &settings);
        // Another state of the same bodies in the same place needs no new choice.
        let choice = session.live.choice();
        let is_there = choice.gpu.as_ref().is_none_or(|first| Arc::ptr_eq(first, &gpu))
            && choice.devices().all(|gpu| !gpu.is_lost());
        let choice = Some(choice.clone()).filter(|_| is_there && *now == settings);
        let settings = settings.going_on_from(&moment);
        let (input, hints, view) = (session.input.clone(), session.hints, session.view.clone());
        let (template, bodies) = (session.template.clone(), Arc::clone(&session.bodies));
        let centre = session.centre;
        let survey = Arc::clone(&session.survey);
        let names_integrator = session.names_integrator;
        let usual = session.usual.clone();
        let keeper = session.live.keeper().clone();
        let (title, beyond_end) = (session.title.clone(), session.beyond_end);
        let backwards = session.live.dt() < 0.0;
        Self::start(what.to_owned(), true, move || async move {
            let now = moment.bodies.clone();
            let mut live = match choice {
                Some(choice) => {
                    Live::open(&gpu, choice, now, settings, keeper.units_per_sec).await?
                }
                None => open(&gpu, now, settings, keeper.units_per_sec).await?,
            };
            if backwards {
                live.apply(crate::live::Command::Reverse)?;
            }
            live.take_tempo_of(&keeper);
            Ok(Session {
                input,
                template,
                hints,
                usual,
                view,
                names_integrator,
                chosen: None,
                bodies,
                centre,
                live,
                last: None,
                title,
                beyond_end,
                goal: None,
                pauses_at_goal: false,
                survey,
                wgsl: None,
            })
        })
    }

    /// What is being made, and for how long if that takes a while.
    pub fn said(&self) -> String {
        match self.begun.elapsed().as_secs() {
            0..2 => self.what.clone(),
            secs => format!("{}, {secs} s", self.what),
        }
    }

    /// The session, once it is ready.
    pub fn poll(&self) -> Option<Result<Session>> {
        self.making.take()
    }
}

/// What the user has asked for, in words.
fn what_changes(now: &Settings, next: &Settings) -> &'static str {
    if (now.devices, &now.adapter) != (next.devices, &next.adapter) {
        "changing the devices"
    } else if now.engine != next.engine {
        "changing the engine"
    } else if now.method != next.method {
        "changing the method"
    } else if now.tree != next.tree {
        "changing the tree"
    } else {
        "changing the integrator"
    }
}

async fn load(gpu: Arc<Gpu>, input: InputRequest, wanted: Wanted) -> Result<Session> {
    // The window shows whatever can be shown; notes say what was assumed.
    let shown = InputRequest { isolated: true, ..input.clone() };
    let loaded = machine::load(&shown, wanted.steps.eps).await?;
    let_browser_turn().await;
    let settings = wanted.steps.over(&loaded, wanted.settings.clone())?;
    let usual = StepRequest::default().over(&loaded, Settings::default())?;
    let usual = Integration::of(&usual);
    let mut template = loaded.snapshot;
    let bodies = std::mem::take(&mut template.bodies);
    let mass = bodies.gravitating_mass(template.units.gravitational_constant);
    let heavy = Bodies { mass, ..bodies.clone() };
    let units_per_sec = usual_speed(&loaded.run);
    let ages = ages(&bodies, times_of_formation(&template.extra).as_deref());
    let title = match input.scene() {
        Ok(Some(scene)) => scene.title,
        _ => name_of(&input).to_owned(),
    };
    let live = open(&gpu, bodies, settings, units_per_sec).await?;
    let_browser_turn().await;
    let survey = Arc::new(Survey::of(&heavy).with_ages(ages));
    Ok(Session {
        survey,
        input,
        template,
        hints: loaded.run,
        usual,
        names_integrator: loaded.integrator.integrator.is_some(),
        chosen: loaded.chosen,
        view: loaded.view,
        centre: heavy.centre_of_mass().into(),
        bodies: Arc::new(heavy),
        live,
        last: None,
        title,
        beyond_end: false,
        goal: None,
        pauses_at_goal: false,
        wgsl: None,
    })
}

/// A simulation on the engine that was asked for, or that `auto` means here.
async fn open(
    gpu: &Arc<Gpu>,
    bodies: Bodies,
    mut settings: Settings,
    units_per_sec: f64,
) -> Result<Live> {
    let_browser_turn().await;
    let choice = lookup::choose_on(gpu, bodies.len(), &mut settings).await?;
    let_browser_turn().await;
    Live::open(gpu, choice, bodies, settings, units_per_sec).await
}

fn usual_speed(hints: &RunHints) -> f64 {
    let speed = hints.until / WHOLE_SECS;
    if speed > 0.0 && speed.is_finite() { speed } else { hints.dt * 30.0 }
}

/// The short name of an input: a scene's name, a file without its folder.
fn name_of(input: &InputRequest) -> &str {
    let file = input.input.rsplit(['/', '\\']).next().unwrap_or(&input.input);
    file.strip_suffix(".toml").unwrap_or(file)
}

impl Session {
    /// Its short name.
    pub fn name(&self) -> &str {
        name_of(&self.input)
    }

    /// A time of the run, as in the line at the bottom.
    pub fn time(&self, time: f64, view: &ViewChoice) -> String {
        format!("t = {}", quantity(time, &view.units(&self.template.units).time))
    }

    /// A moment as a snapshot, with everything known besides the bodies.
    pub fn snapshot(&self, moment: &Moment) -> Snapshot {
        let mut snapshot = self.template.clone();
        let settings = self.live.settings();
        let facts = [
            ("step", moment.steps.to_string()),
            ("softening", settings.softening.to_string()),
            ("dt", settings.dt.to_string()),
            ("integrator", settings.integrator.name.to_owned()),
            ("engine", self.live.describe_engine()),
        ];
        for (name, value) in facts {
            snapshot.attributes.insert(name.to_owned(), value);
        }
        snapshot.bodies = moment.bodies.clone();
        snapshot.time = moment.time;
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_and_files_are_called_by_their_names() {
        let name = |input: &str| name_of(&InputRequest::named(input)).to_owned();
        assert_eq!(name("galaxy-collision"), "galaxy-collision");
        assert_eq!(name("/a/long/way/to/a-meets-b.toml"), "a-meets-b");
        assert_eq!(name("run/step_0000000004.gvt"), "step_0000000004.gvt");
        assert_eq!(name("C:\\runs\\last.gvt"), "last.gvt");
    }
}
