//! Bodies that several devices share by domains: each device has a part of the space-filling curve and its
//! part of one tree (`forces/tree/gpu/domains/`). Forces have the bits of one device.
//!
//! Bodies move from device to device at every step, so a device finds its bodies by their numbers
//! when they are read.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use glam::DVec3;
use rayon::prelude::*;
use web_time::Instant;

use super::open::{Topology, devices_per_rank, patience};
use super::team::{Local, run_on_each};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member, Ranks};
use crate::forces::direct::gpu::KernelVariant;
use crate::forces::tree::domains::cut::{Sample, cuts, part_of};
use crate::forces::tree::gpu::domains::{Outcome, PartBodies, PartTree, Placed};
use crate::forces::tree::gpu::{Field, ReceivedRoom, TreeShape, interactions};
use crate::forces::tree::{Cube, Key, PointMass, key};
use crate::forces::{DeviceField, Method, last};
use crate::frame::{Frame, Rests, narrow};
use crate::gpu::{Checks, DevicePart, Gpu, Share, Spent, fine, read_part};
use crate::integrate::DeviceIntegrator;
use crate::integrate::blocks::Restart;
use crate::settings::Domains;
use crate::sim::backend::advanced;
use crate::sim::{Backend, BackendEntry, BoxFuture, Capabilities, Observed, Settings, Watch};
use crate::stop;

/// Several devices that each have a part of the bodies.
pub const BACKEND: BackendEntry = BackendEntry {
    suits: |choice, settings, n| {
        let ranks = choice.ranks.as_ref().map_or(1, Ranks::size);
        let members = choice.devices().count() * ranks;
        let are_several = members > 1;
        choice.gpu.is_some()
            && are_several
            && !choice.is_mixed
            && !settings.steps_on_host()
            && choice.method == Method::Tree
            && match settings.domains {
                Domains::On => true,
                Domains::Off => false,
                Domains::Auto => n / members >= FEWEST && choice.check_domains(settings).is_ok(),
            }
    },
    open: |choice, bodies, settings, restart| {
        Box::pin(async move {
            let devices: Vec<Arc<Gpu>> = choice.devices().cloned().collect();
            let group =
                DomainGroup::open(&devices, choice.ranks.as_ref(), bodies, restart, settings)?;
            Ok(Box::new(group) as Box<dyn Backend>)
        })
    },
};

/// Room for bodies on a device, as a factor on its share: parts of equal cost have up to 1.3 times
/// the mean number of bodies.
const ROOM: f64 = 1.25;

/// Longer steps are stopped on request; shorter ones are finished first.
const LONG_STEP_SECS: f64 = 0.3;

/// The fewest bodies per device for which `auto` takes domains: on two NVIDIA H100, a step of one
/// million bodies takes 4.6 ms in domains, 3.4 ms if both hold all bodies; of four million 9.6 and
/// 11.5 ms (one device: 2.3 and 8.3 ms).
const FEWEST: usize = 1 << 20;

/// Bodies of each device that are read at once.
const PIECE: usize = 1 << 20;

/// A device with its part.
struct Domain {
    gpu: Arc<Gpu>,
    member: Member,
    bodies: PartBodies,
    tree: PartTree,
    integrator: Box<dyn DeviceIntegrator>,
    how: How,
    spent: Spent,
    /// Whether a step may take so long that it should be stopped half way; true before the first.
    takes_long_steps: bool,
    /// The bodies before such a step.
    before: Option<PartBodies>,
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
    rests: Rests,
    last: Vec<[f32; 3]>,
    needs_last: bool,
    /// With ranks, the bodies after the last advance: a rank may read them while others do not.
    held: Vec<Placed>,
}

impl Domain {
    async fn new(gpu: Arc<Gpu>, member: Member, bodies: PartBodies, how: How) -> Result<Self> {
        let room = ReceivedRoom::first(bodies.capacity(), how.all, how.parts);
        let (tree, integrator) = Self::bind(&gpu, &bodies, room, &how).await?;
        let (spent, before) = (Spent::default(), None);
        let takes_long_steps = true;
        Ok(Self { gpu, member, bodies, tree, integrator, how, spent, takes_long_steps, before })
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
            }
            let (tree, integrator) = Self::bind(&self.gpu, &self.bodies, room, &self.how).await?;
            self.integrator = integrator;
            let old = std::mem::replace(&mut self.tree, tree);
            self.tree.continue_from(old);
        }
    }

    /// Records a part of a step with the integrator.
    fn integrate(
        &mut self,
        record: impl FnOnce(&mut dyn DeviceIntegrator, &Gpu, &mut wgpu::ComputePass<'_>),
    ) {
        self.integrator.set_sinks(0..self.bodies.places);
        self.integrator.begin_submission();
        let integrator = self.integrator.as_mut();
        self.gpu.submit_pass(|pass| {
            record(integrator, &self.gpu, pass);
            integrator.end_submission(&self.gpu);
        });
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
            self.integrate(|integrator, gpu, pass| integrator.close(gpu, pass, 0.0));
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
                match &mut self.before {
                    Some(before) if before.capacity() >= self.bodies.places => {
                        before.restore(&self.gpu, &self.bodies);
                    }
                    before => {
                        *before = Some(self.bodies.with_room(&self.gpu, self.bodies.capacity())?);
                    }
                }
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
            self.integrate(|integrator, gpu, pass| integrator.close(gpu, pass, dt));
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

    /// The bodies at these places, with their partial sums if these are wanted in place of their
    /// accelerations.
    async fn records(&self, places: Range<usize>, sums: bool) -> Result<Vec<Placed>> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let buffers = &self.bodies.buffers;
        let third = if sums { self.tree.partial_sums() } else { &buffers.acceleration };
        let vectors = [&buffers.position_mass, &buffers.velocity, third];
        let read = read_part::<[f32; 4]>(&self.gpu, &vectors, places.clone()).await?;
        let numbers = read_part::<u32>(&self.gpu, &[&self.bodies.numbers], places).await?;
        let record = |(k, number): (usize, &u32)| {
            let [position_mass, velocity, acceleration] = [0, 1, 2].map(|of| read[of][k]);
            let number = *number;
            Placed { position_mass, velocity, acceleration, number, ..Placed::default() }
        };
        let held = numbers[0].iter().enumerate().filter(|(_, n)| PartBodies::holds(**n));
        Ok(held.map(record).collect())
    }

    /// Calls `receive` with the bodies of all members, [`PIECE`] of each at a time.
    fn gather(&mut self, sums: bool, receive: &mut dyn FnMut(&[Placed])) -> Result<()> {
        let places = self.bodies.places as usize;
        let all = exchange::gather(&mut self.member, &[places as u64])?;
        let most = all.iter().map(|places| places[0] as usize).max().unwrap_or(0);
        for first in (0..most).step_by(PIECE) {
            let piece = first.min(places)..(first + PIECE).min(places);
            let own = pollster::block_on(self.records(piece, sums))?;
            let lengths: Vec<usize> = exchange::gather(&mut self.member, &[own.len() as u64])?
                .iter()
                .map(|length| length[0] as usize * size_of::<Placed>())
                .collect();
            let own = bytemuck::cast_slice(&own);
            self.member.all_gather(
                own,
                &lengths,
                &mut |_, received| match bytemuck::try_cast_slice(received) {
                    Ok(records) => receive(records),
                    Err(_) => receive(&bytemuck::pod_collect_to_vec::<u8, Placed>(received)),
                },
            )?;
        }
        Ok(())
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
        bodies: &Bodies,
        restart: Option<&Restart>,
        settings: &Settings,
    ) -> Result<Self> {
        let devices_per_rank = devices_per_rank(devices, ranks)?;
        let topology = Topology { devices, ranks, devices_per_rank: &devices_per_rank };
        let (g, now) = (settings.gravitational_constant, settings.begins_at());
        let frame = settings.frame_of(bodies, now);
        frame.dt(settings.dt)?;
        let external = DeviceField::new(&settings.gravitating_field(), &frame)?;
        let heaviest = bodies.mass.iter().copied().fold(0.0, f64::max);
        let largest_mass = heaviest * g / frame.mass;
        let softening = settings.softening / frame.length;
        let columns = restart.map(|restart| &restart.columns);
        let n = bodies.len();
        let rests = columns.and_then(|columns| Rests::find(columns, n));
        let first = devices.first().expect("a group has a device");
        let shape = TreeShape {
            walk: settings.known.walk(first, n),
            ..TreeShape::of(&settings.tree, Checks::from(settings.kernel.checked))
        };
        let needs_last = settings.tree.opening.needs_accelerations();
        let before = columns.filter(|_| needs_last).and_then(|columns| last::find(columns, n));
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

        let placed = narrowed(bodies, (g, &frame.at(now)), rests.as_ref(), before.as_deref())?;
        let places: Vec<PointMass> = placed.iter().map(|body| body.position_mass).collect();
        let cube = Cube::around(&places);
        let keys: Vec<Key> = places.par_iter().map(|place| key(&cube, place)).collect();
        let stride = n.div_ceil(1 << 16).max(1);
        let sample = |key: &Key| Sample { key: *key, cost: 1.0 };
        let cuts = cuts(keys.iter().step_by(stride).map(sample).collect(), parts);
        let mut domains = Vec::with_capacity(devices.len());
        for (gpu, member) in devices.iter().zip(members) {
            let own = member.member();
            let is_own = |key: &Key| part_of(&cuts, *key).min(parts - 1) == own;
            let part: Vec<Placed> = placed
                .par_iter()
                .zip(&keys)
                .filter(|(_, key)| is_own(key))
                .map(|(body, _)| *body)
                .collect();
            let room = ((n as f64 / parts as f64 * ROOM) as u32).max(part.len() as u32) + 128;
            let uploaded = PartBodies::upload(gpu, &part, room)?;
            let stride = part.len().div_ceil(1024).max(1);
            let sampled: Vec<PointMass> =
                part.iter().step_by(stride).map(|body| body.position_mass).collect();
            let made = Domain::new(Arc::clone(gpu), member, uploaded, how.clone());
            let mut domain = pollster::block_on(made)?;
            domain.tree.cut_by(sampled, part.len() as u32);
            domains.push(domain);
        }
        drop((placed, places, keys));
        let mut group = Self {
            domains,
            ranks: ranks.cloned(),
            patience: patience(devices),
            frame,
            softening: settings.softening,
            largest_mass,
            interactions: 0,
            n,
            rests: Rests::default(),
            last: Vec::new(),
            needs_last,
            held: Vec::new(),
        };
        group.check_kinds()?;
        match before {
            None => group.advance_all((0.0, 0), &mut |_| true).map(|_| ())?,
            Some(_) => group.hold()?,
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
        self.hold()?;
        Ok(done)
    }

    /// Calls `receive` with the bodies of all members; all ranks make the same call.
    fn gather(&mut self, sums: bool, receive: &mut dyn FnMut(&[Placed])) -> Result<()> {
        let group = (self.ranks.is_some(), self.patience);
        let gather = |domain: &mut Domain| domain.gather(sums, receive);
        run_on_each(&mut self.domains, group, gather, |domain| domain.gather(sums, &mut |_| ()))?;
        Ok(())
    }

    /// With ranks, keeps the bodies for reading.
    fn hold(&mut self) -> Result<()> {
        if self.ranks.is_none() {
            return Ok(());
        }
        let mut held = Vec::with_capacity(self.n);
        self.gather(false, &mut |records| held.extend_from_slice(records))?;
        self.held = held;
        Ok(())
    }
}

/// The bodies in the units of a frame, with `g` times their masses.
fn narrowed(
    bodies: &Bodies,
    (g, frame): (f64, &Frame),
    rests: Option<&Rests>,
    last: Option<&[DVec3]>,
) -> Result<Vec<Placed>> {
    let unit = frame.acceleration_unit();
    let place = |i: usize| {
        let (position, velocity) = (bodies.position[i], bodies.velocity[i]);
        let (position, velocity) = match rests {
            Some(rests) => (
                frame.scaled_exact_position(position, rests.position[i]),
                frame.scaled_exact_velocity(velocity, rests.velocity[i]),
            ),
            None => (frame.scaled_position(position), frame.scaled_velocity(velocity)),
        };
        let ([x, y, z], [vx, vy, vz], rest) = fine::split(position, velocity);
        let [ax, ay, az] = last.map_or([0.0; 3], |last| narrow(last[i] / unit));
        Placed {
            position_mass: [x, y, z, (bodies.mass[i] * g / frame.mass) as f32],
            velocity: [vx, vy, vz, bodies.tag(i) as f32],
            acceleration: [ax, ay, az, rest],
            number: i as u32,
            ..Placed::default()
        }
    };
    let placed: Vec<Placed> = (0..bodies.len()).into_par_iter().map(place).collect();
    let is_out = |body: &Placed| {
        let numbers = body.position_mass.iter().chain(&body.velocity);
        !numbers.copied().all(f32::is_finite)
    };
    match placed.par_iter().position_first(is_out) {
        None => Ok(placed),
        Some(index) => {
            let problem = "its position, mass or velocity is so far from that of the other bodies that it leaves the range of f32".to_owned();
            Err(Error::Body { index, id: bodies.id[index], problem })
        }
    }
}

/// Writes what `of` gives for each record where its number says; nothing into an empty slice.
fn scatter<T: Send>(into: &mut [T], records: &[Placed], of: impl Fn(&Placed) -> T + Sync) {
    // Each thread takes a range of the numbers and looks at all records.
    let each = into.len().div_ceil(rayon::current_num_threads()).max(1);
    into.par_chunks_mut(each).enumerate().for_each(|(k, chunk)| {
        for record in records {
            let at = (record.number as usize).wrapping_sub(k * each);
            if let Some(value) = chunk.get_mut(at) {
                *value = of(record);
            }
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
            let n = self.n;
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
            let three = |v: [f32; 4]| [v[0], v[1], v[2]];
            let motion = |record: &Placed| {
                let (at, v) = (three(record.position_mass), three(record.velocity));
                fine::join(at, v, record.acceleration[3])
            };
            let mut receive = |records: &[Placed]| {
                scatter(&mut bodies.position, records, |record| {
                    frame.exact_position(motion(record).0).0
                });
                scatter(&mut bodies.velocity, records, |record| {
                    frame.exact_velocity(motion(record).1).0
                });
                scatter(&mut acceleration, records, |record| {
                    frame.wide_acceleration(three(record.acceleration))
                });
                scatter(&mut rests.position, records, |record| {
                    frame.exact_position(motion(record).0).1
                });
                scatter(&mut rests.velocity, records, |record| {
                    frame.exact_velocity(motion(record).1).1
                });
                scatter(&mut last, records, |record| three(record.acceleration));
            };
            match self.ranks.is_some() {
                true => self.held.chunks(PIECE).for_each(&mut receive),
                false => self.gather(false, &mut receive)?,
            }
            (self.rests, self.last) = (rests, last);
            Ok(acceleration)
        })
    }

    fn potential(&mut self) -> BoxFuture<'_, Result<Vec<f64>>> {
        Box::pin(async move {
            let unit = self.frame.potential_unit();
            let mut potential = vec![0.0; self.n];
            let mut receive = |records: &[Placed]| {
                let of = |record: &Placed| f64::from(record.acceleration[3]) * unit;
                scatter(&mut potential, records, of);
            };
            let evaluate = |domain: &mut Domain| pollster::block_on(domain.evaluate(true));
            run_on_each(
                &mut self.domains,
                (self.ranks.is_some(), self.patience),
                evaluate,
                evaluate,
            )?;
            self.gather(true, &mut receive)?;
            match potential.par_iter().position_first(|phi| !phi.is_finite()) {
                None => Ok(potential),
                Some(index) => Err(Error::Body {
                    index,
                    id: index as u64,
                    problem: format!("its potential is {}", potential[index]),
                }),
            }
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
            let mut other = Self::open(&devices, ranks.as_ref(), bodies, None, settings)?;
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
        let mut restart = Restart::of_rests(&self.rests);
        if !self.last.is_empty() {
            let (frame, last) = (self.frame, &self.last);
            let wide = |i: usize| frame.wide_acceleration(last[i]);
            restart.columns.extend(last::columns_of(last.len(), wide));
        }
        restart
    }

    fn capabilities(&self, _: f64) -> Capabilities<'_> {
        Capabilities { parts_frame: Some(self.frame), ..Capabilities::default() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::AdapterRequest;
    use crate::scene::{Scene, Spread, test_bodies};
    use crate::sim::{ASKED_FOR, Choice, EngineKind, Simulation};

    fn adapter() -> Arc<Gpu> {
        let name = std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default();
        let request = match name.as_str() {
            "" => AdapterRequest::default(),
            name => AdapterRequest::named(name),
        };
        Gpu::open_blocking(&request).expect("the device tests need an adapter")
    }

    fn settings() -> Settings {
        Settings {
            softening: 0.05,
            dt: 0.01,
            engine: EngineKind::Gpu,
            method: Some(Method::Tree),
            domains: Domains::On,
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
        let mut group = DomainGroup::open(&devices, None, bodies, None, settings).unwrap();
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
        let mut group = DomainGroup::open(&devices, None, &bodies, None, &settings).unwrap();
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

    #[test]
    #[ignore = "takes minutes: script/test --long"]
    fn cuts_at_each_of_a_hundred_steps_have_the_bits_of_one_device() {
        let alone = Settings { domains: Domains::Off, ..settings() };
        let choice = Choice::of(EngineKind::Gpu, Method::Tree, ASKED_FOR, Some(adapter()));
        let bodies = test_bodies(3000, Spread::Even);
        let mut one = Simulation::on(choice, bodies, alone).unwrap();
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
        let alone = Settings { domains: Domains::Off, field, ..settings() };
        let settings = Settings { domains: Domains::On, ..alone.clone() };
        let bodies = test_bodies(3000, Spread::Even);
        let choice = Choice::of(EngineKind::Gpu, Method::Tree, ASKED_FOR, Some(adapter()));
        let mut one = Simulation::on(choice, bodies.clone(), alone).unwrap();
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
