//! GADGET formats 1 and 2, as written by GADGET-1 to -4 and many related codes.
//!
//! A file is a sequence of Fortran records: the length as u32, the data, the length again, in
//! either byte order. The first record is the header of 256 bytes (`header.rs`); then follow blocks
//! of one quantity each, for the bodies of types 0 to 5 in turn. Format 2 precedes each block with
//! a record of 8 bytes: the block's name (`POS `) and the distance to the next name. In format 1
//! only the order identifies blocks.
//!
//! | block | of | data |
//! |---|---|---|
//! | POS, VEL | all | 3 f32 (or f64, by the length) |
//! | ID | all | u32 or u64 |
//! | MASS | types whose mass in the header's table is 0; absent if there are none | f32 or f64 |
//! | U, RHO, NE, NH, HSML, SFR, ENDT | gas | f32 or f64 |
//! | POT, TSTP; ACCE | all | f32 or f64; three of them |
//! | any other (format 2) | as INFO says | also whole numbers of 32 and 64 bits |
//! | INFO (format 2) | | name, type, width and body types of every block (`info.rs`) |
//!
//! Other blocks become columns of [`Snapshot::extra`] under their names, vectors as `ACCE.x`,
//! `ACCE.y`, `ACCE.z`. In format 1 the gas blocks after MASS are U, RHO, HSML (with the flag of
//! cooling U, RHO, NE, NH, HSML) and any others `X001`, `X002`, ... A block whose length fits no
//! group of bodies is not stored; the attribute `gadget.skipped` names it. Columns have the types
//! of their blocks, except that integers that only some bodies have are f64, with NaN for the
//! others.
//!
//! The types become the components `gas`, `halo`, `disk`, `bulge`, `stars` and `boundary`. The file
//! does not state units; GADGET's default ones are assumed ([`crate::units::Units::gadget`]), which
//! is noted. In cosmological snapshots they are divided by the Hubble parameter; positions remain
//! comoving and velocities divided by the square root of the scale factor, as in the file. The
//! header's other numbers become attributes if they are not 0.
//!
//! Readers expect U, RHO and HSML wherever there is gas (GADGET U, yt all three): zeros are written
//! for those that a snapshot does not have, and left out when read.
//!
//! Writing groups the bodies by type and keeps their order within each. A mass common to all bodies
//! of a type goes to the header's table, in f64. Format 2 takes any column whose name fits in four
//! characters, format 1 only those that its order can express.
//!
//! # Several files
//! `snap_000.0`, `snap_000.1`, ... are each a file as above whose header also has the number of
//! files and the bodies in all of them. Bodies are in the order that a single file would have: type
//! 0 of all files, then type 1, and so on. Time, number of files and total bodies must be equal in
//! all files, and the bodies must add up.

mod header;
mod info;
mod read;
mod records;
mod write;

#[cfg(feature = "hdf5")]
pub(super) use header::units;
#[cfg(feature = "hdf5")]
pub(super) use write::{column_name, grouped};

#[cfg(doc)]
use super::Snapshot;
use super::kinds::BodyType;
use super::{
    BIG_ENDIAN, Confidence, Endianness, F32, F64, Format, InputFiles, LITTLE_ENDIAN, Modifier,
    RAW_UNITS, Several,
};
use crate::bodies::{Component, Role};
use crate::error::Result;

/// Format 1's entry in the registry.
pub(super) const FORMAT_1: Format = Format {
    name: "gadget1",
    summary: "GADGET format 1: Fortran records in a fixed order",
    holds: "time, f32 or f64 positions, velocities and masses, 64-bit ids, six types; U, RHO, HSML of gas; redshift and header flags; no units",
    extensions: &["gadget1", "gadget", "g1"],
    units: Some(header::units),
    modifiers: MODIFIERS,
    recognise: |head, length| recognise(head, length, 1),
    files: Some(Several { count: files, is_index: None }),
    series: None,
    read: read::read,
    write: Some(|snapshot, options, output, losses| {
        write::write(snapshot, options, output, losses, 1)
    }),
};

/// Format 2's entry in the registry.
pub(super) const FORMAT_2: Format = Format {
    name: "gadget2",
    summary: "GADGET format 2: records with block names",
    holds: "time, f32 or f64 positions, velocities and masses, 64-bit ids, six types; any column with a name of four characters; redshift and header flags; no units",
    extensions: &["gadget2", "g2"],
    recognise: |head, length| recognise(head, length, 2),
    write: Some(|snapshot, options, output, losses| {
        write::write(snapshot, options, output, losses, 2)
    }),
    ..FORMAT_1
};

const MODIFIERS: &[Modifier] = &[
    LITTLE_ENDIAN,
    BIG_ENDIAN,
    F64,
    F32,
    Modifier {
        suffix: "id64",
        summary: "ids of 64 bits",
        apply: |options| options.wide_ids = Some(true),
    },
    Modifier {
        suffix: "id32",
        summary: "ids of 32 bits, an error if one does not fit",
        apply: |options| options.wide_ids = Some(false),
    },
    RAW_UNITS,
];

/// The components that the six types become.
pub(super) const KINDS: &[BodyType; TYPES] = &[
    BodyType { name: "gas", role: Role::Gas },
    BodyType { name: "halo", role: Role::Halo },
    BodyType { name: "disk", role: Role::Disk },
    BodyType { name: "bulge", role: Role::Bulge },
    BodyType { name: "stars", role: Role::Star },
    BodyType { name: "boundary", role: Role::Star },
];

const TYPES: usize = 6;
const TYPE_BOUNDARY: usize = 5;
const HEADER_BYTES: usize = 256;

/// Which types have a block: bit t for type t.
type TypeMask = u8;
const GAS: TypeMask = 1;
const ALL: TypeMask = 0b11_1111;

/// The columns of blocks other than the bodies' own, in the order in which codes write them, with
/// the types that have them.
const KNOWN_BLOCKS: &[(&str, TypeMask)] = &[
    ("U", GAS),
    ("RHO", GAS),
    ("NE", GAS),
    ("NH", GAS),
    ("HSML", GAS),
    ("SFR", GAS),
    ("AGE", 1 << 4),
    ("Z", GAS | 1 << 4),
    ("POT", ALL),
    ("ACCE", ALL),
    ("ENDT", GAS),
    ("TSTP", ALL),
];

/// The attribute that lists the f64 blocks.
const DOUBLE_ATTRIBUTE: &str = "layout.gadget.double";
/// The attribute that is `64` for a file with 64-bit ids.
const IDS_ATTRIBUTE: &str = "layout.gadget.ids";

/// The gas blocks that follow MASS in format 1, in order.
pub(super) fn gas_blocks(cooling: bool) -> &'static [&'static str] {
    if cooling { &["U", "RHO", "NE", "NH", "HSML"] } else { &["U", "RHO", "HSML"] }
}

/// The name of the k-th unnamed block of format 1, counted from 1.
fn unknown_block(k: usize) -> String {
    format!("X{k:03}")
}

/// The byte order and format of a file, from its first 8 bytes; `None` if it is not GADGET's.
fn kind_of_file(head: &[u8]) -> Option<(Endianness, u8)> {
    let head = head.get(..8)?;
    [Endianness::Little, Endianness::Big].into_iter().find_map(|endianness| {
        match endianness.u32(head) {
            256 => Some((endianness, 1)),
            8 if &head[4..8] == b"HEAD" => Some((endianness, 2)),
            _ => None,
        }
    })
}

/// The number of files of a snapshot, from any of them.
fn files(input: &mut InputFiles) -> Result<u64> {
    let head = input.head()?;
    let Some((endianness, format)) = kind_of_file(head) else { return Ok(1) };
    let at = if format == 1 { 4 } else { 20 };
    Ok(head.get(at..at + HEADER_BYTES).map_or(1, |data| header::files(data, endianness)))
}

/// The type that a component is written as.
pub(super) fn type_of(component: &Component) -> u8 {
    match component.role {
        Role::Gas => 0,
        Role::Halo => 1,
        Role::Disk => 2,
        Role::Bulge => 3,
        // Stars and boundary bodies have the same role; the name distinguishes them.
        Role::Star if component.name == KINDS[TYPE_BOUNDARY].name => TYPE_BOUNDARY as u8,
        Role::Star => 4,
    }
}

fn recognise(head: &[u8], _length: u64, format: u8) -> Confidence {
    match kind_of_file(head) {
        Some((endianness, found)) if found == format => {
            // The marker after the header is conclusive; a shorter file is a truncated one.
            let at = if format == 1 { 260 } else { 276 };
            match head.get(at..at + 4) {
                Some(marker) if endianness.u32(marker) == HEADER_BYTES as u32 => Confidence::Sure,
                Some(_) if format == 1 => Confidence::No,
                _ => Confidence::Maybe,
            }
        }
        _ => Confidence::No,
    }
}
