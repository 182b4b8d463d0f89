//! Moving sources: each known at its own time, and predicted by the engine that holds it.

use glam::DVec3;

use crate::error::Result;

/// A source as last corrected by its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moving {
    /// The time at which `motion` holds.
    pub time: f64,
    /// Gravitating mass G m, at least 0.
    pub mass: f64,
    /// Position and its time derivatives at `time`, from velocity to crackle.
    pub motion: [DVec3; 6],
}

impl Moving {
    /// 1 / k from k = 1 on. Engines that use the same factors in the same order predict the same
    /// bits.
    pub(crate) const PARTS: [f64; 5] = [1.0, 0.5, 1.0 / 3.0, 0.25, 0.2];

    /// Position, velocity and acceleration at `time`, from all derivatives; with `None` nothing is
    /// predicted.
    ///
    /// In GRAPE-6's coefficients x + v t + a2 t^2 + j6 t^3 + (3/4) k18 t^4, and its derivatives
    /// with respect to t.
    pub fn at(&self, time: Option<f64>) -> [DVec3; 3] {
        let [x, v, a, j, s, c] = self.motion;
        let t = time.map_or(0.0, |time| time - self.time);
        // Horner's scheme: term k is divided by k.
        let series = |terms: &[DVec3]| {
            let earlier = terms.iter().zip(Self::PARTS).rev();
            earlier.fold(c, |sum, (term, part)| *term + sum * (t * part))
        };
        [series(&[x, v, a, j, s]), series(&[v, a, j, s]), series(&[a, j, s])]
    }
}

/// A source's motion up to the jerk, which is all that most sources have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ToJerk {
    /// Time at which `motion` holds.
    pub time: f64,
    /// Gravitating mass G m, at least 0.
    pub mass: f64,
    /// Position, velocity, acceleration and jerk at `time`.
    pub motion: [DVec3; 4],
}

impl ToJerk {
    /// Adds a snap and a crackle.
    pub fn with(&self, [s, c]: [DVec3; 2]) -> Moving {
        let [x, v, a, j] = self.motion;
        Moving { time: self.time, mass: self.mass, motion: [x, v, a, j, s, c] }
    }
}

impl From<&Moving> for ToJerk {
    fn from(moving: &Moving) -> Self {
        let [x, v, a, j, ..] = moving.motion;
        Self { time: moving.time, mass: moving.mass, motion: [x, v, a, j] }
    }
}

/// The place of a new source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// Index of the source that it replaces.
    pub at: u32,
    /// For the owner's use; engines ignore it.
    pub tag: i32,
}

/// New sources that replace others, as three arrays of equal length: their indices are read more
/// often than their motion, and few have all derivatives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals<'a> {
    /// Indices of the sources that they replace.
    pub places: &'a [Goal],
    /// Their motion up to the jerk.
    pub low: &'a [ToJerk],
    /// Snaps and crackles; empty if all are 0.
    pub high: &'a [[DVec3; 2]],
}

impl Arrivals<'_> {
    /// Number of sources.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Snap and crackle of the `k`-th.
    #[inline(always)]
    pub fn high(&self, k: usize) -> [DVec3; 2] {
        self.high.get(k).copied().unwrap_or_default()
    }

    /// The indices of the replaced sources, with the new ones.
    pub fn each(&self) -> impl Iterator<Item = (u32, Moving)> {
        let both = self.places.iter().zip(self.low).enumerate();
        both.map(|(k, (place, low))| (place.at, low.with(self.high(k))))
    }
}

/// Storage for [`Arrivals`].
#[derive(Clone, Debug, Default)]
pub struct ArrivalList {
    places: Vec<Goal>,
    low: Vec<ToJerk>,
    high: Vec<[DVec3; 2]>,
}

impl ArrivalList {
    /// Adds one.
    pub fn push(&mut self, place: Goal, moving: &Moving) {
        let [.., s, c] = moving.motion;
        let high = [s, c];
        if !self.high.is_empty() || high != [DVec3::ZERO; 2] {
            self.high.resize(self.low.len(), [DVec3::ZERO; 2]);
            self.high.push(high);
        }
        self.places.push(place);
        self.low.push(moving.into());
    }

    /// All of them.
    pub fn all(&self) -> Arrivals<'_> {
        Arrivals { places: &self.places, low: &self.low, high: &self.high }
    }

    /// Removes all, keeps the memory.
    pub fn clear(&mut self) {
        self.places.clear();
        self.low.clear();
        self.high.clear();
    }
}

/// An engine that stores the motion of its sources and predicts them all before computing forces,
/// as a GRAPE does ([`super::Interfaces::moving`]): between two evaluations only changed sources
/// are sent, whatever the time. Setting moving sources discards those of
/// [`super::ForceEngine::set_sources`], and vice versa.
pub trait MovingSources {
    /// Replaces all sources by `sources`.
    ///
    /// # Errors
    /// More sources than the engine can hold; numbers outside the range of its precision.
    fn set_moving(&mut self, sources: &[Moving]) -> Result<()>;

    /// Replaces source `index[k]` by `sources[k]`, for all k.
    ///
    /// # Errors
    /// As [`MovingSources::set_moving`]; an index that is not below the number of sources.
    fn update_moving(&mut self, index: &[u32], sources: &[Moving]) -> Result<()>;

    /// First half of [`MovingSources::update_moving`], before an evaluation begins: does only what
    /// a device needs at once. [`MovingSources::settle_moving`] does the rest while the device
    /// computes. If a source occurs several times, the last entry counts.
    ///
    /// # Errors
    /// As [`MovingSources::update_moving`].
    fn announce_moving(&mut self, sources: &Arrivals) -> Result<()> {
        let (index, sources): (Vec<u32>, Vec<Moving>) = sources.each().unzip();
        self.update_moving(&index, &sources)
    }

    /// Second half, with the same sources: must be called after the next
    /// [`super::ForceEngine::begin`], whether or not that succeeded, and before anything else.
    fn settle_moving(&mut self, sources: &Arrivals) {
        let _ = sources;
    }

    /// Sets the time to which sources are predicted from the next evaluation on; `None` uses them
    /// unpredicted.
    fn predict_to(&mut self, time: Option<f64>);
}
