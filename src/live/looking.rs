//! Looking into forces while they are computed: the error of some, the cells of the tree, what acts on a body, and
//! facts about a body.
//!
//! A look begins with a state that has come back from wherever the bodies live, and runs in the background. The
//! simulation is not involved, so not a bit changes.

use std::sync::Arc;

use web_time::{Duration, Instant};

use super::beside::Beside;
use super::body::BodyFacts;
use super::force_error::ForceError;
use crate::error::Result;
use crate::forces::tree::{GroupWalk, TreeConfig, TreeView};
use crate::sim::{Moment, Settings};

/// What is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// The error of the accelerations.
    pub error: bool,
    /// The tree.
    pub tree: bool,
    /// What acts on the group of the body with this index; needs no other wish.
    pub body: Option<usize>,
    /// Facts about the body with this index.
    pub about: Option<usize>,
}

impl Wish {
    fn wants_tree(&self) -> bool {
        self.tree || self.body.is_some()
    }

    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What has been found, each for the latest state it was found for.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The error of the accelerations.
    pub error: Option<ForceError>,
    /// The tree over the bodies.
    pub tree: Option<SeenTree>,
    /// What acts on the group of a body.
    pub walk: Option<SeenWalk>,
    /// Facts about a body.
    pub about: Option<BodyFacts>,
}

/// A tree and the state that it was built for.
#[derive(Clone, Debug)]
pub struct SeenTree {
    /// Simulated time.
    pub time: f64,
    /// The tree.
    pub view: Arc<TreeView>,
}

/// A walk through the tree that was found.
#[derive(Clone, Debug)]
pub struct SeenWalk {
    /// The body that was asked for.
    pub body: usize,
    /// The rule that cells were opened by.
    pub config: TreeConfig,
    /// Its group.
    pub walk: Arc<GroupWalk>,
}

/// Errors come at most this often.
const ERRORS: Duration = Duration::from_secs(3);
/// Trees come at most this often.
const TREES: Duration = Duration::from_millis(250);
/// Facts about a body come at most this often.
const FACTS: Duration = Duration::from_millis(400);
/// After a look there is a pause, this many times as long as the look.
const REST: u32 = 3;

#[derive(Default)]
pub(super) struct Looking {
    wish: Wish,
    /// The latest state that has come.
    moment: Option<Arc<Moment>>,
    /// The states of the found tree and error.
    tree_of: Option<Arc<Moment>>,
    error_of: Option<(Arc<Moment>, Instant)>,
    making: Option<(Beside<Made>, Instant)>,
    /// The body and the rule of the last walk through the found tree, even if it found nothing.
    walked: Option<(usize, TreeConfig)>,
    /// The state and the body of the last facts, even if there is no such body.
    said_of: Option<(Arc<Moment>, usize)>,
    seen: Seen,
    /// When the last look ended, and how long it took.
    last: Option<(Instant, Duration)>,
}

/// What a look has found, and for which state.
struct Made {
    of: Arc<Moment>,
    error: Option<ForceError>,
    tree: Option<Arc<TreeView>>,
    /// The walk itself is `None` if there is no such body.
    walk: Option<(usize, TreeConfig, Option<GroupWalk>)>,
    about: Option<(usize, Option<BodyFacts>)>,
}

/// What a look should find.
struct Task {
    of: Arc<Moment>,
    gravitational_constant: f64,
    config: TreeConfig,
    error: bool,
    tree: bool,
    /// The tree of that state, if known already.
    known: Option<Arc<TreeView>>,
    body: Option<usize>,
    about: Option<usize>,
}

impl Looking {
    /// Takes a new wish: forgets what is not wanted any more.
    pub fn wish(&mut self, wish: Wish) {
        self.wish = wish;
        if wish.is_nothing() {
            self.moment = None;
        }
        if !wish.wants_tree() {
            (self.tree_of, self.seen.tree) = (None, None);
        }
        if wish.body.is_none() {
            (self.seen.walk, self.walked) = (None, None);
        }
        if wish.about.is_none() {
            (self.seen.about, self.said_of) = (None, None);
        }
        if !wish.error {
            (self.error_of, self.seen.error) = (None, None);
        }
    }

    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Takes in a state that has come back.
    pub fn come(&mut self, moment: &Arc<Moment>) {
        if !self.wish.is_nothing() && moment.acceleration.len() == moment.bodies.len() {
            self.moment = Some(Arc::clone(moment));
        }
    }

    /// Whether a newer state than the known one is needed, if the simulation is at `steps`.
    pub fn wants_bodies(&self, steps: u64, settings: &Settings) -> bool {
        if self.wish.is_nothing() || self.making.is_some() {
            return false;
        }
        let is_it =
            |known: &Arc<Moment>| (known.steps, known.softening) == (steps, settings.softening);
        if self.moment.as_ref().is_some_and(is_it) {
            return false;
        }
        let pause = match (self.wish.wants_tree(), self.wish.about) {
            (true, _) => TREES,
            (false, Some(_)) => FACTS,
            (false, None) => ERRORS,
        };
        self.last.is_none_or(|(at, took)| at.elapsed() > pause.max(took * REST))
    }

    /// Whether everything wished for has been found for the state at `steps`.
    pub fn is_at_rest(&self, steps: u64, settings: &Settings) -> bool {
        if self.wish.is_nothing() || self.making.is_some() {
            return self.making.is_none();
        }
        let Some(of) = &self.moment else { return false };
        let is = |known: &Arc<Moment>| Arc::ptr_eq(known, of);
        let Wish { error, body, about, .. } = self.wish;
        let said = |body| self.said_of.as_ref().is_some_and(|(known, of)| *of == body && is(known));
        (of.steps, of.softening) == (steps, settings.softening)
            && (!error || self.error_of.as_ref().is_some_and(|(known, _)| is(known)))
            && (!self.wish.wants_tree() || self.tree_of.as_ref().is_some_and(is))
            && body.is_none_or(|body| self.walked == Some((body, settings.tree)))
            && about.is_none_or(said)
    }

    /// Takes in what was found, and begins the next look.
    ///
    /// Errors: a look that failed; it is tried again with the next state.
    pub fn poll(&mut self, settings: &Settings) -> Result<()> {
        if let Some((making, begun)) = &self.making
            && let Some(made) = making.take()
        {
            self.last = Some((Instant::now(), begun.elapsed()));
            self.making = None;
            match made {
                Ok(made) => self.take(made),
                Err(error) => {
                    self.moment = None;
                    return Err(error);
                }
            }
        }
        match self.task(settings) {
            Some(task) if self.making.is_none() => {
                let making =
                    Beside::start("a look at the forces", move || async move { task.find() })?;
                self.making = Some((making, Instant::now()));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, made: Made) {
        let Made { of, error, tree, walk, about } = made;
        if let (Some(error), true) = (error, self.wish.error) {
            self.error_of = Some((Arc::clone(&of), Instant::now()));
            self.seen.error = Some(error);
        }
        if let (Some((body, facts)), true) = (about, self.wish.about.is_some()) {
            self.said_of = Some((Arc::clone(&of), body));
            self.seen.about = facts;
        }
        if let (Some(view), true) = (tree, self.wish.wants_tree()) {
            self.seen.tree = Some(SeenTree { time: of.time, view });
            // A walk through another tree does not count for this one.
            (self.seen.walk, self.walked) = (None, None);
            self.tree_of = Some(of);
        }
        if let Some((body, config, walk)) = walk {
            self.walked = Some((body, config));
            self.seen.walk = walk.filter(|_| self.wish.body.is_some()).map(|walk| {
                let walk = Arc::new(walk);
                SeenWalk { body, config, walk }
            });
        }
    }

    /// What is still to be found for the latest state.
    fn task(&self, settings: &Settings) -> Option<Task> {
        let of = self.moment.as_ref()?;
        let is = |known: &Arc<Moment>| Arc::ptr_eq(known, of);
        let rested = |at: &Instant| at.elapsed() > ERRORS;
        let error = self.wish.error
            && self.error_of.as_ref().is_none_or(|(known, at)| !is(known) && rested(at));
        let tree = self.wish.wants_tree() && !self.tree_of.as_ref().is_some_and(is);
        let known = self.seen.tree.as_ref().map(|tree| Arc::clone(&tree.view)).filter(|_| !tree);
        let body =
            self.wish.body.filter(|&body| tree || self.walked != Some((body, settings.tree)));
        let said =
            |body: &usize| self.said_of.as_ref().is_some_and(|(known, of)| of == body && is(known));
        let about = self.wish.about.filter(|body| !said(body));
        let gravitational_constant = settings.gravitational_constant;
        let (of, config) = (Arc::clone(of), settings.tree);
        (error || tree || body.is_some() || about.is_some()).then_some(Task {
            of,
            gravitational_constant,
            config,
            error,
            tree,
            known,
            body,
            about,
        })
    }
}

impl Task {
    fn find(self) -> Result<Made> {
        let Self { of, config, .. } = self;
        let mass = of.bodies.gravitating_mass(self.gravitational_constant);
        let build = || Arc::new(TreeView::new(&of.bodies.position, &mass, of.softening));
        let built = self.tree.then(build);
        let walk = self.body.and_then(|body| {
            let view = built.as_ref().or(self.known.as_ref())?;
            Some((body, config, view.walk(body, &config, &of.acceleration)))
        });
        let error = self.error.then(|| ForceError::of(&of, &mass)).transpose()?;
        let about = self.about.map(|body| (body, BodyFacts::of(&of, &mass, body)));
        Ok(Made { error, tree: built, walk, about, of })
    }
}
