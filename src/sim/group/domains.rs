//! Bodies that several devices share by domains: each device has a part of the space-filling curve and its
//! part of one tree (`forces/tree/gpu/domains/`). Forces have the bits of one device.
//!
//! Bodies move from device to device at every step, so a device finds its bodies by their numbers
//! when they are read.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::wall_clock::Instant;
use glam::DVec3;
use rayon::prelude::*;

use super::open::{Topology, devices_per_rank, patience};
use super::team::{Local, run_on_each};
use crate::bodies::{Bodies, Rows};
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member, Ranks, equal_shares};
use crate::forces::direct::gpu::KernelVariant;
use crate::forces::tree::domains::cut::{Sample, cuts, part_of};
use crate::forces::tree::gpu::domains::{Outcome, PartBodies, PartTree, Placed};
use crate::forces::tree::gpu::{Field, ReceivedRoom, TreeShape, interactions};
use crate::forces::tree::{Cube, PointMass, key};
use crate::forces::{DeviceField, Method, last};
use crate::frame::{Frame, Rests, narrow};
use crate::gpu::layout::VEC4;
use crate::gpu::{BodyBuffers, Checks, DevicePart, Gpu, Readback, Share, Spent, fine};
use crate::integrate::DeviceIntegrator;
use crate::integrate::blocks::Restart;
use crate::math::{AllReduce, Alone, all_largest_of};
use crate::sim::backend::{advanced, first_of_all};
use crate::sim::device::Strongest;
use crate::sim::{Backend, BackendEntry, BodyPart, BodyParts, BoxFuture};
use crate::sim::{Capabilities, Observed, Settings, Varying, Watch};
use crate::stop;

/// Several devices that each have a part of the bodies.
pub const BACKEND: BackendEntry = BackendEntry {
    suits: |choice, settings, _| {
        choice.gpu.is_some()
            && (!choice.others.is_empty() || choice.is_shared())
            && !choice.is_mixed
            && !settings.steps_on_host()
            && choice.method == Method::Tree
    },
    open: |choice, bodies, settings, restart| {
        Box::pin(async move {
            let devices: Vec<Arc<Gpu>> = choice.devices().cloned().collect();
            let group = DomainGroup::open(
                &devices,
                choice.ranks.as_ref(),
                (&*bodies, choice.rows.as_ref()),
                restart,
                settings,
            )?;
            Ok(Box::new(group) as Box<dyn Backend>)
        })
    },
};

/// Room for bodies on a device, as a factor on its share: parts of equal cost have up to 1.3 times
/// the mean number of bodies.
const ROOM: f64 = 1.25;

/// Longer steps are stopped on request; shorter ones are finished first.
const LONG_STEP_SECS: f64 = 0.3;

/// Bodies of each device that are read or sent at once. Their messages take 16 MiB, which the
/// allocator uses again: above 32 MiB glibc takes new pages each time, which are written at 1.6 GB/s.
const PIECE: usize = 1 << 18;

/// A device with its part.
struct Domain {
    gpu: Arc<Gpu>,
    member: Member,
    bodies: PartBodies,
    tree: PartTree,
    integrator: Box<dyn DeviceIntegrator>,
    how: How,
    spent: Spent,
    /// Whether a step may take so long that it should be stopped half way; true before the first
    /// forces or steps.
    takes_long_steps: bool,
    /// The bodies before such a step.
    before: Option<PartBodies>,
    /// The bodies before the steps that [`Varying::restore`] takes back.
    saved: Option<PartBodies>,
    /// Bound to the present buffers.
    strongest: Option<Strongest>,
}

/// What all parts have in common.
#[derive(Clone)]
struct How {
    shape: TreeShape,
    field: Field,
    external: DeviceField,
    parts: usize,
    all: u32,
    make: crate::integrate::MakeDevice,
}

/// A part whose bodies arrive.
struct Arrival {
    member: Member,
    part: Vec<Placed>,
}

impl Local for Arrival {
    fn member(&mut self) -> &mut Member {
        &mut self.member
    }
}

impl Local for Domain {
    fn member(&mut self) -> &mut Member {
        &mut self.member
    }
}

/// The group.
struct DomainGroup {
    domains: Vec<Domain>,
    ranks: Option<Ranks>,
    patience: Duration,
    frame: Frame,
    softening: f64,
    largest_mass: f64,
    /// Interactions so far, as one device counts them.
    interactions: u64,
    n: usize,
    /// The bodies of this rank, if each rank has some.
    rows: Option<Rows>,
    /// The bodies that each rank reads, and the member that receives them: its first device.
    readers: Vec<(usize, Range<usize>)>,
    /// Of the bodies read last by this rank: what f64 does not hold, if that is anything on any rank,
    /// and accelerations.
    rests: Rests,
    has_rests: bool,
    last: Vec<[f32; 3]>,
    needs_last: bool,
}

impl Domain {
    async fn new(gpu: Arc<Gpu>, member: Member, bodies: PartBodies, how: How) -> Result<Self> {
        let room = ReceivedRoom::first(bodies.capacity(), how.all, how.parts);
        let (tree, integrator) = Self::bind(&gpu, &bodies, room, &how).await?;
        Ok(Self {
            gpu,
            member,
            bodies,
            tree,
            integrator,
            how,
            spent: Spent::default(),
            takes_long_steps: true,
            before: None,
            saved: None,
            strongest: None,
        })
    }

    async fn bind(
        gpu: &Arc<Gpu>,
        bodies: &PartBodies,
        room: ReceivedRoom,
        how: &How,
    ) -> Result<(PartTree, Box<dyn DeviceIntegrator>)> {
        let How { shape, field, external, parts, all, make } = how;
        let (gpu_, of) = (Arc::clone(gpu), (*parts, *all));
        let tree = PartTree::new(gpu_, *shape, bodies, of, room, field.clone()).await?;
        let sums = (tree.partial_sums(), 1);
        let integrator = make(gpu, &bodies.buffers, sums, external).await?;
        Ok((tree, integrator))
    }

    /// Forces of all bodies, in buffers with more room if there is too little.
    async fn evaluate(&mut self, potential: bool) -> Result<()> {
        loop {
            let done = self.tree.evaluate(&mut self.member, &mut self.bodies, potential).await?;
            let Outcome::NeedsRoom(bodies, needed) = done else { return Ok(()) };
            let (have, room) = (self.tree.room(), self.tree.room().with(needed));
            if bodies <= self.bodies.capacity() && room == have {
                // Another rank has no room. All begin again.
                continue;
            }
            log::debug!("domain {}: room for {bodies} bodies, {room:?}", self.member.member());
            if bodies > self.bodies.capacity() {
                self.bodies = self.bodies.with_room(&self.gpu, bodies)?;
                self.strongest = None;
            }
            // There is not always memory for two trees.
            self.tree.free()?;
            let (tree, integrator) = Self::bind(&self.gpu, &self.bodies, room, &self.how).await?;
            self.integrator = integrator;
            let old = std::mem::replace(&mut self.tree, tree);
            self.tree.continue_from(old);
        }
    }

    /// Records a part of a step with the integrator, which is submitted with what follows.
    fn integrate(
        &mut self,
        record: impl FnOnce(&mut dyn DeviceIntegrator, &Gpu, &mut wgpu::ComputePass<'_>),
    ) {
        self.integrator.set_sinks(0..self.bodies.places);
        self.integrator.begin_submission();
        let integrator = self.integrator.as_mut();
        self.tree.record(|pass| {
            record(integrator, &self.gpu, pass);
            integrator.end_submission(&self.gpu);
        });
    }

    /// Records the end of a step, and submits it.
    fn close(&mut self, dt: f64) {
        self.integrate(|integrator, gpu, pass| integrator.close(gpu, pass, dt));
        self.tree.send();
    }

    /// Takes up to `steps` steps of `dt`, in the frame's unit, or only the first forces. `watch` is
    /// asked by the first device; `last` tells the others of this process.
    async fn advance(
        &mut self,
        (dt, steps): (f64, u64),
        last: &AtomicU64,
        watch: &mut Watch<'_>,
    ) -> Result<u64> {
        let begun = Instant::now();
        if steps == 0 {
            self.evaluate(false).await?;
            self.close(0.0);
            let is_long = self.tree.report().secs > LONG_STEP_SECS;
            self.takes_long_steps = self.member.greatest(u8::from(is_long))? > 0;
            return Ok(0);
        }
        let mut done = 0;
        while done < steps {
            if stop::is_wanted() {
                last.fetch_min(done, Ordering::SeqCst);
            }
            self.member.poll_stop();
            let ends = u8::from(last.load(Ordering::SeqCst) <= done);
            if self.member.greatest(ends)? > 0 {
                break;
            }
            // A step that may be stopped half way is taken back.
            if self.takes_long_steps {
                self.bodies.copy_to(&self.gpu, &mut self.before)?;
            }
            let step_begun = Instant::now();
            self.integrate(|integrator, gpu, pass| integrator.open(gpu, pass, dt, None));
            match (self.evaluate(false).await, &self.before) {
                (Err(Error::Stopped), Some(before)) => {
                    self.bodies.restore(&self.gpu, before);
                    break;
                }
                (evaluated, _) => evaluated?,
            }
            let report = self.tree.report();
            self.spent.exchanges += report.secs - report.device_secs;
            self.close(dt);
            let is_long = step_begun.elapsed().as_secs_f64() > LONG_STEP_SECS;
            self.takes_long_steps = self.member.greatest(u8::from(is_long))? > 0;
            if !self.takes_long_steps {
                self.before = None;
            }
            done += 1;
            if !watch(done) {
                last.fetch_min(done, Ordering::SeqCst);
            }
        }
        self.spent.steps += begun.elapsed().as_secs_f64();
        Ok(done)
    }

    /// Whether any member is asked to stop.
    fn must_stop(&mut self) -> Result<bool> {
        self.member.poll_stop();
        Ok(self.member.greatest(u8::from(stop::is_wanted()))? > 0)
    }

    /// The bits of the square of the largest acceleration of the bodies of all parts.
    async fn strongest_bits(&mut self) -> Result<u32> {
        let PartBodies { buffers, numbers, places } = &self.bodies;
        // On an error it is dropped and not reused.
        let mut strongest = match self.strongest.take() {
            Some(strongest) => strongest,
            None => Strongest::new(&self.gpu, buffers, Some(numbers)).await?,
        };
        let bits = strongest.squared_bits(&self.gpu, *places).await?;
        self.strongest = Some(strongest);
        let all = exchange::gather(&mut self.member, &[bits])?;
        Ok(all.iter().map(|bits| bits[0]).max().unwrap_or(0))
    }

    /// Reads the bodies at these places in the order of their numbers.
    async fn read_at<T: BodyRecord>(
        &self,
        (readback, order): (&mut Readback, &mut Vec<(u32, u32)>),
        places: Range<usize>,
        records: &mut Vec<T>,
    ) -> Result<()> {
        records.clear();
        if places.is_empty() {
            return Ok(());
        }
        let bytes = |each: u64| places.start as u64 * each..places.end as u64 * each;
        let mut ranges = vec![(&self.bodies.numbers, bytes(4))];
        ranges.extend(T::buffers(self).into_iter().map(|buffer| (buffer, bytes(VEC4))));
        readback.copy(&self.gpu, &ranges).await?;
        let read = |words: &[&[u32]]| {
            order.clear();
            let numbered = (0..).zip(words[0]).filter(|(_, number)| PartBodies::holds(**number));
            order.extend(numbered.map(|(k, number)| (*number, k)));
            order.par_sort_unstable();
            let record = |(number, k): &(u32, u32)| {
                let k = *k as usize;
                T::of(*number, |buffer| {
                    std::array::from_fn(|i| f32::from_bits(words[1 + buffer][4 * k + i]))
                })
            };
            order.par_iter().map(record).collect_into_vec(records);
        };
        readback.arrive_as(read).await
    }

    /// Sends its bodies to those of `readers` that read them, and calls `receive` with what this
    /// member reads, [`PIECE`] of the bodies of each member at a time.
    fn send_to<T: BodyRecord>(
        &mut self,
        readers: &[(usize, Range<usize>)],
        receive: &mut dyn FnMut(&[T]),
    ) -> Result<()> {
        let places = self.bodies.places as usize;
        let all = exchange::gather(&mut self.member, &[places as u64])?;
        let most = all.iter().map(|places| places[0] as usize).max().unwrap_or(0);
        let (mut readback, mut order, mut own) = (Readback::default(), Vec::new(), Vec::new());
        for first in (0..most).step_by(PIECE) {
            let piece = first.min(places)..(first + PIECE).min(places);
            pollster::block_on(self.read_at::<T>((&mut readback, &mut order), piece, &mut own))?;
            let mut messages: Vec<&[u8]> = vec![&[]; self.member.members()];
            for (reader, rows) in readers {
                let begin = |row: usize| own.partition_point(|body| (body.number() as usize) < row);
                messages[*reader] = bytemuck::cast_slice(&own[begin(rows.start)..begin(rows.end)]);
            }
            self.member.all_to_all(
                &messages,
                &mut |_, received| match bytemuck::try_cast_slice(received) {
                    Ok(records) => receive(records),
                    Err(_) => receive(&bytemuck::pod_collect_to_vec::<u8, T>(received)),
                },
            )?;
        }
        Ok(())
    }
}

/// What is read of a body, with the body's number among all.
trait BodyRecord: bytemuck::Pod + Send + Sync {
    /// The buffers that have it on a device, `array<vec4<f32>>`.
    fn buffers(domain: &Domain) -> Vec<&wgpu::Buffer>;

    /// The record of body `number`, given its entry of each buffer.
    fn of(number: u32, entry: impl Fn(usize) -> [f32; 4]) -> Self;

    fn number(&self) -> u32;
}

/// Position, velocity and acceleration of a body.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct StateAt {
    number: u32,
    position: [f32; 3],
    velocity: [f32; 3],
    acceleration: [f32; 3],
    /// The low bits of position and velocity.
    rest: f32,
}

impl BodyRecord for StateAt {
    fn buffers(domain: &Domain) -> Vec<&wgpu::Buffer> {
        let BodyBuffers { position_mass, velocity, acceleration, .. } = &domain.bodies.buffers;
        vec![position_mass, velocity, acceleration]
    }

    fn of(number: u32, entry: impl Fn(usize) -> [f32; 4]) -> Self {
        let [position, velocity, acceleration] = [0, 1, 2].map(entry);
        let rest = acceleration[3];
        let [position, velocity, acceleration] =
            [position, velocity, acceleration].map(|[x, y, z, _]| [x, y, z]);
        Self { number, position, velocity, acceleration, rest }
    }

    fn number(&self) -> u32 {
        self.number
    }
}

/// The potential of a body, in the frame's unit.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct PotentialAt {
    number: u32,
    potential: f32,
}

impl BodyRecord for PotentialAt {
    fn buffers(domain: &Domain) -> Vec<&wgpu::Buffer> {
        vec![domain.tree.partial_sums()]
    }

    fn of(number: u32, entry: impl Fn(usize) -> [f32; 4]) -> Self {
        Self { number, potential: entry(0)[3] }
    }

    fn number(&self) -> u32 {
        self.number
    }
}

impl DomainGroup {
    /// Distributes `bodies` along the curve and computes their accelerations.
    ///
    /// # Errors
    /// Devices of several kinds; those of [`PartTree::new`]; bodies that no frame holds.
    fn open(
        devices: &[Arc<Gpu>],
        ranks: Option<&Ranks>,
        (bodies, rows): (&Bodies, Option<&Rows>),
        restart: Option<&Restart>,
        settings: &Settings,
    ) -> Result<Self> {
        let devices_per_rank = devices_per_rank(devices, ranks)?;
        let topology = Topology { devices, ranks, devices_per_rank: &devices_per_rank };
        // The ranks that have the other bodies.
        let others = ranks.filter(|_| rows.is_some());
        let all: &dyn AllReduce = others.map_or(&Alone, |ranks| ranks);
        let whole = Rows::all(bodies.len());
        let rows = rows.unwrap_or(&whole);
        let (n, numbered) = (rows.n, |error: Error| error.numbered_from(rows.own.start));
        let (g, now) = (settings.gravitational_constant, settings.begins_at());
        let checked = settings.check_reach_of_all(all, rows, bodies);
        first_of_all(others, checked.map_err(numbered))?;
        let frame = settings.frame_of_all(all, rows, bodies, now)?;
        frame.dt(settings.dt)?;
        let external = DeviceField::new(&settings.gravitating_field(), &frame)?;
        let heaviest = all_largest_of(all, bodies.len(), |i| bodies.mass[i])?;
        let largest_mass = heaviest * g / frame.mass;
        let softening = settings.softening / frame.length;
        let columns = restart.map(|restart| &restart.columns);
        let rests = columns.and_then(|columns| Rests::find(columns, bodies.len()));
        let first = devices.first().expect("a group has a device");
        let shape = TreeShape {
            walk: settings.known.walk(first, n),
            ..TreeShape::of(&settings.tree, Checks::from(settings.kernel.checked))
        };
        let needs_last = settings.tree.opening.needs_accelerations();
        let before = columns.filter(|_| needs_last);
        let before = before.and_then(|columns| last::find(columns, bodies.len()));
        let lacks_before = match others {
            Some(ranks) => ranks.any(before.is_none())?,
            None => before.is_none(),
        };
        let before = before.filter(|_| !lacks_before);
        let members = topology.members(patience(devices));
        let parts = devices_per_rank.iter().sum();
        let how = How {
            shape,
            field: Field {
                softening: softening as f32,
                guarded: KernelVariant::is_guarded(softening, largest_mass),
                potential: false,
                has_accelerations: before.is_some(),
                is_closed: true,
                external: (!external.is_empty()).then(|| external.clone()),
            },
            external,
            parts,
            all: u32::try_from(n)
                .map_err(|_| Error::value("the number of bodies", n, "below 2^32"))?,
            make: settings.integrator.device.ok_or_else(|| {
                Error::value("the integrator", settings.integrator.name, "one with a device side")
            })?,
        };

        let frame_now = frame.at(now);
        let narrowed = Narrowed {
            bodies,
            first: rows.own.start,
            g,
            frame: &frame_now,
            rests: rests.as_ref(),
            last: before.as_deref(),
        };
        first_of_all(others, narrowed.check().map_err(numbered))?;
        let cube = narrowed.cube(all)?;
        let key_of = |body: &Placed| key(&cube, &body.position_mass);
        let sample = |i: usize| Sample { key: key_of(&narrowed.place(i)), cost: 1.0 };
        let samples = rows.sampled(1 << 16).map(sample).collect::<Vec<_>>();
        let samples = match others {
            Some(ranks) => ranks.gather(&samples)?.concat(),
            None => samples,
        };
        let cuts = cuts(samples, parts);
        let part_of = |body: &Placed| part_of(&cuts, key_of(body)).min(parts - 1);
        // Ranks that all have all bodies send a share each.
        let sent = match ranks {
            Some(ranks) if others.is_none() => {
                equal_shares(n, ranks.size(), 1)[ranks.rank()].clone()
            }
            _ => 0..bodies.len(),
        };
        let are_ranks = ranks.is_some();
        let arrived = narrowed.distribute(members, sent, &part_of, are_ranks, patience(devices))?;
        let mut domains = Vec::with_capacity(devices.len());
        for (gpu, Arrival { member, part }) in devices.iter().zip(arrived) {
            let room = ((n as f64 / parts as f64 * ROOM) as u32).max(part.len() as u32) + 128;
            let uploaded = PartBodies::upload(gpu, &part, room)?;
            let stride = part.len().div_ceil(1024).max(1);
            let sampled: Vec<PointMass> =
                part.iter().step_by(stride).map(|body| body.position_mass).collect();
            let count = part.len() as u32;
            drop(part);
            let made = Domain::new(Arc::clone(gpu), member, uploaded, how.clone());
            let mut domain = pollster::block_on(made)?;
            domain.tree.cut_by(sampled, count);
            domains.push(domain);
        }
        let read = match others {
            Some(ranks) => ranks.gather(&[rows.own.start as u64, rows.own.end as u64])?,
            None => vec![vec![0, n as u64]; devices_per_rank.len()],
        };
        let leader = |rank: usize| devices_per_rank[..rank].iter().sum();
        let readers = read.iter().enumerate();
        let readers =
            readers.map(|(rank, rows)| (leader(rank), rows[0] as usize..rows[1] as usize));
        let readers = readers.collect();
        let rows = others.map(|_| rows.clone());
        let mut group = Self {
            domains,
            ranks: ranks.cloned(),
            patience: patience(devices),
            frame,
            softening: settings.softening,
            largest_mass,
            interactions: 0,
            n,
            rows,
            readers,
            rests: Rests::default(),
            has_rests: false,
            last: Vec::new(),
            needs_last,
        };
        group.check_kinds()?;
        if before.is_none() {
            group.advance_all((0.0, 0), &mut |_| true)?;
        }
        Ok(group)
    }

    /// Refuses devices of several kinds, which do not compute alike.
    fn check_kinds(&self) -> Result<()> {
        let own: Vec<String> =
            self.domains.iter().map(|domain| domain.gpu.adapter.name.replace('\n', " ")).collect();
        let all = match &self.ranks {
            Some(ranks) => ranks.gather_messages(own.join("\n").as_bytes())?,
            None => vec![own.join("\n").into_bytes()],
        };
        let text: Vec<String> =
            all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
        let names: Vec<&str> = text.iter().flat_map(|text| text.lines()).collect();
        match names.iter().find(|name| *name != &names[0]) {
            None => Ok(()),
            Some(other) => {
                let is = format!("{} and {other}", names[0]);
                Err(Error::value("what the devices are", is, "of one kind with the method tree"))
            }
        }
    }

    fn advance_all(&mut self, steps: (f64, u64), watch: &mut Watch<'_>) -> Result<u64> {
        let is_first = !self.domains[0].tree.has_accelerations();
        let last = AtomicU64::new(u64::MAX);
        let last = &last;
        let done = run_on_each(
            &mut self.domains,
            (self.ranks.is_some(), self.patience),
            |domain| pollster::block_on(domain.advance(steps, last, watch)),
            |domain| pollster::block_on(domain.advance(steps, last, &mut |_| true)),
        )?[0];
        let evaluations = if steps.1 == 0 { 1 } else { done };
        for k in 0..evaluations {
            let walks = if k == 0 && is_first { 2 } else { 1 };
            self.interactions += interactions(self.n as u32, walks);
        }
        Ok(done)
    }

    /// Calls `receive` with what this rank reads of bodies; all ranks make the same call.
    fn read_records<T: BodyRecord>(&mut self, receive: &mut dyn FnMut(&[T])) -> Result<()> {
        let group = (self.ranks.is_some(), self.patience);
        let readers = &self.readers;
        let first = |domain: &mut Domain| domain.send_to(readers, receive);
        let others = |domain: &mut Domain| domain.send_to::<T>(readers, &mut |_| ());
        run_on_each(&mut self.domains, group, first, others)?;
        Ok(())
    }

    /// The bodies that this rank reads.
    fn rows(&self) -> Range<usize> {
        self.readers[self.ranks.as_ref().map_or(0, Ranks::rank)].1.clone()
    }
}

/// The bodies in the units of a frame, with `g` times their masses. Each is computed when it is
/// needed: a part needs only its own.
struct Narrowed<'a> {
    bodies: &'a Bodies,
    /// The number of the first.
    first: usize,
    g: f64,
    frame: &'a Frame,
    rests: Option<&'a Rests>,
    last: Option<&'a [DVec3]>,
}

impl Narrowed<'_> {
    fn place(&self, i: usize) -> Placed {
        let Self { bodies, frame, .. } = self;
        let (position, velocity) = (bodies.position[i], bodies.velocity[i]);
        let (position, velocity) = match self.rests {
            Some(rests) => (
                frame.scaled_exact_position(position, rests.position[i]),
                frame.scaled_exact_velocity(velocity, rests.velocity[i]),
            ),
            None => (frame.scaled_position(position), frame.scaled_velocity(velocity)),
        };
        let ([x, y, z], [vx, vy, vz], rest) = fine::split(position, velocity);
        let unit = frame.acceleration_unit();
        let [ax, ay, az] = self.last.map_or([0.0; 3], |last| narrow(last[i] / unit));
        Placed {
            position_mass: [x, y, z, (bodies.mass[i] * self.g / frame.mass) as f32],
            velocity: [vx, vy, vz, bodies.tag(i) as f32],
            acceleration: [ax, ay, az, rest],
            number: (self.first + i) as u32,
            ..Placed::default()
        }
    }

    /// The cube of the bodies of all processes.
    ///
    /// # Errors
    /// As of [`AllReduce`].
    fn cube(&self, all: &dyn AllReduce) -> Result<Cube> {
        let pieces = (0..self.bodies.len()).into_par_iter().chunks(1 << 14);
        let counts = pieces.map(|piece| {
            let places: Vec<PointMass> =
                piece.into_iter().map(|i| self.place(i).position_mass).collect();
            Cube::counts(&places)
        });
        let add = |mut all: [u64; 257], some: [u64; 257]| {
            all.iter_mut().zip(some).for_each(|(all, some)| *all += some);
            all
        };
        let mut counts = counts.reduce(|| [0; 257], add).map(i128::from);
        all.integers(&mut counts)?;
        Ok(Cube::of_counts(&counts.map(|count| count as u64)))
    }

    /// Sends the bodies `sent` to their parts: each of `members` gets its own, from all processes.
    ///
    /// # Errors
    /// A rank is gone.
    fn distribute(
        &self,
        members: Vec<Member>,
        sent: Range<usize>,
        part_of: &(dyn Fn(&Placed) -> usize + Sync),
        are_ranks: bool,
        patience: Duration,
    ) -> Result<Vec<Arrival>> {
        let exchange = |arrival: &mut Arrival, sent: Range<usize>| {
            let Arrival { member, part } = arrival;
            let all = exchange::gather(member, &[sent.len() as u64])?;
            let most = all.iter().map(|sent| sent[0] as usize).max().unwrap_or(0);
            for first in (0..most).step_by(PIECE) {
                let at = |row: usize| sent.start + row.min(sent.len());
                let place = |i: usize| self.place(i);
                let placed = (at(first)..at(first + PIECE)).into_par_iter().map(place);
                let placed: Vec<(usize, Placed)> =
                    placed.map(|body| (part_of(&body), body)).collect();
                let mut messages = vec![Vec::new(); member.members()];
                placed.into_iter().for_each(|(part, body)| messages[part].push(body));
                let messages: Vec<&[u8]> =
                    messages.iter().map(|bodies| bytemuck::cast_slice(bodies)).collect();
                member.all_to_all(&messages, &mut |_, arrived| {
                    let from = part.len();
                    part.resize(from + arrived.len() / size_of::<Placed>(), Placed::default());
                    bytemuck::cast_slice_mut(&mut part[from..]).copy_from_slice(arrived);
                })?;
            }
            Ok(())
        };
        let begin = |member| Arrival { member, part: Vec::new() };
        let mut arrivals: Vec<Arrival> = members.into_iter().map(begin).collect();
        let first = |arrival: &mut Arrival| exchange(arrival, sent);
        run_on_each(&mut arrivals, (are_ranks, patience), first, |other| exchange(other, 0..0))?;
        Ok(arrivals)
    }

    /// # Errors
    /// A body that f32 does not hold in this frame, by its number among those of this process.
    fn check(&self) -> Result<()> {
        let is_out = |i: &usize| {
            let body = self.place(*i);
            let numbers = body.position_mass.iter().chain(&body.velocity);
            !numbers.copied().all(f32::is_finite)
        };
        match (0..self.bodies.len()).into_par_iter().find_first(is_out) {
            None => Ok(()),
            Some(index) => {
                let problem = "its position, mass or velocity is so far from that of the other bodies that it leaves the range of f32".to_owned();
                Err(Error::Body { index, id: self.bodies.id[index], problem })
            }
        }
    }
}

/// Writes what `of` gives for each record where its number says, of which `first` is at the
/// beginning; nothing into an empty slice. Records are in the order of their numbers.
fn scatter<T: Send, R: BodyRecord>(
    (into, first): (&mut [T], usize),
    records: &[R],
    of: impl Fn(&R) -> T + Sync,
) {
    let each = into.len().div_ceil(rayon::current_num_threads()).max(1);
    into.par_chunks_mut(each).enumerate().for_each(|(k, chunk)| {
        let begin = first + k * each;
        let at = |row: usize| records.partition_point(|record| (record.number() as usize) < row);
        for record in &records[at(begin)..at(begin + chunk.len())] {
            chunk[record.number() as usize - begin] = of(record);
        }
    });
}

impl Backend for DomainGroup {
    fn describe(&self) -> String {
        let first = &self.domains[0];
        let adapter = &first.gpu.adapter;
        let mut text = format!("{} ({}), {}", adapter.name, adapter.backend, first.tree.shape());
        for domain in &self.domains[1..] {
            text += &format!(" + {}", domain.gpu.adapter.name);
        }
        if let Some(ranks) = &self.ranks {
            text += &format!(", on each of {} ranks", ranks.size());
        }
        text + ", in domains"
    }

    fn interactions(&self) -> u64 {
        self.interactions
    }

    fn advance<'a>(
        &'a mut self,
        dt: f64,
        steps: u64,
        watch: &'a mut Watch<'a>,
    ) -> BoxFuture<'a, (u64, Result<()>)> {
        Box::pin(async move {
            if steps == 0 {
                return (0, Ok(()));
            }
            let mut ended = false;
            let mut watch = |done| {
                let continues = watch(done);
                ended |= !continues;
                continues
            };
            let dt = dt / self.frame.time;
            let done = self.advance_all((dt, steps), &mut watch);
            advanced(done, steps, ended)
        })
    }

    fn read<'a>(
        &'a mut self,
        bodies: &'a mut Bodies,
        time: f64,
    ) -> BoxFuture<'a, Result<Vec<DVec3>>> {
        Box::pin(async move {
            let frame = self.frame.at(time);
            let rows = self.rows();
            let n = rows.len();
            let mut rests = std::mem::take(&mut self.rests);
            if !frame.is_central() {
                rests.position.resize(n, DVec3::ZERO);
                rests.velocity.resize(n, DVec3::ZERO);
            }
            let mut last = std::mem::take(&mut self.last);
            if self.needs_last {
                last.resize(n, [0.0; 3]);
            }
            let mut acceleration = vec![DVec3::ZERO; n];
            let motion = |body: &StateAt| fine::join(body.position, body.velocity, body.rest);
            let mut receive = |records: &[StateAt]| {
                scatter((&mut bodies.position, rows.start), records, |body| {
                    frame.exact_position(motion(body).0).0
                });
                scatter((&mut bodies.velocity, rows.start), records, |body| {
                    frame.exact_velocity(motion(body).1).0
                });
                scatter((&mut acceleration, rows.start), records, |body| {
                    frame.wide_acceleration(body.acceleration)
                });
                scatter((&mut rests.position, rows.start), records, |body| {
                    frame.exact_position(motion(body).0).1
                });
                scatter((&mut rests.velocity, rows.start), records, |body| {
                    frame.exact_velocity(motion(body).1).1
                });
                scatter((&mut last, rows.start), records, |body| body.acceleration);
            };
            self.read_records(&mut receive)?;
            self.has_rests = match &self.ranks {
                Some(ranks) => ranks.any(!rests.are_zero())?,
                None => !rests.are_zero(),
            };
            (self.rests, self.last) = (rests, last);
            Ok(acceleration)
        })
    }

    fn potential(&mut self) -> BoxFuture<'_, Result<Vec<f64>>> {
        Box::pin(async move {
            let unit = self.frame.potential_unit();
            let rows = self.rows();
            let mut potential = vec![0.0; rows.len()];
            let mut receive = |records: &[PotentialAt]| {
                let of = |record: &PotentialAt| f64::from(record.potential) * unit;
                scatter((&mut potential, rows.start), records, of);
            };
            // All stop together, and exchange bodies afterwards.
            let evaluate = |domain: &mut Domain| {
                if domain.must_stop()? {
                    return Ok(false);
                }
                match pollster::block_on(domain.evaluate(true)) {
                    Err(Error::Stopped) => Ok(false),
                    done => done.map(|()| true),
                }
            };
            let group = (self.ranks.is_some(), self.patience);
            if run_on_each(&mut self.domains, group, evaluate, evaluate)?.contains(&false) {
                return Err(Error::Stopped);
            }
            self.read_records(&mut receive)?;
            let strange = potential.par_iter().position_first(|phi| !phi.is_finite());
            let checked = strange.map_or(Ok(()), |k| {
                let (index, problem) =
                    (rows.start + k, format!("its potential is {}", potential[k]));
                Err(Error::Body { index, id: index as u64, problem })
            });
            first_of_all(self.ranks.as_ref(), checked).map(|()| potential)
        })
    }

    fn replace<'a>(
        &'a mut self,
        bodies: &'a Bodies,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let devices: Vec<_> =
                self.domains.iter().map(|domain| Arc::clone(&domain.gpu)).collect();
            let ranks = self.ranks.clone();
            let mut other =
                Self::open(&devices, ranks.as_ref(), (bodies, self.rows.as_ref()), None, settings)?;
            other.interactions += self.interactions;
            *self = other;
            Ok(())
        })
    }

    fn set_softening(&mut self, softening: f64) -> BoxFuture<'_, Result<bool>> {
        Box::pin(async move {
            let guarded = |softening: f64| {
                KernelVariant::is_guarded(softening / self.frame.length, self.largest_mass)
            };
            if guarded(softening) != guarded(self.softening) {
                return Ok(false);
            }
            self.softening = softening;
            let in_frame = (softening / self.frame.length) as f32;
            for domain in &mut self.domains {
                domain.tree.set_softening(in_frame);
                domain.how.field.softening = in_frame;
            }
            self.advance_all((0.0, 0), &mut |_| true)?;
            Ok(true)
        })
    }

    fn restart(&self) -> Restart {
        let mut restart = Restart::default();
        if self.has_rests {
            restart.columns = self.rests.columns();
        }
        if self.needs_last && self.last.len() == self.rows().len() {
            let (frame, last) = (self.frame, &self.last);
            let wide = |i: usize| frame.wide_acceleration(last[i]);
            restart.columns.extend(last::columns_of(last.len(), wide));
        }
        restart
    }

    fn capabilities(&self, _: f64) -> Capabilities<'_> {
        Capabilities { parts_frame: Some(self.frame), ..Capabilities::default() }
    }

    fn parts(&mut self) -> Option<&mut dyn BodyParts> {
        Some(self)
    }

    fn varying(&mut self) -> Option<&mut dyn Varying> {
        Some(self)
    }

    fn take_observed(&mut self) -> Observed {
        let part = |domain: &mut Domain| DevicePart {
            device: domain.gpu.adapter.in_words(),
            share: Share::Domain(domain.tree.report().bodies),
            exchanging: domain.spent.take(),
        };
        Observed { parts: self.domains.iter_mut().map(part).collect(), passage: None }
    }
}

impl Varying for DomainGroup {
    fn largest_acceleration(&mut self) -> BoxFuture<'_, Result<f64>> {
        Box::pin(async move {
            let bits_of = |domain: &mut Domain| pollster::block_on(domain.strongest_bits());
            let group = (self.ranks.is_some(), self.patience);
            let bits = run_on_each(&mut self.domains, group, bits_of, bits_of)?[0];
            Ok(Strongest::acceleration(bits, &self.frame))
        })
    }

    fn save(&mut self) -> Result<()> {
        let save = |domain: &mut Domain| {
            let Domain { gpu, bodies, saved, .. } = domain;
            bodies.copy_to(gpu, saved)
        };
        self.domains.iter_mut().try_for_each(save)
    }

    fn restore(&mut self) {
        for Domain { gpu, bodies, saved, .. } in &mut self.domains {
            saved.iter().for_each(|saved| bodies.restore(gpu, saved));
        }
    }
}

impl BodyParts for DomainGroup {
    fn devices(&self) -> Vec<Arc<Gpu>> {
        self.domains.iter().map(|domain| Arc::clone(&domain.gpu)).collect()
    }

    fn on_each(&mut self, work: &(dyn Fn(BodyPart<'_>) -> Result<()> + Sync)) -> Result<()> {
        let first = self.domains[0].member.member();
        let on_one = |domain: &mut Domain| {
            let Domain { member, bodies, how, .. } = domain;
            let (device, count) = (member.member() - first, bodies.places);
            let PartBodies { buffers, numbers, .. } = &*bodies;
            work(BodyPart { device, buffers, numbers, count, all: how.all, exchange: member })
        };
        let group = (self.ranks.is_some(), self.patience);
        run_on_each(&mut self.domains, group, on_one, on_one).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_adapter as adapter;
    use super::*;
    use crate::scene::{Scene, Spread, test_bodies};
    use crate::sim::{ASKED_FOR, Choice, EngineKind, Simulation};

    fn settings() -> Settings {
        Settings {
            softening: 0.05,
            dt: 0.01,
            engine: EngineKind::Gpu,
            method: Some(Method::Tree),
            ..Settings::default()
        }
    }

    /// The bodies after some steps in domains, of which `with` sees each, and how often the first has
    /// repeated its walks.
    fn moved(parts: usize, steps: u64, with: impl Fn(&mut PartTree)) -> (String, u64) {
        moved_of(&test_bodies(3000, Spread::Even), &settings(), parts, steps, with)
    }

    fn moved_of(
        bodies: &Bodies,
        settings: &Settings,
        parts: usize,
        steps: u64,
        with: impl Fn(&mut PartTree),
    ) -> (String, u64) {
        let devices = vec![adapter(); parts];
        let mut group = DomainGroup::open(&devices, None, (bodies, None), None, settings).unwrap();
        group.domains.iter_mut().for_each(|domain| with(&mut domain.tree));
        let dt = settings.dt / group.frame.time;
        group.advance_all((dt, steps), &mut |_| true).unwrap();
        let mut read = bodies.clone();
        let time = settings.dt * steps as f64;
        let acceleration = pollster::block_on(group.read(&mut read, time)).unwrap();
        (format!("{read:?} {acceleration:?}"), group.domains[0].tree.report().repeats)
    }

    /// One device has no room for what it receives and starts again in other buffers, and all cut the
    /// curve again meanwhile.
    #[test]
    fn room_for_one_device_changes_no_bit() {
        let (expected, _) = moved(3, 12, |_| ());
        let (bodies, settings) = (test_bodies(3000, Spread::Even), settings());
        let devices = vec![adapter(); 3];
        let mut group =
            DomainGroup::open(&devices, None, (&bodies, None), None, &settings).unwrap();
        let dt = settings.dt / group.frame.time;
        for _ in 0..4 {
            group.domains.iter_mut().for_each(|domain| domain.tree.cut_always());
            let first = &mut group.domains[0];
            let room = ReceivedRoom { bodies: 1, cells: 1, message: 1 };
            let bound = Domain::bind(&first.gpu, &first.bodies, room, &first.how);
            let (tree, integrator) = pollster::block_on(bound).unwrap();
            first.integrator = integrator;
            let old = std::mem::replace(&mut first.tree, tree);
            first.tree.continue_from(old);
            group.advance_all((dt, 3), &mut |_| true).unwrap();
            assert!(group.domains[0].tree.room() != room, "it should have grown");
        }
        let mut read = bodies.clone();
        let acceleration = pollster::block_on(group.read(&mut read, 12.0 * settings.dt)).unwrap();
        assert!(format!("{read:?} {acceleration:?}") == expected);
    }

    #[test]
    fn cuts_at_each_step_change_no_bit() {
        let (expected, _) = moved(2, 12, |_| ());
        for parts in [2, 4, 8] {
            assert!(moved(parts, 12, PartTree::cut_always).0 == expected, "{parts} parts");
        }
        assert!(moved(4, 11, PartTree::cut_always).0 != expected, "a missing step is seen");
    }

    /// Steps that are taken back leave no trace, though bodies have moved to other parts meanwhile.
    #[test]
    fn steps_taken_back_change_no_bit() {
        let (bodies, settings) = (test_bodies(3000, Spread::Even), settings());
        let (expected, _) = moved(3, 2, |_| ());
        let devices = vec![adapter(); 3];
        let mut group =
            DomainGroup::open(&devices, None, (&bodies, None), None, &settings).unwrap();
        let dt = settings.dt / group.frame.time;
        group.advance_all((dt, 1), &mut |_| true).unwrap();
        group.save().unwrap();
        let count = |group: &DomainGroup| -> Vec<u32> {
            group.domains.iter().map(|domain| domain.bodies.places).collect()
        };
        let before = count(&group);
        group.domains.iter_mut().for_each(|domain| domain.tree.cut_always());
        group.advance_all((20.0 * dt, 3), &mut |_| true).unwrap();
        assert!(count(&group) != before, "{before:?}: none has moved");
        group.restore();
        group.advance_all((dt, 1), &mut |_| true).unwrap();
        let mut read = bodies.clone();
        let acceleration = pollster::block_on(group.read(&mut read, 2.0 * settings.dt)).unwrap();
        assert!(format!("{read:?} {acceleration:?}") == expected);
    }

    /// One device finds deeper cells than it has computed moments for, and makes its cells again.
    #[test]
    fn deeper_cells_than_expected_change_no_bit() {
        let (expected, _) = moved(2, 2, |_| ());
        assert!(moved(2, 2, PartTree::expect_few_levels).0 == expected);
    }

    #[test]
    #[ignore = "takes minutes: script/test --long"]
    fn cuts_at_each_of_a_hundred_steps_have_the_bits_of_one_device() {
        let alone = settings();
        let choice = Choice::of(EngineKind::Gpu, Method::Tree, ASKED_FOR, Some(adapter()));
        let bodies = test_bodies(3000, Spread::Even);
        let mut one = Simulation::builder(bodies, alone).choice(choice).build().unwrap();
        one.step(100).unwrap();
        let expected = format!("{:?} ", one.bodies().unwrap());
        for parts in [2, 3, 4, 8] {
            let (several, repeats) = moved(parts, 100, PartTree::cut_always);
            assert!(several.starts_with(&expected), "{parts} parts");
            assert_eq!(repeats, 0, "{parts} parts");
        }
        assert!(moved(2, 2, PartTree::cut_always).0 == moved(40, 2, PartTree::cut_always).0);
    }

    /// Accelerations by other bodies are those in the order of the curve, wherever the bodies are.
    #[test]
    fn external_field_changes_no_bit() {
        let field = "plummer:mass=2,scale=1".parse().unwrap();
        let alone = Settings { field, ..settings() };
        let settings = alone.clone();
        let bodies = test_bodies(3000, Spread::Even);
        let choice = Choice::of(EngineKind::Gpu, Method::Tree, ASKED_FOR, Some(adapter()));
        let mut one = Simulation::builder(bodies.clone(), alone).choice(choice).build().unwrap();
        one.step(5).unwrap();
        let expected = one.bodies().unwrap();
        for parts in [2, 3] {
            let (several, _) = moved_of(&bodies, &settings, parts, 5, |_| ());
            assert!(several.starts_with(&format!("{expected:?} ")), "{parts} parts");
        }
    }

    /// In a halo, groups are scattered by their own part or by others', another number of them at each
    /// cut, and no walk is repeated.
    #[test]
    fn scattered_groups_miss_no_cell() {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(40_000).unwrap();
        let (_, repeats) =
            moved_of(&scene.build().unwrap(), &settings(), 4, 5, PartTree::cut_always);
        assert_eq!(repeats, 0);
    }

    /// With a choice of cells that is too bold at first, walks miss some. That is noticed, and the
    /// forces that are computed again have the same bits; if it were not, they would differ.
    #[test]
    fn walks_that_miss_cells_are_repeated_with_the_same_bits() {
        let run = |margins: Option<&'static [f32]>| {
            moved(3, 2, |tree| margins.into_iter().for_each(|margins| tree.choose_by(margins)))
        };
        let (expected, none) = run(None);
        let (healed, some) = run(Some(&[20.0, 3.0, 1.0 - 1e-5]));
        assert!(healed == expected && none == 0 && some >= 2, "{none} and {some} repeats");
        let (all, _) = run(Some(&[0.0]));
        assert!(all == expected, "more cells than needed change nothing");
        let (wrong, _) = run(Some(&[20.0]));
        assert!(wrong != expected, "missing cells change forces");
    }
}
