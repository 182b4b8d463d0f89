//! The cells and bodies that each rank is sent.

use std::ops::Range;

use minijinja::context;

use super::bodies::Counts;
use super::io::{Io, Shared, gather_in_place};
use super::top::{Common, MOST_ROOTS, Tops};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member};
use crate::forces::tree::gpu::buffers::{ReceivedRoom, TOP_CELLS};
use crate::forces::tree::gpu::build::dispatch;
use crate::forces::tree::gpu::walk::parameter;
use crate::forces::tree::gpu::{Build, TreeBuffers};
use crate::forces::tree::record::{CellForce, CellOpen, IS_LEAF};
use crate::forces::tree::{GROUP, MultipoleOrder, Opening};
use crate::gpu::layout::{TreeParams, VEC4};
use crate::gpu::{Binding, BoundKernel, Params, Scan, storage};

/// Instead of the first child or body of a root whose rank does not expect it to be opened.
const NOT_SENT: u32 = u32::MAX;

/// Threads of a workgroup.
const THREADS: u32 = 256;

/// The box around sinks that walk together, as a group's record has it: lower corner, least
/// acceleration, upper corner, a word.
pub(super) type SinkBox = [f32; 8];

/// Bytes of a box.
const BOX: usize = size_of::<SinkBox>();

/// Joins boxes two by two. What one of them opens, both together do.
fn joined(boxes: &[SinkBox]) -> Vec<SinkBox> {
    let pair = |pair: &[SinkBox]| {
        let (a, b) = (pair[0], pair[pair.len() - 1]);
        std::array::from_fn(|k| if k < 4 { a[k].min(b[k]) } else { a[k].max(b[k]) })
    };
    boxes.chunks(2).map(pair).collect()
}

/// The choice of cells by one opening rule.
pub(super) struct Select {
    kernel: BoundKernel,
    opening: f32,
}

/// What is sent to one rank.
struct SentTo {
    count: BoundKernel,
    entries: BoundKernel,
    pack: BoundKernel,
    /// Of cells, and of bodies.
    scans: [Scan; 2],
}

/// The kernels and their buffers.
pub(super) struct Sending {
    /// A bit for each rank that opens a cell.
    opened: wgpu::Buffer,
    boxes: wgpu::Buffer,
    /// Where those of each rank are.
    boxes_of: Vec<Range<u32>>,
    entries: wgpu::Buffer,
    message: wgpu::Buffer,
    to: Vec<SentTo>,
    graft: BoundKernel,
    link: BoundKernel,
    links: wgpu::Buffer,
    /// Entries of the message that there is room for.
    room: u32,
}

/// Where received cells and bodies are.
pub(super) struct Joined {
    /// Numbers of cells and bodies.
    pub received: [u32; 2],
}

impl Sending {
    pub async fn new(
        io: &Io,
        shared: &Shared<'_>,
        common: &Common,
        (parts, all): (usize, u32),
        room: ReceivedRoom,
    ) -> Result<Self> {
        let Shared { buffers, checks, .. } = *shared;
        let gpu = &io.gpu;
        let reserve = buffers.reserve;
        let opened = gpu.words("opened cells", u64::from(reserve));
        let boxes = storage(gpu, "boxes of sinks", 2 * (all as usize / GROUP + 4096));
        let entries = gpu.words("entries of roots", parts as u64 * u64::from(MOST_ROOTS));
        let room = room.message;
        let message = storage(gpu, "cells for other ranks", room as usize);
        let links = storage(gpu, "links of common cells", TOP_CELLS as usize);
        use Binding::{Read, Write};
        let TreeBuffers { state, tally, cell_open, cell_force, sources, .. } = buffers;
        let kernel =
            async |name: &str, values: minijinja::Value, bound: &[(Binding, &wgpu::Buffer)]| {
                io.kernel(name, values, bound, true, checks).await
            };
        let mut to = Vec::with_capacity(parts);
        for _ in 1..parts {
            let [cells, bodies] =
                ["cells before", "bodies before"].map(|label| gpu.words(label, u64::from(reserve)));
            let bound = [
                (Read, state),
                (Read, cell_open),
                (Read, &opened),
                (Write, &cells),
                (Write, &bodies),
            ];
            let count = kernel("sent", context! {}, &bound).await?;
            let bound = [
                (Read, state),
                (Read, &common.roots),
                (Read, tally),
                (Read, &opened),
                (Read, &cells),
                (Read, &bodies),
                (Write, &entries),
            ];
            let entries = kernel("entries", context! {}, &bound).await?;
            let bound = [
                (Read, state),
                (Read, cell_open),
                (Read, cell_force),
                (Read, sources),
                (Read, &opened),
                (Read, &cells),
                (Read, &bodies),
                (Write, &message),
            ];
            let pack = kernel("pack", context! {}, &bound).await?;
            let scan = async |buffer| Scan::new(gpu, buffer, None, reserve, checks).await;
            let scans = [scan(&cells).await?, scan(&bodies).await?];
            to.push(SentTo { count, entries, pack, scans });
        }
        let graft = kernel("graft", context! { patches => false }, &[(Write, cell_open)]).await?;
        let bound = [(Write, cell_open), (Read, &links)];
        let link = kernel("graft", context! { patches => true }, &bound).await?;
        let boxes_of = vec![0..0; parts];
        Ok(Self { opened, boxes, boxes_of, entries, message, to, graft, link, links, room })
    }

    /// The choice of cells by this rule.
    pub async fn select(
        &self,
        io: &Io,
        shared: &Shared<'_>,
        common: &Common,
        opening: &Opening,
        order: MultipoleOrder,
    ) -> Result<Select> {
        let Shared { buffers, checks, .. } = *shared;
        use Binding::{Read, Write};
        let bound = [
            (Read, &buffers.state),
            (Read, &buffers.cell_open),
            (Read, &self.boxes),
            (Read, &common.roots),
            (Read, &buffers.tally),
            (Write, &self.opened),
        ];
        let near_squared = crate::forces::tree::opening::NEAR_SQUARED.to_string();
        let quadrupole = order == MultipoleOrder::Quadrupole;
        let values = context! { rule => opening.name(), quadrupole, near_squared };
        let kernel = io.kernel("select", values, &bound, true, checks).await?;
        Ok(Select { kernel, opening: parameter(opening) })
    }

    /// Sends the boxes around this part's sinks to all ranks and puts theirs on the device.
    ///
    /// # Errors
    /// As of [`Exchange`].
    pub fn share(&mut self, io: &Io, member: &mut Member, boxes: Vec<u8>) -> Result<()> {
        let (own, room) = (member.member(), self.boxes.size() as usize / BOX);
        let mut at = 0;
        let mut of_each = Vec::with_capacity(self.boxes_of.len());
        // All have the same room, so none sends more than its share of it.
        let most = room / member.members();
        let mut few = boxes;
        while few.len() / BOX > most {
            few = bytemuck::cast_slice(&joined(&bytemuck::pod_collect_to_vec(&few))).to_vec();
        }
        let target = &self.boxes;
        gather_in_place(member, few, &mut |part, received| {
            let begin = at;
            if part != own {
                io.write(target, (begin * BOX) as u64, received);
                at += received.len() / BOX;
            }
            of_each.push(begin as u32..at as u32);
        })?;
        self.boxes_of = of_each;
        Ok(())
    }

    /// Sends to each rank what the groups in its boxes open of this part's `cells` cells, and joins
    /// what the others send to these. If a rank has no room, the error says
    /// how much this one needs.
    pub async fn exchange(
        &mut self,
        (io, build): (&mut Io, &mut Build),
        member: &mut Member,
        buffers: &TreeBuffers,
        (select, margin): (&Select, f32),
        cells: u32,
        (tops, counts): (&Tops, &Counts),
    ) -> Result<std::result::Result<Joined, ReceivedRoom>> {
        let (rank, parts) = (member.member(), member.members());
        let most = io.gpu.limits.workgroups;
        // Of the other ranks, in order.
        let others: Vec<usize> = (0..parts).filter(|part| *part != rank).collect();
        let mut encoder = io.gpu.device.create_command_encoder(&Default::default());
        encoder.clear_buffer(&self.opened, 0, None);
        io.gpu.queue.submit([encoder.finish()]);
        let boxes_of = &self.boxes_of;
        let gpu = std::sync::Arc::clone(&io.gpu);
        let reads: Vec<wgpu::Buffer> = self
            .to
            .iter()
            .flat_map(|to| to.scans.iter().map(|scan| scan.total().clone()))
            .collect();
        let mut wanted: Vec<_> = reads.iter().map(|buffer| (buffer, 0..4)).collect();
        wanted.push((&self.entries, 0..4 * parts as u64 * u64::from(MOST_ROOTS)));
        let sent_to = &mut self.to;
        let read = io
            .submit(
                build,
                |pass, params, _| {
                    for (to, &part) in sent_to.iter_mut().zip(&others) {
                        let row = TreeParams {
                            group_begin: boxes_of[part].start,
                            group_end: boxes_of[part].end,
                            opening: select.opening,
                            part: part as u32,
                            margin,
                            ..Default::default()
                        };
                        let offset = Some(params.offset_of(row));
                        let boxes = boxes_of[part].len() as u32;
                        dispatch(pass, &select.kernel, offset, (boxes, 1), most);
                        let row = TreeParams { part: part as u32, ..Default::default() };
                        let row = Some(params.offset_of(row));
                        dispatch(pass, &to.count, row, (cells, THREADS), most);
                        for scan in &mut to.scans {
                            scan.begin_submission();
                            scan.record(pass, cells);
                            scan.end_submission(&gpu);
                        }
                        dispatch(pass, &to.entries, row, (MOST_ROOTS, 64), most);
                    }
                },
                &[],
                &wanted,
            )
            .await?;
        io.lap("select");
        let entries = &read[2 * others.len()];
        let mut sizes = vec![[0u32; 2]; parts];
        for (k, &part) in others.iter().enumerate() {
            // Sums of no numbers are not written.
            let sums = [read[2 * k][0], read[2 * k + 1][0]];
            sizes[part] = if cells > 0 { sums } else { [0; 2] };
        }
        // Those of all pairs of ranks.
        let mut table: Vec<Vec<[u32; 2]>> = Vec::with_capacity(parts);
        let bytes = vec![size_of_val(&sizes[..]); parts];
        member.all_gather(bytemuck::cast_slice(&sizes), &bytes, &mut |_, row| {
            table.push(bytemuck::pod_collect_to_vec(row));
        })?;
        let length = |[cells, bodies]: [u32; 2]| 5 * u64::from(cells) + u64::from(bodies);
        let total: u64 = sizes.iter().map(|size| length(*size)).sum();

        // Where each message's cells and bodies go.
        let mut first_cell = TOP_CELLS + cells;
        let mut first_body = counts.inside + counts.outside + tops.top.bodies.len() as u32;
        let mut places = vec![[0u32; 2]; parts];
        for &part in &others {
            let [cells, bodies] = table[part][rank];
            places[part] = [first_cell, first_body];
            first_cell = first_cell.saturating_add(cells);
            first_body = first_body.saturating_add(bodies);
        }
        let (absent_cell, absent_body) = (first_cell, first_body);
        let part = buffers.part.as_ref().expect("a part");
        let needed = ReceivedRoom {
            bodies: (absent_body + 1).saturating_sub(buffers.count),
            cells: (absent_cell + 1).saturating_sub(TOP_CELLS + buffers.reserve),
            message: u32::try_from(total).unwrap_or(u32::MAX),
        };
        let has_room =
            needed.message <= self.room && absent_cell < part.cells && absent_body < part.sources;
        if !member.all_agree(has_room)? {
            return Ok(Err(needed));
        }

        let mut at = 0u32;
        let mut rows = Vec::with_capacity(others.len());
        for &part in &others {
            let [count, reserve] = sizes[part];
            let group_begin = at;
            at += length(sizes[part]) as u32;
            rows.push(TreeParams {
                part: part as u32,
                count,
                reserve,
                group_begin,
                ..Default::default()
            });
        }
        let sent_to = &self.to;
        // The message to each rank in turn: entries of the roots, then cells and bodies.
        let pack = |read: &[&[u32]]| {
            let mut rest = read[0];
            let mut all: Vec<u8> = Vec::with_capacity(4 * rest.len() + (1 << 16));
            for &part in &others {
                let begin = part * MOST_ROOTS as usize;
                for entry in &tops.own_entries {
                    all.extend_from_slice(&entries[begin + entry].to_ne_bytes());
                }
                let (own, left) = rest.split_at(4 * length(sizes[part]) as usize);
                all.extend_from_slice(bytemuck::cast_slice(own));
                rest = left;
            }
            all
        };
        let message = io
            .submit_as(
                build,
                |pass, params, _| {
                    for (to, row) in sent_to.iter().zip(&rows) {
                        let offset = Some(params.offset_of(*row));
                        dispatch(pass, &to.pack, offset, (cells, 64), most);
                    }
                },
                &[],
                &[(&self.message, 0..total * VEC4)],
                pack,
            )
            .await?;
        io.lap("pack");
        let mut all_entries: Vec<Vec<u32>> = vec![Vec::new(); parts];
        let mut is_whole = true;
        let gpu = &io.gpu;
        let write = |buffer: &wgpu::Buffer, at: u64, bytes: &[u8]| {
            if !bytes.is_empty() {
                gpu.queue.write_buffer(buffer, at, bytes);
            }
        };
        gather_in_place(member, message, &mut |from, all| {
            if from == rank {
                return;
            }
            let entries = 4 * tops.roots[from].len();
            let bytes = |to: usize| entries + (length(table[from][to]) * VEC4) as usize;
            let begin: usize = (0..rank).filter(|to| *to != from).map(bytes).sum();
            let Some(own) = all.get(begin..begin + bytes(rank)) else {
                is_whole = false;
                return;
            };
            let (entries, data) = own.split_at(entries);
            all_entries[from] = bytemuck::pod_collect_to_vec(entries);
            let ([cells, _], [cell, body]) = (table[from][rank], places[from]);
            let (open, rest) = data.split_at(32 * cells as usize);
            let (force, bodies) = rest.split_at(48 * cells as usize);
            write(&buffers.cell_open, 32 * u64::from(cell), open);
            write(&buffers.cell_force, 48 * u64::from(cell), force);
            write(&buffers.sources, 16 * u64::from(body), bodies);
        })?;
        if !is_whole {
            let what = "a rank has sent cells that end too early: do all run the same program?";
            return Err(Error::Outside(what.to_owned()));
        }
        let mut rows = Vec::new();
        let mut total = [0; 2];
        for &from in &others {
            let ([cells, bodies], [cell, body]) = (table[from][rank], places[from]);
            rows.push(TreeParams {
                count: cells,
                group_begin: cell,
                sink_begin: body,
                singles: absent_cell,
                room: absent_body,
                ..Default::default()
            });
            total = [total[0] + cells, total[1] + bodies];
        }
        let absent = CellOpen {
            centre: [0.0; 3],
            critical: 0.0,
            radius_squared: f32::INFINITY,
            child: IS_LEAF,
            first: absent_body,
            count: 1,
        };
        io.write(&buffers.cell_open, 32 * u64::from(absent_cell), &[absent]);
        io.write::<CellForce>(
            &buffers.cell_force,
            48 * u64::from(absent_cell),
            &[bytemuck::Zeroable::zeroed()],
        );
        io.write(&buffers.sources, 16 * u64::from(absent_body), &[f32::NAN; 4]);
        let begin = tops.begin;
        let links = Common::links(tops, counts, |from, root, record| {
            if from == rank {
                return [record.child, record.first - begin, record.count];
            }
            let [cell, body] = places[from];
            match (all_entries[from][root], record.child == IS_LEAF) {
                (NOT_SENT, true) => [IS_LEAF, absent_body, 1],
                (NOT_SENT, false) => [absent_cell << 4, 0, record.count],
                (first, true) => [IS_LEAF, body + first, record.count],
                (first, false) => [(cell + first) << 4 | (record.children() - 1), 0, record.count],
            }
        });
        io.write(&self.links, 0, &links);
        let record =
            |pass: &mut wgpu::ComputePass<'_>, params: &mut Params<TreeParams>, _: &mut Build| {
                for row in rows {
                    let offset = Some(params.offset_of(row));
                    dispatch(pass, &self.graft, offset, (row.count, THREADS), most);
                }
                let row = TreeParams { count: links.len() as u32, ..Default::default() };
                let offset = Some(params.offset_of(row));
                dispatch(pass, &self.link, offset, (row.count, THREADS), most);
            };
        io.submit(build, record, &[], &[]).await?;
        Ok(Ok(Joined { received: total }))
    }
}
