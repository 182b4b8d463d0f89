//! Diagnostics of a run from the bodies and their potentials: energies, momenta, virial ratio,
//! Lagrangian radii.
//!
//! All in f64 with exact sums, so that equal states give equal bits, whatever the number of cores
//! and of processes that each have some of the bodies.

mod shrinking_spheres;

use glam::DVec3;
use rayon::prelude::*;

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::math::{AllReduce, Alone, all_largest_of, all_sums_of, length, weighted_quantiles};

pub use shrinking_spheres::{SHRINK, SPHERES, density_centre, least_in_sphere};

/// The mass fractions whose radii are reported by default: 10, 50 and 90 %.
pub const FRACTIONS: [f64; 3] = [0.1, 0.5, 0.9];

/// The largest relative energy error with which the bodies are still a result.
pub const LARGE_ENERGY_ERROR: f64 = 0.05;

/// Global quantities of a system of bodies, in the units of the bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    /// K = sum m v^2 / 2 with v relative to the centre of mass, so that a common drift neither
    /// counts as heat nor hides an energy error.
    pub kinetic: f64,
    /// W = sum m phi / 2 with phi from an engine: softened, without the self term.
    pub potential: f64,
    /// Sum m v.
    pub momentum: DVec3,
    /// Sum m x * v (vector product), about the origin.
    pub angular_momentum: DVec3,
    /// Centre of mass.
    pub centre: DVec3,
    /// Velocity of the centre of mass.
    pub drift: DVec3,
    /// Radius around the centre of mass that holds half of the mass.
    pub half_mass_radius: f64,
    /// What an external field adds to the energy, if there is one.
    pub field: Option<FieldEnergy>,
    /// One entry per component that has bodies, in the order of `Bodies::components`.
    pub components: Vec<ComponentRadii>,
}

/// The energy of the bodies as a whole in an external field, which is not part of theirs on each
/// other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldEnergy {
    /// Sum m phi, with phi of the field.
    pub potential: f64,
    /// M V^2 / 2 of all mass at the velocity of its centre, which the field changes.
    pub bulk: f64,
}

/// The extent of one component.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentRadii {
    /// Index into `Bodies::components`.
    pub component: u8,
    /// The component's own [`density_centre`].
    pub centre: DVec3,
    /// Lagrangian radii around that centre, one for each of [`FRACTIONS`].
    pub radii: [f64; FRACTIONS.len()],
}

impl Diagnostics {
    /// E = K + W, with an external field also what that adds.
    pub fn energy(&self) -> f64 {
        let internal = self.kinetic + self.potential;
        self.field.map_or(internal, |field| internal + field.potential + field.bulk)
    }

    /// These diagnostics of all processes' `bodies` in an external field with this potential.
    ///
    /// # Errors
    /// As of [`AllReduce`].
    pub(crate) fn in_field(
        self,
        all: &dyn AllReduce,
        bodies: &Bodies,
        potential: impl Fn(DVec3) -> f64 + Sync,
    ) -> Result<Self> {
        let of = |i: usize| [bodies.mass[i] * potential(bodies.position[i]), bodies.mass[i]];
        let [potential, mass] = all_sums_of(all, bodies.len(), of)?;
        let bulk = 0.5 * mass * self.drift.length_squared();
        Ok(Self { field: Some(FieldEnergy { potential, bulk }), ..self })
    }

    /// 2K/|W|: 1 in equilibrium (exactly only without softening). NaN if W = 0.
    pub fn virial_ratio(&self) -> f64 {
        if self.potential == 0.0 { f64::NAN } else { 2.0 * self.kinetic / self.potential.abs() }
    }

    /// Whether the energy has changed by more than [`LARGE_ENERGY_ERROR`] of its `initial` value
    /// and of |W|, which is larger where K and W nearly cancel. False if `initial` is NaN or
    /// infinite.
    pub fn energy_is_off(&self, initial: f64) -> bool {
        let field = self.field.map_or(0.0, |field| field.potential.abs());
        let scale = initial.abs().max(self.potential.abs()).max(field);
        initial.is_finite() && !((self.energy() - initial).abs() <= LARGE_ENERGY_ERROR * scale)
    }

    /// (E - E0) / |E0|, the relative energy change since `start`; the plain difference if E0 = 0.
    pub fn energy_error(&self, start: &Diagnostics) -> f64 {
        relative_change(self.energy(), start.energy())
    }
}

/// A quantile of the distances to the neighbour of rank `neighbour` (1 is the nearest): `fraction`
/// (0 to 1) of 128 points taken evenly from the list have a smaller one. A measure of local
/// spacing. 0 for fewer than two points.
pub fn neighbour_distance(points: &[DVec3], neighbour: usize, fraction: f64) -> f64 {
    const SAMPLES: usize = 128;
    let n = points.len();
    if n < 2 {
        return 0.0;
    }
    let distance = |i: usize| {
        let mut to_all: Vec<f64> = points.iter().map(|x| x.distance_squared(points[i])).collect();
        // Rank 0 is the point itself.
        to_all.select_nth_unstable_by(neighbour.min(n - 1), f64::total_cmp).1.sqrt()
    };
    let samples = (0..n).into_par_iter().step_by(n.div_ceil(SAMPLES));
    let mut distances: Vec<f64> = samples.map(distance).collect();
    distances.sort_unstable_by(f64::total_cmp);
    distances[((distances.len() - 1) as f64 * fraction.clamp(0.0, 1.0)).round() as usize]
}

/// (value - reference) / |reference|; the plain difference if the reference is 0.
pub fn relative_change(value: f64, reference: f64) -> f64 {
    let difference = value - reference;
    if reference == 0.0 { difference } else { difference / reference.abs() }
}

/// Computes all of [`Diagnostics`]. `potential` holds one phi per body as engines return it, G
/// included.
///
/// # Errors
/// `potential` has another length than the bodies.
pub fn diagnose(bodies: &Bodies, potential: &[f64]) -> Result<Diagnostics> {
    diagnose_all(&Alone, bodies, potential)
}

/// [`diagnose`] for the bodies of all processes, of which this one has `bodies`.
///
/// # Errors
/// `potential` has another length than this process's bodies; as of [`AllReduce`].
pub(crate) fn diagnose_all(
    all: &dyn AllReduce,
    bodies: &Bodies,
    potential: &[f64],
) -> Result<Diagnostics> {
    let n = bodies.len();
    if potential.len() != n {
        let what = "the number of potentials";
        return Err(Error::value(what, potential.len(), format!("{n}, one per body")));
    }
    let (_, centre, drift) = bodies.centre_of_all_mass(all)?;
    let [px, py, pz, lx, ly, lz, twice_kinetic, twice_potential] = all_sums_of(all, n, |i| {
        let (mass, v) = (bodies.mass[i], bodies.velocity[i]);
        let (p, l) = (v * mass, bodies.position[i].cross(v) * mass);
        let kinetic = mass * (v - drift).length_squared();
        [p.x, p.y, p.z, l.x, l.y, l.z, kinetic, mass * potential[i]]
    })?;
    let whole = Members::of(all, bodies, None)?;
    let half_mass_radius = whole.radii(|x| length(x - centre), &[0.5])?[0];
    let mut components = Vec::new();
    for component in 0..bodies.components.len() as u8 {
        let list: Vec<usize> = bodies.of_component(component).collect();
        let members = Members::of(all, bodies, Some(&list))?;
        if members.count > 0 {
            let centre = members.density_centre()?;
            let radii = members.radii(|x| length(x - centre), &FRACTIONS)?;
            let radii = std::array::from_fn(|k| radii[k]);
            components.push(ComponentRadii { component, centre, radii });
        }
    }
    Ok(Diagnostics {
        kinetic: 0.5 * twice_kinetic,
        potential: 0.5 * twice_potential,
        momentum: DVec3::new(px, py, pz),
        angular_momentum: DVec3::new(lx, ly, lz),
        centre,
        drift,
        half_mass_radius,
        field: None,
        components,
    })
}

/// Some of the bodies, or all: those of this process, among those of all processes.
struct Members<'a> {
    all: &'a dyn AllReduce,
    bodies: &'a Bodies,
    /// Indices of this process's; `None` for all.
    list: Option<&'a [usize]>,
    /// Number of members of all processes.
    count: usize,
    /// Whether no member has mass: they are then weighted equally.
    massless: bool,
}

impl<'a> Members<'a> {
    fn of(all: &'a dyn AllReduce, bodies: &'a Bodies, list: Option<&'a [usize]>) -> Result<Self> {
        let mut members = Self { all, bodies, list, count: 0, massless: true };
        let own = members.len();
        let mut count = [own as i128];
        all.integers(&mut count)?;
        members.count = count[0] as usize;
        let mass = |k: usize| bodies.mass[members.index(k)];
        members.massless = all_largest_of(all, own, mass)? == 0.0;
        Ok(members)
    }

    /// Number of members of this process.
    fn len(&self) -> usize {
        self.list.map_or(self.bodies.len(), <[usize]>::len)
    }

    fn index(&self, k: usize) -> usize {
        self.list.map_or(k, |list| list[k])
    }

    /// Place and weight of this process's `k`-th.
    fn get(&self, k: usize) -> (DVec3, f64) {
        let i = self.index(k);
        (self.bodies.position[i], if self.massless { 1.0 } else { self.bodies.mass[i] })
    }

    /// The distances within which these parts of the weight are; 0 if there are no members.
    fn radii(&self, distance: impl Fn(DVec3) -> f64 + Sync, parts: &[f64]) -> Result<Vec<f64>> {
        let of = |k: usize| {
            let (place, weight) = self.get(k);
            (distance(place), weight)
        };
        weighted_quantiles(self.all, self.len(), of, parts)
    }
}

/// Lagrangian radii: for each of `fractions` (0 to 1) the distance from `centre` of the body at
/// which that part of the mass of `members` is reached. If all masses are 0, bodies are counted
/// instead. 0 if there are no members.
pub fn lagrangian_radii(
    bodies: &Bodies,
    members: &[usize],
    centre: DVec3,
    fractions: &[f64],
) -> Vec<f64> {
    radii_of_parts(bodies, members, |x| length(x - centre), fractions)
}

/// [`lagrangian_radii`] by any measure of distance.
pub(crate) fn radii_of_parts(
    bodies: &Bodies,
    members: &[usize],
    distance: impl Fn(DVec3) -> f64 + Sync,
    fractions: &[f64],
) -> Vec<f64> {
    let radii = |members: Members<'_>| members.radii(distance, fractions);
    Alone::always(Members::of(&Alone, bodies, Some(members)).and_then(radii))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masses 1 and 3 at distance 2, turning about the z axis.
    fn pair() -> (Bodies, [f64; 2]) {
        let mut bodies = Bodies::with_capacity(2);
        bodies.push(1.0, DVec3::X * 1.5, DVec3::Y * 3.0, 0);
        bodies.push(3.0, DVec3::X * -0.5, DVec3::Y * -1.0, 0);
        // G = 2.
        (bodies, [-3.0, -1.0])
    }

    #[test]
    fn a_pair_by_hand() {
        let (bodies, potential) = pair();
        let made = diagnose(&bodies, &potential).unwrap();
        assert_eq!((made.kinetic, made.potential, made.energy()), (6.0, -3.0, 3.0));
        assert_eq!(made.virial_ratio(), 4.0);
        assert_eq!(made.momentum, DVec3::ZERO);
        assert_eq!(made.angular_momentum, DVec3::Z * 6.0);
        assert_eq!((made.centre, made.drift), (DVec3::ZERO, DVec3::ZERO));
        assert_eq!(made.half_mass_radius, 0.5);
        assert_eq!(made.components[0].radii, [0.5, 0.5, 1.5]);
        let mut faster = bodies.clone();
        faster.velocity[0] *= 2.0;
        let later = diagnose(&faster, &potential).unwrap();
        // A drift of the whole pair is not energy of the pair.
        assert_eq!(later.energy_error(&made), 12.375 / 3.0);
        // E = 3 and W = -3, a twentieth of which is 0.15.
        assert_eq!([2.9, 2.8, f64::NAN].map(|e| made.energy_is_off(e)), [false, true, false]);
        assert!(later.energy_is_off(3.0));
    }

    #[test]
    fn potentials_must_fit() {
        let text = diagnose(&pair().0, &[0.0]).unwrap_err().to_string();
        assert!(text.contains("potentials is 1, but must be 2"), "{text}");
    }

    #[test]
    fn radii_of_a_line_of_bodies() {
        let mut bodies = Bodies::with_capacity(10);
        for k in 1..=10 {
            bodies.push(0.1, DVec3::Z * f64::from(k), DVec3::ZERO, 0);
        }
        let members: Vec<usize> = (0..10).collect();
        let radii = |bodies: &Bodies| {
            lagrangian_radii(bodies, &members, DVec3::ZERO, &[0.1, 0.5, 0.51, 0.9, 1.0])
        };
        assert_eq!(radii(&bodies), [1.0, 5.0, 6.0, 9.0, 10.0]);
        bodies.mass.fill(0.0);
        assert_eq!(radii(&bodies), [1.0, 5.0, 6.0, 9.0, 10.0]);
        assert_eq!(lagrangian_radii(&bodies, &[], DVec3::ZERO, &[0.5]), [0.0]);
    }

    #[test]
    fn one_body_has_no_extent() {
        let mut bodies = Bodies::with_capacity(1);
        bodies.push(0.0, DVec3::X, DVec3::ZERO, 0);
        let made = diagnose(&bodies, &[0.0]).unwrap();
        assert!(made.virial_ratio().is_nan());
        assert_eq!((made.half_mass_radius, made.components[0].radii), (0.0, [0.0; 3]));
    }
}
