use super::*;
use gravitile::error::Result;
use gravitile::forces::direct::Reference;
use gravitile::forces::{
    Arrivals, EngineCapabilities, Forces, Identity, Interfaces, Moving, Outputs, Sinks,
};

/// Engine that counts its uploads.
#[derive(Default)]
struct Counter {
    inner: Reference,
    whole: usize,
    updates: Vec<usize>,
}

impl ForceEngine for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }
    answered_by_inner!();

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        self.whole += 1;
        self.inner.set_sources(sources)
    }
    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.updates.push(index.len());
        self.inner.update_sources(index, sources)
    }
    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        self.inner.begin(sinks, softening, outputs)
    }
    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities::default()
    }
    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces::default()
    }
}

fn particle(index: i32, x: f64) -> Particle {
    let motion =
        [DVec3::new(x, 0.0, 0.0), DVec3::Y, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO];
    let moving = Moving { time: 0.0, mass: 1.0, motion };
    Particle { index, moving, ..Particle::default() }
}

/// Position of the particle at an address, predicted for the engine, along two axes.
fn predicted(memory: &mut Memory, address: i32) -> (f64, f64) {
    let [x, ..] = memory.get(address).unwrap().moving.at(memory.time);
    (x.x, x.y)
}

#[test]
fn predictor_matches_grape() {
    let [x, v, a2, j6, k18] = [1.0, 2.0, 3.0, 4.0, 5.0].map(|x| DVec3::new(x, -x, 0.5 * x));
    let motion = [x, v, 2.0 * a2, 6.0 * j6, 18.0 * k18, DVec3::ZERO];
    let moving = Moving { time: 1.0, mass: 0.0, motion };
    let t: f64 = 0.25;
    let [px, pv, pa] = moving.at(Some(1.0 + t));
    let expected_x = x + v * t + a2 * t.powi(2) + j6 * t.powi(3) + k18 * 0.75 * t.powi(4);
    let expected_v = v + a2 * 2.0 * t + j6 * 3.0 * t.powi(2) + k18 * 3.0 * t.powi(3);
    let expected_a = a2 * 2.0 + j6 * 6.0 * t + k18 * 9.0 * t.powi(2);
    for (got, expected) in [(px, expected_x), (pv, expected_v), (pa, expected_a)] {
        assert!((got - expected).length() < 1e-14 * expected.length(), "{got} for {expected}");
    }
    assert_eq!(moving.at(None)[0], x);
}

#[test]
fn changes_are_batched_and_sent_once() {
    let mut memory = Memory::new(Order::Jerk);
    let mut engine = Counter::default();
    for i in (0..100).rev() {
        memory.set(i, &particle(-i, f64::from(i))).unwrap();
    }
    memory.send(&mut engine, 100, None).unwrap();
    memory.send(&mut engine, 100, None).unwrap();
    assert_eq!((engine.whole, engine.updates.len(), engine.source_count()), (1, 0, 100));
    for _ in 0..3 {
        memory.set(7, &particle(-7, 0.5)).unwrap();
        memory.set(9, &particle(-9, 0.25)).unwrap();
    }
    memory.send(&mut engine, 100, None).unwrap();
    assert_eq!((engine.whole, &engine.updates[..]), (1, &[2][..]));
    assert_eq!(predicted(&mut memory, 9).0, 0.25);
    // Another time changes all predictions.
    memory.send(&mut engine, 100, Some(2.0)).unwrap();
    assert_eq!((engine.whole, predicted(&mut memory, 9).1), (2, 2.0));
    // A new index rearranges the sources.
    memory.set(9, &particle(1000, 0.25)).unwrap();
    memory.send(&mut engine, 100, Some(2.0)).unwrap();
    assert_eq!((memory.indices.source_of(1000), memory.indices.source_of(-9)), (Some(9), None));
}

#[test]
fn fewer_addresses_gaps_and_duplicate_indices() {
    let mut memory = Memory::new(Order::Acceleration);
    let mut engine = Counter::default();
    for (address, index) in [(10, 1), (2, 5), (4, 5), (6, i32::MIN)] {
        memory.set(address, &particle(index, f64::from(address))).unwrap();
    }
    memory.send(&mut engine, 7, None).unwrap();
    assert_eq!((engine.source_count(), memory.len()), (3, 4));
    assert_eq!((memory.indices.source_of(1), memory.indices.source_of(5)), (None, Some(0)));
    assert_eq!(memory.indices.duplicates_of(5), [0, 1]);
    assert_eq!((memory.indices.index_of(2), memory.indices.index_of(3)), (i32::MIN, -1));
    memory.send(&mut engine, 11, None).unwrap();
    assert_eq!((engine.source_count(), memory.indices.source_of(1)), (4, Some(3)));
    let sinks = Sinks::new(&[DVec3::ZERO], Identity::Foreign);
    let mut out = Forces::default();
    engine.evaluate(&sinks, 0.0, &Outputs::only(Order::Acceleration), &mut out).unwrap();
    let expected: f64 = [2.0, 4.0, 6.0, 10.0].map(|x: f64| x.powi(-2)).iter().sum();
    assert!((out.acceleration[0].x - expected).abs() < 1e-15);
}

#[test]
fn invalid_particles_are_rejected_and_named() {
    let mut memory = Memory::new(Order::Jerk);
    memory.set(3, &particle(8, 1.0)).unwrap();
    let mut broken = particle(8, 2.0);
    broken.moving.motion[3].y = f64::NAN;
    let text = memory.set(3, &broken).unwrap_err().to_string();
    assert!(
        text.contains("jerk") && text.contains("address 3") && text.contains("index 8"),
        "{text}"
    );
    assert_eq!(memory.get(3).unwrap().moving.motion[0].x, 1.0, "the old one stays");
    for address in [-1, i32::MAX, LARGEST_MEMORY as i32] {
        let text = memory.set(address, &particle(0, 0.0)).unwrap_err().to_string();
        assert!(text.contains(&address.to_string()) && text.contains("8388607"), "{text}");
    }
    let mut negative = particle(0, 0.0);
    negative.moving.mass = -1.0;
    assert!(memory.set(0, &negative).unwrap_err().to_string().contains("mass"));
    assert!(memory.get(2).is_err() && memory.get(-1).is_err());
    // Finite when set, but not when predicted.
    let mut fast = particle(8, 0.0);
    fast.moving.motion[1].x = 1e300;
    memory.set(3, &fast).unwrap();
    let mut engine = Counter::default();
    let text = memory.send(&mut engine, 4, Some(1e300)).unwrap_err().to_string();
    assert!(text.contains("address 3 (index 8)"), "{text}");
    memory.send(&mut engine, 4, Some(1.0)).unwrap();
}

/// Engine that predicts by itself and logs its calls.
#[derive(Default)]
struct Mover {
    inner: Counter,
    whole: usize,
    announced: Vec<Vec<(u32, f64)>>,
}

impl ForceEngine for Mover {
    fn name(&self) -> &'static str {
        "mover"
    }
    answered_by_inner!();

    fn set_sources(&mut self, sources: &Sources) -> Result<()> {
        self.inner.set_sources(sources)
    }
    fn update_sources(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.inner.update_sources(index, sources)
    }
    fn begin(&mut self, sinks: &Sinks, softening: f64, outputs: &Outputs) -> Result<()> {
        self.inner.begin(sinks, softening, outputs)
    }
    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities::default()
    }
    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces { moving: Some(self), ..Interfaces::default() }
    }
}

impl MovingSources for Mover {
    fn share(&mut self, _: &SharedTable) -> Result<()> {
        self.whole += 1;
        Ok(())
    }
    fn announce(&mut self, sources: &Arrivals) -> Result<()> {
        if sources.low.iter().any(|one| one.mass == 666.0) {
            return Err(Error::value("a mass", 666.0, "another"));
        }
        let each = sources.each().map(|(at, moving)| (at, moving.motion[0].x));
        self.announced.push(each.collect());
        Ok(())
    }
    fn predict_to(&mut self, _: Option<f64>) {}
    fn table(&self) -> Option<SharedTable> {
        None
    }
}

#[test]
fn queued_particles_reach_the_engine_in_order_then_the_memory() {
    let queue: &'static ParticleQueue = Box::leak(Box::default());
    let mut memory = Memory::new(Order::Jerk);
    memory.attach_queue(queue);
    let mut engine = Mover::default();
    for k in 0..100 {
        memory.set(k, &particle(k, 0.0)).unwrap();
    }
    let enqueue = |k: i32, index: i32, x: f64| queue.enqueue(k, &particle(index, x), || true);
    let send = |memory: &mut Memory, engine: &mut Mover| {
        let sent = memory.send(engine, 100, Some(1.0));
        memory.settle();
        sent
    };
    send(&mut memory, &mut engine).unwrap();
    assert_eq!((engine.whole, engine.announced.len()), (1, 0));
    // In the client's order, including repeated addresses.
    assert!(enqueue(70, 70, 1.0) && enqueue(3, 3, 2.0) && enqueue(70, 70, 3.0));
    send(&mut memory, &mut engine).unwrap();
    assert_eq!(engine.announced.pop().unwrap(), [(70, 1.0), (3, 2.0), (70, 3.0)]);
    assert!(memory.table.read().changed().is_empty());
    assert_eq!([3, 70].map(|k| memory.get(k).unwrap().moving.motion[0].x), [2.0, 3.0]);
    // No changes, no announcement.
    send(&mut memory, &mut engine).unwrap();
    assert!(engine.announced.is_empty());
    // A particle that is read before it is sent is still sent.
    assert!(enqueue(5, 5, 4.0));
    assert_eq!(memory.get(5).unwrap().moving.motion[0].x, 4.0);
    assert!(enqueue(4, 4, 5.0));
    send(&mut memory, &mut engine).unwrap();
    let mut both = engine.announced.pop().unwrap();
    both.sort_by_key(|one| one.0);
    assert_eq!(both, [(4, 5.0), (5, 4.0)]);
    // Direct and queued writes keep their order.
    assert!(enqueue(8, 8, 1.0));
    memory.set(8, &particle(8, 2.0)).unwrap();
    assert!(enqueue(8, 8, 3.0));
    send(&mut memory, &mut engine).unwrap();
    assert_eq!(engine.announced.pop().unwrap(), [(8, 3.0)]);
    // A new index, or fewer addresses, causes a complete upload.
    assert!(enqueue(9, 1000, 1.0));
    send(&mut memory, &mut engine).unwrap();
    assert_eq!((engine.whole, memory.indices.source_of(1000)), (2, Some(9)));
    assert!(enqueue(99, 99, 7.0));
    memory.send(&mut engine, 99, None).unwrap();
    memory.settle();
    assert_eq!((engine.whole, engine.announced.len()), (3, 0));
    // A particle above the addresses in use is stored but not sent.
    assert!(enqueue(99, 99, 8.0) && enqueue(2, 2, 9.0));
    memory.send(&mut engine, 99, None).unwrap();
    memory.settle();
    assert_eq!(engine.announced.pop().unwrap(), [(2, 9.0)]);
    assert_eq!(memory.get(99).unwrap().moving.motion[0].x, 8.0);
    // After an error of the engine all particles are sent, including the rejected one.
    let mut heavy = particle(2, 0.5);
    heavy.moving.mass = 666.0;
    assert!(queue.enqueue(2, &heavy, || true));
    assert!(memory.send(&mut engine, 99, None).is_err());
    assert_eq!((memory.get(2).unwrap().moving.mass, engine.whole), (666.0, 3));
    memory.send(&mut engine, 99, None).unwrap();
    memory.settle();
    assert_eq!(engine.whole, 4);
}
