//! The bodies on the host: a structure of arrays in f64, the only particle type outside the device.

use std::ops::Range;

use glam::DVec3;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::math::{AllReduce, Alone, all_sums_of, sum_of};

/// The part of a galaxy that a component belongs to; used by the renderer and the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// Bodies of no particular part: clusters, planets, or whatever a snapshot does not
    /// distinguish.
    Star,
    /// A stellar disk.
    Disk,
    /// A stellar bulge.
    Bulge,
    /// Dark matter: attracts, but is drawn only on request.
    Halo,
    /// Gas particles of a snapshot (they only gravitate here).
    Gas,
}

impl Role {
    /// All roles with their names in files.
    pub const ALL: [(Role, &'static str); 5] = [
        (Role::Star, "star"),
        (Role::Disk, "disk"),
        (Role::Bulge, "bulge"),
        (Role::Halo, "halo"),
        (Role::Gas, "gas"),
    ];

    /// The name used in scene files, snapshots and tables.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The role with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(role, _)| *role)
    }
}

/// A named group of bodies, for example `disk of galaxy 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Shown in tables and legends; unique within one set of bodies.
    pub name: String,
    /// The part of a galaxy it belongs to.
    pub role: Role,
}

impl Component {
    /// A component with this name and role.
    pub fn new(name: impl Into<String>, role: Role) -> Self {
        Self { name: name.into(), role }
    }
}

/// Entries that one core copies or scans: with fewer, waking another core does not pay.
const SHARE: usize = 1 << 14;

/// A copy made by all cores.
pub(crate) fn copied<T: Copy + Send + Sync>(all: &[T]) -> Vec<T> {
    all.par_iter().with_min_len(SHARE).copied().collect()
}

/// Removes all values but these, and their memory; leaves none as none.
pub(crate) fn keep<T: Copy + Send + Sync>(values: &mut Vec<T>, rows: &Range<usize>) {
    if !values.is_empty() && rows.len() < values.len() {
        *values = copied(&values[rows.clone()]);
    }
}

fn extend<T: Copy + Send + Sync>(all: &mut Vec<T>, more: &[T], of: impl Fn(T) -> T + Sync + Send) {
    // Exactly: doubling the capacity of the largest arrays would reserve more than is needed.
    all.reserve_exact(more.len());
    all.par_extend(more.par_iter().with_min_len(SHARE).map(|&one| of(one)));
}

/// Changes each item, by all cores if there are many.
pub(crate) fn for_all<T: Send>(items: &mut [T], change: impl Fn(&mut T) + Sync + Send) {
    items.par_iter_mut().with_min_len(SHARE).for_each(change);
}

/// The bodies that this process has, if each of several has some of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Their numbers; the processes, in their order, have one range after the other.
    pub own: Range<usize>,
    /// The number of bodies of all processes.
    pub n: usize,
}

impl Rows {
    /// All `n` bodies.
    pub fn all(n: usize) -> Self {
        Self { own: 0..n, n }
    }

    /// Indices, among the bodies of this process, of those whose numbers are multiples of a stride
    /// that leaves at most `most` of those of all processes.
    pub(crate) fn sampled(&self, most: usize) -> impl Iterator<Item = usize> {
        let stride = self.n.div_ceil(most).max(1);
        let first = self.own.start.next_multiple_of(stride) - self.own.start;
        (first..self.own.len()).step_by(stride)
    }
}

/// N bodies as a structure of arrays. All arrays have the same length n.
///
/// Units are the caller's with G = 1, unless a [`crate::units::Units`] says otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bodies {
    /// Identifier, the same after every conversion; usually unique.
    pub id: Vec<u64>,
    /// Mass, finite and >= 0 (0 is a test particle: it is attracted but does not attract).
    pub mass: Vec<f64>,
    /// Position, finite.
    pub position: Vec<DVec3>,
    /// Velocity, finite.
    pub velocity: Vec<DVec3>,
    /// Index into `components`.
    pub component: Vec<u8>,
    /// The groups the bodies belong to, at most 256.
    pub components: Vec<Component>,
}

impl Bodies {
    /// No bodies, with room for `n`, and one component named `bodies`.
    pub fn with_capacity(n: usize) -> Self {
        Self {
            id: Vec::with_capacity(n),
            mass: Vec::with_capacity(n),
            position: Vec::with_capacity(n),
            velocity: Vec::with_capacity(n),
            component: Vec::with_capacity(n),
            components: vec![Component::new("bodies", Role::Star)],
        }
    }

    /// `n` massless bodies at rest at the origin, ids from 0, to be filled in place. The system
    /// provides the memory of masses and vectors where it is first written, so it is best filled by
    /// all cores.
    pub(crate) fn zeroed(n: usize) -> Self {
        Self {
            id: Self::numbered(0..n),
            mass: vec![0.0; n],
            position: bytemuck::zeroed_vec(n),
            velocity: bytemuck::zeroed_vec(n),
            component: vec![0; n],
            components: vec![Component::new("bodies", Role::Star)],
        }
    }

    /// These numbers as ids.
    pub(crate) fn numbered(rows: Range<usize>) -> Vec<u64> {
        rows.into_par_iter().with_min_len(SHARE).map(|i| i as u64).collect()
    }

    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.mass.len()
    }

    /// Whether there are no bodies.
    pub fn is_empty(&self) -> bool {
        self.mass.is_empty()
    }

    /// Makes room for exactly `more` bodies.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.id.reserve_exact(more);
        self.mass.reserve_exact(more);
        self.position.reserve_exact(more);
        self.velocity.reserve_exact(more);
        self.component.reserve_exact(more);
    }

    /// Adds one body to component `component`; its id is its index.
    pub fn push(&mut self, mass: f64, position: DVec3, velocity: DVec3, component: u8) {
        self.id.push(self.len() as u64);
        self.mass.push(mass);
        self.position.push(position);
        self.velocity.push(velocity);
        self.component.push(component);
    }

    /// Removes body `i`; those after it move up by one. Panics if `i` is out of range, as a slice
    /// does.
    pub fn remove(&mut self, i: usize) {
        self.id.remove(i);
        self.mass.remove(i);
        self.position.remove(i);
        self.velocity.remove(i);
        self.component.remove(i);
    }

    /// Appends `other`: its components follow the present ones (one of equal name and role is
    /// shared), its ids stay.
    ///
    /// # Errors
    /// More than 256 components in all.
    pub fn append(&mut self, other: &Bodies) -> Result<()> {
        let mut renumbered = Vec::with_capacity(other.components.len());
        for component in &other.components {
            let index = match self.components.iter().position(|known| known == component) {
                Some(index) => index,
                None => {
                    self.components.push(component.clone());
                    self.components.len() - 1
                }
            };
            renumbered.push(
                u8::try_from(index).map_err(|_| {
                    Error::value("the number of components", index + 1, "at most 256")
                })?,
            );
        }
        extend(&mut self.id, &other.id, |id| id);
        extend(&mut self.mass, &other.mass, |mass| mass);
        extend(&mut self.position, &other.position, |position| position);
        extend(&mut self.velocity, &other.velocity, |velocity| velocity);
        extend(&mut self.component, &other.component, |c| renumbered[c as usize]);
        Ok(())
    }

    /// Removes all bodies but these, of 0 to the number of bodies. Arrays without entries stay so.
    pub fn keep(&mut self, rows: &Range<usize>) {
        keep(&mut self.id, rows);
        keep(&mut self.mass, rows);
        keep(&mut self.position, rows);
        keep(&mut self.velocity, rows);
        keep(&mut self.component, rows);
    }

    /// Gravitating masses G m, for G = `gravitational_constant`: the masses that engines are given.
    pub fn gravitating_mass(&self, gravitational_constant: f64) -> Vec<f64> {
        let of = |mass: &f64| mass * gravitational_constant;
        self.mass.par_iter().with_min_len(SHARE).map(of).collect()
    }

    /// Sum of all masses.
    pub fn total_mass(&self) -> f64 {
        sum_of(self.len(), |i| self.mass[i])
    }

    /// Position and velocity of the centre of mass; the unweighted mean if all masses are 0.
    pub fn centre_of_mass(&self) -> (DVec3, DVec3) {
        let (_, position, velocity) = Alone::always(self.centre_of_all_mass(&Alone));
        (position, velocity)
    }

    /// Total mass, and position and velocity of the centre of mass, of the bodies of all processes.
    ///
    /// # Errors
    /// As of [`AllReduce`].
    pub(crate) fn centre_of_all_mass(&self, all: &dyn AllReduce) -> Result<(f64, DVec3, DVec3)> {
        let [total, n] = all_sums_of(all, self.len(), |i| [self.mass[i], 1.0])?;
        let (weight, norm) = if total > 0.0 { (None, total) } else { (Some(1.0), n.max(1.0)) };
        let [x, y, z, vx, vy, vz] = all_sums_of(all, self.len(), |i| {
            let weight = weight.unwrap_or(self.mass[i]);
            let ([x, y, z], v) =
                ((self.position[i] * weight).to_array(), self.velocity[i] * weight);
            [x, y, z, v.x, v.y, v.z]
        })?;
        let (position, velocity) = (DVec3::new(x, y, z), DVec3::new(vx, vy, vz));
        Ok((total, position / norm, velocity / norm))
    }

    /// Adds `position` to all positions and `velocity` to all velocities.
    pub fn shift(&mut self, position: DVec3, velocity: DVec3) {
        for_all(&mut self.position, |p| *p += position);
        for_all(&mut self.velocity, |v| *v += velocity);
    }

    /// Moves to the frame where the centre of mass is at rest at the origin.
    pub fn recentre(&mut self) {
        let (position, velocity) = self.centre_of_mass();
        self.shift(-position, -velocity);
    }

    /// Indices of the bodies in component `component`, ascending.
    pub fn of_component(&self, component: u8) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(move |&i| self.component[i] == component)
    }

    /// A tag of body `i` for drawing, below 2^24 and therefore exact in f32: its component in the
    /// low 8 bits, and above them 16 bits hashed from its id, so that bodies of one component can
    /// look different.
    pub fn tag(&self, i: usize) -> u32 {
        // SplitMix64's mixing: neighbouring ids get unrelated bits.
        let mut bits = self.id[i].wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits >> 48) as u32) << 8 | u32::from(self.component[i])
    }

    /// Checks that all positions and velocities are finite.
    ///
    /// # Errors
    /// [`Error::Body`] names the first body that fails and counts the others.
    pub fn check_range(&self) -> Result<()> {
        let lost = |i: &usize| !(self.position[*i].is_finite() && self.velocity[*i].is_finite());
        let all = (0..self.len()).into_par_iter().with_min_len(SHARE);
        let Some(index) = all.find_first(lost) else { return Ok(()) };
        let others = (index + 1..self.len()).filter(lost).count();
        let who = match others {
            0 => "it has".to_owned(),
            1 => "it and another one have".to_owned(),
            others => format!("it and {others} others have"),
        };
        let problem = format!(
            "{who} left the range of numbers; a smaller dt or a larger softening is needed"
        );
        Err(Error::Body { index, id: self.id[index], problem })
    }

    /// Checks what every engine relies on: n >= 1, arrays of equal length, finite positions and
    /// velocities, finite masses >= 0, component indices in range.
    ///
    /// # Errors
    /// The first of these that does not hold.
    pub fn validate(&self) -> Result<()> {
        let n = self.len();
        if n == 0 {
            return Err(Error::value("the number of bodies", 0, "at least 1"));
        }
        for (name, length) in [
            ("ids", self.id.len()),
            ("positions", self.position.len()),
            ("velocities", self.velocity.len()),
            ("component numbers", self.component.len()),
        ] {
            if length != n {
                return Err(Error::value(
                    format!("the number of {name}"),
                    length,
                    format!("{n}, one per mass"),
                ));
            }
        }
        let all = (0..n).into_par_iter().with_min_len(SHARE);
        let found = all.filter_map(|i| Some((i, self.problem_of(i)?))).find_first(|_| true);
        match found {
            Some((index, problem)) => Err(Error::Body { index, id: self.id[index], problem }),
            None => Ok(()),
        }
    }

    /// What is wrong with body `i`.
    fn problem_of(&self, i: usize) -> Option<String> {
        let (position, velocity, mass) = (self.position[i], self.velocity[i], self.mass[i]);
        let (component, components) = (self.component[i], self.components.len());
        if !position.is_finite() {
            Some(format!("its position is {position}, but coordinates must be finite"))
        } else if !velocity.is_finite() {
            Some(format!("its velocity is {velocity}, but components must be finite"))
        } else if !(mass.is_finite() && mass >= 0.0) {
            Some(format!("its mass is {mass}, but must be finite and at least 0"))
        } else if component as usize >= components {
            Some(format!("its component is {component}, but there are {components}"))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Bodies {
        let mut bodies = Bodies::with_capacity(2);
        bodies.push(3.0, DVec3::X, DVec3::Y, 0);
        bodies.push(1.0, -DVec3::X, DVec3::Y, 0);
        bodies
    }

    #[test]
    fn recentring_leaves_no_drift() {
        let mut bodies = pair();
        bodies.recentre();
        let (position, velocity) = bodies.centre_of_mass();
        assert!(position.length() < 1e-15 && velocity.length() < 1e-15);
        assert_eq!(bodies.position[0], DVec3::X * 0.5);
    }

    #[test]
    fn each_defect_is_named() {
        let check = |change: fn(&mut Bodies), words: &str| {
            let mut bodies = pair();
            change(&mut bodies);
            let text = bodies.validate().expect_err("a defect should be found").to_string();
            assert!(text.contains(words), "'{text}' should say '{words}'");
        };
        check(|b| *b = Bodies::default(), "at least 1");
        check(|b| b.position[1].y = f64::NAN, "body 1 (id 1): its position");
        check(|b| b.velocity[0].z = f64::INFINITY, "its velocity");
        check(|b| b.mass[1] = -1.0, "its mass is -1");
        check(|b| b.component[1] = 7, "its component is 7");
        check(|b| b.id.truncate(1), "the number of ids is 1");
        assert!(pair().validate().is_ok());
    }

    #[test]
    fn appending_shares_equal_components_and_keeps_ids() {
        let mut all = pair();
        let mut halo = pair();
        halo.components = vec![Component::new("halo", Role::Halo)];
        all.append(&halo).unwrap();
        all.append(&pair()).unwrap();
        assert_eq!(all.component, [0, 0, 1, 1, 0, 0]);
        assert_eq!(all.components.len(), 2);
        assert_eq!(all.id, [0, 1, 0, 1, 0, 1]);
    }
}
