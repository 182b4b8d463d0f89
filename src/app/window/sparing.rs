//! What a slow adapter leaves out of the window's pictures, by the time that they took. Never from saved films and pictures,
//! which have everything asked for, nor from the picture of a window in which nothing moves (`rest`).
//!
//! Effects are dropped one after the other, in the order of [`ORDER`], while pictures take longer than the next one allows:
//! an extra is not worth a slow picture ([`EXTRA_SECS`]), but without its glow it is another picture ([`LOOK_SECS`]).
//! Drawing all of many bodies counts as effects, one for each of several numbers of bodies: as these are dropped, fewer and
//! fewer bodies are drawn, with the light of all ([`BODIES_SECS`]). The last effect dropped comes back once pictures with it
//! are expected to take clearly less. If it then has to go again it stays away twice as long the next time, so that nothing
//! flickers.

use crate::gpu::FrameTimes;
use crate::render::{PARTS, Style};

/// The longest that a picture with extras may take on the device, steps and panel not counted.
const EXTRA_SECS: f64 = 0.020;
/// The same for drawing all bodies.
const BODIES_SECS: f64 = 0.025;
/// The same for glow and sky, which make the look. With steps and panel added the window still responds.
const LOOK_SECS: f64 = 0.030;
/// An effect comes back if a picture with it is expected to take at most this part of what it allows.
const EASY: f64 = 0.75;
/// The median of this many pictures counts.
const PICTURES: usize = 15;
/// This few are enough if each of them takes longer than this.
const FAR_PICTURES: usize = 3;
const FAR_SECS: f64 = 0.060;
/// Pictures after a change that do not count: they compile what is new.
const SETTLING: u64 = 3;
/// How long an effect stays away at least, and at most after it had to go again.
const WAIT_SECS: [f64; 2] = [5.0, 600.0];

/// Something that a picture can do without.
struct Effect {
    name: &'static str,
    /// It is dropped if pictures take longer.
    limit_secs: f64,
    /// Without it, one of this many bodies is drawn.
    every: u32,
    is_asked: fn(&Asked) -> bool,
    leave_out: fn(&mut Style),
}

const fn extra(
    name: &'static str,
    is_asked: fn(&Asked) -> bool,
    leave_out: fn(&mut Style),
) -> Effect {
    Effect { name, limit_secs: EXTRA_SECS, every: 1, is_asked, leave_out }
}

/// One of `every` bodies is drawn. That is a prime number, so that kinds of bodies that alternate in a file stay mixed.
const fn bodies(name: &'static str, every: u32, is_asked: fn(&Asked) -> bool) -> Effect {
    Effect { name, limit_secs: BODIES_SECS, every, is_asked, leave_out: |_| () }
}

const fn look(
    name: &'static str,
    is_asked: fn(&Asked) -> bool,
    leave_out: fn(&mut Style),
) -> Effect {
    Effect { name, limit_secs: LOOK_SECS, every: 1, is_asked, leave_out }
}

/// In this order: first what costs a software adapter most and changes least about the bodies. At least about 5,000 bodies
/// are drawn, and 20,000 of a million.
const ORDER: [Effect; 11] = [
    extra("streaks", |asked| asked.style.streak_time > 0.0, |style| style.streak_time = 0.0),
    extra("trails", |asked| asked.style.trail_secs > 0.0, |style| style.trail_secs = 0.0),
    extra("dust", |asked| asked.has_gas && asked.style.dust > 0.0, |style| style.dust = 0.0),
    extra("glow of gas", |asked| asked.has_gas && asked.style.gas > 0.0, |style| style.gas = 0.0),
    bodies("2 of 3 bodies", 3, |asked| asked.bodies >= 15_000),
    bodies("4 of 5 bodies", 5, |asked| asked.bodies >= 40_000),
    bodies("10 of 11 bodies", 11, |asked| asked.bodies >= 100_000),
    bodies("18 of 19 bodies", 19, |asked| asked.bodies >= 400_000),
    bodies("52 of 53 bodies", 53, |asked| asked.bodies >= 1_000_000),
    look(
        "glow",
        |asked| asked.style.bloom > 0.0 || asked.style.local_exposure > 0.0,
        |style| (style.bloom, style.local_exposure) = (0.0, 0.0),
    ),
    look("far sky", |asked| asked.style.sky > 0.0, |style| style.sky = 0.0),
];

/// What the time of a picture depends on, besides the camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The style asked for.
    pub style: Style,
    /// Whether there is gas: without it its effects cost nothing.
    pub has_gas: bool,
    /// Number of bodies.
    pub bodies: usize,
    /// Size of the picture.
    pub size: [u32; 2],
}

impl Asked {
    fn has(&self, index: usize) -> bool {
        (ORDER[index].is_asked)(self)
    }
}

/// How many of [`ORDER`] are left out, and why.
#[derive(Debug, Default)]
pub struct Sparing {
    asked: Option<Asked>,
    /// This many are left out, from the first, if they are asked for.
    left: usize,
    /// Times of pictures since the last change.
    secs: Vec<f64>,
    /// Number of the first picture that counts.
    first: u64,
    changed_at: f64,
    /// The time of pictures before the last effect was dropped.
    before: Option<f64>,
    /// The time of each effect when it was dropped, and how long it has to stay away.
    costs: [f64; ORDER.len()],
    waits: [f64; ORDER.len()],
    /// The effect that came back last.
    returned: Option<usize>,
}

impl Sparing {
    /// Takes in the times of a frame, at a time in seconds; `newest` is the last frame recorded. True if something else is
    /// left out from now on.
    pub fn learn(&mut self, asked: &Asked, times: &FrameTimes, newest: u64, now: f64) -> bool {
        if self.asked.as_ref() != Some(asked) {
            // What was learnt is about other pictures. What is left out stays so until it is known to be cheap.
            self.asked = Some(asked.clone());
            (self.costs, self.waits) = ([0.0; ORDER.len()], [WAIT_SECS[0]; ORDER.len()]);
            (self.before, self.returned) = (None, None);
            self.begin(newest, now);
        }
        if self.first > newest + SETTLING {
            // Frames are numbered from the start again.
            self.begin(newest, now);
        }
        let parts: Vec<f64> = PARTS.iter().filter_map(|part| times.secs(part)).collect();
        if times.number < self.first || parts.len() < PARTS.len() {
            return false;
        }
        self.secs.push(parts.iter().sum());
        if self.secs.len() < PICTURES && !self.is_far() {
            return false;
        }
        let mut sorted = std::mem::take(&mut self.secs);
        sorted.sort_by(f64::total_cmp);
        let changed = self.decide(asked, sorted[sorted.len() / 2], now);
        if changed {
            self.begin(newest, now);
        }
        changed
    }

    /// Whether a few pictures are enough to see that something has to go.
    fn is_far(&self) -> bool {
        self.secs.len() >= FAR_PICTURES && self.secs.iter().all(|&secs| secs > FAR_SECS)
    }

    fn begin(&mut self, newest: u64, now: f64) {
        self.secs.clear();
        (self.first, self.changed_at) = (newest + SETTLING, now);
    }

    /// Drops an effect or brings one back if pictures take this long; returns whether it did.
    fn decide(&mut self, asked: &Asked, secs: f64, now: f64) -> bool {
        let last = (0..self.left).rev().find(|&k| asked.has(k));
        if let (Some(before), Some(last)) = (self.before.take(), last) {
            self.costs[last] = (before - secs).max(0.0);
        }
        let next = (self.left..ORDER.len()).find(|&k| asked.has(k));
        if let Some(next) = next.filter(|&next| secs > ORDER[next].limit_secs) {
            if self.returned == Some(next) {
                self.waits[next] = (2.0 * self.waits[next]).min(WAIT_SECS[1]);
            }
            (self.left, self.before, self.returned) = (next + 1, Some(secs), None);
            return true;
        }
        let Some(last) = last else {
            self.left = 0;
            return false;
        };
        let is_cheap = secs + self.costs[last] <= EASY * ORDER[last].limit_secs;
        if is_cheap && now - self.changed_at >= self.waits[last] {
            (self.left, self.returned) = (last, Some(last));
            return true;
        }
        false
    }

    /// Leaves nothing out any more: the user wants everything, or the device is another one.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The style without what is left out.
    pub fn spared(&self, style: &Style) -> Style {
        let mut style = style.clone();
        ORDER[..self.left].iter().for_each(|effect| (effect.leave_out)(&mut style));
        style
    }

    /// One of this many bodies is drawn: 1 draws all.
    pub fn every(&self) -> u32 {
        let Some(asked) = &self.asked else { return 1 };
        let left = (0..self.left).filter(|&k| asked.has(k)).map(|k| ORDER[k].every);
        left.max().unwrap_or(1)
    }

    /// What is left out, in a sentence; `None` if nothing is.
    pub fn said(&self) -> Option<String> {
        let asked = self.asked.as_ref()?;
        let left: Vec<&Effect> =
            (0..self.left).filter(|&k| asked.has(k)).map(|k| &ORDER[k]).collect();
        let limit = 1e3 * left.last()?.limit_secs;
        // Of several limits on bodies the strictest counts.
        let every = left.iter().map(|effect| effect.every).max().unwrap_or(1);
        let told = left.iter().filter(|effect| effect.every == 1 || effect.every == every);
        let names: Vec<&str> = told.map(|effect| effect.name).collect();
        Some(format!("left out in motion (over {limit:.0} ms here): {}", names.join(", ")))
    }
}

#[cfg(test)]
mod tests;
