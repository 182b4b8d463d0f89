//! Sessions, and loading them in the background, so that the picture never stops.

use std::sync::Arc;

use glam::DVec3;
use web_time::Instant;

use super::machine;
use crate::lookup;
use crate::panel::{Integration, ViewChoice, quantity};
use gravitile::bodies::Bodies;
use gravitile::error::Result;
use gravitile::gpu::{Gpu, let_browser_turn};
use gravitile::live::{Background, Live};
use gravitile::render::Survey;
use gravitile::render::ages::{ages, times_of_formation};
use gravitile::scene::{RunHints, ViewHints};
use gravitile::settings::{InputRequest, StepRequest};
use gravitile::sim::{Moment, Settings};
use gravitile::snapshot::Snapshot;

/// Duration of a whole scene or snapshot at the default speed, in seconds.
const WHOLE_SECS: f64 = 30.0;

/// A simulation with its input and everything derived from it.
pub struct Session {
    pub input: InputRequest,
    /// Units, facts and columns that a saved snapshot repeats; without bodies.
    pub template: Snapshot,
    pub hints: RunHints,
    /// The input's default integrator and accuracy.
    pub default_integration: Integration,
    pub view: Option<ViewHints>,
    /// Whether the scene names an integrator of its own.
    pub names_integrator: bool,
    /// A note about parameters that were chosen for these bodies, until shown.
    pub chosen: Option<String>,
    /// The initial bodies; masses are multiplied by G.
    pub bodies: Arc<Bodies>,
    /// Their centre of mass at the time of the template, and its constant velocity.
    pub centre: [DVec3; 2],
    pub live: Live,
    /// The latest state that was read back.
    pub last: Option<Arc<Moment>>,
    /// The scene's title, or a snapshot's name. Unused in a page.
    #[cfg_attr(target_arch = "wasm32", allow(dead_code))]
    pub title: String,
    /// Whether time has reached the [end](Session::end).
    pub beyond_end: bool,
    /// The time to which the run goes as fast as possible, and whether it pauses there.
    pub goal: Option<f64>,
    pub pauses_at_goal: bool,
    /// Statistics of the initial bodies that looks need, with their ages.
    pub survey: Arc<Survey>,
    /// The kernel's source, made when first shown and after each change.
    pub wgsl: Option<(gravitile::forces::direct::gpu::KernelVariant, String)>,
}

/// Requested changes to the settings that suit the bodies.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    pub steps: StepRequest,
    /// Requested engine, adapter and kernel.
    pub settings: Settings,
}

/// A session that is being loaded.
pub struct Loading {
    pub what: String,
    begun: Instant,
    /// Whether the camera stays where it is.
    pub keeps_view: bool,
    /// Whether it runs even if the last one was paused.
    pub plays: bool,
    making: Background<Session>,
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
        let making = Background::start("loading", make)?;
        Ok(Self { what, begun: Instant::now(), keeps_view, plays: false, making })
    }

    /// Creates or reads bodies and prepares their simulation.
    pub fn input(
        gpu: &Arc<Gpu>,
        input: InputRequest,
        request: RunRequest,
        keeps_view: bool,
    ) -> Result<Self> {
        let gpu = Arc::clone(gpu);
        let what = format!("making {}", name_of(&input));
        Self::start(what, keeps_view, move || load(gpu, input, request))
    }

    /// Continues from `moment` with other settings, for example another engine or device.
    pub fn change(
        gpu: &Arc<Gpu>,
        session: &Session,
        moment: &Arc<Moment>,
        settings: Settings,
    ) -> Result<Self> {
        let (gpu, moment) = (Arc::clone(gpu), Arc::clone(moment));
        let now = session.live.settings();
        let what = what_changes(now, &settings);
        // With the same settings and devices the choice of the engine is reused.
        let choice = session.live.choice();
        let is_same_devices = choice.gpu.as_ref().is_none_or(|first| Arc::ptr_eq(first, &gpu))
            && choice.devices().all(|gpu| !gpu.is_lost());
        let choice = Some(choice.clone()).filter(|_| is_same_devices && *now == settings);
        let settings = settings.going_on_from(&moment);
        let (input, hints, view) = (session.input.clone(), session.hints, session.view.clone());
        let (template, bodies) = (session.template.clone(), Arc::clone(&session.bodies));
        let centre = session.centre;
        let survey = Arc::clone(&session.survey);
        let names_integrator = session.names_integrator;
        let default_integration = session.default_integration.clone();
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
                live.apply(gravitile::live::Command::Reverse)?;
            }
            live.take_tempo_of(&keeper);
            Ok(Session {
                input,
                template,
                hints,
                default_integration,
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

    /// What is being loaded, with the elapsed seconds from 2 s on.
    pub fn describe(&self) -> String {
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

/// Names the requested change.
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

async fn load(gpu: Arc<Gpu>, input: InputRequest, request: RunRequest) -> Result<Session> {
    // Incomplete files are accepted; notes list the assumptions.
    let shown = InputRequest { isolated: true, ..input.clone() };
    let loaded = machine::load(&shown, request.steps.eps).await?;
    let_browser_turn().await;
    let settings = request.steps.over(&loaded, request.settings.clone())?;
    let default_settings = StepRequest::default().over(&loaded, Settings::default())?;
    let default_integration = Integration::of(&default_settings);
    let mut template = loaded.snapshot;
    let bodies = std::mem::take(&mut template.bodies);
    let mass = bodies.gravitating_mass(template.units.gravitational_constant);
    let heavy = Bodies { mass, ..bodies.clone() };
    let units_per_sec = default_speed(&loaded.run);
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
        default_integration,
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

/// Opens a simulation on the requested engine, or on the one that `auto` chooses.
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

fn default_speed(hints: &RunHints) -> f64 {
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

    /// A time of the run with its unit, as in the status line.
    pub fn time(&self, time: f64, view: &ViewChoice) -> String {
        format!("t = {}", quantity(time, &view.units(&self.template.units).time))
    }

    /// A moment as a snapshot, with the template's units, facts and columns.
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
    fn name_of_input_has_no_folder_and_no_toml_extension() {
        let name = |input: &str| name_of(&InputRequest::named(input)).to_owned();
        assert_eq!(name("galaxy-collision"), "galaxy-collision");
        assert_eq!(name("/a/long/way/to/a-meets-b.toml"), "a-meets-b");
        assert_eq!(name("run/step_0000000004.gvt"), "step_0000000004.gvt");
        assert_eq!(name("C:\\runs\\last.gvt"), "last.gvt");
    }
}
