//! The cells and bodies that each rank is sent.

use minijinja::context;

use super::bodies::Counts;
use super::io::{Io, Shared};
use super::top::{Common, MOST_ROOTS, Tops};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member};
use crate::forces::tree::gpu::buffers::TOP_CELLS;
use crate::forces::tree::gpu::build::dispatch;
use crate::forces::tree::gpu::walk::parameter;
use crate::forces::tree::gpu::{Build, TreeBuffers};
use crate::forces::tree::record::{CellForce, CellOpen, IS_LEAF};
use crate::forces::tree::{MultipoleOrder, Opening};
use crate::gpu::layout::{TreeParams, VEC4};
use crate::gpu::{Binding, BoundKernel, Params, Scan, storage};

/// Boxes that are uploaded at once, of 32 bytes.
const AT_ONCE: usize = 1 << 16;

/// Instead of the first child or body of a root whose rank does not expect it to be opened.
const NOT_SENT: u32 = u32::MAX;

/// Threads of a workgroup.
const THREADS: u32 = 256;

/// The box around sinks that walk together, as a group's record has it: lower corner, least
/// acceleration, upper corner, a word.
pub(super) type SinkBox = [f32; 8];

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
    pub async fn new(io: &Io, shared: &Shared<'_>, common: &Common, parts: usize) -> Result<Self> {
        let Shared { buffers, checks, .. } = *shared;
        let gpu = &io.gpu;
        let reserve = buffers.reserve;
        let opened = gpu.words("opened cells", u64::from(reserve));
        let boxes = storage(gpu, "boxes of sinks", 2 * AT_ONCE);
        let entries = gpu.words("entries of roots", parts as u64 * u64::from(MOST_ROOTS));
        // A twentieth of the cells and bodies to each; of few, all.
        let all = 5 * u64::from(reserve) + u64::from(buffers.count);
        let room = (parts as u64 - 1) * all.min(all / 10 + (1 << 18)) + 64;
        let most = gpu.limits.storage_buffer / VEC4;
        let room = room.min(most) as u32;
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
        Ok(Self { opened, boxes, entries, message, to, graft, link, links, room })
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

    /// Sends to each rank what the groups in its boxes open of this part's `cells` cells, and joins
    /// what the others send to these. `None` if a rank has no room.
    pub async fn exchange(
        &mut self,
        (io, build): (&mut Io, &mut Build),
        member: &mut Member,
        buffers: &TreeBuffers,
        (select, margin): (&Select, f32),
        (boxes, cells): (&[Vec<SinkBox>], u32),
        (tops, counts): (&Tops, &Counts),
    ) -> Result<Option<Joined>> {
        let (rank, parts) = (member.member(), member.members());
        let most = io.gpu.limits.workgroups;
        // Of the other ranks, in order.
        let others: Vec<usize> = (0..parts).filter(|part| *part != rank).collect();
        let mut encoder = io.gpu.device.create_command_encoder(&Default::default());
        encoder.clear_buffer(&self.opened, 0, None);
        io.gpu.queue.submit([encoder.finish()]);
        for &part in &others {
            for chunk in boxes[part].chunks(AT_ONCE) {
                io.write(&self.boxes, 0, chunk);
                let row = TreeParams {
                    group_end: chunk.len() as u32,
                    opening: select.opening,
                    part: part as u32,
                    margin,
                    ..Default::default()
                };
                let record = |pass: &mut wgpu::ComputePass<'_>,
                              params: &mut Params<TreeParams>,
                              _: &mut Build| {
                    let offset = Some(params.offset_of(row));
                    dispatch(pass, &select.kernel, offset, (row.group_end, 1), most);
                };
                io.submit(build, record, &[], &[]).await?;
            }
        }
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
        let entries = &read[2 * others.len()];
        let sizes: Vec<[u32; 2]> =
            (0..others.len()).map(|k| [read[2 * k][0], read[2 * k + 1][0]]).collect();
        let length = |[cells, bodies]: [u32; 2]| 5 * u64::from(cells) + u64::from(bodies);
        let total: u64 = sizes.iter().map(|size| length(*size)).sum();
        let fits = total <= u64::from(self.room);

        let mut sent: Vec<Vec<u8>> = vec![Vec::new(); parts];
        if fits {
            let mut at = 0u32;
            let rows: Vec<TreeParams> = sizes
                .iter()
                .zip(&others)
                .map(|(size, &part)| {
                    let [count, reserve] = *size;
                    let row = TreeParams {
                        part: part as u32,
                        count,
                        reserve,
                        group_begin: at,
                        ..Default::default()
                    };
                    at += length(*size) as u32;
                    row
                })
                .collect();
            let sent_to = &self.to;
            let read = io
                .submit(
                    build,
                    |pass, params, _| {
                        for (to, row) in sent_to.iter().zip(&rows) {
                            let offset = Some(params.offset_of(*row));
                            dispatch(pass, &to.pack, offset, (cells, 64), most);
                        }
                    },
                    &[],
                    &[(&self.message, 0..total * VEC4)],
                )
                .await?;
            let mut rest: &[u8] = bytemuck::cast_slice(&read[0]);
            for (size, &part) in sizes.iter().zip(&others) {
                let (own, left) = rest.split_at((length(*size) * VEC4) as usize);
                let begin = part * MOST_ROOTS as usize;
                let entries: Vec<u32> =
                    tops.own_entries.iter().map(|entry| entries[begin + entry]).collect();
                sent[part] =
                    [bytemuck::cast_slice(size), bytemuck::cast_slice(&entries), own].concat();
                rest = left;
            }
        }
        let mut received: Vec<Vec<u8>> = Vec::with_capacity(parts);
        member.all_to_all(&sent, &mut |_, message| received.push(message.to_vec()))?;

        // Where each message's cells and bodies go.
        let mut first_cell = TOP_CELLS + cells;
        let mut first_body = counts.inside + counts.outside + tops.top.bodies.len() as u32;
        let mut places = vec![[0u32; 2]; parts];
        let mut of_parts: Vec<(usize, [u32; 2], &[u8])> = Vec::new();
        let mut all_entries: Vec<Vec<u32>> = vec![Vec::new(); parts];
        let mut is_whole = fits;
        for &part in &others {
            let header = 8 + 4 * tops.roots[part].len();
            let Some((head, data)) = received[part].split_at_checked(header) else {
                is_whole = false;
                continue;
            };
            let head: Vec<u32> = bytemuck::pod_collect_to_vec(head);
            let size = [head[0], head[1]];
            if data.len() as u64 != length(size) * VEC4 {
                return Err(Error::Outside(
                    "a rank has sent cells that end too early: do all run the same program?"
                        .to_owned(),
                ));
            }
            all_entries[part] = head[2..].to_vec();
            places[part] = [first_cell, first_body];
            of_parts.push((part, size, data));
            first_cell += size[0];
            first_body += size[1];
        }
        let (absent_cell, absent_body) = (first_cell, first_body);
        let part = buffers.part.as_ref().expect("a part");
        let has_room = is_whole && absent_cell < part.cells && absent_body < part.sources;
        if !member.all_agree(has_room)? {
            return Ok(None);
        }
        let mut rows = Vec::new();
        let mut total = [0; 2];
        for (from, size, data) in of_parts {
            let [cell, body] = places[from];
            let (open, rest) = data.split_at(32 * size[0] as usize);
            let (force, bodies) = rest.split_at(48 * size[0] as usize);
            io.write(&buffers.cell_open, 32 * u64::from(cell), open);
            io.write(&buffers.cell_force, 48 * u64::from(cell), force);
            io.write(&buffers.sources, 16 * u64::from(body), bodies);
            rows.push(TreeParams {
                count: size[0],
                group_begin: cell,
                sink_begin: body,
                singles: absent_cell,
                room: absent_body,
                ..Default::default()
            });
            total = [total[0] + size[0], total[1] + size[1]];
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
        Ok(Some(Joined { received: total }))
    }
}
