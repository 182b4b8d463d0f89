//! Adaptive quality: which effects a slow adapter leaves out of the window's pictures, by their
//! measured times. Saved films and pictures always have all requested effects, and so has the
//! picture of a window in which nothing moves (`stillness`).
//!
//! Effects are dropped one after the other, in the order of [`ORDER`], while pictures take longer
//! than the limit of the next effect: low for pixels and extras ([`EXTRA_SECS`]), higher for glow
//! and sky, which determine the look ([`LOOK_SECS`]). Drawing all pixels counts as several effects:
//! as these are dropped, larger and larger pixels are drawn, which are then enlarged; the panel
//! keeps all pixels. Drawing all of many bodies does as well: a smaller and smaller fraction of the
//! bodies is drawn, scaled to the light of all ([`BODIES_SECS`]). The last effect dropped comes
//! back once pictures with it are expected to take clearly less than its limit. If it must then be
//! dropped again, the wait before its next return doubles, so that nothing flickers.

use gravitile::gpu::{DeviceClass, FrameTimes};
use gravitile::render::{MOST_STOPS, PARTS, Style};

/// Longest device time of a picture with extras, without steps and panel.
const EXTRA_SECS: f64 = 0.020;
/// The same for drawing all bodies.
const BODIES_SECS: f64 = 0.025;
/// The same for glow and sky, which determine the look. With steps and panel added the window still
/// responds.
const LOOK_SECS: f64 = 0.045;
/// An effect comes back if a picture with it is expected to take at most this fraction of its
/// limit.
const EASY: f64 = 0.75;
/// Longer exposure of pictures without glow, whose sharp stars take most of the light: the built-in
/// galaxies then have a third of the mean brightness that they have with it, instead of a quarter.
const STOPS_WITHOUT_GLOW: f64 = 1.5;
/// Number of pictures whose median time decides.
const PICTURES: usize = 15;
/// Number of pictures that is enough if each of them takes longer than [`FAR_SECS`].
const FAR_PICTURES: usize = 3;
const FAR_SECS: f64 = 0.060;
/// Pictures after a change that are ignored, as pipelines are compiled for them.
const SETTLING: u64 = 3;
/// Shortest and longest time before a dropped effect comes back.
const WAIT_SECS: [f64; 2] = [5.0, 600.0];

/// An optional part of a picture.
struct Effect {
    name: &'static str,
    /// It is dropped if pictures take longer.
    limit_secs: f64,
    /// Without it, one of `every` bodies is drawn.
    every: u32,
    /// Without it, pixels of this side are drawn, in pixels of the window.
    pixel_side: f64,
    /// Whether it is requested and has an effect.
    applies: fn(&Workload) -> bool,
    leave_out: fn(&mut Style),
}

const fn extra(
    name: &'static str,
    applies: fn(&Workload) -> bool,
    leave_out: fn(&mut Style),
) -> Effect {
    Effect { name, limit_secs: EXTRA_SECS, every: 1, pixel_side: 1.0, applies, leave_out }
}

/// Draws pixels of that side.
const fn pixels(name: &'static str, pixel_side: f64, applies: fn(&Workload) -> bool) -> Effect {
    Effect { name, limit_secs: EXTRA_SECS, every: 1, pixel_side, applies, leave_out: |_| () }
}

/// Draws one of `every` bodies. A prime number, so that components that alternate in a file stay
/// mixed.
const fn bodies(name: &'static str, every: u32, applies: fn(&Workload) -> bool) -> Effect {
    Effect { name, limit_secs: BODIES_SECS, every, pixel_side: 1.0, applies, leave_out: |_| () }
}

const fn look(
    name: &'static str,
    applies: fn(&Workload) -> bool,
    leave_out: fn(&mut Style),
) -> Effect {
    Effect { name, limit_secs: LOOK_SECS, every: 1, pixel_side: 1.0, applies, leave_out }
}

/// Effects in the order in which they are dropped: first those that cost a software adapter most
/// and matter least for the bodies. At least 240 lines and about 5,000 bodies are drawn, and 20,000
/// of a million.
const ORDER: [Effect; 14] = [
    pixels("5 of 9 pixels", 1.5, |workload| workload.lines() >= 360),
    pixels("3 of 4 pixels", 2.0, |workload| workload.lines() >= 480),
    pixels("8 of 9 pixels", 3.0, |workload| workload.lines() >= 720),
    extra("streaks", |workload| workload.style.streak_time > 0.0, |style| style.streak_time = 0.0),
    extra("trails", |workload| workload.style.trail_secs > 0.0, |style| style.trail_secs = 0.0),
    extra(
        "dust",
        |workload| workload.has_gas && workload.style.dust > 0.0,
        |style| style.dust = 0.0,
    ),
    extra(
        "glow of gas",
        |workload| workload.has_gas && workload.style.gas > 0.0,
        |style| style.gas = 0.0,
    ),
    bodies("2 of 3 bodies", 3, |workload| workload.bodies >= 15_000),
    bodies("4 of 5 bodies", 5, |workload| workload.bodies >= 40_000),
    bodies("10 of 11 bodies", 11, |workload| workload.bodies >= 100_000),
    bodies("18 of 19 bodies", 19, |workload| workload.bodies >= 400_000),
    bodies("52 of 53 bodies", 53, |workload| workload.bodies >= 1_000_000),
    look(
        "glow",
        |workload| workload.style.bloom > 0.0 || workload.style.local_exposure > 0.0,
        |style| {
            let stops = if style.bloom > 0.0 { STOPS_WITHOUT_GLOW } else { 0.0 };
            style.stops = (style.stops + stops).min(MOST_STOPS);
            (style.bloom, style.local_exposure) = (0.0, 0.0);
        },
    ),
    look("far sky", |workload| workload.style.sky > 0.0, |style| style.sky = 0.0),
];

/// Effects that a software adapter starts without: pixels of twice the side.
const LEFT_BY_SOFTWARE: usize = 2;
/// Larger pixels must save at least this fraction of the time of a picture.
const LEAST_SAVED: f64 = 0.1;

/// Everything that the time of a picture depends on, except the camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The requested style.
    pub style: Style,
    /// Whether there is gas: without it the effects of gas cost nothing.
    pub has_gas: bool,
    /// Number of bodies.
    pub bodies: usize,
    /// Size of the picture.
    pub size: [u32; 2],
}

impl Workload {
    fn lines(&self) -> u32 {
        self.size[0].min(self.size[1])
    }
}

/// How many effects of [`ORDER`] are left out, and the measurements that decide it.
#[derive(Debug, Default)]
pub struct AdaptiveQuality {
    workload: Option<Workload>,
    /// Number of effects that are left out, from the first.
    left: usize,
    /// Times of pictures since the last change.
    secs: Vec<f64>,
    /// Number of the first frame that is measured.
    first: u64,
    changed_at: f64,
    /// The time of pictures before the last effect was dropped.
    before: Option<f64>,
    /// The cost of each effect when it was dropped, and the wait before it comes back.
    costs: [f64; ORDER.len()],
    waits: [f64; ORDER.len()],
    /// The effect that came back last.
    returned: Option<usize>,
    /// The first effect whose larger pixels saved nothing, as the time goes elsewhere.
    vain: Option<usize>,
}

impl AdaptiveQuality {
    /// For a device of that class, before anything has been measured.
    pub fn new(class: DeviceClass) -> Self {
        let left = if class == DeviceClass::Software { LEFT_BY_SOFTWARE } else { 0 };
        Self { left, ..Self::default() }
    }

    /// Whether leaving out that effect of [`ORDER`] makes a difference.
    fn has(&self, workload: &Workload, index: usize) -> bool {
        let effect = &ORDER[index];
        let is_vain = effect.pixel_side > 1.0 && self.vain.is_some_and(|vain| index >= vain);
        !is_vain && (effect.applies)(workload)
    }

    /// The effects that are left out and make a difference; before anything is known, all of them.
    fn left_out(&self) -> impl DoubleEndedIterator<Item = usize> {
        let applies = |&k: &usize| self.workload.as_ref().is_none_or(|load| self.has(load, k));
        (0..self.left).filter(applies)
    }

    /// Takes in the times of a frame, at the time `now` in seconds; `newest` is the last frame
    /// recorded. Returns whether the effects that are left out have changed.
    pub fn learn(
        &mut self,
        workload: &Workload,
        times: &FrameTimes,
        newest: u64,
        now: f64,
    ) -> bool {
        if self.workload.as_ref() != Some(workload) {
            // The measurements are of other pictures. The same effects are left out until they are
            // known to be cheap.
            self.workload = Some(workload.clone());
            (self.costs, self.waits) = ([0.0; ORDER.len()], [WAIT_SECS[0]; ORDER.len()]);
            (self.before, self.returned, self.vain) = (None, None, None);
            self.begin(newest, now);
        }
        if self.first > newest + SETTLING {
            // The frame numbers have restarted.
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
        let changed = self.decide(workload, sorted[sorted.len() / 2], now);
        if changed {
            self.begin(newest, now);
        }
        changed
    }

    /// Whether a few pictures are so slow that an effect must be dropped.
    fn is_far(&self) -> bool {
        self.secs.len() >= FAR_PICTURES && self.secs.iter().all(|&secs| secs > FAR_SECS)
    }

    fn begin(&mut self, newest: u64, now: f64) {
        self.secs.clear();
        (self.first, self.changed_at) = (newest + SETTLING, now);
    }

    /// Drops an effect or brings one back, for pictures that take `secs`; returns whether it did.
    fn decide(&mut self, workload: &Workload, secs: f64, now: f64) -> bool {
        let last = self.left_out().next_back();
        if let (Some(before), Some(last)) = (self.before.take(), last) {
            self.costs[last] = (before - secs).max(0.0);
            if ORDER[last].pixel_side > 1.0 && self.costs[last] < LEAST_SAVED * before {
                self.vain = Some(last);
                return true;
            }
        }
        let next = (self.left..ORDER.len()).find(|&k| self.has(workload, k));
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

    /// Resets to all effects, on the user's choice.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The style without the effects that are left out.
    pub fn reduced(&self, style: &Style) -> Style {
        let mut style = style.clone();
        ORDER[..self.left].iter().for_each(|effect| (effect.leave_out)(&mut style));
        style
    }

    /// One of this number of bodies is drawn: 1 draws all.
    pub fn every(&self) -> u32 {
        self.left_out().map(|k| ORDER[k].every).max().unwrap_or(1)
    }

    /// The side of the drawn pixels, in pixels of the window.
    pub fn pixel_side(&self) -> f64 {
        self.left_out().map(|k| ORDER[k].pixel_side).fold(1.0, f64::max)
    }

    /// Describes what is left out; `None` if nothing is.
    pub fn describe(&self) -> Option<String> {
        let left: Vec<&Effect> = self.left_out().map(|k| &ORDER[k]).collect();
        let limit = 1e3 * left.last()?.limit_secs;
        // Only the smallest fraction of the pixels and of the bodies is listed.
        let (every, side) = (self.every(), self.pixel_side());
        let is_listed = |effect: &&&Effect| {
            [1, every].contains(&effect.every) && [1.0, side].contains(&effect.pixel_side)
        };
        let listed = left.iter().filter(is_listed);
        let names: Vec<&str> = listed.map(|effect| effect.name).collect();
        Some(format!("left out in motion (over {limit:.0} ms here): {}", names.join(", ")))
    }
}

#[cfg(test)]
mod tests;
