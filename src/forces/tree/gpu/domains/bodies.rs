//! The bodies of a part, and those that go to other parts.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use minijinja::context;

use super::MOST_PARTS;
use super::io::{Io, PartResources};
use crate::error::Result;
use crate::exchange::{self, Exchange, Member};
use crate::forces::tree::domains::cut::part_of;
use crate::forces::tree::gpu::Build;
use crate::forces::tree::gpu::build::dispatch;
use crate::forces::tree::{Cube, GROUP, Key};
use crate::gpu::layout::{TreeParams, VEC4};
use crate::gpu::{Binding, BodyBuffers, BoundKernel, Gpu, Params, storage};

/// The number of a place that holds no body: `NO_BODY` in `shaders/tree/domains/record.wgsl`.
const NO_BODY: u32 = u32::MAX;

/// LEAVING in `shaders/tree/common.wgsl`, in bytes.
const LEAVING: u64 = 4 * 282;

/// Bytes on the device for each body that there is room for: 150 as on one device
/// ([`crate::forces::tree::gpu::BYTES_PER_BODY`]); 4 for its number, 16 for keys beside those that
/// are sorted, 2 for records, 6 for boxes, and for cells and bodies of others and for others.
const BYTES_PER_BODY: u64 = 178;

/// Threads of a workgroup.
const THREADS: u32 = 256;

/// A body as it is sent: `shaders/tree/domains/record.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Placed {
    /// Position and mass.
    pub position_mass: [f32; 4],
    /// Velocity and tag.
    pub velocity: [f32; 4],
    /// Acceleration, and the low bits of position and velocity.
    pub acceleration: [f32; 4],
    /// Number among all bodies.
    pub number: u32,
    /// Its place among the bodies of this device.
    pub place: u32,
    /// The lower and the upper word of its key.
    pub key: [u32; 2],
}

impl Placed {
    /// What a place without a body holds: out of the range of the tree, without mass, and with the
    /// tag of a component of which there are no bodies.
    fn nobody(place: u32) -> Self {
        let far = f32::from_bits((127 + 100) << 23);
        Self {
            position_mass: [far, far, far, 0.0],
            velocity: [0.0, 0.0, 0.0, 255.0],
            number: NO_BODY,
            place,
            ..Self::default()
        }
    }

    pub(super) fn its_key(&self) -> Key {
        Key { hi: self.key[1], lo: self.key[0] }
    }
}

/// The bodies of a part of the curve, at places in any order.
#[derive(Clone, Debug)]
pub struct PartBodies {
    /// Their buffers, with room for as many as `count` says.
    pub buffers: BodyBuffers,
    /// `array<u32>`: the number of each among all bodies.
    pub numbers: wgpu::Buffer,
    /// Places in use.
    pub places: u32,
}

impl PartBodies {
    /// Uploads bodies, with room for `capacity` in all.
    ///
    /// # Errors
    /// More than the adapter's buffers hold; the device failed.
    pub fn upload(gpu: &Gpu, bodies: &[Placed], capacity: u32) -> Result<Self> {
        const PIECE: usize = 1 << 18;
        let room = capacity.max(bodies.len() as u32);
        gpu.check_bodies(room.into(), BYTES_PER_BODY, "tree in domains")?;
        let made = Self {
            buffers: BodyBuffers {
                count: room,
                sinks: 0..room,
                position_mass: storage(gpu, "position and mass", room as usize),
                mass: Default::default(),
                velocity: storage(gpu, "velocity", room as usize),
                acceleration: storage(gpu, "acceleration", room as usize),
                rests: Default::default(),
            },
            numbers: gpu.words("numbers of bodies", u64::from(room)),
            places: bodies.len() as u32,
        };
        for (k, piece) in bodies.chunks(PIECE).enumerate() {
            let write = |buffer: &wgpu::Buffer, of: fn(&Placed) -> [f32; 4]| {
                let values: Vec<[f32; 4]> = piece.iter().map(of).collect();
                gpu.queue.write_buffer(
                    buffer,
                    (k * PIECE) as u64 * VEC4,
                    bytemuck::cast_slice(&values),
                );
            };
            write(&made.buffers.position_mass, |body| body.position_mass);
            write(&made.buffers.velocity, |body| body.velocity);
            write(&made.buffers.acceleration, |body| body.acceleration);
            let numbers: Vec<u32> = piece.iter().map(|body| body.number).collect();
            gpu.queue.write_buffer(
                &made.numbers,
                4 * (k * PIECE) as u64,
                bytemuck::cast_slice(&numbers),
            );
            // The copy of what is written lives until the device has it.
            gpu.wait_for(gpu.queue.submit([]))?;
        }
        Ok(made)
    }

    /// The same bodies in buffers with more room.
    ///
    /// # Errors
    /// More than the adapter's buffers hold.
    pub fn with_room(&self, gpu: &Gpu, capacity: u32) -> Result<Self> {
        let mut made = Self::upload(gpu, &[], capacity)?;
        made.restore(gpu, self);
        Ok(made)
    }

    /// Copies the bodies as another has them, if they fit.
    pub fn restore(&mut self, gpu: &Gpu, other: &Self) {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        for (to, from) in self.all().into_iter().zip(other.all()) {
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size().min(to.size()));
        }
        gpu.queue.submit([encoder.finish()]);
        self.places = other.places;
    }

    /// Copies the bodies into `copy`, or into one made for as many.
    ///
    /// # Errors
    /// More than the adapter's buffers hold; the device failed.
    pub fn copy_to(&self, gpu: &Gpu, copy: &mut Option<Self>) -> Result<()> {
        match copy {
            Some(copy) if copy.capacity() >= self.places => copy.restore(gpu, self),
            copy => *copy = Some(self.with_room(gpu, self.capacity())?),
        }
        Ok(())
    }

    fn all(&self) -> [&wgpu::Buffer; 4] {
        let BodyBuffers { position_mass, velocity, acceleration, .. } = &self.buffers;
        [position_mass, velocity, acceleration, &self.numbers]
    }

    /// Places that there are.
    pub fn capacity(&self) -> u32 {
        self.buffers.count
    }

    /// Whether a place with this number holds a body.
    pub fn holds(number: u32) -> bool {
        number != NO_BODY
    }
}

/// Numbers of bodies of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// In the cube.
    pub inside: u32,
    /// Outside the cube, on the last part only.
    pub outside: u32,
}

/// The kernels that send bodies to their parts.
pub(super) struct Migration {
    leave: BoundKernel,
    settle: BoundKernel,
    cuts: wgpu::Buffer,
    /// Of bodies that leave, then of those that arrive.
    pub records: wgpu::Buffer,
    moves: wgpu::Buffer,
    /// How many there is room for at a time.
    room: u32,
    /// How many are read at once.
    expected: u32,
}

impl Migration {
    pub async fn new(io: &Io, shared: &PartResources<'_>) -> Result<Self> {
        let PartResources { buffers, bodies, checks, .. } = *shared;
        let room = bodies.capacity() / 32 + 1024;
        let cuts = io.gpu.words("cuts", 2 * MOST_PARTS as u64);
        let records = storage(&io.gpu, "bodies that leave", 4 * room as usize);
        let moves = io.gpu.words("moves", 2 * u64::from(room));
        use Binding::{Read, Write};
        let [positions, velocities, accelerations, numbers] = bodies.all();
        let leave = {
            let bound = [
                (Read, positions),
                (Read, velocities),
                (Read, accelerations),
                (Read, numbers),
                (Read, &buffers.state),
                (Read, &cuts),
                (Write, &records),
                (Write, &buffers.tally),
            ];
            io.kernel("leave", context! {}, &bound, true, checks).await?
        };
        let bound = [
            (Write, positions),
            (Write, velocities),
            (Write, accelerations),
            (Write, numbers),
            (Read, &records),
            (Read, &moves),
        ];
        let settle = io.kernel("settle", context! {}, &bound, true, checks).await?;
        Ok(Self { leave, settle, cuts, records, moves, room, expected: 1024 })
    }

    /// Records the list of bodies in `places` places that leave part `part` of `parts`, if the
    /// curve is cut at `cuts`. The tally must have counted none.
    pub fn record_leaving(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        (places, part, parts): (u32, usize, usize),
        most: u32,
    ) {
        let (part, parts) = (part as u32, parts as u32);
        let row = TreeParams { count: places, part, parts, ..Default::default() };
        let row = Some(params.offset_of(row));
        dispatch(pass, &self.leave, row, (places, THREADS), most);
    }

    /// Their number, and the records that are expected.
    pub fn leaving<'a>(&'a self, tally: &'a wgpu::Buffer) -> [(&'a wgpu::Buffer, Range<u64>); 2] {
        let expected = u64::from(self.expected.min(self.room));
        [(tally, LEAVING..LEAVING + 4), (&self.records, 0..expected * 64)]
    }

    /// Uses these cuts.
    pub fn cut_at(&self, io: &mut Io, cuts: &[Key]) {
        let words: Vec<[u32; 2]> = cuts.iter().map(|cut| [cut.lo, cut.hi]).collect();
        io.write(&self.cuts, 0, &words);
    }

    /// Sends bodies to the parts that begin at `cuts`; `listed` is what [`Migration::leaving`] has
    /// read if the list is made already. Returns the number of bodies that a rank
    /// would need room for if it does not have it; then nothing has changed.
    pub async fn migrate(
        &mut self,
        (io, build): (&mut Io, &mut Build),
        member: &mut Member,
        bodies: &mut PartBodies,
        (cuts, counts): (&[Key], &mut Counts),
        tally: &wgpu::Buffer,
        mut listed: Option<Vec<Vec<u32>>>,
    ) -> Result<Option<u32>> {
        let parts = member.members();
        if listed.is_none() {
            self.cut_at(io, cuts);
        }
        loop {
            let most = io.gpu.limits.workgroups;
            let expected = self.expected.min(self.room);
            let read = match listed.take() {
                Some(read) => read,
                None => {
                    io.write(tally, LEAVING, &[0u32]);
                    let of = (bodies.places, member.member(), parts);
                    let record = |pass: &mut wgpu::ComputePass<'_>,
                                  params: &mut Params<TreeParams>,
                                  _: &mut Build| {
                        self.record_leaving(pass, params, of, most);
                    };
                    io.submit(build, record, &[], &self.leaving(tally)).await?
                }
            };
            let leaving = read[0][0];
            let taken = leaving.min(self.room);
            let mut records = read[1].clone();
            if taken > expected {
                let range = u64::from(expected) * 64..u64::from(taken) * 64;
                let more = io.submit(build, |_, _, _| (), &[], &[(&self.records, range)]).await?;
                records.extend_from_slice(&more[0]);
            }
            self.expected = (leaving + leaving / 4 + 256).next_multiple_of(256);
            records.truncate(taken as usize * 16);
            let records: Vec<Placed> = bytemuck::pod_collect_to_vec(&records);

            let mut sent = vec![Vec::new(); parts];
            let mut after = *counts;
            let mut free = Vec::with_capacity(records.len());
            for record in &records {
                free.push(record.place);
                if record.number != NO_BODY {
                    let key = record.its_key();
                    let to = if key == Key::OUTSIDE { parts - 1 } else { part_of(cuts, key) };
                    sent[to].push(*record);
                    after.inside -= u32::from(key != Key::OUTSIDE);
                }
            }
            let arrived: Vec<Placed> =
                exchange::send_each(member, &sent)?.into_iter().flatten().collect();
            for record in &arrived {
                match record.its_key() == Key::OUTSIDE {
                    true => after.outside += 1,
                    false => after.inside += 1,
                }
            }
            let now = bodies.places as usize + arrived.len() - free.len();
            // Up to a group more comes when cuts go to whole groups.
            let needed = now as u32 + GROUP as u32;
            let state = [u32::from(needed > bodies.capacity()), u32::from(leaving > self.room)];
            let all = exchange::gather(member, &state)?;
            if all.iter().any(|state| state[0] > 0) {
                return Ok(Some(needed));
            }
            *counts = after;
            self.settle((io, build), bodies, arrived, free);
            if all.iter().all(|state| state[1] == 0) {
                return Ok(None);
            }
        }
    }

    /// Puts `arrived` bodies into `free` places and closes the gaps that remain.
    fn settle(
        &mut self,
        (io, build): (&mut Io, &mut Build),
        bodies: &mut PartBodies,
        mut arrived: Vec<Placed>,
        mut free: Vec<u32>,
    ) {
        free.sort_unstable();
        let end = bodies.places + arrived.len() as u32 - free.len() as u32;
        let (mut into, mut next) = (free.iter().copied(), bodies.places);
        for body in &mut arrived {
            body.place = into.next().unwrap_or_else(|| {
                next += 1;
                next - 1
            });
        }
        // Gaps below the new end take the bodies beyond it that are not gaps themselves.
        let gaps: Vec<u32> = into.collect();
        let beyond = (end..bodies.places).filter(|place| gaps.binary_search(place).is_err());
        let moves: Vec<[u32; 2]> = beyond
            .zip(gaps.iter().copied().filter(|gap| *gap < end))
            .map(|(from, to)| [from, to])
            .collect();
        bodies.places = end;
        self.place((io, build), &arrived, &moves);
    }

    /// Writes bodies to their places, and moves others.
    pub fn place(
        &self,
        (io, build): (&mut Io, &mut Build),
        arrived: &[Placed],
        moves: &[[u32; 2]],
    ) {
        let most = io.gpu.limits.workgroups;
        let settle = &self.settle;
        let mut run = |arrived: &[Placed], moves: &[[u32; 2]]| {
            io.write(&self.records, 0, arrived);
            io.write(&self.moves, 0, moves);
            let [count, reserve] = [arrived.len() as u32, moves.len() as u32];
            let record = |pass: &mut wgpu::ComputePass<'_>,
                          params: &mut Params<TreeParams>,
                          _: &mut Build| {
                let row = TreeParams { count, reserve, ..Default::default() };
                let row = Some(params.offset_of(row));
                dispatch(pass, settle, row, (count + reserve, THREADS), most);
            };
            io.record(build, record, &[]);
        };
        let mut chunks = arrived.chunks(self.room as usize);
        let first = chunks.next().unwrap_or_default();
        if first.len() + moves.len() > 0 {
            run(first, moves);
        }
        for chunk in chunks {
            run(chunk, &[]);
        }
    }

    /// Puts `arrived` bodies, at most a group, into `free` places and behind all; the free places
    /// that remain hold no body. Returns the places.
    pub fn take_over(
        &self,
        (io, build): (&mut Io, &mut Build),
        bodies: &mut PartBodies,
        arrived: &[Placed],
        free: &[u32],
    ) -> Vec<u32> {
        let mut placed = Vec::with_capacity(arrived.len().max(free.len()));
        for (k, body) in arrived.iter().enumerate() {
            let place = free.get(k).copied().unwrap_or_else(|| {
                bodies.places += 1;
                bodies.places - 1
            });
            placed.push(Placed { place, ..*body });
        }
        let places = placed.iter().map(|body| body.place).collect();
        placed.extend(free.iter().skip(arrived.len()).map(|place| Placed::nobody(*place)));
        self.place((io, build), &placed, &[]);
        places
    }
}

/// The cube of all bodies, from their numbers by distance, and how many of `own` are in it and
/// outside: the rule of `shaders/tree/edge.wgsl`.
pub(super) fn cube_of(counts: &[u64], own: &[u32], all: u32) -> (Cube, Counts) {
    let spare = Cube::spare(all as usize) as u64;
    let mut farther = 0;
    let mut outermost = 0;
    for (exponent, count) in counts.iter().enumerate().rev() {
        farther += count;
        if farther > spare {
            outermost = exponent as u32;
            break;
        }
    }
    let edge = (outermost + 1).max(66);
    let sum = |own: &[u32]| own.iter().sum::<u32>();
    let (inside, outside) = own.split_at((edge as usize).min(own.len()));
    let counts = Counts { inside: sum(inside), outside: sum(outside) };
    (Cube { half: f32::from_bits(edge << 23) }, counts)
}
