//! Ranks as threads: with MPI only the transport between them differs.

use std::sync::Arc;

use gravitile::bodies::Bodies;
use gravitile::exchange::{Ranks, team};
use gravitile::field::Field;
use gravitile::forces::direct::gpu::KernelRequest;
use gravitile::forces::{
    ForceEngine, Forces, Identity, Order, Outputs, Precision, RankEngine, Sinks, Sources, direct,
};
use gravitile::integrate::blocks::BlockSettings;
use gravitile::sim::{Choice, EngineKind, Method, Settings, Simulation};

use super::{SHAPES, common, devices, fingerprint, open, plummer, settings};

/// Runs `work` on `count` ranks, each on its own thread.
fn as_ranks<T: Send>(count: usize, work: impl Fn(Ranks) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let members = team(count, None, std::time::Duration::ZERO);
        let ranks = members.into_iter().map(|member| Ranks::new(Box::new(member), 0));
        let threads: Vec<_> = ranks.map(|ranks| scope.spawn(move || work(ranks))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// A simulation on the devices of two ranks: the first has one, the second two.
fn open_on(ranks: Ranks, bodies: &Bodies, settings: &Settings) -> Simulation {
    let mut own = devices(3);
    own = if ranks.rank() == 0 { own[..1].to_vec() } else { own[1..].to_vec() };
    let others = own.split_off(1);
    let choice = Choice::of(EngineKind::Gpu, Method::Direct, "asked for", own.pop());
    let choice = Choice { others, ranks: Some(ranks), ..choice };
    Simulation::builder(bodies.clone(), settings.clone()).choice(choice).build().unwrap()
}

#[test]
fn ranks_with_own_devices_give_same_bits_as_one() {
    compare_ranks(&settings(SHAPES[2]));
}

#[test]
fn ranks_choose_the_same_varying_step() {
    let varying = Settings { auto_dt: Some(0.03), dt: 0.25, ..settings(SHAPES[2]) };
    compare_ranks(&varying);
    let mut one = open(1, &plummer(777), &varying);
    one.step(1).unwrap();
    assert!(one.varying().unwrap().steps() > 8);
}

#[test]
fn ranks_in_an_external_field_give_same_bits_as_one() {
    let field: Field =
        "plummer:mass=3,scale=0.5,x=1 point:mass=0.5,softening=0.1,y=-2".parse().unwrap();
    let leapfrog = Settings { field: field.clone(), ..settings(SHAPES[2]) };
    compare_ranks(&leapfrog);
    compare_ranks(&Settings { field, ..hermite("hermite4", Precision::DoubleSingle) });
    let mut without = open(1, &plummer(777), &settings(SHAPES[2]));
    let mut with = open(1, &plummer(777), &leapfrog);
    without.step(4).unwrap();
    with.step(4).unwrap();
    assert!(fingerprint(&mut without) != fingerprint(&mut with));
}

fn compare_ranks(settings: &Settings) {
    let bodies = plummer(777);
    let mut one = open(1, &bodies, settings);
    one.step(4).unwrap();
    let one = fingerprint(&mut one);
    for all in as_ranks(2, |ranks| {
        let mut sim = open_on(ranks, &bodies, settings);
        sim.step(1).unwrap();
        sim.step(3).unwrap();
        fingerprint(&mut sim)
    }) {
        assert!(all == one, "all ranks should know all bodies");
    }
}

fn hermite(name: &str, precision: Precision) -> Settings {
    Settings {
        integrator: gravitile::integrate::find(name).unwrap(),
        precision: Some(precision),
        dt: 0.0625,
        ..settings(KernelRequest::default())
    }
}

#[test]
fn block_steps_run_on_devices_of_all_ranks() {
    let mut bodies = plummer(301);
    bodies.mass[5] *= 20.0;
    for (name, precision) in [
        ("hermite4", Precision::DoubleSingle),
        ("hermite6", Precision::DoubleSingle),
        ("hermite4", Precision::Double),
    ] {
        if !common::tiers().contains(&precision) {
            common::skip::skipped("block steps on the devices of ranks", precision.name());
            continue;
        }
        let settings = hermite(name, precision);
        let mut one = open(1, &bodies, &settings);
        one.step(3).unwrap();
        let one = (fingerprint(&mut one), *one.blocks().unwrap().stats());
        // Software adapters share blocks of more than 2^14 interactions.
        assert!(one.1.last_active > (1 << 14) / 301, "{:?}", one.1);
        for (all, words) in as_ranks(2, |ranks| {
            let mut sim = open_on(ranks, &bodies, &settings);
            sim.step(1).unwrap();
            sim.step(2).unwrap();
            let stats = *sim.blocks().unwrap().stats();
            ((fingerprint(&mut sim), stats), sim.describe_engine())
        }) {
            assert!(words.contains("on 3 devices") && words.contains("each of 2 ranks"), "{words}");
            assert!(all == one, "{name}, {precision:?}");
        }
    }
}

/// With few bodies no block is shared, and the ranks only synchronise periodically to decide
/// whether to continue.
#[test]
fn ranks_synchronise_when_no_block_is_large() {
    let bodies = plummer(40);
    let settings = hermite("hermite4", Precision::DoubleSingle);
    let settings = Settings {
        softening: 0.001,
        dt: 0.5,
        blocks: BlockSettings { eta: 0.002, dt_max: 0.015625, ..BlockSettings::default() },
        ..settings
    };
    let mut one = open(1, &bodies, &settings);
    one.step(2).unwrap();
    let stats = *one.blocks().unwrap().stats();
    assert!(stats.blocks > 3 * 128, "there should be meetings: {stats:?}");
    let one = fingerprint(&mut one);
    for all in as_ranks(2, |ranks| {
        let mut sim = open_on(ranks, &bodies, &settings);
        sim.step(2).unwrap();
        fingerprint(&mut sim)
    }) {
        assert!(all == one);
    }
}

#[test]
fn single_precision_steps_on_host_with_device_forces() {
    let bodies = plummer(301);
    let settings = hermite("hermite4", Precision::Single);
    let mut one = open(1, &bodies, &settings);
    one.step(2).unwrap();
    let one = fingerprint(&mut one);
    for (all, words) in as_ranks(2, |ranks| {
        let mut sim = open_on(ranks, &bodies, &settings);
        sim.step(2).unwrap();
        (fingerprint(&mut sim), sim.describe_engine())
    }) {
        assert!(words.contains("block steps on the host: single is too narrow"), "{words}");
        assert!(all == one);
    }
}

/// Other outputs of a device engine; with few sinks some ranks have none.
#[test]
fn sinks_spread_over_ranks_give_same_answers() {
    let bodies = plummer(500);
    let mut sources = Sources::new(&bodies.position, &bodies.mass);
    sources.velocity = &bodies.velocity;
    for (precision, order) in
        [(Precision::DoubleSingle, Order::Jerk), (Precision::Single, Order::Acceleration)]
    {
        let outputs = Outputs { potential: true, ..Outputs::only(order) };
        for count in [3, 130, 500] {
            let mut sinks = Sinks::new(&bodies.position[..count], Identity::Offset(0));
            sinks.velocity = &bodies.velocity[..count];
            let answer = |engine: &mut dyn ForceEngine| {
                let mut out = Forces::default();
                engine.evaluate_from(&sources, &sinks, 0.05, &outputs, &mut out).unwrap();
                out
            };
            let make = || {
                let gpu = Arc::clone(&devices(1)[0]);
                direct::GpuTiers::new(gpu, precision).unwrap()
            };
            let one = answer(&mut make());
            for ranks in [2, 3] {
                for all in as_ranks(ranks, |ranks| {
                    answer(&mut RankEngine::new(Box::new(make()), ranks).unwrap())
                }) {
                    assert!(all == one, "{precision:?}, {count} sinks on {ranks} ranks");
                }
            }
        }
    }
}
