//! Any number of ranks gives the bits of one.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::exchange::{shares, team};
use crate::forces::test_bodies::Random;
use crate::forces::tree::{CpuTree, Opening};
use crate::forces::{ForceEngine, Identity, Interfaces, Outputs, Sinks, TestBodies};

/// Forces of several calls on the bodies of a rank, which bodies these are, and how often forces
/// were computed again.
type Answers = (Vec<Forces>, Range<usize>, usize);

/// The bodies of each rank: uneven shares, and one rank without bodies.
fn uneven_shares(n: usize, ranks: usize) -> Vec<Range<usize>> {
    let weight = |rank: usize| if ranks > 2 && rank == 1 { 0.0 } else { 1.0 + (rank % 3) as f64 };
    shares(n, &(0..ranks).map(weight).collect::<Vec<_>>(), 1)
}

/// Some of the bodies.
fn part_of_bodies(bodies: &TestBodies, rows: &Range<usize>) -> TestBodies {
    let mut part = TestBodies::default();
    for i in rows.clone() {
        part.push(bodies.position[i], DVec3::ZERO, DVec3::ZERO, bodies.mass[i]);
    }
    part
}

/// The forces of `bodies` on themselves: first, again with these accelerations, and potentials.
fn calls(engine: &mut dyn ForceEngine, bodies: &TestBodies, eps: f64) -> Vec<Forces> {
    let mut all: Vec<Forces> = Vec::new();
    engine.set_sources(&Sources::new(&bodies.position, &bodies.mass)).unwrap();
    for outputs in [Outputs::ACCELERATION, Outputs::ACCELERATION, Outputs::POTENTIAL] {
        let mut sinks = Sinks::new(&bodies.position, Identity::Offset(0));
        if let Some(last) = all.last() {
            sinks.acceleration = &last.acceleration;
        }
        let mut out = Forces::default();
        engine.begin(&sinks, eps, &outputs).unwrap();
        engine.collect(&mut out).unwrap();
        all.push(out);
    }
    all
}

/// The same on each of this many ranks.
fn on_ranks(
    ranks: usize,
    bodies: &TestBodies,
    eps: f64,
    config: TreeConfig,
    generosities: &'static [Generosity],
) -> Vec<Answers> {
    std::thread::scope(|scope| {
        let own = uneven_shares(bodies.mass.len(), ranks);
        let members = team(ranks, None, Duration::ZERO).into_iter().zip(own);
        let threads: Vec<_> = members
            .map(|(member, share)| {
                scope.spawn(move || {
                    let ranks = Ranks::new(Box::new(member), 0);
                    let mut tree = HostTree::new(
                        crate::forces::direct::cpu::InstructionSet::available()[0],
                        config,
                    );
                    tree.domains = Some(RankDomains { generosities, ..RankDomains::new(ranks) });
                    let mut engine = CpuTree::of(tree);
                    let found = calls(&mut engine, &part_of_bodies(bodies, &share), eps);
                    (found, share, engine.evaluator.domains.unwrap().repeats)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn bits(forces: &Forces) -> Vec<u64> {
    bits_of(forces, &(0..forces.acceleration.len()))
}

/// The bits of the forces on some of the bodies.
fn bits_of(forces: &Forces, rows: &Range<usize>) -> Vec<u64> {
    let vectors = forces.acceleration[rows.clone()].iter().flat_map(|a| a.to_array());
    let potential = forces.potential.get(rows.clone()).unwrap_or_default();
    vectors.chain(potential.iter().copied()).map(f64::to_bits).collect()
}

/// Compares all bits of all calls on these numbers of ranks with those of one engine.
fn check(bodies: &TestBodies, eps: f64, config: TreeConfig, ranks: &[usize]) {
    let alone = calls(&mut CpuTree::new(config), bodies, eps);
    for &size in ranks {
        for (rank, (found, share, repeats)) in
            on_ranks(size, bodies, eps, config, &GENEROSITIES).into_iter().enumerate()
        {
            assert_eq!(repeats, 0, "{size} ranks");
            for (call, (found, alone)) in found.iter().zip(&alone).enumerate() {
                let alone = bits_of(alone, &share);
                assert!(bits(found) == alone, "call {call} on rank {rank} of {size}");
            }
        }
    }
}

/// A dense and a loose cluster far apart, with a few bodies flying away.
fn clusters(n: usize, seed: u64) -> TestBodies {
    let mut random = Random(seed);
    let mut bodies = TestBodies::default();
    for i in 0..n {
        let radius = 0.5 * (random.unit().powf(-2.0 / 3.0) - 1.0).max(1e-6).sqrt().recip();
        let direction = (2.0 * random.vector()).normalize_or(DVec3::X);
        let position = match i {
            _ if i % 4000 == 17 => 1e4 * direction,
            _ if i % 5 < 2 => DVec3::new(7.0, -3.0, 1.0) + 5.0 * random.vector(),
            _ => radius.min(20.0) * direction,
        };
        let mass = if i % 97 == 0 { 0.0 } else { 1.0 + (i % 3) as f64 };
        bodies.push(position, DVec3::ZERO, DVec3::ZERO, mass / n as f64);
    }
    bodies
}

#[test]
fn any_number_of_ranks_gives_the_bits_of_one() {
    let bodies = clusters(20_000, 3);
    check(&bodies, 0.01, TreeConfig::default(), &[1, 2, 3, 8, 64]);
    for opening in [
        Opening::Acceleration { alpha: 1e-4 },
        Opening::Radius { theta: 0.7 },
        Opening::Bonsai { theta: 0.8 },
        Opening::Octgrav { theta: 0.8 },
    ] {
        check(&bodies, 0.0, TreeConfig { opening, ..TreeConfig::default() }, &[3]);
    }
}

#[test]
fn few_bodies_equal_places_and_lost_bodies_give_the_bits_of_one() {
    for n in [1, 2, 63, 64, 65, 200] {
        check(&clusters(n, n as u64), 0.01, TreeConfig::default(), &[2, 5]);
    }
    // A leaf of all bodies, on the last level, over every cut.
    let mut bodies = clusters(700, 5);
    bodies.position[100..600].fill(DVec3::new(0.25, 0.5, -0.125));
    check(&bodies, 0.05, TreeConfig::default(), &[2, 4, 7]);
    bodies.position.fill(DVec3::splat(3.0));
    check(&bodies, 0.05, TreeConfig::default(), &[3]);
    let mut bodies = clusters(3000, 6);
    bodies.position[1234] = DVec3::NAN;
    bodies.position[77].x = f64::INFINITY;
    check(&bodies, 0.01, TreeConfig::default(), &[2, 6]);
}

/// Sinks in outskirts that many bodies of other ranks lie among walk one by one, as on one rank.
#[test]
fn scattered_groups_are_those_of_one_rank() {
    let mut random = Random(11);
    let mut bodies = TestBodies::default();
    for i in 0..40_000 {
        let far = i % 200 == 0;
        let place = (2.0 * random.vector()).normalize_or(DVec3::X);
        let position = if far { 40.0 * place } else { random.vector() };
        bodies.push(position, DVec3::ZERO, DVec3::ZERO, 1.0);
    }
    check(&bodies, 0.01, TreeConfig::default(), &[2, 7]);
}

/// Too little is sent: what is missing is noticed, and the forces are computed again.
#[test]
fn missing_cells_are_noticed_and_made_up_for() {
    const BOLD: [Generosity; 2] =
        [Generosity { boxes: 64, margin: 2.0 }, Generosity { boxes: 2048, margin: 1.0 - 1e-5 }];
    let bodies = clusters(20_000, 8);
    let config = TreeConfig::default();
    let alone = calls(&mut CpuTree::new(config), &bodies, 0.01);
    for (found, share, repeats) in on_ranks(4, &bodies, 0.01, config, &BOLD) {
        assert_eq!(repeats, 4, "each of four evaluations is repeated");
        for (found, alone) in found.iter().zip(&alone) {
            assert!(bits(found) == bits_of(alone, &share));
        }
    }
    // Boxes around many groups, and around each by itself.
    for boxes in [1, 40, usize::MAX] {
        let few: &'static [Generosity] =
            Box::leak(Box::new([Generosity { boxes, margin: 1.0 - 1e-5 }]));
        for (found, share, repeats) in on_ranks(3, &bodies, 0.01, config, few) {
            let alone = bits_of(&alone[1], &share);
            assert!(repeats == 0 && bits(&found[1]) == alone, "{boxes} boxes");
        }
    }
}

#[test]
fn tree_that_serves_several_steps_is_not_divided() {
    let mut engine = CpuTree::new(TreeConfig::default());
    let Interfaces { divides, .. } = engine.interfaces();
    divides.unwrap().divide_among(Ranks::alone());
    assert!(engine.evaluator.domains.is_none(), "one rank needs no messages");
    let rebuild = crate::settings::Rebuild::Every(3);
    let mut engine = CpuTree::new(TreeConfig { rebuild, ..TreeConfig::default() });
    assert!(engine.interfaces().divides.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Grids, lines and points: equal keys over cuts, cells of every shape, empty ranks.
    #[test]
    fn any_bodies_on_any_ranks(
        n in 1usize..600,
        cells in 1u32..40,
        flat in 0usize..3,
        seed in 0u64..1000,
        size in 1usize..9,
    ) {
        let mut random = Random(seed);
        let mut bodies = TestBodies::default();
        for i in 0..n {
            let mut place = (random.vector() * f64::from(cells)).round() / f64::from(cells);
            place[flat] *= if seed % 2 == 0 { 0.0 } else { 1.0 };
            bodies.push(place, DVec3::ZERO, DVec3::ZERO, 1.0 + (i % 2) as f64);
        }
        check(&bodies, 0.02, TreeConfig::default(), &[size]);
    }
}
