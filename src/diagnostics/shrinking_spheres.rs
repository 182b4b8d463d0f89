//! The place where bodies are densest, by shrinking spheres.

use glam::DVec3;
use rayon::prelude::*;

use super::Members;
use crate::bodies::Bodies;
use crate::error::Result;
use crate::math::{Alone, ExactSum, all_largest_of, all_sums_of, length};

/// Factor by which [`density_centre`] shrinks its sphere per round.
pub const SHRINK: f64 = 0.9;
/// Largest number of spheres that [`density_centre`] tries.
pub const SPHERES: u32 = 64;

/// [`density_centre`] shrinks its sphere as long as it holds at least this many of `members`
/// bodies.
pub fn least_in_sphere(members: usize) -> usize {
    (members / 5).max(100).min(members)
}

/// The point where `members` are densest, by shrinking spheres (Power et al. 2003, section 2.5):
/// the sphere moves to the centre of mass of its bodies and shrinks by a tenth or more, at most 64
/// times, until it holds a fifth of them, or 100. Unlike a centre of mass it is not pulled away
/// from the galaxy by tidal tails and runaways. For 100 members or fewer it is their centre of
/// mass.
pub fn density_centre(bodies: &Bodies, members: &[usize]) -> DVec3 {
    let centre = |members: Members<'_>| members.density_centre();
    Alone::always(Members::of(&Alone, bodies, Some(members)).and_then(centre))
}

impl Members<'_> {
    /// [`density_centre`] of the members of all processes.
    pub(super) fn density_centre(&self) -> Result<DVec3> {
        let least = least_in_sphere(self.count);
        // The first sphere holds everything around any point, and so does the second, around the
        // mean.
        let found = all_sums_of(self.all, self.len(), |k| term(self.get(k), DVec3::ZERO))?;
        if found[0] == 0.0 || found[1] <= 0.0 {
            return Ok(DVec3::ZERO);
        }
        let (mut centre, mut radius) = (mean(&found), f64::INFINITY);
        let mut shells = SphereShells::around(self, centre)?;
        for _ in 1..SPHERES {
            if (centre - shells.centre).length() > FAR * radius {
                shells = SphereShells::around(self, centre)?;
            }
            let (found, reach) = shells.sphere(self, centre, radius)?;
            let inside = found[0] as usize;
            if inside < least || found[1] <= 0.0 {
                break;
            }
            let shift = mean(&found);
            centre += shift;
            // By the triangle inequality no body of the last sphere is farther than this from the
            // new centre.
            radius = SHRINK * (reach + shift.length()).min(radius);
            if inside <= least || radius == 0.0 {
                break;
            }
        }
        Ok(centre)
    }
}

/// Number, weight, and weighted offset from a centre: of one body, or of several added up.
type SphereSums = [f64; 5];

fn term((place, weight): (DVec3, f64), centre: DVec3) -> SphereSums {
    let offset = (place - centre) * weight;
    [1.0, weight, offset.x, offset.y, offset.z]
}

fn mean(sums: &SphereSums) -> DVec3 {
    DVec3::new(sums[2], sums[3], sums[4]) / sums[1]
}

fn add(sums: &mut SphereSums, more: SphereSums) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// New shells are made around a centre that is farther from theirs than this part of the radius.
const FAR: f64 = 0.125;
/// Members of a part, whose shells are one after another in a list of its own.
const PART: usize = 1 << 14;
/// Number of shells. Their radii grow by an eighth to a quarter; the innermost has all that is
/// nearer than 2^-24 of the farthest.
const COUNT: usize = 96;
/// Bits of a distance below those that tell its shell: the exponent and two of the mantissa.
const SHIFT: u32 = 50;
/// A margin for the rounding of two distances.
const MARGIN: f64 = 1.0 + 1e-12;

/// The members by distance from a centre. A sphere about as large needs only look at those in the
/// shells near its surface; of nearer shells it takes the sums. A hundred million bodies with a
/// wide halo have dozens of spheres that hold nearly all.
struct SphereShells {
    centre: DVec3,
    /// Lists of this process's members by shell, and where each shell begins in it, and the last
    /// ends.
    parts: Vec<(Vec<usize>, Vec<usize>)>,
    /// From the innermost, of all processes: sums about the centre, least and largest distance. An
    /// empty shell's least distance is larger than its largest.
    shells: Vec<(SphereSums, [f64; 2])>,
}

impl SphereShells {
    /// Members whose distance is no number are in no shell.
    fn around(members: &Members<'_>, centre: DVec3) -> Result<Self> {
        let distance = |k: usize| length(members.get(k).0 - centre);
        let farthest = all_largest_of(members.all, members.len(), distance)?;
        let shell = |distance: f64| {
            let below = (farthest.to_bits() >> SHIFT).saturating_sub(distance.to_bits() >> SHIFT);
            (COUNT - 1).saturating_sub(below as usize)
        };
        let part = |first: usize| {
            let mut starts = vec![0; COUNT + 1];
            let known: Vec<(usize, usize)> = (first..(first + PART).min(members.len()))
                .map(|k| (k, distance(k)))
                .filter(|(_, distance)| !distance.is_nan())
                .map(|(k, distance)| (k, shell(distance)))
                .collect();
            known.iter().for_each(|(_, shell)| starts[shell + 1] += 1);
            (0..COUNT).for_each(|k| starts[k + 1] += starts[k]);
            let (mut next, mut list) = (starts.clone(), vec![0; known.len()]);
            for (k, shell) in known {
                list[next[shell]] = k;
                next[shell] += 1;
            }
            (list, starts)
        };
        let parts = (0..members.len()).into_par_iter().step_by(PART).map(part).collect();
        let mut made = Self { centre, parts, shells: Vec::new() };
        let (mut sums, mut ranges) = (Vec::new(), Vec::new());
        for k in 0..COUNT {
            let (found, range) = made.within(members, k, centre, f64::INFINITY);
            sums.extend(found);
            ranges.extend(range);
        }
        members.all.sums(&mut sums)?;
        members.all.maxima(&mut ranges)?;
        let of = |(sums, range): (&[ExactSum], &[f64])| {
            (std::array::from_fn(|k| sums[k].value()), [-range[0], range[1]])
        };
        made.shells = sums.chunks(5).zip(ranges.chunks(2)).map(of).collect();
        Ok(made)
    }

    /// Of this process's members in shell `k` that are within `radius` of `centre`: the sums about
    /// it, the least distance times -1, and the largest, negative if there are none.
    fn within(
        &self,
        members: &Members<'_>,
        k: usize,
        centre: DVec3,
        radius: f64,
    ) -> ([ExactSum; 5], [f64; 2]) {
        type Found = ([ExactSum; 5], [f64; 2]);
        let none = || -> Found { (Default::default(), [f64::NEG_INFINITY, -1.0]) };
        let inside = |mut found: Found, (list, starts): &(Vec<usize>, Vec<usize>)| {
            let (sums, [nearest, farthest]) = (&mut found.0, &mut found.1);
            for &member in &list[starts[k]..starts[k + 1]] {
                let body = members.get(member);
                let distance = length(body.0 - centre);
                if distance <= radius {
                    sums.iter_mut().zip(term(body, centre)).for_each(|(sum, term)| sum.add(term));
                    (*nearest, *farthest) = (nearest.max(-distance), farthest.max(distance));
                }
            }
            found
        };
        let both = |(mut sums, range): Found, (more, other): Found| {
            sums.iter_mut().zip(more).for_each(|(sum, more)| sum.add_sum(more));
            (sums, [range[0].max(other[0]), range[1].max(other[1])])
        };
        self.parts.par_iter().fold(none, inside).reduce(none, both)
    }

    /// The sums about `centre` of the members within `radius` of it, and the largest distance among
    /// them, negative if there are none.
    fn sphere(
        &self,
        members: &Members<'_>,
        centre: DVec3,
        radius: f64,
    ) -> Result<(SphereSums, f64)> {
        let apart = (centre - self.centre).length();
        let (mut sums, mut reach) = ([0.0; 5], -1.0f64);
        for (k, (held, [least, most])) in self.shells.iter().enumerate().rev() {
            let farthest = (most + apart) * MARGIN;
            if least > most || (least - apart) > radius * MARGIN {
                continue;
            }
            if farthest <= radius && farthest < reach {
                let moved = (self.centre - centre) * held[1];
                add(&mut sums, *held);
                add(&mut sums, [0.0, 0.0, moved.x, moved.y, moved.z]);
                continue;
            }
            let (mut found, mut range) = self.within(members, k, centre, radius);
            members.all.sums(&mut found)?;
            members.all.maxima(&mut range)?;
            add(&mut sums, found.map(|sum| sum.value()));
            reach = reach.max(range[1]);
        }
        Ok((sums, reach))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{sum_of, sum_vec_of};

    #[test]
    fn a_tail_does_not_move_the_density_centre() {
        let mut bodies = Bodies::with_capacity(1200);
        for k in 0..1000 {
            // A spiral of points about (1, 2, 3).
            let (r, angle) = (f64::from(k) * 1e-3, f64::from(k) * 2.4);
            let offset = DVec3::new(r * angle.cos(), r * angle.sin(), 0.0);
            bodies.push(1.0, DVec3::new(1.0, 2.0, 3.0) + offset, DVec3::ZERO, 0);
        }
        for k in 0..200 {
            bodies.push(1.0, DVec3::new(5.0 + f64::from(k), 0.0, 0.0), DVec3::ZERO, 0);
        }
        let members: Vec<usize> = (0..1200).collect();
        let off = density_centre(&bodies, &members) - DVec3::new(1.0, 2.0, 3.0);
        assert!(off.length() < 0.02, "it is off by {off}");
        let (mass_centre, _) = bodies.centre_of_mass();
        assert!((mass_centre - DVec3::new(1.0, 2.0, 3.0)).length() > 5.0);
    }

    /// [`density_centre`] by its definition: each sphere is searched for among all members.
    fn by_definition(bodies: &Bodies, members: &[usize]) -> DVec3 {
        let least = least_in_sphere(members.len());
        let (mut centre, mut radius) = (DVec3::ZERO, f64::INFINITY);
        for round in 0..SPHERES {
            let offset = |i: usize| bodies.position[i] - centre;
            let inside: Vec<usize> =
                members.iter().copied().filter(|&i| offset(i).length() <= radius).collect();
            let weights = sum_of(inside.len(), |k| bodies.mass[inside[k]]);
            if inside.len() < least || weights <= 0.0 {
                break;
            }
            let weighted = |k: usize| offset(inside[k]) * bodies.mass[inside[k]];
            let shift = sum_vec_of(inside.len(), weighted) / weights;
            let reach = inside.iter().map(|&i| offset(i).length()).fold(0.0, f64::max);
            centre += shift;
            if round > 0 {
                radius = SHRINK * (reach + shift.length()).min(radius);
                if inside.len() <= least || radius == 0.0 {
                    break;
                }
            }
        }
        centre
    }

    #[test]
    fn spheres_that_look_around_themselves_find_what_all_members_hold() {
        // Two clumps that pull the sphere to and fro in a wide cloud, and all bodies in one place.
        for (clump, apart) in [(0.0, 0.0), (0.2, 3.0), (0.45, 0.4), (1.0, 0.0)] {
            let mut bodies = Bodies::with_capacity(40_000);
            for k in 0..40_000 {
                let x = f64::from(k);
                let place = DVec3::new((x * 0.7).sin(), (x * 1.3).cos(), (x * 0.37).sin());
                let side = if k % 2 == 0 { apart } else { -apart };
                let is_in_clump = f64::from(k % 100) < clump * 100.0;
                let scale = if clump == 1.0 {
                    0.0
                } else if is_in_clump {
                    0.1
                } else {
                    4.0
                };
                let weight = 1.0 + (x * 0.11).sin();
                bodies.push(weight, place * scale + DVec3::X * side, DVec3::ZERO, 0);
            }
            for members in [(0..40_000).collect::<Vec<_>>(), (0..40_000).step_by(7).collect()] {
                let (found, right) =
                    (density_centre(&bodies, &members), by_definition(&bodies, &members));
                assert!((found - right).length() < 1e-14, "{found} {right}");
            }
        }
    }
}
