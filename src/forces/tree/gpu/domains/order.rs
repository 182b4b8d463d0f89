//! The order of a part's bodies along the curve, and the keys next to it.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use minijinja::context;

use super::bodies::{Counts, Migration, PartBodies, Placed};
use super::io::{Io, PartResources};
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange, Member};
use crate::forces::tree::domains::cut::parts;
use crate::forces::tree::gpu::buffers::EDGE_KEYS;
use crate::forces::tree::gpu::build::dispatch;
use crate::forces::tree::gpu::{Build, TreeBuffers};
use crate::forces::tree::{GROUP, Key};
use crate::gpu::layout::TreeParams;
use crate::gpu::{Binding, BoundKernel};

/// LONGEST_TIE in `shaders/tree/common.wgsl`, in bytes.
const LONGEST_TIE: u64 = 4 * 286;

/// The most bodies with one key.
const MOST_TIES: u32 = 1 << 16;

/// A key as a device stores it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub(super) struct DeviceKey {
    lo: u32,
    hi: u32,
}

impl From<DeviceKey> for Key {
    fn from(DeviceKey { lo, hi }: DeviceKey) -> Self {
        Self { hi, lo }
    }
}

/// The parts of all ranks and the keys at their ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    /// The range of each part along the whole curve.
    pub parts: Vec<Range<usize>>,
    /// The first keys of each part.
    pub first: Vec<Vec<Key>>,
}

/// What [`Ordering::order`] leaves in the buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered {
    /// Bodies in order: those in the cube, those outside, others.
    pub listed: u32,
    /// Keys of other ranks before and after.
    pub before: u32,
    pub after: u32,
}

/// The kernels.
pub(super) struct Ordering {
    ties: BoundKernel,
    first: BoundKernel,
}

impl Ordering {
    pub async fn new(io: &Io, shared: &PartResources<'_>, records: &wgpu::Buffer) -> Result<Self> {
        let PartResources { buffers, bodies, checks, .. } = *shared;
        let [keys, order] = buffers.sorted();
        use Binding::{Read, Write};
        // The offsets of cells are not needed yet.
        let ordered = &buffers.offsets;
        let bound = [
            (Read, keys),
            (Read, order),
            (Read, &bodies.numbers),
            (Write, ordered),
            (Write, &buffers.tally),
        ];
        let values = context! { most_ties => MOST_TIES };
        let ties = io.kernel("ties", values, &bound, true, checks).await?;
        let all = &bodies.buffers;
        let bound = [
            (Read, &all.position_mass),
            (Read, &all.velocity),
            (Read, &all.acceleration),
            (Read, &bodies.numbers),
            (Read, ordered),
            (Read, keys),
            (Write, records),
        ];
        let first = io.kernel("first", context! {}, &bound, true, checks).await?;
        Ok(Self { ties, first })
    }

    /// Sorts the bodies; moves the cuts to whole groups, so that up to `GROUP - 1` bodies change
    /// their rank; puts the keys next to the part around its own.
    pub async fn order(
        &mut self,
        (io, build): (&mut Io, &mut Build),
        member: &mut Member,
        buffers: &TreeBuffers,
        (bodies, migration): (&mut PartBodies, &Migration),
        counts: &mut Counts,
    ) -> Result<(Ends, Ordered)> {
        let rank = member.member();
        let [sorted, _] = buffers.sorted();
        let records = &migration.records;
        let (places, inside) = (bodies.places, counts.inside);
        let most = io.gpu.limits.workgroups;
        build.set_sizes(places, 0);
        let heads = inside.min(GROUP as u32 - 1);
        let (ties, first) = (&self.ties, &self.first);
        let begin = u64::from(inside.min(EDGE_KEYS + GROUP as u32)) * 8;
        let end = u64::from(inside.saturating_sub(EDGE_KEYS)) * 8..u64::from(inside) * 8;
        let read = io
            .submit(
                build,
                |pass, params, build| {
                    build.record_keys(pass, params);
                    build.record_sort(pass);
                    let row = TreeParams { count: places, ..Default::default() };
                    let row = Some(params.offset_of(row));
                    dispatch(pass, ties, row, (places, 256), most);
                    let row = TreeParams { count: heads, ..Default::default() };
                    let row = Some(params.offset_of(row));
                    dispatch(pass, first, row, (1, 1), most);
                },
                &[],
                &[
                    (&buffers.tally, LONGEST_TIE..LONGEST_TIE + 4),
                    (records, 0..u64::from(heads) * 64),
                    (sorted, 0..begin),
                    (sorted, end),
                ],
            )
            .await?;
        if read[0][0] > 0 {
            let allowed = format!("at most {MOST_TIES} with --domains on");
            return Err(Error::value("the number of bodies in one place", read[0][0], allowed));
        }
        let heads: Vec<Placed> = bytemuck::pod_collect_to_vec(&read[1]);
        let keys = |words: &[u32]| -> Vec<Key> {
            let keys: Vec<DeviceKey> = bytemuck::pod_collect_to_vec(words);
            keys.into_iter().map(Key::from).collect()
        };
        let (mut first, mut last) = (keys(&read[2]), keys(&read[3]));

        // Cuts go to whole groups: the first bodies of a part may belong to those before.
        let before: Vec<usize> =
            exchange::gather(member, &[u64::from(inside)])?.iter().map(|n| n[0] as usize).collect();
        let parts = parts(&before);
        let begin: usize = before[..rank].iter().sum();
        let given = parts[rank].start.saturating_sub(begin).min(inside as usize);
        let all_given = exchange::gather(member, &heads[..given])?;
        let mut arrived = Vec::new();
        for (from, given) in all_given.iter().enumerate().skip(rank + 1) {
            let first = before[..from].iter().sum::<usize>();
            let own = |place: usize| place.saturating_sub(first).min(given.len());
            arrived.extend_from_slice(&given[own(parts[rank].start)..own(parts[rank].end)]);
        }
        let now = parts[rank].len() as u32;
        debug_assert_eq!(now as usize, inside as usize - given + arrived.len());

        first.drain(..given);
        let whole = first.len() + given == inside as usize;
        let new_keys: Vec<Key> = arrived.iter().map(Placed::its_key).collect();
        last.drain(..given.saturating_sub(inside as usize - last.len()).min(last.len()));
        last.extend_from_slice(&new_keys);
        if whole {
            first.extend_from_slice(&new_keys);
        }
        first.truncate(EDGE_KEYS as usize);
        last.drain(..last.len().saturating_sub(EDGE_KEYS as usize));
        let first = exchange::gather(member, &first)?;
        let last = exchange::gather(member, &last)?;

        let free: Vec<u32> = heads[..given].iter().map(|body| body.place).collect();
        let own = inside - given as u32;
        let places_of_new = match given + arrived.len() {
            0 => Vec::new(),
            _ => migration.take_over((io, build), bodies, &arrived, &free),
        };
        let device = |keys: &[Key]| -> Vec<DeviceKey> {
            keys.iter().map(|key| DeviceKey { lo: key.lo, hi: key.hi }).collect()
        };
        let edge = EDGE_KEYS as usize;
        let before = last[..rank].concat();
        let before = &before[before.len().saturating_sub(edge)..];
        let after = first[rank + 1..].concat();
        let after = &after[..edge.min(after.len())];
        let at = |entry: u32| 8 * u64::from(EDGE_KEYS + entry);
        io.write(&buffers.keys, 8 * (edge - before.len()) as u64, &device(before));
        io.write(&buffers.keys, at(own), &device(&new_keys));
        io.write(&buffers.keys, at(now), &device(after));
        io.write(&buffers.order, 4 * u64::from(own), &places_of_new);
        let (from, others) = (4 * given as u64, u64::from(places - inside));
        io.record(
            build,
            |_, _, _| (),
            &[
                (sorted, 8 * given as u64, &buffers.keys, at(0), 8 * u64::from(own)),
                (&buffers.offsets, from, &buffers.order, 0, 4 * u64::from(own)),
                (
                    &buffers.offsets,
                    4 * u64::from(inside),
                    &buffers.order,
                    4 * u64::from(now),
                    4 * others,
                ),
            ],
        );
        counts.inside = now;
        let (before, after) = (before.len() as u32, after.len() as u32);
        let listed = now + places - inside;
        Ok((Ends { parts, first }, Ordered { listed, before, after }))
    }
}
