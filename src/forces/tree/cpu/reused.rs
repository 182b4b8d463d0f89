//! The tree of one step that is reused in later ones.

use glam::DVec3;

use super::super::pace::RebuildPace;
use super::HostTree;
use super::call::{Reusable, TreeCall};
use crate::forces::{Identity, Rebuilds, Sinks, Sources};
use crate::settings::Rebuild;

/// A tree reused from step to step, for when it is not rebuilt at each.
#[derive(Debug)]
pub(super) struct ReusedTree {
    /// How often it is rebuilt.
    pub pace: RebuildPace,
    /// The step whose forces are requested next, and whether it has other bodies than before.
    next: Option<(u64, bool)>,
    tree: Option<Reusable>,
    /// The bodies' positions when it was built.
    built_at: Vec<DVec3>,
    /// Whether the bodies had moved since then at the last step's forces.
    is_refitted: bool,
}

/// The start of an evaluation.
pub(super) struct Begun {
    /// The tree of an earlier step.
    pub tree: Option<Reusable>,
    /// Whether it is the evaluation of a step, whose tree is stored for later ones.
    pub is_step: bool,
}

impl ReusedTree {
    /// No tree yet.
    pub fn new(rebuild: Rebuild) -> Self {
        let pace = RebuildPace::new(rebuild);
        Self { pace, next: None, tree: None, built_at: Vec::new(), is_refitted: false }
    }

    /// Starts an evaluation of `n` bodies on themselves.
    pub fn begin(&mut self, n: usize) -> Begun {
        let next = self.next.take();
        let is_due = next.is_some_and(|(step, are_new)| are_new || self.pace.builds_at(step));
        let serves = self.pace.keeps() && !is_due && self.built_at.len() == n;
        let tree = if serves { self.tree.take() } else { None };
        Begun { tree, is_step: self.pace.keeps() && next.is_some() }
    }

    /// The bodies' positions when the tree was built, if they have moved since.
    pub fn built_at(&self) -> Option<&[DVec3]> {
        (self.is_refitted && self.tree.is_some()).then_some(&self.built_at[..])
    }

    /// Stores the tree that an evaluation has used, or has built over bodies at `built_at`.
    pub fn end(&mut self, tree: Reusable, is_step: bool, built_at: Option<&[DVec3]>) {
        self.tree = Some(tree);
        match built_at {
            Some(position) => {
                self.built_at = position.to_vec();
                self.is_refitted = false;
            }
            None => self.is_refitted |= is_step,
        }
    }
}

impl Rebuilds for HostTree {
    fn begin_step(&mut self, step: u64, are_new: bool) {
        self.reused.next = Some((step, are_new));
    }

    fn resume(&mut self, step: u64, built_at: Option<&[DVec3]>, bodies: &Sources, softening: f64) {
        let position = match built_at {
            Some(position) => position,
            None if self.reused.pace.builds_at(step) => bodies.position,
            None => return,
        };
        let sinks = Sinks::new(position, Identity::Offset(0));
        let then = Sources::new(position, bodies.mass);
        // If this is interrupted, so are its forces before they begin.
        let Ok(call) = TreeCall::new(self.kernel, &sinks, &then, softening, None) else { return };
        self.reused.end(call.into_reusable(), true, Some(position));
        self.reused.is_refitted = built_at.is_some();
    }
}
