//! A force of your own: Yukawa gravity, which falls off faster than 1/r^2, so that orbits precess.
//!
//! Shows: a method from outside the library (`Evaluator`), and a simulation that steps with it.
//! Run: `cargo run --release --example 6_own_force`

use gravitile::error::Result;
use gravitile::forces::{
    EngineCapabilities, Evaluator, Forces, Interfaces, Order, Outputs, Precision, Sinks, Sources,
    WithSources,
};
use gravitile::glam::DVec3;
use gravitile::scene::Scene;
use gravitile::sim::{Settings, Simulation};

/// Pairs with the potential -m e^(-r/range) / r, r^2 softened by eps^2. The range has the bodies'
/// unit of length.
struct Yukawa {
    range: f64,
}

impl Evaluator for Yukawa {
    fn name(&self) -> &'static str {
        "yukawa"
    }

    fn describe(&self) -> String {
        format!("Yukawa gravity of range {}, f64", self.range)
    }

    fn precision(&self) -> Precision {
        Precision::Double
    }

    fn highest_order(&self) -> Order {
        Order::Acceleration
    }

    async fn evaluate(
        &mut self,
        sources: &Sources<'_>,
        sinks: &Sinks<'_>,
        softening: f64,
        outputs: &Outputs<'_>,
        out: &mut Forces,
    ) -> Result<()> {
        for (i, &sink) in sinks.position.iter().enumerate() {
            let (mut acceleration, mut potential) = (DVec3::ZERO, 0.0);
            for (j, (&source, mass)) in sources.position.iter().zip(sources.mass).enumerate() {
                let apart = source - sink;
                let r = (apart.length_squared() + softening * softening).sqrt();
                if sinks.identity.of(i) == Some(j) || r == 0.0 {
                    continue;
                }
                let phi = -mass * (-r / self.range).exp() / r;
                acceleration -= apart * phi * (1.0 / r + 1.0 / self.range) / r;
                potential += phi;
            }
            out.acceleration[i] = acceleration;
            if outputs.potential {
                out.potential[i] = potential;
            }
        }
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

fn main() -> Result<()> {
    let bodies = Scene::builtin("two-body")?.build()?;
    let engine = WithSources::of(Yukawa { range: 10.0 });
    let settings = Settings { softening: 0.0, dt: 0.001, ..Settings::default() };
    let mut sim = Simulation::builder(bodies, settings).engine(Box::new(engine)).build()?;
    let start = sim.diagnostics()?;
    println!("closest approaches, which Newton's force would repeat at one angle:");
    println!("      t  separation  angle/degrees  energy error");
    let (mut before, mut last) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..30_000 {
        sim.step(1)?;
        let bodies = sim.bodies()?;
        let apart = bodies.position[1] - bodies.position[0];
        let now = apart.length();
        if last < before && last < now {
            let error = sim.diagnostics()?.energy_error(&start);
            let angle = apart.y.atan2(apart.x).to_degrees();
            println!("{:7.3}  {last:10.6}  {angle:13.2}  {error:12.1e}", sim.time());
        }
        (before, last) = (last, now);
    }
    Ok(())
}
