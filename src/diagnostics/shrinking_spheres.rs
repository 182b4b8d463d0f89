//! The place where bodies are densest, by shrinking spheres.

use glam::DVec3;
use rayon::prelude::*;

use crate::bodies::Bodies;
use crate::math::{length, sums_of};

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
    let massless = members.iter().all(|&i| bodies.mass[i] == 0.0);
    let weight = |i: usize| if massless { 1.0 } else { bodies.mass[i] };
    let body = |i: usize| (bodies.position[i], weight(i));
    let least = least_in_sphere(members.len());
    // The first sphere holds everything around any point, and so does the second, around the mean.
    let all = sums_of(members.len(), |k| term(body(members[k]), DVec3::ZERO));
    if all[0] == 0.0 || all[1] <= 0.0 {
        return DVec3::ZERO;
    }
    let (mut centre, mut radius) = (mean(&all), f64::INFINITY);
    let mut shells = Shells::around(members, body, centre);
    for _ in 1..SPHERES {
        if (centre - shells.centre).length() > FAR * radius {
            shells = Shells::around(members, body, centre);
        }
        let (found, reach) = shells.sphere(body, centre, radius);
        let inside = found[0] as usize;
        if inside < least || found[1] <= 0.0 {
            break;
        }
        let shift = mean(&found);
        centre += shift;
        // By the triangle inequality no body of the last sphere is farther than this from the new
        // centre.
        radius = SHRINK * (reach + shift.length()).min(radius);
        if inside <= least || radius == 0.0 {
            break;
        }
    }
    centre
}

/// Number, weight, and weighted offset from a centre: of one body, or of several added up.
type Sums = [f64; 5];

fn term((place, weight): (DVec3, f64), centre: DVec3) -> Sums {
    let offset = (place - centre) * weight;
    [1.0, weight, offset.x, offset.y, offset.z]
}

fn mean(sums: &Sums) -> DVec3 {
    DVec3::new(sums[2], sums[3], sums[4]) / sums[1]
}

fn add(sums: &mut Sums, more: Sums) {
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
struct Shells {
    centre: DVec3,
    /// Lists of members by shell, and where each shell begins in it, and the last ends.
    parts: Vec<(Vec<usize>, Vec<usize>)>,
    /// From the innermost: sums about the centre, least and largest distance. An empty shell's
    /// least distance is larger than its largest.
    shells: Vec<(Sums, [f64; 2])>,
}

impl Shells {
    /// `body` gives a member's position and weight. Members whose distance is no number are in no
    /// shell.
    fn around(
        members: &[usize],
        body: impl Fn(usize) -> (DVec3, f64) + Sync,
        centre: DVec3,
    ) -> Self {
        let distance = |i: usize| length(body(i).0 - centre);
        let farthest = members.par_iter().map(|&i| distance(i)).reduce(|| 0.0, f64::max);
        let shell = |distance: f64| {
            let below = (farthest.to_bits() >> SHIFT).saturating_sub(distance.to_bits() >> SHIFT);
            (COUNT - 1).saturating_sub(below as usize)
        };
        let part = |members: &[usize]| {
            let mut starts = vec![0; COUNT + 1];
            let known: Vec<(usize, usize, f64)> = members
                .iter()
                .map(|&i| (i, distance(i)))
                .filter(|(_, distance)| !distance.is_nan())
                .map(|(i, distance)| (i, shell(distance), distance))
                .collect();
            known.iter().for_each(|(_, shell, _)| starts[shell + 1] += 1);
            (0..COUNT).for_each(|k| starts[k + 1] += starts[k]);
            let (mut next, mut list) = (starts.clone(), vec![0; known.len()]);
            let mut shells = vec![([0.0; 5], [f64::INFINITY, -1.0]); COUNT];
            for (i, shell, distance) in known {
                list[next[shell]] = i;
                next[shell] += 1;
                let (sums, [least, most]) = &mut shells[shell];
                add(sums, term(body(i), centre));
                (*least, *most) = (least.min(distance), most.max(distance));
            }
            ((list, starts), shells)
        };
        let (parts, of_parts): (Vec<_>, Vec<_>) = members.par_chunks(PART).map(part).unzip();
        let all = |k: usize| {
            let sums = sums_of(of_parts.len(), |part| of_parts[part][k].0);
            let ranges = of_parts.iter().map(|shells| shells[k].1);
            let range = ranges
                .fold([f64::INFINITY, -1.0], |[least, most], [a, b]| [least.min(a), most.max(b)]);
            (sums, range)
        };
        Self { centre, shells: (0..COUNT).map(all).collect(), parts }
    }

    /// The sums about `centre` of the members within `radius` of it, and the largest distance among
    /// them, negative if there are none.
    fn sphere(
        &self,
        body: impl Fn(usize) -> (DVec3, f64) + Sync,
        centre: DVec3,
        radius: f64,
    ) -> (Sums, f64) {
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
            let inside = |(list, starts): &(Vec<usize>, Vec<usize>)| {
                let (mut sums, mut reach) = ([0.0; 5], -1.0f64);
                for &i in &list[starts[k]..starts[k + 1]] {
                    let (place, weight) = body(i);
                    let distance = length(place - centre);
                    if distance <= radius {
                        add(&mut sums, term((place, weight), centre));
                        reach = reach.max(distance);
                    }
                }
                (sums, reach)
            };
            let found: Vec<(Sums, f64)> = self.parts.par_iter().map(inside).collect();
            add(&mut sums, sums_of(found.len(), |part| found[part].0));
            reach = found.iter().map(|(_, reach)| *reach).fold(reach, f64::max);
        }
        (sums, reach)
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
