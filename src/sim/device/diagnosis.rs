//! Diagnostics computed on the device: sums, centres and Lagrangian radii by kernels whose results
//! are a few numbers to read back, whatever the number of bodies.
//!
//! ```text
//! totals                        partial sums of energies, momenta, positions; the host adds in f64
//! sphere, settle   64 times     the centre of all, and each component's density centre
//! radii, select     4 times     8 bits at a time of the squared radii, by histograms of the mass
//! ```
//!
//! The potentials come from the kernel with potentials, which takes one force between two steps.
//! Each component's density centre is followed with a shrinking sphere. About 200 kB come back.

use minijinja::context;

use crate::bodies::Bodies;
use crate::diagnostics::{
    ComponentRadii, Diagnostics, FRACTIONS, FieldEnergy, SHRINK, SPHERES, least_in_sphere,
};
use crate::error::{Error, Result};
use crate::forces::DeviceField;
use crate::frame::Frame;
use crate::gpu::layout::{DiagnosisChunk, DiagnosisGroup, DiagnosisParams, VEC4};
use crate::gpu::{
    Binding, BodyBuffers, BoundKernel, Checks, Gpu, Params, begin_computing, compile, storage,
    template,
};
use glam::DVec3;

/// Threads that sum over all bodies; the host adds their sums. With a million bodies each thread
/// adds 250 terms in f32.
const SUMMERS: usize = 4096;
/// Threads of a workgroup, as in the shaders.
const THREADS: usize = 256;
/// Members of a group that a workgroup visits; more if the number of workgroups would exceed
/// [`MOST_CHUNKS`].
const CHUNK: usize = 4096;
/// The maximum number of workgroups of a dispatch, not counting one more per group.
const MOST_CHUNKS: usize = 1 << 15;
// The shaders find 3 radii.
const _: () = assert!(FRACTIONS.len() == 3);
/// Rounds of `radii` and `select`, of 8 bits each.
const DIGITS: u32 = 4;
/// Bytes that `sphere` writes for each chunk.
const INSIDE: u64 = 32;

/// The number of dispatches of a report.
const DISPATCHES: u32 = 1 + 2 * SPHERES + 2 * DIGITS;

/// The kernels of `shaders/diagnostics/`, bound to the bodies and to the potentials of one
/// [`super::DeviceState`].
#[derive(Clone)]
pub struct Diagnosis {
    totals: BoundKernel,
    sphere: BoundKernel,
    settle: BoundKernel,
    radii: BoundKernel,
    select: BoundKernel,
    groups: wgpu::Buffer,
    histogram: wgpu::Buffer,
    /// The bodies' fractions of the mass.
    shares: wgpu::Buffer,
    partial_totals: wgpu::Buffer,
    /// The groups at the beginning of each report: all bodies, then the components that have
    /// bodies.
    begin: Vec<DiagnosisGroup>,
    components: Vec<u8>,
    chunks: u32,
    summers: usize,
    /// Bodies that a dispatch visits.
    visits: u64,
    mass: f64,
    field: DeviceField,
    /// The frame of the numbers on the device.
    frame: Frame,
}

/// The bindings of `shaders/diagnostics/NAME.wgsl`, in order.
fn bindings(name: &str) -> Vec<Binding> {
    use Binding::{Read, Write};
    match name {
        "totals" => {
            let params = Binding::Params(size_of::<DiagnosisParams>() as u64);
            vec![Read, Read, Read, Read, Write, params]
        }
        "settle" => vec![Read, Write],
        "select" => vec![Write, Write],
        _ => vec![Read, Read, Read, Read, Read, Write],
    }
}

/// Vectors of partial totals that each thread writes.
fn entries(field: &DeviceField) -> usize {
    if field.is_empty() { 3 } else { 4 }
}

/// The text of `shaders/diagnostics/NAME.wgsl`.
fn text(name: &str, field: &DeviceField) -> Result<String> {
    let thousandths = FRACTIONS.map(|fraction| (fraction * 1000.0).round() as u32);
    let (potentials, entries) = (field.potentials(), entries(field));
    let values = context! { shrink => SHRINK, thousandths, potentials, entries };
    template::assemble(&format!("diagnostics/{name}.wgsl"), values)
}

/// A kernel of `shaders/diagnostics/`, bound to `buffers` followed by `params`.
async fn bound(
    gpu: &Gpu,
    name: &str,
    buffers: &[&wgpu::Buffer],
    params: Option<&Params<DiagnosisParams>>,
    field: &DeviceField,
) -> Result<BoundKernel> {
    let file = format!("diagnostics/{name}.wgsl");
    let kernel = compile(gpu, &file, &text(name, field)?, &bindings(name), Checks::Off).await?;
    let buffers = buffers.iter().map(|buffer| buffer.as_entire_binding());
    let resources: Vec<_> = buffers.chain(params.map(Params::binding)).collect();
    Ok(kernel.bind(gpu, name, &resources))
}

impl Diagnosis {
    /// Compiles and binds the kernels to the `buffers` of `bodies`, in numbers of `frame`, and to
    /// their `potentials`, a buffer and its number of slices
    /// ([`super::DeviceState::potential_sums`]); `field` is the external field in it. Of `bodies`
    /// it reads masses and components, and positions for a first guess of the centres.
    ///
    /// # Errors
    /// A device that moves only a part of the bodies, and so lacks the potentials of the others; a
    /// shader that does not compile.
    pub async fn new(
        gpu: &Gpu,
        buffers: &BodyBuffers,
        (frame, field): (Frame, &DeviceField),
        potentials: (&wgpu::Buffer, u32),
        bodies: &Bodies,
    ) -> Result<Self> {
        let n = bodies.len();
        if !buffers.moves_all() {
            let allowed = format!("all {n} bodies for diagnostics on a device");
            return Err(Error::value("the number of its sinks", buffers.sink_count(), allowed));
        }
        let mass = bodies.total_mass();
        let share = |i: usize| if mass > 0.0 { bodies.mass[i] / mass } else { 1.0 / n as f64 };
        let shares: Vec<f32> = (0..n).map(|i| share(i) as f32).collect();

        let mut members: Vec<u32> = Vec::with_capacity(n);
        let mut plan = GroupLayout {
            length: CHUNK.max((2 * n).div_ceil(MOST_CHUNKS)),
            frame,
            ..GroupLayout::default()
        };
        let all: Vec<usize> = (0..n).collect();
        plan.add(bodies, &share, &all, None);
        // Of all bodies only the mean is needed: one sphere.
        plan.groups[0].least = n as u32;
        let mut components = Vec::new();
        let mut members_by_component = vec![Vec::new(); bodies.components.len()];
        for (i, &component) in bodies.component.iter().enumerate() {
            members_by_component[usize::from(component)].push(i);
        }
        for (component, own) in
            members_by_component.iter().enumerate().filter(|(_, own)| !own.is_empty())
        {
            components.push(component as u8);
            plan.add(bodies, &share, own, Some(members.len() as u32));
            members.extend(own.iter().map(|&i| i as u32));
        }
        let GroupLayout { groups: begin, chunks, .. } = plan;

        let filled = |label: &str, contents: &[u8]| {
            let buffer = bytes(gpu, label, contents.len() as u64);
            gpu.queue.write_buffer(&buffer, 0, contents);
            buffer
        };
        let shares = filled("shares of mass", bytemuck::cast_slice(&shares));
        let members = filled("members of components", bytemuck::cast_slice(&members));
        let chunk_list = filled("chunks of members", bytemuck::cast_slice(&chunks));
        let groups = filled("groups", bytemuck::cast_slice(&begin));
        let inside = bytes(gpu, "parts of spheres", chunks.len() as u64 * INSIDE);
        let bins = (begin.len() * FRACTIONS.len() * 256) as u64;
        let histogram = bytes(gpu, "mass by distance", bins * 4);
        let summers = n.min(SUMMERS).next_multiple_of(THREADS);
        let partial_totals = bytes(gpu, "partial totals", (summers * entries(field)) as u64 * VEC4);
        let positions = &buffers.position_mass;
        let visited = [positions, &members, &chunk_list, &groups, &shares];
        let visit = |last| [&visited[..], &[last]].concat();
        let none = DeviceField::none();
        Ok(Self {
            totals: totals(gpu, buffers, potentials, (&shares, field), &partial_totals).await?,
            sphere: bound(gpu, "sphere", &visit(&inside), None, &none).await?,
            settle: bound(gpu, "settle", &[&inside, &groups], None, &none).await?,
            radii: bound(gpu, "radii", &visit(&histogram), None, &none).await?,
            select: bound(gpu, "select", &[&histogram, &groups], None, &none).await?,
            groups,
            histogram,
            shares,
            partial_totals,
            begin,
            components,
            chunks: chunks.len() as u32,
            summers,
            visits: 2 * n as u64,
            mass,
            field: field.clone(),
            frame,
        })
    }

    /// These kernels for other potentials of the same bodies, stored by another kernel. Only the
    /// totals are compiled.
    ///
    /// # Errors
    /// A shader that does not compile.
    pub async fn with_potentials(
        &self,
        gpu: &Gpu,
        buffers: &BodyBuffers,
        potentials: (&wgpu::Buffer, u32),
    ) -> Result<Self> {
        let totals = {
            let shares = (&self.shares, &self.field);
            totals(gpu, buffers, potentials, shares, &self.partial_totals).await?
        };
        Ok(Self { totals, ..self.clone() })
    }

    /// Records further dispatches: at least one, and as many as visit about `visits` bodies
    /// together. `done` counts the dispatches recorded so far and must be 0 at first. Returns true
    /// when all are recorded; [`Diagnosis::results`] then hold the diagnostics. The potentials must
    /// be computed before the first dispatch, and the bodies must not move until the last.
    pub fn record(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        done: &mut u32,
        visits: u64,
    ) -> bool {
        if *done == 0 {
            gpu.queue.write_buffer(&self.groups, 0, bytemuck::cast_slice(&self.begin));
            // An interrupted report may have left counts.
            encoder.clear_buffer(&self.histogram, 0, None);
        }
        let mut pass = begin_computing(encoder, "diagnostics");
        let groups = self.begin.len() as u32;
        let mut visited = 0;
        while *done < DISPATCHES {
            let (spheres, is_second) = (1 + 2 * SPHERES, done.is_multiple_of(2));
            // The second kernel of each pair (`settle`, `select`) visits no bodies.
            let visiting = if is_second && *done > 0 { 0 } else { self.visits };
            if visited > 0 && visited + visiting > visits.max(visited) {
                break;
            }
            let (kernel, workgroups) = match *done {
                0 => (&self.totals, (self.summers / THREADS) as u32),
                k if k < spheres && is_second => (&self.settle, groups),
                k if k < spheres => (&self.sphere, self.chunks),
                _ if is_second => (&self.select, groups),
                _ => (&self.radii, self.chunks),
            };
            // Only the totals have parameters, one row.
            kernel.set(&mut pass, if *done == 0 { &[0] } else { &[] });
            pass.dispatch_workgroups(workgroups, 1, 1);
            visited += visiting;
            *done += 1;
        }
        *done == DISPATCHES
    }

    /// The buffers to read back, as `u32`, for [`Diagnosis::read`].
    pub fn results(&self) -> [(&wgpu::Buffer, std::ops::Range<u64>); 2] {
        [&self.partial_totals, &self.groups].map(|buffer| (buffer, 0..buffer.size()))
    }

    /// The diagnostics from the contents of [`Diagnosis::results`] for the state at `time`.
    pub fn read(&self, results: &[Vec<u32>], time: f64) -> Diagnostics {
        let partial: &[f32] = bytemuck::cast_slice(&results[0]);
        let groups: &[DiagnosisGroup] = bytemuck::cast_slice(&results[1]);
        let width = 4 * entries(&self.field);
        let sum =
            |k: usize| crate::math::sum(partial.chunks_exact(width).map(|sums| f64::from(sums[k])));
        let total: [f64; 12] = std::array::from_fn(sum);
        // The shares, rounded to f32, add up to nearly 1.
        let mean = |k: usize| total[k] / total[11];
        let mean_vec = |k: usize| DVec3::new(mean(k), mean(k + 1), mean(k + 2));
        let frame = self.frame.at(time);
        let length = frame.length;
        let radius = |group: &DiagnosisGroup, k: usize| {
            length * f64::from(f32::from_bits(group.found[k])).sqrt()
        };
        let half = FRACTIONS.iter().position(|&fraction| fraction == 0.5);
        let half = half.expect("half of the mass should be among the fractions");
        let of_component = |(&component, group): (&u8, &DiagnosisGroup)| ComponentRadii {
            component,
            centre: frame.wide_position(group.centre),
            radii: std::array::from_fn(|k| radius(group, k)),
        };
        // The contribution of the frame's motion (König's theorem), in the caller's units.
        let speed = frame.velocity_unit();
        let (origin, velocity) = (DVec3::from(frame.origin), DVec3::from(frame.velocity));
        let (centre, drift) = (mean_vec(8) * length, mean_vec(0) * speed);
        let turning = mean_vec(4) * (length * speed)
            + origin.cross(velocity + drift)
            + centre.cross(velocity);
        let speed_squared = (mean(3) - mean_vec(0).length_squared()) * (speed * speed);
        Diagnostics {
            kinetic: 0.5 * self.mass * speed_squared,
            potential: 0.5 * self.mass * mean(7) * frame.potential_unit(),
            momentum: self.mass * (velocity + drift),
            angular_momentum: self.mass * turning,
            centre: origin + centre,
            drift: velocity + drift,
            half_mass_radius: radius(&groups[0], half),
            field: (!self.field.is_empty()).then(|| FieldEnergy {
                potential: self.mass * sum(12) / total[11] * frame.potential_unit(),
                bulk: 0.5 * self.mass * (velocity + drift).length_squared(),
            }),
            components: self.components.iter().zip(&groups[1..]).map(of_component).collect(),
        }
    }
}

/// The kernel of the totals, bound to `potentials`, a buffer and its number of slices.
async fn totals(
    gpu: &Gpu,
    bodies: &BodyBuffers,
    (potentials, slices): (&wgpu::Buffer, u32),
    (shares, field): (&wgpu::Buffer, &DeviceField),
    totals: &wgpu::Buffer,
) -> Result<BoundKernel> {
    let mut params = Params::new(gpu, "diagnosis params", 1);
    params.offset_of(DiagnosisParams { count: bodies.count, slices, ..Default::default() });
    params.upload(gpu);
    let buffers = [&bodies.position_mass, &bodies.velocity, potentials, shares, totals];
    bound(gpu, "totals", &buffers, Some(&params), field).await
}

/// A storage buffer of at least `bytes` bytes.
fn bytes(gpu: &Gpu, label: &str, bytes: u64) -> wgpu::Buffer {
    storage(gpu, label, bytes.div_ceil(VEC4) as usize)
}

/// The groups and the chunks of their members.
#[derive(Default)]
struct GroupLayout {
    length: usize,
    frame: Frame,
    groups: Vec<DiagnosisGroup>,
    chunks: Vec<DiagnosisChunk>,
}

impl GroupLayout {
    /// Adds a group. Its members begin at entry `listed` of the list; `None` is for all bodies.
    fn add(
        &mut self,
        bodies: &Bodies,
        share: &dyn Fn(usize) -> f64,
        members: &[usize],
        listed: Option<u32>,
    ) {
        let count = members.len();
        let massless = members.iter().all(|&i| bodies.mass[i] == 0.0);
        // Bounded below, so that its reciprocals are finite in f32.
        let share_of_all = crate::math::sum(members.iter().map(|&i| share(i))).max(1e-29);
        let mean = crate::math::sum_vec(members.iter().map(|&i| bodies.position[i])) / count as f64;
        let first_chunk = self.chunks.len() as u32;
        let (first, group) = (listed.unwrap_or(0), self.groups.len() as u32);
        for begin in (0..count).step_by(self.length) {
            let end = (begin + self.length).min(count);
            self.chunks.push(DiagnosisChunk {
                group,
                begin: first + begin as u32,
                end: first + end as u32,
                listed: u32::from(listed.is_some()),
            });
        }
        // Members without mass are counted instead of weighed.
        let (weight, each, units, one) = if massless {
            (0.0, (count as f32).recip(), 0.0, 1)
        } else {
            (share_of_all.recip() as f32, 0.0, (f64::from(1u32 << 31) / share_of_all) as f32, 0)
        };
        self.groups.push(DiagnosisGroup {
            centre: self.frame.position(mean),
            radius_squared: f32::MAX,
            weight,
            each,
            units,
            whole: one,
            least: least_in_sphere(count) as u32,
            first_chunk,
            end_chunk: self.chunks.len() as u32,
            ..DiagnosisGroup::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;
    use crate::gpu::{Language, translate};

    #[test]
    fn all_shaders_validate_and_translate() {
        let all = ["totals", "sphere", "settle", "radii", "select"];
        let field: Field = "nfw:mass=2,scale=3 tidal:xx=1 point:mass=1".parse().unwrap();
        let field = DeviceField::new(&field, &Frame::PLAIN).unwrap();
        let none = DeviceField::none();
        for (name, field) in all.map(|name| (name, &none)).into_iter().chain([("totals", &field)]) {
            let text = text(name, field).unwrap();
            for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                let out = translate(name, &text, language, Checks::Off);
                assert!(out.unwrap_or_else(|e| panic!("{e}\n{text}")).len() > 500);
            }
        }
    }
}
