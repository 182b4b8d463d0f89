//! Particles that clients set one by one: they go to an engine as they came, and to their places in memory while that
//! computes.

use super::super::inbox::Inbox;
use super::Memory;
use crate::forces::ForceEngine;

/// Letters after the next one whose places are fetched.
const AHEAD: usize = 8;

impl Memory {
    /// Where particles arrive from now on.
    pub fn listen_to(&mut self, inbox: &'static Inbox) {
        self.inbox = Some(inbox);
        self.tell_room();
    }

    /// Tells the inbox what there is memory for.
    pub(super) fn tell_room(&self) {
        if let Some(inbox) = self.inbox {
            let (room, takes_high) = self.particles.room();
            inbox.make_room(room, takes_high);
        }
    }

    /// Fetches what arrived.
    pub(super) fn fetch(&mut self) {
        if let Some(inbox) = self.inbox
            && self.letters.is_empty()
        {
            inbox.take(&mut self.letters);
        }
    }

    /// Puts all that arrived in its place, to be sent.
    pub(super) fn put_away(&mut self) {
        self.fetch();
        let letters = std::mem::take(&mut self.letters);
        for (place, low, high, softening_squared) in letters.each() {
            // There is room, or they would not have been let in.
            let put = self.put(place, low, high, softening_squared);
            debug_assert!(put.is_ok(), "{put:?}");
        }
        self.letters = letters;
        self.letters.clear();
    }

    /// Whether what arrived is all that changed, and replaces sources of the same indices at the same numbers.
    pub(super) fn letters_are_sources(&self, addresses: usize) -> bool {
        let count = self.address.len();
        let numbered = self.address.last().is_none_or(|last| *last as usize + 1 == count);
        let is_sent = self.sent.is_some_and(|sent| sent.addresses == addresses);
        let is_usual = numbered && is_sent && !self.rearranged && self.changed.is_empty();
        is_usual && self.letters.places().iter().all(|one| self.has_index(one.at as usize, one.tag))
    }

    /// Puts what was announced to `engine` in its place, in its memory and here: after an evaluation has begun.
    pub fn settle(&mut self, engine: &mut dyn ForceEngine) {
        if let Some(moving) = engine.moving() {
            let announced = self.announced.all();
            let arrived = announced.is_empty();
            moving.settle_moving(&if arrived { self.letters.arrivals() } else { announced });
        }
        self.announced.clear();
        let places = self.letters.places();
        for (k, (place, low, high, softening_squared)) in self.letters.each().enumerate() {
            if let Some(later) = places.get(k + AHEAD) {
                self.particles.fetch(later.at as usize);
            }
            if self.particles.put(place, low, high, softening_squared).is_ok() {
                self.particles.forget_change(place.at as usize);
            }
        }
        match self.inbox {
            Some(inbox) => inbox.give_back(&mut self.letters),
            None => self.letters.clear(),
        }
    }
}
