//! Reading GADGET files, each by itself, up to the numbers in its blocks.

use super::super::agree::agree;
use super::super::{Endianness, Input, Problem, ReadOptions, Snapshot};
use super::blocks::{bodies_of, present};
use super::header::{COOLING, Header};
use super::merge::merge;
use super::records::{self, Block};
use super::{ALL, KINDS, TYPES, TypeMask, gas_blocks, unknown_block};
use crate::error::{Error, Result};

/// Far more than any code writes; blocks are looked up one by one.
const MOST_BLOCKS: usize = 1024;

pub(super) fn read(input: &mut Input, options: &ReadOptions) -> Result<Snapshot> {
    let (name, files) = (input.name(), input.files());
    let loaded = input.load()?;
    let parsed = loaded
        .iter()
        .map(|(path, bytes)| {
            let file = File::parse(bytes, options.renumber);
            file.map(|file| (*path, file)).map_err(|problem| Error::file(path, problem))
        })
        .collect::<Result<Vec<_>>>()?;
    let parsed_files: Vec<&File> = parsed.iter().map(|(_, file)| file).collect();
    let stated: Vec<_> = parsed.iter().map(|(path, file)| (*path, file.header.stated())).collect();
    agree(&stated, files, KINDS)?;
    merge(&parsed_files).map_err(|problem| Error::file(&name, problem))
}

/// Names the blocks of format 1 by their order.
fn name_by_order(blocks: &mut [Block], header: &Header) {
    let mut names = vec!["POS", "VEL", "ID"];
    if masses_in_block(header) != 0 {
        names.push("MASS");
    }
    let mut gas_names = gas_blocks(header.facts.contains_key(COOLING)).iter();
    let gas = header.counts[0] as u64;
    let mut unknown = 0;
    for (k, block) in blocks.iter_mut().enumerate() {
        let length = block.data.len() as u64;
        block.name = match names.get(k) {
            Some(name) => (*name).into(),
            // The gas blocks come first and end with the first block of another size.
            None if gas > 0 && unknown == 0 && (length == 4 * gas || length == 8 * gas) => {
                gas_names.next().map_or_else(String::new, |name| (*name).into())
            }
            None => String::new(),
        };
        if block.name.is_empty() {
            unknown += 1;
            block.name = unknown_block(unknown);
        }
    }
}

/// The types whose masses are in the MASS block.
pub(super) fn masses_in_block(header: &Header) -> TypeMask {
    (0..TYPES)
        .filter(|&t| header.counts[t] > 0 && header.masses[t] == 0.0)
        .fold(0, |mask, t| mask | 1 << t)
}

/// A parsed file, in which the length of every block fits the bodies of its header.
pub(super) struct File<'a> {
    pub header: Header,
    pub blocks: Vec<Block<'a>>,
    pub endianness: Endianness,
    pub positions: Numbers<'a>,
    pub velocities: Numbers<'a>,
    /// `None` if ids are not read.
    pub ids: Option<Numbers<'a>>,
    /// `None` if the header has all masses.
    pub masses: Option<Numbers<'a>>,
}

/// The data of a required block.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    /// Types that have it.
    pub types: TypeMask,
    /// Numbers per body.
    pub values: usize,
    /// 8 bytes per number; otherwise 4.
    pub double: bool,
    pub data: &'a [u8],
}

impl<'a> File<'a> {
    fn parse(bytes: &'a [u8], renumber: bool) -> Result<Self, Problem> {
        let (mut blocks, endianness, format) = records::blocks(bytes)?;
        let header = blocks.remove(0);
        let header = Header::parse(header.data, header.at, endianness)?;
        if blocks.len() > MOST_BLOCKS {
            return Err(format!("has {} blocks, but at most {MOST_BLOCKS} are read", blocks.len()));
        }
        if format == 1 {
            name_by_order(&mut blocks, &header);
        }
        for (k, block) in blocks.iter().enumerate() {
            if blocks[..k].iter().any(|earlier| earlier.name == block.name) {
                let Block { name, at, .. } = block;
                return Err(format!("block {name} at byte {at} is present twice"));
            }
        }
        // Numbers are located within POS and the other blocks, so no count is trusted without the
        // bytes for it.
        let find = |name, types, values| numbers(&header, &blocks, name, types, values);
        let positions = find("POS", ALL, 3)?;
        let velocities = find("VEL", ALL, 3)?;
        let ids = if renumber { None } else { Some(find("ID", ALL, 1)?) };
        let by_block = masses_in_block(&header);
        let masses = if by_block == 0 { None } else { Some(find("MASS", by_block, 1)?) };
        Ok(Self { header, blocks, endianness, positions, velocities, ids, masses })
    }

    pub fn block(&self, name: &str) -> Option<&Block<'a>> {
        self.blocks.iter().find(|block| block.name == name)
    }
}

/// A required block of `values` numbers of 4 or 8 bytes for each body of `types`.
fn numbers<'a>(
    header: &Header,
    blocks: &[Block<'a>],
    name: &str,
    types: TypeMask,
    values: usize,
) -> Result<Numbers<'a>, Problem> {
    // One of several files may have no bodies.
    if header.files > 1 && header.total() == 0 {
        return Ok(Numbers { types, values, double: false, data: &[] });
    }
    let names = || {
        let types = types & present(&header.counts);
        let kinds = (0..TYPES).filter(|t| types >> t & 1 == 1);
        kinds.map(|t| KINDS[t].name).collect::<Vec<_>>().join(", ")
    };
    let block = blocks.iter().find(|block| block.name == name).ok_or_else(|| {
        let why = match name {
            "MASS" => ", whose masses in the header are 0",
            "ID" => " (--renumber reads without, and numbers them from 0)",
            _ => "",
        };
        format!("has no block {name}, but there should be one for {}{why}", names())
    })?;
    let bodies = bodies_of(types, &header.counts);
    let numbers = bodies * values as u64;
    let double = match block.data.len() as u64 {
        length if length == 4 * numbers => false,
        length if length == 8 * numbers => true,
        length => {
            return Err(format!(
                "block {name} at byte {} has {length} bytes, but {} (or {}) were expected for the {bodies} bodies that the header says ({})",
                block.at,
                4 * numbers,
                8 * numbers,
                names()
            ));
        }
    };
    Ok(Numbers { types, values, double, data: block.data })
}
