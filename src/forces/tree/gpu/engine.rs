//! The tree on a device as an engine: each call uploads bodies and returns forces.

use std::sync::Arc;

use glam::DVec3;

use super::{BYTES_PER_BODY, Field, TreeForces, TreeShape};
use crate::error::Result;
use crate::forces::direct::gpu::{KernelConfig, KernelVariant};
use crate::forces::{
    DeviceForces, EngineCapabilities, Evaluator, Forces, Interfaces, Order, Outputs, Precision,
    Sinks, Sources, Throughput, WithSources, evaluate,
};
use crate::frame::Frame;
use crate::gpu::{BodyBuffers, Gpu, read, storage};

/// The engine. Sinks that are not sources are in the tree as bodies without mass: they walk like
/// all others and attract nothing. So a call takes at least as long as one for all sources, however
/// few sinks there are.
pub type GpuTree = WithSources<UploadedTree>;

/// The tree of [`GpuTree`].
#[derive(Debug)]
pub struct UploadedTree {
    gpu: Arc<Gpu>,
    shape: TreeShape,
    throughput: Throughput,
}

/// The bodies of a call, in its frame.
struct CallBodies {
    frame: Frame,
    /// Sources, then sinks without mass.
    places: Vec<[f32; 4]>,
    /// The index among them of each sink.
    of_sink: Vec<usize>,
}

impl CallBodies {
    fn new(sinks: &Sinks, sources: &Sources, softening: f64) -> Result<Self> {
        let frame = Frame::of_call(sinks.position, sources.position, sources.mass, softening);
        let mut places = sources.narrowed(&frame)?;
        let mut of_sink = Vec::with_capacity(sinks.position.len());
        for (i, &position) in sinks.position.iter().enumerate() {
            // A sink that is a source, but at another position, is an additional body.
            let source =
                sinks.identity.of(i).filter(|&j| sources.position.get(j) == Some(&position));
            of_sink.push(source.unwrap_or(places.len()));
            if source.is_none() {
                let [x, y, z] = frame.position(position);
                places.push([x, y, z, 0.0]);
            }
        }
        Ok(Self { frame, places, of_sink })
    }

    /// Whether the sinks are the sources, in the same order.
    fn is_closed(&self) -> bool {
        self.of_sink.len() == self.places.len()
            && self.of_sink.iter().enumerate().all(|(i, &j)| i == j)
    }
}

impl GpuTree {
    /// An engine on `gpu`.
    pub fn new(gpu: Arc<Gpu>, shape: TreeShape) -> Self {
        let throughput = Throughput::guess(gpu.adapter.class);
        Self::of(UploadedTree { gpu, shape, throughput })
    }
}

impl Evaluator for UploadedTree {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn describe(&self) -> String {
        let adapter = &self.gpu.adapter;
        format!("{} ({}), {}", adapter.name, adapter.backend, self.shape)
    }

    fn precision(&self) -> Precision {
        Precision::Single
    }

    fn highest_order(&self) -> Order {
        Order::Acceleration
    }

    fn capabilities(&self) -> EngineCapabilities<'_> {
        let engine = GpuTree::new(Arc::clone(&self.gpu), self.shape.for_energies());
        EngineCapabilities { for_energies: Some(Box::new(engine)), ..EngineCapabilities::default() }
    }

    async fn evaluate(
        &mut self,
        sources: &Sources<'_>,
        sinks: &Sinks<'_>,
        softening: f64,
        outputs: &Outputs<'_>,
        out: &mut Forces,
    ) -> Result<()> {
        if sinks.position.is_empty() || sources.position.is_empty() {
            out.acceleration.fill(DVec3::ZERO);
            out.potential.fill(0.0);
            return Ok(());
        }
        let call = CallBodies::new(sinks, sources, softening)?;
        let eps = softening / call.frame.length;
        let heaviest = sources.mass.iter().copied().fold(0.0, f64::max) / call.frame.mass;
        let guard = KernelVariant::new(KernelConfig::tiled(64), eps, heaviest, outputs.potential);
        // Rules that need accelerations compute them first.
        let field = Field {
            is_closed: call.is_closed(),
            ..Field::closed(eps as f32, guard.guarded, outputs.potential)
        };
        let n = call.places.len();
        self.gpu.check_bodies(n as u64, BYTES_PER_BODY, "tree")?;
        let bodies = BodyBuffers {
            count: n as u32,
            sinks: 0..n as u32,
            mass: call.places.iter().map(|place| place[3]).collect(),
            position_mass: storage(&self.gpu, "position and mass", n),
            velocity: storage(&self.gpu, "no velocity", 1),
            acceleration: storage(&self.gpu, "no acceleration", 1),
            rests: Default::default(),
        };
        self.gpu.queue.write_buffer(&bodies.position_mass, 0, bytemuck::cast_slice(&call.places));
        let mut forces = TreeForces::new(&self.gpu, self.shape, &bodies, field).await?;
        evaluate(&mut forces, &self.gpu, &mut self.throughput).await?;
        let sums = read::<[f32; 4]>(&self.gpu, &[forces.partial_sums()], n).await?.remove(0);
        let (unit, potential_unit) = (call.frame.acceleration_unit(), call.frame.potential_unit());
        for (i, &body) in call.of_sink.iter().enumerate() {
            let [x, y, z, potential] = sums[body].map(f64::from);
            out.acceleration[i] = DVec3::new(x, y, z) * unit;
            if outputs.potential {
                out.potential[i] = potential * potential_unit;
            }
        }
        take_off_own(&call, sinks, sources, softening, out);
        Ok(())
    }

    fn sources_changed(&mut self) {}

    fn interfaces(&mut self) -> Interfaces<'_> {
        Interfaces::default()
    }
}

/// Subtracts what sinks that are sources, but at another position, receive from themselves.
fn take_off_own(
    call: &CallBodies,
    sinks: &Sinks,
    sources: &Sources,
    softening: f64,
    out: &mut Forces,
) {
    for (i, &body) in call.of_sink.iter().enumerate() {
        let Some(j) = sinks.identity.of(i).filter(|&j| j != body) else { continue };
        let Some(&position) = sources.position.get(j) else { continue };
        let towards = position - sinks.position[i];
        let softened = towards.length_squared() + softening * softening;
        if softened > 0.0 {
            let inverse = softened.sqrt().recip();
            out.acceleration[i] -= towards * (sources.mass[j] * inverse * inverse * inverse);
            if let Some(potential) = out.potential.get_mut(i) {
                *potential += sources.mass[j] * inverse;
            }
        }
    }
}
