//! Loading sessions in the background, so that the picture never stops.

use std::sync::Arc;

use web_time::Instant;

use super::machine;
use super::second_run::SecondRun;
use super::session::{Initial, Session, name_of};
use crate::lookup;
use crate::panel::Integration;
use gravitile::bodies::Bodies;
use gravitile::error::Result;
use gravitile::field::Field;
use gravitile::gpu::{Gpu, let_browser_turn};
use gravitile::live::{Background, Command, Live};
use gravitile::render::Survey;
use gravitile::render::ages::{ages, times_of_formation};
use gravitile::scene::RunHints;
use gravitile::settings::{Comparison, InputRequest, StepRequest, Throw};
use gravitile::sim::{Choice, Settings, State};

/// Duration of a whole scene or snapshot at the default speed, in seconds.
const WHOLE_SECS: f64 = 30.0;

/// Requested changes to the settings that suit the bodies.
#[derive(Clone, Debug, Default)]
pub struct RunChanges {
    pub steps: StepRequest,
    /// Requested engine, adapter and kernel.
    pub settings: Settings,
    /// Another external field than that of the bodies.
    pub field: Option<Field>,
    /// What is thrown in during the run, in order of time.
    pub throws: Vec<Throw>,
    /// The second run next to it.
    pub compare: Option<Comparison>,
}

/// A session that is being loaded.
pub struct Loading {
    pub what: String,
    begun: Instant,
    /// Whether the camera stays where it is.
    pub keeps_view: bool,
    /// Whether it runs even if the last one was paused.
    pub plays: bool,
    /// The moment of the scene to go to once it is loaded.
    pub moment: Option<usize>,
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
        Ok(Self { what, begun: Instant::now(), keeps_view, plays: false, moment: None, making })
    }

    /// Creates or reads bodies and prepares their simulation.
    pub fn input(
        gpu: &Arc<Gpu>,
        input: InputRequest,
        request: RunChanges,
        keeps_view: bool,
    ) -> Result<Self> {
        let gpu = Arc::clone(gpu);
        let what = format!("making {}", name_of(&input));
        Self::start(what, keeps_view, move || load(gpu, input, request))
    }

    /// Continues from a state of `initial` with other settings, for example another engine or
    /// device.
    pub fn change(
        gpu: &Arc<Gpu>,
        session: &Session,
        (initial, state): (Arc<Initial>, &Arc<State>),
        (settings, compare): (Settings, Option<Comparison>),
    ) -> Result<Self> {
        let now = session.live.settings();
        let what = what_changes(now, &settings).to_owned();
        // With the same bodies, settings and devices the choice of the engine is reused.
        let choice = session.live.choice();
        let is_same_devices = choice.gpu.as_ref().is_none_or(|first| Arc::ptr_eq(first, gpu))
            && choice.devices().all(|gpu| !gpu.is_lost());
        let is_same = Arc::ptr_eq(&initial, &session.initial);
        let choice =
            Some(choice.clone()).filter(|_| is_same_devices && is_same && *now == settings);
        let mut settings = settings.going_on_from(state);
        if !is_same {
            // A device takes a frame that suits the bodies.
            settings.frame = None;
        }
        let state = Arc::clone(state);
        let make = move || Ok((initial, state.bodies.clone()));
        Self::going_on(gpu, session, (what, choice), (settings, compare), make)
    }

    /// Continues from `state` with something thrown in, whose bodies get ids from `first_id` on.
    pub fn throw(
        gpu: &Arc<Gpu>,
        session: &Session,
        state: &Arc<State>,
        throw: Throw,
        (first_id, compare): (u64, Option<Comparison>),
    ) -> Result<Self> {
        let what = format!("throwing in a {}", throw.kind.name());
        let now = session.live.settings().going_on_from(state);
        let settings = Settings { frame: None, ..now };
        let (initial, state) = (Arc::clone(&session.initial), Arc::clone(state));
        let of = settings.clone();
        let make = move || {
            let (initial, bodies) = initial.with(throw, &state, &of, first_id)?;
            Ok((Arc::new(initial), bodies))
        };
        Self::going_on(gpu, session, (what, None), (settings, compare), make)
    }

    /// Continues the run of `session` with what `make` returns: the bodies now, and what they
    /// belong to.
    fn going_on(
        gpu: &Arc<Gpu>,
        session: &Session,
        (what, choice): (String, Option<Choice>),
        (settings, compare): (Settings, Option<Comparison>),
        make: impl FnOnce() -> Result<(Arc<Initial>, Bodies)> + Send + 'static,
    ) -> Result<Self> {
        let (gpu, keeper) = (Arc::clone(gpu), session.live.keeper().clone());
        let (beyond_end, backwards) = (session.beyond_end, session.live.dt() < 0.0);
        Self::start(what, true, move || async move {
            let (initial, now) = make()?;
            let of_second = compare.is_some().then(|| (now.clone(), settings.clone()));
            let mut live = open(&gpu, choice, now, settings, keeper.units_per_sec).await?;
            let mut second = open_second(&gpu, compare, &live, of_second, &initial).await?;
            if backwards {
                live.apply(Command::Reverse)?;
                second.as_mut().map_or(Ok(()), |second| second.live.apply(Command::Reverse))?;
            }
            live.take_tempo_of(&keeper);
            Ok(Session { beyond_end, second, ..Session::new(initial, live) })
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
    if now == next {
        "preparing the run"
    } else if (now.devices, &now.adapter) != (next.devices, &next.adapter) {
        "changing the devices"
    } else if now.engine != next.engine {
        "changing the engine"
    } else if now.method != next.method {
        "changing the method"
    } else if now.tree != next.tree {
        "changing the tree"
    } else if now.field != next.field {
        "changing the field"
    } else {
        "changing the integrator"
    }
}

async fn load(gpu: Arc<Gpu>, input: InputRequest, request: RunChanges) -> Result<Session> {
    // Incomplete files are accepted; notes list the assumptions.
    let shown = InputRequest { isolated: true, ..input.clone() };
    let mut loaded = machine::load(&shown, request.steps.eps).await?;
    let_browser_turn().await;
    let default_settings = StepRequest::default().over(&loaded, Settings::default())?;
    let default_integration = Integration::of(&default_settings);
    loaded.suit(request.steps.eps, request.settings.method);
    let mut settings = request.steps.over(&loaded, request.settings.clone())?;
    settings.field = request.field.unwrap_or(settings.field);
    let mut template = loaded.snapshot;
    let bodies = std::mem::take(&mut template.bodies);
    let units_per_sec = default_speed(&loaded.run);
    let ages = ages(&bodies, times_of_formation(&template.extra).as_deref());
    let title = match input.scene() {
        Ok(Some(scene)) => scene.title,
        _ => name_of(&input).to_owned(),
    };
    let of_second = request.compare.is_some().then(|| (bodies.clone(), settings.clone()));
    let live = open(&gpu, None, bodies.clone(), settings, units_per_sec).await?;
    let_browser_turn().await;
    let notes = Some(std::mem::take(&mut template.notes).join("; "));
    let notes = loaded.chosen.into_iter().chain(notes.filter(|notes| !notes.is_empty())).collect();
    let initial = Initial {
        survey: Survey::of(&bodies).with_ages(ages),
        input,
        template,
        hints: loaded.run,
        default_integration,
        names_integrator: loaded.integrator.integrator.is_some(),
        view: loaded.view,
        centre: bodies.centre_of_mass().into(),
        bodies,
        title,
        throws: request.throws,
        thrown: 0,
    };
    let second = open_second(&gpu, request.compare, &live, of_second, &initial).await?;
    Ok(Session { notes, second, ..Session::new(Arc::new(initial), live) })
}

/// The requested run next to `live`, of the same bodies and requested settings.
async fn open_second(
    gpu: &Arc<Gpu>,
    differs: Option<Comparison>,
    live: &Live,
    of: Option<(Bodies, Settings)>,
    initial: &Initial,
) -> Result<Option<SecondRun>> {
    let Some((differs, (bodies, settings))) = differs.zip(of) else { return Ok(None) };
    let_browser_turn().await;
    SecondRun::open(gpu, differs, (live, &settings), bodies, initial.hints.until).await.map(Some)
}

/// Opens a simulation on this engine, or else on the requested one or the one that `auto` chooses.
async fn open(
    gpu: &Arc<Gpu>,
    choice: Option<Choice>,
    bodies: Bodies,
    mut settings: Settings,
    units_per_sec: f64,
) -> Result<Live> {
    let_browser_turn().await;
    let choice = match choice {
        Some(choice) => choice,
        None => lookup::choose_on(gpu, bodies.len(), &mut settings).await?,
    };
    let_browser_turn().await;
    Live::open(gpu, choice, bodies, settings, units_per_sec).await
}

fn default_speed(hints: &RunHints) -> f64 {
    let speed = hints.until / WHOLE_SECS;
    if speed > 0.0 && speed.is_finite() { speed } else { hints.dt * 30.0 }
}
