//! The cells and bodies that each rank is sent.

use std::ops::Range;
use std::sync::Arc;

use minijinja::context;

use super::bodies::Counts;
use super::io::{Copy, Io, PartResources};
use super::top::{Common, MOST_ROOTS, Tops};
use crate::error::Result;
use crate::exchange::{self, Exchange, Member};
use crate::forces::tree::gpu::buffers::{ReceivedRoom, TOP_CELLS};
use crate::forces::tree::gpu::build::dispatch;
use crate::forces::tree::gpu::walk::parameter;
use crate::forces::tree::gpu::{Build, TreeBuffers};
use crate::forces::tree::record::{CellForce, CellOpen, IS_LEAF};
use crate::forces::tree::{GROUP, MultipoleOrder, Opening};
use crate::gpu::layout::{TreeParams, VEC4};
use crate::gpu::{Binding, BoundKernel, Gpu, MappedCopy, Params, Scan, new_buffer, storage};

/// Neighbouring groups whose sinks have one box in common: fewer boxes to send and to look at, and a
/// few more cells that are sent.
const JOINED: u32 = 4;

/// The longest such box, in halves of the cube's edge. In sparse regions around the bodies, boxes that
/// are joined open many more cells: without this limit one of four domains of a Plummer sphere of
/// 100,000 bodies received 1.5 times as many.
const LONGEST: f32 = 1.0 / 16.0;

/// Instead of the first child or body of a root whose rank does not expect it to be opened.
const NOT_SENT: u32 = u32::MAX;

/// Writes of at least so many bytes are submitted at once: the device copies them while the host
/// prepares the next one.
const MANY_BYTES: usize = 1 << 20;

/// Threads of a workgroup.
const THREADS: u32 = 256;

/// The box around sinks: lower corner, least acceleration, upper corner, a word.
type BoxWords = [f32; 8];

/// BOXES in `shaders/tree/common.wgsl`, in bytes.
pub(super) const BOXES: u64 = 4 * 287;

/// Bytes of a box.
const BOX: usize = size_of::<BoxWords>();

/// The boxes that a part sends, which the others of its process read in place.
pub(super) struct Boxes {
    memory: BoxMemory,
    count: usize,
}

enum BoxMemory {
    Mapped(MappedCopy),
    Host(Vec<BoxWords>),
}

impl AsRef<[u8]> for Boxes {
    fn as_ref(&self) -> &[u8] {
        let all = match &self.memory {
            BoxMemory::Mapped(copy) => copy.as_ref(),
            BoxMemory::Host(boxes) => bytemuck::cast_slice(boxes),
        };
        &all[..self.count * BOX]
    }
}

impl Boxes {
    /// The first `count` of those that the device has listed: the ones that were `read` first, and
    /// the `rest`.
    pub fn new(read: MappedCopy, rest: &[u32], count: usize) -> Self {
        if rest.is_empty() {
            return Self { memory: BoxMemory::Mapped(read), count };
        }
        let mut all: Vec<BoxWords> = bytemuck::pod_collect_to_vec(read.as_ref());
        all.extend(bytemuck::pod_collect_to_vec::<u32, BoxWords>(rest));
        Self { memory: BoxMemory::Host(all), count }
    }

    /// Joins boxes two by two. What one of them opens, both together do.
    fn joined(self) -> Self {
        let boxes: Vec<BoxWords> = bytemuck::pod_collect_to_vec(self.as_ref());
        let pair = |pair: &[BoxWords]| -> BoxWords {
            let (a, b) = (pair[0], pair[pair.len() - 1]);
            std::array::from_fn(|k| if k < 4 { a[k].min(b[k]) } else { a[k].max(b[k]) })
        };
        let joined: Vec<BoxWords> = boxes.chunks(2).map(pair).collect();
        Self { count: joined.len(), memory: BoxMemory::Host(joined) }
    }
}

/// The choice of cells by one opening rule.
pub(super) struct Select {
    kernel: BoundKernel,
    opening: f32,
}

/// Numbers of cells and bodies.
type MessageCounts = [u32; 2];

/// Entries of a message.
fn length([cells, bodies]: MessageCounts) -> u64 {
    5 * u64::from(cells) + u64::from(bodies)
}

/// Entries of a rank: of each root, and the numbers of cells and bodies in all.
const ENTRIES: usize = MOST_ROOTS as usize + 2;

/// The kernels that choose and pack cells for the other ranks.
struct CellPacking {
    gpu: Arc<Gpu>,
    count: BoundKernel,
    /// Of cells, and of bodies.
    scans: [Scan; 2],
    list_entries: BoundKernel,
    pack: BoundKernel,
    /// The least acceleration with which sinks count.
    least: f32,
}

impl CellPacking {
    /// Records them for one rank after another, whose boxes are in these ranges. `rows` have the
    /// numbers of cells and bodies that are packed for each, of this part's `cells` cells.
    fn record(
        &mut self,
        (pass, params): (&mut wgpu::ComputePass<'_>, &mut Params<TreeParams>),
        (select, margin): (&Select, f32),
        boxes_of: &[Range<u32>],
        rows: &[TreeParams],
        cells: u32,
    ) {
        let most = self.gpu.limits.workgroups;
        self.scans.iter_mut().for_each(Scan::begin_submission);
        for row in rows {
            let boxes = &boxes_of[row.part as usize];
            let looked = TreeParams {
                group_begin: boxes.start,
                group_end: boxes.end,
                opening: select.opening,
                part: row.part,
                margin,
                least: self.least,
                ..Default::default()
            };
            let offset = Some(params.offset_of(looked));
            dispatch(pass, &select.kernel, offset, (boxes.len() as u32, 1), most);
            let row = Some(params.offset_of(*row));
            dispatch(pass, &self.count, row, (cells, THREADS), most);
            self.scans.iter_mut().for_each(|scan| scan.record(pass, cells));
            dispatch(pass, &self.list_entries, row, (MOST_ROOTS, 64), most);
            dispatch(pass, &self.pack, row, (cells, 64), most);
        }
        self.scans.iter_mut().for_each(|scan| scan.end_submission(&self.gpu));
    }
}

/// The kernels and their buffers.
pub(super) struct Sending {
    /// Of each cell, the rank that opens it, from 1: the ranks are looked at one after another.
    opened: wgpu::Buffer,
    /// Lists the boxes of this part's sinks.
    list: BoundKernel,
    own_boxes: wgpu::Buffer,
    /// Where the host reads them.
    read_boxes: wgpu::Buffer,
    /// Boxes, and single sinks among them, that are expected.
    expected: u32,
    singles: u32,
    /// Boxes of the other ranks, and where those of each are.
    boxes: wgpu::Buffer,
    boxes_of: Vec<Range<u32>>,
    entries: wgpu::Buffer,
    message: wgpu::Buffer,
    /// Where the host reads the messages: the other ranks of this process copy them from there.
    outgoing: wgpu::Buffer,
    packing: CellPacking,
    /// What is packed for each other rank before it is known how much there is: a little more than
    /// the last time.
    expected_by: Vec<MessageCounts>,
    graft: BoundKernel,
    link: BoundKernel,
    links: wgpu::Buffer,
    /// Entries of the message that there is room for.
    room: u32,
}

/// What was chosen for the other ranks.
pub(super) struct Chosen {
    /// For each of them, in order.
    sizes: Vec<MessageCounts>,
    entries: Vec<u32>,
    /// The messages, and what there is room for in each of them, if that is enough.
    packed: Option<(MappedCopy, Vec<TreeParams>)>,
}

/// What a rank announces to another one: numbers of cells and bodies, and how many of them there is
/// room for in the message.
type Announced = [u32; 4];

/// What was delivered.
pub(super) struct Joined {
    /// Numbers of cells and bodies.
    pub received: MessageCounts,
    /// Where those of each rank are, and the number of common cells.
    rows: Vec<TreeParams>,
    links: u32,
}

impl Sending {
    pub async fn new(
        io: &Io,
        shared: &PartResources<'_>,
        common: &Common,
        (parts, all): (usize, u32),
        room: ReceivedRoom,
    ) -> Result<Self> {
        let PartResources { buffers, checks, .. } = *shared;
        let gpu = &io.gpu;
        let reserve = buffers.reserve;
        let opened = gpu.words("opened cells", u64::from(reserve));
        let boxes = storage(gpu, "boxes of sinks", 2 * (all as usize / GROUP + 4096));
        let walks = buffers.groups.size() / BOX as u64;
        let own_boxes = storage(gpu, "own boxes of sinks", 2 * (walks as usize + 1));
        let entries = gpu.words("entries of roots", (parts * ENTRIES) as u64);
        let room = room.message;
        let message = storage(gpu, "cells for other ranks", room as usize);
        let links = storage(gpu, "links of common cells", TOP_CELLS as usize);
        let outgoing = mappable(gpu, VEC4);
        use Binding::{Read, Write};
        let TreeBuffers { state, tally, cell_open, cell_force, sources, .. } = buffers;
        let kernel =
            async |name: &str, values: minijinja::Value, bound: &[(Binding, &wgpu::Buffer)]| {
                io.kernel(name, values, bound, true, checks).await
            };
        let bound = [(Read, &buffers.groups), (Write, tally), (Write, &own_boxes)];
        let list = kernel("boxes", context! { joined => JOINED }, &bound).await?;
        let [cells, bodies] =
            ["cells before", "bodies before"].map(|label| gpu.words(label, u64::from(reserve)));
        let scan = async |buffer| Scan::new(gpu, buffer, None, reserve, checks).await;
        let scans = [scan(&cells).await?, scan(&bodies).await?];
        let bound =
            [(Read, state), (Read, cell_open), (Read, &opened), (Write, &cells), (Write, &bodies)];
        let count = kernel("sent", context! {}, &bound).await?;
        let bound = [
            (Read, &common.roots),
            (Read, tally),
            (Read, &opened),
            (Read, &cells),
            (Read, &bodies),
            (Read, scans[0].total()),
            (Read, scans[1].total()),
            (Write, &entries),
        ];
        let list_entries = kernel("entries", context! {}, &bound).await?;
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
        let graft = kernel("graft", context! { patches => false }, &[(Write, cell_open)]).await?;
        let bound = [(Write, cell_open), (Read, &links)];
        let link = kernel("graft", context! { patches => true }, &bound).await?;
        let boxes_of = vec![0..0; parts];
        Ok(Self {
            opened,
            list,
            own_boxes,
            read_boxes: mappable(gpu, VEC4),
            expected: 0,
            singles: 0,
            boxes,
            boxes_of,
            entries,
            message,
            outgoing,
            packing: CellPacking {
                gpu: Arc::clone(gpu),
                count,
                scans,
                list_entries,
                pack,
                least: 0.0,
            },
            expected_by: vec![[0; 2]; parts - 1],
            graft,
            link,
            links,
            room,
        })
    }

    /// The choice of cells by this rule.
    pub async fn select(
        &self,
        io: &Io,
        shared: &PartResources<'_>,
        common: &Common,
        opening: &Opening,
        order: MultipoleOrder,
    ) -> Result<Select> {
        let PartResources { buffers, checks, .. } = *shared;
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

    /// Records the list of boxes around `grouped` groups in the cube, `outside` bodies and the single
    /// sinks that are expected. Scattered groups count only if all are `together`.
    pub fn record_boxes(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        buffers: &TreeBuffers,
        (grouped, outside, together): (u32, u32, bool),
        half: f32,
        most: u32,
    ) {
        let singles = if together { 0 } else { self.singles };
        let row = TreeParams {
            count: grouped,
            level: outside,
            reserve: singles,
            singles: buffers.singles.0,
            part: u32::from(together),
            margin: LONGEST * half,
            ..Default::default()
        };
        let row = Some(params.offset_of(row));
        let work = grouped.div_ceil(JOINED) + outside + singles;
        dispatch(pass, &self.list, row, (work, THREADS), most);
    }

    /// Bytes of the boxes that are expected. [`BOXES`] counts them.
    fn expected_bytes(&self) -> u64 {
        let room = self.own_boxes.size() / BOX as u64;
        u64::from(self.expected).min(room) * BOX as u64
    }

    /// The copy of these boxes for the host.
    pub fn copy_of_boxes(&self) -> Copy<'_> {
        (&self.own_boxes, 0, &self.read_boxes, 0, self.expected_bytes())
    }

    /// Those boxes, once they have been copied.
    ///
    /// # Errors
    /// The device failed.
    pub fn copied_boxes(&self, gpu: &Gpu) -> Result<MappedCopy> {
        MappedCopy::new(gpu, self.read_boxes.clone(), self.expected_bytes())
    }

    /// The number of single sinks whose boxes the next list has.
    pub fn singles(&self) -> u32 {
        self.singles
    }

    /// Sets that number.
    pub fn expect_singles(&mut self, singles: u32) {
        self.singles = singles;
    }

    /// Given that there are so many boxes and `singles` single sinks, whether all were listed, and
    /// the range of those that are still to be read.
    pub fn other_boxes(
        &mut self,
        gpu: &Gpu,
        (boxes, singles): (u32, u32),
    ) -> (bool, (&wgpu::Buffer, Range<u64>)) {
        let is_complete = singles <= self.singles;
        let read = self.expected_bytes();
        self.singles = singles + singles / 8;
        self.expected = boxes + boxes / 16 + 64;
        let expected = self.expected_bytes();
        mappable_of(&mut self.read_boxes, gpu, expected);
        let range = read..(u64::from(boxes) * BOX as u64).max(read);
        (is_complete, (&self.own_boxes, range))
    }

    /// Sends `boxes` around this part's sinks to all ranks and writes theirs before the next
    /// submission. Each sink counts with an acceleration of at least `least`.
    ///
    /// # Errors
    /// As of [`Exchange`].
    pub fn share(
        &mut self,
        io: &mut Io,
        member: &mut Member,
        (mut boxes, least): (Boxes, f32),
    ) -> Result<()> {
        let (own, room) = (member.member(), self.boxes.size() as usize / BOX);
        self.packing.least = least;
        // All have the same room, so none sends more than its share of it.
        let most = room / member.members();
        while boxes.count > most {
            boxes = boxes.joined();
        }
        let lengths: Vec<usize> = exchange::gather(member, &[boxes.count as u64])?
            .iter()
            .map(|count| count[0] as usize * BOX)
            .collect();
        let (target, boxes_of) = (&self.boxes, &mut self.boxes_of);
        boxes_of.clear();
        let mut at = 0;
        member.all_gather_shared(Arc::new(boxes), &lengths, &mut |part, received| {
            let begin = at;
            if part != own {
                io.write(target, (begin * BOX) as u64, received);
                at += received.len() / BOX;
            }
            boxes_of.push(begin as u32..at as u32);
        })
    }

    /// What is packed for each other rank: numbers of cells and bodies, and where they begin in the
    /// message.
    fn rows(sizes: impl Iterator<Item = MessageCounts>, others: &[usize]) -> Vec<TreeParams> {
        let mut group_begin = 0;
        let row = |(&part, [count, reserve]): (&usize, MessageCounts)| {
            let begin = group_begin;
            group_begin += length([count, reserve]) as u32;
            let part = part as u32;
            let first = TOP_CELLS;
            TreeParams { part, count, reserve, group_begin: begin, first, ..Default::default() }
        };
        others.iter().zip(sizes).map(row).collect()
    }

    /// Chooses what the groups in the boxes of each rank open of this part's `cells` cells, and packs
    /// as much of it as is expected, in one submission with what `also` records and `read_also` reads.
    ///
    /// # Errors
    /// The device failed.
    pub async fn choose(
        &mut self,
        (io, build): (&mut Io, &mut Build),
        (rank, parts): (usize, usize),
        choice: (&Select, f32),
        cells: u32,
        also: impl FnOnce(&mut wgpu::ComputePass<'_>, &mut Params<TreeParams>, &mut Build),
        read_also: (&wgpu::Buffer, Range<u64>),
    ) -> Result<(Chosen, Vec<u32>)> {
        // Of the other ranks, in order.
        let others: Vec<usize> = (0..parts).filter(|part| *part != rank).collect();
        io.clear(&self.opened);
        // What is expected is packed at once, if there is room for it.
        let expected = self.expected_by.iter().copied().map(length).sum::<u64>();
        if expected > u64::from(self.room) {
            self.expected_by.fill([0; 2]);
        }
        let rows = Self::rows(self.expected_by.iter().copied(), &others);
        let ranges = [(&self.entries, 0..self.entries.size()), read_also];
        let (packing, boxes_of) = (&mut self.packing, &self.boxes_of);
        let bytes = bytes_of(&rows);
        let outgoing = mappable_of(&mut self.outgoing, &io.gpu, bytes);
        let mut read = io
            .submit(
                build,
                |pass, params, build| {
                    also(pass, params, build);
                    packing.record((pass, params), choice, boxes_of, &rows, cells);
                },
                &[(&self.message, 0, &outgoing, 0, bytes)],
                &ranges,
            )
            .await?;
        let also_read = read.pop().unwrap_or_default();
        let entries = read.pop().unwrap_or_default();
        // Sums of no numbers are not written.
        let size_of = |part: &usize| match cells {
            0 => [0; 2],
            _ => std::array::from_fn(|k| entries[part * ENTRIES + MOST_ROOTS as usize + k]),
        };
        let sizes: Vec<MessageCounts> = others.iter().map(size_of).collect();
        let fits = |(row, size): (&TreeParams, &MessageCounts)| {
            size[0] <= row.count && size[1] <= row.reserve
        };
        let packed = match rows.iter().zip(&sizes).all(fits) {
            true => Some((MappedCopy::new(&io.gpu, outgoing, bytes)?, rows)),
            false => None,
        };
        Ok((Chosen { sizes, entries, packed }, also_read))
    }

    /// Sends each rank what was chosen for it and writes what the others send before the next
    /// submission, which has to join it ([`Sending::record_grafts`]). If a rank has no room, the error
    /// says how much this one needs.
    ///
    /// # Errors
    /// The device failed; as of [`Exchange`].
    pub async fn deliver(
        &mut self,
        (io, build): (&mut Io, &mut Build),
        member: &mut Member,
        buffers: &TreeBuffers,
        (choice, cells): ((&Select, f32), u32),
        (tops, counts): (&Tops, &Counts),
        chosen: Chosen,
    ) -> Result<std::result::Result<Joined, ReceivedRoom>> {
        let Chosen { sizes, entries, packed } = chosen;
        let (rank, parts) = (member.member(), member.members());
        let others: Vec<usize> = (0..parts).filter(|part| *part != rank).collect();
        // Those of all pairs of ranks.
        let rows = match &packed {
            Some((_, rows)) => rows.clone(),
            None => Self::rows(sizes.iter().copied(), &others),
        };
        let mut own_row = vec![Announced::default(); parts];
        for ((&part, size), row) in others.iter().zip(&sizes).zip(&rows) {
            own_row[part] = [size[0], size[1], row.count, row.reserve];
        }
        let table: Vec<Vec<Announced>> = exchange::gather(member, &own_row)?;

        // Where each message's cells and bodies go.
        let mut first_cell = TOP_CELLS + cells;
        let mut first_body = counts.inside + counts.outside + tops.top.bodies.len() as u32;
        let mut places = vec![[0u32; 2]; parts];
        for &part in &others {
            let [cells, bodies, ..] = table[part][rank];
            places[part] = [first_cell, first_body];
            first_cell = first_cell.saturating_add(cells);
            first_body = first_body.saturating_add(bodies);
        }
        let (absent_cell, absent_body) = (first_cell, first_body);
        let part = buffers.part.as_ref().expect("a part");
        for (expected, size) in self.expected_by.iter_mut().zip(&sizes) {
            *expected = size.map(|count| count.saturating_add(count / 32 + 256));
        }
        let expected = self.expected_by.iter().copied().map(length).sum::<u64>();
        let total = sizes.iter().map(|size| length(*size)).sum::<u64>();
        let needed = ReceivedRoom {
            bodies: (absent_body + 1).saturating_sub(buffers.count),
            cells: (absent_cell + 1).saturating_sub(TOP_CELLS + buffers.reserve),
            message: u32::try_from(expected).unwrap_or(u32::MAX),
        };
        let has_room =
            total <= u64::from(self.room) && absent_cell < part.cells && absent_body < part.sources;
        if !member.all_agree(has_room)? {
            return Ok(Err(needed));
        }
        io.lap("lengths");
        let messages = match packed {
            Some((messages, _)) => messages,
            None => {
                let (packing, boxes_of) = (&mut self.packing, &self.boxes_of);
                let bytes = bytes_of(&rows);
                let outgoing = mappable_of(&mut self.outgoing, &io.gpu, bytes);
                io.submit(
                    build,
                    |pass, params, _| {
                        packing.record((pass, params), choice, boxes_of, &rows, cells)
                    },
                    &[(&self.message, 0, &outgoing, 0, bytes)],
                    &[],
                )
                .await?;
                io.lap("pack");
                MappedCopy::new(&io.gpu, outgoing, bytes)?
            }
        };
        let own_entries: Vec<Vec<u32>> = (0..parts)
            .map(|part| match part == rank {
                true => Vec::new(),
                false => tops.own_entries.iter().map(|k| entries[part * ENTRIES + k]).collect(),
            })
            .collect();
        let own_entries: Vec<&[u8]> =
            own_entries.iter().map(|entries| bytemuck::cast_slice(entries)).collect();
        let lengths = |bytes: &dyn Fn(usize, usize) -> usize| -> Vec<Vec<usize>> {
            let to = |from, to| if from == to { 0 } else { bytes(from, to) };
            (0..parts).map(|from| (0..parts).map(|k| to(from, k)).collect()).collect()
        };
        let mut all_entries: Vec<Vec<u32>> = vec![Vec::new(); parts];
        let bytes = lengths(&|from, _| 4 * tops.roots[from].len());
        member.deliver(&own_entries, &bytes, &mut |from, entries| {
            all_entries[from] = bytemuck::pod_collect_to_vec(entries);
        })?;
        let bytes = lengths(&|from, to| {
            let [_, _, cells, bodies] = table[from][to];
            (length([cells, bodies]) * VEC4) as usize
        });
        member.deliver_shared(Arc::new(messages), &bytes, &mut |from, message| {
            if from == rank {
                return;
            }
            let ([cells, bodies, most_cells, _], [cell, body]) = (table[from][rank], places[from]);
            let (open, rest) = message.split_at(32 * most_cells as usize);
            let (force, attracting) = rest.split_at(48 * most_cells as usize);
            let [cells, bodies] = [cells, bodies].map(|count| count as usize);
            for (buffer, at, bytes) in [
                (&buffers.cell_open, 32 * u64::from(cell), &open[..32 * cells]),
                (&buffers.cell_force, 48 * u64::from(cell), &force[..48 * cells]),
                (&buffers.sources, 16 * u64::from(body), &attracting[..16 * bodies]),
            ] {
                io.write(buffer, at, bytes);
                if bytes.len() >= MANY_BYTES {
                    io.send(build);
                }
            }
        })?;
        io.lap("messages");
        let mut rows = Vec::new();
        let mut total = [0; 2];
        for &from in &others {
            let ([cells, bodies, ..], [cell, body]) = (table[from][rank], places[from]);
            rows.push(TreeParams {
                count: cells,
                group_begin: cell,
                first: body,
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
        Ok(Ok(Joined { received: total, rows, links: links.len() as u32 }))
    }

    /// Records what makes delivered cells children of the common ones.
    pub fn record_grafts(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        params: &mut Params<TreeParams>,
        joined: &Joined,
        most: u32,
    ) {
        for row in &joined.rows {
            let offset = Some(params.offset_of(*row));
            dispatch(pass, &self.graft, offset, (row.count, THREADS), most);
        }
        let row = TreeParams { count: joined.links, ..Default::default() };
        let offset = Some(params.offset_of(row));
        dispatch(pass, &self.link, offset, (row.count, THREADS), most);
    }
}

/// Bytes of the messages that are packed by `rows`.
fn bytes_of(rows: &[TreeParams]) -> u64 {
    let end = |row: &TreeParams| u64::from(row.group_begin) + length([row.count, row.reserve]);
    rows.last().map_or(0, end) * VEC4
}

/// A buffer for copies that the host reads in place.
fn mappable(gpu: &Gpu, bytes: u64) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    new_buffer(&gpu.device, "mapped copy", bytes, usage)
}

/// Replaces `buffer` by a larger one if it has fewer than `bytes`; returns a handle to it.
fn mappable_of(buffer: &mut wgpu::Buffer, gpu: &Gpu, bytes: u64) -> wgpu::Buffer {
    if buffer.size() < bytes {
        let most = gpu.device.limits().max_buffer_size;
        *buffer = mappable(gpu, (bytes + bytes / 8).next_multiple_of(VEC4).min(most));
    }
    buffer.clone()
}
