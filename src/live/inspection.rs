//! Inspection of the forces of a running simulation: the error of a sample, the cells of the tree,
//! the cells and bodies that act on a body, and facts about a body.
//!
//! An inspection works in the background on a copy of a state, so it has no effect on the results
//! of the simulation.
//!
//! It takes the error of 256 accelerations against all pairs in f64, and a tree that the host
//! builds from that state, whatever engine runs. `render/diagram.rs` draws the result over the
//! finished picture. Marks move with the bodies. With a million bodies, boxes appear up to a second
//! late; while time stands still they appear at once.

use std::sync::Arc;

use crate::wall_clock::{Duration, Instant};

use super::background::Background;
use super::body::BodyFacts;
use super::force_error::ForceError;
use crate::error::Result;
use crate::field::Field;
use crate::forces::tree::{GroupWalk, TreeConfig, TreeView};
use crate::sim::{Settings, State};

/// What to inspect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InspectRequest {
    /// The error of the accelerations.
    pub error: bool,
    /// The tree.
    pub tree: bool,
    /// The interactions of the group of the body with this index; `tree` need not be set.
    pub body: Option<usize>,
    /// Facts about the body with this index.
    pub about: Option<usize>,
}

impl InspectRequest {
    fn wants_tree(&self) -> bool {
        self.tree || self.body.is_some()
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Results of the inspection, each for the latest state that was inspected for it.
#[derive(Clone, Debug, Default)]
pub struct Inspected {
    /// The error of the accelerations.
    pub error: Option<ForceError>,
    /// The tree over the bodies.
    pub tree: Option<InspectedTree>,
    /// The interactions of the group of a body.
    pub walk: Option<InspectedWalk>,
    /// Facts about a body.
    pub about: Option<BodyFacts>,
}

/// A tree and the time of the state that it was built for.
#[derive(Clone, Debug)]
pub struct InspectedTree {
    /// Simulated time.
    pub time: f64,
    /// The tree.
    pub view: Arc<TreeView>,
}

/// A walk through the inspected tree.
#[derive(Clone, Debug)]
pub struct InspectedWalk {
    /// The requested body.
    pub body: usize,
    /// The opening criterion of the walk.
    pub config: TreeConfig,
    /// The walk of the body's group.
    pub walk: Arc<GroupWalk>,
}

/// Shortest pause between two estimates of the error.
const ERRORS: Duration = Duration::from_secs(3);
/// Shortest pause between two trees.
const TREES: Duration = Duration::from_millis(250);
/// Shortest pause between two sets of facts about a body.
const FACTS: Duration = Duration::from_millis(400);
/// The pause after an inspection, as a multiple of its duration.
const REST: u32 = 3;

#[derive(Default)]
pub(super) struct Inspection {
    request: InspectRequest,
    /// The latest received state.
    state: Option<Arc<State>>,
    /// The states of the current tree and error.
    tree_of: Option<Arc<State>>,
    error_of: Option<(Arc<State>, Instant)>,
    running: Option<(Background<InspectionResults>, Instant)>,
    /// The body and the opening criterion of the last walk through the current tree, also if there
    /// is no such body.
    walked: Option<(usize, TreeConfig)>,
    /// The state and the body of the last facts, also if there is no such body.
    facts_of: Option<(Arc<State>, usize)>,
    inspected: Inspected,
    /// When the last task ended, and how long it took.
    last: Option<(Instant, Duration)>,
}

/// The results of a task, and the state that they belong to.
struct InspectionResults {
    of: Arc<State>,
    error: Option<ForceError>,
    tree: Option<Arc<TreeView>>,
    /// The walk itself is `None` if there is no such body.
    walk: Option<(usize, TreeConfig, Option<GroupWalk>)>,
    about: Option<(usize, Option<BodyFacts>)>,
}

/// A background task of the inspection.
struct InspectionTask {
    of: Arc<State>,
    gravitational_constant: f64,
    /// The external field, with gravitating masses.
    field: Field,
    config: TreeConfig,
    request: InspectRequest,
    /// The tree of that state, if it was built before.
    known: Option<Arc<TreeView>>,
}

impl Inspection {
    /// Sets what to inspect, and drops results that are not requested any more.
    pub fn request(&mut self, request: InspectRequest) {
        self.request = request;
        if request.is_nothing() {
            self.state = None;
        }
        if !request.wants_tree() {
            (self.tree_of, self.inspected.tree) = (None, None);
        }
        if request.body.is_none() {
            (self.inspected.walk, self.walked) = (None, None);
        }
        if request.about.is_none() {
            (self.inspected.about, self.facts_of) = (None, None);
        }
        if !request.error {
            (self.error_of, self.inspected.error) = (None, None);
        }
    }

    pub fn inspected(&self) -> &Inspected {
        &self.inspected
    }

    /// Takes in a state of the simulation.
    pub fn receive(&mut self, state: &Arc<State>) {
        if !self.request.is_nothing() && state.acceleration.len() == state.bodies.len() {
            self.state = Some(Arc::clone(state));
        }
    }

    /// The latest state, if it is that at `steps`.
    fn current(&self, steps: u64, settings: &Settings) -> Option<&Arc<State>> {
        let state = self.state.as_ref()?;
        ((state.steps, state.softening) == (steps, settings.softening)).then_some(state)
    }

    /// Whether a newer state than the last received one is needed, if the simulation is at `steps`.
    pub fn needs_bodies(&self, steps: u64, settings: &Settings) -> bool {
        let is_idle = !self.request.is_nothing() && self.running.is_none();
        if !is_idle || self.current(steps, settings).is_some() {
            return false;
        }
        let pause = match (self.request.wants_tree(), self.request.about) {
            (true, _) => TREES,
            (false, Some(_)) => FACTS,
            (false, None) => ERRORS,
        };
        self.last.is_none_or(|(at, took)| at.elapsed() > pause.max(took * REST))
    }

    /// Whether all requested results are those of the state at `steps`.
    pub fn is_complete(&self, steps: u64, settings: &Settings) -> bool {
        let is_known = |of| self.missing(of, settings).is_nothing();
        let is_current = || self.current(steps, settings).is_some_and(is_known);
        self.running.is_none() && (self.request.is_nothing() || is_current())
    }

    /// What is requested of the state `of` and not known. `tree` is set if it has to be built.
    fn missing(&self, of: &Arc<State>, settings: &Settings) -> InspectRequest {
        let is = |known: &Arc<State>| Arc::ptr_eq(known, of);
        let InspectRequest { error, body, about, .. } = self.request;
        let tree = self.request.wants_tree() && !self.tree_of.as_ref().is_some_and(is);
        let has_facts = |of: usize| {
            self.facts_of.as_ref().is_some_and(|(known, body)| *body == of && is(known))
        };
        InspectRequest {
            error: error && !self.error_of.as_ref().is_some_and(|(known, _)| is(known)),
            tree,
            body: body.filter(|&body| tree || self.walked != Some((body, settings.tree))),
            about: about.filter(|&body| !has_facts(body)),
        }
    }

    /// Takes in the results of a finished task, and starts the next one.
    ///
    /// # Errors
    ///
    /// A task failed; it is retried with the next state.
    pub fn poll(&mut self, settings: &Settings) -> Result<()> {
        if let Some((task, begun)) = &self.running
            && let Some(found) = task.take()
        {
            self.last = Some((Instant::now(), begun.elapsed()));
            self.running = None;
            match found {
                Ok(found) => self.take(found),
                Err(error) => {
                    self.state = None;
                    return Err(error);
                }
            }
        }
        if self.running.is_none()
            && let Some(task) = self.task(settings)
        {
            let running =
                Background::start("inspecting the forces", move || async move { task.run() })?;
            self.running = Some((running, Instant::now()));
        }
        Ok(())
    }

    fn take(&mut self, found: InspectionResults) {
        let InspectionResults { of, error, tree, walk, about } = found;
        if let (Some(error), true) = (error, self.request.error) {
            self.error_of = Some((Arc::clone(&of), Instant::now()));
            self.inspected.error = Some(error);
        }
        if let (Some((body, facts)), true) = (about, self.request.about.is_some()) {
            self.facts_of = Some((Arc::clone(&of), body));
            self.inspected.about = facts;
        }
        if let (Some(view), true) = (tree, self.request.wants_tree()) {
            self.inspected.tree = Some(InspectedTree { time: of.time, view });
            // The last walk belongs to the previous tree.
            (self.inspected.walk, self.walked) = (None, None);
            self.tree_of = Some(of);
        }
        if let Some((body, config, walk)) = walk {
            self.walked = Some((body, config));
            self.inspected.walk = walk.filter(|_| self.request.body.is_some()).map(|walk| {
                let walk = Arc::new(walk);
                InspectedWalk { body, config, walk }
            });
        }
    }

    /// The task that computes the missing results for the latest state, if any are missing.
    fn task(&self, settings: &Settings) -> Option<InspectionTask> {
        let of = self.state.as_ref()?;
        let mut request = self.missing(of, settings);
        request.error &= self.error_of.as_ref().is_none_or(|(_, at)| at.elapsed() > ERRORS);
        if request.is_nothing() {
            return None;
        }
        let known = self.inspected.tree.as_ref().filter(|_| !request.tree);
        Some(InspectionTask {
            of: Arc::clone(of),
            gravitational_constant: settings.gravitational_constant,
            field: settings.gravitating_field(),
            config: settings.tree,
            request,
            known: known.map(|tree| Arc::clone(&tree.view)),
        })
    }
}

impl InspectionTask {
    fn run(self) -> Result<InspectionResults> {
        let Self { of, config, request, field, .. } = self;
        let mut own = Arc::clone(&of);
        // Errors and opening rules are those of the accelerations that bodies give each other.
        if !field.is_empty() && (request.error || request.body.is_some()) {
            let State { bodies, acceleration, .. } = Arc::make_mut(&mut own);
            let places = bodies.position.iter();
            acceleration.iter_mut().zip(places).for_each(|(a, x)| *a -= field.acceleration(*x));
        }
        let mass = of.bodies.gravitating_mass(self.gravitational_constant);
        let build = || Arc::new(TreeView::new(&of.bodies.position, &mass, of.softening));
        let tree = request.tree.then(build);
        let walk = request.body.and_then(|body| {
            let view = tree.as_ref().or(self.known.as_ref())?;
            Some((body, config, view.walk(body, &config, &own.acceleration)))
        });
        let error = request.error.then(|| ForceError::of(&own, &mass)).transpose()?;
        let about = request.about.map(|body| (body, BodyFacts::of(&of, &mass, body)));
        Ok(InspectionResults { error, tree, walk, about, of })
    }
}
