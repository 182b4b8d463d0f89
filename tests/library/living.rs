//! A simulation embedded in another program: bodies changed between steps, and custom engines,
//! integrators and backends.

use crate::common;

use glam::DVec3;
use gravitile::bodies::Bodies;
use gravitile::error::Result;
use gravitile::forces::{
    EngineCapabilities, Evaluator, Forces, Interfaces, Order, Outputs, Precision, Sinks, Sources,
    WithSources,
};
use gravitile::integrate::blocks::Restart;
use gravitile::integrate::{self, Accelerate, HostSide, Integrator};
use gravitile::scene::Scene;
use gravitile::sim::{
    Backend, BodyParts, BoxFuture, Capabilities, EngineKind, Observed, Settings, Simulation,
    Varying, Watch,
};

fn plummer(n: usize) -> Bodies {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    scene.build().unwrap()
}

fn bits(bodies: &Bodies) -> Vec<[u64; 6]> {
    let of = |(x, v): (&DVec3, &DVec3)| [x.x, x.y, x.z, v.x, v.y, v.z].map(f64::to_bits);
    bodies.position.iter().zip(&bodies.velocity).map(of).collect()
}

/// After changes in number, mass and motion a run continues like a simulation that starts with the
/// changed bodies.
#[test]
fn bodies_can_change_between_steps_on_every_engine() {
    let gpu = Settings {
        engine: EngineKind::Gpu,
        adapter: common::adapter_request(),
        ..Settings::default()
    };
    let hermite = integrate::find("hermite4").unwrap();
    for base in [
        Settings { engine: EngineKind::Cpu, ..Settings::default() },
        Settings { engine: EngineKind::Reference, ..Settings::default() },
        Settings { engine: EngineKind::Cpu, integrator: hermite, ..Settings::default() },
        gpu,
    ] {
        let settings = Settings { softening: 0.05, dt: 0.015625, ..base };
        let what = format!("{}, {}", settings.engine.name(), settings.integrator.name);
        let mut sim = Simulation::new(plummer(100), settings.clone()).unwrap();
        sim.step(4).unwrap();
        let before = sim.state().unwrap();
        let refused = sim.edit(|bodies| {
            bodies.mass[3] = -1.0;
            Ok(())
        });
        assert!(refused.is_err(), "{what}: a negative mass");
        assert_eq!(bits(&sim.bodies().unwrap()), bits(&before.bodies), "{what}");
        sim.edit(|bodies| {
            bodies.remove(17);
            bodies.mass[0] *= 3.0;
            // A device then uses another frame.
            bodies.shift(DVec3::new(1e6, 2e6, -1e6), DVec3::ZERO);
            bodies.velocity[5] += DVec3::X * 0.25;
            bodies.push(0.01, DVec3::new(0.5, 0.25, -1.0), DVec3::Y * 0.5, 0);
            bodies.push(0.02, DVec3::new(0.75, 0.25, -1.0), DVec3::ZERO, 0);
            Ok(())
        })
        .unwrap();
        assert_eq!((sim.len(), sim.steps()), (101, 4), "{what}");
        let changed = sim.state().unwrap();
        assert_eq!(changed.time, before.time, "{what}");
        sim.step(6).unwrap();

        let other = sim.settings().clone();
        let begun = Settings { frame: other.frame, ..settings.going_on_from(&changed) };
        let mut alone = Simulation::new(changed.bodies, begun).unwrap();
        alone.step(6).unwrap();
        assert_eq!(sim.time(), alone.time(), "{what}");
        assert_eq!(bits(&sim.bodies().unwrap()), bits(&alone.bodies().unwrap()), "{what}");
    }
}

/// A spring to the origin; the sources are ignored.
struct Spring;

impl Evaluator for Spring {
    fn name(&self) -> &'static str {
        "spring"
    }
    fn describe(&self) -> String {
        "a spring".to_owned()
    }
    fn precision(&self) -> Precision {
        Precision::Double
    }
    fn highest_order(&self) -> Order {
        Order::Acceleration
    }
    async fn evaluate(
        &mut self,
        _: &Sources<'_>,
        sinks: &Sinks<'_>,
        _: f64,
        _: &Outputs<'_>,
        out: &mut Forces,
    ) -> Result<()> {
        out.acceleration = sinks.position.iter().map(|x| -*x).collect();
        out.potential = sinks.position.iter().map(|x| 0.5 * x.length_squared()).collect();
        Ok(())
    }
    fn sources_changed(&mut self) {}
    fn capabilities(&self) -> EngineCapabilities<'_> {
        EngineCapabilities::default()
    }
    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces::default()
    }
}

#[test]
fn custom_engine_moves_bodies() {
    let dt = 1e-3;
    let settings = Settings { dt, ..Settings::default() };
    let bodies = plummer(20);
    let mut sim = Simulation::builder(bodies.clone(), settings)
        .engine(Box::new(WithSources::of(Spring)))
        .build()
        .unwrap();
    assert_eq!(sim.describe_engine(), "a spring");
    // After half a period every body is at its mirror image about the origin.
    let half = (std::f64::consts::PI / dt).round() as u64;
    sim.step(half).unwrap();
    let there = sim.bodies().unwrap();
    for i in 0..bodies.len() {
        let off = (there.position[i] + bodies.position[i]).length();
        assert!(off < 1e-2, "body {i}: {off}");
    }
    let hermite =
        Settings { integrator: integrate::find("hermite6").unwrap(), ..Settings::default() };
    let refused = Simulation::builder(bodies, hermite)
        .engine(Box::new(WithSources::of(Spring)))
        .build()
        .err()
        .unwrap();
    assert!(refused.to_string().contains("hermite6"), "{refused}");
}

/// Euler's method, for testing only.
fn euler(
    bodies: &mut Bodies,
    acceleration: &mut Vec<DVec3>,
    dt: f64,
    accelerate: &mut Accelerate<'_>,
) -> Result<()> {
    let moved = bodies.position.iter_mut().zip(&mut bodies.velocity);
    for ((x, v), a) in moved.zip(acceleration.iter()) {
        *x += *v * dt;
        *v += *a * dt;
    }
    accelerate(bodies, acceleration)
}

static EULER: Integrator = Integrator {
    name: "euler",
    summary: "first order",
    order: 1,
    reversible: false,
    host: HostSide::Shared(euler),
    device: None,
};

#[test]
fn custom_integrator_has_its_own_order() {
    let error = |dt: f64| {
        let settings = Settings { dt, integrator: &EULER, ..Settings::default() };
        let bodies = plummer(5);
        let mut sim = Simulation::builder(bodies.clone(), settings)
            .engine(Box::new(WithSources::of(Spring)))
            .build()
            .unwrap();
        sim.step((1.0 / dt).round() as u64).unwrap();
        let right = bodies.position[2] * 1f64.cos() + bodies.velocity[2] * 1f64.sin();
        (sim.bodies().unwrap().position[2] - right).length()
    };
    let ratio = error(1.0 / 64.0) / error(1.0 / 128.0);
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
}

/// Bodies without forces, in memory of the caller.
struct Drifting {
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
}

impl Backend for Drifting {
    fn describe(&self) -> String {
        "nothing".to_owned()
    }
    fn interactions(&self) -> u64 {
        0
    }
    fn advance<'a>(
        &'a mut self,
        dt: f64,
        steps: u64,
        watch: &'a mut Watch<'a>,
    ) -> BoxFuture<'a, (u64, Result<()>)> {
        for (x, v) in self.position.iter_mut().zip(&self.velocity) {
            *x += *v * (dt * steps as f64);
        }
        watch(steps);
        Box::pin(std::future::ready((steps, Ok(()))))
    }
    fn read<'a>(&'a mut self, bodies: &'a mut Bodies, _: f64) -> BoxFuture<'a, Result<Vec<DVec3>>> {
        bodies.position.clone_from(&self.position);
        Box::pin(std::future::ready(Ok(vec![DVec3::ZERO; self.position.len()])))
    }
    fn potential(&mut self) -> BoxFuture<'_, Result<Vec<f64>>> {
        Box::pin(std::future::ready(Ok(vec![0.0; self.position.len()])))
    }
    fn replace<'a>(&'a mut self, bodies: &'a Bodies, _: &'a Settings) -> BoxFuture<'a, Result<()>> {
        (self.position, self.velocity) = (bodies.position.clone(), bodies.velocity.clone());
        Box::pin(std::future::ready(Ok(())))
    }
    fn set_softening(&mut self, _: f64) -> BoxFuture<'_, Result<bool>> {
        Box::pin(std::future::ready(Ok(true)))
    }
    fn restart(&self) -> Restart {
        Restart::default()
    }
    fn capabilities(&self, _: f64) -> Capabilities<'_> {
        Capabilities::default()
    }
    fn take_observed(&mut self) -> Observed {
        Observed::default()
    }
    fn varying(&mut self) -> Option<&mut dyn Varying> {
        None
    }
    fn parts(&mut self) -> Option<&mut dyn BodyParts> {
        None
    }
}

#[test]
fn custom_backend_may_hold_the_bodies() {
    let bodies = plummer(10);
    let backend = Drifting { position: bodies.position.clone(), velocity: bodies.velocity.clone() };
    let settings = Settings { dt: 0.5, ..Settings::default() };
    let mut sim =
        Simulation::builder(bodies.clone(), settings).backend(Box::new(backend)).build().unwrap();
    sim.step(4).unwrap();
    let found = sim.diagnostics().unwrap();
    assert_eq!((sim.time(), sim.steps(), found.potential), (2.0, 4, 0.0));
    assert_eq!(sim.bodies().unwrap().position[7], bodies.position[7] + bodies.velocity[7] * 2.0);
    assert!(sim.device().is_none() && sim.host().is_none() && sim.kernel_config().is_none());
}

#[test]
fn custom_backend_refuses_restart_data() {
    let open = |settings: Settings, restart: Option<&Restart>| {
        let (position, velocity) = (plummer(10).position, plummer(10).velocity);
        let backend = Box::new(Drifting { position, velocity });
        Simulation::builder(plummer(10), settings).backend(backend).restart(restart).build()
    };
    assert!(open(Settings::default(), None).is_ok());
    let error = open(Settings::default(), Some(&Restart::default())).err().unwrap().to_string();
    assert!(error.contains("restart data"), "{error}");
}

/// No device is opened unless requested, and nothing is timed.
#[test]
fn auto_engine_defaults_to_cpu() {
    let sim = Simulation::new(plummer(10), Settings::default()).unwrap();
    assert!(sim.choice().gpu.is_none() && sim.choice().kind == EngineKind::Cpu);
}
