//! Locally essential trees: packs the cells that another rank needs into a message, and joins
//! received cells to a rank's own.

use bytemuck::{Pod, cast_slice, pod_collect_to_vec};

use super::super::{Cell, Cells, NO_PARENT, PointMass};
use super::top::Top;
use crate::error::{Error, Result};

/// In a message, the first child or body of a cell that is not opened.
const NOT_SENT: u32 = u32::MAX;

/// A cell in a message: first child, or body of a leaf, in the message; bodies; children; level.
type PackedCell = [u32; 4];

/// The opened cells of a part with their children and bodies, as a message.
///
/// It has the numbers of cells and bodies, for each root the number of its first child or body, the
/// cells with all siblings adjacent, their payloads, and the bodies.
pub fn pack<M: Pod>(
    cells: &Cells,
    moments: &[M],
    bodies: &[PointMass],
    opened: &[bool],
) -> Vec<u8> {
    let mut sent: Vec<u32> = Vec::new();
    let mut sent_bodies: Vec<PointMass> = Vec::new();
    let mut first = |number: u32, sent: &mut Vec<u32>| {
        let cell = &cells.cells[number as usize];
        if !opened[number as usize] {
            NOT_SENT
        } else if cell.is_leaf() {
            let begin = sent_bodies.len() as u32;
            sent_bodies.extend_from_slice(&bodies[cell.first as usize..][..cell.count as usize]);
            begin
        } else {
            let begin = sent.len() as u32;
            sent.extend(cell.child..cell.child + cell.children);
            begin
        }
    };
    let roots: Vec<u32> = cells.roots().map(|root| first(root, &mut sent)).collect();
    let mut packed: Vec<PackedCell> = Vec::new();
    while let Some(&number) = sent.get(packed.len()) {
        let Cell { count, level, children, .. } = cells.cells[number as usize];
        let first = first(number, &mut sent);
        packed.push([first, count, children, level]);
    }
    let moments: Vec<M> = sent.iter().map(|number| moments[*number as usize]).collect();
    let lengths = [packed.len() as u32, sent_bodies.len() as u32];
    let parts: [&[u8]; 5] = [
        cast_slice(&lengths),
        cast_slice(&roots),
        cast_slice(&packed),
        cast_slice(&moments),
        cast_slice(&sent_bodies),
    ];
    parts.concat()
}

/// The contents of a message.
struct Received<M> {
    roots: Vec<u32>,
    cells: Vec<PackedCell>,
    moments: Vec<M>,
    bodies: Vec<PointMass>,
}

impl<M: Pod> Received<M> {
    /// Reads a message of a part that has `roots` roots.
    fn read(message: &[u8], roots: usize) -> Result<Self> {
        let mut rest = message;
        let mut take = |bytes: usize| -> Result<&[u8]> {
            let (some, left) = rest.split_at_checked(bytes).ok_or_else(damaged)?;
            rest = left;
            Ok(some)
        };
        let lengths: Vec<u32> = pod_collect_to_vec(take(2 * size_of::<u32>())?);
        let [cells, bodies] = [lengths[0] as usize, lengths[1] as usize];
        Ok(Self {
            roots: pod_collect_to_vec(take(roots * size_of::<u32>())?),
            cells: pod_collect_to_vec(take(cells * size_of::<PackedCell>())?),
            moments: pod_collect_to_vec(take(cells * size_of::<M>())?),
            bodies: pod_collect_to_vec(take(bodies * size_of::<PointMass>())?),
        })
    }
}

fn damaged() -> Error {
    Error::Outside(
        "a rank has sent cells that end too early: do all run the same program?".to_owned(),
    )
}

/// The locally essential tree of a rank: all cells and bodies that its walks read.
#[derive(Clone, Debug)]
pub struct Grafted<M> {
    /// The common cells, the rank's own, those received, and last the placeholder `absent`.
    pub cells: Vec<Cell>,
    /// Their payloads; zero for the last.
    pub moments: Vec<M>,
    /// The rank's own bodies, those outside the cube, those of common leaves, those received.
    pub bodies: Vec<PointMass>,
    /// The number of the placeholder: the only child of each cell whose contents were not received.
    /// A walk that reaches it lacks a cell.
    pub absent: u32,
    /// Numbers of cells and bodies received.
    pub received: [usize; 2],
}

impl<M: Pod> Grafted<M> {
    /// Joins the common cells, the cells of this rank's part over its `bodies`, and the messages of
    /// all ranks for this one; its own is ignored.
    ///
    /// # Errors
    /// A message that is too short.
    pub fn new(
        top: &Top<M>,
        rank: usize,
        (own, moments, bodies): (&Cells, &[M], &[PointMass]),
        outside: &[PointMass],
        messages: &[Vec<u8>],
    ) -> Result<Self> {
        let roots = |of: usize| {
            top.owners.iter().filter(|owner| owner.is_some_and(|(rank, _)| rank == of)).count()
        };
        let mut received = Vec::with_capacity(messages.len());
        for (from, message) in messages.iter().enumerate() {
            received.push(match from == rank {
                true => Received { roots: vec![], cells: vec![], moments: vec![], bodies: vec![] },
                false => Received::read(message, roots(from))?,
            });
        }
        let own_base = top.cells.len() as u32;
        let mut all = Self {
            cells: top.cells.clone(),
            moments: [&top.moments, moments].concat(),
            bodies: [bodies, outside, &top.bodies].concat(),
            absent: 0,
            received: [0; 2],
        };
        let top_bodies = (bodies.len() + outside.len()) as u32;
        all.cells
            .extend(own.cells.iter().map(|cell| Cell { child: cell.child + own_base, ..*cell }));
        let sent: usize = received.iter().map(|part| part.cells.len()).sum();
        all.absent = (all.cells.len() + sent) as u32;
        let mut roots_at = Vec::new();
        for part in &received {
            let (cells, bodies) = (all.cells.len() as u32, all.bodies.len() as u32);
            let place = |[first, count, children, level]: PackedCell| {
                let cell = Cell { first: 0, count, level, parent: NO_PARENT, child: 0, children };
                all.absent_or(cell, first, cells, bodies)
            };
            let placed: Vec<Cell> = part.cells.iter().map(|cell| place(*cell)).collect();
            all.cells.extend(placed);
            all.moments.extend_from_slice(&part.moments);
            all.bodies.extend_from_slice(&part.bodies);
            roots_at.push((cells, bodies));
        }
        let own_roots: Vec<u32> = own.roots().collect();
        for (number, owner) in top.owners.iter().enumerate() {
            let cell = all.cells[number];
            all.cells[number] = match *owner {
                None if cell.is_leaf() => Cell { first: cell.first + top_bodies, ..cell },
                None => cell,
                Some((from, root)) if from == rank => {
                    all.cells[(own_base + own_roots[root]) as usize]
                }
                Some((from, root)) => {
                    let (cells, bodies) = roots_at[from];
                    all.absent_or(cell, received[from].roots[root], cells, bodies)
                }
            };
        }
        let (first, count, level, children) = (0, 0, 0, 0);
        all.cells.push(Cell { first, count, level, parent: NO_PARENT, child: 0, children });
        all.moments.push(M::zeroed());
        all.received = [sent, received.iter().map(|part| part.bodies.len()).sum()];
        Ok(all)
    }

    /// A received cell with its number of the first child or body converted: `first` counts in its
    /// message, whose cells begin at `cells` and bodies at `bodies`. If these were not sent, its
    /// only child is the placeholder.
    fn absent_or(&self, cell: Cell, first: u32, cells: u32, bodies: u32) -> Cell {
        match (first, cell.is_leaf()) {
            (NOT_SENT, _) => Cell { child: self.absent, children: 1, ..cell },
            (first, true) => Cell { first: bodies + first, ..cell },
            (first, false) => Cell { child: cells + first, ..cell },
        }
    }
}
